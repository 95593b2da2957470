"""Regret of bounds with a proof beside heuristic ones, and how often a bound fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from scipy import stats

import surefoot as sf
from surefoot.acquisition import Guarded, ScorePolicy
from surefoot_experiments.baselines import as_published
from surefoot_experiments.benchmarks.sketch_determinant import sketch_determinant
from surefoot_experiments.harness.tables import (
    TableOutput,
    benchmark,
    markdown,
    ran_on,
    with_errors,
)
from surefoot_experiments.harness.trial import Case, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.problems import (
    Gaussian,
    KernelFunction,
    StudentT,
    SymmetricNoise,
    random_function,
)

DELTA, LENGTHSCALE, LEVEL, LOOK = 0.1, 0.2, 0.2, 20
DESIGNS, ENVIRONMENTS = 20, 10
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]


@dataclass(frozen=True)
class Known:
    """What bounds with a proof are told."""

    norm: float
    noise: float  # standard deviation
    moment: sf.Moment


@dataclass(frozen=True)
class Bounds:
    """Bounds, the estimator that they are of, and the policy that chooses by them."""

    width: Callable[[Known], Any]
    estimator: Callable[[Known], Any] = lambda known: sf.LeastSquares()
    policy: Any = field(default_factory=ScorePolicy)


EXACT: Mapping[str, Bounds] = {
    "theorem 2 of 2017": Bounds(lambda it: sf.widths.chowdhury_gopalan(it.norm, it.noise, DELTA)),
    "AMM": Bounds(lambda it: sf.widths.analytic_mixture(it.norm, it.noise, DELTA)),
    "DMM": Bounds(lambda it: sf.widths.dual_mixture(it.norm, it.noise, DELTA)),
    "DMM, guarding": Bounds(
        lambda it: sf.widths.dual_mixture(it.norm, it.noise, DELTA), policy=Guarded(slack=4.0)
    ),
    "DMM, guarding, slack 9": Bounds(
        lambda it: sf.widths.dual_mixture(it.norm, it.noise, DELTA), policy=Guarded()
    ),
    "heuristic": Bounds(lambda it: sf.widths.srinivas(DELTA)),
}
SKETCHED: Mapping[str, Bounds] = {
    "theorem 2 of BKB": Bounds(lambda it: sf.widths.bkb(it.norm, it.noise, DELTA)),
    "sketch determinant": Bounds(lambda it: sketch_determinant(it.norm, it.noise, DELTA)),
    "DMM": Bounds(lambda it: sf.widths.dual_mixture(it.norm, it.noise, DELTA)),
    "DMM, guarding": Bounds(
        lambda it: sf.widths.dual_mixture(it.norm, it.noise, DELTA), policy=Guarded(slack=4.0)
    ),
    "as published": Bounds(lambda it: as_published.BKB(it.norm, it.noise, DELTA)),
}


def _truncation(known: Known) -> sf.Truncation:
    return sf.Truncation(known.moment)


def _of_variance(known: Known) -> sf.widths.self_normalised:
    return sf.widths.self_normalised(sf.Moment(1.0, known.noise**2, "mean"), known.norm, DELTA)


TRUNCATED: Mapping[str, Bounds] = {
    "theorem 1": Bounds(lambda it: sf.widths.truncated(it.moment, it.norm, DELTA), _truncation),
    "proposition 3": Bounds(lambda it: sf.widths.self_normalised(it.moment, it.norm, DELTA)),
    "proposition 3, variance": Bounds(_of_variance),
    "proposition 3, variance, guarding": Bounds(_of_variance, policy=Guarded(slack=4.0)),
    "as published": Bounds(lambda it: as_published.Truncated(it.moment, it.norm), _truncation),
    "heuristic": Bounds(lambda it: sf.widths.srinivas(DELTA), _truncation),
}


@dataclass(frozen=True)
class Task:
    """Arms, noise and bounds of a comparison."""

    dimension: int
    arms: int
    noise: SymmetricNoise
    ridge: float
    bounds: Mapping[str, Bounds] = field(default_factory=lambda: EXACT)
    features: Callable[[], Any] = sf.Exact

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(self.noise.absolute_moment(2.0))


def _guarding(bounds: Mapping[str, Bounds]) -> Mapping[str, Bounds]:
    """Guarded choices, and the last bounds, which they are compared with."""
    *others, last = bounds
    return {name: bounds[name] for name in (*filter(_guards, others), last)}


def _guards(name: str) -> bool:
    return "guarding" in name


TASKS: dict[str, Task] = {
    "GP-UCB, d = 1, R = 0.3": Task(1, 100, Gaussian(0.3), 0.09),
    "GP-UCB, d = 1, R = 1": Task(1, 100, Gaussian(1.0), 1.0),
    "GP-UCB, d = 2, R = 0.3": Task(2, 225, Gaussian(0.3), 0.09),
    "GP-UCB, d = 3, R = 0.3": Task(3, 500, Gaussian(0.3), 0.09, _guarding(EXACT)),
    "V-UCB, 20 x 10, R = 0.3": Task(2, DESIGNS * ENVIRONMENTS, Gaussian(0.3), 0.09),
    "BKB, d = 2, R = 0.3": Task(
        2, 500, Gaussian(0.3), 0.09, SKETCHED, lambda: sf.Nystrom(sf.LeverageSampling(5.0))
    ),
    "TGP-UCB, d = 1, Student-t(3)": Task(1, 40, StudentT(3.0, 0.3), 1.0, TRUNCATED),
    "GP-UCB, d = 2, 1,000 arms, R = 0.3": Task(2, 1_000, Gaussian(0.3), 0.09, _guarding(EXACT)),
}
LONGER = ", 20,000 rounds"
UNPROVED = ("heuristic", "as published", "theorem 2 of BKB")
LONG = {name: 0.15 if "d = 1, R" in name else 0.05 for name in TASKS}  # share of the trials
TASKS |= {
    f"{name}{LONGER}": replace(TASKS[name], bounds=_guarding(TASKS[name].bounds)) for name in LONG
}
SHARES = {  # of the trials and of the rounds
    "GP-UCB, d = 3, R = 0.3": (0.5, 1.0),
    **{f"{name}{LONGER}": (share, 20.0) for name, share in LONG.items()},
}

INTRODUCTION = """# Bounds with a proof

