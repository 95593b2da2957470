"""Regret against time: exact GP-UCB, BKB and BBKB."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from surefoot import Optimizer, kernels, widths
from surefoot.algorithms import bbkb, bkb, gp_ucb
from surefoot.widths import Progress
from surefoot_experiments.harness.claims import final
from surefoot_experiments.harness.departures import NOT_STATED, departures, setting, stated
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import band, colours_of, legend, new_figure
from surefoot_experiments.harness.page import FigureOutput, Measure
from surefoot_experiments.harness.trial import NUMBERS, Check, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.harness.variants import variant
from surefoot_experiments.papers.arm_runs import checkpoints
from surefoot_experiments.papers.variance_starvation import PAPER_NAME
from surefoot_experiments.problems import KernelFunction, random_function

LITERAL, EXACT, SKETCH, BATCHED = "GP-UCB, all t rewards", "GP-UCB", "BKB", "BBKB"


@dataclass(frozen=True)
class Comparison:
    """Random functions on arms, and what all methods have in common."""

    arms: int = setting("arms, uniform in [0, 1]²", default=500)
    lengthscale: float = setting("lengthscale of the squared exponential kernel", default=0.2)
    noise: float = setting("standard deviation of the noise", default=0.1)
    ridge: float = setting("ridge λ", default=0.01)
    width: str = setting("width", default="√(2 ln(t²π²/0.6))")
    oversampling: float = setting("oversampling q of BKB and BBKB", default=5.0)

    def beta(self, progress: Progress) -> float:
        """The width of all methods."""
        return {"√(2 ln(t²π²/0.6))": widths.srinivas()}[self.width](progress)


HERE = Comparison()
THEORY = Comparison(  # the paper has no such experiment
    arms=NOT_STATED,
    lengthscale=NOT_STATED,
    noise=NOT_STATED,
    ridge=NOT_STATED,
    width=stated("Theorem 2"),
    oversampling=stated("6 a ln(4 T / δ) / ε²"),
)


class Player(Protocol):
    """A method that chooses arms and learns from their rewards."""

    def choose(self) -> int: ...

    def learn(self, arm: int, reward: float) -> None: ...


class Literal:
    """GP-UCB as it is written: the kernel matrix of all t rewards is factored in every round."""

    def __init__(self, problem: KernelFunction) -> None:
        with torch.no_grad():
            self._gram = problem.kernel(problem.space.points).to_dense().numpy()
        self._arms: list[int] = []
        self._rewards: list[float] = []

    def choose(self) -> int:
        t = len(self._arms)
        if t == 0:
            return 0
        across = self._gram[self._arms]
        factor = cho_factor(across[:, self._arms] + HERE.ridge * np.eye(t), lower=True)
        mean = across.T @ cho_solve(factor, np.array(self._rewards))
        explained = (solve_triangular(factor[0], across, lower=True) ** 2).sum(0)
        variance = np.maximum(np.diagonal(self._gram) - explained, 0.0)
        beta = HERE.beta(Progress(t, 0.0, 0, HERE.ridge))
        return int(np.argmax(mean + beta * np.sqrt(variance)))

    def learn(self, arm: int, reward: float) -> None:
        self._arms.append(arm)
        self._rewards.append(reward)


class Asking:
    """An optimiser as a player."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    def choose(self) -> int:
        return int(self._optimizer.ask().arm or 0)

    def learn(self, arm: int, reward: float) -> None:
        self._optimizer.tell(arm, reward)


def players(problem: KernelFunction, seed: int) -> dict[str, Callable[[], Player]]:
    """All with one width and the same ridge, so that they differ in their posterior alone."""
    space, kernel, ridge = problem.space, problem.kernel, HERE.ridge

    def sketch(make: Callable[..., Optimizer]) -> Callable[[], Player]:
        return lambda: Asking(
            variant(
                make(
                    space,
                    kernel,
                    noise=HERE.noise,
                    oversampling=HERE.oversampling,
                    ridge=ridge,
                    seed=seed,
                ),
                width=HERE.beta,
            )
        )

    return {
        LITERAL: lambda: Literal(problem),
        EXACT: lambda: Asking(gp_ucb(space, kernel, width=HERE.beta, ridge=ridge, seed=seed)),
        SKETCH: sketch(bkb),
        BATCHED: sketch(bbkb),
    }


