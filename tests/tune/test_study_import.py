"""A study whose parameters were changed: a wider range, or a new study that takes over."""

from __future__ import annotations

import math

import optuna
import pytest
from optuna.trial import TrialState

from support.study_doubles import COMMAND, Scripted, all_of, measurement, trials_of
from surefoot.tune import StudyFileError, export, import_table, open_study, run
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.stopping import Stop
from surefoot.tune.study import table_import, trial_rows
from surefoot.tune.study.compatibility import is_changed_range
from surefoot.tune.study.stored_file import is_storage
from surefoot.tune.study.study_import import import_study
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

RENAMED = ('"hill"', '"valley"')
NEW = ("[parameters]", '[parameters]\nlevel = { type = "int", low = 1, high = 9, default = 6 }')
DEFAULTS = (
    ("low = 512", "default = 512, low = 512"),
    ("low = 0", "default = 0.5, low = 0"),
    ('"FULL"]', '"FULL"], default = "OFF"'),
)
WITH_LEVEL = {"command": f"{COMMAND} {{level}}"}


def measured_study(write_study, *replacements):
    path = write_study(*replacements)
    trials = trials_of(path, rounds=5)
    results = [measurement(float(index), 0.1) for index in range(4)] + [Failure("no", "", 0.1)]
    tune(trials, Scripted(results), Stop())
    return path, all_of(trials)


@pytest.mark.daily(1)
@pytest.mark.parametrize("storage", ["", 'storage = "journal:///STUDY.log"'])
def test_measurements_are_taken_over_with_the_default_of_a_new_parameter(
    write_study, tmp_path, storage
):
    kept = ("rounds = 8", f"rounds = 8\n{storage}")
    _, before = measured_study(write_study, kept)
    old = next(file for file in tmp_path.iterdir() if is_storage(file))
    path = write_study(RENAMED, NEW, *DEFAULTS, **WITH_LEVEL)
    assert import_study(path, old).trials == 5
    after = open_study(path).study.get_trials()
    assert [one.params for one in after] == [{"level": 6, **one.params} for one in before]
    assert [one.value for one in after] == [0.0, 1.0, 2.0, 3.0, None]
    assert after[-1].user_attrs["failure"] == "no"
    assert [one.datetime_start for one in after] == [one.datetime_start for one in before]
    again = import_study(path, old)
    assert (again.trials, again.present) == (0, 5)
    assert is_storage(old)
    assert not is_storage(path)


@pytest.mark.long
def test_what_is_outside_a_narrower_range_is_left_out(write_study, tmp_path):
    _, before = measured_study(write_study)
    path = write_study(RENAMED, ("high = 1 ", "high = 0.5 "))
    done = import_study(path, tmp_path / "hill.db")
    inside = [one.params for one in before if one.params["share"] <= 0.5]
    assert 0 < len(inside) < 5
    assert (done.trials, done.outside) == (len(inside), 5 - len(inside))
    assert [one.params for one in open_study(path).study.get_trials()] == inside


@pytest.mark.parametrize(
    ("replacements", "command", "message"),
    [
        (
            [("[parameters]", NEW[1].replace(", default = 6", ""))],
            WITH_LEVEL["command"],
            r"parameters.level is new .* `default`",
        ),
        (
            [('mode = { type = "categorical", choices = ["OFF", "NORMAL", "FULL"] }', "")],
            COMMAND.replace("{mode}", ""),
            "has the parameter 'mode', which STUDY.toml lacks",
        ),
        ([("minimize", "maximize")], COMMAND, "the study is to minimize, expected maximize"),
    ],
)
def test_a_study_that_cannot_be_taken_over_is_refused(
    write_study, tmp_path, replacements, command, message
):
    measured_study(write_study)
    path = write_study(RENAMED, *replacements, command=command)
    with pytest.raises(InvalidInput, match=message):
        import_study(path, tmp_path / "hill.db")
    assert not (tmp_path / "valley.db").exists()


def test_an_infinite_value_is_a_failed_measurement_as_if_it_were_printed(write_study, tmp_path):
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("size", 512, 65536, log=True)
        trial.suggest_categorical("mode", ["OFF", "NORMAL", "FULL"])
        return (math.inf, -math.inf, 2.0)[trial.number] + trial.suggest_float("share", 0, 1)

    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/old.db")
    study.optimize(objective, n_trials=3)
    path = write_study()
    done = import_study(path, tmp_path / "old.db")
    assert (done.trials, done.failed) == (3, 2)
    failed, other, measured = open_study(path).study.get_trials()
    assert failed.user_attrs["failure"] == "the value is inf, expected a finite number"
    assert other.user_attrs["failure"] == "the value is -inf, expected a finite number"
    assert measured.value == study.trials[2].value
    export(open_study(path), tmp_path / "table.csv")
    assert import_table(path, tmp_path / "table.csv").present == 3


