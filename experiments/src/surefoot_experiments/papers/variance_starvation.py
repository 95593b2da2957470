"""Figure 1 of Calandriello et al. 2019 (BKB): variance starvation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import Series
from torch import Tensor

from surefoot import Arms, Optimizer, kernels
from surefoot.algorithms import bkb, gp_ucb
from surefoot_experiments.harness.departures import NOT_STATED, departures, setting, stated
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import new_figure, panel
from surefoot_experiments.harness.page import FigureOutput, Measure
from surefoot_experiments.harness.trial import NUMBERS, Check, Purpose, Rows, Scale, Tables, Trial

PAPER_NAME = "Calandriello et al. 2019, Gaussian Process Optimization with Adaptive Sketching"
REGRESSORS, SKETCH, EXACT = "subset of regressors", "BKB", "exact Gaussian process"
EVALUATIONS = (6, 63, 215)
_FAR = 0.75  # five lengthscales and more from the half that is measured


@dataclass(frozen=True)
class Starvation:
    """A function drawn from a Gaussian process, measured on a part of [0, 1]."""

    decay: float = setting("c of the kernel exp(−c (x − x')²)", default=100.0)
    noise: float = setting("standard deviation of the noise", default=0.1)
    ridge: float = setting("ridge λ", default=0.01)
    oversampling: float = setting("oversampling q", default=4.0)
    points: int = setting("points of [0, 1]", default=401)
    measured: float = setting("measurements are uniform in [0, c], c", default=0.5)
    deviations: float = setting("deviations in an interval", default=3.0)

    @property
    def lengthscale(self) -> float:
        """That of the squared exponential kernel."""
        return float((2.0 * self.decay) ** -0.5)


HERE = Starvation()
PUBLISHED = replace(
    HERE,
    decay=stated("“bandwidth” 100"),
    noise=NOT_STATED,
    ridge=NOT_STATED,
    oversampling=NOT_STATED,
    points=NOT_STATED,
)


def run(trial: Trial) -> Rows:
    """Bounds of the three on [0, 1] after 6, 63, 215 measurements on [0, 1/2]."""
    points = torch.linspace(0, 1, HERE.points, dtype=torch.float64).unsqueeze(-1)
    drawn = _sample(points, trial.generator(Purpose.PROBLEM))
    world = trial.generator(Purpose.NOISE)
    arms = world.integers(int(HERE.measured * HERE.points), size=trial.rounds)
    rewards = drawn[arms] + HERE.noise * world.standard_normal(trial.rounds)
    numbers: list[dict[str, Any]] = []
    bounds: list[dict[str, Any]] = []
    for rounds in sorted({*(n for n in EVALUATIONS if n < trial.rounds), trial.rounds}):
        seed = trial.integer(Purpose.METHOD)
        for name, mean, deviation in _bounds(points, arms[:rounds], rewards[:rounds], seed):
            outside = np.abs(drawn - mean) > HERE.deviations * deviation
            numbers.append({"algorithm": name, "round": rounds, "outside": float(outside.mean())})
            far = points[:, 0].numpy() > _FAR
            numbers[-1]["far"] = float(deviation[far].mean())
            if trial.number == 0:
                bounds += [
                    {"algorithm": name, "round": rounds, "x": x, "truth": f, "mean": m, "sd": s}
                    for x, f, m, s in zip(
                        points[:, 0].tolist(), drawn, mean, deviation, strict=True
                    )
                ]
    return {NUMBERS: numbers, "bounds": bounds} if bounds else {NUMBERS: numbers}


def _sample(points: Tensor, generator: np.random.Generator) -> np.ndarray:
    """A function drawn from the prior."""
    distances = (points - points.T).square().numpy()
    gram = np.exp(-0.5 * distances / HERE.lengthscale**2)
    root = np.linalg.cholesky(gram + 1e-8 * np.eye(len(gram)))
    return np.asarray(root @ generator.standard_normal(len(gram)))


def _bounds(
    points: Tensor, arms: np.ndarray, rewards: np.ndarray, seed: int
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Mean and deviation of each approximation, on one dictionary, and of the exact process."""
    space, kernel = Arms(points), kernels.squared_exponential(HERE.lengthscale)
    ridge = HERE.ridge
    sketch = bkb(
        space, kernel, noise=HERE.noise, oversampling=HERE.oversampling, ridge=ridge, seed=seed
    )
    exact = gp_ucb(space, kernel, ridge=ridge, seed=seed)
    for optimizer in (sketch, exact):
        optimizer.tell_all(arms.tolist(), rewards.tolist())
    posterior = sketch.belief().posterior
    starved = ridge * posterior.factor.leverage(posterior.embedding(points))
    mean = _mean(sketch, points)
    return [
        (REGRESSORS, mean, starved.sqrt().numpy()),
        (SKETCH, mean, posterior.variance(points).sqrt().numpy()),
        (EXACT, _mean(exact, points), exact.belief().posterior.variance(points).sqrt().numpy()),
    ]


