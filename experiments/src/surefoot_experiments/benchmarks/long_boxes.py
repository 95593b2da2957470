"""A thousand measurements in a box: regret and time beside trust regions, forests and processes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP, SingleTaskVariationalGP
from botorch.models.transforms import Standardize
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood, VariationalELBO
from torch import Tensor

import surefoot as sf
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.problems import Problem, ackley, hartmann
from surefoot_experiments.problems.noise import Gaussian, Noise, StudentT
from surefoot_experiments.scoreboard.environments import python_of
from surefoot_experiments.scoreboard.rival import process_of
from surefoot_experiments.scoreboard.space import Point, box

BATCH = 50
LAST = 100  # measurements at the end, of which the mean regret is reported
CANDIDATES, INDUCING = 2000, 128
SHORTEST, LONGEST = 0.5**7, 1.6  # side of a trust region
LIMIT = 600.0  # seconds that an answer of SMAC may take

INTRODUCTION = f"""# A thousand measurements in a box

Simple regret of the recommended point, after half of the measurements, a Sobol sample that is told
at once, and after all, asked for in batches of {BATCH}; mean regret of the last {LAST} that were
measured. In standard deviations of the function (Hartmann-6; Ackley on [-20, 32] in ten variables);
noise of 0.3, Gaussian or Student-t(2) times 0.3. *surefoot* is `robust_ucb`. *TuRBO* is TuRBO-1
(Eriksson et al. 2019) from BoTorch's parts: a `SingleTaskGP` of all measurements since the last
restart, Thompson sampling of {CANDIDATES:,} candidates in a box about the largest measurement; a
restart has {BATCH} new points. *exact* and *variational* are `SingleTaskGP` and
`SingleTaskVariationalGP` ({INDUCING} inducing points), fitted anew to each batch, with Thompson
sampling of as many candidates, half of them near the best posterior means. These three recommend
the measured point with the best posterior mean. *SMAC* is the facade for hyperparameters, a random
forest; it chooses all points by itself, is told each before the next, and recommends its incumbent.
Processor seconds of all calls.
"""


class Method(Protocol):
    """An optimiser of a problem, which maximises."""

    def start(self, points: Tensor, values: Tensor) -> None:
        """Take in the measurements (n,) of a design (n, d)."""

    def ask(self) -> Tensor:
        """The points (k, d) to measure next."""

    def tell(self, values: Tensor) -> None:
        """Take in the measurements (k,) of them."""

    def recommend(self) -> Tensor:
        """The point (d,) that is thought best."""

    def seconds(self) -> float:
        """Processor time so far, from a fixed origin."""


class Surefoot:
    """The default of surefoot."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._optimizer = sf.algorithms.robust_ucb(sf.Box(problem.lower, problem.upper), seed=seed)

    def start(self, points: Tensor, values: Tensor) -> None:
        self._optimizer.tell_all(points, values)

    def ask(self) -> Tensor:
        self._queries = self._optimizer.ask_batch(BATCH)
        return torch.stack([torch.as_tensor(query.point) for query in self._queries])

    def tell(self, values: Tensor) -> None:
        for query, value in zip(self._queries, values.tolist(), strict=True):
            self._optimizer.tell(query, value)

    def recommend(self) -> Tensor:
        return self._optimizer.recommend().point

    def seconds(self) -> float:
        return time.process_time()


