"""The expected risk of a design, over functions from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.acquisition import Score
from surefoot.beliefs import Candidates
from surefoot.types import InvalidInput
from surefoot_experiments.baselines.arguments import count
from surefoot_experiments.baselines.fantasies import quasi_normals
from surefoot_experiments.baselines.many_rows import differentiable

_JITTER = 1e-9  # of the variance, so that values at neighbouring z have a Cholesky factor
_STRIP = 2**20  # numbers in temporary arrays


@dataclass(frozen=True)
class ExpectedRisk:
    r"""The expected risk :math:`E[\mathrm{risk}(f(x, Z))]` as a score of designs.

    The expectation is over functions from the posterior, which are the same for all designs. It is
    the rule by which rho-KG's authors recommend; the risk of the mean, the default, differs from it
    where the posterior is wide. Values of a continuous Z follow from the state of the run's
    generator, which stays as it is: they differ between runs and rounds, and two calls in a row
    have the same. For `Optimizer.recommend(by=...)`, or as a greedy policy.

    Args:
        values: Number of values that represent a continuous environment.
        samples: Number of functions from the posterior.

    Raises:
        InvalidInput: If a number is not positive, or `values` is 1.

    References:
        Cakmak et al. 2020, "Bayesian optimization of risk measures".

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 1.0])
        >>> space = sf.Joint(sf.Arms([[0.0], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.v_ucb(space, kernel, level=0.3, ridge=0.01)
        >>> info = optimizer.tell_all([0, 0, 1], [1.0, 1.0, 0.0], [[0.0], [1.0], [0.0]])
        >>> optimizer.recommend(by=ExpectedRisk()).arm
        0
    """

    values: int = 40
    samples: int = 40

    def __post_init__(self) -> None:
        count("values", self.values, least=2)
        count("samples", self.samples)

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        space, belief = candidates.space, candidates.belief
        if not space.has_environment:
            return candidates.mean
        if space.environment.weights_vary:
            raise InvalidInput(
                "`ExpectedRisk` needs weights of the environment that are the same for all "
                'designs: pass them as numbers, or recommend by "mean".'
            )
        candidates = Candidates.sampled(belief, self.values, generator.clone_state())
        z, posterior = candidates.z, belief.posterior
        normals = quasi_normals(self.samples, len(z), torch.Generator().manual_seed(0)).to(z)
        risk = differentiable(belief.risk, candidates.weights_at(candidates.designs))
        eye = torch.eye(len(z), dtype=z.dtype, device=z.device)

        def expected(x: Tensor) -> Tensor:
            evaluated = posterior.evaluate(space.inputs(x, z))
            groups = evaluated.groups(len(z))
            covariance = posterior.covariance(groups, groups)
            variance = covariance.detach().diagonal(dim1=-2, dim2=-1).mean(-1)
            jitter = _JITTER * (variance + posterior.scale**2)
            root = torch.linalg.cholesky(covariance + jitter[:, None, None] * eye)
            mean = posterior.evaluated_mean(evaluated).reshape(-1, 1, len(z))
            return risk(mean + normals @ root.mT).mean(-1)

        few = max(1, _STRIP // (len(z) * max(len(z), self.samples)))
        return lambda x: torch.cat([expected(part) for part in x.split(few)])
