"""Studies with several objectives: files, runs, recommendations, comparisons and reports."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from support.commands import study_writer, surefoot
from support.study_doubles import measurement
from surefoot.integrations.optuna import CONSTRAINTS, STANDARD_ERROR, STANDARD_ERRORS
from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell, status_of
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.check import check
from surefoot.tune.comparison.comparison import of_further
from surefoot.tune.measuring.measurement import VALUE, Failure, Measurement
from surefoot.tune.measuring.observed_constraints import check_constraints
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.study.front_text import preferences
from surefoot.tune.study.opened_study import OpenedStudy, create_study
from surefoot.tune.study.study_import import import_study
from surefoot.tune.study.table_import import import_table
from surefoot.tune.study.trial_attributes import UNITS
from surefoot.types import InvalidInput

STUDY = f"""
[study]
name = "demo"
rounds = 7
initial = 4
[objective]
command = "{sys.executable} bench.py {{x}}"
[objectives]
cost = {{ direction = "minimize", value = "cost", unit = "ms" }}
speed = {{ direction = "maximize", value = "speed" }}
[parameters]
x = {{ type = "float", low = 0, high = 1, default = 0.5 }}
"""
BENCH = """
import sys
x = float(sys.argv[1])
print("cost", 1 + x, "ms")
print("speed", x * (2 - x))
"""
OBJECTIVES = STUDY[STUDY.index("cost =") : STUDY.index("[parameters]")]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file and its benchmark."""
    return study_writer(tmp_path, STUDY, BENCH)


@pytest.fixture
def measured(write: Callable[..., Path]) -> OpenedStudy:
    """A study with nine measurements, as a run records them."""
    opened = create_study(StudyFile.load(write()))
    for i in range(9):
        params: dict[str, Any] = {"x": i / 8}
        x = params["x"]
        opened.study.add_trial(
            create_trial(
                params=params,
                distributions=opened.study_file.distributions,
                value=1.0 + x,
                user_attrs={CONSTRAINTS: {"speed": x * (2.0 - x)}},
            )
        )
    return opened


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 7", 'rounds = 7\ndirection = "minimize"', "study.direction: given beside"),
        (f"[objectives]\n{OBJECTIVES}", "", "study.direction: missing"),
        ('speed = { direction = "maximize", value = "speed" }', "", "objectives: got one"),
        ('direction = "maximize", ', "", "objectives.speed.direction: missing"),
        ('"maximize"', '"up"', "objectives.speed.direction: got 'up'"),
        ('value = "speed"', "log = true", "objectives.speed.log"),
        ("speed =", "x =", "objectives.x: is a parameter"),
        ("[parameters]", "[constraints]\nspeed = { max = 1 }\n[parameters]", "is a constraint"),
        ("[objectives]", 'value = "cost"\n[objectives]', "objective.value: given beside"),
        ("[objectives]", "log = true\n[objectives]", "objective.log: true beside"),
        ("[parameters]", "[repeats]\nmost = 2\n[parameters]", "repeats: given beside"),
        ("[parameters]", "[stop]\ngain = 0.1\n[parameters]", "stop: given beside"),
        ("[parameters]", "[confirm]\n[parameters]", "confirm: given beside"),
    ],
)
def test_errors_name_the_key(write: Callable[..., Path], old: str, new: str, message: str) -> None:
    with pytest.raises(StudyFileError, match=message):
        StudyFile.load(write((old, new)))


READ = [
    ("cost=3ms\nspeed=5\nwall=9.1", (3.0, 5.0)),  # the last line says nothing of it
    ("speed: 5\ncost: 3000 us", (3.0, 5.0)),
    ('{"speed": 5, "cost": 3, "wall": 9}', (3.0, 5.0)),
    ("cost 3 ms +- 0.2 ms\nspeed 5", (3.0, 5.0)),
    ("speed=5\nwall=9.1", "no `cost=NUMBER` on standard output, expected it, since cost is"),
    ("speed=5\n3 ms", (3.0, 5.0)),  # alone in the last line
    ("speed=5\nsamples: 2 3 4", (3.0, 5.0)),
    ("cost=9 speed=5\nsamples: 2 3 4", (3.0, 5.0)),
    ("speed=5\nin 12.5 s", "no `cost=NUMBER` on standard output"),
    ("cost=3", "no `speed=NUMBER` on standard output"),
    ("cost=nan\nspeed=5", "the objective cost is NaN, expected a finite number"),
    ("cost=3\nspeed=inf", "the objective speed is infinite, expected a finite number"),
    ("cost=3\nspeed=1,000", "the objective speed: 1,000 in its line has several readings"),
    ("cost=\nspeed=5", "the objective cost: nothing behind `cost=`, expected `cost=NUMBER`"),
]


