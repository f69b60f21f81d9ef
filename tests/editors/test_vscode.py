"""The extension of editors/vscode: strict types, its unit tests on node's runner, and the package."""

import hashlib
import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

EXTENSION = Path(__file__).resolve().parents[2] / "editors" / "vscode"
OLDEST_NODE = (20, 18)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def packages() -> None:
    """What package-lock.json names lies in node_modules; it is fetched again only when that file is another one."""
    assert shutil.which("npm"), "npm is missing: script/bootstrap"
    version = run("node", "--version").stdout.strip()
    if tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < OLDEST_NODE:
        pytest.skip(f"the extension is built with Node 20.18 or later, this is {version}")
    lock = hashlib.sha256((EXTENSION / "package-lock.json").read_bytes()).hexdigest()
    stamp = EXTENSION / "node_modules" / ".fetched"
    if stamp.exists() and stamp.read_text() == lock:
        return
    done = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    assert done.returncode == 0, f"npm could not fetch the extension's packages: is this machine online?\n{done.stderr}"
    stamp.write_text(lock)


def test_the_extension(packages: None) -> None:
    """npm test: tsc, the unit tests, and the package, which holds what is needed and nothing else."""
    package = EXTENSION / "graphglue.vsix"
    package.unlink(missing_ok=True)
    done = run("npm", "test")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    with zipfile.ZipFile(package) as opened:
        names = {name.removeprefix("extension/") for name in opened.namelist() if name.startswith("extension/")}
        manifest = json.loads(opened.read("extension/package.json"))
    expected = {"package.json", "readme.md", "changelog.md", "LICENSE.txt", "icon.png"}
    assert names == expected | {"out/extension.js", "out/THIRD_PARTY_NOTICES.txt"}
    assert manifest["main"] == "./out/extension.js"
