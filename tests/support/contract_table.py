"""The table that every contract is checked on.

Spaces x features x estimators x risks x batches x policies.

A cell is one choice of each. `PAIRS` holds cells such that any two choices that go together meet in
at least one of them.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Uniform

import surefoot as sf
from support.device import DEVICE
from support.feature_rules import greedy, sampled
from support.kernel_cases import table
from support.optimizers import optimizer_of
from surefoot.beliefs import Belief, gains
from surefoot.regression.observations import Pull

MOMENT = sf.Moment(1.0, 100.0)
RIDGE = 0.3
GRAM = table(4)
PLANE = torch.rand(24, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LINE = torch.tensor([[0.0], [0.13], [0.3], [0.42], [0.61], [0.77], [1.0]], dtype=torch.float64)


def few() -> sf.FiniteEnvironment:
    return sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])


def unit() -> sf.Box:
    return sf.Box([0.0], [1.0])


def density() -> sf.ContinuousEnvironment:
    return sf.ContinuousEnvironment(Uniform(0.0, 1.0))


PLAIN: dict[str, Callable[[], Any]] = {
    "arms": lambda: sf.Arms(PLANE),
    "bare": lambda: sf.Arms(12),
    "box": lambda: sf.Box([0.0, 10.0], [1.0, 30.0]),
    "mixed": lambda: sf.Box([0.0] * 5, [1.0] * 5, levels={1: [0, 0.2, 1]}, choices=[(2, 3, 4)]),
}
JOINT: dict[str, Callable[[], Any]] = {
    "joint-arms": lambda: sf.Joint(sf.Arms(LINE), few()),
    "joint-bare": lambda: sf.Joint(sf.Arms(4), sf.FiniteEnvironment([0.0, 0.5, 1.0])),
    "joint-box": lambda: sf.Joint(unit(), few()),
    "joint-density": lambda: sf.Joint(unit(), density()),
    "joint-observed": lambda: sf.Joint(sf.Arms(LINE), few(), observed=True),
}
SPACES = PLAIN | JOINT
TABULAR = ("arms", "bare", "joint-arms", "joint-bare", "joint-observed")
WITHOUT_COORDINATES = ("bare", "joint-bare")
SMOOTH = ("arms", "box", "joint-arms", "joint-box", "joint-observed")


def dictionary(space: Any) -> sf.Dictionary:
    """A dictionary that is given: some of the points that the model may see."""
    return sf.Dictionary(locations(space, 9, seed=2).seen)


LASTING: dict[str, Callable[[Any], Any]] = {
    "exact": lambda space: sf.Exact(),
    "quadrature": lambda space: sf.QuadratureFourier(10),
    "random-waves": lambda space: sf.RandomFourier(32, seed=1),
    "dictionary": dictionary,
}
CHANGING: dict[str, Callable[[Any], Any]] = {
    "greedy": lambda space: greedy(8),
    "sampled": lambda space: sampled(3.0),
    "sampled-per-arm": lambda space: sampled(3.0, inclusion="per-arm"),
    "batches": lambda space: sampled(3.0, "adaptive"),
    "adaptive": lambda space: sampled(3.0, "adaptive", feedback="immediate"),
}
FEATURES = LASTING | CHANGING

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "least-squares": sf.LeastSquares,
    "truncation": lambda: sf.Truncation(MOMENT),
    "adaptive-truncation": lambda: sf.AdaptiveTruncation(MOMENT),
    "huber": sf.Huber,
    "growing-huber": lambda: sf.Huber(growing=True),
    "student-t": sf.StudentT,
}
RISKS: dict[str, Callable[[], Any]] = {
    "var": lambda: sf.VaR(0.3),
    "cvar": lambda: sf.CVaR(0.4),
    "worst": sf.WorstCase,
    "mean": sf.Mean,
}
BATCHES = (1, 3)
POLICIES: dict[str, Callable[[], Any]] = {
    "bound": sf.acquisition.UpperConfidenceBound,
    "draw": sf.acquisition.ThompsonSampling,
    "guarded": partial(sf.acquisition.Guarded, heuristic=sf.widths.constant(0.5)),
}


@dataclass(frozen=True)
class Locations:
    """Designs (n, dx), environments (n, dz) where there are any, and what the model sees (n, d)."""

    x: Tensor
    z: Tensor | None
    seen: Tensor

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor | None]]:
        return zip(self.x, [None] * len(self.x) if self.z is None else self.z, strict=True)


def locations(space: Any, number: int, seed: int = 3) -> Locations:
    """Random locations of a space, some of arms more than once."""
    generator = torch.Generator().manual_seed(seed)
    design = space.design if isinstance(space, sf.Joint) else space
    if isinstance(design, sf.Arms):
        x = design.points[torch.randint(len(design), (number,), generator=generator)]
    else:
        x = design.sample(number, generator)
    if not isinstance(space, sf.Joint):
        return Locations(x, None, x)
    z = space.environment.sample(number, generator).to(x)
    if isinstance(design, sf.Arms) and not design.has_coordinates:
        values = space.environment.points.to(x)
        index = (values - z.unsqueeze(1)).abs().sum(-1).argmin(-1)
        return Locations(x, z, x * len(values) + index.unsqueeze(-1))
    return Locations(x, z, torch.cat([x, z], -1))


def kernel_on(space: str) -> Any:
    if space in WITHOUT_COORDINATES:
        return sf.kernels.precomputed(GRAM)
    lengthscale = {"box": [0.4, 8.0], "mixed": [0.7] * 5}.get(space, 0.4)
    return sf.kernels.squared_exponential(lengthscale)


@dataclass(frozen=True)
class Cell:
    """One space with one way to put an optimiser together."""

    space: str
    features: str = "exact"
    estimator: str = "least-squares"
    risk: str | None = None
    batch: int = 1
    policy: str = "bound"

    @property
    def is_possible(self) -> bool:
        """Whether the parts go together at all."""
        waves = self.features in ("quadrature", "random-waves")
        impossible = waves and self.space not in SMOOTH
        return not impossible and (self.risk is None) is not (self.space in JOINT)

    @property
    def choices(self) -> set[tuple[tuple[str, Any], ...]]:
        """All pairs of choices that this cell has."""
        named = [*vars(self).items()]
        return set(itertools.combinations(named, 2))

    def build(self, seed: int = 0, **parts: Any) -> sf.Optimizer:
        space = SPACES[self.space]().to(DEVICE)
        given = {
            "features": FEATURES[self.features](space),
            "estimator": ESTIMATORS[self.estimator](),
            "risk": None if self.risk is None else RISKS[self.risk](),
            "policy": POLICIES[self.policy](),
            "ridge": RIDGE,
        }
        return optimizer_of(space, kernel_on(self.space), seed=seed, **{**given, **parts})

    def reloaded(self, optimizer: sf.Optimizer, path: Path) -> sf.Optimizer:
        """The optimiser from its file, with the space where that cannot be in it."""
        optimizer.save(path)
        parts = {"space": optimizer.space} if self.space == "joint-density" else {}
        return sf.Optimizer.load(path, device=DEVICE, **parts)

    def __str__(self) -> str:
        policy = None if self.policy == "bound" else self.policy
        words = (self.space, self.features, self.estimator, self.risk, f"by-{self.batch}", policy)
        return "-".join(word for word in words if word)


def in_pairs(cells: Iterable[Cell]) -> list[Cell]:
    """Few of the cells that have every pair of choices between them, greedily.

    A cell never adds more pairs than it did before, so that only the first in line are counted.
    """
    bits: dict[object, int] = {}
    line = []
    for place, cell in enumerate(cells):
        pairs = sum(1 << bits.setdefault(pair, len(bits)) for pair in cell.choices)
        line.append((-pairs.bit_count(), place, cell, pairs))
    missing = (1 << len(bits)) - 1
    chosen = []
    heapq.heapify(line)
    while missing:
        _, place, cell, pairs = line[0]
        entry = (-(pairs & missing).bit_count(), place, cell, pairs)
        if entry[0] != line[0][0]:
            heapq.heapreplace(line, entry)
            continue
        heapq.heappop(line)
        missing &= ~pairs
        chosen.append(cell)
    return chosen


def crossed() -> Iterator[Cell]:
    for space, features, estimator, batch, policy in itertools.product(
        SPACES, FEATURES, ESTIMATORS, BATCHES, POLICIES
    ):
        for risk in RISKS if space in JOINT else (None,):
            cell = Cell(space, features, estimator, risk, batch, policy)
            if cell.is_possible:
                yield cell


PAIRS = in_pairs(crossed())


def cells(among: Iterable[Cell]) -> list[Any]:
    """The cells as pytest parameters."""
    return [pytest.param(cell, id=str(cell)) for cell in among]


def table_of(**choices: Iterable[Any]) -> list[Cell]:
    """All possible cells of the choices given, by the names of the fields of `Cell`.

    A joint space has the value at risk as its risk.
    """
    found = []
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        risk = "var" if chosen["space"] in JOINT else None
        cell = Cell(**{"risk": risk, **chosen})
        if cell.is_possible:
            found.append(cell)
    return found


def reward(x: Tensor, z: Tensor | None, step: int) -> float:
    """A function of the location and the step alone; every 7th is an outlier."""
    total = x.sum() if z is None else x.sum() + 3.0 * z.sum()
    outlier = 20.0 if step % 7 == 6 else 0.0
    return float(torch.sin(3.0 * total)) + 0.1 * float(np.sin(97.0 * step)) + outlier


def inform(optimizer: sf.Optimizer, number: int = 8, seed: int = 3) -> Locations:
    """Tell rewards at random locations, one after another."""
    where = locations(optimizer.space, number, seed)
    for step, (x, z) in enumerate(where):
        optimizer.tell(x, reward(x, z, step), z)
    return where


@dataclass
class Play:
    """Rounds of ask and tell; of a batch of three, one reward comes a batch late."""

    optimizer: sf.Optimizer
    batch: int
    step: int = 0
    late: list[sf.Query] = field(default_factory=list)

    def round(self) -> list[list[float]]:
        """Ask for one batch and tell it; gives what was asked."""
        if self.batch == 1:
            queries = [self._ask()]
            self._tell(queries[0])
        else:
            queries = self.optimizer.ask_batch(self.batch) if self._is_free else self._listed()
            first, second, *rest = queries
            for query in (*reversed(rest), first, *self.late):
                self._tell(query)
            self.late = [second]
        assert all(possible(self.optimizer.space, query) for query in queries)
        return [asked(query) for query in queries]

    def rounds(self, number: int) -> list[list[float]]:
        return [row for _ in range(number) for row in self.round()]

    @property
    def _is_free(self) -> bool:
        """In a box a free ask takes long, so that most choose among points that are listed."""
        design = getattr(self.optimizer.space, "design", self.optimizer.space)
        return isinstance(design, sf.Arms) or self.step in (0, 3, 5, 6, 9)

    def _ask(self) -> sf.Query:
        return self.optimizer.ask() if self._is_free else self._listed()[0]

    def _listed(self) -> list[sf.Query]:
        design = getattr(self.optimizer.space, "design", self.optimizer.space)
        points = design.sample(6, torch.Generator().manual_seed(self.step))
        return [self.optimizer.ask(arms=points) for _ in range(self.batch)]

    def _tell(self, query: sf.Query) -> None:
        z, told = query.environment, None
        if z is None and isinstance(self.optimizer.space, sf.Joint):
            generator = torch.Generator().manual_seed(self.step)
            z = told = self.optimizer.space.environment.sample(1, generator)[0]
        info = self.optimizer.tell(query, reward(query.point, z, self.step), told)
        assert np.isfinite([info.width, info.information_gain]).all()
        self.step += 1


def asked(query: sf.Query) -> list[float]:
    """What a query asks for, as numbers."""
    z = [] if query.environment is None else query.environment.tolist()
    return [*query.point.tolist(), *z]


def usual_points(space: Any) -> Tensor:
    """Points (n, d) at which posteriors are compared; those of the first locations among them."""
    return torch.cat([locations(space, 12, seed).seen for seed in (9, 3)])


def belief(optimizer: sf.Optimizer) -> tuple[Tensor, Tensor]:
    """Posterior mean and variance (n,) at the usual points."""
    points = usual_points(optimizer.space)
    with torch.no_grad():
        return optimizer.belief().posterior.mean(points), optimizer.belief().posterior.variance(
            points
        )


def numbers(known: Belief) -> dict[str, Tensor]:
    """All that a belief says, at a few points."""
    few = locations(known.space, 3, seed=9)
    found = {
        "predicted": torch.stack(known.predict(few.x)),
        "mean": torch.stack(known.predict(few.x, estimand="mean")),
        "feasibility": known.feasibility(few.x),
        "assured": known.candidates.is_assured(few.x),
        "draws": known.draws(few.seen, 2),
        "weights": known.weights,
        "residuals": known.outcome.residuals,
        "rewards": known.outcome.observations.rewards,
        "sites": known.outcome.observations.sites,
        "unstable": known.outcome.observations.sites[known.failures.unstable],
        "bound": known.candidates.bound(few.x, known.band.width),
        "ridge": torch.tensor(known.outcome.fitted.noise),
        **known.posterior.joint(few.seen)._asdict(),
        **{name: one.mean for name, one in known.outcome.effects.items()},
    }
    more = known.conditioned(few.seen, [0.5, -1.0, 2.0])
    found["conditioned"] = more.posterior.variance(few.seen)
    pulls = [Pull(point, known.space.seen.locate(point).arm, 2) for point in few.seen]
    found["pending"] = known.band.with_pending(pulls).posterior.variance(few.seen)
    if not known.space.has_environment:
        found["difference"] = torch.stack(known.difference(few.x[0], few.x[1]))
        found["expected gains"] = gains.expected(known, few.x, few.x[0])
    return {name: one.detach() for name, one in found.items()}


def same_belief(left: sf.Optimizer, right: sf.Optimizer, tolerance: float = 1e-9) -> None:
    for ours, expected in zip(belief(left), belief(right), strict=True):
        close(ours, expected, tolerance)


def close(ours: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    """To a share of the largest value."""
    atol = tolerance * max(float(expected.abs().max()), 1.0)
    torch.testing.assert_close(ours.cpu(), expected.cpu(), rtol=0.0, atol=atol)


def of_design(space: Any, point: Tensor, arm: int | None) -> bool:
    """Whether a point is a design of the space, with its arm if it has arms."""
    design = space.design if isinstance(space, sf.Joint) else space
    if isinstance(design, sf.Arms):
        return arm is not None and torch.equal(design.points[arm], point)
    return arm is None and torch.equal(design.snap(point[None])[0], point)


def possible(space: Any, query: sf.Query) -> bool:
    """Whether the query is of the space, with an environment unless the world draws it."""
    right = of_design(space, query.point, query.arm)
    if not isinstance(space, sf.Joint) or space.observed:
        return right and query.environment is None
    known, z = space.environment, query.environment
    if isinstance(known, sf.FiniteEnvironment):
        return right and bool((known.points == z.cpu()).all(-1).any())
    return right and bool(((z.cpu() >= known.lower) & (z.cpu() <= known.upper)).all())
