"""What can be chosen of an encoded space now, and the points of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot._internal.process_settings import with_own_settings
from surefoot.integrations.optuna.common_space import Ranges, nearest_in
from surefoot.integrations.optuna.search_space import distributions
from surefoot.parameters import Space
from surefoot.parameters.encoded_parameters import EncodedNumber
from surefoot.parameters.encoding import Encoding
from surefoot.parameters.parameter import shared_name
from surefoot.spaces import Box
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class Part:
    """The part of a search space that can be chosen.

    Args:
        box: The part of the encoded space.
        given: Values by parameter name that are known before the choice.
        ranges: Distributions by parameter name, of which the values are to be.
    """

    box: Box
    given: Mapping[str, Any]
    ranges: Ranges

    def values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration with the given values, and others in their ranges."""
        return {
            name: self.given[name] if name in self.given else nearest_in(self.ranges[name], value)
            for name, value in params.items()
        }


def choosable(encoding: Encoding, given: Mapping[str, Any], ranges: Ranges) -> Box:
    """The part of an encoded space that can be chosen.

    Args:
        encoding: The encoding.
        given: Values by parameter name that are known before the choice; those that their
            parameters cannot have are ignored.
        ranges: Distributions by parameter name, within those of the space.

    Returns:
        A box, the encoded space itself where nothing is given and all of it can be chosen.

    Raises:
        InvalidInput: If no configuration with these values satisfies the rules.
    """
    box, fixed = _narrowed(encoding, ranges), encoding.coordinates(given)
    try:
        return box.given(fixed) if fixed else box
    except InvalidInput as error:
        raise InvalidInput(
            f"a trial was enqueued with {checks.shown(dict(given))}: {error} Enqueue values that "
            "do."
        ) from error


def _narrowed(encoding: Encoding, ranges: Ranges) -> Box:
    """The encoded space within ranges; those that have no value in common are ignored."""
    box = encoding.box
    lower, upper, levels = box.lower.clone(), box.upper.clone(), dict(box.levels)
    fixed, changed = {}, False
    for name, known in distributions(encoding.space).items():
        narrow, parameter = ranges.get(name, known), encoding.parameters[name]
        if narrow == known or not isinstance(parameter, EncodedNumber):
            continue
        ends = max(narrow.low, known.low), min(narrow.high, known.high)
        low, high = (parameter.encode(min(max(end, known.low), known.high)) for end in ends)
        column = parameter.first
        if low is None or high is None or float(low) > float(high):
            continue
        if column in levels:
            rounding = ROUNDING * (known.high - known.low)
            kept = levels[column][
                [
                    abs(nearest_in(narrow, value) - value) <= rounding
                    for value in map(parameter.decode, levels[column][:, None])
                ]
            ]
            if not len(kept):
                continue
            low, high, levels[column] = kept[:1], kept[-1:], kept
        changed = True
        if float(high) > float(low):
            lower[column], upper[column] = float(low), float(high)
        else:
            fixed[column] = float(low)
    if not changed:
        return box
    part = replace(box, lower=lower, upper=upper, levels=levels)
    return part.given(fixed) if fixed else part


def rounded(encoding: Encoding, point: Tensor) -> Tensor:
    """The point (d,) of the configuration nearest to a point (d,), as a trial has it."""
    nearest = encoding.encode(encoding.decode(point))
    return point if nearest is None else nearest


@with_own_settings
def encoded(encoding: Encoding, settings: Sequence[Mapping[str, Any]]) -> Tensor:
    """The points (n, d) of configurations of a study.

    Raises:
        InvalidInput: If one of them is none.
    """
    if isinstance(settings, Mapping | str) or not hasattr(settings, "__len__"):
        raise InvalidInput(
            f"`settings` is {checks.shown(settings)}, expected a list of configurations."
        )
    points = []
    for params in settings:
        point = encoding.encode(params) if isinstance(params, Mapping) else None
        if point is None:
            raise InvalidInput(
                f"{checks.shown(params)} is not a configuration of this study, expected values "
                f"for {', '.join(dict.fromkeys(map(shared_name, encoding.parameters)))} within "
                f"their ranges: "
                f"{_what_is_wrong(encoding.space, params)}"
            )
        points.append(point)
    box = encoding.box
    return torch.stack(points) if points else box.lower.new_zeros(0, box.dimension)


def _what_is_wrong(space: Space, params: object) -> str:
    known = params.items() if isinstance(params, Mapping) else ()
    try:
        names = {*map(shared_name, space.parameters)}
        space.checked({name: one for name, one in known if name in names})
    except InvalidInput as error:
        return str(error)
    return "it is none."
