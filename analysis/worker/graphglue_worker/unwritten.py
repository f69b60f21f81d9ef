"""What a constructor leaves unwritten gets numbers, where nobody but us constructs.

Parts of model libraries make parameters with `torch.empty` and leave it to a method of the whole model (`_init_weights`) to fill them.  Constructed
alone, such a part would compute with what the memory held before: another result in each process, often infinite or not a number.
"""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_DEVIATION = 0.02  # of the numbers, as models are mostly initialised; 0 of integers
_FACTORIES = {
    getattr(torch.ops.aten, name)
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
}


class Filled(TorchDispatchMode):
    """While it is entered, new memory holds small random numbers, of a generator of their own: random state stays as it is."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if getattr(func, "overloadpacket", None) in _FACTORIES:
            self._fill(out)
        return out

    def _fill(self, new: torch.Tensor) -> None:
        if new.device.type != "cpu" or new.layout != torch.strided or new.is_quantized:
            return
        if new.is_floating_point() or new.is_complex():
            numbers = torch.empty(new.shape, dtype=torch.float32, device=new.device)
            new.copy_(numbers.normal_(0, _DEVIATION, generator=self.generator))
        else:
            new.zero_()
