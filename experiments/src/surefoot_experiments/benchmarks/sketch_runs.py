"""Running several methods on one problem in turns, with the regret and time of each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np

import surefoot as sf
from surefoot.widths import Width
from surefoot_experiments.baselines import as_published
from surefoot_experiments.harness.variants import variant
from surefoot_experiments.problems import KernelFunction, random_function

NOISE = 0.1  # standard deviation of a reward
RIDGE = NOISE**2  # BKB's lambda = xi^2
DELTA = 0.1
Inclusion = Literal["per-arm", "per-pull"]


def many_arms(seed: int, arms: int, dimension: int = 2, lengthscale: float = 0.2) -> KernelFunction:
    """A random function on uniform points, 100 of them its supports."""
    random = np.random.default_rng([seed, arms])
    kernel = sf.kernels.squared_exponential(lengthscale)
    return random_function(random, kernel, arms=arms, dimension=dimension)


def published(norm: float) -> as_published.BKB:
    """The width of the authors' published code."""
    return as_published.BKB(norm, NOISE, DELTA)


def theorem(norm: float, scale: float = 1.0) -> sf.widths.bkb:
    """The width of BKB's Theorem 2."""
    return sf.widths.bkb(norm, NOISE, DELTA, scale=scale)


class Player(Protocol):
    """A method that chooses arms."""

    batches: int  # dictionaries drawn

    def choose(self) -> int:
        """The next arm."""

    def learn(self, arm: int, reward: float) -> int:
        """Take in its reward; gives the number of features in use."""


class Asking:
    """A surefoot optimiser as a player."""

    def __init__(self, optimizer: sf.Optimizer) -> None:
        self.optimizer = optimizer
        self.batches = 0
        self._query: sf.Query | None = None
        self._gain: float | None = None

    def choose(self) -> int:
        self._query = self.optimizer.ask()
        return int(self._query.arm or 0)

    def learn(self, arm: int, reward: float) -> int:
        info = self.optimizer.tell(arm if self._query is None else self._query, reward)
        self.batches += info.information_gain != self._gain  # it stays for as long as a batch does
        self._gain, self._query = info.information_gain, None
        return info.dimension


def budgeted(
    make: Callable[..., sf.Optimizer],
    problem: KernelFunction,
    oversampling: float,
    inclusion: Inclusion,
    width: Width,
    seed: int,
) -> Asking:
    """BKB or BBKB, with the noise of the rewards and the ridge that belongs to it."""
    made = make(
        problem.space,
        problem.kernel,
        noise=NOISE,
        oversampling=oversampling,
        ridge=RIDGE,
        seed=seed,
    )
    features: Any = made.method.features
    rule = replace(features.dictionary, inclusion=inclusion)
    return Asking(variant(made, features=sf.Nystrom(rule), width=width))


class Track:
    """A player on a problem; `noise` is that of each round, whatever arm is pulled in it."""

    def __init__(self, player: Player, values: np.ndarray, noise: np.ndarray) -> None:
        self.player = player
        self.values = values
        self.arms: list[int] = []
        self.seconds: list[float] = []  # of each round
        self.dimensions: list[int] = []
        self._noise = noise
        self._best = float(values.max())

    def run(self, rounds: int) -> None:
        """Run some rounds more."""
        for _ in range(rounds):
            started = time.process_time()
            arm = self.player.choose()
            reward = self._reward(arm)
            dimension = self.player.learn(arm, reward)
            self._note(arm, time.process_time() - started, dimension)

    def open_with(self, arm: int) -> None:
        """A first round on a given arm, whose time does not count."""
        self._note(arm, 0.0, self.player.learn(arm, self._reward(arm)))

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return len(self.arms)

    def regret(self, rounds: int) -> float:
        """R_t / t after a number of rounds."""
        return self._best - float(self.values[self.arms[:rounds]].mean())

    def milliseconds(self, rounds: int) -> float:
        """Mean time of the first rounds, in milliseconds."""
        return 1e3 * float(np.mean(self.seconds[:rounds]))

    def dimension(self, rounds: int) -> float:
        """Mean number of features over the second half of the first rounds."""
        return float(np.mean(self.dimensions[rounds // 2 : rounds]))

    def _reward(self, arm: int) -> float:
        return float(self.values[arm] + self._noise[self.rounds])

    def _note(self, arm: int, seconds: float, dimension: int) -> None:
        self.arms.append(arm)
        self.seconds.append(seconds)
        self.dimensions.append(dimension)


def in_turns(tracks: Sequence[Track], rounds: int, block: int) -> None:
    """Run every track to a number of rounds, a block of each after the other."""
    while any(track.rounds < rounds for track in tracks):
        for track in tracks:
            track.run(min(block, rounds - track.rounds))
