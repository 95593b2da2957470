"""The fitted transformation of the rewards as an outcome transform, and posteriors under it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.posteriors import GPyTorchPosterior, Posterior, TransformedPosterior
from gpytorch.distributions import MultivariateNormal
from torch import Tensor

from surefoot.integrations.botorch.laws import affine
from surefoot.regression.transforms import Affine, Chain
from surefoot.types import InvalidInput

_NODES, _BISECTIONS = 64, 60  # of Gauss-Hermite quadrature, and of a search for a variance


class ChainPosterior(TransformedPosterior):
    """Posterior of values whose transformed values have a Gaussian posterior.

    Samples and quantiles are those of the Gaussian posterior, mapped by the inverse, and so exact;
    mean and variance are by quadrature. The median is the inverse of the Gaussian's.

    Args:
        posterior: Posterior of the transformed values.
        transform: Transformation of each outcome; of several, increasing.
    """

    def __init__(self, posterior: GPyTorchPosterior, transform: ChainTransform) -> None:
        super().__init__(
            posterior,
            transform.inverse,
            lambda *moments: transform.moments(*moments)[0],
            lambda *moments: transform.moments(*moments)[1],
        )
        self._transform = transform

    @property
    def distribution(self) -> MultivariateNormal:
        """Refused: the law of the values is none of GPyTorch's."""
        raise AttributeError(
            "the posterior is not Gaussian, since the fitted transformation of the outcomes is not "
            "affine: make the model with `hyperparameters=HyperparameterFit(warped=False)`."
        )

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of the posterior, for transforms of the user's own."""
        return self._posterior.batch_shape

    def quantile(self, value: Tensor) -> Tensor:
        """Quantiles at probabilities in (0, 1), as those of `posterior`."""
        level = value if self._transform.chains[0].is_increasing else 1.0 - value
        return self._transform.inverse(self._posterior.quantile(level))

    def density(self, value: Tensor) -> Tensor:
        """Density of each output at values, as that of `posterior`."""
        columns = []
        for output, chain in enumerate(self._transform.chains):
            density = self._posterior.density(chain(value))[..., output]
            slope = chain.log_slope(value).exp()
            columns.append(
                slope.reshape(*value.shape, *[1] * (density.ndim - value.ndim)) * density
            )
        return torch.stack(columns, -1)

    def scaled(self, weight: float, offset: float) -> ChainPosterior:
        """Posterior of offset + weight * values of one outcome, for a weight other than 0."""
        chain = Chain((Affine(offset, weight), *self._transform.chains[0].parts))
        return type(self)(self._posterior, ChainTransform([chain]))


