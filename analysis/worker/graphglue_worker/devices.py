"""CUDA devices: which there are, what is said where one is missing, and what a call took of the one it ran on.

CUDA does not survive a fork: only `here`, `used_by` and `measure` touch it, and they are called in forks that fork no more.
"""

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import _graphglue_host as host
import torch
from torch.utils import _pytree

from graphglue_worker import environment, wire

ANSWER_MS = 20_000  # for the driver, from cold: some seconds a device
WATCH_US = 1000
_WANTS_MEMORY = "GRAPHGLUE_CUDA_MEMORY"  # set by doctor: to learn what is free takes some hundred MiB of each device
MISSING = "no CUDA device"
count = 0  # that jobs of the user's own code can use; set in the zygote

_MISSING = re.compile(
    rf"\b{MISSING}\b|no such CUDA device|Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available"
    r"|no CUDA-capable device is detected|NVIDIA driver on your system is too old|CUDA driver initialization failed"
    r"|CUDA driver version is insufficient|Cannot get CUDA generator without ATen_cuda|torch\.cuda\.\w+ requires CUDA support"
    r"|deserialize object on (a )?CUDA device|0 active drivers|invalid device ordinal|Invalid device id"
)
_KEYS = ("device", "name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes", "elapsed_ms")
NONE: dict[str, Any] = dict.fromkeys(_KEYS)  # an entry's `cuda` when it asks for a device that is not here


# ---- which there are -------------------------------------------------------------------------------------------------------


class Query:
    """Asks the CUDA runtime in a fork, so that this process never touches CUDA.  Every one must be answered."""

    def __init__(self) -> None:
        self._answer, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                environment.restore()
                wire.send(write, _found(os.environ.get(_WANTS_MEMORY) == "1"))
            finally:
                os._exit(0)
        os.close(write)

    def answer(self) -> dict[str, Any]:
        """`cuda` of the `ready` frame; waits for a driver that hangs until a deadline.  Call once."""
        found = {
            "runtime": None,
            "error": "the process that asked the CUDA driver ended without an answer",
            "devices": [],
        }
        try:
            found = wire.recv(self._answer, ANSWER_MS) or found
        except TimeoutError:
            found["error"] = f"the CUDA driver did not answer within {ANSWER_MS // 1000} s"
        except (OSError, EOFError, ValueError):
            pass  # it died while it wrote
        finally:
            os.close(self._answer)
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if not _built_for_it():
            found["error"] = f"torch {torch.__version__} is built without CUDA"
        return found


def _found(with_memory: bool) -> dict[str, Any]:
    runtime, error, rows = host.cuda_devices()
    devices = []
    for index, name, total, failed in rows:
        free = None
        if with_memory and not failed:
            try:
                free, total = host.cuda_memory(index)
            except RuntimeError as e:
                failed = str(e)
        devices.append(
            {"index": index, "name": name, "total_bytes": total or None, "free_bytes": free, "error": failed}
        )
    return {"runtime": runtime, "error": error, "devices": devices}


def _built_for_it() -> bool:
    return bool(torch.version.cuda or torch.version.hip)


def show(cuda: dict[str, Any] | None) -> None:
    """Prepare the zygote for jobs that see the devices of a Query's answer, as it does not."""
    global count
    count = len((cuda or {}).get("devices", ())) if _built_for_it() else 0
    if not count:
        return
    # Details of torch's, looked for before use: what it keeps from having seen none.
    for kept in vars(sys.modules.get("torch.utils._triton", object)).values():
        if callable(clear := getattr(kept, "cache_clear", None)):
            clear()
    interfaces = sys.modules.get("torch._dynamo.device_interface")
    if hasattr(interfaces, "_device_initialized"):
        interfaces._device_initialized = False


def none_but_processor() -> bool:
    """Is there no other device that torch could use in a job?"""
    if not hasattr(torch, "accelerator"):  # before 2.6
        return False
    kind = torch.accelerator.current_accelerator()
    return kind is None or (kind.type == "cuda" and not count)


