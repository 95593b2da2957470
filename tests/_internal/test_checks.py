"""Every public constructor refuses invalid arguments by name."""

from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Uniform

import surefoot as sf
from surefoot import acquisition
from surefoot._internal import checks
from surefoot.algorithms import gp_ucb, robust_ucb
from surefoot.hyperparameters import GivenHyperparameters, HyperparameterFit
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler
from surefoot.spaces import Arc, truncated_normal

BOX = sf.Box([0.0, 0.0], [1.0, 1.0])
ENVIRONMENT = sf.FiniteEnvironment([0.0, 1.0])

KERNEL = sf.kernels.squared_exponential(0.2)
not_numbers = st.one_of(
    st.text(max_size=5), st.none(), st.booleans(), st.lists(st.floats(), min_size=2), st.just(1j)
)
not_finite = st.sampled_from([float("nan"), float("inf"), -float("inf")])
negative = st.floats(max_value=-1e-9, allow_nan=False)
not_positive = st.one_of(not_numbers, not_finite, negative, st.just(0.0), st.just(10**400))
not_probability = st.one_of(not_positive, st.floats(min_value=1.0))
not_count = st.one_of(not_numbers, not_finite, st.integers(max_value=0), st.floats())
less_than_none = st.one_of(not_numbers, not_finite, st.integers(max_value=-1), st.floats())
not_truths = st.one_of(st.text(max_size=5), st.none(), st.integers(), st.floats())
not_policies = st.one_of(not_numbers, st.just(acquisition.UpperConfidenceBound))
not_devices = st.one_of(st.text(max_size=5), st.booleans(), st.just("meta"), st.just([]))
not_measurements = st.one_of(
    not_numbers.filter(lambda v: v != []), st.integers(), st.just({1}), st.just([[0.1], 1.0])
)
OPTIMIZER = gp_ucb(BOX, KERNEL)
OPTIMIZER.tell([0.2, 0.3], 1.0)
BELIEF = OPTIMIZER.belief()
Call = Callable[[Any], object]
CASES: dict[str, tuple[Call, st.SearchStrategy]] = {
    "huber-k": (lambda v: sf.Huber(k=v), not_positive),
    "huber-growing": (lambda v: sf.Huber(growing=v), not_truths),
    "huber-passes": (lambda v: sf.Huber(passes=v), not_count),
    "huber-tolerance": (lambda v: sf.Huber(tolerance=v), not_positive),
    "student_t-dof": (lambda v: sf.StudentT(dof=v), not_positive),
    "student_t-passes": (lambda v: sf.StudentT(passes=v), not_count),
    "student_t-tolerance": (lambda v: sf.StudentT(tolerance=v), not_positive),
    "sketch-size": (lambda v: sf.Nystrom(sf.PivotedCholesky(v)), not_count),
    "constant-width": (sf.widths.constant, st.one_of(not_numbers, not_finite, negative)),
    "srinivas-delta": (lambda v: sf.widths.srinivas(delta=v), not_probability),
    "chowdhury-norm_bound": (
        lambda v: sf.widths.chowdhury_gopalan(v, 1.0),
        not_positive.filter(lambda v: v is not None),
    ),
    "chowdhury-noise": (
        lambda v: sf.widths.chowdhury_gopalan(1.0, v),
        st.one_of(not_numbers, not_finite, negative),
    ),
    "chowdhury-delta": (lambda v: sf.widths.chowdhury_gopalan(1.0, 1.0, v), not_probability),
    "instability-spread": (
        acquisition.Instability,
        not_positive.filter(lambda v: v != float("inf")) | st.just(torch.ones(2)),
    ),
    "improvement-samples": (lambda v: acquisition.NoisyExpectedImprovement(v), not_count),
    "squared_exponential-lengthscale": (
        sf.kernels.squared_exponential,
        st.one_of(st.text(max_size=5), st.none(), not_finite, negative, st.just([])),
    ),
    "matern-lengthscale": (
        lambda v: sf.kernels.matern(2.5, v),
        st.one_of(st.text(max_size=5), st.none(), not_finite, negative, st.just([0.1, -1.0])),
    ),
    "matern-nu": (
        lambda v: sf.kernels.matern(v, 0.2),
        st.one_of(
            st.text(max_size=5),
            st.none(),
            not_finite,
            st.floats(max_value=0.0),
            st.floats(min_value=50.1),
        ),
    ),
    "scaled-kernel": (
        lambda v: sf.kernels.scaled(v, 2.0),
        st.one_of(not_numbers, st.just(gpytorch.kernels.RBFKernel)),
    ),
    "scaled-variance": (lambda v: sf.kernels.scaled(KERNEL, v), not_positive),
    "optimizer-ridge": (lambda v: sf.Optimizer(BOX, sf.Method(KERNEL, ridge=v)), not_positive),
    "optimizer-initial": (
        lambda v: sf.Optimizer(BOX, sf.Method(KERNEL, plan=sf.acquisition.Plan(v))),
        less_than_none,
    ),
    "optimizer-seed": (
        lambda v: sf.Optimizer(BOX, sf.Method(KERNEL), seed=v),
        st.one_of(less_than_none, st.just(2**70)),
    ),
    "gp_ucb-scale": (
        lambda v: gp_ucb(BOX, KERNEL, width=sf.widths.srinivas(scale=v)),
        st.one_of(not_numbers, not_finite, negative),
    ),
    "fit-microscale": (
        lambda v: HyperparameterFit(microscale=v),
        st.one_of(not_numbers, not_finite, negative, st.floats(min_value=1.0)),
    ),
    "fit-kernel": (
        lambda v: HyperparameterFit(v),
        st.sampled_from([None, 2.5, "matern", "", ["matern-5/2"], True]),
    ),
    "fit-other_kernels": (
        lambda v: HyperparameterFit(other_kernels=v),
        st.sampled_from([None, 0.5, "matern-1/2", ("matern-5/2",), ("matern-1/2", "m"), [None]]),
    ),
    "fit-warped": (lambda v: HyperparameterFit(warped=v), not_truths),
    "given-kernel": (lambda v: GivenHyperparameters(v, 1.0), not_numbers),
    "given-ridge": (lambda v: GivenHyperparameters(KERNEL, v), not_positive),
    "given-standardise": (lambda v: GivenHyperparameters(KERNEL, 1.0, v), not_truths),
    "plan-initial": (lambda v: acquisition.Plan(initial=v), less_than_none),
    "plan-repeat_until": (
        lambda v: acquisition.Plan(repeat_until=v),
        st.one_of(not_positive, st.floats(0.0, 1.0, exclude_max=True)),
    ),
    "plan-instability": (
        lambda v: acquisition.Plan(instability=v),
        st.one_of(not_numbers, st.just(acquisition.Instability)),
    ),
    "reporting-by": (lambda v: acquisition.Reporting(by=v), not_policies),
    "reporting-interval": (
        lambda v: acquisition.Reporting(interval=v),
        st.one_of(not_numbers, st.just(acquisition.Credible)),
    ),
    "problem-estimand": (lambda v: sf.Problem(estimand=v), not_policies),
    "optimizer-kernel": (
        lambda v: sf.Optimizer(BOX, sf.Method(v)),
        st.one_of(not_numbers.filter(lambda v: v is not None), st.just(HyperparameterFit)),
    ),
    "optimizer-plan": (
        lambda v: sf.Optimizer(BOX, sf.Method(plan=v)),
        st.one_of(st.none(), not_numbers),
    ),
    "optimizer-reporting": (
        lambda v: sf.Optimizer(BOX, sf.Method(reporting=v)),
        st.one_of(st.none(), not_numbers),
    ),
    "joint-observed": (lambda v: sf.Joint(BOX, ENVIRONMENT, observed=v), not_truths),
    "study_environment-integer": (
        lambda v: StudyEnvironment("z", ENVIRONMENT, integer=v),
        st.sampled_from([None, "z", ["y"], [1], 3]),
    ),
    "study_environment-rounded": (
        lambda v: StudyEnvironment("z", ENVIRONMENT, rounded=v),
        st.sampled_from([None, "z", ["y"], [1], 3]),
    ),
    "study_environment-observed": (
        lambda v: StudyEnvironment("z", ENVIRONMENT, observed=v),
        not_truths,
    ),
    "nystrom-dictionary": (
        sf.Nystrom,
        st.one_of(not_numbers, st.sampled_from([sf.PivotedCholesky, sf.LeverageSampling])),
    ),
    "score_policy-score": (acquisition.ScorePolicy, not_policies),
    "sampler-outcomes": (
        lambda v: SurefootSampler(sf.Problem(outcomes=v)),
        st.sampled_from([3, "p99", {"p99": 3.0}, {1: sf.Constraint(maximum=1.0)}]),
    ),
    "box-device": (BOX.to, not_devices),
    "problem-device": (lambda v: sf.Problem(sf.Arms([[0.0], [1.0]])).to(v), not_devices),
    "load-device": (lambda v: sf.Optimizer.load("a file", device=v), not_devices),
    "draws-number": (lambda v: BELIEF.draws([[0.1, 0.2]], v), not_count),
    "belief-also": (OPTIMIZER.belief, not_measurements),
    "belief-undeclared": (lambda v: OPTIMIZER.belief(undeclared=v), not_truths),
    "record-measurements": (OPTIMIZER.record, not_measurements),
    "record-undeclared": (lambda v: OPTIMIZER.record([], undeclared=v), not_truths),
    "ask_batch-number": (lambda v: gp_ucb(BOX, KERNEL).ask_batch(v), not_count),
    "arms-points": (
        sf.Arms,
        st.one_of(st.text(), st.none(), st.just(0), st.just(-3), st.just(1.5)),
    ),
    "box-arcs": (
        lambda v: sf.Box([0.0, 0.0], [1.0, 1.0], arcs=v),
        st.one_of(not_numbers, st.just([1]), st.just([Arc]), st.just(Arc)),
    ),
    "box-active": (
        lambda v: sf.Box([0.0], [1.0], active=v),
        st.one_of(not_numbers, st.just(torch.Tensor)),
    ),
    "arc-cosine": (lambda v: Arc(v, 1, [0.0, 1.0]), less_than_none),
    "arc-positions": (lambda v: Arc(0, 1, v), st.sampled_from([None, 1.0, "a", [], [[0.5]]])),
    "arc-isolated": (lambda v: Arc(0, 1, [0.0, 1.0], v), not_truths),
    "arc-kinds": (
        lambda v: Arc(0, 1, [0.0, 1.0], kinds=v),
        st.sampled_from([None, 2, "a", [0.5], [True], torch.ones(2)]),
    ),
    "truncated_normal-low": (
        lambda v: truncated_normal(0.0, 1.0, v, 1.0),
        st.one_of(not_numbers, not_finite, st.just(10**400)),
    ),
    "density-upper": (
        lambda v: sf.ContinuousEnvironment(Uniform(0.0, 1.0), upper=v),
        st.one_of(not_numbers.filter(lambda v: v is not None), not_finite, st.just(10**400)),
    ),
    "box-lower": (lambda v: sf.Box(v, [1.0, 1.0]), st.one_of(st.text(), st.none(), st.just([]))),
    "box-upper": (lambda v: sf.Box([0.0, 0.0], v), st.one_of(st.text(), st.none(), st.just([1.0]))),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=10, deadline=None, database=None, derandomize=True)