class ChainTransform(OutcomeTransform):
    """Outcome transform by a chain of monotone transformations for each outcome.

    Args:
        chains: Transformation of each of m outcomes, increasing.

    Example:
        >>> from surefoot.regression.transforms import Affine, Chain, Warp
        >>> transform = ChainTransform([Chain((Warp(0.0, 1.0), Affine(2.0, 3.0)))])
        >>> values = torch.tensor([[10.0], [-1e6]], dtype=torch.float64)
        >>> transform.untransform(transform(values)[0])[0].round().tolist()
        [[10.0], [-1000000.0]]
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        super().__init__()
        self.chains = tuple(chains)

    @property
    def _is_linear(self) -> bool:
        return all(chain.is_affine for chain in self.chains)

    def forward(
        self, Y: Tensor, Yvar: Tensor | None = None, X: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Transformed outcomes (..., m), and their noise variances to first order."""
        columns = list(zip(self.chains, self._columns(Y), strict=True))
        values = self._joined(Y, [chain(column) for chain, column in columns])
        if Yvar is None:
            return values, None
        errors = [
            chain.errors(column, variance.sqrt()).square()
            for (chain, column), variance in zip(columns, self._columns(Yvar), strict=True)
        ]
        return values, self._joined(Yvar, errors)

    def untransform(
        self, Y: Tensor, Yvar: Tensor | None = None, X: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Outcomes (..., m) that become these, and their noise variances to first order."""
        columns = list(zip(self.chains, self._columns(Y), strict=True))
        inverses = [(chain, chain.inverse(column)) for chain, column in columns]
        values = self._joined(Y, [value for _, value in inverses])
        if Yvar is None:
            return values, None
        variances = [
            variance * (-2.0 * chain.log_slope(value)).exp()
            for (chain, value), variance in zip(inverses, self._columns(Yvar), strict=True)
        ]
        return values, self._joined(Yvar, variances)

    def subset_output(self, idcs: list[int]) -> ChainTransform:
        """The transform of some of the outcomes."""
        return ChainTransform([self.chains[index] for index in idcs])

    def untransform_posterior(self, posterior: Posterior, X: Tensor | None = None) -> Posterior:
        """The posterior of outcomes whose transformed values have this one.

        Args:
            posterior: A Gaussian posterior of outcomes that are independent of each other.
            X: Not used.

        Returns:
            A Gaussian posterior where all transformations are affine, else a `ChainPosterior`.
        """
        if not self._is_linear:
            return ChainPosterior(posterior, self)
        lines = [
            chain.inverse(torch.tensor([0.0, 1.0], dtype=torch.float64)) for chain in self.chains
        ]
        center, end = torch.stack(lines, -1)
        return GPyTorchPosterior(affine(posterior.distribution, center, end - center))

    def inverse(self, values: Tensor) -> Tensor:
        """Outcomes (..., m) that become these values."""
        return self.untransform(values)[0]

    def moments(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances (..., m) of outcomes whose transformed values are normal."""
        parts = zip(self.chains, self._columns(mean), self._columns(variance), strict=True)
        means, variances = zip(*(_moments(*part) for part in parts), strict=True)
        return self._joined(mean, means), self._joined(mean, variances)

    def _columns(self, values: Tensor) -> Sequence[Tensor]:
        # A list of models passes outcomes of one model without their last dimension.
        return (values,) if len(self.chains) == 1 else values.unbind(-1)

    def _joined(self, values: Tensor, columns: Sequence[Tensor]) -> Tensor:
        return columns[0] if len(columns) == 1 else torch.stack(list(columns), -1)


def transformed(posterior: Posterior, transform: Callable[..., Posterior], X: Tensor) -> Posterior:
    """What a posterior transform makes of a posterior.

    Args:
        posterior: The posterior of outcomes.
        transform: The posterior transform.
        X: Transformed inputs (..., q, d).

    Raises:
        InvalidInput: If the transform needs a Gaussian posterior, and this is none.
    """
    if isinstance(transform, ScalarizedPosteriorTransform) and isinstance(
        posterior, ChainPosterior
    ):
        weights = transform.weights.tolist()
        if len(weights) == 1 and weights[0] != 0.0:
            return posterior.scaled(weights[0], float(transform.offset))
    try:
        return transform(posterior, X=X)
    except (AttributeError, NotImplementedError) as error:
        if isinstance(posterior, GPyTorchPosterior):
            raise
        raise InvalidInput(
            f"`posterior_transform` is {type(transform).__name__}, which needs a Gaussian "
            "posterior, but the fitted transformation of the outcomes is not affine: pass an "
            "`objective` to an acquisition function of samples instead, or make the model with "
            "`hyperparameters=HyperparameterFit(warped=False)`."
        ) from error


def _moments(chain: Chain, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of values whose transformed values are normal, elementwise."""
    nodes, weights = (part.to(mean) for part in _quadrature())
    values = chain.inverse(mean.unsqueeze(-1) + variance.sqrt().unsqueeze(-1) * nodes)
    average = values @ weights
    return average, (values - average.unsqueeze(-1)).square() @ weights


def before(chain: Chain, mean: Tensor, variance: Tensor, noise: Tensor) -> Tensor:
    """Variance of transformed values by which that of the values grows by a noise, elementwise.

    Args:
        chain: The transformation.
        mean: Mean (...) of the transformed values.
        variance: Their variance (...).
        noise: The variance (...) of the noise.
    """
    least = noise * chain.log_slope(chain.inverse(mean)).exp().square()
    if chain.is_affine:
        return least
    wanted = _moments(chain, mean, variance)[1] + noise
    low, high = torch.zeros_like(least), torch.full_like(least, math.inf)
    for _ in range(_BISECTIONS):
        tried = torch.where(high.isinf(), 4.0 * low.maximum(least), 0.5 * (low + high))
        below = _moments(chain, mean, variance + tried)[1] < wanted
        low, high = torch.where(below, tried, low), torch.where(below, high, tried)
    return high


@cache
def _quadrature() -> tuple[Tensor, Tensor]:
    """Nodes and weights of an expectation under a standard normal law."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return torch.from_numpy(nodes), torch.from_numpy(weights / math.sqrt(2.0 * math.pi))
