"""Figure 1f of Chowdhury and Gopalan 2019: one corrupted arm, with and without truncation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from matplotlib.figure import Figure
from pandas import DataFrame

from surefoot import Method, Moment, Optimizer
from surefoot.estimators import Estimator, LeastSquares, Truncation
from surefoot.widths import Progress
from surefoot_experiments.harness.departures import NOT_STATED, departures, setting
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import legend, new_figure, panel
from surefoot_experiments.harness.page import FigureOutput, Measure
from surefoot_experiments.harness.trial import Check, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.papers.arm_methods import GP
from surefoot_experiments.papers.arm_runs import regrets
from surefoot_experiments.papers.arm_worlds import Synthetic
from surefoot_experiments.papers.heavy_tails import PAPER_NAME
from surefoot_experiments.problems import ArmProblem, CorruptedArm

TRUNCATED = "GP-UCB, truncated"
_OFF = 0.1  # of a function with values in [0, 1]: beyond this a mean is off


@dataclass(frozen=True)
class Logarithm:
    """beta_t = ln t, the width of this figure."""

    def __call__(self, progress: Progress) -> float:
        return math.log(progress.round + 1)


@dataclass(frozen=True)
class Corruption:
    """Noise on one arm, and the algorithms that meet it."""

    size: float = setting("noise ±", default=10.0)
    function: Literal["the same in all trials", "drawn in each trial"] = setting(
        "f", default="the same in all trials"
    )
    arm: Literal["drawn in each trial", "the same in all trials"] = setting(
        "corrupted arm", default="drawn in each trial"
    )
    ridge: float = setting("ridge λ", default=1.0)

    def problem(self, trial: Trial, world: Synthetic) -> tuple[ArmProblem, int]:
        """The problem of a trial, and which arm is corrupted."""
        sources = {
            "the same in all trials": trial.shared_generator,
            "drawn in each trial": trial.generator,
        }
        function = world.function(sources[self.function](Purpose.PROBLEM))
        arm = int(sources[self.arm](Purpose.PROBLEM).integers(len(function.values)))
        return ArmProblem("corrupted", function, CorruptedArm(arm, self.size), 1.0), arm


WORLD = Synthetic(least=0.0, rewards="±10 on one arm")
CORRUPTION = Corruption()
_STATED_WORLD = replace(
    WORLD,
    kernel=NOT_STATED,
    lengthscale=NOT_STATED,
    supports=NOT_STATED,
    least=NOT_STATED,
)
_STATED = replace(CORRUPTION, function=NOT_STATED, arm=NOT_STATED)


def run(trial: Trial) -> Rows:
    """Regrets, and mean and deviation at every arm after the last round."""
    problem, corrupted = CORRUPTION.problem(trial, WORLD)
    estimators: dict[str, Estimator] = {
        GP: LeastSquares(),
        TRUNCATED: Truncation(Moment(1.0, 1.0)),  # b_t = t^(1/4)
    }
    numbers, bounds = [], []
    for name, estimator in estimators.items():
        optimizer = Optimizer(
            problem.space,
            Method(problem.kernel, estimator=estimator, width=Logarithm(), ridge=CORRUPTION.ridge),
            seed=trial.integer(Purpose.METHOD),
        )
        kept = regrets(optimizer, problem, trial)
        numbers += [{"algorithm": name, **row} for row in kept]
        points = problem.space.points
        mean = optimizer.belief().posterior.mean(points).tolist()
        deviation = optimizer.belief().posterior.variance(points).sqrt().tolist()
        bounds += [
            {
                "algorithm": name,
                "arm": arm,
                "corrupted": arm == corrupted,
                "x": float(points[arm, 0]),
                "truth": float(problem.values[arm]),
                "mean": mean[arm],
                "deviation": deviation[arm],
                "width": optimizer.width,
            }
            for arm in range(len(points))
        ]
    return {
        "numbers": numbers,
        "bounds": bounds,
        "problems": [{"random": float(problem.regrets.mean())}],
    }


def checks(tables: Tables) -> list[Check]:
    """What the paper says of the figure."""
    bounds = tables["bounds"]
    error = (bounds["mean"] - bounds["truth"]).abs()
    largest = error.groupby([bounds["algorithm"], bounds["trial"]]).max()
    held = error <= bounds["width"] * bounds["deviation"]
    averaged = _averaged(bounds)
    plain, cut = averaged.loc[GP], averaged.loc[TRUNCATED]
    holds = (cut["mean"] - cut["truth"]).abs() <= cut["reach"]
    share = held.groupby(bounds["algorithm"]).mean()
    trials = held.groupby([bounds["algorithm"], bounds["trial"]]).all()
    return [
        Check(
            f"GP-UCB's mean is off: by more than {_OFF} at some arm, in the mean over trials",
            bool(largest[GP].mean() > _OFF),
            f"largest error {largest[GP].mean():.3g} in the mean over trials, between "
            f"{largest[GP].min():.3g} and {largest[GP].max():.3g}; of the averaged mean "
            f"{(plain['mean'] - plain['truth']).abs().max():.3g}",
        ),
        Check(
            "f lies outside GP-UCB's interval μ ± ln(t) σ at some arm in some trial",
            not bool(trials[GP].all()),
            f"in {int((~trials[GP]).sum())} of {len(trials[GP])} trials",
        ),
        Check(
            "the truncated mean is closer",
            bool(largest[TRUNCATED].mean() < largest[GP].mean()),
            f"largest error {largest[TRUNCATED].mean():.3g} in the mean over trials, against "
            f"{largest[GP].mean():.3g}",
        ),
        Check(
            "the truncated interval μ ± ln(t) σ, averaged over trials, holds f at every arm",
            bool(holds.all()),
            f"at {int(holds.sum())} of {len(holds)} arms",
        ),
        Check(
            "and so it does in every single trial",
            bool(trials[TRUNCATED].all()),
            f"in {int(trials[TRUNCATED].sum())} of {len(trials[TRUNCATED])} trials, at "
            f"{share[TRUNCATED]:.2%} of arms; without truncation in {int(trials[GP].sum())}, at "
            f"{share[GP]:.2%}",
        ),
    ]


def draw(tables: Tables, measure: Measure) -> Figure:
    """The averaged mean and interval of both, and what single trials believe."""
    bounds = tables["bounds"]
    figure, axes = new_figure(2, share=True)
    for axis, name in zip(axes, (GP, TRUNCATED), strict=True):
        one = _averaged(bounds).loc[name]
        colour = panel(axis, name)
        low, high = one["mean"] - one["reach"], one["mean"] + one["reach"]
        axis.fill_between(one["x"], low, high, color=colour, alpha=0.25, linewidth=0)
        for _, each in bounds[bounds["algorithm"] == name].groupby("trial"):
            axis.plot(each["x"], each["mean"], color=colour, linewidth=0.4, alpha=0.5)
        axis.plot(one["x"], one["mean"], color=colour, label="mean, and ± ln(t) deviations")
        axis.plot(one["x"], one["truth"], color="black", linestyle="--", linewidth=1, label="f")
        axis.set_xlabel("arm")
    legend(figure, axes[0])
    return figure


def _averaged(bounds: DataFrame) -> DataFrame:
    """Means over trials by algorithm and arm; `reach` is the half width of the interval."""
    with_reach = bounds.assign(reach=bounds["width"] * bounds["deviation"])
    return with_reach.groupby(["algorithm", "arm"], sort=False)[
        ["x", "truth", "mean", "reach"]
    ].mean()


EXPERIMENTS = [
    Experiment(
        name="heavy-tails-1f",
        paper=PAPER_NAME,
        figure="Figure 1f",
        title="The effect of truncation",
        published=Scale(50, 10_000),
        quick=Scale(5, 1_000),
        run=run,
        says=(
            "f in [0, 1]; ±10, each as likely, is added to the rewards of one random arm and "
            "nothing to any other. The posterior mean of GP-UCB with β_t = ln t after 10⁴ rounds "
            "is not a good estimate of f; with rewards truncated beyond t^(1/4) it is almost "
            "accurate, and the interval around it holds f at every arm. Averaged over 50 draws of "
            "the noise."
        ),
        setting=(
            "f is a positive random function as in figure 1b, divided by its maximum: the "
            "published curve is in [0.309, 1.004], and its plain mean reaches 1.61. Which function "
            "it is, and which arm is corrupted, cannot be told from the text. "
            "The picture's interval is μ ± β_t σ, the one that the text speaks of "
            "(the caption has μ ± σ). Thin lines are the means of single trials: averaging makes "
            "the plain mean look better than any of them. The threshold t^(1/4) cuts 10 + f in all "
            "10⁴ rounds, but f − 10 only up to round (10 − f)⁴, from 6,561 to 10,000: rewards of "
            "the corrupted arm are not centred after truncation either, and its truncated mean is "
            "drawn below f. What truncation prevents is an arm that looks too good, which is "
            "pulled on and on."
        ),
        output=FigureOutput(checks, draw),
        departures=[
            *departures(_STATED_WORLD, {"problem": WORLD}),
            *departures(_STATED, {"problem": CORRUPTION}),
        ],
    )
]
