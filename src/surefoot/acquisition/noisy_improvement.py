"""Expected improvement over a best point that is itself uncertain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief, Candidates
from surefoot.beliefs.probability import Score
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

_LEAST_SIZE = 1e-6  # of their squared norm


@dataclass(frozen=True)
class NoisyExpectedImprovement:
    r"""Logarithm of noisy expected improvement, :math:`\log E[(f(x) - \max_s f(x_s))_+]`.

    The expectation is over functions from the posterior, and x_s are the distinct points measured
    or pending. Given their coefficients
    :math:`\theta_s`, what remains of f(x) is
    :math:`N(\phi(x)^\top\theta_s, k(x,x) - \|\phi(x)\|^2)`, so that each sample has the closed
    form of noiseless expected improvement, and all of them are one product of matrices. With the
    logarithm, gradients do not vanish where improvement is unlikely. For spaces without an
    environment.

    Args:
        samples: Number of functions drawn from the posterior in each round.

    References:
        Letham et al. 2019, eq. 3-5; Ament et al. 2023 for the logarithm.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> policy = NoisyExpectedImprovement(samples=16)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=policy))
        >>> _ = optimizer.tell_all([0, 2], [0.0, 0.0])
        >>> optimizer.ask().arm
        1
    """

    samples: int = 64

    def __post_init__(self) -> None:
        checks.count("samples", self.samples)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space with an environment."""
        if space.has_environment:
            raise InvalidInput(
                "`NoisyExpectedImprovement` is for spaces without an environment: pass "
                "`UpperConfidenceBound()` as the policy."
            )

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The point of largest score."""
        candidates = belief.candidates
        return maximise(self(candidates, state.generator), candidates, state.generator, among)

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        """The score of one round, whose samples are drawn here."""
        posterior, embedding = candidates.posterior, candidates.posterior.embedding
        feasible = candidates.feasible
        alone = posterior.of_rewards
        at = embedding(candidates.likely_sites)
        size = self.samples, embedding.dimension
        normals = torch.randn(size, dtype=torch.float64, generator=generator)
        theta = alone.sample_coefficients(normals.to(at.device))  # (s, m)
        best = (theta @ at.T).amax(-1)  # (s,)
        norm = posterior.coefficients.square().sum().clamp_min(_LEAST_SIZE)
        floor = ROUNDING * float(norm * at.square().sum(-1).max())  # of rounding

        def score(points: Tensor) -> Tensor:
            features = embedding(points)
            deviation = (embedding.residual(points, features) + floor).sqrt()  # (n,)
            standardised = (features @ theta.T - best) / deviation[:, None]  # (n, s)
            log_improvement = _log_h(standardised).logsumexp(-1) - math.log(self.samples)
            value = log_improvement + deviation.log()
            if alone is not posterior:
                before = alone.mean_and_deviation(points)[1]
                value = value + (posterior.mean_and_deviation(points)[1] / before).log()
            return value if feasible.is_certain else value + feasible(points).log()

        return score


def _log_h(u: Tensor) -> Tensor:
    """log(density(u) + u distribution(u)) of the standard normal, without cancellation."""
    high = u.clamp_min(-1.0)
    density = torch.exp(-0.5 * high.square()) / math.sqrt(2.0 * math.pi)
    above = (density + high * torch.special.ndtr(high)).log()
    low = u.clamp(-1e5, -1.0)
    # For u < 0: h(u) = density(u) (1 - |u| R(|u|)) with Mills' ratio R; erfcx gives R directly.
    mills = math.sqrt(0.5 * math.pi) * torch.special.erfcx(-low / math.sqrt(2.0))
    ratio = torch.where(low > -1e3, 1.0 + low * mills, low.square().reciprocal())
    below = -0.5 * low.square() - 0.5 * math.log(2.0 * math.pi) + ratio.clamp_min(1e-300).log()
    return torch.where(u > -1.0, above, below)
