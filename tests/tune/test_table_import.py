"""Tables become trials: the inverse of `surefoot export`, all or nothing, and once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner

from support.commands import surefoot
from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.cli import app
from surefoot.integrations.optuna.trial_reader import conditions_of
from surefoot.parameters import Choice, Float, Int
from surefoot.tune import StudyFile, export, import_table, open_study
from surefoot.tune.comparison.named_settings import named_setting
from surefoot.tune.definition.parameters import value_of
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.stopping import Stop
from surefoot.tune.study import table_import, trial_rows
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.table_import import Imported
from surefoot.tune.study.tables import trial_table
from surefoot.tune.study.trial_attributes import trial_seconds
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

HEAD = "size,share,mode,value\n"
STATES = "state,size,share,mode,value\n"
TIMED = "size,share,mode,value,time,seconds\n"
CHOICES = ('["OFF", "NORMAL", "FULL"]', '["=OFF", true, 3, 1.5]')


def table(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.long
def test_it_is_the_inverse_of_export(write_study, tmp_path):
    path = write_study(CHOICES)
    results = [measurement(float(i) / 3, 0.25) for i in range(6)]
    tune(trials_of(path, rounds=8), Scripted([*results, Failure("=1+1", "", 0.1)]), Stop())
    opened = open_study(path)
    export(opened, tmp_path / "all.csv")
    before = opened.study.get_trials()
    (tmp_path / "hill.db").unlink()
    assert import_table(path, tmp_path / "all.csv") == Imported(8, 1, 0, 0)
    after = open_study(path).study.get_trials()
    for key in ("params", "distributions", "value", "state"):
        assert [getattr(one, key) for one in after] == [getattr(one, key) for one in before]
    for key in ("failure", "seconds"):
        assert [one.user_attrs.get(key) for one in after] == [
            one.user_attrs.get(key) for one in before
        ]
    assert import_table(path, tmp_path / "all.csv") == Imported(0, 0, 8, 0)


KINDS = {
    "values": ("", measurement(2.5, 0.25, sem=0.5, worker="=w1")),
    "constraints": (
        "[constraints]\np99 = { max = 9 }\n",
        measurement(2.5, 0.25, sem=0.5, others={"p99": Quantity(3.25, 0.125)}),
    ),
    "objectives": (
        '[objectives]\nspeed = { direction = "maximize" }\ncost = { direction = "minimize" }\n',
        measurement(2.5, 0.25, sem=0.5, others={"cost": Quantity(7.5, 0.75)}),
    ),
    "an environment": (
        '[environment]\ncontrol = "observed"\n'
        'load = { distribution = "uniform", low = 0, high = 1 }\n[risk]\nmeasure = "mean"\n',
        measurement(2.5, 0.25, {"load": 0.125}, sem=0.5),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_column_of_export_comes_back_or_is_named(write_study, tmp_path, kind, ending):
    tables, measurement = KINDS[kind]
    path = write_study(("[parameters]", tables + "[parameters]"))
    if kind == "objectives":
        path.write_text(path.read_text().replace('direction = "minimize"\nrounds', "rounds"))
    script = [measurement, measurement, Failure("=1+1", "", 0.1), measurement, measurement]
    tune(trials_of(path, rounds=3), Scripted(script), Stop())
    opened = open_study(path)
    export(opened, file := tmp_path / f"all.{ending}")
    before, columns = trial_table(opened.state())
    began = [conditions_of(one, ["drift"]) for one in opened.study.get_trials()]
    (tmp_path / "hill.db").unlink()
    done = import_table(path, file)
    opened = open_study(path)
    after, _ = trial_table(opened.state())
    assert [conditions_of(one, ["drift"]) for one in opened.study.get_trials()] == began
    assert all(one["start"] is not None for one in after)
    for name in {*columns} - {*done.ignored, "weight"}:
        assert [one[name] for one in after] == [one[name] for one in before], name
    assert not done.ignored


@pytest.mark.long
def test_rows_of_a_table_keep_the_change_with_time(write_study, tmp_path):
    text = "size,share,mode,value,start\n"
    rows = [
        f"512,0.5,OFF,{1 + i // 20 + 0.01 * (i % 3)},2026-03-01 14:{i:02}:00\n" for i in range(40)
    ]
    path = write_study()
    import_table(path, table(tmp_path, text + "".join(rows)))
    assert "drift" in open_study(path).state().belief.effects


@pytest.mark.long
def test_a_table_of_the_same_study_is_recognised(write_study, tmp_path):
    path = write_study(CHOICES)
    results = [measurement(1.0, 0.25)] * 3 + [Failure("exit status 3", "", 0.1)]
    tune(trials_of(path, rounds=4), Scripted(results), Stop())
    export(open_study(path), tmp_path / "all.csv")
    assert import_table(path, tmp_path / "all.csv") == Imported(0, 0, 4, 0)
    assert len(open_study(path).study.get_trials()) == 4
    tune(trials_of(path, rounds=5), Scripted(), Stop())  # other weights, and one more row
    export(open_study(path), tmp_path / "all.csv")
    assert import_table(path, tmp_path / "all.csv") == Imported(0, 0, 5, 0)
    other = tmp_path / "other"
    other.mkdir()
    copy = other / path.name
    copy.write_text(path.read_text())
    assert import_table(copy, tmp_path / "all.csv").trials == 5
    export(open_study(copy), other / "all.csv")
    assert import_table(copy, other / "all.csv") == Imported(0, 0, 5, 0)
    assert import_table(path, other / "all.csv").trials == 0


def test_another_worker_or_time_is_another_measurement(write_study, tmp_path):
    path = write_study()
    head = "size,share,mode,value,worker,time\n"
    first = "512,0.5,OFF,1.0,a,2026-03-01 14:30:00\n"
    assert import_table(path, table(tmp_path, head + first)).trials == 1
    others = first.replace("a,", "b,") + first.replace("14:30", "15:30")
    runs = table(tmp_path, head + first + others)
    assert import_table(path, runs) == Imported(2, 0, 1, 0)
    assert import_table(path, table(tmp_path, HEAD + "512,0.5,OFF,1.0\n")).present == 1


def test_equal_rows_are_measurements_of_their_own(write_study, tmp_path):
    path = write_study()
    runs = table(tmp_path, HEAD + "512,0.5,OFF,1.0\n" * 3)
    assert import_table(path, runs) == Imported(3, 0, 0, 0)
    runs = table(tmp_path, HEAD + "512,0.5,OFF,1.0\n" * 4 + "1024,0.25,FULL,\n")
    assert import_table(path, runs) == Imported(2, 1, 3, 0)


OWN_NAMES = ("value", "weight", "state", "number", "seconds", "start", "worker", "sem", "failure")


def named(write_study, *names: str) -> Path:
    """A study of parameters from 0 to 9."""
    command = f"{sys.executable} bench.py " + " ".join(f"{{{name}}}" for name in names)
    path = write_study(command=command)
    head = path.read_text().partition("[parameters]")[0]
    lines = [f'{name} = {{ type = "int", low = 0, high = 9 }}\n' for name in names]
    path.write_text(head + "[parameters]\n" + "".join(lines))
    return path


@pytest.mark.long
def test_parameters_may_have_the_names_of_other_columns(write_study, tmp_path):
    path = named(write_study, *OWN_NAMES)
    params = dict(zip(OWN_NAMES, range(9), strict=True))
    tune(trials_of(path, rounds=3), Scripted([Failure("no end", "", 0.5)]), Stop())
    opened = open_study(path)
    before = [one.params for one in opened.study.get_trials()]
    export(opened, tmp_path / "all.csv")
    (tmp_path / "hill.db").unlink()
    assert import_table(path, tmp_path / "all.csv") == Imported(3, 1, 0, 0)
    after = open_study(path).study.get_trials()
    assert [one.params for one in after] == before
    assert after[0].user_attrs["failure"] == "no end"
    head = ",".join(["params_value", *OWN_NAMES[1:], "value"])
    runs = table(tmp_path, f"{head}\n{','.join(map(str, range(9)))},5.5\n")
    assert import_table(path, runs) == Imported(1, 0, 0, 0)
    trial = open_study(path).study.get_trials()[-1]
    assert (trial.params, trial.value) == (params, 5.5)
    assert not {"seconds", "surefoot:worker", "surefoot:sem"} & trial.user_attrs.keys()
    assert trial_seconds(trial) is None


@pytest.mark.parametrize("head", ["value", "value,value"])
def test_one_column_is_not_both_a_parameter_and_the_value(write_study, tmp_path, head):
    path = named(write_study, "value")
    both = "the column 'value' would be both the measurements and the parameter 'value'"
    with pytest.raises(InvalidInput, match=f"{both}.* name that of the parameter params_value"):
        import_table(path, table(tmp_path, f"{head}\n1,2\n"))


def test_unfinished_trials_are_skipped_and_a_run_goes_on(write_study, tmp_path):
    path = write_study()
    states = "state,size,share,mode,value,failure\n"
    runs = table(tmp_path, states + "running,512,0.5,OFF,,\ncomplete,512,0.5,OFF,2.0,\n")
    assert import_table(path, runs) == Imported(1, 0, 0, 1)
    more = "PRUNED,512,0.6,OFF,1.0,\nTrialState.WAITING,512,0.6,OFF,,\nRUNNING,512,0.6,OFF,,\n"
    assert import_table(path, table(tmp_path, states + more)) == Imported(0, 0, 0, 3)
    trials = trials_of(path, rounds=3)
    tune(trials, Scripted(), Stop())
    assert [one.value for one in all_of(trials)] == [2.0, 1.0, 1.0]


def test_an_environment_comes_with_it(write_study, tmp_path):
    risk = '\n[environment]\nload = { distribution = "uniform", low = 0, high = 1 }\n'
    risk += '[risk]\nmeasure = "var"\nlevel = 0.1\n'
    path = write_study()
    path.write_text(path.read_text().replace("{mode}", "{mode} {load}") + risk)
    runs = table(tmp_path, "size,share,mode,load,value\n512,0.5,OFF,0.25,2.0\n")
    assert import_table(path, runs).trials == 1
    (trial,) = open_study(path).study.get_trials()
    assert trial.user_attrs["surefoot:environment"] == {"load": 0.25}
    with pytest.raises(InvalidInput, match="no column 'load'"):
        import_table(path, table(tmp_path, HEAD + "512,0.5,OFF,2.0\n"))


def test_an_observed_environment_is_recognised(write_study, tmp_path):
    path = write_study()
    path.write_text(
        path.read_text()
        + """
