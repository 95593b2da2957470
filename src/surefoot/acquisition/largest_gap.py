"""Optimisation of the value at risk at several levels by the same measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.argmax import maximise, scores
from surefoot.acquisition.lacing import Lacing, check_density, check_lacing, lacing_value
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief
from surefoot.risks import Risk, WeightedVaR
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class LargestGap:
    r"""V-UCB for several levels: in each round for the level whose best design is least certain.

    For each level :math:`\alpha_i` of a `WeightedVaR`, the gap

    .. math:: \max_x \mathrm{VaR}_{\alpha_i}(u(x, Z)) - \max_x \mathrm{VaR}_{\alpha_i}(l(x, Z))

    bounds the regret of the design with the largest lower bound. The design of the first maximum is
    measured for the level with the largest gap, under a lacing value of that level. The second
    maximum is over the designs measured and that design.

    **Several levels cost no more than one.** Let :math:`C_1 = 8 / \ln(1 + \sigma_n^{-2})` and
    :math:`\beta_t` a width whose bounds hold in all rounds with probability :math:`1 - \delta`.
    Then, with that probability, in some round :math:`t \le T` the gaps of all levels are at most
    :math:`\sqrt{C_1 \beta_T^2 \gamma_T / T}` at once: the largest gap is at most
    :math:`\mathrm{VaR}(u(x_t, Z)) - \mathrm{VaR}(l(x_t, Z))` of its level, which a lacing value
    bounds by :math:`2 \beta_t \sigma(x_t, z_t)` (Theorem 1 and Lemma 3), and the rest is Appendix
    F. (The paper writes :math:`\beta_t` for the square of the width.)

    Args:
        lacing: Which lacing value to take, as in `ScorePolicy`.
        values: How many values represent a continuous environment.

    Raises:
        InvalidInput: If `lacing` is none, or there are fewer than two `values`.

    References:
        Nguyen et al. 2021, "Value-at-risk optimization with Gaussian processes", Lemma 3 and
        Appendix F, for one level.

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel, risk = sf.kernels.squared_exponential([0.5, 0.5]), sf.WeightedVaR([0.2, 0.8])
        >>> optimizer = sf.Optimizer(space, kernel, risk=risk, policy=LargestGap(), ridge=0.01)
        >>> for _ in range(9):
        ...     query = optimizer.ask()
        ...     x, z = float(query.point), float(query.environment)
        ...     info = optimizer.tell(query, x - 2 * x * z)
        >>> [optimizer.recommend(risk=sf.VaR(level)).point.tolist() for level in (0.2, 0.8)]
        [[0.0], [1.0]]
    """

    lacing: Lacing = "prob"
    values: int = 256

    def __post_init__(self) -> None:
        check_lacing(self.lacing)
        checks.count("values", self.values, least=2)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse all but `WeightedVaR`, and an environment without a density that is needed."""
        if not isinstance(risk, WeightedVaR):
            raise InvalidInput(
                f"`LargestGap` is for several levels, and the risk is {risk!r}: pass "
                "`risk=WeightedVaR(levels)` on a `Joint` space."
            )
        check_density(space, risk, self.lacing)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The optimistic design of the level with the largest gap, under a lacing value."""
        space: Joint = belief.space  # type: ignore[assignment]
        risk: WeightedVaR = belief.risk  # type: ignore[assignment]
        with torch.no_grad():
            belief = belief.sampled(self.values, state.generator)
            levels = [belief.under(level) for level in risk.parts]
            best = [_optimistic(level, among, state.generator) for level in levels]
            gaps = [_gap(*each) for each in zip(levels, best, strict=True)]
            first = gaps.index(max(gaps))
            z = lacing_value(levels[first], best[first], self.lacing, state.generator)
            return space.location(best[first].design, best[first].design_arm, z)


def _optimistic(
    belief: Belief, among: Sequence[Location] | None, generator: torch.Generator
) -> Location:
    return maximise(lambda x: belief.bound(x, belief.width), belief, generator, among)


def _gap(belief: Belief, best: Location) -> float:
    """The largest upper bound, less the largest lower bound known of the level."""
    x = best.design.to(belief.designs).unsqueeze(0)

    def lower(designs: Tensor) -> Tensor:
        return belief.bound(designs, -belief.width)

    known = scores(lower, torch.cat([belief.designs, x]))
    return float(belief.bound(x, belief.width) - known.max())