# ---- one that is missing ---------------------------------------------------------------------------------------------------


def missing(said: str | None) -> bool:
    """Does an error's text come of a CUDA device that is not here?"""
    return bool(said and _MISSING.search(said))


def headed(said: str) -> str:
    """The text of an error, headed by what is missing where that is its reason."""
    if not missing(said) or said.startswith((MISSING, "no such CUDA device")):
        return said
    return f"{_what_is_missing()}: {said}"


def _what_is_missing() -> str:
    return f"no such CUDA device (there {'is' if count == 1 else 'are'} {count})" if count else MISSING


def here(device: str) -> bool:
    """Can tensors be made there?"""
    try:
        torch.empty(0, device=device)
        return True
    except (RuntimeError, AssertionError):
        return False


class Placement:
    """Where recorded values are made: on the device they were recorded on, or on what stands in for it here."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}  # by what was recorded

    def __call__(self, device: str) -> str:
        """The device to use for one that was recorded."""
        if device not in self._used:
            other = "cuda:0" if device.startswith("cuda") and here("cuda:0") else "cpu"
            self._used[device] = device if here(device) else other
        return self._used[device]

    def words(self) -> list[str]:
        """What stood in for what, in plain words; none where nothing did."""
        return [
            f"{_what_is_missing() if wanted.startswith('cuda') else f'no {wanted} device'}: "
            f"recorded on {wanted}, it ran on {'the CPU' if used == 'cpu' else used}"
            for wanted, used in self._used.items()
            if used != wanted
        ]


# ---- what a call took ------------------------------------------------------------------------------------------------------


def used_by(call: Any, result: Any) -> str | None:
    """The CUDA device of a call's arguments, else of its module, else of its result; None: it ran on none."""
    if not torch.cuda.is_initialized():
        return None
    return next((str(t.device) for t in _tensors(call, result) if t.device.type == "cuda"), None)


def _tensors(call: Any, result: Any) -> Iterator[torch.Tensor]:
    yield from _tensors_in((call.args, call.kwargs))
    owner = call.fn if isinstance(call.fn, torch.nn.Module) else getattr(call.fn, "__self__", None)
    if isinstance(owner, torch.nn.Module):
        yield from owner.parameters()
        yield from owner.buffers()
    yield from _tensors_in(result)


def _tensors_in(tree: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in _pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def measure(make: Callable[[], Callable[[], Any]], device: str, seconds: float) -> dict[str, Any]:
    """Memory and time that a call takes on a device: an entry's `cuda` (docs/json.md).  What cannot be measured is None.

    `make` builds the call anew.  It is called twice: the first time while the memory is watched, and the second for the time, when all that
    CUDA does once is done.  `seconds` is the most that is waited for the device.
    """
    figures = {**NONE, "device": device}
    index, end = torch.device(device).index, time.monotonic() + seconds
    with contextlib.suppress(Exception):  # user code, and a device that fails: then what is known so far
        figures["name"] = torch.cuda.get_device_name(index)
        torch.cuda.synchronize(index)
        torch.cuda.empty_cache()  # what calls before this one have left
        torch.cuda.reset_peak_memory_stats(index)
        figures["free_bytes"], figures["total_bytes"] = host.cuda_memory(index)
        host.cuda_watch(index, WATCH_US)
        try:
            call = make()
            call()
            torch.cuda.synchronize(index)
        finally:
            least, total = host.cuda_watch_end(_left_ms(end))
        figures.update(peak_bytes=total - least, tensor_bytes=torch.cuda.max_memory_allocated(index))
        with torch.cuda.device(index):
            host.cuda_timer(torch.cuda.current_stream(index).cuda_stream)
            call()
            figures["elapsed_ms"] = round(host.cuda_timer_end(_left_ms(end)), 4)
    return figures


def _left_ms(end: float) -> int:
    return max(1, int((end - time.monotonic()) * 1000))
