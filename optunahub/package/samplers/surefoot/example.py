"""A noisy objective with outliers."""

import random

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """A parabola, of which one measurement in ten is an outlier."""
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    outlier = 100.0 if random.random() < 0.1 else 0.0
    return (x - 1.0) ** 2 + (y + 2.0) ** 2 + random.gauss(0.0, 0.1) + outlier


if __name__ == "__main__":
    sampler = optunahub.load_module(package="samplers/surefoot").SurefootSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    print(sampler.belief(study).recommend().params)