[environment]
control = "observed"
load = { distribution = "uniform", low = 0, high = 1 }
clients = { values = [1, 2] }
[risk]
measure = "mean"
"""
    )
    results = [measurement(1.0, 0.1, {"load": 0.1234, "clients": 2}), Failure("no end", "", 0.1)]
    tune(trials_of(path, rounds=2), Scripted(results), Stop())
    export(open_study(path), tmp_path / "all.csv")
    assert import_table(path, tmp_path / "all.csv") == Imported(0, 0, 2, 0)
    outside = table(tmp_path, "size,share,mode,load,clients,value\n512,1,OFF,0.5,3,1\n")
    with pytest.raises(InvalidInput, match=r"line 2: got '3' in column 'clients', .* one of 1, 2"):
        import_table(path, outside)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "512,0.5,OFF,1\n511,0.5,OFF,1\n", "line 3: got '511' in column 'size', expected a"),
        (HEAD + "600.5,0.5,OFF,1\n", "'600.5' in column 'size', expected a whole number"),
        (HEAD + "512,x,OFF,1\n", "'x' in column 'share', expected a number from 0 to 1"),
        (HEAD + "512,0.5,off,1\n", "'off' in column 'mode', expected one of OFF, NORMAL, FULL"),
        (HEAD + "512,0.5,OFF,nan\n", "'nan' in column 'value', expected a finite number"),
        (
            HEAD + "512,0.5\n",
            "line 2: got 2 cells, expected 4 as in the first line: the row is not c",
        ),
        (HEAD + "512,0.5,OFF,1\n512,0.5,OFF\n", "line 3: got 3 cells, expected 4"),
        (HEAD + "512,0.5,OFF,1_0\n", "'1_0' in column 'value', expected a finite number"),
        (HEAD + "512,0.5,OFF,1 ms\n", "'1 ms' in column 'value', expected a finite number"),
        (
            STATES + "done,512,0.5,OFF,1\n",
            "'done' in column 'state', expected one of complete, fai",
        ),
        (STATES + "FAIL,512,0.5,OFF,1\n", "'FAIL' in column 'state', expected no value beside it"),
        (
            "size,share,mode,value,failure\n512,0.5,OFF,5,oom\n",
            "'oom' in column 'failure', expected an empty cell beside the value '5'",
        ),
        (
            STATES + "complete,512,0.5,OFF,\n",
            "'complete' in column 'state', expected a value besid",
        ),
        ("constraint_p99,size,share,mode,value\n1,512,0.5,OFF,1\n", "has no constraints.p99, expe"),
        ("size,share,value\n512,0.5,1\n", "no column 'mode', expected one beside"),
        ("size,share,mode\n512,0.5,OFF\n", "no column 'value'"),
        ("size,share,mode,value,speed\n512,0.5,OFF,1,2\n", "unknown column 'speed'"),
        (HEAD + "512,0.5,OFF,12,5\n", "line 2: got 5 cells, expected 4 as in the first"),
        ("size,share,mode,value,value\n512,0.5,OFF,1,2\n", "the column 'value' is there twice"),
        (TIMED + "512,0.5,OFF,1,9999-12-30 23:59:59,86405\n", "'86405' in column 'seconds', ex"),
        (TIMED + "512,0.5,OFF,1,2026-03-01,1e300\n", "'1e300' in column 'seconds', expected a"),
        ("sem_p99,size,share,mode,value\n1,512,0.5,OFF,1\n", "unknown column 'sem_p99'"),
        (TIMED + "512,0.5,OFF,1,2026-03-01,-3\n", "'-3' in column 'seconds', expected a duration"),
        (TIMED + "512,0.5,OFF,1,0001-01-01T00:00:00+14:00,1\n", "in column 'time', expected"),
        ("", "the file is empty"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_added(write_study, tmp_path, text, message):
    path = write_study()
    with pytest.raises(InvalidInput, match=message):
        import_table(path, table(tmp_path, text))
    assert not (tmp_path / "hill.db").exists()


@pytest.mark.daily(1)
@pytest.mark.parametrize("zone", ["", "Z", "+00:00", "+14:00", "-14:00", "-00:01"])
@pytest.mark.parametrize("column", ["time", "start"])
def test_a_time_that_no_storage_keeps_is_refused_by_its_line(write_study, tmp_path, zone, column):
    path, text = (
        write_study(),
        f"size,share,mode,value,{column}\n512,0.5,OFF,1,0001-01-{{}}{zone}\n",
    )
    with pytest.raises(InvalidInput, match=r"line 2: got '0001-01-01T00:00:00\S*' in column"):
        import_table(path, table(tmp_path, text.format("01T00:00:00")))
    assert not (tmp_path / "hill.db").exists()
    import_table(path, table(tmp_path, text.format("03T00:00:00")))
    assert open_study(path).state().finished == 1


WIDE = ",".join(f"column{n}" for n in range(20_000))


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps({"results": [{"times": [*range(50_000)]}]}), "a JSON document, expected a CSV"),
        (json.dumps([{"x": 1}], indent=1), "a JSON or TOML document, expected a CSV"),
        ("\n  <!DOCTYPE html><p>" + "no table " * 50_000, "an HTML or XML document, expected"),
        (f"{WIDE}\n{','.join(map(str, range(20_000)))}\n", "column"),
        ("x" * 100_000 + ",y\n", "column"),
        ("y\n" + "z" * 100_000 + "\n", ""),
        ("y\n" + "1," * 50_000 + "\n", ""),
    ],
)
def test_a_message_is_short_however_long_the_file_is(write_study, tmp_path, content, said):
    path, file = write_study(), table(tmp_path, content)
    for command in (("diagnose", file), ("import", path, file)):
        printed = surefoot(*command, code=2)
        assert said in printed
        assert len(printed) < 2_500
        assert len(printed.splitlines()) == 1


def test_a_file_that_is_not_there(write_study, tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        import_table(write_study(), tmp_path / "none.csv")


def test_a_table_of_optuna(write_study, tmp_path):
    """`trials_dataframe().to_csv()`, with its dates, durations, states and attributes."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("size", 512, 65536, log=True)
        trial.suggest_categorical("mode", ["OFF", "NORMAL", "FULL"])
        trial.set_user_attr("note", "kept, not here")
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise ZeroDivisionError
        return trial.suggest_float("share", 0, 1) + trial.number

    study.enqueue_trial({"share": 0.5}, skip_if_exists=False)
    study.optimize(objective, n_trials=5, catch=ZeroDivisionError)
    frame = study.trials_dataframe()
    frame["params_share"] = frame["params_share"].fillna(0.5)
    frame.to_csv(tmp_path / "all.csv")
    path = write_study()
    done = import_table(path, tmp_path / "all.csv")
    assert done == Imported(4, 1, 0, 1, ("user_attrs_note", "system_attrs_fixed_params"))
    before = [trial for trial in study.trials if trial.state != optuna.trial.TrialState.PRUNED]
    after = open_study(path).study.get_trials()
    assert [one.value for one in after] == [one.value for one in before]
    assert [one.params["size"] for one in after] == [one.params["size"] for one in before]
    assert after[0].datetime_start == before[0].datetime_start
    assert after[0].user_attrs["seconds"] == pytest.approx(before[0].duration.total_seconds())
    assert import_table(path, tmp_path / "all.csv").present == 4


