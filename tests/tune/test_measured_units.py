"""Units of measurements: converted within a study, refused where they cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.study_doubles import Scripted, all_of, measurement, read, trials_of
from surefoot.cli import app
from surefoot.integrations.optuna import CONSTRAINTS, STANDARD_ERROR, STANDARD_ERRORS
from surefoot.tune import StudyFile, StudyFileError
from surefoot.tune.ask_tell.told_values import result_of
from surefoot.tune.check import check
from surefoot.tune.definition.section import ValueName
from surefoot.tune.measuring.json_output import Output
from surefoot.tune.measuring.measurement import (
    VALUE,
    Failure,
    Measurement,
    in_study_units,
    outcome,
)
from surefoot.tune.measuring.observed_constraints import check_constraints, printed_constraints
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.quantity import Missing, Quantity, plain
from surefoot.tune.measuring.unit_scales import factor, scale
from surefoot.tune.stopping import Stop
from surefoot.tune.study.compatibility import recorded_units
from surefoot.tune.study.model_checks import contradictions
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.parameter_units import attributes_in_units
from surefoot.tune.study.study_import import import_study
from surefoot.tune.study.trial_attributes import UNITS, study_units
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import TooManyFailures, UnclearMeasurement, tune
from surefoot.types import InvalidInput


@pytest.mark.parametrize(
    ("unit", "other", "expected"),
    [
        ("s", "ms", 1000.0),
        ("us", "s", 1e-6),
        ("μs", "usec", 1.0),
        ("GiB", "MiB", 1024.0),
        ("MB/s", "kB/sec", 1000.0),
        ("Mbits/sec", "Mbps", 1.0),
        ("ms/op", "us/op", 1000.0),
        ("k", "", 1000.0),
        ("kops/s", "ops/s", 1000.0),
        ("ms", "MB", None),
        ("ms", "", None),
        ("m", "s", None),
        ("%", "", None),
        ("points", "points", 1.0),
    ],
)
def test_factors_between_units(unit, other, expected):
    assert factor(unit, other) == (expected if expected is None else pytest.approx(expected))


def test_an_unknown_unit_is_its_own_dimension():
    assert scale("points") == ("points", 1.0)


@pytest.mark.parametrize(
    ("printed", "declared", "earlier", "value"),
    [
        ("ms", None, None, 2.0),
        ("us", None, "s", 2e-6),
        ("k", None, "", 2000.0),
        ("ms", "s", None, 0.002),
        ("", "ms", None, 2.0),
        ("", "ms", "ms", 2.0),
        ("ms", "ms", "", 2.0),
        ("req/s", "requests/s", None, 2.0),
        ("", "points", "", 2.0),
        *[("ms", unit, None, None) for unit in ("1/s", "1/ms", "req/s", "req/min", "points")],
        *[(unit, "req/s", None, None) for unit in ("MB", "%", "J", "h", "GB/s", "Hz", "ms/s")],
        *[(unit, "req/s", None, 2.0) for unit in ("rps", "QPS", "op/s", "queries/s", "req/sec")],
        *[("/s", "1/s", None, 2.0), ("1/s", "/s", None, 2.0), ("1/ms", "1/s", None, 2000.0)],
        *[("kreq/s", "req/s", None, 2000.0), ("req/s", "kreq/s", None, 0.002)],
        *[("req/min", "req/s", None, 2 / 60), ("kreq/s", None, "req/s", 2000.0)],
        *[("", "requests/s", "req/s", None), ("req/s", "requests/s", "requests/s", None)],
        *[(unit, "req/s", None, None) for unit in ("krps", "kqps", "kops/s", "queries/min", "k/s")],
        *[("k", "1/s", None, 2000.0), ("k", "/s", "/s", 2000.0), ("req/s", "1/s", None, 2.0)],
        *[("ops/s", "req/s", None, 2.0), ("/s", "req/s", None, 2.0), ("", "1/s", "/s", 2.0)],
        *[("Mreq/s", "kreq/s", None, 2000.0), ("requests/s", "kreq/s", "kreq/s", None)],
        *[("", "req/s", "ms", None), ("req/s", "requests/s", "queries/s", None)],
        ("k", "req/s", None, 2000.0),
        ("k", "req/s", "req/s", 2000.0),
        ("req/s", "req/s", "req/s", 2.0),
        ("us/op", "ms", None, 0.002),
        ("MB/s", "GB/s", None, 0.002),
        ("Mb/s", "MB/s", None, None),
        ("mb", "GB", None, None),
        ("S", "ms", None, 2000.0),
        ("Seconds", "ms", None, 2000.0),
        ("Mhz", "GHz", None, 0.002),
        ("MB/Sec", "MB/s", None, 2.0),
        ("parsec", "ms", None, None),
        ("K", "kelvin", None, None),
        ("k", "kelvin", None, 2000.0),
        ("h/week", "h", None, None),
        ("GB/Hour", "GB", None, None),
        ("us/ops", "ms", None, None),
        ("ns/iteration", "us", None, 0.002),
        ("s/it", "s", None, 2.0),
        ("MB/s/client", "MB/s", None, 2.0),
        ("MegaBytes", "MB", None, 2.0),
        ("us/h", "ms", None, None),
        ("MB", None, "s", None),
        ("", None, "ms", None),
        ("ms", None, "", None),
        ("MB", "s", None, None),
        ("ms", "us", "s", None),  # earlier ones are recorded in s
        ("sec", "requests", "req", None),
    ],
)
def test_a_measurement_in_the_unit_of_its_study(printed, declared, earlier, value):
    given = measurement(2.0, 0.1, sem=0.5, unit=printed)
    result = in_study_units(
        given,
        {} if declared is None else {VALUE: declared},
        {} if earlier is None else {VALUE: earlier},
    )
    if value is None:
        assert isinstance(result, Failure)
        assert result.blameless
        assert "expected the same, or its `unit` in the study file" in result.reason
    else:
        assert isinstance(result, Measurement)
        assert (result.value, result.sem) == pytest.approx((value, value / 4))


@pytest.mark.parametrize(
    ("printed", "declared", "value"),
    [
        ("took 2 min", "s", None),
        ("took 2 min.", "min", 2.0),
        ("2min", "s", 120.0),
        ("took 2 Minutes", "s", 120.0),
        ("42 Million", "million", 42.0),
        ("2 mins", "s", 120.0),
        ("3 hrs", "h", 3.0),
        ("5 gigabytes", "MB", 5000.0),
        ("2 mebibytes", "KiB", 2048.0),
        ("12.7k", "req/s", 12700.0),
        ("12.7k req/s", "req/s", 12700.0),
        ("1.2M req/s", "req/s", 1.2e6),
        ("12 us/op", "ms", 0.012),
        ("12 S", "ms", 12000.0),
        ("512 kb", "MB", None),
        ("5 Mb", "MB", None),
        ("900 Mb/s", "MB/s", None),
        ("12 done", "MB", 12.0),
        ("12 ha", "ms", 12.0),
        ("5 US dollars", "ms", 5.0),
        ("12 min 40 max", "s", None),
    ],
)
def test_no_word_behind_a_number_that_may_be_its_unit_is_passed_over(printed, declared, value):
    found = printed_value(printed)
    if value is None and not isinstance(found, Quantity):
        return  # several numbers
    result = measurement(found.value, 0.1, unit=found.unit)
    converted = in_study_units(result, {VALUE: declared}, {})
    if value is None:
        assert isinstance(converted, Failure)
        is_unsure = "followed by `min`, a unit or the name of something else" in converted.reason
        assert is_unsure is (printed == "took 2 min")
    else:
        assert converted.value == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("printed", "declared", "earlier", "value"),
    [
        *[("us", None, None, 3.0), ("us", "ms", None, 0.003), ("us", "ms", "ms", 0.003)],
        *[("us", None, "s", None), ("us", None, "", None), ("us", "ms", "s", None)],
    ],
)
def test_a_constraint_is_converted_only_to_a_unit_of_its_own(printed, declared, earlier, value):
    given = measurement(2.0, 0.1, unit="", others={"p99": read(3.0, printed)})
    known = {} if earlier is None else {VALUE: "", "p99": earlier}
    result = in_study_units(given, {} if declared is None else {"p99": declared}, known)
    if value is None:
        assert isinstance(result, Failure)
        assert "its `unit` in the study file" in result.reason
    else:
        assert isinstance(result, Measurement)
        assert result.values["p99"] == value


@pytest.mark.parametrize("sem", [0.0, 1.0])
@pytest.mark.parametrize("name", [VALUE, "p99"])
def test_a_number_that_is_infinite_in_the_unit_of_the_study_is_a_failure(name, sem):
    large = Quantity(1.0 if sem else 1e307, sem * 1e307, "h")
    result = Measurement({VALUE: Quantity(1.0, unit="ms"), name: large}, 0.1)
    found = in_study_units(result, {VALUE: "ms", name: "ms"}, {})
    assert isinstance(found, Failure)
    least = " of at least 0" if sem else ""
    assert found.reason.endswith(f", expected a finite number{least} in ms")
    assert "inf" in found.reason


@pytest.mark.parametrize(
    ("low", "high", "ratio"),
    [
        *[("950 K ops/s", "1.2 M ops/s", 1000), ("950K ops/sec", "1.2 M ops/s", 1000)],
        *[("950 thousand", "1.2 million", 1000), ("950 k", "1.2M", 1000)],
        *[("950 kIOPS", "1.2 MIOPS", 1000), ("950k IOPS", "1.2 MIOPS", 1000), ("9 J", "1 kJ", 1e3)],
        *[("950 mJ", "1.2 J", 1000), ("950 mWh", "1.2 Wh", 1000), ("950 μV", "1.2 mV", 1000)],
        *[("950 GOPS", "1.2 TOPS", 1000), ("950 MTEPS", "1.2 GTEPS", 1000), ("9 h", "1 day", 24)],
        *[("950 meV", "1.2 eV", 1000), ("950 nm", "1.2 um", 1000), ("950 /min", "1.2 /s", 60)],
    ],
)
def test_a_tool_that_scales_its_unit_with_a_space(low, high, ratio):
    one, other = printed_value(low), printed_value(high)
    assert isinstance(one, Quantity)
    assert isinstance(other, Quantity)
    assert factor(other.unit, one.unit) == pytest.approx(ratio)


FAMILIES = [  # a unit, the study's, and how large the first is in the second
    *[("s", "ms", 1000.0), ("\N{MICRO SIGN}s", "ms", 0.001), ("h", "seconds", 3600.0)],
    *[("GiB", "MiB", 1024.0), ("MB/s", "kB/sec", 1000.0), ("Mbits/sec", "Mbps", 1.0)],
    *[("kIOPS", "IOPS", 1000.0), ("kJ", "J", 1000.0), ("mm", "um", 1000.0), ("percent", "%", 1.0)],
]


def of_output(study_file: StudyFile, output: str) -> Measurement | Failure:
    """What is measured where a command prints this."""
    reported, text = printed_constraints(Output.of(output), {"p99": None}, False)
    others = check_constraints(["p99"], reported, "{0} is missing")
    value = printed_value(text, apart=["p99"])
    result = outcome(value or Missing("nothing"), "", 0.1, others=others)
    assert isinstance(result, Measurement)
    return in_study_units(result, study_file.declared_units, {})


def doors(study_file: StudyFile, number: str) -> list[Callable[[], tuple[float, float]]]:
    """Value and constraint of a study where a number with its unit comes in, by each way."""

    def found(result: Measurement | Failure) -> tuple[float, float]:
        if isinstance(result, Failure):
            raise InvalidInput(result.reason)
        return result.value, result.values["p99"]

    outputs = (
        f"p99={number}\nmean {number}",
        json.dumps({"p99": number, "v": number}),
        f"p99={number}\nsamples: {number}, {number}",
    )
    settled = partial(in_study_units, declared=study_file.declared_units, earlier={})
    told = partial(result_of, study_file, settled, number, values={"p99": number})
    ways = [*(partial(of_output, study_file, output) for output in outputs), told]
    return [lambda way=way: found(way()) for way in ways]


def declaring(write_study, unit: str) -> StudyFile:
    """A study file with a unit of the measurement and of a constraint."""
    return StudyFile.load(
        write_study(
            (
                "[parameters]",
                f"[constraints]\np99 = {{ max = 2, unit = '{unit}' }}\n\n[parameters]",
            ),
            ("timeout = 30", f"timeout = 30\nunit = '{unit}'"),
        )
    )


@pytest.mark.parametrize(("unit", "declared", "size"), FAMILIES)
def test_a_number_is_in_the_unit_of_the_study_wherever_it_comes_in(
    write_study, unit, declared, size
):
    study_file = declaring(write_study, declared)
    for door in doors(study_file, f"1.5 {unit}"):
        assert door() == (pytest.approx(1.5 * size, rel=1e-14),) * 2
    for door in doors(study_file, "1.5 Wh"):
        with pytest.raises(InvalidInput, match="expected the same"):
            door()


@pytest.mark.parametrize(("unit", "declared", "size"), FAMILIES)
def test_errors_are_converted_too(unit, declared, size):
    number = printed_value(f"900 {declared} ± 1.5 {unit}")
    assert number.sem == pytest.approx(1.5 * size)
    values = printed_value(f'{{"v": ["3 {declared}", "1.5 {unit}"]}}', ValueName("v"))
    assert (values.value, values.unit) == (pytest.approx((3 + 1.5 * size) / 2), plain(declared))


@pytest.mark.parametrize(
    ("old", "new"),
    [("low = 0", "low = '0 ms'"), ("log = true }", "log = true, default = '600 ms' }")],
)
def test_an_end_or_a_default_with_a_unit_in_its_text_is_refused(write_study, old, new):
    path = write_study()
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(StudyFileError, match=r"got '\d+ ms', expected a (finite|whole) number"):
        StudyFile.load(path)


def test_a_limit_with_a_unit_in_its_text_is_in_that_unit(write_study):
    path = write_study(("[parameters]", "[constraints]\np99 = { max = '2 ms' }\n\n[parameters]"))
    study_file = StudyFile.load(path)
    assert study_file.constraints["p99"].maximum == 2.0
    assert study_file.declared_units["p99"] == "ms"


def printed(value: float, unit: str) -> Measurement:
    return measurement(value, 0.1, unit=unit)


@pytest.mark.long
def test_a_study_has_the_unit_of_its_first_measurement(write_study):
    """A tool that scales its unit does not have its optimum recorded as the worst."""
    trials = trials_of(write_study(), rounds=4)
    results = [printed(1.96, "s"), printed(600, "us"), printed(3, "MB"), printed(2, "ms")]
    tune(trials, Scripted(list(results)), Stop())
    recorded = all_of(trials)
    assert [trial.value for trial in recorded] == [1.96, 0.0006, None, 0.002]
    assert "the measurement is in MB" in recorded[2].user_attrs["failure"]
    assert trials.opened.study.user_attrs[UNITS] == {VALUE: "s"}


@pytest.mark.long
def test_a_study_that_was_recorded_as_printed_goes_on(write_study):
    path = write_study(("timeout = 30", "timeout = 30\nunit = 's'"))
    trials = trials_of(path, rounds=3)
    tune(trials_of(path, rounds=1), Scripted([measurement(1.96, 0.1)]), Stop())
    tune(trials, Scripted([printed(2.5, ""), printed(2.5, "s")]), Stop())
    assert [trial.value for trial in all_of(trials)] == [1.96, 2.5, 2.5]


def test_a_study_that_was_told_goes_on_with_a_command_that_prints_another_unit(write_study):
    trials = trials_of(write_study(("timeout = 30", "timeout = 30\nunit = 'ms'")), rounds=2)
    tune(trials, Scripted([measurement(12.0, 0.1), printed(0.5, "s")]), Stop())
    assert [trial.value for trial in all_of(trials)] == [12.0, 500.0]


def of_unit(write_study, unit: str, of: str) -> Path:
    """A study file with a unit of the value, of a constraint or of one of several objectives."""
    unit = f"unit = '{unit}'" if unit else ""
    if of == "objectives":
        table = "[objectives]\ntime = { direction = 'minimize', UNIT }\n"
        table += "mem = { direction = 'minimize' }"
        more = [('direction = "minimize"\n', "")]
    else:
        table, more = "[constraints]\np99 = { max = 2, UNIT }", []
    own = f"timeout = 30\n{unit}" if of == "value" else "timeout = 30"
    table = table.replace(", UNIT", "" if of == "value" or not unit else f", {unit}")
    return write_study(*more, ("timeout = 30", own), ("[parameters]", f"{table}\n\n[parameters]"))


def measured_in(write_study, unit: str, of: str, shown: str | None) -> Path:
    """The file of a study with two measurements, printed with a unit, without one, or told."""
    path = of_unit(write_study, unit, of)
    other = "mem" if of == "objectives" else "p99"
    others = {other: read(9.0, shown)}
    results = [measurement(12.0 + i, 0.1, unit=shown, others=others) for i in (0, 1)]
    tune(trials_of(path, rounds=2), Scripted(results), Stop())
    return path


KEYS = {
    "value": "objective.unit",
    "p99": "constraints.p99.unit",
    "objectives": "objectives.time.unit",
}


@pytest.mark.long
@pytest.mark.parametrize("of", KEYS)
@pytest.mark.parametrize("shown", [None, "", "ms"])
@pytest.mark.parametrize("other", ["s", "MB", "points"])
def test_what_was_measured_is_not_said_to_be_in_another_unit(write_study, of, shown, other):
    measured_in(write_study, "ms", of, shown)
    for unit in ("ms", "msec", ""):
        create_study(StudyFile.load(of_unit(write_study, unit, of)))
    path = of_unit(write_study, other, of)
    for do in (open_study, lambda one: create_study(StudyFile.load(one))):
        with pytest.raises(StudyFileError) as refused:
            do(path)
        assert f"{KEYS[of]}: got '{other}', but the study in" in str(refused.value)
        assert "has measurements in ms" in str(refused.value)
        assert "write unit = 'ms'" in str(refused.value)
    assert open_study(of_unit(write_study, "ms", of)).state().finished == 2


@pytest.mark.long
def test_a_unit_that_was_printed_only_is_that_of_the_study(write_study):
    measured_in(write_study, "", "value", "ms")
    with pytest.raises(StudyFileError, match=r"got 's', but .* has measurements in ms; write unit"):
        open_study(of_unit(write_study, "s", "value"))
    create_study(StudyFile.load(of_unit(write_study, "ms", "value")))


@pytest.mark.long
@pytest.mark.parametrize("shown", [None, ""])
def test_what_was_measured_without_a_unit_may_be_given_one(write_study, shown):
    measured_in(write_study, "", "value", shown)
    create_study(StudyFile.load(of_unit(write_study, "ms", "value")))
    with pytest.raises(StudyFileError, match="has measurements in ms"):
        open_study(of_unit(write_study, "s", "value"))


@pytest.mark.long
def test_a_unit_may_change_before_the_first_measurement(write_study):
    for unit in ("ms", "s", "MB"):
        opened = create_study(StudyFile.load(of_unit(write_study, unit, "value")))
    trials = StudyTrials(opened, 1, "a run", "w0")
    trials.record(trials.begin_next(), measurement(12.0, 0.1, others={"p99": 1.0}))
    with pytest.raises(StudyFileError, match=r"got 'ms', but .* has measurements in MB"):
        open_study(of_unit(write_study, "ms", "value"))


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    ["tune", "recommend", "check", "ask", "status", "export", "report", "compare", "import"],
)
def test_every_command_refuses_another_unit(write_study, tmp_path, command):
    measured_in(write_study, "ms", "value", "ms")
    path = of_unit(write_study, "s", "value")
    (tmp_path / "rows.csv").write_text("size,share,mode,value,p99\n600,0.5,OFF,1,1\n")
    more = {"import": [str(tmp_path / "rows.csv")], "export": ["-o", "-"]}
    told = CliRunner().invoke(app, [command, str(path), *more.get(command, [])])
    assert told.exit_code == 2
    assert "objective.unit: got 's', but the study in" in told.output
    assert "has measurements in ms; write unit = 'ms'" in told.output


@pytest.mark.daily(2)
@pytest.mark.parametrize(("unit", "size"), [("s", 0.001), ("us", 1000.0), ("", 1.0), ("MB", None)])
def test_an_import_is_converted_to_the_unit_of_the_study(write_study, tmp_path, unit, size):
    measured_in(write_study, "ms", "value", "ms")
    path = of_unit(write_study, unit, "value")
    path.write_text(path.read_text().replace('"hill"', '"valley"'))
    if size is None:
        with pytest.raises(InvalidInput, match=r"in ms, and that of STUDY.toml is in MB, expected"):
            import_study(path, tmp_path / "hill.db")
        return
    import_study(path, tmp_path / "hill.db")
    opened = open_study(path)
    assert [one.value for one in opened.state().trials] == pytest.approx([12.0 * size, 13.0 * size])
    assert recorded_units(opened.study.user_attrs, opened.state().trials)[VALUE] == (unit or "ms")


def test_all_that_is_recorded_of_a_trial_is_converted():
    given = {
        STANDARD_ERROR: 2.0,
        CONSTRAINTS: {"p99": 3.0, "mem": 7.0},
        STANDARD_ERRORS: {"p99": 0.5},
        "failure": "x",
    }
    found = attributes_in_units(given, {VALUE: 1000.0, "p99": 10.0})
    assert found == {
        STANDARD_ERROR: 2000.0,
        CONSTRAINTS: {"p99": 30.0, "mem": 7.0},
        STANDARD_ERRORS: {"p99": 5.0},
        "failure": "x",
    }


@pytest.mark.daily(1)
@pytest.mark.parametrize("earlier", [0, 2])
def test_a_run_whose_first_unit_cannot_be_converted_ends_and_costs_no_round(write_study, earlier):
    path = write_study(("timeout = 30", "timeout = 30\nunit = 'ms'"))
    if earlier:
        tune(trials_of(path, earlier), Scripted([printed(2, "ms"), printed(3, "ms")]), Stop())
    trials, objective = trials_of(path), Scripted([printed(2, "MB") for _ in range(8)])
    with pytest.raises(UnclearMeasurement, match="the measurement is in MB, and those of the stud"):
        tune(trials, objective, Stop())
    assert trials.opened.state().finished == earlier
    assert len(objective.asked) == 1


@pytest.mark.long
def test_a_run_whose_later_units_cannot_be_converted_ends_after_some(write_study):
    trials = trials_of(write_study())
    results = [printed(2, "ms"), *(printed(2, "MB") for _ in range(7))]
    with pytest.raises(TooManyFailures, match=r"5 failures in a row.* the measurement is in MB"):
        tune(trials, Scripted(results), Stop())
    assert trials.opened.state().finished == 6


@pytest.mark.parametrize("foreign", [3, "ms", ["ms"], {VALUE: 3}])
def test_foreign_units_in_a_storage_are_none(foreign):
    assert study_units({UNITS: foreign}) == {}


@pytest.mark.long
def test_an_unclear_first_output_ends_the_run_and_does_not_count(write_study):
    trials = trials_of(write_study(), rounds=3)
    unclear = Failure("several numbers in the last line: 1, 2", "", 0.1, True, unclear=True)
    with pytest.raises(UnclearMeasurement, match="several numbers in the last line: 1, 2"):
        tune(trials, Scripted([unclear]), Stop())
    assert trials.opened.state().finished == 0


@pytest.mark.long
def test_an_unclear_later_output_is_a_failure(write_study):
    trials = trials_of(write_study(), rounds=2)
    unclear = Failure("several numbers in the last line: 1, 2", "", 0.1, True, unclear=True)
    tune(trials, Scripted([measurement(1.0, 0.1), unclear]), Stop())
    assert [trial.value for trial in all_of(trials)] == [1.0, None]


@pytest.mark.daily(1)
@pytest.mark.parametrize(("values", "warned"), [([15.0] * 5, True), ([15, 15, 15, 15, 3], False)])
def test_equal_measurements_of_five_configurations_are_a_warning(write_study, values, warned):
    trials = trials_of(write_study(), rounds=5)
    tune(trials, Scripted([measurement(value, 0.1) for value in values]), Stop())
    found = [text for text in contradictions(trials.opened.state(), {}) if "Equal" in text]
    assert bool(found) is warned
    if warned:
        assert "5 different configurations gave exactly 15." in found[0]


DEFAULTS = (
    ("log = true }", "log = true, default = 600 }"),
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "OFF" }'),
)


def test_check_shows_what_is_read_and_records_nothing(write_study, tmp_path):
    bench = "print('p99=950us'); print('mean 1.5 ms ± 20 us')\n"
    path = write_study(
        ("[parameters]", "[constraints]\np99 = { max = 2, unit = 'ms' }\n\n[parameters]"),
        ("timeout = 30", "timeout = 30\nunit = 'ms'"),
        *DEFAULTS,
        bench=bench,
    )
    before = sorted(tmp_path.iterdir())
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "default: size=600, share=0.5, mode=OFF",
        "measurement: 1.5 ± 0.02 ms, read from `1.5 ms ± 20 us`",
        "p99: 0.95 ms, at most 2 ms",
    ]
    assert "nothing was recorded" in lines[3]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "storage",
    [
        *("redis://localhost/0", "nosuch://localhost/a", "postgresql+nosuch://localhost/a"),
        *("sqlite:///a?b=c", "sqlite:////no/such/../hill.py", "sqlite:///bench.py"),
    ],
)
def test_check_refuses_a_storage_that_tune_would_refuse(write_study, tmp_path, storage):
    path = write_study(*DEFAULTS, ("rounds = 8", f"rounds = 8\nstorage = '{storage}'"))
    (tmp_path / "bench.py").write_text("print(1)\n")
    told = [CliRunner().invoke(app, [command, str(path)]) for command in ("check", "tune")]
    assert [one.exit_code for one in told] == [2, 2]
    assert all("study.storage" in one.stderr for one in told)


@pytest.mark.long
def test_check_refuses_a_study_of_other_parameters(write_study):
    path = write_study(*DEFAULTS)
    create_study(StudyFile.load(path))
    path.write_text(path.read_text().replace("share", "part"))
    told = CliRunner().invoke(app, ["check", str(path)])
    assert told.exit_code == 2
    assert "has no parameter" in told.stderr or "surefoot import" in told.stderr


def test_check_without_defaults_and_with_a_configuration(write_study):
    bench = "import sys; print(sys.argv[2], 7)\n"
    path = write_study(bench=bench)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 1
    assert result.stdout.startswith("first configuration: size=")
    assert "no measurement: several numbers in the last line" in result.stdout
    checked = check(path, "size=600,share=0.25,mode=OFF")
    assert isinstance(checked.result, Failure)
    assert "0.25, 7" in checked.result.reason


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("printed", "noise", "status"),
    [
        (("12 ms", "13 ms", "11 ms"), "standard deviation 1 ms (8.3 %)", 0),
        (("12 ms", "0.013 s", "11000 us"), "standard deviation 1 ms (8.3 %)", 0),
        (("0", "0", "0"), "standard deviation 0;", 0),
        (("12 ms", "none", "11 ms"), "no measurement in run 2: ", 1),
        (
            ("12 ms", "13 ms", "none"),
            "2 measurements: 12, 13\nnoise: standard deviation 0.707 (",
            1,
        ),
    ],
)
def test_repeated_checks_say_how_large_the_noise_is(write_study, printed, noise, status):
    bench = (
        "import pathlib\nnext_line = pathlib.Path('count')\n"
        "number = int(next_line.read_text()) if next_line.exists() else 0\n"
        f"next_line.write_text(str(number + 1))\nprint({printed!r}[number])\n"
    )
    path = write_study(("rounds = 8", "rounds = 64"), bench=bench)
    told = CliRunner().invoke(app, ["check", str(path), "--repeat", "3"])
    assert told.exit_code == status
    assert noise in told.stdout
    if status == 0:
        shown = "0.72 ms" if "ms" in noise else "0"
        assert f"40 pairs of `surefoot compare` find a difference of {shown} half" in told.stdout
    assert not list(path.parent.glob("*.db"))
