"""V-UCB, CV-UCB and StableOpt ask what the literal algorithms ask, `reference.risk`, every round.

Before the first reward a random pair is asked; comparisons begin with the second round.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import surefoot as sf
from reference import covariance
from reference import risk as reference
from support.risk_averse_runs import (
    NOISE,
    ROUNDS,
    SLACK,
    THREE,
    TINY,
    TWO,
    Case,
    Run,
    scattered,
    smooth,
)
from surefoot.algorithms import cvar_ucb, stable_opt, v_ucb


def tabled(designs: int, masses: ArrayLike, seed: int = 0) -> Case:
    """A covariance of pairs that no coordinates explain."""
    pairs = designs * len(np.asarray(masses))
    loadings = np.random.default_rng(seed).normal(size=(pairs, 5))
    K = loadings @ loadings.T / 5.0 + 0.1 * np.eye(pairs)
    z = scattered(pairs // designs)
    return Case(designs, z, np.asarray(masses), lambda: sf.kernels.precomputed(K), K)


CASES: dict[str, Case] = {
    "se": smooth(
        scattered(8),
        scattered(6, seed=1),
        [1, 1, 1, 1, 1, 1],
        lambda: sf.kernels.squared_exponential(TWO),
        covariance.squared_exponential(TWO),
    ),
    "se-unequal": smooth(
        scattered(8),
        scattered(7, seed=1),
        [1, 5, 2, 7, 3, 1, 1],
        lambda: sf.kernels.squared_exponential(TWO),
        covariance.squared_exponential(TWO),
    ),
    "matern-zeros": smooth(
        scattered(9, 2),
        scattered(6, seed=1),
        [0, 4, 1, 0, 3, 2],
        lambda: sf.kernels.matern(2.5, THREE),
        covariance.matern_five_halves(THREE),
    ),
    "matern-two-z": smooth(
        scattered(6),
        scattered(9, 2, seed=1),
        [1, 2, 3, 4, 5, 4, 3, 2, 1],
        lambda: sf.kernels.matern(2.5, THREE),
        covariance.matern_five_halves(THREE),
    ),
    "control-noise": smooth(
        scattered(9),
        np.array([[-0.31], [-0.11], [0.0], [0.17], [0.29]]),
        [1, 3, 4, 3, 1],
        lambda: sf.kernels.squared_exponential(0.2),
        covariance.squared_exponential(np.array([0.2])),
        perturbation=lambda x, z: x + z,
    ),
    "precomputed": tabled(7, [1, 1, 1, 1, 1]),
    "precomputed-zeros": tabled(6, [2, 0, 5, 1, 0, 2], seed=1),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
levels = pytest.mark.parametrize(
    "level",
    [
        pytest.param(Fraction(1, 10), id="1/10"),
        pytest.param(Fraction(2, 5), id="2/5"),
        pytest.param(Fraction(9, 10), id="9/10"),
    ],
)


def check_likely(known: reference.Round, x: int, z: int, lacing: np.ndarray) -> None:
    """z is of largest mass among the lacing values, and the least certain one of those."""
    lower, upper = known.bounds()
    apart = (upper - lower)[x]
    heaviest = lacing & (known.m == known.m[lacing].max())
    assert heaviest[z]
    assert apart[z] >= apart[heaviest].max() - SLACK


@cases
@levels
class TestVUcb:
    """Algorithm 1."""

    @pytest.mark.long
    def test_asks_what_algorithm_1_asks(self, case: Case, level: Fraction) -> None:
        def check(known: reference.Round, x: int, z: int) -> None:
            best, lacing = known.v_ucb(level)
            assert x == best
            assert lacing.any()  # Theorem 1
            check_likely(known, x, z, lacing)

        optimizer = v_ucb(case.joint, case.kernel(), level=float(level), ridge=NOISE)
        Run(case, optimizer).check_every_round(check)


@pytest.mark.long
@pytest.mark.parametrize("name", ["se-unequal", "matern-zeros", "control-noise"])
def test_v_ucb_asks_any_lacing_value_by_choice(name: str) -> None:
    case, level, unlikely = CASES[name], Fraction(2, 5), 0

    def check(known: reference.Round, x: int, z: int) -> None:
        nonlocal unlikely
        best, lacing = known.v_ucb(level)
        assert x == best
        assert lacing[z]
        unlikely += bool(known.m[z] < known.m[lacing].max())

    space, kernel = case.joint, case.kernel()
    optimizer = v_ucb(space, kernel, level=float(level), lacing="unif", ridge=NOISE)
    Run(case, optimizer).check_every_round(check)
    assert unlikely > 0


@cases
class TestStableOpt:
    """The limit of V-UCB at level 0."""

    @pytest.mark.long
    def test_asks_what_stable_opt_asks(self, case: Case) -> None:
        def check(known: reference.Round, x: int, z: int) -> None:
            best, lacing = known.stable_opt()
            assert x == best
            assert lacing[z]

        optimizer = stable_opt(case.joint, case.kernel(), ridge=NOISE)
        Run(case, optimizer).check_every_round(check)

    @pytest.mark.long
    def test_v_ucb_at_a_level_near_0_asks_the_same_points_as_stable_opt(self, case: Case) -> None:
        space, kernel = case.joint, case.kernel()
        left = Run(case, v_ucb(space, kernel, level=TINY, ridge=NOISE))
        right = Run(case, stable_opt(space, kernel, ridge=NOISE))
        for _ in range(ROUNDS):
            assert left.round() == right.round()
        assert left.rewards == right.rewards


@pytest.mark.long
@pytest.mark.parametrize("make", [v_ucb, cvar_ucb, stable_opt])
def test_the_best_round_can_be_recommended(make: Any) -> None:
    """That whose lower bound was largest when its design was chosen."""
    case, level = CASES["se"], {} if make is stable_opt else {"level": 0.3}
    optimizer = make(case.joint, case.kernel(), ridge=NOISE, recommendation="rounds", **level)
    optimizer.tell(optimizer.ask(), 0.5)
    rounds: list[tuple[float, list[float]]] = []
    for number in range(5):
        query, belief = optimizer.ask(), optimizer.belief()
        lower = float(belief.candidates.risks(query.point.unsqueeze(0))[1])
        rounds.append((lower, query.point.tolist()))
        optimizer.tell(query, math.sin(3.0 * number))
    assert optimizer.recommend().point.tolist() == max(rounds)[1]


@pytest.mark.long
@cases
@levels
def test_cvar_ucb_asks_what_the_construction_asks(case: Case, level: Fraction) -> None:
    def check(known: reference.Round, x: int, z: int) -> None:
        lower, upper = known.bounds()
        assert x == reference.cvar(upper, case.masses, level).argmax()
        allowed = reference.cvar_lacing(lower[x], upper[x], case.masses, level)
        assert any(one[z] for one in allowed)
        if len(allowed) == 1:
            check_likely(known, x, z, allowed[0])

    optimizer = cvar_ucb(case.joint, case.kernel(), level=float(level), ridge=NOISE)
    Run(case, optimizer).check_every_round(check)
