"""Regret by context: one model of all contexts, one for each of them, and one that ignores them."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor

import surefoot as sf
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.noise import Spikes

CONTEXTS = (0.1, 0.35, 0.6, 0.85)
NOISE = 0.1  # standard deviations of the function
PACKAGES = ["surefoot", "torch"]

INTRODUCTION = """# Contexts

Four contexts, such as loads, come in random order, {rounds} rounds in all. The best configuration
depends on the context, by much ("shift": x is best at the context itself), by some (Branin and
Hartmann-3, of which the first variable is the context), or not at all ("same"). Noise is Gaussian
of {noise} standard deviations of the function, with 5 % spikes of ±10. Regret in the same: of the
configurations recommended for each context, after half of the rounds and all of them (mean), of
these in the worst context, and of those measured in the second half.

*given* is one model, `ask(within={{"context": c}})`; *apart* one for each context; *ignored* one
without the context.

Run {date} on {cores} cores, CPU, one thread a run, the machine shared with other work. {versions}.
"""


def shift(points: Tensor) -> Tensor:
    """Best where x is the context."""
    return -(points[:, 1] - points[:, 0]).square()


def same(points: Tensor) -> Tensor:
    """Best at 0.3 in every context, whose level differs."""
    return -(points[:, 1] - 0.3).square() + 0.3 * points[:, 0]


def branin(points: Tensor) -> Tensor:
    """Branin, maximised."""
    from botorch.test_functions import Branin

    low, high = torch.tensor([[-5.0, 0.0], [10.0, 15.0]], dtype=torch.float64)
    return Branin(negate=True)(low + (high - low) * points)


def hartmann(points: Tensor) -> Tensor:
    """Hartmann-3, maximised."""
    from botorch.test_functions import Hartmann

    return Hartmann(3, negate=True)(points)


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {
    "shift": (shift, 2),
    "same": (same, 2),
    "branin": (branin, 2),
    "hartmann-3": (hartmann, 3),
}
"""Functions of the context and the parameters on the unit cube, and their dimension."""


class Given:
    """One model of all contexts."""

    def __init__(self, names: list[str], seed: int) -> None:
        every = {name: sf.parameters.Float(0.0, 1.0) for name in ["context", *names]}
        self.optimizer = sf.algorithms.robust_ucb(sf.parameters.Space(every).box, seed=seed)

    def ask(self, context: float) -> Mapping[str, float]:
        self.query = self.optimizer.ask(within={"context": context})
        return self.query.params

    def tell(self, context: float, y: float) -> None:
        self.optimizer.tell(self.query, y)

    def best(self, context: float) -> Mapping[str, float]:
        return self.optimizer.recommend(within={"context": context}).params


class Apart:
    """A model for each context."""

    def __init__(self, names: list[str], seed: int) -> None:
        space = sf.parameters.Space({n: sf.parameters.Float(0.0, 1.0) for n in names}).box
        self.optimizers = {
            context: sf.algorithms.robust_ucb(space, seed=seed + i)
            for i, context in enumerate(CONTEXTS)
        }

    def ask(self, context: float) -> Mapping[str, float]:
        self.query = self.optimizers[context].ask()
        return self.query.params

    def tell(self, context: float, y: float) -> None:
        self.optimizers[context].tell(self.query, y)

    def best(self, context: float) -> Mapping[str, float]:
        known = self.optimizers[context]
        return known.recommend().params if len(known.history) else known.ask().params


class Ignored(Apart):
    """One model without the context."""

    def __init__(self, names: list[str], seed: int) -> None:
        super().__init__(names, seed)
        first = self.optimizers[CONTEXTS[0]]
        self.optimizers = dict.fromkeys(CONTEXTS, first)


METHODS: dict[str, type[Given | Apart]] = {"given": Given, "apart": Apart, "ignored": Ignored}


def run(trial: Trial) -> Rows:
    """One method on one function."""
    torch.set_num_threads(1)
    name, method = trial.case.split()
    function, dimension = FUNCTIONS[name]
    cube = torch.quasirandom.SobolEngine(dimension).draw(4096, dtype=torch.float64)
    unit = float(function(cube).std())
    names = [f"x{i}" for i in range(1, dimension)]
    grid = torch.quasirandom.SobolEngine(dimension - 1).draw(2**14, dtype=torch.float64)
    best = {c: float(function(_beside(c, grid)).max()) for c in CONTEXTS}
    drawn = np.random.default_rng([trial.index, zlib.crc32(name.encode())])
    errors = Spikes(0.05, 10.0, NOISE).sample(trial.rounds, drawn).tolist()
    order = drawn.permutation(np.resize(CONTEXTS, trial.rounds)).tolist()
    searcher = METHODS[method](names, trial.index)

    def regret(context: float, params: Mapping[str, float]) -> float:
        x = torch.tensor([[params[one] for one in names]], dtype=torch.float64)
        return max((best[context] - float(function(_beside(context, x)))) / unit, 0.0)

    measured, halfway, half = [], [0.0], trial.rounds // 2
    with warnings.catch_warnings(action="ignore"):
        for round_, (context, error) in enumerate(zip(order, errors, strict=True), 1):
            params = searcher.ask(context)
            measured.append(regret(context, params))
            x = torch.tensor([[params[one] for one in names]], dtype=torch.float64)
            searcher.tell(context, float(function(_beside(context, x))) / unit + error)
            if round_ == half:
                halfway = [regret(c, searcher.best(c)) for c in CONTEXTS]
        ends = [regret(c, searcher.best(c)) for c in CONTEXTS]
    row = {
        "function": name,
        "method": method,
        "rounds": trial.rounds,
        "half": float(np.mean(halfway)),
        "end": float(np.mean(ends)),
        "worst": max(ends),
        "measured": float(np.mean(measured[half:])),
    }
    return {"runs": [row | {f"context {c}": one for c, one in zip(CONTEXTS, ends, strict=True)}]}


def _beside(context: float, x: Tensor) -> Tensor:
    return torch.cat([x.new_full((len(x), 1), context), x], -1)


def report(tables: Tables) -> str:
    """Regret by function and method."""
    rows = tables["runs"]
    groups = rows.groupby(["function", "method"], sort=False)
    three = "{:.3f}".format
    columns = {
        "half": "after half",
        "end": "at the end",
        "worst": "worst context",
        "measured": "measured",
        **{f"context {c}": f"context {c}" for c in CONTEXTS},
    }
    table = pd.DataFrame({"runs": groups.size().map(str)})
    for name, title in columns.items():
        table[title] = groups[name].mean().map(three)
    introduction = INTRODUCTION.format(
        rounds=int(rows["rounds"].max()), noise=NOISE, **ran_on(PACKAGES)
    )
    return f"{introduction}\n{markdown(table.reset_index('method'))}"


EXPERIMENTS = [
    benchmark(
        "contexts",
        "Contexts",
        published=Scale(4, 40),
        quick=Scale(1, 8),
        run=run,
        output=TableOutput(report),
        cases=[Case(f"{name} {method}") for name in FUNCTIONS for method in METHODS],
    )
]
