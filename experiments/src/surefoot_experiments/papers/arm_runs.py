"""Running algorithms on arms with common random numbers: all see the same noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from surefoot import Optimizer
from surefoot_experiments.harness.claims import milestones
from surefoot_experiments.harness.trial import Purpose, Rows, Trial
from surefoot_experiments.problems import Additive, ArmProblem, CorruptedArm, ParetoRewards

Make = Callable[[Trial], ArmProblem]
Build = Callable[[ArmProblem, int, int], Optimizer]  # problem, rounds, seed
Pay = Callable[[int, int], float]  # arm and round (from 0) to reward

_EVEN, _EARLY = 100, 40  # recorded rounds: evenly spaced, and more at the start


def run_tasks(
    trial: Trial, *, tasks: Mapping[str, Make], methods: Mapping[str, Mapping[str, Build]]
) -> Rows:
    """Run every method of each task on the trial's problem; rows have the column `task`."""
    numbers, problems = [], []
    for task, make in tasks.items():
        result = run_arms(trial, make=make, methods=methods[task])
        numbers += [{"task": task, **row} for row in result["numbers"]]
        problems += [{"task": task, **row} for row in result["problems"]]
    return {"numbers": numbers, "problems": problems}


def run_arms(trial: Trial, *, make: Make, methods: Mapping[str, Build]) -> Rows:
    """Run every method on the trial's problem: R_t / t, and the mean regret of a random arm."""
    problem = make(trial)
    rows: list[dict[str, Any]] = []
    for name, build in methods.items():
        optimizer = build(problem, trial.rounds, trial.integer(Purpose.METHOD))
        rows += [{"algorithm": name, **row} for row in regrets(optimizer, problem, trial)]
    return {"numbers": rows, "problems": [{"random": float(problem.regrets.mean())}]}


def regrets(optimizer: Optimizer, problem: ArmProblem, trial: Trial) -> list[dict[str, Any]]:
    """Run an optimizer; R_t / t at the rounds of `checkpoints`."""
    pay = rewards(problem, trial.rounds, trial.generator(Purpose.NOISE))
    gaps, kept = problem.regrets.tolist(), checkpoints(trial.rounds)
    rows, total = [], 0.0
    for turn in range(trial.rounds):
        query = optimizer.ask()
        arm = int(query.arm or 0)
        optimizer.tell(query, pay(arm, turn))
        total += gaps[arm]
        if turn + 1 in kept:
            rows.append({"round": turn + 1, "regret": total / (turn + 1)})
    return rows


def rewards(problem: ArmProblem, rounds: int, generator: np.random.Generator) -> Pay:
    """The reward of an arm in a round; the noise depends on the round, not on the arm.

    The noise of all rounds is drawn at once where the law allows it, ten times as fast as one by
    one. Rounds must come in order.
    """
    law, values = problem.law, problem.values.tolist()
    if isinstance(law, Additive):
        errors = law.noise.sample(rounds, generator).tolist()
        return lambda arm, turn: values[arm] + errors[turn]
    arms = torch.zeros(rounds, dtype=torch.long)
    if isinstance(law, ParetoRewards):  # in proportion to the mean
        shares = law.draw(arms, torch.ones(rounds, dtype=torch.float64), generator).tolist()
        return lambda arm, turn: values[arm] * shares[turn]
    if isinstance(law, CorruptedArm):
        corrupted = arms + law.arm
        kicks = law.draw(corrupted, torch.zeros(rounds).double(), generator).tolist()
        return lambda arm, turn: values[arm] + (kicks[turn] if arm == law.arm else 0.0)
    return lambda arm, turn: problem.measure(arm, generator)


def checkpoints(rounds: int) -> set[int]:
    """Rounds at which curves are recorded, including those of `milestones`."""
    even = np.linspace(1, rounds, min(rounds, _EVEN)).round().astype(int)
    early = np.geomspace(1, rounds, min(rounds, _EARLY)).round().astype(int)
    return {*even.tolist(), *early.tolist(), *milestones(rounds)}
