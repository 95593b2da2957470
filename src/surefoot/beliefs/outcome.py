"""Belief of one measured quantity, given its history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.process_settings import with_own_settings
from surefoot.beliefs.band import Band, PriorDraw, Shape
from surefoot.beliefs.estimands import Residuals
from surefoot.regression.cross_validation import CrossValidation
from surefoot.regression.noise import Contrast, Noise
from surefoot.regression.observations import Conditions, Observations
from surefoot.regression.posterior import Posterior, Predictive
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample
from surefoot.regression.transforms import Chain
from surefoot.regression.uncertainty import Uncertainty
from surefoot.regression.units import RewardUnits
from surefoot.spaces import Space
from surefoot.spaces.listed_designs import Designs, located_designs
from surefoot.types import Assumptions
from surefoot.widths.assumptions import Theorem
from surefoot.widths.progress import Progress

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_MOST_LEVERAGE = 0.95  # of a reward: beyond, its residual is rounding


class Fitted(Protocol):
    """Hyperparameters as a belief needs them, see `hyperparameters.Fitted`."""

    @property
    def kernel(self) -> Kernel:
        """Prior covariance."""

    @property
    def noise(self) -> float:
        """Squared scale of the noise, in standardised units."""

    @property
    def dof(self) -> float:
        """Degrees of freedom of the noise; infinite where none were fitted."""

    @property
    def center(self) -> float:
        """Prior mean, in reward units."""

    @property
    def scale(self) -> float:
        """Unit of the standardised rewards, in reward units."""

    @property
    def warp(self) -> Chain:
        """Transformation of the rewards before they are standardised."""

    @property
    def units(self) -> RewardUnits:
        """The standardised units."""

    @property
    def effects(self) -> Any:
        """Effects of the conditions under which rewards were measured; `is_none` without any."""

    def offsets(self, points: Tensor) -> Tensor | float:
        """By how much rewards of lower levels of fidelity at points (n, d) differ."""

    def without_effects(self, rewards: Tensor, under: Conditions) -> Tensor:
        """Rewards (t,) at the reference level of the effects of conditions.

        Args:
            rewards: Rewards (t,), in reward units.
            under: Their conditions.
        """


class OutcomeModel(Protocol):
    """Model of an outcome as its belief needs it, see `models.Model`."""

    @property
    def space(self) -> Space:
        """Domain of the function."""

    @property
    def theorem(self) -> Theorem | None:
        """What is assumed of function and noise, where the width is that of a theorem."""

    def belief(
        self, observations: Observations, fitted: Any, generator: torch.Generator
    ) -> OutcomeBelief:
        """Belief from observations alone, under fitted hyperparameters."""

    def fitted_belief(self, observations: Observations) -> OutcomeBelief:
        """Belief from observations alone, under hyperparameters that are fitted to them."""

    def of_sides(self, sides: Observations) -> OutcomeBelief:
        """Belief of the side of an edge that points are on, from rewards of 1 and -1."""

    def conditioned(
        self, fitted: Any, weights: Tensor, observations: Observations
    ) -> OutcomeBelief:
        """Belief from observations, under hyperparameters and weights (t,) of the first."""

    def alternative(self, fitted: Any, observations: Observations) -> OutcomeBelief | None:
        """Belief with another prior of the lengthscales; None where there is none."""

    def contrasts(self, fitted: Any, observations: Observations) -> dict[str, Contrast]:
        """Effects of conditions on the rewards by name, those that the data support."""

    def uncertainty(self, fitted: Any, observations: Observations) -> Uncertainty:
        """Uncertainty of fitted hyperparameters."""

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in an estimate, in order of arrival."""

    def unproved(self, outcome: OutcomeBelief) -> str:
        """Why the bounds of a belief of this model have no proof; empty if they have one."""

    def with_theorem(self, theorem: Theorem) -> OutcomeModel:
        """The model with the bounds of a theorem."""

    def assuming(
        self, observations: Observations, known: Assumptions, lengthscale: float, center: float
    ) -> OutcomeBelief:
        """Belief from the rewards less a constant, with the bounds of what is assumed."""


