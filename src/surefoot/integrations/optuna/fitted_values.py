"""The values of a study's trials, and the model that was fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.process_settings import with_own_settings
from surefoot.beliefs import Belief
from surefoot.beliefs.estimands import Ends, of_measured_sign
from surefoot.integrations.optuna.predictions import StudyDrift
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.regression.noise import Contrast

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Predictions (n,), and lower and upper ends of their intervals."""


@dataclass(frozen=True, eq=False)
class FittedValues:
    """The values of the trials in a model, and the noise that was fitted to them.

    It is returned by `StudyBelief.fitted`.

    Args:
        belief: Belief of the optimizer that has read the trials, in the units of the study.
        trials: Numbers of the trials, in the order in which they were read.

    Example:
        >>> import optuna
        >>> from surefoot.integrations.optuna import SurefootSampler
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=3))
        >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=3)
        >>> study.sampler.belief(study).fitted.values.shape
        (3,)
    """

    belief: Belief
    trials: list[int]

    @cached_property
    def values(self) -> np.ndarray:
        """Values (n,) of the trials in the model."""
        rewards = self.belief.outcome.observations.rewards
        return as_array(self.belief.reported.units.inverse(rewards)).copy()

    @property
    def adjusted(self) -> np.ndarray:
        """The values (n,) as they would have been at the latest time and on the average worker.

        They are the values themselves where no effect of worker or time was found.
        """
        outcome = self.belief.outcome
        if not outcome.effects:
            return self.values
        offsets = torch.stack([one.mean for one in outcome.effects.values()]).sum(0)
        adjusted = outcome.transform(outcome.observations.rewards.cpu()) - offsets
        return as_array(self.belief.predictions.scales.whole.inverse(adjusted))

    @property
    def noise_scale(self) -> float:
        """Scale of the noise in the units of the model; for Gaussian noise its deviation."""
        fitted = self.belief.outcome.fitted
        return fitted.noise**0.5 * fitted.scale

    @property
    def assumed(self) -> str:
        """Description of the noise model."""
        outcome, is_log = self.belief.outcome, not self.belief.reported.units.is_affine
        compressed = not outcome.transform.is_identity
        return (
            f"Student-t noise with {outcome.fitted.dof:g} degrees of freedom (fewer means heavier "
            f"tails) and scale {self.noise_scale:.4g}, both fitted to the data; homoscedastic"
            f"{', of the logarithm of the values' if is_log else ''}"
            f"{'; values far from the best are compressed' if compressed else ''}."
        )

    @property
    def log_density_left_out(self) -> float:
        """Sum of the log density of each value, as it is predicted from the others.

        In the units of the values, so that models of different transformations can be compared.
        """
        validation = self.belief.outcome.cross_validation
        steps = 1e-6 * np.maximum(np.abs(self.values), 1e-300)
        below, above = (self.on_model_scale(self.values + sign * steps) for sign in (-1.0, 1.0))
        slopes = np.abs(above - below) / (2.0 * steps) / self.belief.outcome.fitted.scale
        z = as_array((validation.rewards - validation.predicted) / validation.deviations)
        return float((np.log(slopes / as_array(validation.deviations)) - 0.5 * z**2).sum())

    @with_own_settings
    def on_model_scale(self, values: np.ndarray) -> np.ndarray:
        """Values in the units of the model: as they are transformed before they are modelled.

        Args:
            values: Values (n,) in the units of the study.

        Returns:
            Values (n,), of which the noise has the scale `noise_scale`.
        """
        told = torch.from_numpy(np.asarray(values, dtype=float))
        return self._sign * as_array(self.belief.predictions.scales.whole(told))

    def drift(self, point: Tensor) -> StudyDrift | None:
        """Predict a configuration (1, d) at the times of the trials; None without a drift."""
        outcome = self.belief.outcome
        if "drift" not in outcome.effects:
            return None
        times = outcome.observations.times.cpu()
        known = [i for i in times.argsort().tolist() if not times[i].isnan()]
        ends = self._under(point, outcome.effects["drift"], known)
        return StudyDrift([self.trials[i] for i in known], *ends)

    def workers(self, point: Tensor) -> dict[str, tuple[float, float, float]]:
        """Predict a configuration (1, d) on each worker, by name; empty if they do not differ."""
        outcome = self.belief.outcome
        if "worker" not in outcome.effects:
            return {}
        workers, names = outcome.observations.workers.tolist(), outcome.observations.worker_names
        chosen = [workers.index(number) for number in range(len(names))]
        ends = self._under(point, outcome.effects["worker"], chosen)
        return dict(zip(names, zip(*(end.tolist() for end in ends), strict=True), strict=True))

    def drift_at(self, trials: Sequence[int] | None, number: int) -> Tensor | float:
        """How the drift has changed values at the times of trials, as they are transformed.

        Args:
            trials: Number of a trial for each of some configurations; None for the latest time.
            number: How many configurations there are.
        """
        if trials is not None and (
            not hasattr(trials, "__len__")
            or len(trials) != number
            or any(one not in self.trials for one in trials)
        ):
            raise InvalidInput(
                f"`at` is {checks.shown(trials)}, expected the number of a trial in the model for "
                f"each of {number} configurations."
            )
        drift = self.belief.outcome.effects.get("drift")
        if trials is None or drift is None:
            return 0.0
        return drift.mean[[self.trials.index(number) for number in trials]]

    def _under(self, point: Tensor, contrast: Contrast, chosen: list[int]) -> Arrays:
        """Prediction of a configuration with an effect of conditions, and 95 % intervals of it."""
        belief, band = self.belief, self.belief.predictions.belief.band
        with torch.no_grad():
            level = band.predictive.mean(point).cpu()
        mean, margin = level + contrast.mean[chosen], band.width * contrast.deviation[chosen]
        ends = (mean, mean - self._sign * margin, mean + self._sign * margin)
        estimand, scales = belief.reported.estimand, belief.predictions.scales
        middle, low, high = (estimand.values(end, scales) for end in ends)
        return self.possible((middle, low, high))

    def possible(self, ends: Ends, zero: float = 0.0) -> Arrays:
        """A prediction (n,) and its interval by `of_measured_sign`, given the values."""
        possible = of_measured_sign(ends, torch.from_numpy(self.values), zero)
        middle, lower, upper = (as_array(one) + 0.0 for one in possible)  # of minus zero, too
        return middle, lower, upper

    @property
    def _sign(self) -> float:
        return 1.0 if self.belief.reported.units.is_increasing else -1.0


def as_array(values: Tensor) -> np.ndarray:
    """Values of a tensor on any device."""
    return values.detach().cpu().numpy()
