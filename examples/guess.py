"""A guess of the best value: the search begins there, and leaves it if it is wrong."""

import random

import optuna

from surefoot import Problem
from surefoot.integrations.optuna import SurefootSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
noise = random.Random(0)


def latency(trial):
    threads, cache = trial.suggest_int("threads", 1, 64), trial.suggest_float("cache", 0, 1)
    spike = 30 if noise.random() < 0.05 else 0
    return 10 + (threads - 12) ** 2 / 40 + 6 * (cache - 0.6) ** 2 + noise.gauss(0, 0.3) + spike


space = {
    "threads": optuna.distributions.IntDistribution(1, 64),
    "cache": optuna.distributions.FloatDistribution(0, 1),
}
sampler = SurefootSampler(Problem(guess={"threads": 8}), seed=0, search_space=space)
study = optuna.create_study(sampler=sampler)
study.optimize(latency, n_trials=20)
best = sampler.belief(study).recommend()
print(best.params, f"latency {best.value:.1f}")
