"""An older study of a related system: the search for a new one begins with what it says."""

import random

import optuna
from optuna.distributions import FloatDistribution, IntDistribution

from surefoot import Problem
from surefoot.integrations.optuna import SurefootSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
noise = random.Random(0)
space = {"threads": IntDistribution(1, 32), "cache": FloatDistribution(0, 1)}


def latency(trial, best, unit):
    threads, cache = trial.suggest_int("threads", 1, 32), trial.suggest_float("cache", 0, 1)
    value = 10 + (threads - best) ** 2 / 40 + 6 * (cache - 0.7) ** 2 + noise.gauss(0, 0.3)
    return unit * (value + (30 if noise.random() < 0.05 else 0))


old = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
old.optimize(lambda trial: latency(trial, best=12, unit=1), n_trials=30)
new = optuna.create_study(sampler=SurefootSampler(Problem(prior=old), seed=0, search_space=space))
new.optimize(lambda trial: latency(trial, best=13, unit=3), n_trials=10)
best = new.sampler.belief(new).recommend()
print(best.params, f"latency {best.value:.1f} ({best.lower:.1f} to {best.upper:.1f})")