@given(data=st.data())
def test_nonsense_is_refused_by_name(name: str, data: st.DataObject) -> None:
    call, nonsense = CASES[name]
    with pytest.raises(sf.InvalidInput, match=f"`{name.split('-')[1]}`"):
        call(data.draw(nonsense))


@given(
    lower=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4),
    widths=st.lists(st.floats(1e-3, 1e6), min_size=4, max_size=4),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=25, deadline=None, database=None, derandomize=True)
def test_samples_of_a_box_are_in_it(lower: list[float], widths: list[float], seed: int) -> None:
    upper = [low + width for low, width in zip(lower, widths, strict=False)]
    box = sf.Box(lower, upper)
    points = box.sample(8, torch.Generator().manual_seed(seed))
    assert bool(((points >= box.lower) & (points <= box.upper)).all())
    assert all(box.contains(point) for point in points)


@given(rewards=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None, database=None, derandomize=True)
def test_whatever_the_rewards_the_robust_posterior_is_finite(rewards: list[float]) -> None:
    optimizer = robust_ucb(sf.Arms([[0.0], [0.4], [0.5], [1.0]]), sf.kernels.matern(2.5, 0.3))
    for step, reward in enumerate(rewards):
        optimizer.tell(step % 4, reward)
    found = optimizer.recommend()
    assert found.lower <= found.value <= found.upper
    assert bool(torch.isfinite(torch.tensor([found.lower, found.value, found.upper])).all())
    weights = optimizer.belief().weights
    assert bool(((weights >= 0) & (weights <= 1)).all())


