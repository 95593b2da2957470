"""Searches under conditions: a given variable, a risk, limits, failures, levels, objectives.

What is scored is the recommendation, and what was measured on the way to it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import optuna
import torch
from optuna.samplers import RandomSampler
from torch import Tensor
from torch.quasirandom import SobolEngine

import surefoot as sf
from surefoot.integrations.optuna import SurefootSampler
from surefoot.spaces import truncated_normal
from surefoot_experiments.benchmarks.constrained_problems import PROBLEMS, VALUE
from surefoot_experiments.benchmarks.contexts import branin, hartmann, shift
from surefoot_experiments.benchmarks.front_search import PROBLEMS as FRONTS
from surefoot_experiments.benchmarks.front_search import problem, robust_front
from surefoot_experiments.benchmarks.fronts import DIMENSION, hypervolume
from surefoot_experiments.harness.trial import Rows, Trial
from surefoot_experiments.scoreboard.rivals.constrained_surefoot import ConstrainedSurefoot
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT, GAP, HALVES

CONDITIONS = "conditions"  # the table of their rows, and the suite in their cases
GIVEN, ENVIRONMENT, SAFE = "given-variable", "environment", "safe-search"
LIMITS, FRONT, LEVELS = "constraints", "several-objectives", "fidelity"
FAMILIES = (GIVEN, ENVIRONMENT, SAFE, LIMITS, FRONT, LEVELS)
ROUNDS, CHECKPOINTS = 40, (20, 40)
SEEDS = {DEVELOPMENT: (50, 51), CONFIRMATION: (60, 61)}
SUREFOOT, RANDOM = "surefoot", "random"
COST = "on the way"
"""Mean gap of what the later half of the rounds measures, failures so far, or the share of trials
beyond a limit so far; NaN where nothing on the way costs more than elsewhere."""
BEYOND = 2.0  # the gap of a recommendation beyond a limit, or of none
LEAST = 1e-3  # the smallest gap, in standard deviations of the function; what is nearer is solved
_POINTS = 2**13  # of a grid, on which the optimum is sought
_VALUES = 2**9  # of an environment, of which the truth is worked out
_NOISE, _DEGREES = 0.1, 2.5  # scale of Student-t noise, in standard deviations of the function
_BEND = 0.4  # largest share of the square in the map of a coordinate
_COSTS = (0.25, 1.0, 4.0)  # of a measurement at each level of fidelity
_GIVEN_AT = (0.2, 0.35, 0.5, 0.65, 0.8)  # values of the given variable that are recommended for

Function = Callable[[Tensor], Tensor]  # of points (n, d), to be maximised; conditions come first


class Condition(Protocol):
    """A problem with conditions."""

    @property
    def name(self) -> str:
        """Its name among all problems."""

    @property
    def family(self) -> str:
        """The family that it belongs to."""

    @property
    def halves(self) -> tuple[str, ...]:
        """The halves that it is in, with seeds of their own."""

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it: at checkpoints the rounds so far, the gap of the recommendation, and `COST`."""