@pytest.mark.parametrize("storage", ["", 'storage = "journal:///hill.journal"\n'])
def test_trials_are_stored_at_once_as_optuna_stores_each(
    write_study, tmp_path, monkeypatch, storage
):
    monkeypatch.setattr(trial_rows, "ROWS_AT_ONCE", 2)
    path = write_study(CHOICES, ("[objective]", f"{storage}\n[objective]"))
    file = table(
        tmp_path,
        "size,share,mode,value,sem,worker,time,seconds,failure\n"
        "512,0.25,=OFF,1e300,0.5,w1,2026-03-01 14:30:00.25,2,\n"
        "1024,0.5,true,,,,,,sorry\n512,0.25,3,-0.1,,,,,\n512,0.25,3,-0.1,,,,,\n",
    )
    opened = create_study(StudyFile.load(path))
    opened.study.enqueue_trial({"share": 0.5})
    rows = [row for row, _ in table_import._Table(opened.study_file, file).trials({}, {})]
    for row in rows:
        opened.study.add_trial(row)
    assert import_table(path, file) == Imported(0, 0, 4, 0)  # they are known
    assert list(trial_rows.add_finished(opened.study, opened.storage, rows))[-1] == 4
    trials = open_study(path).study.get_trials()
    assert [one.number for one in trials] == list(range(9))
    for one, other in zip(trials[1:5], trials[5:], strict=True):
        for key in ("params", "distributions", "value", "state", "user_attrs", "system_attrs"):
            assert getattr(one, key) == getattr(other, key), key
        assert one.datetime_complete == other.datetime_complete


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("time", "20260301"),  # a day, or seconds
        ("time", "1_700_000_000"),
        ("time", "\u0661\u0661"),
        ("time", "2026W101"),
        ("start", "yesterday"),
        ("start", "20260301"),
        ("seconds", "00:99:01"),
        ("size", "1_024"),
        ("size", "0x400"),
        ("share", "0,5"),
        ("share", "\u0661"),
    ],
)
def test_no_number_or_time_is_guessed(write_study, tmp_path, column, cell):
    row = {"size": "1024", "share": "0.5", "mode": "OFF", "value": "1"} | {column: f'"{cell}"'}
    path, file = write_study(), table(tmp_path, f"{','.join(row)}\n{','.join(row.values())}\n")
    with pytest.raises(InvalidInput, match=rf"line 2: got '{cell}' in column '{column}'"):
        import_table(path, file)
    assert not (tmp_path / "hill.db").exists()


