"""Search among arms: all of them are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.acquisition.argmax import best_arm
from surefoot.acquisition.policy import Policy, Situation
from surefoot.acquisition.recommendation import interval, value_of
from surefoot.acquisition.search import By, no_environment
from surefoot.spaces import Arms
from surefoot.spaces.locations import Place, Where, locate
from surefoot.spaces.pending import Waiting
from surefoot.types import Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


class ArmSearch:
    """The arm of largest score."""

    observed = False

    def __init__(self, space: Arms) -> None:
        self.seen = space

    def locate(self, where: Where, environment: Any, waiting: Waiting) -> Place:
        no_environment(environment)
        return locate(self.seen, where, waiting.queries)

    def note(self, place: Place) -> None:
        """Nothing is kept."""

    def spread(self, number: int, generator: torch.Generator) -> list[Place]:
        order = torch.randperm(len(self.seen), generator=generator)[:number]
        return [self._place(arm) for arm in order.tolist()]

    def guess(self, kernel: Kernel | None, waiting: Waiting, generator: torch.Generator) -> Place:
        """One of largest prior variance that is not pending."""
        variance = torch.ones(len(self.seen), dtype=torch.float64)
        if kernel is not None:
            variance = kernels.diagonal(kernel, self.seen.points).cpu().clone()
        held = [query.arm for query in waiting.queries.values() if query.arm is not None]
        if len(set(held)) < len(variance):
            variance[held] = -torch.inf
        best = (variance >= variance.max() * (1.0 - 1e-12)).nonzero().squeeze(-1)
        return self._place(int(best[torch.randint(len(best), (), generator=generator)]))

    def listed(self, arms: Sequence | Tensor) -> list[Place]:
        return [self._place(self.seen.index(arm)) for arm in checks.indices("arms", arms)]

    def best(self, policy: Policy, situation: Situation, among: list[Place] | None) -> Place:
        score = policy(situation)
        if among is not None:
            return among[best_arm(score, torch.stack([place.point for place in among]))]
        tabulated = situation.posterior.table is not None
        return self._place(best_arm(score, self.seen.points, tabulated=tabulated))

    def recommend(self, situation: Situation, by: By) -> Recommendation:
        best = self.best(value_of(by), situation, None)
        return Recommendation(best.point.clone(), best.arm, *interval(situation, best.point))

    def state(self, tensors: dict[str, Tensor]) -> None:
        """Nothing is kept."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Nothing was kept."""

    def _place(self, arm: int) -> Place:
        return Place(self.seen.points[arm], arm)
