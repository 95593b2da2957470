"""Running methods that maximise a risk, and comparing their regret."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from pandas import DataFrame, Series

from surefoot import Optimizer
from surefoot_experiments.harness.claims import FEWEST, decided, final
from surefoot_experiments.harness.page import Measure
from surefoot_experiments.harness.trial import NUMBERS, Check, Purpose, Rows, Tables, Trial
from surefoot_experiments.papers.risk_settings import RANDOM, VUCB, RhoKG, Row, Task
from surefoot_experiments.problems import RiskProblem

LEAST = 1e-4  # regrets below count as this, since their logarithm is drawn

MEASURE = Measure("log10_regret", "log10 of the regret", band="the 70 % interval")


def run_risk(trial: Trial, *, task: Task, rows: tuple[Row, ...], model: VUCB) -> Rows:
    """Regret of the recommendation after each evaluation; the first points are the same for all.

    After the rows come random designs, the best of which `model` recommends.
    """
    problem = task.problem(trial)
    _ = problem.optimum  # searched once, at the cost of no algorithm
    numbers: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for name, settings in [*((row.name, row.settings) for row in rows), (RANDOM, model)]:
        started = time.process_time()
        regrets = _regrets(problem, settings, trial, name == RANDOM)
        times.append({"algorithm": name, "seconds": time.process_time() - started})
        for round_, regret in enumerate(regrets):
            logarithm = float(np.log10(max(regret, LEAST)))
            row = {"algorithm": name, "round": round_, "regret": regret}
            numbers.append({**row, "log10_regret": logarithm})
    return {NUMBERS: numbers, "times": times}


def _regrets(
    problem: RiskProblem, settings: VUCB | RhoKG, trial: Trial, by_chance: bool
) -> list[float]:
    """The regret after the first points, and after each evaluation since."""
    x, z = problem.first_points(trial.generator(Purpose.PROBLEM))
    noise, seed = trial.generator(Purpose.NOISE), trial.integer(Purpose.METHOD)
    optimizer = settings.build(problem, seed)
    optimizer.tell_all(x, [problem.measure(*pair, noise) for pair in zip(x, z, strict=True)], z)
    chance = torch.Generator().manual_seed(seed)
    regrets = [_regret(problem, optimizer)]
    for _ in range(trial.rounds):
        if by_chance:
            design = problem.joint.design.sample(1, chance)[0]  # type: ignore[union-attr]
            z = problem.joint.environment.sample_at(design.unsqueeze(0), chance)[0]
            query = optimizer.expect(design, z)
        else:
            query = optimizer.ask()
        reward = problem.measure(query.point, query.environment, noise)  # type: ignore[arg-type]
        optimizer.tell(query, reward)
        regrets.append(_regret(problem, optimizer))
    return regrets


def _regret(problem: RiskProblem, optimizer: Optimizer) -> float:
    return float(problem.regret(optimizer.recommend().point.unsqueeze(0)))


def order(
    tables: Tables,
    *,
    claims: tuple[tuple[str, str], ...],
    par: tuple[tuple[str, str], ...] = (),
) -> list[Check]:
    """For each pair, the first one's regret ends below the second's, and lies below it all along.

    Of the logarithm, in the mean over trials, and over their rounds for the latter. Pairs of `par`
    end within what chance explains of each other.
    """
    numbers, times = tables[NUMBERS], tables["times"]
    seconds = times.pivot_table("seconds", "trial", "algorithm", sort=False).mean()
    last = final(tables, MEASURE.column)
    along = numbers.pivot_table(MEASURE.column, "trial", "algorithm", sort=False)
    checks = []
    for better, worse in claims:
        cost = _cost(seconds, better, worse)
        checks.append(_below(f"{better} ends below {worse}", last, better, worse, cost))
        claim = f"{better} lies below {worse} in the mean over the rounds"
        checks.append(_below(claim, along, better, worse, cost))
    return checks + [_on_par(last, one, other, _cost(seconds, one, other)) for one, other in par]


def _cost(seconds: Series, one: str, other: str) -> str:
    return f"CPU time {seconds[one]:.0f} and {seconds[other]:.0f} s per trial"


def _on_par(values: DataFrame, one: str, other: str, cost: str) -> Check:
    """Fewer trials than a standard error is estimated from decide nothing."""
    check = _below(f"{one} ends on par with {other}", values, one, other, cost)
    differences = values[one] - values[other]
    return Check(check.claim, not check.decided, check.measured, len(differences) >= FEWEST)


def _below(claim: str, values: DataFrame, better: str, worse: str, cost: str) -> Check:
    """Trials share first points and noise, so their differences vary less than their values."""
    low, high = values[better], values[worse]
    differences = low - high
    error = f" ± {differences.sem():.2f}" if len(differences) > 1 else ""
    floor = np.log10(LEAST)
    least = [int((column <= floor + 1e-9).sum()) for column in (low, high)]
    at_least = f"; at the floor of {LEAST:g} in {least[0]} and {least[1]}" if any(least) else ""
    return Check(
        claim,
        bool(low.mean() < high.mean()),
        f"log10 regret {low.mean():.2f} against {high.mean():.2f} (medians {low.median():.2f} and "
        f"{high.median():.2f}), first minus second {differences.mean():.2f}{error}; the first is "
        f"lower in {int((differences < 0).sum())} of {len(differences)} trials{at_least}; {cost}",
        decided(differences),
    )
