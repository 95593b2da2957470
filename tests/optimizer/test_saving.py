"""Saving and loading with queries pending, for every estimator and kind of features."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb
from surefoot.hyperparameters import GivenHyperparameters
from surefoot.optimizer.serialization import OUTSIDE, Encoder

MOMENT = sf.Moment(1.0, 100.0)
LINE = torch.rand(40, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
ROUNDS = 14

FEATURES = {
    "exact": sf.Exact(),
    "dictionary": sf.Dictionary(LINE[::4]),
    "quadrature": sf.QuadratureFourier(32),
    "random": sf.RandomFourier(32),
    "greedy": sf.Nystrom(sf.PivotedCholesky(8)),
    "unfolded": sf.QuadratureFourier(32, folded=False),
    "every-arm": sf.Nystrom(sf.LeverageSampling(3.0, root="symmetric")),
    "every-round": sf.Nystrom(sf.LeverageSampling(3.0)),
    "adaptive": sf.Nystrom(sf.LeverageSampling(3.0, "adaptive", ratio=4.0)),
    "immediate": sf.Nystrom(sf.LeverageSampling(3.0, "adaptive", feedback="immediate")),
}
ESTIMATORS = {  # with the number of rewards before the first ask: some keep 1,024 one by one
    "least-squares": (sf.LeastSquares(), 60),
    "truncation": (sf.Truncation(MOMENT), 60),
    "adaptive-truncation": (sf.AdaptiveTruncation(MOMENT, 2000), 60),
    "without-delta": (sf.AdaptiveTruncation(MOMENT, 2000, 1.0, "symmetric", unions=1), 60),
    "doubled-horizon": (sf.AdaptiveTruncation(MOMENT), 1000),
    "huber": (sf.Huber(), 1100),
    "growing": (sf.Huber(growing=True), 1100),
    "student-t": (sf.StudentT(), 1100),
}
# Each kind of features and each estimator once on arms, and every other one in a box.
ON_ARMS = zip(FEATURES, itertools.cycle(ESTIMATORS), strict=False)
IN_BOX = {
    "dictionary": "huber",
    "random": "student-t",
    "every-round": "adaptive-truncation",
    "immediate": "growing",
}
CASES = [
    pytest.param(*case, id="-".join(case))
    for case in [
        *(("arms", *pair) for pair in ON_ARMS),
        *(("box", *pair) for pair in IN_BOX.items()),
    ]
]


def ask(optimizer: sf.Optimizer) -> sf.Query:
    """On a box from a few points, which takes no ascent."""
    return optimizer.ask(arms=LINE[::2] if isinstance(optimizer.space, sf.Box) else None)


def reward(point: torch.Tensor, step: int) -> float:
    spike = 20.0 if step % 7 == 6 else 0.0
    return 3.0 * float(torch.sin(6.0 * point).sum()) + float(np.sin(97.0 * step)) + spike


def asked(optimizer: sf.Optimizer, rounds: int = ROUNDS, first: int = 0) -> torch.Tensor:
    """Points (rounds, d), each told after the two that follow it were asked."""
    points, pending = [], []
    for step in range(first, first + rounds):
        pending.append(ask(optimizer))
        points.append(pending[-1].point)
        if len(pending) > 2:
            query = pending.pop(0)
            optimizer.tell(query, reward(query.point, step))
    for query in pending:
        optimizer.tell(query, reward(query.point, first))
    return torch.stack(points)


@pytest.mark.long
@pytest.mark.parametrize(("space", "features", "estimator"), CASES)
def test_a_run_saved_within_a_batch_goes_on_the_same(
    space: str, features: str, estimator: str, tmp_path: Path
) -> None:
    robust, number = ESTIMATORS[estimator]
    if space == "box":
        number = min(number, 100)
    optimizer = sf.Optimizer(
        sf.Box([0.0], [1.0]) if space == "box" else sf.Arms(LINE),
        sf.Method(
            GivenHyperparameters(
                sf.kernels.squared_exponential(0.2),
                0.1,
                standardise=estimator in ("huber", "student-t"),
            ),
            features=FEATURES[features],
            estimator=robust,
            width=sf.widths.constant(0.5),
        ),
        seed=3,
    )
    points = LINE[torch.arange(number) % len(LINE)]
    optimizer.tell_all(points, [reward(point, step) for step, point in enumerate(points)])
    asked(optimizer, 7, number)
    batch = [ask(optimizer) for _ in range(6)]
    optimizer.tell(batch[1], reward(batch[1].point, 1))
    optimizer.forget(batch[2])
    optimizer.tell(batch[3], reward(batch[3].point, 3))

    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert [query.id for query in loaded.pending] == [query.id for query in optimizer.pending]
    torch.testing.assert_close(
        loaded.belief().weights, optimizer.belief().weights, rtol=0.0, atol=0.0
    )
    for left, right in zip(
        loaded.belief().posterior.mean_and_deviation(LINE),
        optimizer.belief().posterior.mean_and_deviation(LINE),
        strict=True,
    ):
        torch.testing.assert_close(left, right, rtol=0.0, atol=0.0)
    assert torch.equal(asked(loaded), asked(optimizer))
    for query in loaded.pending:
        assert loaded.tell(query, 0.0).width == optimizer.tell(query, 0.0).width


@pytest.mark.long
@pytest.mark.parametrize("space", [sf.Arms(LINE), sf.Box([0.0], [1.0])], ids=["arms", "box"])
def test_a_run_with_fitted_hyperparameters_goes_on_the_same(
    space: sf.Arms | sf.Box, tmp_path: Path
) -> None:
    optimizer = robust_ucb(space, seed=1)
    asked(optimizer, 8)
    optimizer.tell(ask(optimizer), 1.0)
    _ = ask(optimizer)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.belief().outcome.fitted is not None
    assert optimizer.belief().outcome.fitted is not None
    assert loaded.belief().outcome.fitted.noise == optimizer.belief().outcome.fitted.noise
    assert torch.equal(asked(loaded, 3), asked(optimizer, 3))


def heavy_tailed() -> tuple[torch.Tensor, torch.Tensor]:
    """Twenty rewards whose fit has two local optima of nearly the same bound."""
    generator = torch.Generator().manual_seed(12)
    points = torch.rand(20, 2, dtype=torch.float64, generator=generator)
    noise, divisor = torch.randn(20, dtype=torch.float64, generator=generator), points.new_empty(20)
    rewards = noise / divisor.uniform_(generator=generator)
    return points, rewards + 3.0 * (points - 0.3).norm(dim=-1)


def with_cusp() -> tuple[torch.Tensor, torch.Tensor]:
    """Rewards that a rougher kernel fits."""
    distances = torch.logspace(-4.0, -0.4, 12, dtype=torch.float64)
    points = torch.cat([0.45 - distances, 0.45 + distances]).unsqueeze(-1)
    return points, -torch.cat([distances, distances]).sqrt()


@pytest.mark.long
@pytest.mark.parametrize(
    ("data", "smoothness", "rivals"), [(heavy_tailed, 2.5, 1), (with_cusp, 0.5, 0)]
)
def test_local_optima_and_kernel_of_a_fit_are_saved(
    data: Callable[[], tuple[torch.Tensor, torch.Tensor]],
    smoothness: float,
    rivals: int,
    tmp_path: Path,
) -> None:
    points, rewards = data()
    optimizer = robust_ucb(sf.Box([0.0] * points.shape[1], [1.0] * points.shape[1]))
    optimizer.tell_all(points, rewards)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.belief().outcome.fitted is not None
    assert loaded.belief().outcome.fitted.kernel.base_kernel.nu == smoothness
    assert len(loaded.belief().outcome.fitted.rivals) == rivals
    assert str(loaded.recommend()) == str(optimizer.recommend())


class Pair(NamedTuple):
    """Whose names a plain tuple does not have."""

    low: float
    high: float


def test_named_tuples_of_a_part_are_not_taken_for_tuples() -> None:
    assert Encoder().encode((1.0, 2.0)) == {"tuple": [1.0, 2.0]}
    assert Encoder().encode(Pair(1.0, 2.0)) == OUTSIDE


def test_what_is_reported_is_that_of_the_saved_problem(tmp_path: Path) -> None:
    optimizer = robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), estimand="mean"))
    optimizer.tell_all([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.5])
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.problem.estimand == loaded.recommend().estimand == "mean"
