"""Parts that do not make a `Joint` space, or do not go with one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Distribution, constraints

import surefoot as sf
from support.joint_cases import DENSITY, JOINTS, KERNEL, LINE, build, drive, finite, state
from support.optimizers import optimizer_of
from support.variants import variant
from surefoot import algorithms
from surefoot.acquisition import NoisyExpectedImprovement, ScorePolicy
from surefoot.algorithms import cvar_ucb, v_ucb

MOMENT = sf.Moment(1.0, 100.0)


class NoDensity(Distribution):
    """Can be drawn from, and nothing else."""

    support = constraints.interval(0.0, 1.0)
    arg_constraints: ClassVar[dict] = {}

    def __init__(self) -> None:
        super().__init__(torch.Size([1]), validate_args=False)

    def sample(self, sample_shape: torch.Size = torch.Size()) -> Tensor:
        return torch.rand(*sample_shape, 1, dtype=torch.float64)


class TestDistributionsWithoutADensity:
    """They will do where no value is chosen by its density."""

    def parts(self, observed: bool = False) -> tuple[sf.Joint, Kernel]:
        environment = sf.ContinuousEnvironment(NoDensity())
        joint = sf.Joint(sf.Arms(LINE), environment, observed=observed)
        return joint, sf.kernels.squared_exponential(0.3)

    def test_refused_where_values_are_chosen_by_it(self, tmp_path: Path) -> None:
        def choose() -> None:
            optimizer = v_ucb(*self.parts(), level=0.3, lacing="prob")
            optimizer.tell(0, 1.0, 0.5)
            before = state(optimizer, tmp_path)
            try:
                optimizer.ask()
            finally:
                assert state(optimizer, tmp_path) == before

        with pytest.raises(sf.InvalidInput, match=r'log_prob.*lacing="unif"'):
            choose()

    def test_any_lacing_value_can_be_asked(self) -> None:
        optimizer = v_ucb(*self.parts(), level=0.3, lacing="unif")
        for query_pair in drive(optimizer, 4):
            assert 0.0 <= query_pair[1] <= 1.0

    def test_none_is_needed_for_the_worst_case(self) -> None:
        drive(algorithms.stable_opt(*self.parts()), 4)

    def composed(self) -> sf.Optimizer:
        joint, kernel = self.parts()
        return sf.Optimizer(sf.Problem(joint, risk=sf.Mean()), sf.Method(kernel))

    def test_an_optimiser_of_parts_hears_which_policy_needs_none(self) -> None:
        named = r'NoDensity has no `log_prob`.*ScorePolicy\(lacing="unif"\)'
        refused(named, lambda: self.composed())

    def test_none_is_needed_where_the_world_draws(self) -> None:
        drive(v_ucb(*self.parts(observed=True), level=0.3), 4)


PERTURBATIONS: dict[str, object] = {
    "number": lambda x, z: x.sum(),
    "(n,)": lambda x, z: (x + z).squeeze(-1),
    "(1, d)": lambda x, z: (x + z)[:1],
    "(n, d, 1)": lambda x, z: (x + z)[..., None],
    "nan": lambda x, z: (x + z) * float("nan"),
    "none": lambda x, z: None,
    "numpy": lambda x, z: (x + z).numpy(),
    "index": lambda x, z: x[:, [3]] + z,
    "value": lambda x, z: np.linalg.inv(x.numpy()),
    "one-argument": lambda x: x,
    "no-function": 3,
}
LEVELS = [0, 1, -0.1, 1.5, float("nan"), float("inf"), "0.1", None, True]


def refused(match: str, call: Callable[[], object]) -> None:
    with pytest.raises(sf.InvalidInput, match=f"(?s){match}"):
        call()


class TestRefusedParts:
    """What cannot be put together."""

    @pytest.mark.parametrize("level", LEVELS, ids=repr)
    def test_levels(self, level: Any) -> None:
        joint = JOINTS["arms"]()
        for call in (
            lambda: sf.VaR(level),
            lambda: sf.CVaR(level),
            lambda: v_ucb(joint, KERNEL, level=level),
            lambda: cvar_ucb(joint, KERNEL, level=level),
        ):
            refused("`level` is .* strictly between 0 and 1", call)

    @settings(max_examples=50, deadline=None, database=None, derandomize=True)
    @given(level=st.floats().filter(lambda level: not 0.0 < level < 1.0))
    def test_any_level_outside(self, level: float) -> None:
        refused("strictly between 0 and 1", lambda: sf.VaR(level))
        refused("strictly between 0 and 1", lambda: sf.CVaR(level))

    @pytest.mark.parametrize(
        ("weights", "match"),
        [
            ([0.5, 0.5], "2 `weights` came with 3 points.*pass 3"),
            ([0.5, 0.6, -0.1], "-0.1, expected probabilities of at least 0"),
            ([0.5, 0.6, 0.1], r"sum to 1\.2, expected 1: pass `weights / weights\.sum\(\)`"),
            ([0.0, 0.0, 0.0], "sum to 0"),
            ([float("nan"), 0.5, 0.5], "NaN"),
            ([[0.2, 0.5, 0.3]], r"shape \(1, 3\)"),
            ("abc", "weights"),
        ],
    )
    def test_weights(self, weights: Any, match: str) -> None:
        refused(match, lambda: sf.FiniteEnvironment([0.0, 0.4, 1.0], weights))

    @settings(max_examples=50, deadline=None, database=None, derandomize=True)
    @given(weights=st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3))
    def test_any_weights_that_do_not_sum_to_1(self, weights: list[float]) -> None:
        if abs(sum(weights) - 1.0) > 1e-5:
            refused("sum to", lambda: sf.FiniteEnvironment([0.0, 0.4, 1.0], weights))
        if sum(weights) > 1e-6:
            shares = np.array(weights) / np.sum(weights)
            kept = sf.FiniteEnvironment([0.0, 0.4, 1.0], shares).weights
            np.testing.assert_allclose(kept, shares, atol=1e-12)

    @pytest.mark.parametrize("kind", PERTURBATIONS)
    @pytest.mark.parametrize("design", [sf.Arms(LINE), sf.Box([0.0], [1.0])], ids=["arms", "box"])
    def test_perturbations(self, design: sf.Arms | sf.Box, kind: str) -> None:
        given: Any = PERTURBATIONS[kind]
        match = r"`perturbation`.*expected.*\(.*, d"
        refused(match, lambda: sf.Joint(design, finite(), perturbation=given))

    def test_a_perturbation_that_is_not_a_number_for_some_designs(self) -> None:
        box, noise = sf.Box([0.05], [1.0]), sf.FiniteEnvironment([0.0, -0.1], [0.99, 0.01])
        match = "`perturbation` gives values that are NaN.*for some"
        refused(match, lambda: sf.Joint(box, noise, perturbation=lambda x, z: (x + z).sqrt()))

    @pytest.mark.parametrize("name", ["features", "estimator", "policy", "width"])
    @pytest.mark.parametrize("given", ["huber", 3, object()], ids=["name", "number", "object"])
    def test_what_is_no_part(self, name: str, given: object) -> None:
        parts: Any = {name: given}
        refused(
            f"`{name}` (is .*expected|must be .*got)",
            lambda: optimizer_of(sf.Arms(LINE), KERNEL, **parts),
        )

    def test_a_class_in_place_of_a_part(self) -> None:
        for parts in ({"estimator": sf.Huber}, {"features": sf.Nystrom}, {"policy": ScorePolicy}):
            given: Any = parts
            refused(
                "(is|got) <class", lambda given=given: optimizer_of(sf.Arms(LINE), KERNEL, **given)
            )

    def test_a_perturbation_of_a_box_without_a_gradient(self) -> None:
        def held(x: Tensor, z: Tensor) -> Tensor:
            return (x + z).detach()

        assert sf.Joint(sf.Arms(LINE), finite(), perturbation=held).seen.dimension == 1
        box = sf.Box([0.0], [1.0])
        refused("differentiable", lambda: sf.Joint(box, finite(), perturbation=held))

    @pytest.mark.parametrize(
        ("match", "call"),
        [
            ("`design` is", lambda: sf.Joint(finite(), finite())),
            ("`design` is", lambda: sf.Joint(JOINTS["arms"](), finite())),
            ("`environment` is.*FiniteEnvironment", lambda: sf.Joint(sf.Arms(LINE), [0.0, 1.0])),
            ("pass `Arms\\(points\\)`", lambda: sf.Joint(sf.Arms(4), DENSITY)),
            (
                "requires a `risk`.*pass one",
                lambda: sf.Optimizer(JOINTS["arms"](), sf.Method(KERNEL)),
            ),
            (
                r"no environment: pass\s`Joint",
                lambda: sf.Optimizer(
                    sf.Problem(sf.Arms(LINE), risk=sf.VaR(0.3)), sf.Method(KERNEL)
                ),
            ),
            ("`space` is.*Joint", lambda: v_ucb(sf.Arms(LINE), KERNEL, level=0.3)),
            (
                "spaces without an environment",
                lambda: build("arms", policy=NoisyExpectedImprovement()),
            ),
            ("`risk` is 0.3", lambda: build("arms", risk=0.3)),
            ("`risk` is 'var'", lambda: build("arms", risk="var")),
            ("`risk` is .*VaR", lambda: build("arms", risk=sf.VaR)),
            ("`lacing`", lambda: v_ucb(JOINTS["arms"](), KERNEL, level=0.3, lacing="both")),
            ("`ridge` requires a `kernel`", lambda: v_ucb(JOINTS["arms"](), level=0.3, ridge=0.1)),
            ("needs a kernel", lambda: v_ucb(JOINTS["bare"](), level=0.3)),
            (
                "PivotedCholesky",
                lambda: variant(
                    v_ucb(JOINTS["arms"](), level=0.3),
                    features=sf.Nystrom(sf.LeverageSampling()),
                ),
            ),
            (
                "2 coordinates",
                lambda: v_ucb(
                    JOINTS["arms"](), sf.kernels.squared_exponential([0.1, 0.2, 0.3]), level=0.3
                ),
            ),
            (
                r"4 rows",
                lambda: v_ucb(JOINTS["bare"](), sf.kernels.precomputed(np.eye(4)), level=0.3),
            ),
        ],
    )
    def test_parts_that_do_not_fit(self, match: str, call: Callable[[], object]) -> None:
        refused(match, call)

    @pytest.mark.parametrize(
        "call",
        [
            lambda joint: algorithms.gp_ucb(joint, KERNEL),
            lambda joint: algorithms.robust_ucb(joint, KERNEL),
            lambda joint: algorithms.robust_ucb(joint),
            lambda joint: algorithms.bkb(joint, KERNEL, noise=0.1),
            lambda joint: algorithms.bbkb(joint, KERNEL, noise=0.1),
            lambda joint: algorithms.tgp_ucb(joint, KERNEL, moment=MOMENT),
            lambda joint: algorithms.ata_gp_ucb(joint, KERNEL, moment=MOMENT),
        ],
        ids=["gp_ucb", "robust_ucb", "robust_ucb-learnt", "bkb", "bbkb", "tgp_ucb", "ata_gp_ucb"],
    )
    def test_algorithms_without_a_risk(self, call: Callable[[sf.Joint], object]) -> None:
        refused("space", lambda: call(JOINTS["arms"]()))
