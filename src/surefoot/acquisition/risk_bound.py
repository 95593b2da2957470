"""Optimism about a risk: the design of largest upper bound, and an environment that laces it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.acquisition.argmax import best_point
from surefoot.acquisition.joint_situation import JointSituation
from surefoot.risks import Risk, WorstCase
from surefoot.spaces import Arms, ContinuousEnvironment, Joint
from surefoot.types import InvalidInput

_ANCHORS = 8  # measured designs of largest risk of the mean, to look around


def best_known(
    situation: JointSituation, z: Tensor, number: int, weights: Tensor | None = None
) -> Tensor:
    """The measured designs (number, dx) whose risk of the mean is largest, or all if they are few.

    Over the values z (m, dz) with `weights` (m,), equal ones by default.
    """
    shares = torch.full_like(z[:, 0], 1.0 / len(z)) if weights is None else weights
    parts = situation.in_parts(situation.designs, len(z))
    known = torch.cat([situation.risk(situation.bounds(part, z).mean, shares) for part in parts])
    return situation.designs[known.argsort(descending=True)[:number]]


@dataclass(frozen=True)
class RiskBound:
    """V-UCB (Nguyen et al. 2021, Algorithm 1) for any risk that says which z lace its interval.

    x maximises risk(u(x, Z)); z is a lacing value: with "prob" the one of largest weight or
    density, the least certain one of several, with "unif" a random one. A continuous Z stands for
    `values` of it that fill its distribution evenly, drawn anew in each round.
    """

    lacing: Literal["prob", "unif"] = "prob"
    values: int = 256

    def __post_init__(self) -> None:
        if self.lacing not in ("prob", "unif"):
            raise InvalidInput(f"`lacing` is {self.lacing!r}, expected 'prob' or 'unif'.")
        checks.count("values", self.values, least=2)

    def check(self, joint: Joint, risk: Risk) -> None:
        environment = joint.environment
        if isinstance(environment, ContinuousEnvironment) and self._by_density(joint, risk):
            environment.log_prob(environment.sample(1, torch.Generator().manual_seed(0)))

    def _by_density(self, joint: Joint, risk: Risk) -> bool:
        """Whether the density matters: not to the worst case, which takes the least whatever."""
        return self.lacing == "prob" and not joint.observed and not isinstance(risk, WorstCase)

    def choose(
        self, situation: JointSituation, among: Tensor | None
    ) -> tuple[Tensor, int | None, Tensor]:
        z, weights = situation.values(self.values)
        with torch.no_grad():
            x, arm = self._design(situation, z, weights, among)
            _, lower, upper = situation.bounds(x.unsqueeze(0), z)
            lacing = situation.risk.lacing(lower[0], upper[0], weights)
            chosen = self._environment(situation, lacing, (upper - lower)[0], z, weights)
            return x, arm, z[chosen]

    def _design(
        self, situation: JointSituation, z: Tensor, weights: Tensor, among: Tensor | None
    ) -> tuple[Tensor, int | None]:
        design = situation.joint.design

        def upper(x: Tensor) -> Tensor:
            parts = situation.in_parts(x, len(z))
            risks = [situation.risk(situation.bounds(part, z).upper, weights) for part in parts]
            return risks[0] if len(risks) == 1 else torch.cat(risks)

        if among is not None:
            return among[int(upper(among).argmax())], None
        if isinstance(design, Arms):
            table = situation.posterior.table
            if table is not None and situation.is_whole(z):
                arm = int(situation.risk(situation.all_bounds().upper, weights).argmax())
            else:
                arm = int(upper(design.points).argmax())
            return design.points[arm], arm
        anchors = best_known(situation, z, _ANCHORS, weights)
        with one_thread(), torch.enable_grad():
            return best_point(upper, design, situation.generator, anchors), None

    def _environment(
        self,
        situation: JointSituation,
        lacing: Tensor,
        apart: Tensor,
        z: Tensor,
        weights: Tensor,
    ) -> int:
        generator, environment = situation.generator, situation.joint.environment
        continuous = isinstance(environment, ContinuousEnvironment)
        if self.lacing == "prob" and int(lacing.sum()) == 1:
            return int(lacing.int().argmax())
        by_density = self._by_density(situation.joint, situation.risk)
        if self.lacing == "unif" or (continuous and not by_density):
            allowed = lacing.nonzero().squeeze(-1)
            return int(allowed[torch.randint(len(allowed), (), generator=generator)])
        if isinstance(environment, ContinuousEnvironment):
            likely = environment.log_prob(z.cpu()).to(lacing.device)
        else:
            likely = weights
        most = likely[lacing].max()
        # A density may be infinite at an end, where a difference is not a number.
        best = lacing & ((likely == most) | (likely >= most - 1e-12 * most.abs()))
        return int(apart.masked_fill(~best, -torch.inf).argmax())
