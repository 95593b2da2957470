"""Texts of values that hold tensors, small ones in full, and of bounds."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np
from torch import Tensor

_SHOWN = 12  # numbers in full
_LONGEST = 300  # characters of a part
_DOWN, _UP = (Context(prec=4, rounding=one) for one in (ROUND_FLOOR, ROUND_CEILING))


def brief(value: Any) -> str:
    """The text of a dataclass, as its `__repr__`, without the numbers of large tensors.

    Example:
        >>> import torch
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Line:
        ...     points: torch.Tensor
        ...     __repr__ = brief
        >>> Line(torch.zeros(400, 2)), Line(torch.zeros(2))
        (Line(points=<tensor of shape (400, 2)>), Line(points=[0.0, 0.0]))
    """
    parts = [
        f"{one.name}={_part(getattr(value, one.name, None))}"
        for one in fields(value)
        if one.repr and not one.name.startswith("_")
    ]
    return f"{type(value).__name__}({', '.join(parts)})"


def _part(value: Any) -> str:
    if isinstance(value, Tensor | np.ndarray):
        kind = "tensor" if isinstance(value, Tensor) else "array"
        if np.prod(value.shape) > _SHOWN:
            return f"<{kind} of shape {tuple(value.shape)}>"
        return repr(value.tolist())
    text = " ".join(repr(value).split())
    if len(text) <= _LONGEST:
        return text
    size = f" of {len(value)}" if isinstance(value, list | tuple | dict) else ""
    return f"<{type(value).__name__}{size}>" if not is_dataclass(value) else _named(value)


def _named(value: Any) -> str:
    return f"{type(value).__name__}(...)"


def at_least(bound: float) -> str:
    """A lower bound in four digits, rounded down.

    Example:
        >>> at_least(0.63179), at_least(-0.63171), at_least(62.0)
        ('0.6317', '-0.6318', '62')
    """
    return f"{float(_DOWN.create_decimal(bound)):g}"


def at_most(bound: float) -> str:
    """An upper bound in four digits, rounded up.

    Example:
        >>> at_most(0.63171), at_most(-0.63179), at_most(62.0)
        ('0.6318', '-0.6317', '62')
    """
    return f"{float(_UP.create_decimal(bound)):g}"
