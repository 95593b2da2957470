"""`guess` of a parameter in a study file."""

from __future__ import annotations

import pytest

from support.commands import surefoot
from surefoot.tune import StudyFile, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell


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


@pytest.mark.long
@pytest.mark.parametrize("door", ["tune", "ask"])
@pytest.mark.parametrize("log", ["false", "true"])
def test_a_search_begins_with_the_guess_whoever_measures(write_study, door, log):
    number = f"low = 1, high = 1000, log = {log}, guess"
    path = write_study(
        (
            'share = { type = "float", low = 0, high = 1 }',
            f'share = {{ type = "float", {number} = 7 }}',
        ),
        (
            "low = 512, high = 65536, log = true",
            "low = 512, high = 65536, log = true, guess = 4096",
        ),
        ("rounds = 8", "rounds = 8\ninitial = 4"),
    )
    if door == "ask":
        asked = [one.params for one in open_ask_tell(path).ask(4)]
    else:
        surefoot("tune", path, "--rounds", "4", "--quiet")
        asked = [trial.params for trial in open_study(path).state().trials]
    assert (asked[0]["size"], asked[0]["share"]) == (4096, 7.0)
    assert len({str(one) for one in asked}) == 4


@pytest.mark.long
@pytest.mark.parametrize("door", ["tune", "ask"])
def test_a_search_begins_with_what_the_older_study_recommends(write_study, door):
    path = write_study(("rounds = 8", "rounds = 16"))
    surefoot("tune", path, "--quiet")
    old = open_study(path).state().recommendation.params
    newer = path.with_name("newer.toml")
    newer.write_text(
        path.read_text()
        .replace('"hill"', '"newer"')
        .replace("rounds = 16", "rounds = 4\ninitial = 4")
        + '[prior]\nfrom = "hill.db"\n'
    )
    if door == "ask":
        first = open_ask_tell(newer).ask(1)[0].params
    else:
        surefoot("tune", newer, "--rounds", "1", "--quiet")
        first = open_study(newer).state().trials[0].params
    assert abs(first["share"] - old["share"]) < 0.1
