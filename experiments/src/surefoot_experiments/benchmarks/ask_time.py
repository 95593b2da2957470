"""Time and memory of one ask with a long history (d = 5), beside Optuna's GPSampler.

Every case is measured in a new process of one thread, as peak memory is that of a process, and so
that nothing is cached that would not be cached for a user. A history of uniform points is told,
then a few rounds of ask and tell are timed.
"""

import statistics
import time
import warnings

import numpy as np
import torch
from torch import Tensor

from surefoot_experiments.benchmarks.fresh_process import in_fresh_process, peak_memory
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems import Problem, ackley

SIZES = (0.03, 0.15, 0.5, 1.0)  # of the history, as shares of the rounds
DIMENSION = 5
WARM_UP = 30
ROUNDS = 5
PACKAGES = ("surefoot", "torch", "gpytorch", "optuna")


class Optuna:
    """An Optuna study with its Gaussian process."""

    def __init__(self, problem: Problem) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        torch.manual_seed(0)
        self._space = {
            f"x{i}": optuna.distributions.FloatDistribution(float(low), float(high))
            for i, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True))
        }
        sampler = optuna.samplers.GPSampler(seed=0, deterministic_objective=False)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self) -> Tensor:
        self._trial = self._study.ask(self._space)
        point = [self._trial.params[name] for name in self._space]
        return torch.tensor(point, dtype=torch.float64)

    def tell(self, point: Tensor, y: float) -> None:
        self._study.tell(self._trial, y)

    def add(self, points: Tensor, values: Tensor) -> None:
        """Take in measurements of points (n, d) that were not asked for."""
        import optuna

        for point, y in zip(points.tolist(), values.tolist(), strict=True):
            params = dict(zip(self._space, point, strict=True))
            trial = optuna.trial.create_trial(params=params, distributions=self._space, value=y)
            self._study.add_trial(trial)


class Surefoot:
    """surefoot's default."""

    def __init__(self, problem: Problem) -> None:
        import surefoot as sf

        self._optimizer = sf.algorithms.robust_ucb(sf.Box(problem.lower, problem.upper), seed=0)

    def ask(self) -> Tensor:
        self._query = self._optimizer.ask()
        return torch.as_tensor(self._query.point)

    def tell(self, point: Tensor, y: float) -> None:
        self._optimizer.tell(self._query, y)

    def add(self, points: Tensor, values: Tensor) -> None:
        """Take in measurements of points (n, d) that were not asked for."""
        self._optimizer.tell_all(points, values)


METHODS: dict[str, type[Surefoot | Optuna]] = {"surefoot": Surefoot, "optuna-gp": Optuna}


def run(trial: Trial) -> Rows:
    """One method with a history of `trial.rounds` measurements."""
    method = trial.case.split()[0]
    found = in_fresh_process(time_one, method, trial.rounds)
    return {"asks": [{"method": method, "n": trial.rounds, **found}]}


def history(problem: Problem, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Uniform points (count, d) of the box and one measurement of each, (count,)."""
    generator = np.random.default_rng(0)
    cube = torch.from_numpy(generator.random((count, problem.dimension)))
    points = problem.lower + (problem.upper - problem.lower) * cube
    return points, problem.measure(points, generator)


def time_one(method: str, size: int) -> dict[str, float]:
    """Seconds of ask and tell after `size` measurements, and the growth of memory in MiB.

    Growth counts from a first ask with few measurements, so imports are not part of it.
    """
    warnings.simplefilter("ignore")
    problem = ackley(dimension=DIMENSION)
    small = METHODS[method](problem)
    small.add(*history(problem, WARM_UP))
    small.ask()
    before = peak_memory()

    optimizer = METHODS[method](problem)
    started = time.perf_counter()
    optimizer.add(*history(problem, size))
    loading = time.perf_counter() - started
    generator = np.random.default_rng(1)
    asks, tells = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        point = optimizer.ask()
        asks.append(time.perf_counter() - started)
        y = float(problem.measure(point.unsqueeze(0), generator))
        started = time.perf_counter()
        optimizer.tell(point, y)
        tells.append(time.perf_counter() - started)
    return {
        "first": asks[0],
        "ask": statistics.median(asks[1:]),
        "tell": statistics.median(tells),
        "loading": loading,
        "memory": peak_memory() - before,
    }


def report(tables: Tables) -> str:
    """The table of all cases."""
    lines = [
        "# Time and memory of one ask",
        "",
        f"Ackley in {DIMENSION} dimensions with Gaussian noise. `n` measurements of uniform points",
        f"are told at once, then {ROUNDS} rounds are asked and told. First ask: hyperparameters",
        "are fitted, and nothing is cached. Ask: the median of those after it. Memory: growth of",
        "the peak resident size over a process",
        f"that has asked once with {WARM_UP} measurements.",
        "",
        "Run {date} on {cores} cores, CPU, one thread. {versions}.".format(**ran_on(PACKAGES)),
        "",
        "| method | n | first ask, s | ask, s | tell, s | telling the n, s | memory, MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = tables["asks"].sort_values("n", kind="stable")
    for r in rows.to_dict("records"):
        lines.append(
            f"| {r['method']} | {r['n']} | {r['first']:.2f} | {r['ask']:.2f} | {r['tell']:.4f} "
            f"| {r['loading']:.2f} | {r['memory']:.0f} |"
        )
    return "\n".join(lines) + "\n"


EXPERIMENTS = [
    benchmark(
        "ask-time",
        "Time and memory of one ask",
        published=Scale(1, 2_000),
        quick=Scale(1, 100),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{method} {share:.0%}", rounds=share) for share in SIZES for method in METHODS
        ],
        timed=True,
    )
]
