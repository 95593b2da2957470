"""Every algorithm driven through every call in any order (`optimizer_machine`).

Each is driven briefly, and at length where long tests run too. `SUREFOOT_EXAMPLES` is a factor of
the number of examples: 20, say, to look for faults for some minutes.
"""

import pytest

from support.optimizer_machine import Subject, drive
from support.subjects import BOXES, BUDGETED, DRAWN, JOINT, LASTING, LEARNT


def named(*families: dict[str, Subject]) -> pytest.MarkDecorator:
    found = {name: subject for family in families for name, subject in family.items()}
    return pytest.mark.parametrize("subject", found.values(), ids=found)


def only(family: dict[str, Subject], *names: str) -> dict[str, Subject]:
    return {name: family[name] for name in names}


@named(only(LASTING, "gp_ucb-bare"))
def test_features_that_last(subject: Subject) -> None:
    drive(subject, examples=3, steps=20)


@pytest.mark.long
@named(only(BUDGETED, "bbkb"))
def test_dictionaries_that_are_resampled(subject: Subject) -> None:
    drive(subject, examples=3, steps=20)


@named(only(BOXES, "gp_ucb"))
def test_boxes(subject: Subject) -> None:
    drive(subject, examples=3, steps=14)


@named(only(JOINT, "v_ucb"))
def test_designs_beside_an_environment(subject: Subject) -> None:
    drive(subject, examples=4, steps=16)


@named(only(DRAWN, "gp_ts"))
def test_functions_drawn_from_the_posterior(subject: Subject) -> None:
    drive(subject, examples=3, steps=18)


@pytest.mark.long
@named(LASTING, BUDGETED)
def test_arms_at_length(subject: Subject) -> None:
    drive(subject, examples=5, steps=25, foreign=True)


@pytest.mark.long
@named({f"box-{name}": subject for name, subject in BOXES.items()}, JOINT)
def test_boxes_and_environments_at_length(subject: Subject) -> None:
    drive(subject, examples=5, steps=20, foreign=True)


@pytest.mark.long
@named(DRAWN)
def test_functions_drawn_from_the_posterior_at_length(subject: Subject) -> None:
    drive(subject, examples=4, steps=20, foreign=True)


@pytest.mark.long
@named({f"learnt-{name}": subject for name, subject in LEARNT.items()})
def test_kernels_that_are_learnt(subject: Subject) -> None:
    drive(subject, examples=3, steps=10)
