"""Found by `site` through PYTHONPATH in every Python that `graphglue-lsp record` starts: arms the recorder once torch is imported.

A program that never imports torch pays nothing but this file.  The next sitecustomize on the path, which this one hides, still runs.
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


def _arm(here):
    import importlib.abc
    import importlib.machinery

    class Finder(importlib.abc.MetaPathFinder):
        """Lets torch be found as ever, and starts the recorder when its import is over."""

        def find_spec(self, fullname, path=None, target=None):
            if fullname != "torch":
                return None
            sys.meta_path.remove(self)
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            if spec is None or spec.loader is None:
                return spec
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    sys.path.insert(0, os.path.dirname(here))
                    from graphglue_worker import record
                finally:
                    sys.path.remove(os.path.dirname(here))
                record.start()

            spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())


_here = os.path.dirname(os.path.abspath(__file__))
if os.environ.get("GRAPHGLUE_RECORD"):
    _arm(_here)
_next_sitecustomize(_here)
