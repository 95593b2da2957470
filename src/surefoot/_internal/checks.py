"""Input validation: each check returns the converted value or raises `InvalidInput`."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from surefoot._internal.user_warnings import warn
from surefoot.types import InvalidInput, Outcome

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_Kind = TypeVar("_Kind")

LARGEST = 1e100  # magnitude up to which squares of rewards and coordinates can be summed
_NO_NUMBERS = (bool, np.bool_, complex, np.complexfloating, str, bytes, bytearray, memoryview)


def finite(name: str, value: object) -> float:
    """Convert to a finite float."""
    return _that(name, value, "a finite number", math.isfinite)


def positive(name: str, value: float) -> float:
    """Convert to a finite float above zero."""
    return _that(name, value, "a finite number above 0", lambda n: 0.0 < n < math.inf)


def at_least_one(name: str, value: float) -> float:
    """Convert to a finite float of at least one."""
    return _that(name, value, "a number of at least 1", lambda n: 1.0 <= n < math.inf)


def non_negative(name: str, value: float) -> float:
    """Convert to a finite float of at least zero."""
    return _that(name, value, "a finite number of at least 0", lambda n: 0.0 <= n < math.inf)


def probability(name: str, value: float) -> float:
    """Convert to a float strictly between 0 and 1."""
    return _that(name, value, "a number strictly between 0 and 1", lambda n: 0.0 < n < 1.0)


def share(name: str, value: float) -> float:
    """Convert to a float above 0 and at most 1."""
    return _that(name, value, "a number above 0 and at most 1", lambda n: 0.0 < n <= 1.0)


def _that(name: str, value: object, wanted: str, holds: Callable[[float], bool]) -> float:
    """Convert to a float of which something holds."""
    number = _number(name, value, wanted)
    if not holds(number):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected {wanted}.")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """Convert to an integer of at least `least`."""
    number = integer(value)
    if number is None or not least <= number < 2**63:
        below = "" if number is None or number < least else " and below 2**63"
        raise InvalidInput(
            f"`{name}` is {shown(value)}, expected an integer of at least {least}{below}."
        )
    return number


def integer(value: Any) -> int | None:
    """The value as an int if it is of an integer type other than bool, else None."""
    if isinstance(value, bool | np.bool_ | np.ma.MaskedArray):
        return None
    if _is_tensor(value) and (value.is_floating_point() or str(value.dtype) == "torch.bool"):
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        return None


def indices(name: str, value: Tensor | Sequence) -> list[int]:
    """Convert to a list of at least one integer."""
    try:
        if str(getattr(value, "dtype", None)) in ("bool", "torch.bool"):
            raise InvalidInput(
                f"`{name}` is a mask of {len(value)} booleans, expected integers: pass the indices "
                "that it selects."
            )
        if not hasattr(value, "__len__"):
            raise TypeError("not a sequence")
        listed = [integer(item) for item in value]
    except TypeError as error:
        raise InvalidInput(f"`{name}` is {shown(value)}, expected a list of integers.") from error
    numbers = [number for number in listed if number is not None]
    if len(listed) == 0 or len(numbers) < len(listed):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected one integer or more.")
    return numbers


def reward(value: object) -> float:
    """Convert to one finite float; tensors and arrays of one element are accepted.

    Sentinels such as the largest float count as `LARGEST`, with a warning.
    """
    if type(value) is float and -LARGEST <= value <= LARGEST:
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
    return _summable("a reward", number)


def rewards(value: object) -> list[float]:
    """Convert to finite floats (n,), each as `reward` does."""
    return [_summable("a reward", one) for one in vector("rewards", value).tolist()]  # type: ignore[arg-type]


def outcome_value(name: str, value: object) -> float:
    """Convert the value of a named outcome to a finite float, as `reward` does."""
    return _summable(f"a value of {name!r}", finite(f"outcomes[{name!r}]", value))


def _summable(what: str, number: float) -> float:
    """The number, or `LARGEST` with a warning; its text is always the same, so it is shown once."""
    if abs(number) <= LARGEST:
        return number
    warn(
        f"{what} beyond {LARGEST:.0e} counts as {LARGEST:.0e}, as squares of larger ones cannot be "
        "summed: use a larger unit, and tell a failure as one.",
    )
    return math.copysign(LARGEST, number)


def standard_error(value: object) -> float:
    """Convert to a finite float of at least zero."""
    if type(value) is float and value == 0.0:
        return value
    wanted = "a finite number of at least 0, the standard error of the reward"
    return _summable("a standard error", _that("sem", value, wanted, lambda n: 0.0 <= n < math.inf))


def worker(value: object) -> str | None:
    """Convert to the name of a worker that is not empty, or None where it is unknown."""
    number = integer(value)
    name = value if isinstance(value, str) else "" if number is None else str(number)
    if value is not None and not name.strip():
        raise InvalidInput(
            f"`worker` is {shown(value)}, expected a name that is not empty, or None where it is "
            "unknown."
        )
    return None if value is None else name


def time(value: object) -> float | None:
    """Convert to a finite time, or None where it is unknown."""
    return None if value is None else finite("time", value)


def standard_errors(value: object, length: int) -> list[float]:
    """Convert to finite floats (n,) of at least zero, one for each of so many rewards."""
    errors = vector("sems", value)  # type: ignore[arg-type]
    if len(errors) != length:
        raise InvalidInput(f"{length} rewards came with {len(errors)} `sems`, expected as many.")
    if bool((errors < 0.0).any()):
        raise InvalidInput(
            f"`sems` has {float(errors.min()):g}, expected standard errors of at least 0: "
            "pass 0 where one is unknown."
        )
    return [_summable("a standard error", one) for one in errors.tolist()]


def coordinates(name: str, values: Tensor) -> Tensor:
    """The values, if distances between them can be squared."""
    if bool((values.abs() > LARGEST).any()):
        raise InvalidInput(
            f"`{name}` has values up to {float(values.abs().max()):.3g}, expected at most "
            f"{LARGEST:.0e}: rescale the coordinates."
        )
    return values


def choice(name: str, value: object, *options: str) -> str:
    """The value, if it is one of a few words."""
    if not isinstance(value, str) or value not in options:
        *first, last = [*map(repr, options)] or ["nothing: there is none"]
        words = f"{', '.join(first)} or {last}" if first else last
        raise InvalidInput(f"`{name}` is {shown(value)}, expected {words}.")
    return value


def names(name: str, value: object, *options: str) -> tuple[str, ...]:
    """The options that a list of names has, in their order."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected a list of names: {options}.")
    chosen = [choice(name, one, *options) for one in value]
    return tuple(option for option in options if option in chosen)


