"""`guess` of a parameter in a study file."""

from __future__ import annotations

import pytest

from surefoot.tune import StudyFile


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("OFF", {"mode": "OFF"}), ("FULL", {"mode": "FULL", "wait": 3.0})],
)
def test_a_guess_that_is_inactive_beside_the_others_is_left_out(write_study, mode, expected):
    """Each parameter has one of its own, also of the branch that is not thought to be the best."""
    wait = f'"FULL"], guess = "{mode}" }}\nwait = {{ type = "float", low = 1, high = 9, guess = 3, '
    path = write_study(
        ('"FULL"] }', wait + "when = \"mode == 'FULL'\" }"),
        ('mode}"', 'mode} {wait}"'),
    )
    assert StudyFile.load(path).guess == expected
