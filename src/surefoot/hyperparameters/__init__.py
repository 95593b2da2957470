"""Hyperparameters from data: kernel, noise and tail; empirical-Bayes prior mean and scale."""

from surefoot.hyperparameters.student_t_fit import GAUSSIAN, Learner, Learnt

__all__ = ["GAUSSIAN", "Learner", "Learnt"]
