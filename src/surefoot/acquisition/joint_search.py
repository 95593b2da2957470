"""Search on designs beside an environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.joint_situation import JointPolicy, JointSituation
from surefoot.acquisition.policy import Situation
from surefoot.acquisition.search import By
from surefoot.risks import Risk
from surefoot.spaces import Arms, Joint
from surefoot.spaces.joint_locations import locate_joint, place_of
from surefoot.spaces.locations import Place, Where, point_and_arm
from surefoot.spaces.pending import Waiting
from surefoot.types import Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_CAREFULLY = 1024  # values that stand for a continuous environment where a risk is reported


class JointSearch:
    """What the policy chooses; recommends among the designs that were measured."""

    def __init__(self, joint: Joint, risk: Risk) -> None:
        self.joint = joint
        self.risk = risk
        self.seen = joint.seen
        self.observed = joint.observed
        self._designs: dict[tuple[float, ...], tuple[Tensor, int | None]] = {}

    def locate(self, where: Where, environment: Any, waiting: Waiting) -> Place:
        return locate_joint(self.joint, where, environment, waiting.places)

    def note(self, place: Place) -> None:
        """Remember the design."""
        if place.design is not None:
            key = tuple(place.design.tolist())
            self._designs.setdefault(key, (place.design, place.design_arm))

    def spread(self, number: int, generator: torch.Generator) -> list[Place]:
        if number == 0:
            return []
        design, environment = self.joint.design, self.joint.environment
        if isinstance(design, Arms):
            rounds = -(-number // len(design))
            order = [torch.randperm(len(design), generator=generator) for _ in range(rounds)]
            arms: list[int | None] = [*torch.cat(order)[:number].tolist()]
            x = design.points[torch.cat(order)[:number]]
        else:
            x, arms = design.sample(number, generator), [None] * number
        z = environment.sample(number, generator)
        return [place_of(self.joint, *pair, None) for pair in zip(x, arms, z, strict=True)]

    def guess(self, kernel: Kernel | None, waiting: Waiting, generator: torch.Generator) -> Place:
        """A random design and environment."""
        return self.spread(1, generator)[0]

    def listed(self, arms: Sequence | Tensor) -> list[Place]:
        design = self.joint.design
        if isinstance(design, Arms):
            chosen: Any = [design.index(arm) for arm in checks.indices("arms", arms)]
        else:
            chosen = checks.matrix("arms", arms, design.lower.device)
        anywhere = self.joint.environment.lower
        found = [point_and_arm(design, one) for one in chosen]
        return [Place(point, None, None, point, arm, anywhere) for point, arm in found]

    def best(self, policy: JointPolicy, situation: Situation, among: list[Place] | None) -> Place:
        joint = self._situation(situation)
        if among is None:
            x, arm, z = policy.choose(joint, None)
        else:
            allowed = torch.stack([place.point for place in among])
            x, arm, z = policy.choose(joint, allowed)
            arm = next(p.design_arm for p in among if torch.equal(p.point, x))
        return place_of(self.joint, x, arm, z.cpu(), None)

    def recommend(self, situation: Situation, by: By) -> Recommendation:
        value, lower, _ = self._risks(situation, self.designs)
        best = int((value if by == "mean" else lower).argmax())
        point, arm = [*self._designs.values()][best]
        at = (float(part) for part in self.assess(situation, point.unsqueeze(0)))
        return Recommendation(point.clone(), arm, *at)

    def assess(self, situation: Situation, designs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The risk of mean, lower and upper bound (n,) at designs (n, dx)."""
        return self._risks(replace(situation, feasible=None), designs)

    def _risks(self, situation: Situation, designs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same, and less where measurements fail."""
        joint = self._situation(situation)
        z, weights = joint.values(_CAREFULLY, torch.Generator().manual_seed(0))
        with torch.no_grad():
            parts = [joint.bounds(part, z) for part in joint.in_parts(designs, len(z))]
            risks = [torch.stack([self.risk(one, weights) for one in part]) for part in parts]
        value, lower, upper = torch.cat(risks, -1)
        return value, lower, upper

    @property
    def designs(self) -> Tensor:
        """The designs (D, dx) that were measured."""
        rows = [design for design, _ in self._designs.values()]
        empty = self.joint.design.lower.new_zeros(0, self.joint.dimension)
        return torch.stack(rows) if rows else empty

    def state(self, tensors: dict[str, Tensor]) -> None:
        arms = [-1 if arm is None else arm for _, arm in self._designs.values()]
        tensors |= {"designs": self.designs, "designs.arms": torch.tensor(arms, dtype=torch.int64)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        arms = [None if arm < 0 else arm for arm in tensors["designs.arms"].tolist()]
        rows = tensors["designs"].to(self.joint.design.lower)
        self._designs = {
            tuple(row.tolist()): (row, arm) for row, arm in zip(rows, arms, strict=True)
        }

    def _situation(self, situation: Situation) -> JointSituation:
        return JointSituation(
            self.joint,
            self.risk,
            situation.posterior,
            situation.width,
            self.designs,
            situation.sites,
            situation.generator,
            situation.round,
            situation.feasible,
        )
