"""How long the worker takes to verify one edit, of the transformer of bench/capture.py and of examples/moe.py.

    python bench/verify.py [--rounds 10] [--support build/release/bin] [--python PYTHON]

Every round is one `verify` request to a warm worker, from the request until the edit held on the first input sets, and until the verdict, which other
sizes and gradients come before; the text differs in a number from round to round, as in bench/capture.py.  Beside it: a capture of the same
file, and bare Dynamo on it in a warm process that forks (bench/capture.py).
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import capture

MOE = (capture.ROOT / "examples" / "moe.py").read_text()
# What rule GG002 proposes at one site of each.
MOE_EDIT = (
    """        if logits.abs().amax() > limit:
            logits = limit * torch.tanh(logits / limit)
""",
    """        logits = torch.where(logits.abs().amax() > limit, limit * torch.tanh(logits / limit), logits)
""",
)
BLOCK_EDIT = (
    """        if x.abs().amax() > {0}e6:
            x = x / {0}
""",
    """        x = torch.where(x.abs().amax() > {0}e6, x / {0}, x)
""",
)


def texts(name: str, number: int, path: Path) -> tuple[str, str]:
    """Original and edited text of one round; the original is written to `path`."""
    if name == "moe":
        text = MOE.replace("max_logit: float = 6.0", f"max_logit: float = {number + 6}.0")
        before, after = MOE_EDIT
        path.write_text(text)
    else:
        capture.write_model(path, number)
        text = path.read_text()
        before, after = (part.format(number + 1) for part in BLOCK_EDIT)
    if text.count(before) != 1:
        raise RuntimeError(f"the edit of {name} does not fit its text")
    return text, text.replace(before, after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--support", default=str(capture.ROOT / "build" / "release" / "bin"))
    parser.add_argument("--python", default=sys.executable, help="the Python whose torch is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        worker = capture.Worker(Path(options.support) / "graphglue-worker", options.python, place)
        print(f"{capture.machine()}; torch {worker.torch}\n")
        print("| ms | n | min | p50 | p95 | max |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        for name in ("block", "moe"):
            names = ("bare Dynamo, forked", "capture", "verify, until it held", "verify, until the verdict")
            times: dict[str, list[float]] = {what: [] for what in names}
            texts(name, 0, place / f"{name}.py")
            bare = capture.Bare(options.python, place / f"{name}.py", True)
            for number in range(options.rounds + 1):
                path = place / f"{name}.py"
                text, edited = texts(name, number, path)
                captured = worker.run("capture", path)["entry"][0]
                found = worker.run(
                    "verify",
                    path,
                    original=[{"file": str(path), "text": text}],
                    edited=[{"file": str(path), "text": edited}],
                    safety="exact",
                )
                seconds, frame = found["verdict"]
                if not frame["verdict"]["accepted"]:
                    raise RuntimeError(f"the edit of {name} was refused: {frame['verdict']}")
                seen = (bare.capture(path)[1], captured, found["widening"][0], seconds)
                if number:
                    for what, taken in zip(names, seen, strict=True):
                        times[what].append(taken)
            bare.close()
            for what, found_times in times.items():
                print(capture.row(f"{name}, {what}", found_times))
            for what in names[1:]:
                ratios = [a / b for a, b in zip(times[what], times[names[0]], strict=True)]
                print(
                    f"| {name}, {what} / {names[0]} | {len(ratios)} | {min(ratios):.2f} | {statistics.median(ratios):.2f} | | |"
                )
        worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
