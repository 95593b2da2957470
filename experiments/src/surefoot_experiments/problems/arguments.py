"""Checks of the arguments of problems."""

from collections.abc import Sequence

import torch
from torch import Tensor

from surefoot import InvalidInput


def vector(name: str, value: Tensor | Sequence[float], length: int | None = None) -> Tensor:
    """A finite float64 vector (n,), of the given length if there is one; else `InvalidInput`."""
    expected = "(n,)" if length is None else f"({length},)"
    tensor = _finite(name, value, 1, expected)
    if length not in (None, len(tensor)):
        raise InvalidInput(f"`{name}` has shape {tuple(tensor.shape)}, expected {expected}.")
    return tensor


def matrix(name: str, value: Tensor | Sequence[Sequence[float]]) -> Tensor:
    """A finite float64 matrix (n, d) with n, d >= 1; else `InvalidInput`."""
    return _finite(name, value, 2, "(n, d) with n, d >= 1")


def _finite(name: str, value: object, dimensions: int, expected: str) -> Tensor:
    try:
        tensor = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"`{name}` cannot be made a float64 tensor: {error}.") from error
    if tensor.ndim != dimensions or tensor.numel() == 0:
        raise InvalidInput(f"`{name}` has shape {tuple(tensor.shape)}, expected {expected}.")
    if not bool(torch.isfinite(tensor).all()):
        raise InvalidInput(f"`{name}` has values that are NaN or infinite, expected finite ones.")
    return tensor
