"""What a bandit on arms cannot be given, and that its state is the same after a refusal."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import surefoot as sf
from surefoot.algorithms import ata_gp_ucb, bkb, tgp_ucb

LINE = torch.linspace(0.0, 1.0, 20, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)
MOMENT = sf.Moment(1.0, 4.0)

BUILDS: dict[str, Callable[[], sf.Optimizer]] = {
    "tgp": lambda: tgp_ucb(sf.Arms(LINE), KERNEL, moment=MOMENT),
    "ata": lambda: ata_gp_ucb(sf.Arms(LINE), KERNEL, moment=MOMENT),
    "ata-nystrom": lambda: ata_gp_ucb(sf.Arms(LINE), KERNEL, moment=MOMENT, features="nystrom"),
    "bkb": lambda: bkb(sf.Arms(LINE), KERNEL, noise=0.1, oversampling=2.0),
}


@pytest.mark.daily(6)
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize(
    ("where", "reward"),
    [
        (3, float("nan")),
        (3, float("inf")),
        (3, torch.ones(2)),
        (20, 1.0),
        (-1, 1.0),
        ([0.123], 1.0),
    ],
    ids=["nan", "inf", "shape", "arm-20", "arm--1", "no-arm"],
)
def test_a_refused_reward_changes_nothing(
    name: str, where: object, reward: object, tmp_path: Path
) -> None:
    optimizer = BUILDS[name]()
    for turn in range(12):
        optimizer.tell(optimizer.ask(), 5.0 if turn % 5 == 4 else 0.1 * turn)
    optimizer.save(tmp_path / "before")
    with pytest.raises(sf.InvalidInput):
        optimizer.tell(where, reward)
    optimizer.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


@pytest.mark.parametrize("build", [tgp_ucb, ata_gp_ucb])
def test_a_kernel_beyond_what_the_theorem_allows(build: Callable) -> None:
    with pytest.raises(sf.InvalidInput, match=r"k\(x, x\) reaches 4.*divide the kernel"):
        build(sf.Arms(LINE), sf.kernels.scaled(KERNEL, 4.0), moment=MOMENT)


def test_a_grid_that_does_not_fit_names_its_size() -> None:
    arms = sf.Arms(torch.rand(5, 4, dtype=torch.float64))
    with pytest.raises(sf.InvalidInput, match=r"2 \* 32\^4 = 2097152"):
        ata_gp_ucb(arms, KERNEL, moment=MOMENT)


def test_quadrature_for_another_kernel_says_what_to_pass() -> None:
    with pytest.raises(sf.InvalidInput, match=r"squared exponential.*Nyström"):
        ata_gp_ucb(sf.Arms(LINE), sf.kernels.matern(2.5, 0.2), moment=MOMENT)


def test_unknown_features_and_roots() -> None:
    for make in (
        lambda: ata_gp_ucb(sf.Arms(LINE), KERNEL, moment=MOMENT, features="qff"),
        lambda: ata_gp_ucb(sf.Arms(LINE), KERNEL, moment=MOMENT, features=3),
        lambda: sf.AdaptiveTruncation(MOMENT, root="lu"),
        lambda: sf.LeverageSampling(resample="no"),
    ):
        with pytest.raises(sf.InvalidInput, match=r"expected|must be"):
            make()


def test_a_reward_that_would_overflow_is_cut_like_any_other() -> None:
    for features in (
        sf.QuadratureFourier(32),
        sf.Nystrom(sf.LeverageSampling(4.0)),
        sf.Nystrom(sf.PivotedCholesky(64)),
    ):
        estimator = sf.AdaptiveTruncation(MOMENT, 1000)
        plain, struck = (
            sf.Optimizer(sf.Arms(LINE), sf.Method(KERNEL, features=features, estimator=estimator))
            for _ in range(2)
        )
        for turn in range(20):
            for optimizer in (plain, struck):
                optimizer.tell(turn, 0.05 * turn)
        plain.tell(3, 0.0)
        info = struck.tell(3, 1e300)
        assert info.truncated == 1
        left, right = (x.belief().posterior.mean(LINE) for x in (plain, struck))
        torch.testing.assert_close(left, right, rtol=0.0, atol=0.5)


@pytest.mark.long
def test_a_very_small_ridge_loses_no_digits() -> None:
    """Rank-one updates from V^{-1} = I / ridge would; refreshed when V grows much at once."""
    space = sf.Arms(LINE)
    kernel = sf.kernels.matern(2.5, 0.2)
    one_by_one, at_once = (
        sf.Optimizer(space, sf.Method(kernel, ridge=1e-8, features=features))
        for features in (sf.Exact(), sf.Nystrom(sf.PivotedCholesky(64)))
    )
    arms = torch.randint(20, (300,), generator=torch.Generator().manual_seed(0)).tolist()
    rewards = [0.1 * (arm % 7) for arm in arms]
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.tell(arm, reward)
    at_once.tell_all(arms, rewards)
    torch.testing.assert_close(
        one_by_one.belief().posterior.mean(LINE),
        at_once.belief().posterior.mean(LINE),
        rtol=0.0,
        atol=1e-7,
    )


@pytest.mark.daily(8)
@pytest.mark.parametrize(
    "space", [sf.Arms([[0.0], [1.0]]), sf.Box([0.0], [1.0])], ids=["arms", "box"]
)
@pytest.mark.parametrize(
    "features",
    [
        sf.Exact(),
        sf.Nystrom(sf.LeverageSampling(2.0)),
        sf.Nystrom(sf.LeverageSampling(2.0, resample="adaptive")),
        sf.Nystrom(sf.PivotedCholesky(5)),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        sf.LeastSquares(),
        sf.Huber(),
        sf.AdaptiveTruncation(MOMENT),
        sf.StudentT(),
    ],
)
def test_a_point_where_the_kernel_is_zero(
    space: sf.Arms | sf.Box, features: object, estimator: object
) -> None:
    """The linear kernel at the origin: nothing can be learnt there, and nothing is."""
    optimizer = sf.Optimizer(
        space, sf.Method(sf.kernels.linear(), features=features, estimator=estimator)
    )
    optimizer.tell([0.0], 1.0)
    optimizer.tell([0.0], 2.0)
    both = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    expected = torch.tensor([0.0, 1.0], dtype=torch.float64)
    torch.testing.assert_close(optimizer.belief().posterior.mean(both), torch.zeros_like(expected))
    torch.testing.assert_close(
        optimizer.belief().posterior.variance(both), expected, rtol=0, atol=1e-9
    )
    assert optimizer.ask().point is not None
