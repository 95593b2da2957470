"""Texts of values that hold tensors: small ones in full, large ones by their shape."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from torch import Tensor

SHOWN = 12  # numbers in full
_LONGEST = 300  # characters of a part


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
        if np.prod(value.shape) > SHOWN:
            return f"<{kind} of shape {tuple(value.shape)}>"
        return repr(value.tolist())
    text = " ".join(repr(value).split())
    if len(text) <= _LONGEST:
        return text
    size = f" of {len(value)}" if isinstance(value, list | tuple | dict) else ""
    kind = type(value).__name__
    return f"{kind}(...)" if is_dataclass(value) else f"<{kind}{size}>"
