"""The quantity predicted of a configuration: its value, or a risk of it over an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from surefoot._internal.numbers import SAMPLES
from surefoot.regression.transforms import UNCHANGED
from surefoot.risks.risk import Risk, support_only
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs import Belief
    from surefoot.beliefs.estimands import Ends
    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.spaces import Joint

_CHUNK = 2**16  # points predicted at once

Environments = Sequence[Mapping[str, Any]]
"""Values of an environment by name, for each of several configurations."""


class Predicted(Protocol):
    """A quantity of a configuration."""

    @property
    def has_effects(self) -> bool:
        """Whether effects of conditions on it are reported."""

    def check_single(self, what: str) -> None:
        """`InvalidInput` if a configuration has several of what is named, in an environment."""

    def values(self) -> tuple[Tensor, Tensor]:
        """Environments (n, dz) and their weights (n,), which are numbers in a study.

        Raises:
            InvalidInput: If there are none.
        """

    def variable(self, index: int, value: float) -> tuple[str, float]:
        """Name and value of a variable of the environment, from its index.

        Raises:
            InvalidInput: If there are none.
        """

    def at(
        self, belief: Belief, x: Tensor, environments: Environments | None, offset: Tensor | float
    ) -> Ends:
        """The quantity (n,) and the ends of its interval, in units of the study.

        Args:
            belief: Belief of the study's optimizer.
            x: Encoded configurations (n, dx).
            environments: One for each configuration, whose value under it is predicted instead.
            offset: Effect of conditions (n,) on the transformed values.
        """


@dataclass(frozen=True)
class Value:
    """The value of a configuration, in a study without an environment."""

    has_effects = True

    def check_single(self, what: str) -> None:
        """A configuration has one of each."""

    def values(self) -> tuple[Tensor, Tensor]:
        """None."""
        raise InvalidInput(
            "the study has no environment: pass `Problem(environment=, risk=)` to its sampler."
        )

    def variable(self, index: int, value: float) -> tuple[str, float]:
        """None."""
        self.values()
        return "", value

    def at(
        self, belief: Belief, x: Tensor, environments: Environments | None, offset: Tensor | float
    ) -> Ends:
        """The value."""
        if environments is not None:
            self.values()
        return belief.predictions.at_inputs(x, offset)


VALUE = Value()


@dataclass(frozen=True, eq=False)
class RiskOverEnvironment:
    """A risk of the value over the environment of a study.

    Args:
        environment: The environment.
        risk: The risk that is optimised.
    """

    environment: StudyEnvironment
    risk: Risk

    has_effects = False

    def check_single(self, what: str) -> None:
        """They vary over the environment."""
        raise InvalidInput(f"the study has an environment, over which {what} vary.")

    def values(self) -> tuple[Tensor, Tensor]:
        """Environments (n, dz) and their weights (n,), which are numbers in a study."""
        return self.environment.distribution.values(  # type: ignore[return-value]
            SAMPLES, torch.Generator().manual_seed(0), support_only(self.risk)
        )

    def variable(self, index: int, value: float) -> tuple[str, float]:
        """Name and value of a variable of the environment, from its index."""
        name = self.environment.names[index]
        return name, int(value) if name in self.environment.integer else value

    def at(
        self, belief: Belief, x: Tensor, environments: Environments | None, offset: Tensor | float
    ) -> Ends:
        """The risk, or the value under the environment of each configuration."""
        joint: Joint = belief.space  # type: ignore[assignment]
        if environments is not None:
            return belief.predictions.at_inputs(joint.pairs(x, self._encoded(x, environments)))
        z, weights = self.values()
        rewards, risks = belief.of(units=UNCHANGED).predictions, []
        for chunk in x.split(max(1, _CHUNK // len(z))):
            bounds = rewards.at_inputs(joint.points(chunk, z).flatten(0, 1))
            risks.append([self.risk(each.reshape(len(chunk), len(z)), weights) for each in bounds])
        middle, *ends = (
            belief.reported.units.inverse(torch.cat(each)) for each in zip(*risks, strict=True)
        )
        return middle, torch.minimum(*ends), torch.maximum(*ends)

    def _encoded(self, x: Tensor, environments: Environments) -> Tensor:
        """Environments (n, dz) of configurations (n, dx), one for each."""
        if len(environments) != len(x):
            raise InvalidInput(
                f"{len(environments)} environments came with {len(x)} configurations, expected as "
                "many."
            )
        rows = [self.environment.encode(values) for values in environments]
        return torch.stack(rows) if rows else x.new_zeros(0, len(self.environment.names))
