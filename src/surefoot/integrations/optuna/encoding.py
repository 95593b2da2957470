"""Encoding of Optuna parameters as coordinates of a box, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution
from torch import Tensor

from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.parameters.encoded_parameters import EncodedParameter
from surefoot.parameters.encoding import Encoding as NamedEncoding
from surefoot.spaces import Box


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
        space = SearchSpace.of(space).varying
        return cls(space, space.named.encoding) if space.scales else None

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
