"""Recommendation by the lower bound of the round in which a design was chosen (Appendix F)."""

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import Recorded, Reporting, UpperConfidenceBound
from surefoot.algorithms import v_ucb

LINE = torch.linspace(0.0, 1.0, 12, dtype=torch.float64).unsqueeze(-1)
LOAD = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
KERNEL = sf.kernels.squared_exponential([0.3, 0.5])


def optimizer_of(design: sf.Arms | sf.Box) -> sf.Optimizer:
    return v_ucb(
        sf.Joint(design, LOAD),
        KERNEL,
        level=0.3,
        ridge=0.01,
        recommendation="rounds",
        seed=3,
    )


def reward(query: sf.Query) -> float:
    x, z = query.point.sum(), query.environment.sum()
    return float(torch.sin(5.0 * x) - x * z)


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(sf.Arms(LINE), id="arms"),
        pytest.param(sf.Box([0.0], [1.0]), id="box", marks=pytest.mark.long),
    ],
)
def test_it_is_the_best_lower_bound_of_any_round(design: sf.Arms | sf.Box) -> None:
    optimizer = optimizer_of(design)
    optimizer.tell_all(LINE[[3, 9]], [0.1, -0.5], [[0.0], [1.0]])
    best, value = None, -float("inf")
    for step in range(12):
        query = optimizer.ask()
        optimizer.forget(query, failed=False)  # so that nothing is pending in what follows
        lower = float(optimizer.belief().predict(query.point.unsqueeze(0))[1])
        if lower > value:
            best, value = query.point, lower
        optimizer.tell(optimizer.expect(query.point, query.environment), reward(query))
        recommended = optimizer.recommend()
        assert best is not None
        assert torch.equal(recommended.point, best), step
        assert recommended.value == pytest.approx(
            float(optimizer.belief().predict(best.unsqueeze(0))[0]), abs=1e-9
        )


def test_save_and_load_keep_it(tmp_path) -> None:
    optimizer = optimizer_of(sf.Arms(LINE))
    for _ in range(5):
        query = optimizer.ask()
        optimizer.tell(query, reward(query))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert torch.equal(loaded.recommend().point, optimizer.recommend().point)
    assert torch.equal(loaded.ask().point, optimizer.ask().point)


def test_without_a_record_it_is_refused() -> None:
    optimizer = sf.algorithms.gp_ucb(sf.Arms(LINE), sf.kernels.squared_exponential(0.2))
    optimizer.tell(0, 1.0)
    with pytest.raises(sf.NotReady, match="no round was recorded"):
        optimizer.recommend(by="rounds")
    with pytest.raises(sf.InvalidInput, match="policy"):
        Recorded(3)  # type: ignore[arg-type]


def test_it_works_without_an_environment() -> None:
    optimizer = sf.Optimizer(
        sf.Arms(LINE),
        sf.Method(
            sf.kernels.squared_exponential(0.2),
            policy=Recorded(UpperConfidenceBound()),
            reporting=Reporting("rounds"),
            ridge=0.01,
        ),
    )
    for _ in range(25):
        query = optimizer.ask()
        optimizer.tell(query, float(torch.sin(5.0 * query.point)))
    assert abs(float(optimizer.recommend().point) - 0.314) < 0.1


@pytest.mark.parametrize(
    "by",
    [sf.VaR(0.1), lambda belief, generator: 3.0, lambda: 1.0, "best", sf.VaR, KERNEL, len],
    ids=range(7),
)
def test_what_is_no_score_is_refused(by: object) -> None:
    optimizer = sf.algorithms.gp_ucb(sf.Arms(LINE), sf.kernels.squared_exponential(0.2))
    optimizer.tell(0, 1.0)
    with pytest.raises(sf.InvalidInput, match="expected"):
        optimizer.recommend(by=by)  # type: ignore[arg-type]
