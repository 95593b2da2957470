"""Constraints of a study file: read from the output, modelled, and kept to."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from surefoot.cli import app
from surefoot.tune import (
    StudyFile,
    StudyFileError,
    compare,
    import_table,
    open_study,
    run,
    summarise,
)
from surefoot.tune.check import check
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.display import result_of
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.json_output import Output
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.observed_constraints import printed_constraints
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.stopping import Stop
from surefoot.tune.study.tables import trial_table

BENCH = "import sys\nx = float(sys.argv[2])\nprint('measured', x)\nprint(f'p99={8 + 20 * x}ms')\n"
DEFAULTS = (
    ("low = 512", "default = 600, low = 512"),
    ("low = 0", "default = 0.7, low = 0"),
    ('"FULL"]', '"FULL"], default = "OFF"'),
)
LIMIT = "[constraints]\np99 = { max = 20 }\n\n[parameters]"
TABLE = """\
size,share,mode,value,p99
600,0.1,OFF,1,10
600,0.3,OFF,3,14
600,0.5,OFF,5,18
600,0.5,OFF,5.1,18.1
600,0.6,OFF,6,20
600,0.7,OFF,7,22
600,0.9,OFF,9,26
600,0.9,OFF,9.1,
"""


def measured(folder, *lines: str) -> Measurement | Failure:
    (folder / "said").write_text("\n".join(lines))
    template = CommandTemplate.parse("cat said")
    constraints = dict.fromkeys(["p99", "free-mb"])
    return CommandObjective(template, folder, 20, constraints=constraints).measure({}, Stop())


@pytest.mark.parametrize(
    "lines",
    [
        ("p99=18.3", "free-mb=1e3", "12.5"),
        ("12.5", "p99 = 18.3ms free-mb = 1000MB"),
        ("p99=90", "tps 12.5, p99=18.3, free-mb=1000"),
        ("12.5", "p99=18.3 +- 0.4", "free-mb=1000 MB ± 3"),
        ("12.5 p99=18.3+/-0.4 free-mb=1000",),
    ],
)
def test_a_constraint_is_read_anywhere_and_is_not_the_measurement(tmp_path, lines):
    result = measured(tmp_path, *lines)
    assert isinstance(result, Measurement)
    assert result.value == 12.5
    assert result.values == {"p99": 18.3, "free-mb": 1000}


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    ("lines", "reason", "blameless"),
    [
        (("p99=3", "1"), "no `free-mb=NUMBER` on standard output, expected it, since", True),
        (("p99=nan", "free-mb=2", "1"), "the constraint p99 is NaN, expected a finite", True),
        (("p99=", "free-mb=2", "1"), "the constraint p99: nothing behind `p99=`, expected", True),
        (("p99= tps=1480", "free-mb=2", "1"), "the constraint p99: nothing behind `p99= `", True),
        (("3", "p99= 1480", "free-mb=2"), "the constraint p99: `p99= 1480` may be a number", True),
        (("p99=1 234.5", "free-mb=2", "1"), "the constraint p99: several numbers behind it", True),
        (("p99=18,3", "free-mb=2", "1"), "the constraint p99: 18,3 in its line has several", True),
        (("p99=1_0", "free-mb=2", "1"), "the constraint p99: 1_0 in its line has several", True),
        (("p99=inf", "free-mb=2", "1"), "the constraint p99 is infinite, expected a finite", False),
        (("p99=3", "free-mb=2"), "no number on standard output", False),
    ],
)
def test_a_missing_value_is_a_failure_in_one_line(tmp_path, lines, reason, blameless):
    result = measured(tmp_path, *lines)
    assert isinstance(result, Failure)
    assert result.reason.startswith(reason)
    assert result.blameless is blameless


def test_names_that_contain_a_name_are_others():
    found, rest = printed_constraints(Output.of("xp99=1 p999=2 p99=3"), {"p99": None}, False)
    assert (found["p99"].value, rest.text.rstrip()) == (3.0, "xp99=1 p999=2")


@pytest.mark.parametrize(
    ("output", "value", "p99"),
    [
        ('{"tps": 1480, "p99": "18.3 ms"}', 1480, 18.3),
        ('started\n{\n "tps": 1480,\n "p99": 18.3\n}\n', 1480, 18.3),
        ("p99: 18.3 ms\n12.5", 12.5, 18.3),
        ("p99=18.3ms 12.5", 12.5, 18.3),
    ],
)
def test_it_is_apart_from_the_measurement(output, value, p99):
    found, rest = printed_constraints(Output.of(output), {"p99": None}, False)
    assert found["p99"].value == p99
    assert printed_value(rest, apart=["p99"]).value == value


def test_a_padded_number_is_read_where_the_measurement_has_a_name():
    found, _ = printed_constraints(Output.of("tps=3 p99= 1480"), {"p99": None}, True)
    assert found["p99"].value == 1480


def test_what_stands_before_it_may_be_told(write_study, tmp_path):
    bench = "print('p50: 3 ms, 99th percentile: 950us, tps = 1480 (all)')\n"
    line = "p99 = { max = 20, value = '99th percentile', unit = 'ms' }"
    path = write_study(
        ("[parameters]", f"[constraints]\n{line}\n[parameters]"),
        ("timeout = 30", "timeout = 30\nvalue = 'tps'"),
        bench=bench,
    )
    result = check(path).result
    assert isinstance(result, Measurement)
    assert (result.value, result.values) == (1480, {"p99": 0.95})


def test_a_function_returns_a_dictionary(tmp_path):
    (tmp_path / "bench_limits.py").write_text(
        "def measure(x):\n    return x, {} if x > 1 else {'p99': 10 * x, 'other': 2}\n"
    )
    objective = FunctionObjective("bench_limits:measure", ["x"], tmp_path, 20, constraints=["p99"])
    try:
        result = objective.measure({"x": 0.5}, Stop())
        assert isinstance(result, Measurement)
        assert (result.value, result.values) == (0.5, {"p99": 5.0})
        failed = objective.measure({"x": 2}, Stop())
        assert isinstance(failed, Failure)
        assert failed.blameless
        assert failed.reason.startswith("no 'p99' in the dictionary that was returned, expected it")
    finally:
        objective.close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("p99 = {}", "constraints.p99.max: missing; expected a finite number (or `min` instead)"),
        ("p99 = { max = 1, min = 0 }", "constraints.p99.min: given together with `max`; expected"),
        ("p99 = { max = '2s', unit = 'MB' }", "p99.max: got '2s' beside unit = 'MB', expected a"),
        ("p99 = { max = '12k' }", "p99.max: got '12k', expected a finite number and in `unit`"),
        ("p99 = { max = 'x' }", "constraints.p99.max: got 'x', expected a finite number"),
        ("p99 = { max = 1, confidence = 1.0 }", "constraints.p99.confidence: got 1.0, expected a"),
        ("p99 = { max = 1, value = '/(/' }", "constraints.p99.value: got '/(/', not a pattern"),
        ("p99 = { max = 1, unit = '' }", "constraints.p99.unit: got '', expected a text such as"),
        ("p99 = { mox = 1 }", "constraints.p99.mox: unknown key; did you mean `max`?"),
        ("p99 = 20", "constraints.p99: got 20, expected a table such as { max = 20 }"),
        ("share = { max = 1 }", "constraints.share: is a parameter, too; expected a name of its"),
        ("'p 99' = { max = 1 }", "constraints.p 99: got this name, expected ASCII letters, digits"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(write_study, line, message):
    path = write_study(("[parameters]", f"[constraints]\n{line}\n[parameters]"))
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(path)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("max = '15us', unit = 'ms'", 0.015),
        ("max = '15us'", 15),
        ("max = '2 min'", 2),
        ("min = '1.5 GiB', unit = 'MiB'", 1536.0),
        ("max = '2 min', unit = 's'", 120.0),
        ("min = '12k', unit = 'requests/s'", 12_000.0),
    ],
)
def test_a_limit_is_converted_to_the_unit_of_what_it_limits(write_study, line, limit):
    path = write_study(("[parameters]", f"[constraints]\np99 = {{ {line} }}\n[parameters]"))
    found = StudyFile.load(path).constraints["p99"]
    assert limit == (found.maximum if "max" in line else found.minimum)


@pytest.mark.long
def test_a_limit_is_said_in_its_unit(write_study, tmp_path):
    unit = LIMIT.replace("20", "20, unit = 'ms'")
    path = write_study(("[parameters]", unit), *DEFAULTS, bench=BENCH)
    (tmp_path / "runs.csv").write_text(TABLE)
    import_table(path, tmp_path / "runs.csv")
    said = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert re.search(r"p99, at most 20 ms: [\d.]+ \([\d.]+ to [\d.]+\) ms, holds with", said)
    assert re.search(r"The defaults .* p99, at most 20 ms: ", said)
    opened = open_study(path)
    assert ", beyond its limit: p99 22 ms" in result_of(opened.state().trials[5], opened.study_file)
    assert "at most 20 ms" in "\n".join(check(path).lines())
    a, b = "size=600,share=0.1,mode=OFF", "size=600,share=0.5,mode=OFF"
    found = compare(path, a, b, runs=2, quiet=True)
    assert "  p99, at most 20 ms: A " in "\n".join(found.lines())


def test_the_recommendation_keeps_to_the_limit_which_may_change(write_study, tmp_path):
    path = write_study(("[parameters]", LIMIT), ("minimize", "maximize"))
    (tmp_path / "runs.csv").write_text(TABLE)
    import_table(path, tmp_path / "runs.csv")
    opened = open_study(path)
    summary = summarise(opened)
    assert summary.recommended is not None
    assert summary.recommended.feasible
    assert summary.recommended.params["share"] < 0.65
    assert summary.constraints["p99"].probability >= 0.95
    rows, columns = trial_table(opened.state())
    assert columns.index("constraint_p99") == columns.index("value") + 1
    assert [row["constraint_p99"] for row in rows] == [10, 14, 18, 18.1, 20, 22, 26, None]
    path.write_text(path.read_text().replace("max = 20", "max = 1"))
    shown = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert "No configuration is known that satisfies all constraints with the confidence" in shown
    printed = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    assert printed["feasible"] is False
    assert printed["params"]["share"] == 0.1
    assert printed["constraints"]["p99"]["max"] == 1


@pytest.mark.long
def test_a_run_records_them_and_a_report_shows_them(write_study, tmp_path):
    bench = "import sys\nprint('p99=%s' % (9 * float(sys.argv[2])), 'value', sys.argv[2])\n"
    path = write_study(("[parameters]", LIMIT), ("rounds = 8", "rounds = 3"), bench=bench)
    summary = run(path, quiet=True).summary
    assert summary.failed == 0
    assert summary.constraints["p99"].probability > 0.95
    assert (
        CliRunner().invoke(app, ["report", str(path), "-o", str(tmp_path / "r.html")]).exit_code
        == 0
    )
    page = (tmp_path / "r.html").read_text()
    assert re.search(r'<th scope="row" class="text">p99<br><span class="note">at most 20<', page)
    assert re.search(r"kept with probability (above )?0\.9", page)


@pytest.mark.long
@pytest.mark.parametrize("measured", [True, False])
def test_what_is_known_of_them_over_an_environment(write_study, tmp_path, measured):
    path = write_study(
        ("[parameters]", LIMIT),
        (
            "[parameters]",
            '[environment]\ncontrol = "observed"\n'
            'load = { distribution = "uniform", low = 0, high = 1 }\n\n'
            '[risk]\nmeasure = "cvar"\nlevel = 0.3\n\n[parameters]',
        ),
    )
    rows = [f"4096,{x / 10},FULL,{x / 7 % 1},{x},{x}" for x in range(8)]
    lines = ["size,share,mode,load,value,p99", *rows]
    if not measured:
        lines = [line.rpartition(",")[0] for line in lines]
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    import_table(path, tmp_path / "runs.csv")
    line = "Over the environment, all constraints (p99) hold with probability"
    for _ in range(2):  # computed, and kept
        shown = CliRunner().invoke(app, ["recommend", str(path)]).stdout
        assert (line in shown) is measured
    CliRunner().invoke(app, ["report", str(path), "-o", str(tmp_path / "x.html")])
    assert (line in (tmp_path / "x.html").read_text()) is measured
    printed = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    assert printed["constraints"] == {}
    assert printed["feasible"] is measured
