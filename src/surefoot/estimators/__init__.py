"""How rewards become coefficients: this is where robustness lives."""

from surefoot.estimators.estimator import Estimate, Estimator, Sample
from surefoot.estimators.huber import Huber
from surefoot.estimators.least_squares import LeastSquares
from surefoot.estimators.student_t import StudentT

__all__ = ["Estimate", "Estimator", "Huber", "LeastSquares", "Sample", "StudentT"]
