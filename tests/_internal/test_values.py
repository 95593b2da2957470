"""Values that are no real numbers are refused wherever a number is expected."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot._internal import checks
from surefoot.algorithms import gp_ucb, robust_ucb

LINE = torch.linspace(0.0, 1.0, 11, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)

NO_NUMBERS = {
    "complex": 1 + 2j,
    "numpy-complex": np.complex128(1 + 2j),
    "torch-complex": torch.tensor(1 + 2j),
    "bytes": b"3",
    "bytearray": bytearray(b"3"),
    "memoryview": memoryview(b"3"),
    "bool": True,
    "numpy-bool": np.True_,
    "torch-bool": torch.tensor(True),
    "masked": np.ma.masked,
    "string": "3",
    "numpy-string": np.array("3"),
    "date": np.datetime64("2020-01-01"),
    "none": None,
    "huge": 10**400,
    "object": object(),
}
USES: dict[str, Callable[[Any], object]] = {
    "reward": lambda v: gp_ucb(sf.Arms(LINE), KERNEL).tell(0, v),
    "point": lambda v: gp_ucb(sf.Box([0.0], [4.0]), KERNEL).tell([v], 1.0),
    "arm": lambda v: gp_ucb(sf.Arms(LINE), KERNEL).tell(v, 1.0),
    "bound": lambda v: sf.Box([0.0], [v]),
    "ridge": lambda v: gp_ucb(sf.Arms(LINE), KERNEL, ridge=v),
    "seed": lambda v: gp_ucb(sf.Arms(LINE), KERNEL, seed=v),
    "tensor": lambda v: checks.vector("x", [1.0, v]),
}


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_no_real_number_is_refused(use: Callable[[Any], object], value: object) -> None:
    with pytest.raises(sf.InvalidInput) as raised:
        use(value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "array",
    [
        torch.tensor([[True], [False]]),
        torch.tensor([[1 + 1j], [0j]]),
        np.array([[True], [False]]),
        np.array([[1 + 1j], [0j]]),
        np.array([["1"], ["0"]]),
        np.ma.array([[1.0], [2.0]], mask=[[True], [False]]),
    ],
    ids=["torch-bool", "torch-complex", "bool", "complex", "text", "masked"],
)
def test_arrays_of_another_kind_are_no_coordinates(array: Any) -> None:
    with pytest.raises(sf.InvalidInput):
        sf.Arms(array)


def test_an_array_with_a_mask_that_hides_nothing_is_taken() -> None:
    assert len(sf.Arms(np.ma.array([[1.0], [2.0]], mask=[[False], [False]]))) == 2


@pytest.mark.parametrize("mask", [torch.eye(11).bool()[3], np.eye(11, dtype=bool)[3]])
def test_a_mask_is_no_list_of_arms(mask: Any) -> None:
    optimizer = gp_ucb(sf.Arms(LINE), KERNEL)
    with pytest.raises(sf.InvalidInput, match="pass the indices"):
        optimizer.ask(arms=mask)


@pytest.mark.parametrize(
    ("points", "rewards"),
    [
        (None, [1.0]),
        ([0], None),
        (3, 3),
        ([10**400], [1.0]),
        ([0, 1], torch.tensor([1 + 1j, 2])),
        ([0, 1], torch.tensor([True, False])),
        ([0, 1], np.ma.array([1.0, 2.0], mask=[1, 0])),
        ([0], [10**400]),
    ],
)
def test_lists_of_rewards_are_refused_as_single_ones_are(points: Any, rewards: Any) -> None:
    optimizer = gp_ucb(sf.Arms(LINE), KERNEL)
    with pytest.raises(sf.InvalidInput):
        optimizer.tell_all(points, rewards)
    assert len(optimizer.history) == 0


@pytest.mark.parametrize("make", [gp_ucb, robust_ucb])
@pytest.mark.parametrize("sentinel", [1e308, 1.7e308])
def test_sentinels_leave_the_recommendation_finite(make: Any, sentinel: float) -> None:
    optimizer = make(sf.Arms(LINE), KERNEL)
    for step in range(8):
        optimizer.tell(step % 3, sentinel if step % 2 else -sentinel)
    for _ in range(5):
        optimizer.tell(optimizer.ask(), 1.0)
    recommended = optimizer.recommend()
    assert all(np.isfinite([recommended.value, recommended.lower, recommended.upper]))


@pytest.mark.long
@pytest.mark.parametrize("size", [1e160])
@pytest.mark.parametrize(
    ("tell", "what"),
    [
        (lambda run, size: run.tell([0.5], -size), "a reward"),
        (lambda run, size: run.tell_all([[0.5], [0.6]], [1.0, size]), "a reward"),
        (lambda run, size: run.tell([0.5], 1.0, sem=size), "a standard error"),
        (lambda run, size: run.tell_all([[0.5]], [1.0], sems=[size]), "a standard error"),
        (lambda run, size: run.tell([0.5], 1.0, outcomes={"load": size}), "a value of 'load'"),
    ],
)
def test_a_value_whose_square_cannot_be_summed_is_not_changed_silently(
    tell: Any, what: str, size: float
) -> None:
    outcomes = {"load": sf.Constraint(maximum=1.0)}
    run = robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=outcomes), initial=1)
    with pytest.warns(UserWarning, match=rf"{what} beyond 1e\+100 counts as 1e\+100"):
        tell(run, size)
    run.tell([0.1], 1.0, outcomes={"load": 0.5})
    assert np.isfinite(run.recommend().value)


@pytest.mark.long
def test_a_few_sentinels_do_not_hide_the_best_arm() -> None:
    optimizer = robust_ucb(sf.Arms(LINE), KERNEL)
    generator = np.random.default_rng(0)
    for step in range(60):
        query = optimizer.ask()
        reward = float(torch.sin(3.0 * query.point).sum()) + 0.05 * generator.standard_normal()
        optimizer.tell(query, 1.7e308 * (-1.0) ** step if step % 9 == 8 else reward)
    assert abs(float(optimizer.recommend().point[0]) - 0.5) <= 0.1 + 1e-9


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-1e300, 1e300), (0.0, 1e101), (0.0, 1e-320), (0.0, 5e-324), (0.0, 1e-101)],
)
def test_extents_whose_squares_leave_the_range_of_floats_are_refused(
    lower: float, upper: float
) -> None:
    with pytest.raises(sf.InvalidInput, match="rescale"):
        sf.Box([lower], [upper])


@pytest.mark.long
@pytest.mark.parametrize(
    "upper",
    [1e99, 1e-99, 1.0000000000000002],
)
def test_extents_within_it_work(upper: float) -> None:
    lower = 1.0 if 0.5 < upper < 2.0 else 0.0
    optimizer = robust_ucb(sf.Box([lower], [upper]))
    for step in range(8):
        optimizer.tell(optimizer.ask(), float(step))
    assert np.isfinite(optimizer.recommend().value)


def test_long_values_are_abbreviated_in_messages() -> None:
    assert checks.shown(10**5000) == "an integer of 16610 bits"
    assert len(checks.shown("x" * 10**6)) < 200

    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert checks.shown(Rude()) == "a Rude (RuntimeError in its repr)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (sf.kernels.squared_exponential(0.3), "RBFKernel(...)"),
        (torch.nn.Linear(1, 1), "Linear(in_features=1, out_features=1, bias=True)"),
        (torch.nn.Sequential(torch.nn.Linear(1, 1)), "Sequential(...)"),
        (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
        (torch.zeros(2, 1), "tensor([[0.], [0.]])"),
    ],
)
def test_modules_are_named_in_messages_and_numbers_shown(value: object, text: str) -> None:
    assert checks.shown(value) == text
