"""Hyperparameters from observations: kernel, noise and tail; empirical-Bayes prior mean and scale.

`HyperparameterFit.fit(data)` is a pure function that returns `Fitted`.
"""

from surefoot.hyperparameters.given import GivenHyperparameters
from surefoot.hyperparameters.laplace import Correction, Uncertainty
from surefoot.hyperparameters.nuisance_effects import Contrast
from surefoot.hyperparameters.student_t_fit import GAUSSIAN, Fitted, HyperparameterFit
from surefoot.hyperparameters.training_data import TrainingData

__all__ = [
    "GAUSSIAN",
    "Contrast",
    "Correction",
    "Fitted",
    "GivenHyperparameters",
    "HyperparameterFit",
    "TrainingData",
    "Uncertainty",
]
