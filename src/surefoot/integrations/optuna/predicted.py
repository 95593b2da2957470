"""The quantity predicted of a configuration: its value, or a risk of it over an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True)
class Value:
    """The value of a configuration, in a study without an environment."""

    has_effects = True

    def inputs(self, belief: Belief, x: Tensor) -> Tensor:
        """The inputs of the model (n, d) that count for configurations (n, dx): they themselves."""
        return x

    def values(self) -> tuple[Tensor, Tensor]:
        """None."""
        raise InvalidInput(
            "the study has no environment: pass `Problem(environment=, risk=)` to its sampler."
        )

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

    def inputs(self, belief: Belief, x: Tensor) -> Tensor:
        """With the environment that has all weight, such as the last level of a fidelity."""
        z, weights = self.values()
        if not float(weights.max()) == 1.0:
            raise InvalidInput("the study has an environment, over which constraints vary.")
        joint: Joint = belief.space  # type: ignore[assignment]
        return joint.points(x, z[weights == 1.0])[:, 0]

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
        """The risk, or the value under the environment of each configuration.

        Args:
            belief: Belief of the study's optimizer.
            x: Encoded configurations (n, dx).
            environments: One for each configuration, whose value under it is predicted instead.
            offset: Effect of conditions (n,) on the transformed values.

        Returns:
            The quantity (n,) and the ends of its interval, in units of the study.
        """
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


Predicted = Value | RiskOverEnvironment
"""A quantity of a configuration."""
