"""The lower bound of Chowdhury and Gopalan 2019, and algorithms on the functions that it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from pandas import DataFrame

from surefoot import LeverageSampling, Method, Nystrom, Optimizer, widths
from surefoot.algorithms import gp_ucb, robust_ucb
from surefoot.estimators import AdaptiveTruncation, Truncation
from surefoot_experiments.baselines import as_published
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import band, colours_of, legend, new_figure
from surefoot_experiments.harness.page import FigureOutput, Measure
from surefoot_experiments.harness.trial import NUMBERS, Check, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.papers.arm_runs import Build, regrets
from surefoot_experiments.problems import ArmProblem, HardFamily, hard_family

ALPHAS = (0.25, 0.5, 1.0)
RANDOM = "uniformly random arms"
_SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # of the rounds: horizons, each with its own family
_TOTAL = Measure("regret", "regret $R_T$", logarithmic=True)
_ERRORS = 3.0  # standard errors that a mean may be below a bound by chance
_SLOPE = 0.1


def _tgp(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    width = as_published.Truncated(problem.moment, problem.largest)
    method = Method(problem.kernel, estimator=Truncation(problem.moment), width=width)
    return Optimizer(problem.space, method, seed=seed)


def _ata(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    width = as_published.Adaptive(problem.moment, problem.largest, rounds)
    method = Method(
        problem.kernel,
        features=Nystrom(LeverageSampling(4.0, "adaptive", feedback="immediate")),
        estimator=AdaptiveTruncation(problem.moment, rounds, unions=4),
        width=width,
    )
    return Optimizer(problem.space, method, seed=seed)


def _robust(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    return robust_ucb(problem.space, problem.kernel, seed=seed)


def _plain(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    width = widths.srinivas(scale=0.5)
    return gp_ucb(problem.space, problem.kernel, width=width, seed=seed)


METHODS: Mapping[str, Build] = {
    "TGP-UCB": _tgp,
    "ATA-GP-UCB-Nyström": _ata,
    "robust_ucb": _robust,
    "GP-UCB": _plain,
}


@cache
def family(horizon: int, alpha: float) -> HardFamily:
    """The family of a horizon, for v = B = 1 and a squared exponential kernel."""
    return hard_family(horizon, alpha=alpha)


def horizons(rounds: int) -> list[int]:
    """The horizons up to a number of rounds."""
    return sorted({max(round(share * rounds), 1) for share in _SHARES})


def rate(horizon: int, alpha: float) -> float:
    """ln(T)^(alpha / (2 (1 + alpha))) T^(1 / (1 + alpha)), for d = v = B = 1."""
    logarithm = np.log(max(horizon, 2)) ** (alpha / (2.0 * (1.0 + alpha)))
    return float(logarithm * horizon ** (1.0 / (1.0 + alpha)))


def run(trial: Trial) -> Rows:
    """Every algorithm for every horizon on a random function of its family: R_T."""
    numbers: list[dict[str, Any]] = []
    bounds: list[dict[str, Any]] = []
    for alpha in ALPHAS:
        task = f"α = {alpha:g}"
        for horizon in horizons(trial.rounds):
            hard = family(horizon, alpha)
            index = int(trial.generator(Purpose.PROBLEM).random() * len(hard))
            problem = hard.problem(index)
            own = replace(trial, rounds=horizon)
            common = {"task": task, "round": horizon}
            for name, build in METHODS.items():
                optimizer = build(problem, horizon, trial.integer(Purpose.METHOD))
                mean = regrets(optimizer, problem, own)[-1]["regret"]
                numbers.append({**common, "algorithm": name, "regret": mean * horizon})
            bounds.append(
                {
                    **common,
                    "alpha": alpha,
                    "functions": len(hard),
                    "gap": hard.gap,
                    "bound": hard.lower_bound,
                    "rate": rate(horizon, alpha),
                    RANDOM: float(problem.regrets.mean()) * horizon,
                }
            )
    return {NUMBERS: numbers, "bounds": bounds}


def checks(tables: Tables) -> list[Check]:
    """Regret is above the bound, and grows as the bound and the theorem's rate do."""
    found = []
    for task, means in _by_task(tables).items():
        names, lines = list(METHODS), means.lines
        below = (means.mean - lines["bound"].to_numpy()[:, None]) / means.error
        ratios = means.mean.div(lines["bound"], axis=0)
        found.append(
            Check(
                f"{task}: no algorithm has less regret than the lower bound, at any horizon",
                bool((below > -_ERRORS).all(axis=None)),
                "least R_T over the bound: " + _listed(ratios.min(), names),
            )
        )
        slopes = {name: _slope(means.mean.index, means.mean[name]) for name in names}
        expected = _slope(lines.index, lines["rate"])
        found.append(
            Check(
                f"{task}: regret grows as the theorem's rate, with an exponent within {_SLOPE}",
                bool(all(abs(slope - expected) <= _SLOPE for slope in slopes.values())),
                f"exponent {expected:.3f} of the rate, {_slope(lines.index, lines['bound']):.3f} "
                "of the bound; " + ", ".join(f"{name} {slopes[name]:.3f}" for name in names),
            )
        )
        shares = means.mean.div(lines[RANDOM], axis=0)
        found.append(
            Check(
                f"{task}: every algorithm ends with at least half the regret of {RANDOM}",
                bool((shares.iloc[-1] >= 0.5).all()),
                "share of it at the largest horizon: " + _listed(shares.iloc[-1], names),
            )
        )
    return found