@dataclass(frozen=True)
class Given:
    """The best configuration under a variable that is given before each choice.

    Args:
        name: The name of the function.
        function: The function; the given variable is the first of its coordinates.
        dimension: All of them.
        noise: Scale of the noise, in standard deviations of the function.
        spread: Both parameters of the beta distribution of what is given.
    """

    name: str
    function: Function
    dimension: int
    noise: float = _NOISE
    spread: float = 5.0
    family: str = GIVEN
    halves: tuple[str, ...] = HALVES

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says."""
        generator = np.random.default_rng([seed, 1])
        moved = _moved(self.function, self.dimension, seed)
        unit = float(moved(_grid(self.dimension)).std())
        names = [f"x{number}" for number in range(self.dimension)]
        space = sf.parameters.Space({name: sf.parameters.Float(0.0, 1.0) for name in names})
        optimizer = sf.algorithms.robust_ucb(sf.Problem(space), seed=seed)

        def value(params: Mapping[str, Any]) -> float:
            return float(moved(_row([params[name] for name in names])))

        def best(given: float) -> float:
            return _largest(
                lambda x: moved(torch.cat([x.new_full((len(x), 1), given), x], -1)),
                self.dimension - 1,
            )

        bests = {given: best(given) for given in _GIVEN_AT}
        regrets = []
        for number in range(1, ROUNDS + 1):
            first = {names[0]: float(generator.beta(self.spread, self.spread))}
            drawn = dict(zip(names[1:], generator.random(len(names) - 1).tolist(), strict=True))
            error = float(generator.standard_t(_DEGREES))
            asked: Any = first | drawn if random else optimizer.ask(within=first)
            params = asked if random else asked.params
            optimizer.tell(asked, value(params) / unit + self.noise * error)
            regrets.append((best(first[names[0]]) - value(params)) / unit)
            if number in CHECKPOINTS:
                found = [
                    optimizer.recommend(within={names[0]: given}).params for given in _GIVEN_AT
                ]
                gaps = [bests[params[names[0]]] - value(params) for params in found]
                yield number, _mean(gaps) / unit, _mean(regrets[number // 2 :])


@dataclass(frozen=True)
class Risky:
    """The design of the best risk over an environment whose values the search chooses.

    Args:
        name: The name of function, risk and environment.
        function: The function; the environment is the first of its coordinates.
        risk: What is maximised.
        values: How many values the environment has, 0 for a continuous one.
    """

    name: str
    function: Function
    risk: sf.risks.Risk
    values: int = 0
    family: str = ENVIRONMENT
    halves: tuple[str, ...] = HALVES

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says."""
        generator = np.random.default_rng([seed, 1])
        moved = _moved(self.function, 3, seed)
        environment = self._environment()
        spread = isinstance(self.risk, sf.WorstCase)
        support, _ = environment.values(_VALUES, torch.Generator().manual_seed(1), spread)
        weights = support.new_full((len(support),), 1.0 / len(support))

        def values(designs: Tensor) -> Tensor:
            pairs = [torch.cat([support, one.expand(len(support), -1)], -1) for one in designs]
            return moved(torch.cat(pairs)).reshape(len(designs), len(support))

        unit = float(values(_grid(2)[: _POINTS // 4]).std())
        best = _largest(lambda x: self.risk(values(x), weights), 2)
        joint = sf.Joint(sf.Box([0.0, 0.0], [1.0, 1.0]), environment)
        optimizer = sf.algorithms.robust_ucb(sf.Problem(joint, risk=self.risk), seed=seed)
        for number in range(1, ROUNDS + 1):
            x = torch.from_numpy(generator.random(2))
            z = support[int(generator.integers(len(support)))]
            error = float(generator.standard_t(_DEGREES))
            if not random:
                query = optimizer.ask()
                x, z = query.point[:2], torch.as_tensor(query.environment)
            measured = float(moved(torch.cat([z, x])[None])) / unit
            optimizer.tell(x, measured + _NOISE * error, z)
            if number in CHECKPOINTS:
                found = float(self.risk(values(optimizer.recommend().point[None, :2]), weights))
                yield number, (best - found) / unit, math.nan

    def _environment(self) -> sf.FiniteEnvironment | sf.ContinuousEnvironment:
        if self.values:
            return sf.FiniteEnvironment(torch.linspace(0.1, 0.9, self.values)[:, None].double())
        law = truncated_normal(0.5, 0.125, low=0.25, high=0.75)
        return sf.ContinuousEnvironment(law)


@dataclass(frozen=True)
class Safe:
    """The best configuration where others fail, from one that does not.

    Args:
        name: The name of where configurations fail.
        function: The function.
        fails: Whether points (n, d) fail.
        start: A point that does not.
    """

    name: str
    function: Function
    fails: Function
    start: tuple[float, ...]
    family: str = SAFE
    halves: tuple[str, ...] = HALVES

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says; a recommendation that fails has the gap of the start."""
        generator = np.random.default_rng([seed, 1])
        dimension = len(self.start)
        grid = _grid(dimension)
        values = self.function(grid)
        unit, best = float(values.std()), float(values[~self.fails(grid)].max())
        problem = sf.Problem(sf.Box([0.0] * dimension, [1.0] * dimension), safe=True)
        optimizer = sf.algorithms.robust_ucb(problem, seed=seed)
        start = [one + 0.1 * (generator.random() - 0.5) for one in self.start]
        optimizer.tell(start, float(self.function(_row(start))) / unit)
        failures = 0
        for number in range(1, ROUNDS + 1):
            drawn = torch.from_numpy(generator.random(dimension))
            error = float(generator.standard_t(_DEGREES))
            point = drawn if random else optimizer.ask().point
            if self.fails(point[None]):
                failures += 1
                optimizer.forget(point)
            else:
                measured = float(self.function(point[None])) / unit
                optimizer.tell(point, measured + _NOISE * error)
            if number in CHECKPOINTS:
                found = optimizer.recommend().point[None]
                found = _row(start) if self.fails(found) else found
                yield number, (best - float(self.function(found))) / unit, float(failures)


@dataclass(frozen=True)
class Levelled:
    """The best configuration at the last of three levels; rounds are the cost that was spent.

    Args:
        name: The name of function and levels.
        function: The function.
        dimension: Its coordinates.
        share: Share of the function that the lower levels have; the rest is a wave.
        offset: By how much the last level is above the middle one, in standard deviations of the
            function; above the lowest one it is five times that.
    """

    name: str
    function: Function
    dimension: int
    share: float = 1.0
    offset: float = 0.0
    family: str = LEVELS
    halves: tuple[str, ...] = HALVES

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says; random search measures at the last level alone."""
        generator = np.random.default_rng([seed, 1])
        moved, d = _moved(self.function, self.dimension, seed), self.dimension
        unit, best = float(moved(_grid(d)).std()), _largest(moved, d)
        fidelity = sf.Fidelity(_COSTS, cost=_COSTS)
        problem = sf.Problem(sf.Box([0.0] * d, [1.0] * d), fidelity=fidelity)
        optimizer, spent = sf.algorithms.robust_ucb(problem, seed=seed), 0.0
        for number in CHECKPOINTS:
            while spent < number:
                x, level = torch.from_numpy(generator.random(d)), _COSTS[-1]
                error = float(generator.standard_t(_DEGREES))
                if not random:
                    query = optimizer.ask()
                    x, level = query.point, float(torch.as_tensor(query.environment))
                value, lack = float(moved(x[None])) / unit, _COSTS[-1] / level - 1.0
                if lack:
                    value = self.share * value + (1.0 - self.share) * float((9.0 * x).sin().sum())
                value -= self.offset * lack / 3.0
                optimizer.tell(x, value + _NOISE * error, level)
                spent += level
            found = float(moved(optimizer.recommend().point[None]))
            yield number, (best - found) / unit, math.nan


@dataclass(frozen=True)
class Limited:
    """A problem with noisy constraints, which is in one half.

    Args:
        name: Its name in `constrained_problems`.
    """

    name: str
    family: str = LIMITS

    @property
    def halves(self) -> tuple[str, ...]:
        """Its half."""
        return (PROBLEMS[self.name].half,)

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says; on the way, the share of trials beyond a limit."""
        problem = PROBLEMS[self.name]
        study = ConstrainedSurefoot(problem.space, seed, problem.limits)
        if random:
            study.study.sampler = RandomSampler(seed)
        generator = np.random.default_rng([seed, 1])
        beyond = []
        for number in range(1, ROUNDS + 1):
            point = study.ask()
            measured = problem.measure(point, generator)
            study.tell(point, measured.pop(VALUE), **measured)
            beyond.append(float(problem.violation(point) > 0.0))
            if number in CHECKPOINTS:
                found = study.recommend()
                outside = not found or problem.violation(found) > 0.0
                yield number, BEYOND if outside else problem.regret(found), _mean(beyond)


@dataclass(frozen=True)
class Fronted:
    """Two objectives, of whose front the share of the hypervolume that is missed is scored.

    Args:
        function: Name of the functions in `front_search`.
        noise: Name of their noise.
    """

    function: str
    noise: str
    family: str = FRONT
    halves: tuple[str, ...] = HALVES

    @property
    def name(self) -> str:
        """Functions and noise."""
        return f"{self.function}-{self.noise}"

    def run(self, seed: int, random: bool) -> Iterator[tuple[int, float, float]]:
        """Play it, as `Condition` says."""
        own = torch.Generator().manual_seed(seed)
        function, reference, measured = problem(self.function, self.noise, ROUNDS, own)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = RandomSampler(seed) if random else SurefootSampler(seed=seed)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        best = _best_front(self.function)
        truth: list[Any] = []
        for number in range(1, ROUNDS + 1):
            trial = study.ask()
            x = [trial.suggest_float(f"x{index}", 0.0, 1.0) for index in range(DIMENSION)]
            truth.append(function(np.array(x)))
            study.tell(trial, measured(truth[-1], trial.number).tolist())
            if number in CHECKPOINTS:
                reached = hypervolume(np.array(truth)[robust_front(study)], reference)
                missed = 1.0 - reached / hypervolume(best, reference)
                yield number, float(missed), math.nan


def _best_front(name: str) -> Any:
    """Values (n, 2) of the Pareto front of a function of `front_search`."""
    rest = [0.5 if name == "dtlz2" else 0.0] * (DIMENSION - 1)
    return np.array([FRONTS[name][0](np.array([t, *rest])) for t in np.linspace(0.0, 1.0, 1001)])


def _moved(function: Function, dimension: int, seed: int) -> Function:
    """The function with coordinates that are mirrored and bent, by the seed."""
    generator = np.random.default_rng([seed, 2])
    mirrored = torch.from_numpy(generator.random(dimension) < 0.5)
    bent = torch.from_numpy(generator.uniform(0.0, _BEND, dimension))

    def moved(points: Tensor) -> Tensor:
        turned = torch.where(mirrored, 1.0 - points, points)
        return function((1.0 - bent) * turned + bent * turned.square())

    return moved


def _grid(dimension: int) -> Tensor:
    return SobolEngine(dimension).draw(_POINTS, dtype=torch.float64)


def _largest(function: Function, dimension: int) -> float:
    """The largest value of a function on the unit cube, from a grid and finer ones around."""
    points = _grid(dimension)[: _POINTS // 4]
    best, largest = points[:1], -math.inf
    for radius in (1.0, 0.05, 0.01, 0.002, 0.0004):
        around = points if radius == 1.0 else (best + radius * (2.0 * points - 1.0)).clamp(0.0, 1.0)
        values = function(around)
        if float(values.max()) > largest:
            best, largest = around[values.argmax()][None], float(values.max())
    return largest


def _row(values: list[float]) -> Tensor:
    return torch.tensor([values], dtype=torch.float64)


def _mean(values: list[float]) -> float:
    return float(np.mean(values))


def _follow(points: Tensor) -> Tensor:
    """Best where the first parameter follows the condition, and the second does not."""
    first = points[:, 1] - 0.2 - 0.6 * points[:, 0]
    return -20.0 * first.square() - 6.0 * (points[:, 2] - 0.5).square() - 5.0 * points[:, 0]


def _switch(points: Tensor) -> Tensor:
    """Two valleys, of which the condition decides."""
    left = torch.exp(-20.0 * (points[:, 1] - 0.2).square()) * (1.3 - points[:, 0])
    right = torch.exp(-20.0 * (points[:, 1] - 0.8).square()) * (0.3 + points[:, 0])
    return left + right - 0.3 * (points[:, 2] - 0.5).square()


def _bowl(points: Tensor) -> Tensor:
    """A bowl that moves with the condition and is steeper at its ends."""
    off = points[:, 0] - 0.5
    moved = points[:, 2] - 0.5 + 0.5 * off
    return (
        -4.0 * (points[:, 1] - 0.5).square() - 6.0 * moved.square() - 2.0 * off.abs() * points[:, 1]
    )


def _wave(points: Tensor) -> Tensor:
    """A wave of parameter and condition with a ridge."""
    ridge = (points[:, 2] - points[:, 0]).abs()
    return torch.sin(6.0 * points[:, 1] + 3.0 * points[:, 0]) - 2.0 * ridge


def _to(*best: float) -> Function:
    """A bowl."""
    at = torch.tensor(best, dtype=torch.float64)
    return lambda points: -(points - at).square().sum(-1)


def _within(*center: float, radius: float) -> Function:
    at = torch.tensor(center, dtype=torch.float64)
    return lambda points: (points - at).square().sum(-1) < radius**2


ALL: tuple[Condition, ...] = (
    Given("shift", shift, 2, noise=0.01, spread=1.0),
    Given("follow", _follow, 3),
    Given("branin", branin, 2),
    Given("hartmann", hartmann, 3, spread=1.0),
    Given("switch", _switch, 3),
    Risky("bowl-worst", _bowl, sf.WorstCase()),
    Risky("wave-var", _wave, sf.VaR(0.1)),
    Risky("switch-cvar-5", _switch, sf.CVaR(0.1), 5),
    Risky("hartmann-mean-5", hartmann, sf.risks.Mean(), 5),
    Risky("follow-worst-3", _follow, sf.WorstCase(), 3),
    Safe("cliff", lambda points: points.sum(-1), lambda points: points.sum(-1) > 1.1, (0.2, 0.2)),
    Safe("cliff-4", lambda points: points.sum(-1), lambda points: points.sum(-1) > 2.2, (0.3,) * 4),
    Safe("wall", _to(0.5, 0.4), lambda points: points[:, 0] > 0.6, (0.15, 0.15)),
    Safe("hole", _to(0.75, 0.75), _within(0.5, 0.5, radius=0.12), (0.15, 0.2)),
    Levelled("levels-alike", hartmann, 3),
    Levelled("levels-apart", branin, 2, 0.9, 20.0),
    Levelled("levels-apart-4", _to(0.3, 0.7, 0.4, 0.6), 4, 0.9, 3.0),
    Levelled("levels-worthless", shift, 2, 0.0),
    *(Limited(name) for name in PROBLEMS),
    Fronted("dtlz2", "spikes"),
    Fronted("zdt1", "gaussian"),
    Fronted("zdt3", "spikes"),
)


def run(trial: Trial) -> Rows:
    """One problem; the case is "conditions/NAME RIVAL", and the number is the seed."""
    torch.set_num_threads(1)
    name, rival = trial.case.partition("/")[2].split(" ")
    one = next(each for each in ALL if each.name == name)
    half = next(half for half in HALVES if trial.number in SEEDS[half])
    labels = {"task": name, "kind": one.family, "half": half, "rival": rival}
    with warnings.catch_warnings(action="ignore"):
        found = list(one.run(trial.number, rival == RANDOM))
    return {
        CONDITIONS: [
            labels | {"evaluations": number, GAP: max(gap, LEAST), COST: cost}
            for number, gap, cost in found
        ]
    }
