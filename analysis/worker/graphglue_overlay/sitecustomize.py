"""Found by `site` through PYTHONPATH in every Python that `graphglue-lsp run` starts: puts the overlay in force.

The next sitecustomize on the path, which this one hides, still runs.
"""

import os
import sys


def _next_sitecustomize(here):
    import importlib.machinery
    import importlib.util

    rest = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("GRAPHGLUE_OVERLAY"):
    try:
        import graphglue_overlay  # noqa: F401 - importing it is what puts it in force
    except SystemExit as e:  # `site` would print a trace, and end with another code
        sys.stderr.flush()
        os._exit(e.code)
_next_sitecustomize(os.path.dirname(os.path.abspath(__file__)))
