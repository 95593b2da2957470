"""What a round costs, as counts that are the same on every machine, and the orders stated of it."""

import cProfile
import gc
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_OUTSIDE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


@dataclass(frozen=True)
class Cost:
    """Counts of a round, means over several.

    Args:
        calls: Calls of Python functions and of built-in ones.
        operators: Calls of torch's operators.
        numbers: Numbers in the tensors that these read and write.
    """

    calls: float
    operators: float
    numbers: float


class _Operators(TorchDispatchMode):
    """Counts operators, and the numbers that they read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, found)) if torch.is_tensor(leaf)]
        self.operators += 1
        self.numbers += sum(tensor.numel() for tensor in tensors)
        return found


def cost_of(play: Callable[[], object], rounds: int) -> Cost:
    """Counts of a round, as `play` does one: calls of some, then operators of others."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(rounds):
        play()
    profile.disable()
    calls = sum(entry.callcount for entry in profile.getstats())
    with _Operators() as counted:
        for _ in range(rounds):
            play()
    return Cost(calls / rounds, counted.operators / rounds, counted.numbers / rounds)


def kept(*things: object) -> int:
    """Bytes of all that objects refer to, buffers of arrays and tensors included."""
    seen: set[int] = set()
    total, left = 0, [*things]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, _OUTSIDE):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, torch.Tensor):
            one = one.untyped_storage()
            buffer = one.data_ptr()
            total += 0 if buffer in seen else one.nbytes()
            seen.add(buffer)
        elif not isinstance(one, np.ndarray):
            left += gc.get_referents(one)
        elif one.base is not None:
            left.append(one.base)
    return total
