"""How rewards become coefficients: this is where robustness lives."""

from surefoot.estimators.adaptive_truncation import AdaptiveTruncation
from surefoot.estimators.estimator import Estimate, Estimator, Measured, Sample
from surefoot.estimators.huber import Huber
from surefoot.estimators.least_squares import LeastSquares
from surefoot.estimators.median_of_means import MedianOfMeans
from surefoot.estimators.student_t import StudentT
from surefoot.estimators.truncation import Truncation

__all__ = [
    "AdaptiveTruncation",
    "Estimate",
    "Estimator",
    "Huber",
    "LeastSquares",
    "Measured",
    "MedianOfMeans",
    "Sample",
    "StudentT",
    "Truncation",
]