def outcomes(value: object) -> None:
    """Raise `InvalidInput` unless they are outcomes by name."""
    if not (
        isinstance(value, Mapping)
        and all(isinstance(k, str) and isinstance(v, Outcome) for k, v in value.items())
    ):
        raise InvalidInput(
            f"`outcomes` is {shown(value)}, expected outcomes by name, such as "
            '{"p99": Constraint(maximum=20.0)}.'
        )


def truth(name: str, value: object) -> bool:
    """Convert to a truth value; nothing but a boolean is one."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected True or False.")
    return bool(value)


def device(value: Any) -> torch.device:
    """Convert to a torch device that can be used on this machine."""
    import torch  # here, so that programs that check numbers only start without it

    try:
        if isinstance(value, bool):
            raise TypeError("a boolean")
        tried = torch.zeros(1, dtype=torch.float64, device=value)
        tried.cpu()  # fails on "meta", where tensors have no values
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidInput(
            f"`device` is {shown(value)}, expected a torch device for float64 tensors on this "
            f"machine, such as 'cpu' or 'cuda': {reason}"
        ) from error
    return tried.device


def matrix(
    name: str,
    value: Tensor | Sequence,
    device: torch.device | str = "cpu",
    columns: int | None = None,
) -> Tensor:
    """Convert to a finite float64 matrix (n, d) with n, d >= 1, of d columns if given, a copy."""
    rows = tensor(name, value, device)
    if rows.ndim != 2 or 0 in rows.shape or columns not in (None, rows.shape[1]):
        hint = ""
        if rows.ndim == 1:
            listed = not hasattr(value, "unsqueeze")
            row = f"[{name}]" if listed else f"{name}.unsqueeze(0)"
            column = f"[[each] for each in {name}]" if listed else f"{name}.unsqueeze(-1)"
            hint = f": pass `{row}` for a single row, `{column}` for a single column"
        raise InvalidInput(
            f"`{name}` has shape {tuple(rows.shape)}, expected "
            f"{'(n, d) with n, d' if columns is None else f'(n, {columns}) with n'} >= 1{hint}."
        )
    return rows


def vector(
    name: str,
    value: Tensor | Sequence,
    length: int | None = None,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Convert to a finite float64 vector, of the given length if any, a copy."""
    row = tensor(name, value, device)
    wanted = "(n,)" if length is None else f"({length},)"
    if row.ndim != 1 or row.numel() == 0 or (length is not None and len(row) != length):
        squeezable = row.ndim == 2 and row.shape[-1] == 1
        hint = f": pass `{name}.squeeze(-1)`" if squeezable else ""
        raise InvalidInput(f"`{name}` has shape {tuple(row.shape)}, expected {wanted}{hint}.")
    return row


