"""Values of parameters on the boundary of a rule, to the last digit."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal.numbers import ROUNDING
from surefoot.parameters.decimal_grid import floats_near
from surefoot.parameters.parameter import Float

if TYPE_CHECKING:
    from surefoot.parameters.encoding import Encoding
    from surefoot.parameters.rules import Rule

_NEAR = 1e-5  # of the range of a parameter: a search stops that close to a boundary


def on_boundary(encoding: Encoding, point: Tensor, given: Collection[int]) -> Tensor:
    """Point (d,) on the boundaries of rules that a point (d,) almost touches.

    A search stops before a boundary by more than its rounding errors, at 3.999999998996 for
    `a <= 4`. For each such rule a continuous parameter moves to the last value, as it is shown, for
    which all rules hold. Where there is none, such as for `a < 4`, the point stays.

    Args:
        encoding: The encoding.
        point: The point.
        given: Coordinates that do not move.
    """
    found = point.cpu()[: encoding.unrestricted.dimension]
    params = encoding.configuration(found)
    free = [
        name
        for name, value in params.items()
        if isinstance(one := encoding.space.parameters[name], Float)
        and one.step is None
        and one.low < value < one.high
        and value not in one.special
        and not {*given} & {*encoding.parameters[name].columns}
    ]
    # Those with the fewest parameters to move come first.
    for index in sorted(range(len(encoding.rules)), key=lambda at: len(encoding.rules[at].names)):
        moved = _moved(encoding, encoding.rules[index], params, free)
        if moved is None:
            continue
        name, value = moved
        tried = [encoding.encode(params | {name: near}) for near in floats_near(value)]
        points = torch.stack([found, *(one for one in tried if one is not None)])
        shown = [encoding.configuration(one) for one in points]
        margins = encoding.margins_of(shown, tolerance=0.0)
        least = margins[0].clamp_max(0.0)  # of a grid, whose values add up to a bit more
        right = (margins >= least).all(-1) & (margins[:, index] >= 0.0) & encoding.holds(points)
        right &= torch.tensor([one.keys() == params.keys() for one in shown])  # the same active
        if bool(right.any()):
            best = int(torch.where(right, margins[:, index], math.inf).argmin())
            found, params = points[best], shown[best]
            free.remove(name)
    return torch.cat([found.to(point), point[len(found) :]])


def _moved(
    encoding: Encoding, rule: Rule, params: Mapping[str, Any], free: Sequence[str]
) -> tuple[str, float] | None:
    """The parameter that contributes most to a rule, and its value on a boundary, if that is close.

    So a floating-point number more or less of the parameter is about one more or less of the rule.
    """
    columns, active = encoding.columns_of([params])
    values = {name: columns[name].requires_grad_() for name in rule.names if name in free}  # type: ignore[union-attr]
    with torch.enable_grad():
        margin = rule.margins(columns, active, 0.0)
    if not values or not margin.requires_grad or not bool(margin.isfinite()):
        return None
    slopes = torch.autograd.grad(margin.sum(), [*values.values()], allow_unused=True)
    found = [
        (abs(params[name] * float(slope)), name, params[name] - float(margin.detach() / slope))
        for name, slope in zip(values, slopes, strict=True)
        if slope is not None and float(slope) != 0.0
    ]
    near = [
        each
        for each in found
        if abs(each[2] - params[each[1]]) <= _reach(encoding, each[1], params[each[1]])
    ]
    return max(near)[1:] if near else None


def _reach(encoding: Encoding, name: str, value: float) -> float:
    """How far a number may move: as little of its range as of itself."""
    number = encoding.space.parameters[name]
    low, high = float(number.low), float(number.high)  # type: ignore[union-attr]
    extent = value * math.log(high / low) if number.log else high - low  # type: ignore[union-attr]
    return min(_NEAR * extent, max(_NEAR * abs(value), ROUNDING * extent))
