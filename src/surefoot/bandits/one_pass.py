"""Estimates that take in each reward once, at a cost that does not grow with their number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dtrtrs

from surefoot._internal import checks
from surefoot._internal.linalg import Floats
from surefoot._internal.numbers import MAD_TO_SD
from surefoot.bandits.running_ridge import RunningRidge
from surefoot.estimators import AdaptiveTruncation, Huber, LeastSquares, Truncation
from surefoot.types import InvalidInput

_RESIDUALS = 512  # latest ones, of which the scale is found
_EVERY = 16  # rewards between these, and between searches for rewards that need not be kept


class Sums:
    """Least squares of the rewards, each as a rule changes it when it comes.

    Args:
        dimension: Number m of features.
        limit: The size beyond which the reward of round t counts as 0.
    """

    def __init__(self, dimension: int, limit: Callable[[int], float]) -> None:
        self.threshold = math.inf
        self._limit = limit
        self._moments = np.zeros(dimension)

    def take(self, feature: Floats, reward: float, geometry: RunningRidge) -> None:
        """Take in a reward at a row (m,) that the geometry has taken in."""
        self.threshold = self._limit(geometry.number)
        if abs(reward) <= self.threshold:
            self._moments += reward * feature

    def coefficients(self, geometry: RunningRidge) -> Floats:
        """theta (m,)."""
        return geometry.solve(self._moments)


class AdaptivelyTruncated:
    """The estimate of `AdaptiveTruncation`, from the rewards that a threshold may still cut.

    While the features last, leverages fall, and with a horizon the threshold does not: a reward
    with |y| h <= b once has no truncated term ever after, and need not be kept.

    Args:
        dimension: Number m of features.
        rule: The estimator.
    """

    def __init__(self, dimension: int, rule: AdaptiveTruncation) -> None:
        self.threshold = math.inf
        self._rule = rule
        self._moments = np.zeros(dimension)
        self._features = np.zeros((0, dimension))
        self._rewards = np.zeros(0)
        self._due = 0  # number of rewards at which to search for those that need not be kept

    def take(self, feature: Floats, reward: float, geometry: RunningRidge) -> None:
        self.threshold = self._rule.threshold(geometry.number, geometry.dimension)
        self._moments += reward * feature
        if abs(reward) * math.sqrt(max(1.0 - geometry.left, 0.0)) > self.threshold:
            self._features = np.vstack([self._features, feature])
            self._rewards = np.append(self._rewards, reward)

    def coefficients(self, geometry: RunningRidge) -> Floats:
        theta = geometry.solve(self._moments)
        if not len(self._rewards):
            return theta
        root, _ = dpotrf(geometry.gram, lower=1)
        terms = dtrsm(1.0, root, self._features.T, lower=1) * self._rewards  # (m, k)
        cut = np.abs(terms) > self.threshold
        back, _ = dtrtrs(root, np.add.reduce(terms * cut, 1), lower=1, trans=1)
        if geometry.number >= self._due:
            self._due = geometry.number + _EVERY
            live = np.einsum("mk,mk->k", terms, terms) > self.threshold**2
            self._features, self._rewards = self._features[live], self._rewards[live]
        return theta - back


class Clipped:
    """Huber's estimate with one pass: residuals are clipped about the fit when they come.

    The scale is 1.4826 times the median of the latest absolute residuals, each divided by the
    standard deviation that its own prediction adds to it.

    Args:
        dimension: Number m of features.
        rule: The estimator, of which k is used.

    References:
        Wang, Zhang, Zhao and Zhou 2025, "Heavy-tailed linear bandits: Huber regression with
        one-pass update".
    """

    def __init__(self, dimension: int, rule: Huber) -> None:
        self.threshold = math.inf
        self._k = rule.k
        self._moments = np.zeros(dimension)
        self._sizes = np.zeros(_RESIDUALS)
        self._number = 0

    def take(self, feature: Floats, reward: float, geometry: RunningRidge) -> None:
        left = geometry.left
        before = float(self._moments @ geometry.solve(feature)) / left  # V holds this row already
        residual = reward - before
        self._sizes[self._number % _RESIDUALS] = abs(residual) * math.sqrt(left)
        self._number += 1
        if self._number <= _EVERY or self._number % _EVERY == 0:
            known = self._sizes[: min(self._number, _RESIDUALS)]
            self.threshold = self._k * MAD_TO_SD * float(np.median(known))
        reach = self.threshold / math.sqrt(left)
        self._moments += (before + min(max(residual, -reach), reach)) * feature

    def coefficients(self, geometry: RunningRidge) -> Floats:
        return geometry.solve(self._moments)


OnePass = Sums | AdaptivelyTruncated | Clipped
"""Estimate of the coefficients, kept up to date reward by reward."""


def _unlimited(round_: int) -> float:
    return math.inf


def one_pass(estimator: Any, dimension: int) -> OnePass:
    """The one-pass form of an estimator.

    Raises:
        InvalidInput: If it has none, or needs a horizon that is not given.
    """
    match estimator:
        case LeastSquares():
            return Sums(dimension, _unlimited)
        case Truncation():
            return Sums(dimension, estimator.threshold)
        case AdaptiveTruncation():
            if estimator.horizon is None:
                raise InvalidInput(
                    "`estimator` is an `AdaptiveTruncation` without a horizon, whose threshold "
                    "falls for all rewards when it is doubled: pass `horizon=`."
                )
            return AdaptivelyTruncated(dimension, estimator)
        case Huber():
            return Clipped(dimension, estimator)
    raise InvalidInput(
        f"`estimator` is {checks.shown(estimator)}, expected `LeastSquares()`, `Huber()`, "
        "`Truncation(...)` or `AdaptiveTruncation(..., horizon=...)`."
    )
