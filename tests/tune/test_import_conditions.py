"""Trials of an older study in one that knows under which conditions it measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import study_writer, surefoot
from surefoot.tune import open_study
from surefoot.tune.study.study_import import import_study
from surefoot.tune.study.trial_attributes import trial_environment
from surefoot.types import InvalidInput

STUDY = """
[study]
name = "old"
direction = "minimize"
rounds = 9
[parameters]
x = { type = "float", low = 0, high = 1 }
"""
TABLES = {  # what is new, its name, a value of it, and one that is out of its range
    "given": (
        '[environment]\ncontrol = "given"\n'
        'load = { type = "float", low = 1, high = 100, unit = "rps" }\n',
        "environment.load",
        "50rps",
        "500",
    ),
    "fidelity": (
        "[fidelity]\nseconds = { levels = [1, 10], cost = [1, 10] }\n",
        "fidelity.seconds",
        "10",
        "3",
    ),
    "environment": (
        '[environment]\ndemand = { distribution = "uniform", low = 0, high = 9 }\n'
        '[risk]\nmeasure = "var"\nlevel = 0.3\n',
        "environment.demand",
        "4.5",
        "nothing",
    ),
}
CASES = pytest.mark.parametrize(("table", "key", "value", "wrong"), TABLES.values(), ids=TABLES)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a study file with a table that is new, beside the older study."""
    (tmp_path / "runs.csv").write_text("x,value\n0.1,1\n0.5,2\n0.9,\n")
    written = study_writer(tmp_path, STUDY, "")
    surefoot("import", written(), tmp_path / "runs.csv")
    return lambda table: written(('"old"', '"new"'), ("[parameters]", f"{table}[parameters]"))


@pytest.mark.daily(2)
@CASES
def test_what_is_missing_is_said_and_may_be_given(write, table, key, value, wrong):
    path, (home, _, name) = write(table), key.partition(".")
    said = surefoot("import", path, path.with_name("old.db"), code=2)
    assert f"old.db: trial 0 has no value of {key} in study.toml; expected --given {name}=" in said
    assert not path.with_name("new.db").exists()
    option = f"{name}={value}"
    done = surefoot("import", path, path.with_name("old.db"), "--given", option)
    assert done.startswith("imported 3 trials, 1 of them failed")
    number = float(value.removesuffix("rps"))
    for trial in open_study(path).study.get_trials():
        values = (
            trial_environment(trial) if home == "fidelity" or name == "demand" else trial.params
        )
        assert values[name] == number


@pytest.mark.daily(2)
@CASES
def test_a_value_that_cannot_be_is_refused(write, table, key, value, wrong):
    path, name = write(table), key.partition(".")[2]
    for given, said in [
        ({name: wrong}, f"{name}: got '{wrong}'"),
        ({"y": "1"}, f"expected {name}"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            import_study(path, path.with_name("old.db"), given=given)
    assert not path.with_name("new.db").exists()


@pytest.mark.long
@CASES
def test_what_trials_have_themselves_is_kept(write, tmp_path, table, key, value, wrong):
    path, name = write(table), key.partition(".")[2]
    import_study(path, path.with_name("old.db"), given={name: value})
    before = conditions(path)
    again = study_writer(tmp_path, path.read_text(), "")(('"new"', '"newer"'))
    assert import_study(again, tmp_path / "new.db", given={name: "1"}).trials == len(before)
    assert conditions(again) == before


def conditions(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Parameters and environment of each trial."""
    trials = open_study(path).study.get_trials()
    return [(one.params, trial_environment(one)) for one in trials]


def test_a_table_has_a_column_of_it_instead(write):
    path = write(TABLES["given"][0])
    said = surefoot("import", path, path.with_name("runs.csv"), "--given", "load=5", code=2)
    assert "--given: got a value of load with a table, expected a column of it" in said
