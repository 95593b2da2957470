"""An estimate is made when something follows from it, and not with every reward."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot import algorithms

KERNEL = sf.kernels.squared_exponential(0.2)
MOMENT = sf.Moment(alpha=1.0, bound=4.0)
LINE = torch.linspace(0.0, 1.0, 12, dtype=torch.float64).unsqueeze(-1)
SPACES = {"arms": sf.Arms(LINE), "box": sf.Box([0.0], [1.0])}
ALGORITHMS: dict[str, Callable[[Any], sf.Optimizer]] = {
    "gp_ucb": lambda space: algorithms.gp_ucb(space, KERNEL, ridge=0.1),
    "ata": lambda space: algorithms.ata_gp_ucb(space, KERNEL, moment=MOMENT, scale=0.1),
    "huber": lambda space: algorithms.robust_ucb(space, KERNEL),
    "sketched": lambda space: sf.Optimizer(
        space, sf.Method(KERNEL, features=sf.Nystrom(sf.LeverageSampling(5.0)))
    ),
    "fitted": lambda space: algorithms.robust_ucb(space, initial=4),
}
each_space = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
each_algorithm = pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS)


class Counting:
    """Least squares that counts its estimates."""

    def __init__(self) -> None:
        self.made = 0

    def init(self, constants: object) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], site: int, reward: float) -> tuple[()]:
        return state

    def estimate(self, state: tuple[()], sample: Any) -> tuple[Any, tuple[()]]:
        self.made += 1
        return sf.LeastSquares().estimate(state, sample)


def tell(optimizer: sf.Optimizer, number: int, held: bool = False) -> list[sf.Info]:
    told = []
    for step in range(number):
        info = optimizer.tell(LINE[step % len(LINE)], (step * 7 % 5) / 3.0)
        if held:
            told.append(info)
        del info
    return told


@each_space
def test_rewards_that_nobody_asks_about_need_no_estimate(space: Any) -> None:
    estimator = Counting()
    optimizer = sf.Optimizer(space, sf.Method(KERNEL, estimator=estimator))
    tell(optimizer, 20)
    assert estimator.made == 0
    optimizer.ask()
    optimizer.ask()
    assert estimator.made == 1
    tell(optimizer, 5)
    _ = optimizer.belief(), optimizer.recommend(), optimizer.width
    optimizer.ask()
    assert estimator.made == 2


@pytest.mark.long
@each_space
@each_algorithm
def test_diagnostics_are_of_their_own_round(space: Any, make: Any) -> None:
    late, early = make(space), make(space)
    held = tell(late, 9, held=True)
    read = []
    for step in range(9):
        info = early.tell(LINE[step % len(LINE)], (step * 7 % 5) / 3.0)
        read.append(info.diagnostics)
    assert [info.diagnostics for info in held] == read
    assert [info.round for info in held] == [*range(1, 10)]
    assert len({info.diagnostics for info in held}) == 9


@pytest.mark.long
@each_space
@each_algorithm
def test_a_look_changes_nothing(space: Any, make: Any) -> None:
    plain, looked = make(space), make(space)
    for round_ in range(3):
        tell(plain, 5)
        for step in range(5):
            info = looked.tell(LINE[step], (step * 7 % 5) / 3.0)
            _ = info.width, looked.belief(), looked.recommend()
        one, other = plain.ask(), looked.ask()
        assert torch.equal(one.point, other.point), round_
        plain.tell(one, 0.5)
        looked.tell(other, 0.5)


@each_algorithm
def test_copies_hold_their_own_diagnostics(make: Any) -> None:
    optimizer = make(SPACES["arms"])
    (info,) = tell(optimizer, 1, held=True)
    copies = copy.deepcopy(info), pickle.loads(pickle.dumps(info))
    tell(optimizer, 3)
    assert copies == (info, info)
    assert repr(copies[0]) == repr(info)


@pytest.mark.long
@pytest.mark.parametrize("name", ["huber", "fitted"])
def test_a_run_is_saved_before_its_estimate(name: str, tmp_path: Any) -> None:
    optimizer = ALGORITHMS[name](SPACES["box"])
    tell(optimizer, 10)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", **({"kernel": KERNEL} if name == "huber" else {}))
    assert torch.equal(loaded.ask().point, optimizer.ask().point)


@pytest.mark.long
def test_further_objectives_are_seen_as_if_told_at_once() -> None:
    """They are fitted in turns, which a look does not depend on, nor a run on the look."""
    g = torch.Generator().manual_seed(1)
    x = torch.rand(12, 2, dtype=torch.float64, generator=g)
    noise = 0.05 * torch.randn(12, 2, dtype=torch.float64, generator=g)
    y = noise[:, 0] - (x - 0.4).square().sum(-1)
    costs = [{"cost": float(one)} for one in x[:, 0].square() - x[:, 1] + noise[:, 1]]

    def begun() -> sf.Optimizer:
        return sf.algorithms.robust_ucb(
            sf.Problem(
                sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes={"cost": sf.Objective(maximise=False)}
            ),
            policy=sf.acquisition.HypervolumeImprovement(),
        )

    one_by_one, unseen = begun(), begun()
    for n in range(12):
        before = copy.deepcopy(unseen)
        one_by_one.tell(x[n], float(y[n]), outcomes=costs[n])
        unseen.tell(x[n], float(y[n]), outcomes=costs[n])
        if n < 8:
            continue
        at_once = begun()
        at_once.tell_all(x[: n + 1], y[: n + 1], outcomes=costs[: n + 1])
        last = sf.Measurement(x[n], {"objective": float(y[n]), **costs[n]})
        for look in (one_by_one.belief(), before.belief(also=[last])):
            for one, other in zip(
                look.candidates.objectives, at_once.belief().candidates.objectives, strict=True
            ):
                assert torch.equal(one.posterior.mean(x), other.posterior.mean(x))
    assert torch.equal(one_by_one.ask().point, unseen.ask().point)


@pytest.mark.long
@pytest.mark.parametrize("number", [103, 107])
def test_between_fits_a_look_is_as_if_told_at_once(number: int) -> None:
    g = torch.Generator().manual_seed(1)
    x = torch.rand(number, 1, dtype=torch.float64, generator=g)
    y = torch.sin(6.0 * x[:, 0]) + 0.05 * torch.randn(number, dtype=torch.float64, generator=g)
    one_by_one, at_once, in_parts = (algorithms.robust_ucb(sf.Box([0.0], [1.0])) for _ in range(3))
    at_once.tell_all(x, y)
    in_parts.tell_all(x[:100], y[:100])
    in_parts.tell_all(x[100:], y[100:])
    one_by_one.tell_all(x[:100], y[:100])
    for n in range(100, number):
        one_by_one.tell(x[n], float(y[n]))
    expected = at_once.belief().posterior.mean(x)
    for other in (in_parts, one_by_one):
        found = other.belief().posterior.mean(x)
        torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-10)