Regret summed over the rounds, and a round in the last tenth; mean and standard error over random
functions, with the exact norm of each and delta = {delta}. Functions have the squared exponential
kernel with lengthscale {lengthscale} and standard deviation 1; noise is Gaussian with standard
deviation R unless said otherwise, and the ridge its variance (1 for TGP-UCB). V-UCB is for the
quantile of level {level} over ten equally likely environments; BKB draws each pull with an
oversampling of 5; TGP-UCB is told the second moment of the rewards (Student-t(3) has the scale
0.3), and *proposition 3* is least squares, with that or the variance. *guarding*: the choice is
the heuristic's as long as the bounds certify it (`Guarded`, slack 4; the default is 9, and 4 for
a moment), so that the regret is at most 1 + slack times the bound of the theorem. **of random
arms** is the regret as a share of that of uniform pulls, **of the heuristic** as a share of that
of the last row of the task, on the same functions.

**failed** counts the runs in which f was outside of the bounds anywhere, seen every {look} rounds,
with the exact 95 % interval of the share. With a theorem the share is at most delta; *heuristic*
and *as published* have none. *theorem 2 of BKB* does not cover an oversampling of 5.
[Propositions](../../../../notes/guarantees.md).

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def _function(trial: Trial, task: Task) -> KernelFunction:
    """A random function of standard deviation 1."""
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    made = random_function(
        trial.generator(Purpose.PROBLEM), kernel, arms=task.arms, dimension=task.dimension
    )
    spread = float(made.values.std())
    return replace(made, values=made.values / spread, norm=made.norm / spread)


class _Arms:
    """GP-UCB on the arms of a function."""

    def __init__(self, trial: Trial, task: Task) -> None:
        self.function = _function(trial, task)
        self.points, self.values = self.function.space.points, self.function.values
        self.norm = self.function.norm
        self.losses = self.values.max() - self.values

    def optimizer(self, bounds: Bounds, known: Known, task: Task, seed: int) -> sf.Optimizer:
        return sf.Optimizer(
            self.function.space,
            sf.Method(
                self.function.kernel,
                features=task.features(),
                estimator=bounds.estimator(known),
                width=bounds.width(known),
                policy=bounds.policy,
                ridge=task.ridge,
            ),
            seed=seed,
        )

    def step(self, optimizer: sf.Optimizer, noise: float) -> float:
        """One round with this error; its regret."""
        arm = int(optimizer.ask().arm or 0)
        optimizer.tell(arm, float(self.values[arm]) + noise)
        return float(self.losses[arm])