def _mean(optimizer: Optimizer, points: Tensor) -> np.ndarray:
    return np.asarray(optimizer.belief().posterior.mean(points).numpy())


def checks(tables: Tables) -> list[Check]:
    """What the figure shows, in numbers."""
    numbers = tables[NUMBERS]
    last = numbers[numbers["round"] == numbers["round"].max()]
    means = last.groupby("algorithm")[["far", "outside"]].mean()
    outside = means["outside"]
    share = ", ".join(f"{name} {value:.1%}" for name, value in outside.items())
    return [
        Check(
            f"beyond {_FAR}, without data, the subset of regressors has less than half the exact "
            "deviation",
            bool(means["far"][REGRESSORS] < 0.5 * means["far"][EXACT]),
            _deviations(means["far"], REGRESSORS),
        ),
        Check(
            f"beyond {_FAR}, the deviation of BKB is within 10 % of the exact one",
            bool(abs(means["far"][SKETCH] / means["far"][EXACT] - 1.0) < 0.1),
            _deviations(means["far"], SKETCH),
        ),
        Check(
            "f lies outside mean ± 3 deviations at over 10 % of the points for the subset of "
            "regressors and at under 2 % for BKB",
            bool(outside[REGRESSORS] > 0.1 and outside[SKETCH] < 0.02),
            f"share of points outside: {share}",
        ),
    ]


def draw(tables: Tables, measure: Measure) -> Figure:
    """The first trial: a row for each approximation, a column for each number of measurements."""
    bounds = tables["bounds"]
    counts, names = sorted(bounds["round"].unique()), (REGRESSORS, SKETCH, EXACT)
    figure, axes = new_figure(len(counts), rows=len(names), share=True)
    for row, name in enumerate(names):
        for column, count in enumerate(counts):
            axis = axes[row * len(counts) + column]
            one = bounds[(bounds["algorithm"] == name) & (bounds["round"] == count)]
            colour = panel(axis, name, f"{count} measurements" if row == 0 else "")
            low, high = (one["mean"] + sign * HERE.deviations * one["sd"] for sign in (-1, 1))
            axis.fill_between(one["x"], low, high, color=colour, alpha=0.25, linewidth=0)
            axis.plot(one["x"], one["mean"], color=colour)
            axis.plot(one["x"], one["truth"], color="black", linestyle="--", linewidth=1)
            axis.set(xlim=(0, 1), ylim=(-4.5, 4.5), ylabel=name if column == 0 else "")
    return figure


def _deviations(far: Series, name: str) -> str:
    return f"mean posterior standard deviation {far[name]:.3g} (exact: {far[EXACT]:.3g})"


EXPERIMENTS = [
    Experiment(
        name="bkb-1",
        paper=PAPER_NAME,
        figure="Figure 1",
        title="Variance starvation",
        published=Scale(20, EVALUATIONS[-1]),
        quick=Scale(5, EVALUATIONS[-1]),
        run=run,
        says=(
            "A function drawn from a Gaussian process, measured on a part of its domain only "
            "(a benchmark of Wang et al. 2018), after 6, 63 and 215 measurements. Approximations "
            "whose rank is too low, or whose dictionary is far away, become overconfident; BKB's "
            "variance is that of the exact process up to a constant factor."
        ),
        setting=(
            "The subset of regressors has BKB's dictionary, "
            "and only what that explains as variance. `round` counts measurements; the column "
            "`outside` is the share of 401 points of [0, 1] at which f lies outside the mean ± 3 "
            "deviations, `far` the mean posterior standard deviation at those beyond 0.75. "
            "The picture is the first trial."
        ),
        output=FigureOutput(
            checks, draw, Measure("outside", "share of points outside mean ± 3 deviations")
        ),
        departures=departures(PUBLISHED, {"problem": HERE}),
    )
]