def test_numbers_are_the_same_in_a_table_and_on_the_command_line(write_study):
    """One reader: an integer may be written as a float, and digits are those of the grammar."""
    study_file = StudyFile.load(write_study())
    read = named_setting(study_file, "size=1e3,share=1,mode=OFF").params
    assert read == {"size": 1000, "share": 1.0, "mode": "OFF"}
    assert isinstance(read["size"], int)
    for wrong in ("size=1_024", "size=\u0661\u0660\u0662\u0664", "size=1024.5", "size=nan"):
        with pytest.raises(InvalidInput, match="expected a whole number from 512"):
            named_setting(study_file, f"{wrong},share=1,mode=OFF")
    for option in ("1_0", "\u0661", "1e1"):
        result = CliRunner().invoke(app, ["tune", str(study_file.path), "--rounds", option])
        assert result.exit_code == 2
        assert f"got {option}, expected an integer of at least 1" in result.stderr


def test_a_parquet_table_is_the_inverse_of_export_too(write_study, tmp_path):
    pytest.importorskip("pyarrow")
    path = write_study(CHOICES)
    rows = "512,0.5,=OFF,1\n600,1,TRUE,\n700,0,3,2.5\n"
    import_table(path, table(tmp_path, HEAD + rows))
    export(open_study(path), tmp_path / "all.parquet")
    before = open_study(path).study.get_trials()
    assert import_table(path, tmp_path / "all.parquet") == Imported(0, 0, 3, 0)
    (tmp_path / "hill.db").unlink()
    assert import_table(path, tmp_path / "all.parquet") == Imported(3, 1, 0, 0)
    after = open_study(path).study.get_trials()
    assert [one.params for one in after] == [one.params for one in before]
    assert [one.value for one in after] == [one.value for one in before]


