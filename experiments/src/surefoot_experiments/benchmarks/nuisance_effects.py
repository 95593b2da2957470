"""Tuning on a machine that drifts, or on several that differ, with and without its effects."""

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

import surefoot as sf
from surefoot_experiments.benchmarks.recommendation_coverage import drawn_function
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

SPREAD = 0.3  # standard deviation of the logarithm of the latency over configurations
NOISE = 0.05  # scale of Student-t noise with 3 degrees of freedom, of the logarithm
WORKERS = 10
BATCH = 5
CONDITIONS = ("steady", "step", "drift", "neighbour", "workers")
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Effects of worker and time

The logarithm of a latency is minimised over two parameters, {rounds} rounds in batches of {batch},
{trials} runs a row.
It is a function drawn from a Gaussian process (standard deviation {spread}), with Student-t noise
of 3 degrees of freedom and scale {noise}, and

- **steady**: nothing else;
- **step**: the machine is 30 % slower from midway on;
- **drift**: it becomes 30 % slower, a little with each round;
- **neighbour**: it is 50 % slower for ten rounds, after a third of them;
- **workers**: ten machines take turns, whose speeds differ with a standard deviation of 10 %.

**told** rows are runs that were told worker and time of each measurement, the others were not.
**regret** is by how much the recommended configuration is slower than the best, under the same
conditions, median and mean. **covered** is how often the 95 % interval of `recommend()` contains
the true value there at the end of the run, for the average of the machines, and **length** the
median length of that interval, as a share of the latency. **in the model** is how often an effect
was in the model at the end; **seconds** is the processor time of a batch, from `ask_batch` to
`tell_all`, median.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


class _Machine:
    """The logarithm of how much slower measurements are, round by round."""

    def __init__(self, conditions: str, rounds: int, generator: np.random.Generator) -> None:
        self._conditions, self._rounds = conditions, rounds
        self._workers = np.zeros(WORKERS)
        if conditions == "workers":
            self._workers = np.log1p(0.1 * generator.standard_normal(WORKERS).clip(-3.0, 3.0))

    def slowdown(self, round_: int) -> float:
        share = round_ / self._rounds
        third = self._rounds // 3
        extra = {
            "step": 0.3 * (share >= 0.5),
            "drift": 0.3 * (round_ + 1) / self._rounds,
            "neighbour": 0.5 * (third <= round_ < third + 10),
        }
        return float(np.log1p(extra.get(self._conditions, 0.0)) + self._workers[round_ % WORKERS])

    @property
    def at_end(self) -> float:
        if self._conditions == "workers":
            return float(self._workers[: self._rounds].mean())
        return self.slowdown(self._rounds - 1)


def run(trial: Trial) -> Rows:
    """The same task twice, without and with the conditions of each measurement."""
    return {"runs": list(_runs(trial))}


def _runs(trial: Trial) -> Iterator[dict[str, object]]:
    function = drawn_function(2, np.random.default_rng(trial.index))
    grid = torch.rand(10_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    best = float(function(grid).min())
    for told in (False, True):
        generator = np.random.default_rng([1, trial.index])
        machine = _Machine(trial.case, trial.rounds, generator)
        space = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = sf.algorithms.robust_ucb(space, seed=trial.index)
        seconds = []
        for first in range(0, trial.rounds, BATCH):
            batch = range(first, min(first + BATCH, trial.rounds))
            begun = time.process_time()
            queries = optimizer.ask_batch(len(batch))
            seconds.append(time.process_time() - begun)
            values = SPREAD * function(torch.stack([query.point for query in queries])).numpy()
            values += [machine.slowdown(round_) for round_ in batch]
            values += NOISE * generator.standard_t(3, len(batch))
            begun = time.process_time()
            optimizer.tell_all(
                queries,
                torch.from_numpy(-values),
                workers=[round_ % WORKERS for round_ in batch] if told else None,
                times=[float(round_) for round_ in batch] if told else None,
            )
            seconds[-1] += time.process_time() - begun
        found = optimizer.recommend()
        value = float(function(found.point[None]))
        truth = -SPREAD * value - machine.at_end
        yield {
            "conditions": trial.case,
            "told": "told" if told else "",
            "regret": float(np.expm1(SPREAD * max(value - best, 0.0))),
            "covered": found.lower <= truth <= found.upper,
            "length": found.upper - found.lower,
            "kept": bool(optimizer.belief().outcome.effects),
            "seconds": float(np.median(seconds)),
        }


def report(tables: Tables) -> str:
    """Regret, coverage and cost by condition."""
    rows = tables["runs"]
    groups = rows.groupby(["conditions", "told"], sort=False)
    percent = "{:.1%}".format
    table = pd.DataFrame(
        {
            "regret": groups["regret"].median().map(percent),
            "mean regret": groups["regret"].mean().map(percent),
            "covered": groups["covered"].mean().map("{:.0%}".format),
            "length": groups["length"].median().map(percent),
            "in the model": groups["kept"].mean().map("{:.0%}".format),
            "seconds": groups["seconds"].median().map("{:.2f}".format),
        }
    ).reset_index("told")
    introduction = INTRODUCTION.format(
        rounds=PUBLISHED.rounds,
        trials=rows["trial"].nunique(),
        batch=BATCH,
        spread=SPREAD,
        noise=NOISE,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


PUBLISHED = Scale(10, 40)
EXPERIMENTS = [
    benchmark(
        "nuisance-effects",
        "Effects of worker and time",
        published=PUBLISHED,
        quick=Scale(1, 14),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in CONDITIONS],
    )
]
