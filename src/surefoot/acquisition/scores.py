"""Rules that score designs, and what a policy keeps from one choice to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from surefoot.beliefs import Candidates
from surefoot.beliefs.probability import Score

ScoreRule = Callable[[Candidates, torch.Generator], Score]
"""An acquisition function: designs (n, dx) -> (n,), from candidates and a source of randomness."""


@dataclass(frozen=True, eq=False)
class PolicyState:
    """Randomness and memory of a policy.

    Args:
        generator: Source of all randomness.
        memory: What the policy keeps from one choice to the next: numbers, tensors, and lists and
            dicts of them. It is saved with the run.
    """

    generator: torch.Generator
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def cloned(self) -> PolicyState:
        """A copy whose use leaves this one as it is."""
        return PolicyState(self.generator.clone_state(), dict(self.memory))
