"""Start of the worker: ``python graphglue_worker/__main__.py --fd N[,OUT] [--workspace DIR]…`` (run by graphglue-worker)."""

import argparse
import json
import os
import sys


def main() -> int:
    """Make the package importable, keep the user's sys.path otherwise as it is, and serve until the connection ends."""
    package = os.path.dirname(os.path.abspath(__file__))
    # Without "..", as an installed launcher says it: our own frames are known by where they lie (positions.py).
    support = os.path.abspath(os.environ.get("GRAPHGLUE_SUPPORT") or os.path.dirname(package))
    # The script's folder must not shadow modules of the user's; the support folder goes last.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != package]
    sys.path.append(support)
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", default="3")
    parser.add_argument("--workspace", action="append", default=[])
    options = parser.parse_args()
    fds = [int(n) for n in options.fd.split(",")]
    try:
        from graphglue_worker import zygote
    except ImportError as e:
        return _report(
            fds[-1], f"{sys.executable} cannot load graphglue-lsp's host module ({e}): reinstall graphglue-lsp"
        )
    return zygote.serve(fds[0], fds[-1], options.workspace)


def _report(fd: int, error: str) -> int:
    """The one frame that needs no host module: why there is no worker."""
    frame = {"op": "ready", "torch": None, "torch_error": error, "registry": None, "cuda": None}
    body = json.dumps(frame).encode() + b"\n"
    os.write(fd, len(body).to_bytes(4, "big") + body)
    return 1


if __name__ == "__main__":
    sys.exit(main())