class Process:
    """Thompson sampling under a Gaussian process of BoTorch, on the unit cube.

    Args:
        problem: The problem.
        seed: Seed of all randomness.
        fitted: Makes the model of standardised values (n, 1) at points (n, d).
        local: Whether candidates are those of a trust region.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        fitted: Callable[[Tensor, Tensor], Any],
        local: bool = False,
    ) -> None:
        torch.manual_seed(seed)
        self._problem, self._fitted, self._local = problem, fitted, local
        self._points = torch.zeros(0, problem.dimension, dtype=torch.float64)
        self._values = torch.zeros(0, dtype=torch.float64)
        self._begin()

    def start(self, points: Tensor, values: Tensor) -> None:
        low, high = self._problem.lower, self._problem.upper
        self._points, self._values = (points - low) / (high - low), values

    def _begin(self) -> None:
        """A trust region, which starts from points of its own."""
        self._side, self._successes, self._failures = 0.8, 0, 0
        self._first = len(self._values)  # of the measurements since the last restart

    def ask(self) -> Tensor:
        points, values = self._points[self._first :], self._values[self._first :]
        if not len(values):
            self._asked = _sobol(self._problem.dimension, BATCH, int(torch.randint(2**31, ())))
        else:
            model = self._fitted(points, values)
            pick = self._in_region if self._local else self._anywhere
            candidates = pick(model, points, values)
            with torch.no_grad():
                self._asked = MaxPosteriorSampling(model, replacement=False)(candidates, BATCH)
        return self._problem.lower + (self._problem.upper - self._problem.lower) * self._asked

    def tell(self, values: Tensor) -> None:
        before = self._values[self._first :]
        self._points = torch.cat([self._points, self._asked])
        self._values = torch.cat([self._values, values])
        if self._local and len(before):
            self._resize(float(before.max()), float(values.max()))

    def recommend(self) -> Tensor:
        model = self._fitted(self._points, self._values)
        with torch.no_grad():
            mean = model.posterior(self._points).mean
        unit = self._points[int(mean.argmax())]
        return self._problem.lower + (self._problem.upper - self._problem.lower) * unit

    def seconds(self) -> float:
        return time.process_time()

    def _resize(self, before: float, now: float) -> None:
        """The trust region grows after three successes, and shrinks after failures."""
        better = now > before + 1e-3 * abs(before)
        self._successes = self._successes + 1 if better else 0
        self._failures = 0 if better else self._failures + 1
        if self._successes == 3:
            self._side, self._successes = min(2.0 * self._side, LONGEST), 0
        elif self._failures == math.ceil(max(4.0, self._problem.dimension) / BATCH):
            self._side, self._failures = self._side / 2.0, 0
        if self._side < SHORTEST:
            self._begin()

    def _in_region(self, model: Any, points: Tensor, values: Tensor) -> Tensor:
        """Candidates that differ from the best measurement in some coordinates."""
        best, dimension = points[int(values.argmax())], points.shape[-1]
        weights = model.covar_module.lengthscale.detach().flatten()
        weights = weights / weights.log().mean().exp()
        low = (best - 0.5 * self._side * weights).clamp(0.0, 1.0)
        high = (best + 0.5 * self._side * weights).clamp(0.0, 1.0)
        drawn = draw_sobol_samples(torch.stack([low, high]), CANDIDATES, 1).squeeze(1)
        changed = torch.rand(CANDIDATES, dimension) <= min(20.0 / dimension, 1.0)
        at_least = torch.randint(dimension, (CANDIDATES,))
        changed[torch.arange(CANDIDATES), at_least] = True
        return torch.where(changed, drawn, best)

    def _anywhere(self, model: Any, points: Tensor, values: Tensor) -> Tensor:
        """A Sobol sample, and points near the best posterior means."""
        dimension, half = points.shape[-1], CANDIDATES // 2
        cube = torch.stack([points.new_zeros(dimension), points.new_ones(dimension)])
        with torch.no_grad():
            mean = model.posterior(points).mean.flatten()
        centres = points[mean.topk(min(BATCH, len(points))).indices]
        near = centres[torch.randint(len(centres), (half,))]
        near = near + 0.05 * torch.randn(half, dimension, dtype=torch.float64)
        return torch.cat([draw_sobol_samples(cube, half, 1).squeeze(1), near.clamp(0.0, 1.0)])


class Smac:
    """SMAC in its own environment, told one measurement after the other."""

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        self._process = process_of("smac", "smac_facade")
        space = box(problem.lower.tolist(), problem.upper.tolist())
        self._process.begin(space, budget, seed, {}, LIMIT)
        self._problem, self._seconds = problem, 0.0

    def start(self, points: Tensor, values: Tensor) -> None:
        """Its own points are measured instead, with the same noise."""
        for error in values - self._problem.value(points):
            self.tell(self._problem.value(self.ask()) + error)

    def ask(self) -> Tensor:
        reply = self._process.ask(LIMIT)
        self._seconds += reply["seconds"]
        self._point: Point = reply["point"]
        return _row(self._point)

    def tell(self, values: Tensor) -> None:
        self._seconds += self._process.tell(self._point, -float(values), LIMIT)["seconds"]

    def recommend(self) -> Tensor:
        return _row(self._process.recommend(LIMIT).point)[0]

    def seconds(self) -> float:
        return self._seconds


def exact(points: Tensor, values: Tensor) -> Any:
    """A `SingleTaskGP` with fitted hyperparameters."""
    model = SingleTaskGP(points, values[:, None], outcome_transform=Standardize(1))
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": 50}})
    return model


def variational(points: Tensor, values: Tensor) -> Any:
    """A `SingleTaskVariationalGP` with fitted hyperparameters."""
    standardised = (values - values.mean()) / values.std()
    model = SingleTaskVariationalGP(
        points, standardised[:, None], inducing_points=min(INDUCING, len(points))
    )
    bound = VariationalELBO(model.likelihood, model.model, num_data=len(points))
    fit_gpytorch_mll(bound, optimizer_kwargs={"options": {"maxiter": 150}})
    return model


METHODS: dict[str, Callable[[Problem, int, int], Method]] = {
    "surefoot": lambda problem, seed, budget: Surefoot(problem, seed),
    "TuRBO": lambda problem, seed, budget: Process(problem, seed, exact, local=True),
    "exact": lambda problem, seed, budget: Process(problem, seed, exact),
    "variational": lambda problem, seed, budget: Process(problem, seed, variational),
    "SMAC": Smac,
}
NOISES: dict[str, Noise] = {"gaussian": Gaussian(0.3), "student-t": StudentT(2.0, 0.3)}


def _ackley(noise: Noise) -> Problem:
    low, high = torch.full((10,), -20.0).double(), torch.full((10,), 32.0).double()
    return replace(ackley(noise, 10), lower=low, upper=high)  # not best at the centre


PROBLEMS: dict[str, Callable[[Noise], Problem]] = {"hartmann-6": hartmann, "ackley-10": _ackley}


def run(trial: Trial) -> Rows:
    """One search."""
    torch.set_num_threads(1)
    name, kind, label = trial.case.split()
    problem, noise = PROBLEMS[name](NOISES[kind]), trial.generator(Purpose.NOISE)
    method = METHODS[label](problem, trial.integer(Purpose.METHOD), trial.rounds)
    began, regrets = method.seconds(), torch.zeros(0, dtype=torch.float64)
    cube = _sobol(problem.dimension, trial.rounds // 2, trial.integer(Purpose.PROBLEM))
    design = problem.lower + (problem.upper - problem.lower) * cube
    method.start(design, problem.measure(design, noise))
    row: dict[str, Any] = {"problem": name, "noise": kind, "method": label}
    row["after half"] = float(problem.regret(method.recommend()[None]))
    while len(regrets) < trial.rounds - len(design):
        points = method.ask()
        method.tell(problem.measure(points, noise))
        regrets = torch.cat([regrets, problem.regret(points)])
    row["after all"] = float(problem.regret(method.recommend()[None]))
    row["last"] = float(regrets[-LAST:].mean())
    return {"runs": [{**row, "seconds": method.seconds() - began}]}


def report(tables: Tables) -> str:
    """A table for each problem and noise."""
    on = ran_on(["surefoot", "botorch", "torch"])
    where = "\nRun {date} on {cores} cores, CPU, one thread. {versions}.".format(**on)
    parts = [INTRODUCTION + where]
    for (name, noise), group in tables["runs"].groupby(["problem", "noise"], sort=False):
        lines = []
        for method, rows in group.groupby("method", sort=False):
            line = {"": method, "runs": str(len(rows))}
            for column in ("after half", "after all", "last"):
                line[column] = f"{rows[column].mean():.2f}"
                if len(rows) > 1:
                    line[column] += f" ± {rows[column].sem():.2f}"
            lines.append({**line, "seconds": f"{rows['seconds'].mean():.0f}"})
        parts.append(f"## {name}, {noise}\n\n{table_from(lines)}".rstrip())
    return "\n\n".join(parts) + "\n"


def _sobol(dimension: int, number: int, seed: int) -> Tensor:
    engine = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    return engine.draw(number, dtype=torch.float64)


def _row(point: Point) -> Tensor:  # (1, d)
    return torch.tensor([[float(value) for value in point.values()]], dtype=torch.float64)


EXPERIMENTS = [
    benchmark(
        "long-boxes",
        "A thousand measurements in a box",
        published=Scale(1, 1_000),
        quick=Scale(1, 4 * BATCH),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{name} {noise} {method}")
            for name in PROBLEMS
            for noise in NOISES
            for method in METHODS
            if method != "SMAC" or python_of("smac") is not None
        ],
        timed=True,
    )
]
