"""Start of the worker: ``python graphglue_worker/__main__.py --fd N [--workspace DIR]…`` (run by graphglue-worker)."""

import argparse
import os
import sys


def main() -> int:
    """Make the package importable, keep the user's sys.path otherwise as it is, and serve until the connection ends."""
    package = os.path.dirname(os.path.abspath(__file__))
    support = os.environ.get("GRAPHGLUE_SUPPORT") or os.path.dirname(package)
    # The script's folder must not shadow modules of the user's; the support folder goes last.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != package]
    sys.path.append(support)
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, default=3)
    parser.add_argument("--workspace", action="append", default=[])
    options = parser.parse_args()
    from graphglue_worker import zygote

    return zygote.serve(options.fd, options.workspace)


if __name__ == "__main__":
    sys.exit(main())
