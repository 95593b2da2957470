"""What the model holds of a study, in the study's units and direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from surefoot.risks import Risk, WorstCase
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.integrations._study_model import StudyModel
    from surefoot.integrations.study_environment import StudyEnvironment

_VALUES = 1024  # of a continuous environment, which stand for it
_TOGETHER = 2**16  # settings with environments that are predicted at once


@dataclass(frozen=True)
class StudyRecommendation:
    """The setting that the model holds best, in the study's units and direction.

    In a study with an environment the value is the risk.
    """

    params: dict[str, Any]
    value: float
    lower: float
    upper: float


class OverEnvironment(NamedTuple):
    """One setting under each value of its environment, in the study's units."""

    values: np.ndarray  # (n, dz)
    mean: np.ndarray  # (n,)
    lower: np.ndarray  # (n,)
    upper: np.ndarray  # (n,)
    weights: np.ndarray  # (n,), which sum to 1


class StudyBelief:
    """The model of a study as it was when asked for, in the study's units and direction."""

    def __init__(self, model: StudyModel) -> None:
        optimizer = model.optimizer
        self._encoding, self._sign = model.encoding, model.sign
        self._best = optimizer.recommend()
        self._posterior, self._width = optimizer.posterior, optimizer.width
        self._learnt = optimizer.hyperparameters
        self._beside = None
        if model.environment is not None and optimizer.risk is not None:
            self._beside = _Beside(model.environment, optimizer.risk)
        self.trials: list[int] = list(model.numbers)
        """Numbers of the trials in the model, in the order it read them."""
        self.values: np.ndarray = model.sign * optimizer.history.rewards.cpu().numpy()
        """Their measured values (n,)."""
        self.weights: np.ndarray = optimizer.weights.cpu().numpy().copy()
        """Weight of each value (n,): 1 is full weight, near 0 was treated as an outlier."""

    @property
    def outliers(self) -> np.ndarray:
        """Which values (n,) have less than half their weight."""
        return self.weights < 0.5

    @property
    def noise_scale(self) -> float:
        """Scale of the noise in the study's units: its standard deviation, were it Gaussian."""
        learnt = self._learnt
        return float("nan") if learnt is None else learnt.noise**0.5 * learnt.scale

    @property
    def assumed(self) -> str:
        """What the model takes the noise to be, in a sentence."""
        learnt = self._learnt
        dof = float("nan") if learnt is None else learnt.dof
        return (
            f"Student-t noise with {dof:g} degrees of freedom (fewer means heavier tails) and "
            f"scale {self.noise_scale:.4g}, both learnt from the data; the same everywhere."
        )

    def recommend(self) -> StudyRecommendation:
        """The setting of best predicted value, or risk, with that and its interval."""
        params = self._encoding.decode(self._best.point)
        mean, lower, upper = self.predict([params])
        return StudyRecommendation(params, float(mean[0]), float(lower[0]), float(upper[0]))

    def predict(
        self,
        settings: Sequence[Mapping[str, Any]],
        environments: Sequence[Mapping[str, Any]] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicted value, lower and upper end of its interval, each (n,), without noise.

        In a study with an environment these are the setting's risk, or its value under one of
        `environments` for each. Raises `InvalidInput` for a setting that is not of the study's
        search space, and for what is not an environment of it.
        """
        x, beside = self._points(settings), self._beside
        if beside is None and environments is None:
            return self._in_units(*self._bounds(x))
        if beside is None:
            raise _no_environment()
        if environments is not None:
            return self._in_units(*self._bounds(beside.under(x, environments)))
        z, weights = beside.values()
        risks = []
        for part in x.split(max(1, _TOGETHER // len(z))):
            bounds = self._bounds(_crossed(part, z))
            risks.append([beside.risk(each.reshape(len(part), len(z)), weights) for each in bounds])
        return self._in_units(*(torch.cat(each) for each in zip(*risks, strict=True)))

    def over_environment(self, params: Mapping[str, Any]) -> OverEnvironment:
        """A setting under each value of the environment, or under many that stand for a density.

        Raises `InvalidInput` in a study without an environment.
        """
        if self._beside is None:
            raise _no_environment()
        z, weights = self._beside.values()
        ends = self._in_units(*self._bounds(_crossed(self._points([params]), z)))
        return OverEnvironment(z.numpy(), *ends, weights.numpy())

    def _points(self, settings: Sequence[Mapping[str, Any]]) -> Tensor:  # (n, dx)
        points = [self._encoding.encode(params) for params in settings]
        for params, point in zip(settings, points, strict=True):
            if point is None:
                raise InvalidInput(
                    f"{dict(params)!r} is not a setting of this study, expected values for "
                    f"{', '.join(self._encoding.distributions)} within their ranges."
                )
        rows = [p for p in points if p is not None]
        if not rows:
            return torch.zeros(0, self._encoding.box.dimension, dtype=torch.float64)
        return torch.stack(rows)

    def _bounds(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean, lower and upper bound (n,) of what is maximised, at points (n, d) of the model."""
        if not len(points):
            return (torch.zeros(0, dtype=torch.float64),) * 3
        device = self._best.point.device
        with torch.no_grad():
            mean, deviation = self._posterior.mean_and_deviation(points.to(device))
        reach = self._width * deviation
        return mean.cpu(), (mean - reach).cpu(), (mean + reach).cpu()

    def _in_units(
        self, mean: Tensor, lower: Tensor, upper: Tensor
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same in the study's units: what is minimised has been turned over."""
        ends = (lower, upper) if self._sign > 0 else (-upper, -lower)
        return (self._sign * mean).numpy(), ends[0].numpy(), ends[1].numpy()


@dataclass(frozen=True, eq=False)
class _Beside:
    """What stands beside the settings, and what is sought over it."""

    environment: StudyEnvironment
    risk: Risk

    def values(self) -> tuple[Tensor, Tensor]:
        """z (n, dz) and its weights (n,)."""
        return self.environment.distribution.values(
            _VALUES, torch.Generator().manual_seed(0), isinstance(self.risk, WorstCase)
        )

    def under(self, x: Tensor, environments: Sequence[Mapping[str, Any]]) -> Tensor:
        """The points (n, d) of settings (n, dx), each under an environment."""
        if len(environments) != len(x):
            raise InvalidInput(
                f"{len(environments)} environments came with {len(x)} settings, expected as many."
            )
        rows = [self.environment.encode(values) for values in environments]
        return torch.cat([x, torch.stack(rows)], -1) if rows else x


def _crossed(x: Tensor, z: Tensor) -> Tensor:  # (n, dx), (m, dz) -> (n m, d)
    """Every setting under every environment."""
    return torch.cat([x.repeat_interleave(len(z), 0), z.repeat(len(x), 1)], -1)


def _no_environment() -> InvalidInput:
    return InvalidInput(
        "the study has no environment: pass `environment` and `risk` to its sampler."
    )