REFUSED: dict[str, Callable[[], object]] = {
    "no coordinates, no kernel": lambda: robust_ucb(sf.Arms(5)),
    "K smaller than the arms": lambda: gp_ucb(sf.Arms(5), sf.kernels.precomputed(torch.eye(3))),
    "K larger than the arms": lambda: gp_ucb(sf.Arms(3), sf.kernels.precomputed(torch.eye(5))),
    "K for a box": lambda: gp_ucb(sf.Box([0.0], [4.0]), sf.kernels.precomputed(torch.eye(5))),
    "K that is not square": lambda: sf.kernels.precomputed(torch.ones(2, 3)),
    "K that is not symmetric": lambda: sf.kernels.precomputed([[1.0, 0.5], [0.2, 1.0]]),
    "K that is not semidefinite": lambda: sf.kernels.precomputed([[1.0, 2.0], [2.0, 1.0]]),
    "lengthscales of another dimension": lambda: gp_ucb(
        sf.Box([0.0], [1.0]), sf.kernels.squared_exponential([0.1, 0.2])
    ),
    "a space that is none": lambda: robust_ucb("box"),
    "a kernel that is none": lambda: gp_ucb(BOX, "rbf"),
    "a width that is a number": lambda: sf.Optimizer(BOX, sf.Method(KERNEL, width=3.0)),
    "levels outside the box": lambda: sf.Box([0.0], [1.0], levels={0: [0.5, 2.0]}),
    "no levels": lambda: sf.Box([0.0], [1.0], levels={0: []}),
    "levels of no coordinate": lambda: sf.Box([0.0], [1.0], levels={1: [0.5]}),
    "levels of a name": lambda: sf.Box([0.0], [1.0], levels={"x": [0.5]}),
    "a coordinate in two choices": lambda: sf.Box([0.0] * 3, [1.0] * 3, choices=[(0, 1), (1, 2)]),
    "a coordinate with levels and choices": lambda: sf.Box(
        [0.0] * 2, [1.0] * 2, levels={0: [0.0, 1.0]}, choices=[(0, 1)]
    ),
    "choices that cannot be 0 or 1": lambda: sf.Box([0.2, 0.0], [1.0, 3.0], choices=[(0, 1)]),
    "empty choices": lambda: sf.Box([0.0], [1.0], choices=[()]),
    "lower above upper": lambda: sf.Box([0.0, 2.0], [1.0, 1.0]),
    "bounds whose difference overflows": lambda: sf.Box([-1.7e308], [1.7e308]),
    "a fit without coordinates": lambda: sf.Optimizer(sf.Arms(3), sf.Method(HyperparameterFit())),
    "bounds of a kernel that is fitted": lambda: sf.algorithms.v_ucb(
        sf.Joint(BOX, ENVIRONMENT), level=0.1, width=sf.widths.dual_mixture(1.0, 0.1)
    ),
    "a method for any space": lambda: SurefootSampler(method=sf.Method()),
    "a ridge where the noise is fitted": lambda: robust_ucb(BOX, ridge=0.1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_together_is_refused(name: str) -> None:
    with pytest.raises(sf.InvalidInput):
        REFUSED[name]()


def test_shape_errors_say_what_to_do() -> None:
    with pytest.raises(
        sf.InvalidInput, match=r"\(0\)` for a single row, .*\(-1\)` for a single col"
    ):
        sf.Arms(torch.linspace(0, 1, 5))
    with pytest.raises(sf.InvalidInput, match=r"`\[points\]` for a single row, `\[\[each\] for"):
        sf.Arms([0.0, 1.0])
    with pytest.raises(sf.InvalidInput, match=r"shape \(2, 1\).*squeeze"):
        sf.Box([[0.0], [0.0]], [1.0, 1.0])
    with pytest.raises(sf.InvalidInput, match="forget"):
        gp_ucb(BOX, KERNEL).tell([0.5, 0.5], float("nan"))


def test_integers_of_other_libraries_are_counts() -> None:
    assert sf.PivotedCholesky(np.int64(5)).size == 5
    assert len(sf.Arms(np.int64(5))) == 5


def test_a_plain_gpytorch_kernel_will_do() -> None:
    """Single precision, with gradients, as GPyTorch makes it."""
    optimizer = gp_ucb(sf.Box([0.0], [1.0]), gpytorch.kernels.RBFKernel())
    optimizer.tell([0.5], 1.0)
    optimizer.ask()
    mean = optimizer.belief().posterior.mean(torch.tensor([[0.5]], dtype=torch.float64))
    assert mean.dtype == torch.float64
    assert not mean.requires_grad


def test_a_list_of_points_is_a_matrix() -> None:
    first, second = torch.tensor([0.25, 0.5]), torch.tensor([0.5, 1.0], dtype=torch.float64)
    assert sf.Arms([first, second]).points.tolist() == [[0.25, 0.5], [0.5, 1.0]]
    with pytest.raises(sf.InvalidInput, match="cannot be made a float64 tensor"):
        sf.Arms([first, torch.zeros(3)])


def test_what_came_is_shown_in_one_line() -> None:
    with pytest.raises(sf.InvalidInput, match=r"`method` is .*expected a `Method") as error:
        sf.Optimizer(BOX, KERNEL)
    assert "\n" not in str(error.value)
    assert checks.shown("a  b\n") == r"'a  b\n'"