def is_single(value: object) -> bool:
    """Whether the value is a scalar: a number or a zero-dimensional tensor or array."""
    return isinstance(value, Number) or getattr(value, "ndim", None) == 0


def shown(value: object) -> str:
    """The value for a message, in one line, abbreviated where it is long."""
    try:
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "an integer"
    except Exception as error:  # of a class of the caller's
        text = f"a {type(value).__name__} ({type(error).__name__} in its repr)"
    if text == "an integer":
        return f"an integer of {int(value).bit_length()} bits"  # type: ignore[call-overload]
    if "\n" in text and text.startswith(f"{type(value).__name__}("):
        text = f"{type(value).__name__}(...)"  # a module of PyTorch has a line for each part
    text = " ".join(line.strip() for line in text.splitlines())
    return text if len(text) <= 200 else f"{text[:150]} ... {text[-30:]}"


def listed(value: Tensor | Sequence | float) -> Tensor | Sequence:
    """Wrap a scalar in a list; return anything else as it is."""
    if not is_single(value):
        return value  # type: ignore[return-value]
    return [value[()] if isinstance(value, np.ndarray) else value]


def _number(name: str, value: object, wanted: str) -> float:
    if _no_number(value):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected {wanted}.")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InvalidInput(f"`{name}` is {shown(value)}, expected {wanted}.") from error


def _is_tensor(value: Any) -> bool:
    """Whether the value is a tensor, which only exists where torch is loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _no_number(value: Any) -> str:
    """Type of a value, or of an entry of it, that is no real number; empty if it has none.

    PyTorch and NumPy convert booleans, bytes and the real part of complex numbers without a word.
    """
    if _is_tensor(value):
        if str(value.layout) != "torch.strided":
            return str(value.layout)
        boolean = str(value.dtype) == "torch.bool"
        return str(value.dtype) if value.is_complex() or boolean else ""
    if isinstance(value, np.ma.MaskedArray):
        return "masked" if np.ma.is_masked(value) else _no_number(value.data)
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return _no_number(value.tolist())
        return "" if value.dtype.kind in "iuf" else str(value.dtype)
    if isinstance(value, _NO_NUMBERS):
        return type(value).__name__
    if not isinstance(value, list | tuple) or {*map(type, value)} <= {float, int}:
        return ""
    return next((found for entry in value if (found := _no_number(entry))), "")


def tensor(name: str, value: object, device: torch.device | str = "cpu") -> Tensor:
    """Convert to a finite float64 tensor of any shape, a copy."""
    if hasattr(value, "to_numpy"):  # of a data frame or one of its columns
        value = value.to_numpy()
    if wrong := _no_number(value):
        is_what = "has values" if hasattr(value, "__getitem__") else f"is {shown(value)},"
        raise InvalidInput(f"`{name}` {is_what} of type {wrong}, expected real numbers.")
    import torch  # here, so that programs that check numbers only start without it

    try:
        if isinstance(value, list | tuple) and any(isinstance(row, torch.Tensor) for row in value):
            value = torch.stack([torch.as_tensor(row) for row in value])
        if isinstance(value, np.ndarray):  # which may be reversed, read only, of another byte order
            value = np.require(value, np.float64, ["C", "W"])
        converted = torch.as_tensor(value, dtype=torch.float64, device=device)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InvalidInput(
            f"`{name}` is a {type(value).__name__} that cannot be made a float64 tensor: {error}."
        ) from error
    # Copied: later changes by the caller must not affect it.
    return finite_values(name, converted).detach().clone()


def finite_values(name: str, values: Tensor) -> Tensor:
    """The values of a tensor, if all are finite."""
    if not bool(values.isfinite().all()):
        raise InvalidInput(f"`{name}` has values that are NaN or infinite, expected finite ones.")
    return values


def rule(name: str, value: object, example: str) -> None:
    """`InvalidInput` unless a rule is a function or an object that can be called, not a class."""
    if not callable(value) or isinstance(value, type):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected one such as `{example}`.")


def instance(name: str, value: _Kind, kind: type[_Kind]) -> _Kind:
    """`InvalidInput` unless a value is of a class."""
    if not isinstance(value, kind):
        raise InvalidInput(f"`{name}` is {shown(value)}, expected a `{kind.__name__}(...)`.")
    return value