def draw(tables: Tables, measure: Measure) -> Figure:
    """Regret against the horizon with the bound and the rate, on logarithmic axes."""
    tasks = _by_task(tables)
    figure, axes = new_figure(len(tasks))
    for axis, (task, means) in zip(axes, tasks.items(), strict=True):
        for name, colour in colours_of(METHODS).items():
            one = means.numbers[means.numbers["algorithm"] == name]
            pivot = one.pivot(index="round", columns="trial", values=measure.column)
            band(axis, pivot, name, measure, colour)
        lines = means.lines
        axis.plot(lines.index, lines["bound"], color="black", label="lower bound, this family")
        scaled = lines["rate"] * lines["bound"].iloc[-1] / lines["rate"].iloc[-1]
        axis.plot(lines.index, scaled, "k:", linewidth=1, label="rate of Theorem 2")
        axis.plot(lines.index, lines[RANDOM], "k--", linewidth=1, label=RANDOM)
        axis.set(title=task, xlabel="horizon $T$", xscale="log", yscale="log")
        axis.set_xticks(lines.index, [f"{horizon:,}" for horizon in lines.index])
        axis.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel(measure.label)
    legend(figure, axes[0])
    return figure


class _Means:
    """Means and standard errors (horizons x algorithms) of one task, and its lines."""

    def __init__(self, numbers: DataFrame, bounds: DataFrame) -> None:
        self.numbers = numbers
        grouped = numbers.groupby(["round", "algorithm"], sort=False)["regret"]
        self.mean = grouped.mean().unstack().sort_index()
        error = grouped.sem().unstack().sort_index().fillna(np.inf)
        self.error = error.clip(lower=1e-9 * self.mean)
        self.lines = bounds.groupby("round")[["bound", "rate", RANDOM]].mean()


def _by_task(tables: Tables) -> dict[str, _Means]:
    numbers, bounds = tables[NUMBERS], tables["bounds"]
    return {
        task: _Means(numbers[numbers["task"] == task], bounds[bounds["task"] == task])
        for task in numbers["task"].unique()
    }


def _slope(horizons: Sequence[int], values: Sequence[float]) -> float:
    """Exponent of a power fitted to the values; NaN for a single one."""
    if len(horizons) < 2:
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(horizons)), np.log(np.asarray(values)), 1)[0])


def _listed(values: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {values[name]:.3g}" for name in names)


EXPERIMENTS = [
    Experiment(
        name="own-lower-bound",
        paper="Chowdhury and Gopalan 2019, Bayesian Optimization under Heavy-tailed Payoffs",
        figure="Theorem 2",
        title="The lower bound, and algorithms on its hard instances",
        published=Scale(6, 3_000),
        quick=Scale(2, 400),
        run=run,
        says=(
            "For every algorithm there is a function of norm at most B, and rewards with a "
            "(1 + α)-th moment of at most v, on which its regret in T rounds is of order "
            "v^(1/(1+α)) (ln(v^(−1/α) B^((1+α)/α) T))^(dα/(2(1+α))) T^(1/(1+α)) for the squared "
            "exponential kernel. The paper has no experiment on it, and no constants."
        ),
        setting=(
            "The family of the theorem's proof for each horizon T: M bumps of height 2Δ side by "
            "side on about 100 arms of [0, 1], as narrow as ‖f‖ ≤ B allows, of which each trial "
            "draws one; rewards are ±(v/2Δ)^(1/α) with a chance that makes f their mean, and 0 "
            "otherwise. B = v = 1, lengthscale 0.1. Δ and M make the lower bound "
            "ΔT(exp(−TS/M) − 1/M) largest, which holds for any algorithm in the mean over the M "
            "functions, with S the largest sum over the functions of −ln(1 − chance) at an arm "
            "(`HardFamily.lower_bound`). Widths of TGP-UCB and ATA-GP-UCB (Nyström, oversampling "
            "4) are those of the authors' code; GP-UCB has that of `robust_ucb`. Since Δ falls "
            "with T, an algorithm that learns nothing has regret of the same rate, which is the "
            "dashed line."
        ),
        output=FigureOutput(checks, draw, _TOTAL),
    )
]