@pytest.mark.daily(4)
@pytest.mark.parametrize(("output", "read"), READ)
def test_every_objective_is_read_by_its_name(
    tmp_path: Path, output: str, read: tuple[float, float] | str
) -> None:
    named = STUDY.replace(', value = "cost"', "").replace(', value = "speed"', "")
    path = study_writer(tmp_path, named, f"print({output!r})\n")()
    result = check(path).result
    if isinstance(read, str):
        assert isinstance(result, Failure)
        assert result.reason.startswith(read)
        assert result.blameless == ("NaN" not in read and "inf" not in read)
    else:
        assert isinstance(result, Measurement)
        assert (result.value, result.values["speed"]) == read


def test_a_name_that_the_study_file_has_is_not_guessed(tmp_path: Path) -> None:
    path = study_writer(tmp_path, STUDY, "print('speed 5')\nprint(12.5)\n")()
    assert isinstance(result := check(path).result, Failure)
    assert "no cost on standard output" in result.reason


def test_an_objective_may_have_the_name_worker(tmp_path: Path) -> None:
    named = STUDY.replace(
        'cost = { direction = "minimize", value = "cost"', 'worker = { direction = "minimize"'
    )
    path = study_writer(tmp_path, named, "print('worker=3 ms')\nprint('speed=5')\n")()
    assert isinstance(result := check(path).result, Measurement)
    assert (result.value, result.worker) == (3.0, "")


def test_slices_of_a_run_are_compared(tmp_path: Path) -> None:
    bench = """
import sys
print("speed=5", flush=True)
for i in range(4):
    print("samples:", float(sys.argv[1]) + i / 100, flush=True)
"""
    named = STUDY.replace(', value = "cost"', "").replace(', value = "speed"', "")
    path = study_writer(tmp_path, named, bench)()
    said = surefoot("compare", path, "--a", "x=0.2", "--b", "x=0.3", "--runs", 2, "--slices", 2)
    assert "Failed" not in said


def test_other_objectives_are_another_study(write: Callable[..., Path]) -> None:
    create_study(StudyFile.load(write()))
    with pytest.raises(StudyFileError, match=r"objectives.speed: got 'minimize'.*'maximize'"):
        open_study(write(('"maximize"', '"minimize"')))


