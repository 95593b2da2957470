"""The posterior integrated over the hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.numbers import NUMBERS_AT_ONCE
from surefoot._internal.process_settings import with_own_settings
from surefoot.hyperparameters.conditional import Process
from surefoot.hyperparameters.laplace import SAMPLES, PosteriorMode, Sample
from surefoot.hyperparameters.process_mixture import Frame, ProcessMixture
from surefoot.regression.cross_validation import CrossValidation
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Moments, Posterior


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""Mixture of Gaussian processes over hyperparameters and precisions of the rewards.

    With samples h of the hyperparameters and of the precisions of the rewards, and the constant
    prior mean given a flat prior, the mean of the mixture is :math:`E_h[\mu_h(x)]` and its variance
    :math:`E_h[\sigma_h^2(x)] + \mathrm{Var}_h[\mu_h(x)]`. Laplace's approximation has Gaussian
    tails, too light for few rewards n: the variance is multiplied by (n + 1) / (n - 1), that of a
    Student-t law of n + 1 degrees of freedom.

    Where the variational bound has several maxima, samples are from all of them, in proportion to
    the evidence: the bound and the volume of Laplace's approximation around it.

    With effects of conditions, the function is the one at their reference level, and what is not
    known of that level is part of its variance.

    With microscale variation, the value at a point is that of the function plus an independent
    deviation, whose variance is a share of the fitted noise. Functions that are drawn are without.

    Args:
        modes: Local maxima of the bound; the first is that of the fit.
        shares: Shares (number of samples,) of the noise that are microscale variation, one for
            each sample; zero for none.
        frame: Coordinates and units; those of the fit itself if it is left out.

    References:
        Rasmussen and Williams 2006, Section 2.7 for the prior mean; Osborne 2010, "Bayesian
        Gaussian processes for sequential prediction, optimisation and quadrature", for the
        mixture; MacKay 1992 for Laplace's approximation.
    """

    modes: Sequence[PosteriorMode]
    shares: Tensor = field(default_factory=lambda: torch.zeros(SAMPLES, dtype=torch.float64))
    frame: Frame = field(default_factory=Frame)

    def over(self, posterior: Posterior, pulls: Sequence[Pull] = ()) -> Integrated:
        """The mixture in place of a posterior that is conditioned on pulls without rewards."""
        return Integrated(posterior.scale, self, pulls)

    def cross_validation(self) -> CrossValidation:
        """How well the most likely hyperparameters predict each reward from the others."""
        return self.modes[0].cross_validation()

    def bias_near(self, points: Tensor) -> Tensor:
        """How much larger rewards near points (n, d) are than so predicted, in standard errors."""
        return self.cross_validation().bias_near(self.frame.unit(points))

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the Student-t law of a prediction's error."""
        return self.modes[0].degrees_of_freedom

    @cached_property
    def smooth(self) -> Mixture:
        """The same for the function itself, without microscale variation."""
        return replace(self, shares=torch.zeros_like(self.shares))

    @cached_property
    @np.errstate(under="ignore")  # whatever the caller has set
    @with_own_settings
    def process(self) -> ProcessMixture:
        """The mixture of processes, given the rewards."""
        size = max(1, NUMBERS_AT_ONCE // len(self.modes[0].weights) ** 2)
        pairs = list(zip(self._samples, self.shares.tolist(), strict=True))
        batches = []
        for _, group in groupby(pairs, key=lambda pair: id(pair[0][0])):
            left = list(group)
            while left:
                now, left = left[:size], left[size:]
                batches.append(Process.batch([mode.given(*at, own) for (mode, at), own in now]))
        return ProcessMixture(self.frame, self.modes[0].inflation, batches)

    @property
    def probabilities(self) -> Tensor:
        """Posterior probabilities (m,) of the modes."""
        if len(self.modes) == 1:
            return torch.ones(1, dtype=torch.float64)
        logs = [mode.log_evidence for mode in self.modes]
        return torch.tensor(logs, dtype=torch.float64).softmax(0)

    @cached_property
    def _samples(self) -> list[tuple[PosteriorMode, Sample]]:
        levels = (torch.arange(SAMPLES, dtype=torch.float64) + 0.5) / SAMPLES
        chosen = torch.searchsorted(self.probabilities.cumsum(0), levels)
        modes = [self.modes[index] for index in chosen.clamp_max(len(self.modes) - 1).tolist()]
        return [(mode, mode.samples[number]) for number, mode in enumerate(modes)]


@dataclass(frozen=True, eq=False)
class Integrated:
    """A mixture in place of the posterior at the most likely hyperparameters.

    Args:
        scale: Reward units in one unit of the model.
        mixture: The mixture.
        pulls: Pulls without rewards that it is conditioned on.
    """

    scale: float
    mixture: Mixture
    pulls: Sequence[Pull] = ()

    @property
    def of_rewards(self) -> Integrated:
        """The same without the pulls whose rewards are not known."""
        return replace(self, pulls=()) if self.pulls else self

    def tabulates(self, points: Tensor) -> bool:
        """Whether mean and deviation at these very points are looked up: they are not."""
        return False

    def mean(self, points: Tensor) -> Tensor:
        """Mean (n,) at points (n, d)."""
        return self.mixture.process.mean(points)

    def variance(self, points: Tensor) -> Tensor:
        """Variance (n,) at points (n, d)."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        return self._process.mean_and_deviation(points)

    def joint(self, points: Tensor) -> Moments:
        """Joint moments (..., q) at points (..., q, d)."""
        return self._process.joint(points)

    def components(self, points: Tensor) -> Moments:
        """Joint moments (..., s, q) of the function under each sample of the hyperparameters."""
        return self._smooth.components(points)

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from the mixture."""
        with torch.no_grad():
            return self._smooth.draws(points, number, generator)

    @cached_property
    def _process(self) -> ProcessMixture:
        return self.mixture.process.with_pending(self.pulls)

    @cached_property
    def _smooth(self) -> ProcessMixture:
        return self.mixture.smooth.process.with_pending(self.pulls)