@dataclass(frozen=True, eq=False)
class Inferred:
    """Estimate from the first rewards of a run, and numbers that follow from it.

    Args:
        number: Number of rewards.
        estimate: The estimate.
        posterior: The posterior.
        width: Multiplier of the standard deviation in the bounds.
        information_gain: Half the log determinant of I + K / ridge, in nats.
        dimension: Number of features.
    """

    number: int
    estimate: Estimate
    posterior: Posterior
    width: float
    information_gain: float
    dimension: int

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class OutcomeBelief:
    """Posterior of one measured quantity, its hyperparameters, and diagnostics of its rewards.

    Args:
        model: The parts of the model.
        fitted: The hyperparameters.
        observations: The rewards; later ones do not change them.
        sample: Features of the sites and the factor of the pulls.
        inferred: The estimate, posterior and width.
        prior: Draws functions from the prior.
        shape: The bounds at each point, given posterior and width.
        prior_variance: Largest prior variance.
    """

    model: OutcomeModel
    fitted: Fitted
    observations: Observations
    sample: Sample
    inferred: Inferred
    prior: PriorDraw
    shape: Shape
    prior_variance: float

    __repr__ = brief

    @property
    def posterior(self) -> Posterior:
        """Posterior of the function, in units of the rewards as they are transformed."""
        return self.inferred.posterior

    @property
    def width(self) -> float:
        """Multiplier of the standard deviation in the bounds."""
        return self.inferred.width

    @property
    def band(self) -> Band:
        """The posterior with its bounds."""
        return Band(self.posterior, self.width, self.shape, limit=self.limit)

    @cached_property
    def limit(self) -> float:
        """Bound on the absolute value of the function by what the theorem of the width assumes."""
        known = self.model.theorem if self.fitted.units.is_identity else None
        return math.inf if known is None else known.limit(self.progress)

    @property
    def progress(self) -> Progress:
        """State of the run for a width of rounds, information gain and dimension."""
        known = self.inferred
        return Progress(
            known.number,
            known.information_gain,
            known.dimension,
            self.fitted.noise,
            prior_variance=self.prior_variance,
        )

    @property
    def transform(self) -> Chain:
        """Transformation from rewards to the units of the posterior."""
        return self.fitted.warp

    @cached_property
    def noise(self) -> Noise:
        """Noise of the rewards, in the squared units of the posterior."""
        fitted, rewards = self.fitted, self.at_reference.rewards
        errors = fitted.units.error_variances(rewards, self.observations.sems) * fitted.scale**2
        variance = fitted.noise * self.posterior.scale**2
        return Noise(variance, self.weights.to(rewards), errors, fitted.dof)

    @cached_property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the estimate, in order of arrival."""
        return self.model.weights(self.inferred.estimate, self.sample)

    @property
    def residuals(self) -> Tensor:
        """Rewards less the posterior mean (t,), as transformed, without effects of conditions.

        Each is divided by the square root of 1 - h, where its leverage h is the share of its own
        error that the posterior mean follows, so that its variance is that of the noise.

        References:
            Hoaglin and Welsch 1978, "The hat matrix in regression and ANOVA".
        """
        return self.noise_sample.transformed

    @cached_property
    def noise_sample(self) -> Residuals:
        """The `residuals`, as transformed and in units of the rewards."""
        observations = self.at_reference
        site, rewards = observations.site, observations.rewards
        with torch.no_grad():
            mean, deviation = self.posterior.mean_and_deviation(observations.sites)
        leverage = deviation[site].square() / self.noise.variances
        stretch = (1.0 - leverage.clamp(0.0, _MOST_LEVERAGE)).rsqrt()
        return Residuals.of(mean[site], rewards, stretch, self.transform)

    @cached_property
    def effects(self) -> dict[str, Contrast]:
        """Effects of conditions on each reward by name, less those at the reference level.

        They are in units of the posterior; only those that the data support.
        """
        return self.model.contrasts(self.fitted, self.observations)

    @cached_property
    @with_own_settings
    def uncertainty(self) -> Uncertainty:
        """Uncertainty of the hyperparameters."""
        return self.model.uncertainty(self.fitted, self.observations)

    @cached_property
    def integrated(self) -> Predictive:
        """The posterior integrated over the hyperparameters."""
        return self.uncertainty.over(self.posterior)

    @cached_property
    @with_own_settings
    def alternative(self) -> OutcomeBelief:
        """The belief with another prior of the lengthscales, itself where there is none."""
        return self.model.alternative(self.fitted, self.observations) or self

    @property
    @with_own_settings
    def cross_validation(self) -> CrossValidation:
        """Leave-one-out predictions of the rewards, in units of the model."""
        return self.uncertainty.cross_validation()

    @with_own_settings
    def bias_near(self, points: Designs) -> Tensor:
        """How much larger rewards near points are than the others predict.

        Beyond two or three an interval there is too low, as where the function has a maximum that
        is too narrow for the lengthscales of the model; below minus two or three it is too high.

        Args:
            points: Designs (n, dx); on a `Joint` space inputs (n, dx + dz) of the model.

        Returns:
            Differences (n,) in standard errors, of the eight nearest rewards each; 0 for fewer than
            30 rewards, and for hyperparameters that are known.

        Raises:
            InvalidInput: If the space has no such points.
        """
        inputs = located_designs(self.model.space, points, "points")
        return self.uncertainty.bias_near(inputs).to(inputs)

    @cached_property
    def at_reference(self) -> Observations:
        """The observations with their rewards at the reference level of the effects."""
        return at_reference(self.fitted, self.observations)

    def conditioned(self, points: Tensor, rewards: Tensor, arms: list[int | None]) -> OutcomeBelief:
        """The belief after more rewards, under the same hyperparameters.

        Args:
            points: Inputs (k, d) of the model.
            rewards: Rewards (k,), in reward units.
            arms: Indices (k,) of the points on a space of arms, else None each.
        """
        more = self.observations.writable
        for point, reward, arm in zip(points, rewards.tolist(), arms, strict=True):
            more.append(point, reward, arm)
        return self.model.conditioned(self.fitted, self.weights, more)


def at_reference(fitted: Fitted, observations: Observations) -> Observations:
    """Observations with their rewards at the reference level of the effects of conditions."""
    if fitted.effects.is_none:
        return observations
    return observations.with_rewards(
        fitted.without_effects(observations.rewards, observations.conditions)
    )
