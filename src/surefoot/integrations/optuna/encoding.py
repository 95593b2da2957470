"""Encoding of Optuna parameters as coordinates of a box, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot.integrations.optuna.common_space import Ranges
from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.parameters.encoded_parameters import EncodedNumber, EncodedParameter
from surefoot.parameters.encoding import Encoding as NamedEncoding
from surefoot.spaces import Box
from surefoot.types import InvalidInput


@dataclass(frozen=True, eq=False)
class Encoding:
    """Search space of an Optuna study as a `Box` on the unit cube.

    Distributions with a single value are left out.

    Args:
        space: The search space.
        named: Encoding of its parameters.
    """

    space: SearchSpace
    named: NamedEncoding

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution] | SearchSpace) -> Encoding | None:
        """Encoding of a search space, None if no parameter varies."""
        space = SearchSpace.of(space)
        return cls(space, space.named.encoding) if space.parameters else None

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions of the parameters as Optuna stores them, by name."""
        return self.space.distributions

    @property
    def parameters(self) -> Mapping[str, EncodedParameter]:
        """Encoded parameters by name, each after those that decide whether it is active."""
        return self.named.parameters

    @property
    def box(self) -> Box:
        """The encoded space, [0, 1]^d."""
        return self.named.box

    def part(self, given: Mapping[str, Any], ranges: Ranges) -> Box:
        """The part of the encoded space that can be chosen.

        Args:
            given: Values by parameter name that are known before the choice; those that their
                parameters cannot have are ignored.
            ranges: Distributions by parameter name, within those of the space.

        Returns:
            A box, the encoded space itself where nothing is given and all of it can be chosen.

        Raises:
            InvalidInput: If no configuration with these values satisfies the rules.
        """
        box, fixed = self._narrowed(ranges), self.named.coordinates(given)
        try:
            return box.given(fixed) if fixed else box
        except InvalidInput as error:
            raise InvalidInput(
                f"a trial was enqueued with {checks.shown(dict(given))}: {error} Enqueue values "
                "that do."
            ) from error

    def _narrowed(self, ranges: Ranges) -> Box:
        """The encoded space within ranges; those that have no value in common are ignored."""
        lower, upper, levels = self.box.lower.clone(), self.box.upper.clone(), dict(self.box.levels)
        fixed, changed = {}, False
        for name, known in self.distributions.items():
            narrow, parameter = ranges.get(name, known), self.parameters[name]
            if narrow == known or not isinstance(parameter, EncodedNumber):
                continue
            ends = max(narrow.low, known.low), min(narrow.high, known.high)
            low, high = (parameter.encode(min(max(end, known.low), known.high)) for end in ends)
            column = parameter.first
            if low is None or high is None or float(low) > float(high):
                continue
            if column in levels:
                kept = levels[column]
                kept = kept[(kept >= low - ROUNDING) & (kept <= high + ROUNDING)]
                if not len(kept):
                    continue
                low, high, levels[column] = kept[:1], kept[-1:], kept
            changed = True
            if float(high) > float(low):
                lower[column], upper[column] = float(low), float(high)
            else:
                fixed[column] = float(low)
        if not changed:
            return self.box
        part = replace(self.box, lower=lower, upper=upper, levels=levels)
        return part.given(fixed) if fixed else part

    def encode(self, params: Mapping[str, Any]) -> Tensor | None:
        """Point (d,) of a configuration, None if it is not in this space.

        Values of inactive parameters are ignored, and so are the rules of the space.
        """
        return self.named.encode(params)

    def decode(self, point: Tensor) -> dict[str, Any]:
        """Configuration nearest to a point (d,), of the parameters that are active in it."""
        return self.named.decode(point)

    def rounded(self, point: Tensor) -> Tensor:
        """The point (d,) of the configuration nearest to a point (d,)."""
        nearest = self.encode(self.decode(point))
        return point if nearest is None else nearest
