"""The fidelity at which a measurement says most about the highest one, for what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.policy import UpperConfidenceBound
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief, Candidates
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class GainPerCost:
    r"""Maximises a score at the highest fidelity; measures at the level of largest gain per cost.

    The gain of a measurement of design x at level z is by how much it lowers the variance of the
    function at x and the highest level h,

    .. math:: \frac{\mathrm{Cov}[f(x, z), f(x, h)]^2}{\mathrm{Var}[f(x, z)] + \sigma_n^2},

    averaged over the hyperparameters. A level that says nothing about the highest one is not
    measured, once the evidence shows it.

    Args:
        cost: Cost of a measurement at each level, see `Fidelity`.
        score: Function of candidates and a generator that returns a score of designs.

    Raises:
        InvalidInput: If the costs are not positive.

    References:
        Kandasamy et al. 2016, "Gaussian process bandit optimisation with multi-fidelity
        evaluations", for a bound at the highest fidelity and a level by the variance that is left;
        Swersky et al. 2013, "Multi-task Bayesian optimization", for gain per cost.
    """

    cost: Sequence[float]
    score: ScoreRule = field(default_factory=lambda: UpperConfidenceBound(integrated=True))

    def __post_init__(self) -> None:
        if not float(checks.vector("cost", self.cost).min()) > 0.0:
            raise InvalidInput(f"`cost` is {checks.shown(self.cost)}, expected numbers above 0.")

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space that has not as many levels as there are costs."""
        if not space.has_environment or not space.environment.finite:
            raise InvalidInput("`GainPerCost` is for fidelities: pass `Fidelity(...).of(space)`.")
        if len(space.environment) != len(self.cost):  # type: ignore[arg-type]
            raise InvalidInput(
                f"{len(self.cost)} numbers of `cost` came with {len(space.environment)} "  # type: ignore[arg-type]
                "levels, expected one for each."
            )

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The design of largest score at the highest fidelity, at the level of largest gain."""
        levels = belief.candidates.z
        highest = levels[-1:]
        at_highest = Candidates(belief, highest, torch.ones_like(highest[:, 0]))
        best = maximise(self.score(at_highest, state.generator), at_highest, state.generator, among)
        gains = self.gains(belief, best.design)
        space: Joint = belief.space  # type: ignore[assignment]
        return space.location(best.design, best.design_arm, levels[int(gains.argmax())])

    def gains(self, belief: Belief, x: Tensor) -> Tensor:
        """Gains per cost (m,) at the levels of a design (dx,)."""
        space: Joint = belief.space  # type: ignore[assignment]
        with torch.no_grad():
            points = space.points(x.unsqueeze(0), belief.candidates.z)[0]
            covariance = belief.outcome.integrated.components(points).covariance.reshape(
                -1, len(points), len(points)
            )
            noise = belief.outcome.fitted.noise * belief.posterior.scale**2
            own = covariance.diagonal(dim1=-2, dim2=-1) + noise
            gains = (covariance[..., -1].square() / own).mean(0).cpu()
        return gains / torch.tensor(self.cost, dtype=gains.dtype)
