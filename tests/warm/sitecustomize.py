"""The template of warm workers: run by Python's own start, before the worker's program (warm_worker.c sets PYTHONPATH so).

It does what a worker does until it is idle, then forks a process for each that asks.  In that process this module returns, and Python
goes on to run graphglue_worker/__main__.py, with the arguments, environment and descriptors of who asked: but for what is imported and
compiled, its start is a worker's own.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
os.environ.pop("PYTHONPATH", None)
if (_given := os.environ.pop("GRAPHGLUE_WARM_PYTHONPATH", None)) is not None:
    os.environ["PYTHONPATH"] = _given


def _shadowed() -> None:
    """The environment's own module of this name, which this one stands before."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec(__name__)
    if spec and spec.loader:
        sys.modules[__name__] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _load_template():  # noqa: ANN202 - a module
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("graphglue_warm_template", os.path.join(_HERE, "template.py"))
    assert spec and spec.loader
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shadowed()
_load_template().serve(os.environ.pop("GRAPHGLUE_WARM"))
