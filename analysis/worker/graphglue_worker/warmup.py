"""What the zygote does before its first job: import torch, run Dynamo once, look for CUDA devices; and, when there is time, the rehearsal."""

import contextlib
import gc
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from graphglue_worker import advice, memory

# Imported before the first fork, so that no job pays for it.
_PRELOAD = (
    "capture", "compare", "deduced", "devices", "facts", "forks", "graphs", "hooks", "inputs", "job", "judge", "observe", "overlay",
    "positions", "reads", "recorded", "records", "sandbox", "snapshot", "users_compile", "verify",
    "write_inputs",
)  # fmt: skip
_SYMBOLIC = "sympy.tensor.tensor"  # what sizes that Dynamo leaves open load when they are first met
# A user's environment may switch off what is measured here.
_SWITCHES = (
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DISABLE",
    "TORCH_COMPILE_FORCE_DISABLE_CACHES",
    "TORCH_COMPILE_JOB_ID",
)


def ready() -> dict[str, Any]:
    """The `ready` frame: import torch and run Dynamo on a small module; when that fails, say why and how to mend it."""
    frame: dict[str, Any] = {"op": "ready", "torch": None, "torch_error": None, "registry": None, "cuda": None}
    for name in _SWITCHES:
        os.environ.pop(name, None)
    gc.disable()  # of what is imported nothing is garbage, and to look through it again and again takes a fifth of the time
    try:
        import torch
        import torch._dynamo

        torch.set_num_threads(1)
        for name in _PRELOAD:
            importlib.import_module(f"graphglue_worker.{name}")
        with contextlib.suppress(ImportError):
            importlib.import_module(_SYMBOLIC)
        from graphglue_worker import devices, records, rehearsal

        frame["registry"] = records.registry_path()
        gc.freeze()  # Dynamo collects garbage behind each frame that it compiles
        query = devices.Query()
        try:
            _compile_quietly(rehearsal.first_call)
            hear_notices()
        finally:
            frame["cuda"] = query.answer()
        frame["torch"] = str(torch.__version__).split("+")[0]
    except ImportError as e:
        if str(e.name).startswith("graphglue"):
            raise  # ours is broken, not theirs
        missing = e.name == "torch"
        what = "torch is not installed" if missing else f"torch could not be imported ({e})"
        command = advice.install_command("torch" if missing else "--force-reinstall torch")
        frame["torch_error"] = f"{what} in {sys.executable}. Install it:  {command}"
    except Exception as e:  # noqa: BLE001 - a broken torch must be told, not crash the worker
        frame["torch_error"] = (
            f"TorchDynamo could not start in {sys.executable}: {type(e).__name__}: {e}. "
            f"torch 2.8 to 2.13 are known to work:  {advice.install_command('--upgrade torch')}"
        )
    gc.freeze()
    gc.enable()
    return frame


def rehearse() -> None:
    """Once `ready` has given no error: Dynamo over what models are made of.  It takes a second or two; whatever happens, jobs can be done.  What is
    here then stays: forks neither look through it nor write beside it."""
    with contextlib.suppress(Exception):
        warm_up()
    gc.unfreeze()
    gc.collect()
    memory.fill_holes()
    gc.freeze()


def read_registry(path: str | None) -> str | None:
    """The registry's text; None when there is none."""
    try:
        with open(path or "", encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


@contextlib.contextmanager
def _driver_left_alone() -> Iterator[None]:
    """Where no CUDA device is visible, as here, fake tensors ask the driver for their number and put a guard that does nothing in place of
    CUDA's own.  Jobs would inherit both, and have no use of the devices that they see."""
    import torch

    name = "_ensureCUDADeviceGuardSet"
    ensure = getattr(torch._C, name, None)  # a detail of torch's: looked for before use
    if ensure is None:
        yield
        return
    setattr(torch._C, name, lambda: None)
    try:
        yield
    finally:
        setattr(torch._C, name, ensure)


def hear_notices() -> None:
    """What torch says once per process whatever the program: that it does not check sparse tensors.  Who makes one first hears it, so that it is
    of no program's own (docs/verification.md); here it is said before any of them runs."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_coo_tensor([[0]], [1.0], (1,))


def warm_up() -> None:
    """Run Dynamo once over what models are made of, so that a child finds its caches and imports ready."""
    from graphglue_worker import rehearsal

    _compile_quietly(rehearsal.call)


def _compile_quietly(made: Callable[[], tuple[Any, tuple[Any, ...]]]) -> None:
    """Capture what `made` gives: a callable and its arguments."""
    import torch

    from graphglue_worker import capture, inputs, snapshot

    logging.disable(logging.WARNING)  # Dynamo warns about the rehearsal's own breaks
    try:
        with torch.no_grad(), _driver_left_alone():
            inputs.seed_all(0)
            fn, args = made()
            inputs.source_of(type(fn))
            snapshot.take(capture.run_callable(fn, args, {})[0])
    finally:
        logging.disable(logging.NOTSET)
    sys.path_importer_cache.clear()  # a job would mark each of hundreds as out of date
    torch._dynamo.reset()
