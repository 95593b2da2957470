"""How often intervals of the location, the median and the mean contain median and mean."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import surefoot as sf
from surefoot_experiments.benchmarks.recommendation_coverage import drawn_function
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

ROUNDS = (20, 60)
ESTIMANDS: tuple[sf.acquisition.Estimand, ...] = ("location", "median", "mean")
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Coverage of the estimands under skewed noise

`robust_ucb(Box(...))` on functions drawn from a Gaussian process in two dimensions (as for the
[coverage of recommendations](recommendation_coverage.md)), {trials} functions for each noise, after
20 and 60 measurements. All noise but the first is skewed to the bad side: exponential, Pareto with
finite (2.5) and with infinite (1.5) variance, and Gaussian noise with a spike of -5 in one
measurement of ten; each with a scale of 0.3 (spikes: 0.1). Log-normal noise of 40 % is a factor of
-exp(2 - f).

For each estimand: the share of 95 % intervals of `recommend(estimand=...)` that contain **median**
and **mean** of measurements of the recommended point, the median error of its value against each,
and the median **length**. A proportion near 95 % of {trials} has a standard error of {error:.1f} %.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


@dataclass(frozen=True)
class Skewed:
    """Rewards of a function value, with their median and mean.

    Args:
        reward: A reward of a function value.
        median: The median of the rewards of a function value.
        mean: Their mean.
    """

    reward: Callable[[np.random.Generator, float], float]
    median: Callable[[float], float]
    mean: Callable[[float], float]


def shifted(draw: Callable[[np.random.Generator], float], median: float, mean: float) -> Skewed:
    """Noise that is subtracted, with its median and mean."""
    return Skewed(lambda g, f: f - draw(g), lambda f: f - median, lambda f: f - mean)


def pareto(shape: float, scale: float = 0.3) -> Skewed:
    """Pareto (Lomax) noise from 0 on."""
    median, mean = scale * (2.0 ** (1.0 / shape) - 1.0), scale / (shape - 1.0)
    return shifted(lambda g: float(scale * g.pareto(shape)), median, mean)


SPIKES = 0.1 * 0.13971  # standard normal quantile of 0.5 / 0.9, of which a tenth lies below
NOISES: dict[str, Skewed] = {
    "gaussian": shifted(lambda g: 0.3 * g.standard_normal(), 0.0, 0.0),
    "exponential": shifted(lambda g: 0.3 * g.exponential(), 0.3 * math.log(2.0), 0.3),
    "pareto-2.5": pareto(2.5),
    "pareto-1.5": pareto(1.5),
    "spikes": shifted(lambda g: 0.1 * g.standard_normal() + 5.0 * (g.random() < 0.1), SPIKES, 0.5),
    "log-normal": Skewed(
        lambda g, f: -math.exp(2.0 - f + 0.4 * g.standard_normal()),
        lambda f: -math.exp(2.0 - f),
        lambda f: -math.exp(2.0 - f + 0.08),
    ),
}


def run(trial: Trial) -> Rows:
    """One run: whether each estimand's interval contains median and mean, at some rounds."""
    noise, generator = NOISES[trial.case], np.random.default_rng([trial.index, 2])
    function = drawn_function(2, generator)
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=trial.index)
    rows = []
    for round_ in range(1, trial.rounds + 1):
        query = optimizer.ask()
        optimizer.tell(query, noise.reward(generator, float(function(query.point[None]))))
        if round_ not in ROUNDS:
            continue
        for estimand in ESTIMANDS:
            best = optimizer.recommend(estimand=estimand)
            value = float(function(best.point[None]))
            median, mean = noise.median(value), noise.mean(value)
            rows.append(
                {
                    "noise": trial.case,
                    "round": round_,
                    "estimand": estimand,
                    "median": best.lower <= median <= best.upper,
                    "mean": best.lower <= mean <= best.upper,
                    "off_median": best.value - median,
                    "off_mean": best.value - mean,
                    "length": best.upper - best.lower,
                }
            )
    return {"runs": rows}


def report(tables: Tables) -> str:
    """Coverage of median and mean by each estimand, by noise."""
    rows = tables["runs"]
    trials = rows["trial"].nunique()
    introduction = INTRODUCTION.format(
        trials=trials, error=100.0 * (0.95 * 0.05 / trials) ** 0.5, **ran_on(PACKAGES)
    )
    parts = [
        f"After {round_} measurements:\n\n{markdown(_summary(rows[rows['round'] == round_]))}"
        for round_ in sorted(rows["round"].unique())
    ]
    return "\n\n".join([introduction, *parts])


def _summary(rows: pd.DataFrame) -> pd.DataFrame:
    groups = rows.groupby(["noise", "estimand"], sort=False)
    percent, signed = "{:.0%}".format, "{:+.2f}".format
    found = pd.DataFrame(
        {
            "median": groups["median"].mean().map(percent),
            "mean": groups["mean"].mean().map(percent),
            "value - median": groups["off_median"].median().map(signed),
            "value - mean": groups["off_mean"].median().map(signed),
            "length": groups["length"].median().map("{:.2f}".format),
        }
    )
    found.index = pd.Index([f"{noise}, {estimand}" for noise, estimand in found.index], name="of")
    return found


EXPERIMENTS = [
    benchmark(
        "estimands",
        "Coverage of the estimands under skewed noise",
        published=Scale(30, 60),
        quick=Scale(1, 20),
        run=run,
        output=TableOutput(report),
        cases=[Case(noise) for noise in NOISES],
    )
]
