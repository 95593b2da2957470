"""Hyperparameters from observations: kernel, noise and tail; empirical-Bayes prior mean and scale.

`HyperparameterFit.fit(data)` is a pure function that returns `Fitted`.
"""

from surefoot.hyperparameters.ascent import GAUSSIAN
from surefoot.hyperparameters.fitted import Fitted
from surefoot.hyperparameters.given import GivenHyperparameters
from surefoot.hyperparameters.student_t_fit import HyperparameterFit
from surefoot.hyperparameters.training_data import TrainingData
from surefoot.regression.cross_validation import CrossValidation
from surefoot.regression.noise import Contrast
from surefoot.regression.uncertainty import CERTAIN_HYPERPARAMETERS, Uncertainty

__all__ = [
    "CERTAIN_HYPERPARAMETERS",
    "GAUSSIAN",
    "Contrast",
    "CrossValidation",
    "Fitted",
    "GivenHyperparameters",
    "HyperparameterFit",
    "TrainingData",
    "Uncertainty",
]
