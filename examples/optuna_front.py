"""A Pareto front that is robust to outliers, of a study that another sampler has run."""

import random

import optuna

from surefoot.integrations.optuna import belief

optuna.logging.set_verbosity(optuna.logging.WARNING)
noise = random.Random(0)


def measure(trial):
    threads, batch = trial.suggest_int("threads", 1, 32), trial.suggest_float("batch", 0, 1)
    latency = 10 + threads / 2 + 10 * batch + noise.gauss(0, 1)
    throughput = 8 * threads + 100 * batch - threads**2 / 8 + noise.gauss(0, 3)
    return latency, throughput + (400 if noise.random() < 0.08 else 0)


study = optuna.create_study(
    directions=["minimize", "maximize"], sampler=optuna.samplers.TPESampler(seed=0)
)
study.set_metric_names(["latency", "throughput"])
study.optimize(measure, n_trials=40)
front = belief(study).front()
for point in (front.knee(), front.prefer({"latency": 20})):
    print(point.params, {name: round(value, 1) for name, value in point.values.items()})