RANGE = {"type": "int", "low": 1, "high": 10, "special": [0]}


@pytest.mark.parametrize(
    ("high", "values", "is_one"),
    [
        (20, [0, 5], True),
        (4, [0, 3], True),
        (4, [0, 5], False),
        (4, [], True),
        (20, None, True),
        (4, None, False),  # of a variable of the environment
    ],
)
def test_a_range_may_be_any_in_which_all_values_are_and_special_ones(high, values, is_one):
    assert is_changed_range(RANGE, {**RANGE, "high": high}, values) is is_one


def test_a_range_is_undone_where_all_values_are_in_the_old_one(write_study):
    measured_study(write_study)
    wide = trials_of(write_study(("high = 1 ", "high = 4 ")), rounds=3)
    assert "the range of share has changed" in wide.opened.note
    assert "the range of share has changed" in trials_of(write_study(), rounds=3).opened.note
    largest = max(one.params["share"] for one in all_of(wide))
    path = write_study(("high = 1 ", f"high = {0.5 * largest} "))
    with pytest.raises(StudyFileError, match=r"parameters\.share: got .* restore the old value"):
        open_study(path)


@pytest.mark.long
def test_a_wider_range_needs_no_new_study(write_study):
    measured_study(write_study)
    path = write_study(("high = 1 ", "high = 4 "))
    trials = trials_of(path, rounds=7)
    assert trials.opened.note.startswith("the range of share has changed since ")
    tune(trials, Scripted(), Stop())
    assert [one.state for one in all_of(trials)].count(TrialState.COMPLETE) == 6
    assert not open_study(path).note
    with pytest.raises(StudyFileError, match=r"restore the old value, or choose .*import"):
        open_study(write_study(("high = 1 ", "high = 0.5 ")))


@pytest.mark.long
def test_all_differences_are_named(write_study):
    measured_study(write_study)
    path = write_study(("high = 1 ", "high = 0.5 "), ('"FULL"', '"FULL", "EXTRA"'))
    with pytest.raises(StudyFileError, match=r"parameters.share: .* \(parameters.mode differs too"):
        open_study(path)


def test_an_import_says_how_far_it_is(write_study, tmp_path, monkeypatch):
    measured_study(write_study)
    monkeypatch.setattr(table_import, "PATIENCE", 0.0)
    monkeypatch.setattr(trial_rows, "ROWS_AT_ONCE", 2)
    said = []
    import_study(write_study(RENAMED), tmp_path / "hill.db", said.append)
    assert said == ["imported 2 of 5 trials", "imported 4 of 5 trials"]


def test_what_optuna_has_recorded_of_constraints_is_said(write_study, tmp_path):
    url, said = f"sqlite:///{tmp_path / 'old.db'}", []
    old = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("size", 512, 65536, log=True)
        trial.suggest_float("share", 0, 1)
        trial.suggest_categorical("mode", ["OFF", "NORMAL", "FULL"])
        trial.set_constraint("mem", -1.0)
        return 1.0

    old.optimize(objective, n_trials=2)
    path = write_study(("[parameters]", "[constraints]\nmem = { max = 1 }\n[parameters]"))
    assert import_study(path, tmp_path / "old.db", said.append).trials == 2
    assert said == [
        "old.db: 'mem': constraints that Optuna has recorded are not taken over; for one in "
        "[constraints], import a table with its values as `constraint_NAME`"
    ]


def test_nothing_is_said_of_constraints_that_are_taken_over(write_study, tmp_path):
    limited = ("[parameters]", "[constraints]\nmem = { max = 1 }\n[parameters]")
    bench = "import sys\nprint('mem=0.5')\nprint(float(sys.argv[2]))\n"
    run(write_study(limited, bench=bench), rounds=2, quiet=True)
    said = []
    path = write_study(limited, RENAMED, bench=bench)
    assert import_study(path, tmp_path / "hill.db", said.append).trials == 2
    assert said == []
    adopted = open_study(path).study.get_trials()
    assert [one.user_attrs["constraints"] for one in adopted] == [{"mem": 0.5}] * 2
