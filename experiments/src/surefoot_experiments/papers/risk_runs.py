"""Running methods that maximise a risk, and comparing their regret."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from pandas import DataFrame

from surefoot import Optimizer
from surefoot.algorithms import rho_kg, v_ucb
from surefoot.estimators import Huber, StudentT
from surefoot_experiments.harness.claims import decided, final
from surefoot_experiments.harness.page import Measure
from surefoot_experiments.harness.trial import NUMBERS, Check, Purpose, Rows, Tables, Trial
from surefoot_experiments.problems import RiskProblem

PROB, UNIF, KG, RANDOM = "V-UCB Prob", "V-UCB Unif", "rho-KG", "random"
HALF = "V-UCB Prob, half width"
HUBER, STUDENT = "V-UCB, Huber", "V-UCB, Student-t"
NETS = "V-UCB, neural surrogate"
LEAST = 1e-4  # regrets below count as this, since their logarithm is drawn

Make = Callable[[Trial], RiskProblem]
Build = Callable[..., Optimizer]

_METHODS: dict[str, Build] = {
    PROB: v_ucb,
    UNIF: partial(v_ucb, lacing="unif"),
    HALF: partial(v_ucb, scale=0.5),
    KG: partial(rho_kg, samples=10),  # as many as in its authors' later code
    RANDOM: v_ucb,  # whose model says which of the random designs is best
    HUBER: partial(v_ucb, estimator=Huber()),
    STUDENT: partial(v_ucb, estimator=StudentT()),
    NETS: partial(v_ucb, search="surrogate"),
}
MEASURE = Measure("log10_regret", "log10 of the regret", band="the 70 % interval")


def run_risk(trial: Trial, *, make: Make, methods: tuple[str, ...]) -> Rows:
    """Regret of the recommendation after each evaluation; the first points are the same for all."""
    problem = make(trial)
    rows: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for name in methods:
        started = time.process_time()
        regrets = _regrets(problem, name, trial)
        times.append({"algorithm": name, "seconds": time.process_time() - started})
        for round_, regret in enumerate(regrets):
            logarithm = float(np.log10(max(regret, LEAST)))
            row = {"algorithm": name, "round": round_, "regret": regret}
            rows.append({**row, "log10_regret": logarithm})
    return {NUMBERS: rows, "times": times}


def _regrets(problem: RiskProblem, name: str, trial: Trial) -> list[float]:
    """The regret after the first points, and after each evaluation since."""
    x, z = problem.first_points(trial.generator(Purpose.PROBLEM))
    noise, seed = trial.generator(Purpose.NOISE), trial.integer(Purpose.METHOD)
    level: float = problem.risk.level  # type: ignore[attr-defined]
    optimizer = _METHODS[name](problem.joint, level=level, initial=0, seed=seed)
    optimizer.tell_all(x, [problem.measure(*pair, noise) for pair in zip(x, z, strict=True)], z)
    chance = torch.Generator().manual_seed(seed)
    regrets = [_regret(problem, optimizer)]
    for _ in range(trial.rounds):
        if name == RANDOM:
            design = problem.joint.design.sample(1, chance)[0]  # type: ignore[union-attr]
            query = optimizer.expect(design, problem.joint.environment.sample(1, chance)[0])
        else:
            query = optimizer.ask()
        reward = problem.measure(query.point, query.environment, noise)  # type: ignore[arg-type]
        optimizer.tell(query, reward)
        regrets.append(_regret(problem, optimizer))
    return regrets


def _regret(problem: RiskProblem, optimizer: Optimizer) -> float:
    return float(problem.regret(optimizer.recommend().point.unsqueeze(0)))


def order(tables: Tables, *, claims: tuple[tuple[str, str], ...]) -> list[Check]:
    """For each pair, the first one's regret ends below the second's, and lies below it all along.

    Of the logarithm, in the mean over trials, and over their rounds for the latter.
    """
    numbers, times = tables[NUMBERS], tables["times"]
    seconds = times.pivot_table("seconds", "trial", "algorithm", sort=False).mean()
    last = final(tables, MEASURE.column)
    along = numbers.pivot_table(MEASURE.column, "trial", "algorithm", sort=False)
    checks = []
    for better, worse in claims:
        cost = f"{seconds[better]:.0f} and {seconds[worse]:.0f} s of one core a trial"
        checks.append(_below(f"{better} ends below {worse}", last, better, worse, cost))
        claim = f"{better} lies below {worse} in the mean over the rounds"
        checks.append(_below(claim, along, better, worse, cost))
    return checks


def _below(claim: str, values: DataFrame, better: str, worse: str, cost: str) -> Check:
    """Trials share first points and noise, so their differences vary less than their values."""
    low, high = values[better], values[worse]
    differences = low - high
    error = f" ± {differences.sem():.2f}" if len(differences) > 1 else ""
    floor = np.log10(LEAST)
    least = [int((column <= floor + 1e-9).sum()) for column in (low, high)]
    at_least = f"; at {LEAST:g} in {least[0]} and {least[1]} of them" if any(least) else ""
    return Check(
        claim,
        bool(low.mean() < high.mean()),
        f"log10 regret {low.mean():.2f} against {high.mean():.2f} (medians {low.median():.2f} and "
        f"{high.median():.2f}), difference {differences.mean():.2f}{error}; less in "
        f"{int((differences < 0).sum())} of {len(differences)} trials{at_least}; {cost}",
        decided(differences),
    )
