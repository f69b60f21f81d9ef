"""The exact command that mends an interpreter without a usable torch."""

import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig


def install_command(*packages: str) -> str:
    """What a person types so that `packages` (pip's words, e.g. "torch" or "--force-reinstall torch") are in this interpreter.

    A system Python that a package manager owns refuses pip (PEP 668, the file EXTERNALLY-MANAGED): there an environment comes first.  One
    made by uv has no pip.
    """
    python = shlex.quote(sys.executable)
    wanted = " ".join(packages)
    in_environment = sys.prefix != sys.base_prefix
    managed = os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
    if managed and not in_environment:
        return f"{python} -m venv .venv && .venv/bin/python -m pip install {wanted}"
    if importlib.util.find_spec("pip") is not None:
        return f"{python} -m pip install {wanted}"
    if shutil.which("uv"):
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m ensurepip && {python} -m pip install {wanted}"
