"""Estimators of the regression coefficients: least squares, robust and truncated ones."""

from surefoot.estimators.adaptive_truncation import AdaptiveTruncation
from surefoot.estimators.estimator import Constants, Estimator
from surefoot.estimators.huber import Huber
from surefoot.estimators.least_squares import LeastSquares
from surefoot.estimators.student_t import StudentT
from surefoot.estimators.truncation import Truncation
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample

__all__ = [
    "AdaptiveTruncation",
    "Constants",
    "Estimate",
    "Estimator",
    "Huber",
    "LeastSquares",
    "Sample",
    "StudentT",
    "Truncation",
]
