"""The user's environment, in two parts.

The launcher keeps from this process every variable that Python and torch do not need to start, and hands them over in a file in
memory: so keys and tokens are in no memory that the sandbox's processes inherit.  A job of the user's own code gets them back.
"""

import os
import tempfile

_FD = "GRAPHGLUE_ENVIRONMENT_FD"


def descriptor() -> int | None:
    """The file that holds what was kept back: ``NAME=VALUE`` with a zero byte behind each.  None: nothing was."""
    try:
        return int(os.environ[_FD])
    except (KeyError, ValueError):
        return None


def restore() -> None:
    """Make the environment the user's own again, CUDA devices too; but nobody is there to answer a debugger."""
    fd = descriptor()
    if fd is not None:
        at, whole = 0, b""
        while chunk := os.pread(fd, 1 << 16, at):
            whole += chunk
            at += len(chunk)
        os.close(fd)
        for line in whole.split(b"\0"):
            name, separator, value = line.partition(b"=")
            if separator and name:
                os.environb[name] = value
    os.environ.pop(_FD, None)
    visible = os.environ.pop("GRAPHGLUE_CUDA_VISIBLE_DEVICES", None)
    if visible is None:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    os.environ["PYTHONBREAKPOINT"] = "0"


def forget(scratch: str) -> None:
    """Leave only what says nothing about the user; home and temporary folder become the scratch folder."""
    fd = descriptor()
    if fd is not None:
        os.close(fd)
    kept = {
        k: v for k, v in os.environ.items() if k.startswith(("LC_", "OMP_", "MKL_", "OPENBLAS_")) or k in ("LANG", "TZ")
    }
    os.environ.clear()
    os.environ.update(
        kept, HOME=scratch, TMPDIR=scratch, USER="sandbox", CUDA_VISIBLE_DEVICES="", PYTHONDONTWRITEBYTECODE="1"
    )
    tempfile.tempdir = None  # is asked for anew
    os.environ.update({"TORCHINDUCTOR_CACHE_DIR": scratch, "XDG_CACHE_HOME": scratch, "MPLCONFIGDIR": scratch})
