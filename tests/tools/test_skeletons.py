"""tools/new_rule.py and new_method.py in a copy of the repository: what they write builds, and tests say what is to be filled in."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=500, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked and new files of this repository, and its third_party by a link."""
    folder = tmp_path_factory.mktemp("skeletons") / "repository"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("third_party/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "third_party").symlink_to(ROOT / "third_party")
    return folder


def tool(copy: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, copy / "tools" / f"{name}.py", *arguments, cwd=copy)


def texts(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for part in ("repair", "protocol", "server", "docs", "tests/fixtures", "tests/e2e")
        for p in sorted((folder / part).rglob("*"))
        if p.is_file()
    }


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("new_rule", ["GG12", "mutable_default"], "GG and three digits"),
        ("new_rule", ["GG999", "mutable-default"], "lower case with underscores"),
        ("new_rule", ["GG999", "../x"], "lower case with underscores"),
        ("new_rule", ["GG002", "mutable_default"], "GG002 is repair/rules/gg002_where.c"),
        ("new_rule", ["GG999", "where"], "RULE(where) already"),
        ("new_rule", ["GG999"], "usage:"),
        ("new_method", ["textDocument/foldingRanges"], "did you mean textDocument/foldingRange?"),
        ("new_method", ["textDocument/hover"], "has a row for textDocument/hover already"),
        ("new_method", ["textDocument/publishDiagnostics"], "the server's to send"),
        ("new_method", [], "usage:"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_mistakes_are_told_and_nothing_is_written(copy: Path, name: str, arguments: list[str], words: str) -> None:
    before = texts(copy)
    done = tool(copy, name, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr, done.stderr
    assert texts(copy) == before


def test_a_method_the_generator_cannot_do_leaves_nothing(copy: Path) -> None:
    overlay = copy / "protocol" / "overlay.json"
    kept = overlay.read_text()
    decided = json.loads(kept)
    del decided["unions"]["Hover.contents"]
    overlay.write_text(json.dumps(decided))
    before = texts(copy)
    done = tool(copy, "new_method", "textDocument/foldingRange")
    after = texts(copy)
    overlay.write_text(kept)
    assert done.returncode == 2 and "protocol/overlay.json" in done.stderr and "Hover.contents" in done.stderr
    assert after == before


def test_the_skeletons_build_and_tests_name_what_is_missing(copy: Path) -> None:
    """One configuration and build for both: only the libraries and the two tests concerned."""
    done = tool(copy, "new_rule", "GG999", "mutable_default")
    assert done.returncode == 0, done.stderr
    assert all(
        (copy / p).exists()
        for p in ("repair/rules/gg999_mutable_default.c", "docs/rules/GG999.md", "tests/fixtures/repair/GG999/basic.py")
    )
    assert (copy / "repair" / "rules.def").read_text().endswith("RULE(mutable_default)\n")
    done = tool(copy, "new_method", "textDocument/foldingRange")
    assert done.returncode == 0, done.stderr
    assert (copy / "server" / "on" / "folding_range.c").exists() and (
        copy / "tests" / "e2e" / "test_folding_range.py"
    ).exists()
    assert run(sys.executable, "tools/gen_protocol.py", "--check", cwd=copy).returncode == 0
    for name in ("gg999_mutable_default", "folding_range"):
        (source,) = [*copy.glob(f"repair/rules/{name}.c"), *copy.glob(f"server/on/{name}.c")]
        formatted = run(
            Path(sys.prefix) / "bin" / "clang-format",
            "--dry-run",
            "-Werror",
            source,
            copy / "server" / "methods.c",
            cwd=copy,
        )
        assert formatted.returncode == 0, formatted.stderr

    build = copy / "build" / "skeletons"
    configured = run(
        "cmake", "-S", copy, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DGG_WERROR=ON", cwd=copy
    )
    assert configured.returncode == 0, configured.stderr
    built = run(
        "cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "test_rules", "test_methods", cwd=copy
    )
    assert built.returncode == 0, built.stdout
    methods = run(build / "bin" / "test_methods", cwd=copy)
    assert methods.returncode == 0, methods.stdout + methods.stderr

    def rules() -> str:
        done = run(build / "bin" / "test_rules", cwd=copy)
        assert done.returncode != 0
        return done.stdout + done.stderr

    assert "GG999.md: the page is still the skeleton's" in rules()
    page, source = copy / "docs" / "rules" / "GG999.md", copy / "repair" / "rules" / "gg999_mutable_default.c"
    page.write_text(page.read_text().replace("ill in", "illed"))
    assert run("cmake", "--build", build, "--target", "test_rules", cwd=copy).returncode == 0
    assert "mutable-default has no title" in rules()
    source.write_text(source.read_text().replace('"Fill in', '"Filled'))
    assert run("cmake", "--build", build, "--target", "test_rules", cwd=copy).returncode == 0
    assert "GG999/basic.py: mutable-default does not apply here" in rules()


@pytest.mark.parametrize("page", ["how-to-add-a-rule.md", "how-to-add-a-method.md"])
def test_commands_of_the_pages_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    (command,) = re.findall(r"^python3? (tools/new_\w+\.py) \S+.*$", text, re.MULTILINE)
    assert (ROOT / command).exists()
    presets = {p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]}
    tests = re.findall(r"ctest --preset (\w+) -R (\w+)", text)
    assert tests
    for preset, name in tests:
        assert preset in presets and (ROOT / "tests" / "unit" / f"{name}.c").exists()
    for path in re.findall(r"`((?:repair|server|protocol|tests|tools|docs)/[\w./]+\.\w+)`", text):
        assert (ROOT / path).exists() or "999" in path or "folding_range" in path, path