def run(trial: Trial) -> Rows:
    """All on the same function and noise; the first round is on one random arm."""
    problem = random_function(
        trial.generator(Purpose.PROBLEM),
        kernels.squared_exponential(HERE.lengthscale),
        arms=HERE.arms,
        dimension=2,
    )
    world = trial.generator(Purpose.NOISE)
    first = int(world.integers(HERE.arms))
    errors = HERE.noise * world.standard_normal(trial.rounds)
    values = problem.values.numpy()
    numbers: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    kept = checkpoints(trial.rounds)
    for name, make in players(problem, trial.integer(Purpose.METHOD)).items():
        player, total = make(), 0.0
        started = time.process_time()
        for turn in range(trial.rounds):
            arm = first if turn == 0 else player.choose()
            player.learn(arm, float(values[arm] + errors[turn]))
            total += float(values.max() - values[arm])
            if turn + 1 in kept:
                spent = time.process_time() - started
                numbers.append({"algorithm": name, "round": turn + 1, "regret": total / (turn + 1)})
                times.append({"algorithm": name, "round": turn + 1, "seconds": spent})
    random = float(values.max() - values.mean())
    return {NUMBERS: numbers, "times": times, "problems": [{"random": random}]}


def checks(tables: Tables) -> list[Check]:
    """That sketches keep the regret, and that time is saved."""
    ends = final(tables).mean()
    times = tables["times"]
    seconds = times[times["round"] == times["round"].max()].groupby("algorithm")["seconds"].mean()
    return [
        *(
            Check(
                f"{name} ends within a fifth of the regret of exact GP-UCB",
                bool(ends[name] <= 1.2 * ends[LITERAL]),
                f"{ends[name]:.3g} against {ends[LITERAL]:.3g}",
            )
            for name in (SKETCH, BATCHED)
        ),
        *(
            Check(
                f"{name} needs less time than GP-UCB on all t rewards",
                bool(seconds[name] < seconds[LITERAL]),
                f"{seconds[name]:.2f} s against {seconds[LITERAL]:.2f} s a trial",
            )
            for name in (SKETCH, BATCHED)
        ),
    ]


def draw(tables: Tables, measure: Measure) -> Figure:
    """Regret against rounds, and against processor time."""
    numbers, times = tables[NUMBERS], tables["times"]
    figure, (left, right) = new_figure(2)
    for name, colour in colours_of(numbers["algorithm"]).items():
        one = numbers[numbers["algorithm"] == name].pivot(
            index="round", columns="trial", values="regret"
        )
        band(left, one, name, measure, colour)
        spent = times[times["algorithm"] == name].groupby("round")["seconds"].mean()
        right.plot(spent, one.mean(axis=1), color=colour, label=name)
    left.set(xlabel="round", ylabel=measure.label, ylim=(0, None))
    right.set(xlabel="seconds of one processor", xscale="log", ylim=(0, None))
    legend(figure, left)
    return figure


EXPERIMENTS = [
    Experiment(
        name="bkb-time",
        paper=PAPER_NAME,
        figure="no figure: sections 3 and 4",
        title="Regret against time",
        published=Scale(10, 1_000),
        quick=Scale(1, 250),
        run=run,
        says=(
            "BKB has the regret of exact GP-UCB up to a constant and a logarithm (Theorem 2), at "
            "a cost that falls from O(t²) a round and arm to O(d_eff²). The paper measures "
            "neither; this is the comparison that its theorems suggest."
        ),
        setting=(
            f"Random functions on {HERE.arms} uniform arms of [0, 1]², Gaussian noise, and one "
            "width and ridge for all. “GP-UCB, all t rewards” factors the "
            "kernel matrix of all rewards again each round, in NumPy; “GP-UCB” is the same process "
            "here, which counts pulls by arm. BBKB (2020) draws its dictionary once a batch. Times "
            "are of this machine, and not part of the numbers that a seed determines."
        ),
        output=FigureOutput(checks, draw),
        departures=departures(THEORY, {"all": HERE}),
    )
]
