"""The best lower bound of any round, as theorems about recommendations have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from surefoot.acquisition.policy import Policy, as_policy
from surefoot.acquisition.recommendation import ROUNDS
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location


@dataclass(frozen=True)
class Recorded:
    """Chooses as another policy does, and records the best lower bound over all rounds.

    With `Reporting("rounds")`, the recommended design is x_t with t the round of the largest
    risk of l_{t-1}(x_t, Z), the lower bound of the round in which x_t was chosen. With V-UCB, its
    regret is at most beta_T sqrt(C_1 gamma_T / T) whenever the bounds hold in all rounds, with
    beta the width (the square root of the paper's beta), C_1 = 8 / ln(1 + 1 / sigma_n^2), sigma_n^2
    the noise variance and gamma_T the maximum information gain; 1 + c times that if `Guarded` with
    slack c chooses.

    Args:
        policy: The policy, or a score.

    References:
        Nguyen et al. 2021, "Value-at-Risk optimization with Gaussian processes", Section 3.2 and
        Appendix F; Bogunovic et al. 2018, Theorem 1.

    Example:
        >>> import surefoot as sf
        >>> policy = sf.acquisition.Recorded(sf.acquisition.UpperConfidenceBound())
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> reporting = sf.acquisition.Reporting("rounds")
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=policy, reporting=reporting))
        >>> for _ in range(12):
        ...     query = optimizer.ask()
        ...     info = optimizer.tell(query, float(query.point))
        >>> optimizer.recommend().arm
        2
    """

    policy: Policy | ScoreRule

    def __post_init__(self) -> None:
        as_policy(self.policy)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Raise what the wrapped policy raises."""
        as_policy(self.policy).check(space, risk)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The choice of the wrapped policy."""
        location = as_policy(self.policy).choose(belief, among, state)
        with torch.no_grad():
            bound = belief.candidates.bound_at(location, -belief.band.width)
            value = float(
                belief.outcome.transform.inverse(bound)
            )  # the transformation of each round is another
        best = state.memory.get(ROUNDS)
        if best is None or value > best["value"]:
            state.memory[ROUNDS] = {"value": value, "design": location.design}
        return location
