"""Dictionaries drawn at random by posterior variance, which bounds ridge leverage scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks, doubling
from surefoot.features.features import room_of
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.features.sketched import Sampling, Sketched
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.refitted import Refitted
from surefoot.regression.ridge import RidgeFactor
from surefoot.spaces import Arms, Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression


@dataclass(eq=False)
class SampledDictionary:
    """A dictionary of sites, drawn by their variance at the last draw.

    Args:
        rule: Says when to draw, and with which probabilities.
        kernel: The prior covariance.
        ridge: Regularisation.
        generator: Source of the draws.
        members: Points (m, d) of the dictionary: (0, d) before the first pull.
    """

    rule: Sampling = field(metadata={"saved": False})
    kernel: Kernel = field(metadata={"saved": False})
    ridge: float
    generator: torch.Generator = field(metadata={"saved": False})
    members: Tensor
    explained: float = 0.0  # sum of sigma^2 / ridge of the pulls since the last draw
    factor: RidgeFactor = field(init=False)  # at the last draw
    pulled: Observations = field(init=False)  # the points, with rewards of 0
    _map: NystromEmbedding = field(init=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        self.factor = RidgeFactor.of(self.members, self.ridge)
        self.pulled = Observations(self.members.shape[1], self.members.device)

    def update(self, pull: Pull) -> None:
        point = pull.point.unsqueeze(0)
        for _ in range(pull.times):
            self.pulled.append(pull.point, 0.0)
        self.explained += pull.times * float(self._variance(point)) / self.ridge
        if len(self.members) == 0 or self.rule.is_due(self.explained, pull.more):
            self._draw(point)

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        return self._map

    def after_load(self) -> None:
        """The feature map of the dictionary, which is not saved."""
        if len(self.members):
            self._map = NystromEmbedding.of(self.kernel, self.members)

    def _draw(self, last: Tensor) -> None:
        """A new dictionary, without points that depend linearly on the others."""
        sites, counts = self.pulled.sites, self.pulled.counts
        relative = self._variance(sites) / self.ridge
        chosen = sites[self.rule.draw(relative, counts, self.generator).to(sites.device)]
        chosen = chosen if len(chosen) else last
        dictionary = NystromEmbedding.of(self.kernel, chosen).dictionary
        self.members = dictionary if len(dictionary) else chosen[:1]  # the kernel is 0 there
        self.after_load()
        self.factor = RidgeFactor.of(self._map(sites), self.ridge, counts)
        self.explained = 0.0

    def _variance(self, points: Tensor) -> Tensor:
        """sigma^2 (n,) at the last draw; before it, k(x, x)."""
        if len(self.members) == 0:
            return kernels.diagonal(self.kernel, points)
        features = self._map(points)
        return self._map.residual(points, features) + (self.ridge * self.factor.leverage(features))


@dataclass(frozen=True)
class LeverageSampling:
    r"""Every pull enters the dictionary with probability :math:`\min(1, \bar q \sigma^2 /\lambda)`.

    sigma^2 is the posterior variance at the last draw, which is the one before the last pull where
    each round draws. With :math:`q = \bar q / \lambda` this is the sampling of ATA-GP-UCB.

    Args:
        oversampling: Factor q-bar. 5 suffices in practice, with bounds (notes/guarantees.md,
            Proposition 1) but no theorem on the regret; with 2, an arm that has been pulled often
            drops out with probability e^-2 at each draw and is explored again. None takes the
            theory's value for `horizon`, `delta` and `accuracy` (`oversampling`).
        resample: "every-round" draws the dictionary after each pull; "adaptive" only when
            1 + sum of sigma^2 / lambda over the pulls since the last draw exceeds `ratio`; so does
            "every-round" between pulls that are told together, of which the last draws.
        ratio: The growth at which an adaptive dictionary is drawn again, at least 1.
        inclusion: "per-pull" gives an arm of n pulls n chances, 1 - (1 - p)^n; "per-arm" one chance
            of min(1, n p); "once" one of p, whatever n is, as the code of the paper on heavy-tailed
            payoffs, whose Algorithm 3 is per pull.
        horizon: Number of rounds for the theory's value; None finds it by doubling.
        delta: Probability of failure for the theory's value.
        accuracy: Relative accuracy of the variance for the theory's value.
        feedback: With "batch", adaptive resampling is BBKB's: between draws arms are chosen by the
            mean of the last draw, and only the variance changes; with "immediate", every reward
            moves the mean.
        root: Root of the dictionary's kernel matrix K_S in the features. "cholesky" leaves out
            arms whose features depend linearly on the others, so that there are as many features
            as the numerical rank. "symmetric" are those of the paper on heavy-tailed payoffs,
            (K_S^{1/2})^+ k_S(x), as many as there are arms in the dictionary; mean and variance of
            least squares are the same.

    Raises:
        InvalidInput: If an argument is out of range, and at the start of a run for a kernel that
            is fitted, or for the symmetric root on a box.

    References:
        Calandriello et al. 2019 (BKB), Algorithm 1; Calandriello et al. 2020 (BBKB), Algorithm 1;
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 2.

    Example:
        >>> import surefoot as sf
        >>> features = sf.Nystrom(sf.LeverageSampling(oversampling=5.0, resample="adaptive"))
    """

    oversampling: float | None = 5.0
    resample: Literal["every-round", "adaptive"] = "every-round"
    ratio: float = 2.0
    inclusion: Literal["per-pull", "per-arm", "once"] = "per-pull"
    horizon: int | None = None
    delta: float = 0.1
    accuracy: float = 0.5
    feedback: Literal["batch", "immediate"] = "batch"
    root: Literal["cholesky", "symmetric"] = "cholesky"

    def __post_init__(self) -> None:
        if self.oversampling is not None:
            checks.at_least_one("oversampling", self.oversampling)
        # It checks them.
        oversampling(1 if self.horizon is None else self.horizon, self.delta, self.accuracy)
        checks.at_least_one("ratio", self.ratio)
        for name, known in (
            ("resample", ("every-round", "adaptive")),
            ("inclusion", ("per-pull", "per-arm", "once")),
            ("feedback", ("batch", "immediate")),
            ("root", ("cholesky", "symmetric")),
        ):
            checks.choice(name, getattr(self, name), *known)

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        if not lasting:
            raise InvalidInput(
                "`LeverageSampling` needs a kernel that is given: pass a `kernel`, or "
                "`Nystrom(PivotedCholesky())` features for one that is fitted."
            )
        if isinstance(space, Arms):
            return Sketched(self, kernel, room_of(space, kernel), ridge, generator)
        if self.root == "symmetric":
            raise InvalidInput(
                "a dictionary with the root 'symmetric' is for arms: on a box pass "
                "`Nystrom(LeverageSampling(...))` features with the root 'cholesky'."
            )
        none = space.lower.new_zeros(0, space.dimension)
        return Refitted(SampledDictionary(self, kernel, ridge, generator, none), ridge)

    @property
    def batched(self) -> bool:
        """Whether arms are chosen in batches, without the rewards of their batch."""
        return self.resample == "adaptive" and self.feedback == "batch"

    def is_due(self, explained: float, more: bool = False) -> bool:
        """Whether to draw anew, given the sum of sigma^2 / lambda of the pulls since.

        Where `more` pulls follow before anything is chosen, variances may fall by `ratio` first.
        """
        return (self.resample == "every-round" and not more) or 1.0 + explained > self.ratio

    def chances(self, relative: Tensor, counts: Tensor) -> Tensor:  # (S,), (S,) -> (S,)
        """Probability that a site is in the dictionary, given sigma^2 / lambda and its pulls."""
        rate = self.oversampling
        if rate is None:
            horizon, delta = doubling.horizon(self.horizon, self.delta, round(float(counts.sum())))
            rate = oversampling(horizon, delta, self.accuracy)
        pull = (rate * relative).clamp(0.0, 1.0)  # of a single one
        if self.inclusion == "once":
            return pull
        if self.inclusion == "per-arm":
            return (pull * counts).clamp_max(1.0)
        return 1.0 - (1.0 - pull) ** counts

    def draw(self, relative: Tensor, counts: Tensor, generator: torch.Generator) -> Tensor:
        """Mask (S,) of the sites that are drawn independently."""
        chances = self.chances(relative.cpu(), counts.cpu())
        return torch.rand(len(chances), dtype=torch.float64, generator=generator) < chances


def oversampling(horizon: int, delta: float = 0.1, accuracy: float = 0.5) -> float:
    r"""The q-bar of the theory, :math:`6 a \ln(4T/\delta)/\epsilon^2`, a = (1 + eps) / (1 - eps).

    With it, all variances of the sketch are within a factor of a of the exact ones.

    Args:
        horizon: Number of rounds T.
        delta: Probability of failure, in (0, 1).
        accuracy: Relative accuracy epsilon of the variance, in (0, 1).

    Returns:
        The oversampling factor.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Calandriello et al. 2019 (BKB), Theorem 1; Chowdhury and Gopalan 2019 (heavy-tailed
        payoffs), Theorem 4.

    Example:
        >>> round(oversampling(horizon=1000))
        763
    """
    checks.count("horizon", horizon)
    checks.probability("delta", delta)
    checks.probability("accuracy", accuracy)
    ratio = (1.0 + accuracy) / (1.0 - accuracy)
    return 6.0 * ratio * math.log(4.0 * horizon / delta) / accuracy**2
