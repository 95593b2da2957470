"""Every algorithm driven through every call in any order (`optimizer_machine`)."""

import pytest
from optimizer_machine import Subject, drive
from subjects import BOXES, BUDGETED, JOINT, LASTING, LEARNT, ONE_STEP_AHEAD


def named(subjects: dict[str, Subject]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("subject", subjects.values(), ids=subjects)


@named(LASTING)
def test_features_that_last(subject: Subject) -> None:
    drive(subject, examples=9, steps=20)


@named(BUDGETED)
def test_dictionaries_that_are_resampled(subject: Subject) -> None:
    drive(subject, examples=9, steps=20)


@named(
    {
        "gp_ucb": LASTING["gp_ucb"],
        "bbkb": BUDGETED["bbkb"],
        "box": BOXES["gp_ucb"],
        "v_ucb": JOINT["v_ucb"],
        "v_ucb-observed": JOINT["v_ucb-observed"],
    }
)
def test_queries_of_another_optimizer(subject: Subject) -> None:
    drive(subject, examples=8, steps=20, foreign=True)


@named(BOXES)
def test_boxes(subject: Subject) -> None:
    drive(subject, examples=5, steps=14)


@named(JOINT)
def test_designs_beside_an_environment(subject: Subject) -> None:
    drive(subject, examples=7, steps=16)


@named(LEARNT)
def test_kernels_that_are_learnt(subject: Subject) -> None:
    drive(subject, examples=2, steps=10)


def test_one_step_ahead() -> None:
    drive(ONE_STEP_AHEAD, examples=2, steps=8)


@pytest.mark.slow
@named({f"{name}": subject for name, subject in (LASTING | BUDGETED).items()})
def test_arms_at_length(subject: Subject) -> None:
    drive(subject, examples=60, steps=50)


@pytest.mark.slow
@named({f"box-{name}": subject for name, subject in BOXES.items()} | JOINT)
def test_boxes_and_environments_at_length(subject: Subject) -> None:
    drive(subject, examples=25, steps=30)
