"""How many of the sites that captures of six Hugging Face models find are predicted from the text alone.

    python bench/predicted_sites.py [--support build/release/bin] [--python PYTHON]

Captures the entries of `bench/models.py` with PYTHON's torch and transformers, then asks `check --static` of the files their sites lie in,
whichever package these belong to. A site is predicted when a finding, certain or conditional, has its id and overlaps its range.
Exits with 1 below four fifths.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENOUGH = 0.8


def check(support: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [support / "graphglue-lsp", "check", "--json", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 2 and not done.stdout:
        sys.exit(done.stderr)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def captured_sites(support: Path, python: str) -> dict[tuple[Any, ...], list[str]]:
    """(id, file, range) of every site, and the entries that meet it."""
    out: dict[tuple[Any, ...], list[str]] = {}
    (file,) = check(support, "--python", python, str(ROOT / "bench" / "models.py"))["files"]
    for entry in file["entries"]:
        if entry["status"] not in ("breaks", "captured"):
            sys.exit(f"{entry['name']}: {entry['status']}: {entry['message']}")
        for site in entry["sites"]:
            start, end = (tuple(site["range"][edge].values()) for edge in ("start", "end"))
            out.setdefault((site["id"], site["file"], start, end), []).append(entry["name"])
    return out


def prediction(findings: list[dict[str, Any]], site: tuple[Any, ...]) -> dict[str, Any] | None:
    identity, _, start, end = site
    for finding in findings:
        its_start, its_end = (tuple(finding["range"][edge].values()) for edge in ("start", "end"))
        if finding["id"] == identity and its_start < end and start < its_end:
            return finding
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--support", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--python", default=sys.executable, help="has torch and transformers (default: this one)")
    options = parser.parse_args()
    sites = captured_sites(options.support, options.python)
    files = sorted({file for _, file, _, _ in sites})
    findings = {file["path"]: file["findings"] for file in check(options.support, "--static", *files)["files"]}
    known = 0
    for site, entries in sorted(sites.items()):
        identity, file, start, _ = site
        found = prediction(findings[file], site)
        known += found is not None
        verdict = (
            "missed"
            if found is None
            else f"{found['certainty']}" + (f", if {found['guard']}" if found["guard"] else "")
        )
        print(f"{'/'.join(Path(file).parts[-2:])}:{start[0] + 1}: {identity} ({', '.join(entries)}): {verdict}")
    print(f"{known} of {len(sites)} sites predicted, {100 * known / len(sites):.0f} %")
    return 0 if known >= ENOUGH * len(sites) else 1


if __name__ == "__main__":
    sys.exit(main())