@pytest.mark.long
def test_a_run_measures_all_objectives(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write()
    assert "speed: 0.75" in surefoot("check", path)
    assert "minimize cost, maximize speed" in (run := surefoot("tune", path))
    assert "trial 0: cost 1.5 ms, speed 0.75" in run
    assert "front of 7: cost 1" in run
    x = [trial.params["x"] for trial in open_study(path).state().trials]
    assert min(x) < 0.15
    assert max(x) > 0.85
    surefoot("export", path, "-o", tmp_path / "trials.csv")
    rows = list(csv.DictReader((tmp_path / "trials.csv").open()))
    assert all(float(row["objective_speed"]) <= float(row["value"]) for row in rows)
    again = write(('name = "demo"', 'name = "again"\nstorage = "sqlite:///again.db"'))
    surefoot("import", again, tmp_path / "trials.csv")
    assert len(open_study(again).state().front) == len(rows)


def _with_errors(opened: OpenedStudy, other: str, both: bool) -> float:
    """Prediction of `other` if half of its values are off by 1, with an error that says so.

    `other` is an objective or a constraint that is measured beside the value; `both` gives the
    errors of the right values, too.
    """
    for i in range(24):
        off = i % 2 == 1
        opened.study.add_trial(
            create_trial(
                params={"x": i // 2 / 11},
                distributions=opened.study_file.distributions,
                value=1.0 + i // 2 / 11,
                user_attrs={
                    CONSTRAINTS: {other: 3.0 + off},
                    STANDARD_ERRORS: {other: 1.0} if off else {other: 0.01} if both else {},
                },
            )
        )
    belief = open_study(opened.study_file.path).state().belief
    if other in opened.study_file.constraints:
        return belief.constraints({"x": 0.5})[other].value
    return float(belief.of_outcome(other, belief.declared[other]).predict([{"x": 0.5}])[0][0])


@pytest.mark.long
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("other", ["speed", "p99"])
def test_standard_errors_of_what_is_measured_beside_the_value_count(write, other, both) -> None:
    alone = ("[objectives]\n" + OBJECTIVES, "[constraints]\np99 = { max = 9 }\n")
    changes = (
        () if other == "speed" else (alone, ("rounds = 7", 'direction = "minimize"\nrounds = 7'))
    )
    opened = create_study(StudyFile.load(write(*changes)))
    assert _with_errors(opened, other, both) == pytest.approx(3.0, abs=0.15)


def test_standard_errors_are_read_converted_and_recorded(write, tmp_path) -> None:
    bench = BENCH.replace('"speed", x * (2 - x)', '"speed", "750 MB/s ± 20 MB/s"')
    bench = bench.replace('"cost", 1 + x, "ms"', '"cost 1500 us ± 40 us"')
    path = study_writer(tmp_path, STUDY, bench)(('"speed" }', '"speed", unit = "GB/s" }'))
    assert "speed: 0.75 ± 0.02 GB/s" in surefoot("check", path)
    surefoot("tune", path, "--rounds", 1)
    (trial,) = open_study(path).state().trials
    assert trial.user_attrs[STANDARD_ERRORS] == {"speed": 0.02}
    assert trial.user_attrs[STANDARD_ERROR] == 0.04
    surefoot("export", path, "-o", tmp_path / "all.csv")
    (row,) = csv.DictReader((tmp_path / "all.csv").open())
    assert (row["sem"], row["sem_speed"]) == ("0.04", "0.02")


@pytest.mark.parametrize("error", ["inf", "nan"])
def test_a_standard_error_that_is_none_is_blameless(error) -> None:
    quantity = Quantity(3.0, sem=float(error), text=f"3 ± {error}")
    found = check_constraints(["speed"], {"speed": quantity}, "no {0}", ["speed"])
    assert "the standard error of the objective speed is" in found.reason
    assert found.blameless


def test_a_comparison_of_a_further_objective_knows_its_errors() -> None:
    runs = [{"a": measurement(1.0, 0.1, sem=9.0, others={"speed": Quantity(2.0, 0.5)})}]
    (pair,) = of_further(runs, "speed")
    assert (pair["a"].value, pair["a"].sem) == (2.0, 0.5)


def test_runs_from_before_an_objective_are_no_runs_of_it() -> None:
    now = measurement(1.0, 0.1, others={"speed": Quantity(2.0, 0.5)})
    failed = Failure("no", "", 0.1)
    runs = [{"a": measurement(1.0, 0.1), "b": failed}, {"a": now, "b": now}]
    assert [[*pair] for pair in of_further(runs, "speed")] == [["b"], ["a", "b"]]


def test_a_status_has_the_direction_of_each_objective(write) -> None:
    both = {"cost": "minimize", "speed": "maximize"}
    assert status_of(write()).direction == both
    assert open_ask_tell(write()).status().as_dict()["direction"] == both


@pytest.mark.long
def test_a_preference_chooses_from_the_front(measured: OpenedStudy) -> None:
    path = measured.study_file.path
    compromise = json.loads(surefoot("recommend", path, "--json"))
    assert len(compromise["front"]) == 9
    assert 0.2 < compromise["params"]["x"] < 0.8
    assert compromise["objectives"]["cost"]["value"] == pytest.approx(compromise["value"])
    chosen = surefoot("recommend", path, "--prefer", "cost <= 1.3")
    assert "x = 0.25" in chosen
    assert "Front, 9 of 9 measured configurations:" in chosen
    chosen = surefoot("recommend", path, "--prefer", "speed>=0.7")
    assert "x = 0.5" in chosen
    warned = surefoot("recommend", path, "--prefer", "cost<=0.5")
    assert "Warning: no measured configuration keeps cost<=0.5 ms with" in warned
    (said,) = json.loads(surefoot("recommend", path, "--prefer", "cost<=0.5", "--json"))["warnings"]
    assert said.startswith("no measured configuration keeps cost<=0.5 ms with")


@pytest.mark.parametrize(
    ("text", "recorded", "expected"),
    [
        ("cost<=2", {}, 2.0),
        ("cost<=15us", {}, 0.015),
        ("cost <= 15 us", {VALUE: "s"}, 0.015),  # what is declared is what values are in
        ("cost<=0.1 s", {}, 100.0),
        ("cost<=1 min", {}, 60_000.0),
        ("cost<=2 us/op", {}, 0.002),
        ("speed>=2 kB/s", {"speed": "MB/s"}, 0.002),
        ("speed>=2k", {}, 2000.0),
        ("speed>=2k", {"speed": ""}, 2000.0),
        ("speed>=1e3", {"speed": "MB/s"}, 1000.0),
        ("cost<=2MB", {}, "cost is in ms; expected a number of that unit"),
        ("cost<=2points", {}, "cost is in ms"),
        ("speed>=2 kB/s", {}, "no unit of speed is known; expected a number, or `unit` in"),
        ("speed>=2 kB/s", {"speed": ""}, "no unit of speed is known"),
        ("speed>=2 ms", {"speed": "MB/s"}, "speed is in MB/s; expected"),
        ("cost<=nan", {}, "expected a number behind <="),
        ("cost<=1_0", {}, "expected a number behind <="),
        ("cost<=2±1", {}, "expected a number behind <="),
    ],
)
def test_a_unit_of_a_preference_is_that_of_its_objective(write, text, recorded, expected):
    study_file = StudyFile.load(write()).measured_in(recorded)
    if isinstance(expected, float):
        (found,) = preferences(study_file, [text]).values()
        assert found == expected
        return
    with pytest.raises(InvalidInput, match=re.escape(expected)) as refused:
        preferences(study_file, [text])
    assert repr(text) in str(refused.value)


@pytest.mark.daily(1)
def test_an_objective_that_is_always_0_keeps_a_limit_of_0_and_has_no_interval(write, tmp_path):
    path, table = write(), tmp_path / "rows.csv"
    rows = [f"{i / 8},0,{i * (8 - i)}" for i in range(9)]
    table.write_text("\n".join(["x,value,speed", *rows]))
    import_table(path, table)
    chosen = surefoot("recommend", path, "--prefer", "cost<=0", "--json")
    found = json.loads(chosen)
    assert not any("probability" in one for one in found["warnings"])
    assert found["params"] == {"x": 0.5}
    assert found["objectives"]["cost"] == {"value": 0.0, "lower": None, "upper": None}
    assert "cost 0 ms, speed" in surefoot("recommend", path)
    assert surefoot("predict", path, "x=0.5").startswith("cost 0 ms, speed")


@pytest.mark.parametrize("ending", [",,", ",fail,", ",,no answer"])
def test_a_row_of_one_objective_is_no_failure_of_its_configuration(write, tmp_path, ending) -> None:
    path, table = write(), tmp_path / "rows.csv"
    table.write_text(f"x,value,speed,state,failure\n0.5,1,2,,\n0.25,,3{ending}\n")
    if ending == ",,":
        with pytest.raises(InvalidInput, match="line 3: got no value beside speed, expected it"):
            import_table(path, table)
        table.write_text(table.read_text().replace("0.25,,3", "0.25,,"))
    assert import_table(path, table).failed == 1


@pytest.mark.daily(1)
def test_a_program_chooses_from_the_front(measured: OpenedStudy) -> None:
    path = measured.study_file.path
    verbs = Verbs(open_ask_tell(path))
    answer = verbs.answer({"verb": "recommend", "prefer": ["cost<=1.3"]})
    shown = surefoot("recommend", path, "--prefer", "cost<=1.3", "--json")
    assert answer == json.loads(shown)
    for wrong in ("cost<=1.3", [1.3], {"cost": 1.3}, ["x<=1"]):
        with pytest.raises(InvalidInput, match="prefer: got "):
            verbs.answer({"verb": "recommend", "prefer": wrong})


@pytest.mark.long
def test_a_preference_in_the_unit_that_was_printed(measured: OpenedStudy) -> None:
    measured.study.set_user_attr(UNITS, {VALUE: "ms", "speed": "MB/s"})
    path = measured.study_file.path
    assert "x = 0.25" in surefoot("recommend", path, "--prefer", "cost<=1300us")
    assert "x = 0.5" in surefoot("recommend", path, "--prefer", "speed>=700 kB/s")


@pytest.mark.long
@pytest.mark.parametrize("wrong", ["cost>=2", "cost", "price<=2", "cost<=much"])
def test_a_preference_is_a_limit_of_an_objective(measured: OpenedStudy, wrong: str) -> None:
    told = surefoot("recommend", measured.study_file.path, "--prefer", wrong, code=2)
    assert "--prefer: got" in told
    assert "expected" in told


@pytest.mark.long
def test_what_is_told_has_all_objectives(write: Callable[..., Path]) -> None:
    path = write()
    open_ask_tell(path).ask(1)
    told = surefoot("tell", path, 0, "1.5", code=2)
    assert "got no value of speed" in told
    surefoot("tell", path, 0, "1.5", "speed=0.7")
    (trial,) = [t for t in open_study(path).state().trials if t.state == TrialState.COMPLETE]
    assert (trial.value, trial.user_attrs[CONSTRAINTS]) == (1.5, {"speed": 0.7})


@pytest.mark.long
def test_a_comparison_is_of_each_objective(write: Callable[..., Path]) -> None:
    path = write()
    found = json.loads(
        surefoot("compare", path, "--a", "x=0.2", "--b", "x=0.8", "--runs", 8, "--json")
    )
    assert (found["objective"], found["better"]) == ("cost", "A")
    assert found["further"]["speed"]["better"] == "B"


@pytest.mark.long
def test_the_report_draws_the_front(measured: OpenedStudy, tmp_path: Path) -> None:
    surefoot("report", measured.study_file.path, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert 'id="figure-front-0"' in page
    assert "9 of 9 configurations are not dominated" in page
    assert "smaller cost is better · larger speed is better" in page
    assert 'id="convergence"' not in page
    assert '"name":"recommended"' in page


@pytest.mark.long
def test_the_report_counts_the_outliers_of_each_objective(
    measured: OpenedStudy, tmp_path: Path
) -> None:
    """The head of the page is about all objectives, and so not about the first one's alone."""
    for i, speed in enumerate((50.0, -70.0)):
        measured.study.add_trial(
            create_trial(
                params={"x": (2 * i + 5) / 16},
                distributions=measured.study_file.distributions,
                value=1.0 + (2 * i + 5) / 16,
                user_attrs={CONSTRAINTS: {"speed": speed}},
            )
        )
    surefoot("report", measured.study_file.path, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "11 measurements · 2 of speed treated as outliers · no failures" in page


def test_predictions_have_all_objectives(measured: OpenedStudy) -> None:
    path = measured.study_file.path
    said = surefoot("predict", path, "x=0.5")
    assert re.fullmatch(r"cost 1\.5\S* \(.* to .*\) ms, speed 0?\.7\S* \(.*\): x=0\.5\n", said), (
        said
    )
    (shown,) = open_ask_tell(path).predict(["recommended"])
    assert re.search(r"<th[^>]*>speed</th><td[^>]*>[\d.]+ \(", shown._repr_html_())
    (found,) = json.loads(surefoot("predict", path, "x=0.5", "--json"))
    assert found["objectives"]["cost"]["value"] == found["value"]
    assert found["objectives"]["speed"]["lower"] < 0.75 < found["objectives"]["speed"]["upper"]


def test_a_study_of_optuna_with_several_objectives_is_imported_from_its_table(write, tmp_path):
    study = optuna.create_study(
        storage=f"sqlite:///{tmp_path}/old.db", directions=["minimize", "maximize"]
    )
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 3.0 + trial.number), n_trials=3)
    path = write()
    with pytest.raises(InvalidInput, match=r"minimize, maximize, .* `study.trials_dataframe\(\)`"):
        import_study(path, tmp_path / "old.db")
    frame = study.trials_dataframe()
    frame.to_csv(tmp_path / "old.csv", index=False)
    assert import_table(path, tmp_path / "old.csv").trials == 3
    named = {"values_0": "values_cost", "values_1": "values_speed"}  # of `set_metric_names`
    frame.rename(columns=named).to_csv(tmp_path / "named.csv", index=False)
    assert import_table(path, tmp_path / "named.csv").present == 3
    trials = open_study(path).study.get_trials()
    assert [trial.value for trial in trials] == [trial.values[0] for trial in study.trials]
    assert [trial.user_attrs[CONSTRAINTS] for trial in trials] == [
        {"speed": trial.values[1]} for trial in study.trials
    ]
