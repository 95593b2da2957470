"""Random events on random optimizers, on two copies of which one is looked at, saved and loaded.

Each sequence draws a composition (space x features x estimator x risk) and a few dozen events:
asks, rewards in any order, second rewards, rewards of other points, failures, measurements that
were not asked for. One copy does nothing else. The other is saved and loaded, pickled, asked for
its recommendation, and given input that it must refuse. Both must ask the same queries.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributions import Uniform

import surefoot as sf
from surefoot.hyperparameters import GivenHyperparameters

_MOMENT = sf.Moment(1.0, 10.0)
_ARMS = torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
_LINE = torch.linspace(0.0, 1.0, 7, dtype=torch.float64).unsqueeze(-1)
_MANY = 1100  # rewards beyond which some estimators keep a digest

Choice = dict[str, Callable[[], Any]]

PLAIN: Choice = {
    "arms": lambda: sf.Arms(_ARMS),
    "bare": lambda: sf.Arms(12),
    "box": lambda: sf.Box([0.0, 0.0], [1.0, 1.0]),
    "mixed": lambda: sf.Box([0.0] * 4, [1.0] * 4, levels={1: [0, 0.2, 1]}, choices=[(2, 3)]),
}
JOINT: Choice = {
    "joint-arms": lambda: sf.Joint(sf.Arms(_LINE), sf.FiniteEnvironment([0.0, 0.4, 1.0])),
    "joint-box": lambda: sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([0.0, 0.4, 1.0])),
    "joint-density": lambda: sf.Joint(sf.Arms(_LINE), sf.ContinuousEnvironment(Uniform(0.0, 1.0))),
    "joint-observed": lambda: sf.Joint(
        sf.Arms(_LINE), sf.FiniteEnvironment([0.0, 0.4, 1.0]), observed=True
    ),
}
SPACES = PLAIN | JOINT
FEATURES: Choice = {
    "exact": sf.Exact,
    "quadrature": lambda: sf.QuadratureFourier(4),
    "random-fourier": lambda: sf.RandomFourier(24, seed=1),
    "greedy": lambda: sf.Nystrom(sf.PivotedCholesky(8)),
    "every-round": lambda: sf.Nystrom(sf.LeverageSampling(3.0)),
    "batches": lambda: sf.Nystrom(sf.LeverageSampling(3.0, "adaptive")),
    "immediate": lambda: sf.Nystrom(sf.LeverageSampling(3.0, "adaptive", feedback="immediate")),
}
ESTIMATORS: Choice = {
    "least-squares": sf.LeastSquares,
    "truncation": lambda: sf.Truncation(_MOMENT),
    "adaptive-truncation": lambda: sf.AdaptiveTruncation(_MOMENT),
    "huber": sf.Huber,
    "growing-huber": lambda: sf.Huber(growing=True),
    "student-t": sf.StudentT,
}
RISKS: Choice = {
    "var": lambda: sf.VaR(0.3),
    "cvar": lambda: sf.CVaR(0.4),
    "worst": sf.WorstCase,
    "mean": sf.Mean,
}


@dataclass
class Figures:
    """What came of the sequences.

    Args:
        sequences: How many were played to their end.
        events: Events in them.
        differing: Descriptions of those in which the copies asked different queries.
        raw: Descriptions of errors that are not surefoot's own.
        accepted: Descriptions of wrong input that was not refused.
    """

    sequences: int = 0
    events: int = 0
    differing: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.differing or self.raw or self.accepted)


def play(count: int, seed: int = 0, events: int = 40) -> Figures:
    """Play random sequences.

    Args:
        count: How many.
        seed: Seed of the first; each has its own.
        events: Events in each.

    Returns:
        The figures.
    """
    figures = Figures()
    for number in range(count):
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            _Sequence(np.random.default_rng([seed, number]), Path(folder), figures).play(events)
    return figures


class _Sequence:
    def __init__(self, random: np.random.Generator, folder: Path, figures: Figures) -> None:
        self._random, self._figures = random, figures
        self._file = folder / "run"
        self._label, self._make = self._composition()

    def play(self, events: int) -> None:
        try:
            quiet, busy = self._make(), self._make()
        except sf.SurefootError:
            return  # parts that do not go together
        pending: list[tuple[sf.Query, sf.Query]] = []
        told: list[tuple[sf.Query, sf.Query]] = []
        try:
            if self._random.random() < 0.15 and isinstance(quiet.space, sf.Arms):
                arms = self._random.integers(len(quiet.space), size=_MANY)
                rewards = self._random.standard_t(2, size=_MANY).tolist()
                quiet.tell_all(arms.tolist(), rewards)
                busy.tell_all(arms.tolist(), rewards)
            for step in range(events):
                busy = self._disturbed(busy)
                self._figures.events += 1
                if not self._event(quiet, busy, pending, told):
                    self._figures.differing.append(f"{self._label}, event {step}")
                    return
            self._figures.sequences += 1
        except Exception as error:
            self._figures.raw.append(f"{self._label}: {type(error).__name__}: {error}"[:300])

    def _composition(self) -> tuple[str, Callable[[], sf.Optimizer]]:
        one = {
            "space": str(self._random.choice([*SPACES])),
            "features": str(self._random.choice([*FEATURES])),
            "estimator": str(self._random.choice([*ESTIMATORS])),
            "risk": str(self._random.choice([*RISKS])),
        }
        standardise, fits = self._random.random() < 0.4, self._random.random() < 0.1
        initial = int(self._random.choice([0, 0, 4]))
        repeat_until = float(self._random.choice([1.0, 1.0, 2.0]))
        bare = one["space"] == "bare"

        def make() -> sf.Optimizer:
            space = SPACES[one["space"]]()
            kernel = sf.kernels.squared_exponential(0.4)
            if bare:
                kernel = sf.kernels.precomputed(
                    torch.exp(-0.1 * (torch.arange(12.0)[:, None] - torch.arange(12.0)) ** 2)
                )
            return sf.Optimizer(
                sf.Problem(space, risk=RISKS[one["risk"]]() if one["space"] in JOINT else None),
                sf.Method(
                    None if fits and not bare else GivenHyperparameters(kernel, 0.1, standardise),
                    features=FEATURES[one["features"]](),
                    estimator=ESTIMATORS[one["estimator"]](),
                    plan=sf.acquisition.Plan(initial, repeat_until),
                ),
                seed=3,
            )

        return " ".join(one.values()), make

    def _disturbed(self, busy: sf.Optimizer) -> sf.Optimizer:
        """The copy after what must not change a run."""
        kind = self._random.integers(12)
        if kind == 0:
            busy.save(self._file)
            density = isinstance(busy.space, sf.Joint) and not hasattr(
                busy.space.environment, "points"
            )
            parts: dict[str, Any] = {"space": busy.space} if density else {}
            return sf.Optimizer.load(self._file, **parts)
        if kind == 1:
            return pickle.loads(pickle.dumps(busy))
        if kind == 2 and len(busy.history):
            busy.recommend()
        elif kind == 3 and len(busy.history):
            belief = busy.belief()
            _ = belief.posterior, belief.weights, busy.width, busy.pending
        elif kind == 4:
            self._refused(busy)
        return busy

    def _refused(self, busy: sf.Optimizer) -> None:
        attempts: list[Callable[[], object]] = [
            lambda: busy.tell(0, float("nan")),
            lambda: busy.tell([1e9] * busy.space.design.dimension, 1.0),
            lambda: busy.tell(10**9, 1.0),
            lambda: busy.tell_all([0, 1], [1.0]),
            lambda: busy.forget([torch.nan]),
            lambda: busy.ask(arms=[]),
            lambda: busy.recommend("median"),  # type: ignore[arg-type]
            lambda: busy.reseed(-1),
        ]
        attempt = self._random.integers(len(attempts))
        try:
            attempts[attempt]()
        except sf.SurefootError:
            return
        self._figures.accepted.append(f"{self._label}: attempt {attempt}")

    def _event(
        self,
        quiet: sf.Optimizer,
        busy: sf.Optimizer,
        pending: list[tuple[sf.Query, sf.Query]],
        told: list[tuple[sf.Query, sf.Query]],
    ) -> bool:
        """One event on both; whether they asked the same."""
        kind = self._random.random()
        reward = float(self._random.standard_t(2))
        if kind < 0.45 or not pending:
            pair = (quiet.ask(), busy.ask())
            pending.append(pair)
            return _same(*pair)
        pair = pending[int(self._random.integers(len(pending)))]
        if kind < 0.8:
            z = self._environment(quiet)
            left, right = quiet.tell(pair[0], reward, z), busy.tell(pair[1], reward, z)
            if not any(query.id == pair[0].id for query in quiet.pending):
                pending.remove(pair)
                told.append(pair)
            return left.width == right.width and left.dimension == right.dimension
        if kind < 0.86:
            failed = self._random.random() < 0.5
            quiet.forget(pair[0], failed=failed)
            busy.forget(pair[1], failed=failed)
            pending.remove(pair)
        elif kind < 0.92 and told:
            pair, z = told[-1], self._environment(quiet)
            quiet.tell(pair[0], reward, z)
            busy.tell(pair[1], reward, z)
        elif kind < 0.96:
            point, z = self._point(quiet), self._environment(quiet)
            if z is not None or not isinstance(quiet.space, sf.Joint):
                quiet.tell(point, reward, z)
                busy.tell(point, reward, z)
                open_ = {query.id for query in quiet.pending}
                pending[:] = [pair for pair in pending if pair[0].id in open_]
        else:
            point = self._point(quiet)
            z = None if not isinstance(quiet.space, sf.Joint) else self._value(quiet.space)
            pending.append((quiet.expect(point, z), busy.expect(point, z)))
        return True

    def _point(self, optimizer: sf.Optimizer) -> Any:
        design = optimizer.space.design
        if isinstance(design, sf.Arms):
            return int(self._random.integers(len(design)))
        generator = torch.Generator().manual_seed(int(self._random.integers(2**31)))
        return design.sample(1, generator)[0]

    def _environment(self, optimizer: sf.Optimizer) -> Any:
        """A value of the world where it draws it, None where the query has one."""
        space = optimizer.space
        return self._value(space) if isinstance(space, sf.Joint) and space.observed else None

    def _value(self, space: Any) -> torch.Tensor:
        generator = torch.Generator().manual_seed(int(self._random.integers(2**31)))
        return space.environment.sample(1, generator)[0]


def _same(left: sf.Query, right: sf.Query) -> bool:
    same = left.id == right.id and left.arm == right.arm and left.repeats == right.repeats
    z, other = left.environment, right.environment
    if (z is None) != (other is None):
        return False
    if z is not None and other is not None:
        same = same and torch.equal(z, other)
    return same and torch.equal(left.point, right.point)
