"""The extension of editors/vscode: strict types, its unit tests on node's runner, and the package."""

import json
import zipfile
from pathlib import Path

from conftest import EXTENSION, call


def test_the_units(packages: dict[str, str]) -> None:
    """npm test: tsc, and the unit tests."""
    done = call("npm", "test", cwd=EXTENSION, env=packages)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]


def test_the_package(package: Path) -> None:
    """It holds what is needed and nothing else."""
    with zipfile.ZipFile(package) as opened:
        names = {name.removeprefix("extension/") for name in opened.namelist() if name.startswith("extension/")}
        manifest = json.loads(opened.read("extension/package.json"))
    server = {name.removeprefix("server/") for name in names if name.startswith("server/")}
    images = {name for name in names if name.startswith("images/")}
    own = {"package.json", "readme.md", "changelog.md", "LICENSE.txt", "icon.png"}
    assert names - images - {f"server/{name}" for name in server} == own | {
        "out/extension.js",
        "out/THIRD_PARTY_NOTICES.txt",
    }
    assert {"bin/graphglue-lsp", "bin/graphglue-worker", "share/doc/graphglue-lsp/THIRD_PARTY_NOTICES.md"} <= server
    assert {"lib/graphglue/_graphglue_host.abi3.so", "lib/graphglue/graphglue_worker/__init__.py"} <= server
    assert all(name.startswith(("bin/", "lib/graphglue/", "share/doc/graphglue-lsp/")) for name in server)
    shown = {step["media"]["image"] for walk in manifest["contributes"]["walkthroughs"] for step in walk["steps"]}
    assert shown <= images, "a step of the walkthrough has no picture"
    assert manifest["main"] == "./out/extension.js"