def test_a_choice_in_a_column_with_gaps_is_the_same_in_parquet(write_study, tmp_path):
    pytest.importorskip("pyarrow")
    numbers = '[512, 1024], when = "size > 600"'
    path = write_study(('["OFF", "NORMAL", "FULL"]', numbers))
    import_table(path, table(tmp_path, "size,share,mode,value\n512,0.5,,1\n700,1,1024,2\n"))
    export(open_study(path), tmp_path / "all.parquet")
    assert import_table(path, tmp_path / "all.parquet") == Imported(0, 0, 2, 0)


def test_a_number_that_is_infinite_in_the_unit_of_the_study_is_refused(write_study, tmp_path):
    path = write_study(("[objective]", '[objective]\nunit = "ms"'))
    rows = table(tmp_path, "size,share,mode,value,unit_value\n512,0.5,OFF,1e307,h\n")
    with pytest.raises(
        InvalidInput, match=r"line 2: got '1e307' in column 'value', expected a fin"
    ):
        import_table(path, rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x00\x00", "a spreadsheet or an archive, expected a CSV file"),
        (b"\x1f\x8b\x08\x00", "a compressed file, expected a CSV file"),
        ("size,value\n".encode("utf-16"), "a text in UTF-16, expected a CSV file"),
        (b"size,value,failure\n1,,caf\xe9\n", "not UTF-8 at byte 25, expected a CSV file"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_a_file_of_another_kind_is_named(write_study, tmp_path, content, message):
    if content.startswith(b"PAR1"):
        pytest.importorskip("pyarrow")
    (tmp_path / "runs.csv").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        import_table(write_study(), tmp_path / "runs.csv")


def test_two_columns_of_one_parameter_are_refused(write_study, tmp_path):
    text = "size,params_size,share,mode,value\n512,600,0.5,OFF,1\n"
    with pytest.raises(InvalidInput, match="the columns 'params_size' and 'size', expected one of"):
        import_table(write_study(), table(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "parameter", "value"),
    [
        ("0.30000001192092896", Float(0.0, 0.3), 0.3),
        ("0.10000000149011612", Float(0.1, 0.7, step=0.1), 0.1),
        ("0.6000000238418579", Float(0.1, 0.7, step=0.1), 0.6),
        ("0.3000001", Float(0.0, 0.3), None),
        ("1.0000001", Int(1, 4), None),
    ],
)
def test_a_bound_that_float32_has_rounded_is_the_bound(text, parameter, value):
    read = value_of(text, parameter)
    assert read == (value if value is None else pytest.approx(value, rel=1e-12))
    assert read is None or parameter.low <= read <= parameter.high


@pytest.mark.parametrize(
    ("text", "choices", "value"),
    [
        ("512.0", [512, 1024], 512),
        ("1.0", [1, 2.5, False], 1),
        ("1.0", [1, "1.0"], "1.0"),
        ("1.0", [True, "a"], None),
    ],
)
def test_a_choice_is_found_by_its_number_in_a_column_of_floats(text, choices, value):
    read = value_of(text, Choice(choices))
    assert read == value
    assert type(read) is type(value)


def test_a_name_of_optunas_table_is_the_studys_own_where_it_has_one(write_study, tmp_path):
    limit = ("[parameters]", "[constraints]\nvalues_0 = { max = 3 }\n\n[parameters]")
    path = write_study(limit, ('["OFF", "NORMAL", "FULL"]', '[true, "TRUE", false]'))
    rows = "512,0.5,TRUE,1,2\n512,0.5,True,1,2\n600,0.5,FALSE,1,2\n"
    import_table(path, table(tmp_path, f"size,share,mode,value,values_0\n{rows}"))
    trials = open_study(path).study.get_trials()
    assert [trial.user_attrs["constraints"] for trial in trials] == [{"values_0": 2.0}] * 3
    assert [trial.params["mode"] for trial in trials] == ["TRUE", True, False]
