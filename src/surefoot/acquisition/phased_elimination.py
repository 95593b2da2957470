"""Elimination of arms in phases, within which arms do not depend on rewards."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief
from surefoot.estimators.fixed_weights import FixedWeights
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_PHASE = "phase"  # in the policy's memory: the phase, and the arms left in it


@dataclass(frozen=True)
class PhasedElimination:
    r"""Measures where least is known, of the arms that bounds from earlier phases leave.

    Phases i = 0, 1, ... have :math:`2^i` times `first` rewards. Within a phase the next arm is the
    one of largest posterior variance from the points of this phase, so that the weights w(x) of its
    rewards in the ridge estimate of f(x) do not depend on them. At the end of a phase, f at each
    arm x is within

    .. math:: B \sqrt{k(x, x) - 2 w^\top k_x + w^\top K w} + e(x)

    of the estimate, e being the bound of `estimate` at :math:`L = \ln(2 A / \delta_i)` for A arms
    and :math:`\delta_i = \delta / ((i + 1)(i + 2))`; with probability :math:`1 - \delta` in all
    phases. Arms whose upper bound is below the largest lower bound are left out from then on. The
    regret is :math:`\tilde O(\sqrt{\gamma_T}\, T^{1/(1+a)})` for any kernel with `TruncatedSum`,
    and :math:`\tilde O(\sqrt{\gamma_T T})` with `SubGaussianSum`. The theorem is for rewards of the
    arms that were asked for.

    Args:
        kernel: The prior covariance.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units.
        estimate: Estimate of weighted sums of rewards, with its error.
        delta: Probability that the best arm is left out, or a bound fails.
        ridge: Regularisation of the weights, in squared reward units.
        first: Rewards of the first phase.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        notes/guarantees.md, Proposition 7. Li and Scarlett 2022, "Gaussian process bandit
        optimization with few batches", for sub-Gaussian noise; Tajdini, Scarlett and Jamieson 2025,
        "Improved regret bounds for linear bandits with heavy-tailed rewards", for a design with a
        smaller exponent.

    Example:
        >>> import surefoot as sf
        >>> from surefoot.estimators import TruncatedSum
        >>> arms, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> heavy = TruncatedSum(sf.Moment(alpha=1.0, bound=4.0))
        >>> policy = sf.acquisition.PhasedElimination(kernel, 2.0, heavy)
        >>> optimizer = sf.Optimizer(arms, kernel, policy=policy)
        >>> info = optimizer.tell(0, 0.3)
        >>> optimizer.ask().arm
        2
    """

    kernel: Kernel
    norm_bound: float
    estimate: FixedWeights
    delta: float = 0.1
    ridge: float = 1.0
    first: int = 32

    def __post_init__(self) -> None:
        kernels.check(self.kernel)
        own = copy.deepcopy(self.kernel).cpu().double().requires_grad_(False)
        object.__setattr__(self, "kernel", own)
        checks.positive("norm_bound", self.norm_bound)
        if not callable(self.estimate) or isinstance(self.estimate, type):
            raise InvalidInput(
                f"`estimate` is {checks.shown(self.estimate)}, expected one of weighted sums: pass "
                "`TruncatedSum(moment)` or `SubGaussianSum(noise)`."
            )
        checks.probability("delta", self.delta)
        checks.positive("ridge", self.ridge)
        checks.count("first", self.first)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse all but arms in this process."""
        if not isinstance(space, Arms) or space.is_elsewhere:
            raise InvalidInput(
                f"the space is {checks.shown(space)}, expected `Arms` in memory or in a file, "
                "which can be left out one by one."
            )

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The arm of largest variance, from the points of the phase, of those that are left."""
        space: Arms = belief.space  # type: ignore[assignment]
        points = space.points.cpu()
        kept = state.memory.get(_PHASE)
        phase, left = (kept["number"], kept["arms"]) if kept else (0, torch.arange(len(points)))
        site = belief.observations.site.cpu()
        arm_of = torch.tensor(belief.observations.arms, dtype=torch.long)
        with torch.no_grad():
            while len(site) >= self._start(phase + 1):
                now = slice(self._start(phase), self._start(phase + 1))
                rewards = belief.observations.rewards[now].cpu()
                lower, upper = self.bounds(points, left, arm_of[site[now]], rewards, phase)
                left = left[upper >= lower.max()]
                phase += 1
            state.memory[_PHASE] = {"number": phase, "arms": left}
            pending = torch.tensor(belief.pending.arms, dtype=torch.long)
            pulled = torch.cat([arm_of[site[self._start(phase) :]], pending])
            if among is not None:
                listed = torch.tensor([location.arm for location in among])
                both = listed[torch.isin(listed, left)]
                left = both if len(both) else listed
            variance = _Weights.of(self.kernel, points, left, pulled, self.ridge).variance
        arm = int(left[variance.argmax()])
        return space.location(space.points[arm], arm)

    def bounds(
        self, points: Tensor, arms: Tensor, pulled: Tensor, rewards: Tensor, phase: int
    ) -> tuple[Tensor, Tensor]:
        """Lower and upper bounds (n,) at arms (n,), from the rewards (t,) of a phase.

        Args:
            points: Points (A, d) of all arms.
            arms: Indices of the arms.
            pulled: Index (t,) of the arm of each reward.
            rewards: The rewards.
            phase: Number i of the phase.
        """
        share = self.delta / ((phase + 1) * (phase + 2))
        logarithm = math.log(2.0 * len(points) / share)
        found = _Weights.of(self.kernel, points, arms, pulled, self.ridge)
        mean, error = self.estimate(found.of_pulls, rewards, logarithm)
        reach = self.norm_bound * found.misfit + error
        return mean - reach, mean + reach

    def _start(self, phase: int) -> int:
        """Rewards before a phase."""
        return self.first * (2**phase - 1)


@dataclass(frozen=True, eq=False)
class _Weights:
    """Ridge regression of f at arms (n,) on pulls (t,) of D distinct ones.

    Args:
        of_pulls: Weight (n, t) of each reward.
        variance: Posterior variance (n,).
        misfit: Largest error (n,) of the estimate without noise, of a function of norm 1.
    """

    of_pulls: Tensor
    variance: Tensor
    misfit: Tensor

    @classmethod
    def of(
        cls, kernel: Kernel, points: Tensor, arms: Tensor, pulled: Tensor, ridge: float
    ) -> _Weights:
        prior = kernels.diagonal(kernel, points[arms])
        if not len(pulled):
            return cls(prior.new_zeros(len(arms), 0), prior, prior.sqrt())
        distinct, which, counts = pulled.unique(return_inverse=True, return_counts=True)
        gram = kernels.block(kernel, points[distinct], points[distinct])
        cross = kernels.block(kernel, points[distinct], points[arms])  # (D, n)
        noisy = gram + torch.diag(ridge / counts)
        weights = torch.cholesky_solve(cross, torch.linalg.cholesky(noisy)).T
        explained = (weights * cross.T).sum(-1)
        squared = prior - 2.0 * explained + ((weights @ gram) * weights).sum(-1)
        of_pulls = (weights / counts)[:, which]
        return cls(of_pulls, prior - explained, squared.clamp_min(0.0).sqrt())
