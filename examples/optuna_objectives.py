"""A search for the Pareto front of two objectives whose measurements have outliers."""

import random

import optuna

from surefoot.integrations.optuna import SurefootSampler, belief

optuna.logging.set_verbosity(optuna.logging.WARNING)
noise = random.Random(0)


def measure(trial):
    threads, batch = trial.suggest_int("threads", 1, 32), trial.suggest_float("batch", 0, 1)
    latency = 10 + threads / 2 + 10 * batch + noise.gauss(0, 1)
    throughput = 8 * threads + 100 * batch - threads**2 / 8 + noise.gauss(0, 3)
    return latency, throughput + (400 if noise.random() < 0.08 else 0)


study = optuna.create_study(directions=["minimize", "maximize"], sampler=SurefootSampler(seed=0))
study.set_metric_names(["latency", "throughput"])
study.optimize(measure, n_trials=25)
front = belief(study).front()
print(front)
