"""Measurements of a run: rewards, designs, failures and other outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from surefoot.beliefs.failure import SharedValues
from surefoot.models import Model
from surefoot.optimizer.failures import Failures
from surefoot.optimizer.outcomes import Outcomes
from surefoot.optimizer.serialization import Decoder
from surefoot.regression.observations import Failed, Observations
from surefoot.spaces import Joint, Space
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, Measurement, Outcome


@dataclass(eq=False)
class Told:
    """Rewards, measured designs, failed inputs, and values of outcomes beside the objective.

    Args:
        rewards: Rewards by the inputs of the model, which `History` appends to.
        designs: Distinct designs (D, dx) that were measured, on a `Joint` space; else empty.
        failures: Failed measurements.
        outcomes: Values of the outcomes beside the objective.
    """

    rewards: Observations
    designs: Tensor
    failures: Failures
    outcomes: Outcomes

    @classmethod
    def nothing(
        cls, space: Space | Joint, declared: Mapping[str, Outcome], objective: Model
    ) -> Told:
        """No measurement on a space.

        Args:
            space: The space.
            declared: Outcomes beside the objective by name.
            objective: Model of the objective.
        """
        design, seen = space.design, space.seen
        designs = design.lower.new_zeros(0, design.dimension)
        return cls(
            Observations(seen.dimension, seen.lower.device),
            designs,
            Failures(seen, space.discrete, space.conditions),
            Outcomes(seen, dict(declared), objective),
        )

    @property
    def copy(self) -> Told:
        """A copy to which measurements may be added."""
        return Told(self.rewards.writable, self.designs, self.failures.copy, self.outcomes.copy)

    @property
    def shared_failures(self) -> SharedValues:
        """Values of discrete variables that failed measurements share, and no success has."""
        return self.failures.shared_values(self.rewards)

    @property
    def shared_conditions(self) -> SharedValues:
        """Values of the environment under which no measurement succeeds."""
        return self.failures.shared_conditions(self.rewards)

    def add(self, location: Location, measured: Measurement) -> None:
        """Take in a measurement at a location, but for its reward."""
        if measured.failed:
            self.fail(location)
        if (
            OBJECTIVE in measured.values
            and location.environment is not None
            and not bool((self.designs == location.design).all(-1).any())
        ):
            self.designs = torch.cat([self.designs, location.design.unsqueeze(0)])
        self.outcomes.record(location, measured)

    def fail(self, location: Location) -> None:
        """Take in a failed measurement at a location."""
        self.failures.all.append(Failed(location.point, len(self.rewards)))

    @property
    def saved(self) -> dict[str, Any]:
        """The content of a file."""
        return {
            "designs": self.designs,
            "failed": [tuple(one) for one in self.failures.all],
            "outcomes": self.outcomes.histories,
        }

    def restore(self, saved: Mapping[str, Any], decoder: Decoder) -> None:
        """Go on from the content of a file."""
        self.designs = decoder.decode(saved["designs"])
        failed = [Failed(*one) for one in decoder.decode(saved["failed"])]
        self.failures = replace(self.failures, all=failed)
        self.outcomes.restore(saved["outcomes"], decoder)
