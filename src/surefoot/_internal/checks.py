"""Input validation: each check returns the converted value or raises `InvalidInput`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Number

import torch
from torch import Tensor

from surefoot.types import InvalidInput


def positive(name: str, value: float) -> float:
    """Convert to a finite float above zero."""
    number = _number(name, value, "a finite number above 0")
    if not (math.isfinite(number) and number > 0):
        raise InvalidInput(f"`{name}` is {value!r}, expected a finite number above 0.")
    return number


def non_negative(name: str, value: float) -> float:
    """Convert to a finite float of at least zero."""
    number = _number(name, value, "a finite number of at least 0")
    if not (math.isfinite(number) and number >= 0):
        raise InvalidInput(f"`{name}` is {value!r}, expected a finite number of at least 0.")
    return number


def probability(name: str, value: float) -> float:
    """Convert to a float strictly between 0 and 1."""
    number = _number(name, value, "a number strictly between 0 and 1")
    if not 0 < number < 1:
        raise InvalidInput(f"`{name}` is {value!r}, expected a number strictly between 0 and 1.")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """Convert to an integer of at least `least`."""
    number = integer(value)
    if number is None or not least <= number < 2**63:
        raise InvalidInput(f"`{name}` is {value!r}, expected an integer of at least {least}.")
    return number


def integer(value: object) -> int | None:
    """The value as an int if it is of an integer type other than bool, else None."""
    if isinstance(value, bool) or (isinstance(value, Tensor) and value.is_floating_point()):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def indices(name: str, value: Tensor | Sequence) -> list[int]:
    """Convert to a list of at least one integer."""
    try:
        listed = [integer(item) for item in value]
    except TypeError as error:
        raise InvalidInput(f"`{name}` is {value!r}, expected a list of integers.") from error
    numbers = [number for number in listed if number is not None]
    if len(listed) == 0 or len(numbers) < len(listed):
        raise InvalidInput(f"`{name}` is {value!r}, expected one integer or more.")
    return numbers


def reward(value: object) -> float:
    """Convert to one finite float; tensors and arrays of one element are accepted."""
    if type(value) is float and math.isfinite(value):
        return value
    shape = tuple(getattr(value, "shape", ()))
    if math.prod(shape) != 1:
        raise InvalidInput(
            f"the reward has shape {shape}, expected one number: tell each measurement by itself."
        )
    number = _number("reward", value, "a finite number")
    if not math.isfinite(number):
        raise InvalidInput(
            f"the reward is {number}, expected a finite number: report a measurement that failed "
            "with `forget(query)` instead."
        )
    return number


def matrix(name: str, value: Tensor | Sequence, device: torch.device | str = "cpu") -> Tensor:
    """Convert to a finite float64 matrix (n, d) with n, d >= 1, a copy."""
    tensor = _tensor(name, value, device)
    if tensor.ndim != 2 or 0 in tensor.shape:
        hint = f": pass `{name}.unsqueeze(-1)`" if tensor.ndim == 1 else ""
        raise InvalidInput(
            f"`{name}` has shape {tuple(tensor.shape)}, expected (n, d) with n, d >= 1{hint}."
        )
    return tensor


def vector(
    name: str,
    value: Tensor | Sequence,
    length: int | None = None,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Convert to a finite float64 vector, of the given length if any, a copy."""
    tensor = _tensor(name, value, device)
    wanted = "(d,)" if length is None else f"({length},)"
    if tensor.ndim != 1 or tensor.numel() == 0 or (length is not None and len(tensor) != length):
        squeezable = tensor.ndim == 2 and tensor.shape[-1] == 1
        hint = f": pass `{name}.squeeze(-1)`" if squeezable else ""
        raise InvalidInput(f"`{name}` has shape {tuple(tensor.shape)}, expected {wanted}{hint}.")
    return tensor


def is_single(value: object) -> bool:
    """Whether the value is a scalar: a number or a zero-dimensional tensor or array."""
    return isinstance(value, Number) or getattr(value, "ndim", None) == 0


def listed(value: Tensor | Sequence | float) -> Tensor | Sequence:
    """Wrap a scalar in a list; return anything else as it is."""
    return [float(value)] if is_single(value) else value  # type: ignore[arg-type, return-value]


def _number(name: str, value: object, wanted: str) -> float:
    if isinstance(value, bool | str):
        raise InvalidInput(f"`{name}` is {value!r}, expected {wanted}.")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InvalidInput(f"`{name}` is {value!r}, expected {wanted}.") from error


def _tensor(name: str, value: Tensor | Sequence, device: torch.device | str) -> Tensor:
    try:
        tensor = torch.as_tensor(value, dtype=torch.float64, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"`{name}` is a {type(value).__name__} that cannot be made a float64 tensor: {error}."
        ) from error
    if not bool(torch.isfinite(tensor).all()):
        raise InvalidInput(f"`{name}` has values that are NaN or infinite, expected finite ones.")
    return tensor.detach().clone()  # later changes by the caller must not affect the copy