class _Risky:
    """V-UCB on a grid of designs and environments."""

    def __init__(self, trial: Trial, task: Task) -> None:
        random = trial.generator(Purpose.PROBLEM)
        x, z = np.linspace(0.0, 1.0, DESIGNS), np.linspace(0.0, 1.0, ENVIRONMENTS)
        grid = np.stack(np.meshgrid(x, z, indexing="ij"), -1).reshape(-1, 2)
        gaps = ((grid[:, None] - grid[None]) ** 2).sum(-1)
        gram = np.exp(-gaps / (2.0 * LENGTHSCALE**2))
        support = random.integers(0, len(grid), 30)
        weights = random.uniform(-1.0, 1.0, len(support))
        values = gram[:, support] @ weights
        self.norm = float(
            (weights @ gram[np.ix_(support, support)] @ weights) ** 0.5 / values.std()
        )
        self.values, self.points = torch.from_numpy(values / values.std()), torch.from_numpy(grid)
        self.space = sf.Joint(
            sf.Arms(torch.from_numpy(x[:, None])),
            sf.FiniteEnvironment(torch.from_numpy(z[:, None])),
        )
        risk = sf.VaR(LEVEL)(
            self.values.reshape(DESIGNS, -1), torch.full((ENVIRONMENTS,), 1.0 / ENVIRONMENTS)
        )
        self.losses = risk.max() - risk

    def optimizer(self, bounds: Bounds, known: Known, task: Task, seed: int) -> sf.Optimizer:
        kernel = sf.kernels.squared_exponential([LENGTHSCALE, LENGTHSCALE])
        return sf.Optimizer(
            sf.Problem(self.space, risk=sf.VaR(LEVEL)),
            sf.Method(kernel, width=bounds.width(known), policy=bounds.policy, ridge=task.ridge),
            seed=seed,
        )

    def step(self, optimizer: sf.Optimizer, noise: float) -> float:
        """One round with this error; its regret."""
        query = optimizer.ask()
        z = query.point[:0] if query.environment is None else query.environment
        pair = torch.cat([query.point, z])
        row = int((self.points - pair).square().sum(-1).argmin())
        optimizer.tell(query, float(self.values[row]) + noise)
        return float(self.losses[row // ENVIRONMENTS])


def run(trial: Trial) -> Rows:
    """All bounds on one function."""
    task = TASKS[trial.case]
    problem = (_Risky if trial.case.startswith("V-UCB") else _Arms)(trial, task)
    most = float(problem.values.abs().max()) ** 2 + task.deviation**2
    known = Known(problem.norm, task.deviation, sf.Moment(1.0, most))
    errors = task.noise.sample(trial.rounds, trial.generator(Purpose.NOISE)).tolist()
    rows = []
    for name, bounds in task.bounds.items():
        optimizer, failed = problem.optimizer(bounds, known, task, trial.index), False
        regret = np.zeros(trial.rounds)
        for round_, error in enumerate(errors):
            regret[round_] = problem.step(optimizer, error)
            if (round_ + 1) % LOOK == 0 and not failed:
                _, lower, upper = optimizer.belief().band.ends(problem.points)
                outside = (problem.values > upper + 1e-9) | (problem.values < lower - 1e-9)
                failed = bool(outside.any())
        late = float(regret[-max(1, trial.rounds // 10) :].mean())
        row = {"task": trial.case, "bounds": name, "rounds": trial.rounds, "failed": failed}
        total = float(regret.sum())
        share = total / (trial.rounds * float(problem.losses.mean()))
        row |= {"regret": total, "late": late, "share": share, "width": optimizer.width}
        rows.append(row)
    return {"runs": rows}


def report(tables: Tables) -> str:
    """The table of finished runs."""
    rows = tables["runs"]
    groups = rows.groupby(["task", "bounds"], sort=False)
    table = with_errors(groups[["regret", "late", "share"]])
    table["functions"] = groups["trial"].nunique().map(str)
    table["rounds"] = groups["rounds"].max().map("{:,}".format)
    table["failed"] = groups["failed"].agg(_share)
    table["width at the end"] = groups["width"].mean().map("{:.1f}".format)
    table["of the heuristic"] = [
        _share_of_last(rows[rows["task"] == key[0]], key[1]) for key in table.index
    ]
    table.index = [" / ".join(key) for key in table.index]
    table.index.name = "task / bounds"
    head = INTRODUCTION.format(
        delta=DELTA,
        look=LOOK,
        level=LEVEL,
        lengthscale=LENGTHSCALE,
        **ran_on(PACKAGES),
    )
    names = {"late": "a round, last tenth", "share": "of random arms"}
    return head + "\n" + markdown(table.rename(columns=names)) + "\n" + _in_all(rows)


def _share_of_last(rows: Any, name: str) -> str:
    """Regret of bounds as a share of that of the last ones of the task, on the same functions."""
    regret = rows.pivot(index="trial", columns="bounds", values="regret")
    both = regret[[name, rows["bounds"].iloc[-1]]].dropna()
    return f"{both.iloc[:, 0].mean() / both.iloc[:, -1].mean():.2f}" if len(both) else "–"


def _in_all(rows: Any) -> str:
    """On how many functions any of the bounds with a theorem failed."""
    proved = rows[~rows["bounds"].isin(UNPROVED)]
    functions = [proved["task"].str.removesuffix(LONGER), proved["trial"]]
    failed = proved["failed"].groupby(functions).any()
    return f"In all tasks, a bound with a theorem failed on {_share(failed)} functions.\n"


def _share(failed: Any) -> str:
    number, total = int(failed.sum()), len(failed)
    interval = stats.binomtest(number, total).proportion_ci(0.95)
    return f"{number} of {total} ({interval.low:.2f} to {interval.high:.2f})"


EXPERIMENTS = [
    benchmark(
        "guarantees",
        "Bounds with a proof",
        published=Scale(20, 1_000),
        quick=Scale(2, 60),
        run=run,
        output=TableOutput(report),
        cases=[Case(name, *SHARES.get(name, (1.0, 1.0))) for name in TASKS],
    )
]
