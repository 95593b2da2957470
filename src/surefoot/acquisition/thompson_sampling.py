"""Thompson sampling: the maximiser of a function drawn from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.beliefs import Candidates
from surefoot.beliefs.probability import Score
from surefoot.regression.draws import Path


@dataclass(frozen=True)
class ThompsonSampling:
    r"""The risk of a function drawn from the posterior, to be maximised.

    In each round one function is drawn,

    .. math:: \tilde f \sim GP(\mu, \beta^2 \Sigma),

    with the posterior's mean and covariance, and the design maximises it; on a `Joint` space,
    :math:`\mathrm{risk}\,[\tilde f(x, Z)]`. The factor :math:`\beta` is `scale`, times the
    optimizer's width with `by_width`, as in the theorems on GP-TS.

    Draws are joint over all designs. In the features it takes m normal numbers; the residual that
    they do not represent (that of a sketch, and on a box that far from the data) is a draw of the
    prior less its interpolation (see `Posterior.path`). Prior draws are exact on arms; on a box
    they are random Fourier features of squared exponential and Matérn kernels, and for other
    kernels combinations of the kernel at a grid of points. A kernel that the grid does not
    represent is refused at the first draw.

    Pending queries need no correction, since every query maximises a draw of its own. Where
    measurements have failed, a failure counts as the lowest value that the draw has at a site. With
    constraints, gains over its best feasible design count with the probability that they hold.
    On a `Joint` space, `ScorePolicy` measures under a lacing value of the confidence bounds, as
    for the upper confidence bound: that is what bounds the regret of the design in terms of the
    deviation at the measured pair.

    Args:
        scale: Factor of the draw's deviation from the posterior mean; 1 draws from the posterior,
            0 is greedy.
        by_width: Whether the optimizer's width is a factor too.

    Raises:
        InvalidInput: If `scale` is not a finite number of at least 0; when a function is due to be
            drawn, if that cannot be done for the kernel or for features of the user's own.

    References:
        Thompson 1933; Chowdhury and Gopalan 2017, "On kernelized multi-armed bandits", Algorithm 2
        (GP-TS); Nguyen et al. 2021, "Optimizing conditional value-at-risk of black-box functions"
        (CV-TS); Mutny and Krause 2018 for quadrature Fourier features; Kandasamy et al. 2018,
        "Parallelised Bayesian optimisation via Thompson sampling", for pending queries.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> policy = sf.acquisition.ThompsonSampling()
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=policy, ridge=0.01))
        >>> _ = optimizer.tell_all([0, 1, 2], [0.0, 9.0, 0.0])
        >>> [query.arm for query in optimizer.ask_batch(3)]
        [1, 1, 1]
    """

    scale: float = 1.0
    by_width: bool = False

    def __post_init__(self) -> None:
        checks.non_negative("scale", self.scale)
        checks.truth("by_width", self.by_width)

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        """The score of one round, whose function is drawn here."""
        belief, posterior = candidates.belief, candidates.posterior
        prior, success = belief.outcome.prior, belief.failures.success
        path = (
            belief.band.draw(self.scale, generator, prior)
            if self.by_width
            else posterior.of_rewards.path(generator, prior, self.scale)
        )
        drawn = path if success.is_certain else _discounted(path, success, candidates.sites)
        if belief.constraints.probability.is_certain:
            return lambda x: candidates.risk_of(drawn, x)
        with torch.no_grad():
            at_designs = candidates.risk_of(drawn, candidates.designs)
        return lambda x: candidates.constrained(x, candidates.risk_of(drawn, x), at_designs)


def _discounted(path: Path, success: Score, sites: Tensor) -> Path:
    """A function drawn, where a failure counts as its lowest value at a site."""
    with torch.no_grad():
        worst = path(sites).min()

    def weighed(points: Tensor) -> Tensor:
        chance = success(points)
        return chance * path(points) + (1.0 - chance) * worst

    return weighed
