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
    expected = {"package.json", "readme.md", "changelog.md", "LICENSE.txt", "icon.png"}
    assert names == expected | {"out/extension.js", "out/THIRD_PARTY_NOTICES.txt"}
    assert manifest["main"] == "./out/extension.js"
