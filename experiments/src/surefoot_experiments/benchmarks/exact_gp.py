"""Exact GP-UCB by GPyTorch, with all t observations in the model, in its quickest use.

Arms are predicted 512 at a time, without the covariances between the others; the inverse root of
the kernel matrix is exact (Cholesky, no Lanczos) and worked out once a round.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import gpytorch
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot.widths import Progress, Width

TOGETHER = 512  # arms


class _Model(gpytorch.models.ExactGP):
    def __init__(self, points: Tensor, rewards: Tensor, kernel: Kernel, noise: float) -> None:
        likelihood = gpytorch.likelihoods.GaussianLikelihood(
            noise_constraint=gpytorch.constraints.GreaterThan(1e-8)
        ).double()
        likelihood.noise = noise
        super().__init__(points, rewards, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = kernel

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class ExactGP:
    """A player: the posterior of all observations at all arms, each round."""

    batches = 0

    def __init__(self, points: Tensor, kernel: Kernel, ridge: float, width: Width) -> None:
        self._points = points
        self._kernel = kernel
        self._ridge = ridge
        self._width = width
        self._arms: list[int] = []
        self._rewards: list[float] = []
        self._model: _Model | None = None

    def choose(self) -> int:
        mean, variance = self.posterior()
        relative = variance[self._arms] / self._ridge
        progress = Progress(
            round=len(self._arms),
            information_gain=0.0,
            dimension=len(self._arms),
            ridge=self._ridge,
            effective_dimension=lambda: float(relative.sum()),
        )
        return int((mean + self._width(progress) * variance.sqrt()).argmax())

    def note(self, arm: int, reward: float) -> None:
        """Take in a reward that the next `learn` puts into the model."""
        self._arms.append(arm)
        self._rewards.append(reward)

    def learn(self, arm: int, reward: float) -> int:
        self.note(arm, reward)
        points, rewards = self._data()
        if self._model is None:
            self._model = _Model(points, rewards, self._kernel, self._ridge).eval()
        self._model.set_train_data(points, rewards, strict=False)
        return len(self._arms)

    def learn_as_fantasy(self, arm: int, reward: float) -> None:
        """`learn` that brings the model's caches up to date instead of clearing them."""
        if self._model is None:
            raise RuntimeError("a fantasy needs a posterior to start from: call `learn` first.")
        self.note(arm, reward)
        with _exactly():
            self._model = self._model.get_fantasy_model(
                self._points[[arm]], torch.tensor([reward], dtype=torch.float64)
            )

    def posterior(self) -> tuple[Tensor, Tensor]:
        """Mean and variance (A,)."""
        if self._model is None:
            raise RuntimeError("there is no posterior before the first reward.")
        with _exactly():
            parts = [self._model(part) for part in self._points.split(TOGETHER)]
            return torch.cat([p.mean for p in parts]), torch.cat([p.variance for p in parts])

    def _data(self) -> tuple[Tensor, Tensor]:
        return self._points[self._arms], torch.tensor(self._rewards, dtype=torch.float64)


@contextmanager
def _exactly() -> Iterator[None]:
    """No gradients and no approximations, but the root of the inverse worked out only once."""
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(gpytorch.settings.max_cholesky_size(10**6))
        stack.enter_context(gpytorch.settings.fast_pred_var())
        yield
