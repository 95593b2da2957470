"""Measurements of a run apart from the rewards: designs, failures and other outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from surefoot.beliefs.model import Model
from surefoot.optimizer.failures import Failures
from surefoot.optimizer.outcomes import Outcomes
from surefoot.optimizer.serialization import Decoder
from surefoot.spaces import Joint, Space
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, Measurement, Outcome


@dataclass(eq=False)
class Told:
    """Measured designs, failed inputs, and values of outcomes beside the objective.

    Args:
        designs: Distinct designs (D, dx) that were measured, on a `Joint` space; else empty.
        failures: Failed measurements.
        outcomes: Values of the outcomes beside the objective.
    """

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
        return cls(designs, Failures(seen), Outcomes(seen, dict(declared), objective))

    @property
    def copy(self) -> Told:
        """A copy to which measurements may be added."""
        return Told(self.designs, self.failures.copy, self.outcomes.copy)

    def add(self, location: Location, measured: Measurement) -> None:
        """Take in a measurement at a location."""
        if measured.failed:
            self.failures.inputs.append(location.point)
        if OBJECTIVE in measured.values and location.environment is not None:
            known = bool((self.designs == location.design).all(-1).any())
            if not known:
                self.designs = torch.cat([self.designs, location.design.unsqueeze(0)])
        self.outcomes.record(location, measured)

    @property
    def saved(self) -> dict[str, Any]:
        """The content of a file."""
        return {
            "designs": self.designs,
            "failed": self.failures.inputs,
            "outcomes": self.outcomes.histories,
        }

    def restore(self, saved: Mapping[str, Any], decoder: Decoder) -> None:
        """Go on from the content of a file."""
        self.designs = decoder.decode(saved["designs"])
        self.failures = replace(self.failures, inputs=decoder.decode(saved["failed"]))
        self.outcomes.restore(saved["outcomes"], decoder)
