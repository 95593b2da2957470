"""Checks of a model's data, and of the transforms that are given with them."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from surefoot._internal import checks
from surefoot._internal.user_warnings import warn
from surefoot.types import InvalidInput

_SMALL = 1e-3  # spread of outcomes, of which a hundredth is as small
MOST_VARIANCE = checks.LARGEST**2


def ends(points: Tensor) -> Tensor:
    """Bounds (2, d) of points (n, d), apart in every coordinate."""
    low, high = points.amin(0), points.amax(0)
    return torch.stack([low, torch.where(high > low, high, low + 1.0)])


def checked_bounds(bounds: Tensor | Sequence, points: Tensor) -> Tensor:
    """Bounds (2, d) as a tensor; `InvalidInput` unless lower ones are below upper ones."""
    ends = torch.as_tensor(bounds).to(points).clone()
    if ends.shape != (2, points.shape[-1]) or not bool((ends[0] < ends[1]).all()):
        raise InvalidInput(
            f"`bounds` is {checks.shown(ends.tolist())}, expected lower and upper bounds "
            f"(2, {points.shape[-1]}), the lower ones below the upper ones."
        )
    return ends


def warn_of_small_outcomes(Y: Tensor) -> None:
    """Warn of outcomes (n, m) that vary by less than others take for nothing."""
    ends = torch.tensor([0.25, 0.75], dtype=torch.float64, device=Y.device)
    spread = torch.quantile(Y.detach().double(), ends, 0).diff(dim=0)[0]
    small = (spread > 0.0) & (spread < _SMALL)
    if bool(small.any()):
        least = float(spread[small].min())
        unit = 10.0 ** round(-math.log10(least))
        warn(
            f"`train_Y` varies by only {least:.1g} (its interquartile range). The posterior of "
            "`RobustGP` is right, but acquisition functions of BoTorch, and `ModelListGP`, take "
            "standard deviations below 1e-6 to 1e-05 for larger ones, whatever the units: "
            f"pass outcomes in another unit, such as {unit:.0e} * train_Y.",
        )


def own_copy(name: str, transform: nn.Module) -> nn.Module:
    """A copy of a transform, which learns its coefficients from the data of one model.

    Raises:
        InvalidInput: If it has parameters that would have to be fitted.
    """
    learnable = [key for key, one in transform.named_parameters() if one.requires_grad]
    if learnable:
        raise InvalidInput(
            f"`{name}` is {type(transform).__name__} with parameters to fit "
            f"({', '.join(learnable)}), which `RobustGP` does not: leave it out, or keep its "
            f"parameters as they are by `{name}.requires_grad_(False)`."
        )
    return copy.deepcopy(transform)


def check_finite(name: str, values: Tensor, most: float = checks.LARGEST) -> None:
    """`InvalidInput` unless values (..., k, d) are numbers whose squares can be summed."""
    bad = ~(values.double().abs() <= most)
    if bool(bad.any()):
        row, worst = int(bad.any(-1).nonzero()[0, -1]), float(values[bad][0])
        raise InvalidInput(
            f"`{name}` is {worst:g} in row {row}, expected finite numbers up to "
            f"{most:.0e}: leave the row out, or pass numbers in a larger unit."
        )


def check_scale(output: int, scale: float) -> None:
    """`InvalidInput` for an outcome whose spread is so small that its variance is no number."""
    if scale * checks.LARGEST < 1.0:
        raise InvalidInput(
            f"`train_Y` varies by about {scale:.1g} in column {output}, expected at least "
            f"{1.0 / checks.LARGEST:.0e}: pass it in a smaller unit."
        )


def check_data(X: object, Y: object, Yvar: object) -> None:
    """`InvalidInput` unless inputs (n, d), outcomes and variances (n, m) go together."""
    given = {"train_X": X, "train_Y": Y} | ({} if Yvar is None else {"train_Yvar": Yvar})
    for name, value in given.items():
        if not isinstance(value, Tensor) or value.ndim != 2 or 0 in value.shape:
            tensor = value if isinstance(value, Tensor) else None
            kind = f"of type {type(value).__name__}"
            came = kind if tensor is None else f"of shape {tuple(tensor.shape)}"
            columns = "d" if name == "train_X" else "m"
            raise InvalidInput(
                f"`{name}` is {came}, expected a tensor (n, {columns}) with n > 0: "
                "batches of data sets are not supported, make a model of each."
            )
        check_finite(name, value, MOST_VARIANCE if name == "train_Yvar" else checks.LARGEST)
        if len(value) != len(X):  # type: ignore[arg-type]
            raise InvalidInput(
                f"`train_X` has {len(X)} rows and `{name}` {len(value)}, "  # type: ignore[arg-type]
                "expected as many."
            )
    if isinstance(Yvar, Tensor):
        if Yvar.shape != Y.shape:  # type: ignore[attr-defined]
            raise InvalidInput(
                f"`train_Yvar` is of shape {tuple(Yvar.shape)}, expected that of `train_Y`, "
                f"{tuple(Y.shape)}."  # type: ignore[attr-defined]
            )
        if bool((Yvar < 0.0).any()):
            raise InvalidInput(
                f"`train_Yvar` is {float(Yvar.min()):.3g}, expected variances of at least 0."
            )
