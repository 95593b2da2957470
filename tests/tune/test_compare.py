"""Comparing two settings: what is measured, recorded, decided and refused."""

from __future__ import annotations

import io
import itertools
import json
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from support.processes import forked_surefoot, wait_until_gone
from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.cli import app
from surefoot.tune import ComparisonFailed, StudyFile, compare
from surefoot.tune.comparison.compare import (
    Comparing,
    _identity,
    _introduce,
    measure_pairs,
    measured_verdict,
)
from surefoot.tune.comparison.comparison import comparison_of
from surefoot.tune.comparison.comparison_file import comparison_record, recorded_runs
from surefoot.tune.comparison.named_settings import NamedSetting, first_setting, named_setting
from surefoot.tune.measuring.measurement import VALUE, Failure, Measurement, recorded
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.stopping import Stop
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

A = {"size": 512, "share": 0.5, "mode": "OFF"}
B = {"size": 4096, "share": 0.25, "mode": "FULL"}
TEXT_A, TEXT_B = "size=512,share=0.5,mode=OFF", "size=4096, share=0.25, mode=FULL"
SILENT = Console(quiet=True)
FAILED = Failure("exit status 1", "sorry", 0.1)
ENVIRONMENT = """
[environment]
load = { distribution = "uniform", low = 0, high = 1 }

[risk]
measure = "mean"
"""


def comparing(path: Path, pairs: int = 40, all_pairs: bool = False) -> Comparing:
    a, b = NamedSetting("a", A), NamedSetting("b", B)
    return Comparing(StudyFile.load(path), a, b, pairs, 0.95, all_pairs)


class Drifting(Scripted):
    """Measures `share` on a machine that becomes slower from run to run."""

    def measure(self, params, stop, *most):
        super().measure(params, stop)
        return measurement((1 + 0.2 * len(self.asked)) * params["share"], 0.1)


@contextmanager
def record_of(path: Path, new: bool = False):
    with comparison_record(StudyFile.load(path), {"a": A, "b": B}, new) as record:
        yield record


def run(path: Path, objective: Scripted, pairs: int = 40, **options):
    what = comparing(path, pairs, options.pop("all_pairs", False))
    with record_of(path, **options) as record:
        measure_pairs(what, record, objective, Stop(), SILENT)
        return what.result(record.pairs)


def cli(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_runs_alternate_in_random_order_and_stop_at_the_decision(write_study):
    objective = Drifting()
    result = run(write_study(), objective)
    assert result.better == "B"
    assert result.pairs < 15
    assert result.wins_b >= result.pairs - 1
    assert result.probability > 0.97
    assert result.difference.upper < 0
    assert result.percent.lower < -45 < result.percent.upper
    pairs = [objective.asked[i : i + 2] for i in range(0, len(objective.asked), 2)]
    assert all(A in pair and B in pair for pair in pairs)
    assert len({pair[0]["size"] for pair in pairs}) == 2  # both orders occur


@pytest.mark.long
def test_a_comparison_goes_on_to_its_number_of_runs_if_asked(write_study):
    path = write_study()
    assert run(path, Drifting(), pairs=12, all_pairs=True).pairs == 12
    objective = Drifting()
    assert run(path, objective, pairs=14, all_pairs=True).pairs == 14
    assert len(objective.asked) == 4
    assert run(path, objective, pairs=14, all_pairs=True).pairs == 14
    assert len(objective.asked) == 4
    assert run(path, Drifting(), pairs=3, new=True).pairs == 3
    assert run(path, Drifting(), pairs=4).pairs == 4  # the new one is continued


DEFAULT_SHARE, DEFAULT_MODE = (
    ("low = 0", "default = 0.5, low = 0"),
    ('"FULL"]', '"FULL"], default = "OFF"'),
)
LIMITED = ("[parameters]", "[constraints]\np99 = { max = 20 }\nrate = { min = 5 }\n\n[parameters]")


class Limited(Scripted):
    """Measures `share`, and other quantities of A and of B."""

    def __init__(self, a: dict[str, float], b: dict[str, float]) -> None:
        super().__init__()
        self.limited = {512: a, 4096: b}

    def measure(self, params, stop, *most):
        super().measure(params, stop)
        constraints = self.limited[params["size"]]
        return measurement(params["share"], 0.1, others=constraints)


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("a", "b", "better", "said"),
    [
        ({"p99": 15, "rate": 9}, {"p99": 20, "rate": 9}, "B", "B is better"),
        ({"p99": 15, "rate": 9}, {"p99": 25, "rate": 9}, None, "breaks the limit of p99:"),
        ({"p99": 15, "rate": 9}, {"p99": 25, "rate": 4}, None, "breaks the limits of p99, rate:"),
        ({"p99": 25, "rate": 9}, {"p99": 15, "rate": 9}, "B", "A 25, broken (0 of"),
    ],
)
def test_a_configuration_that_breaks_a_limit_is_not_better(write_study, a, b, better, said):
    path = write_study(
        LIMITED, ("low = 512", "default = 512, low = 512"), DEFAULT_SHARE, DEFAULT_MODE
    )
    study_file = StudyFile.load(path)
    what = Comparing(study_file, NamedSetting("default", A), NamedSetting("b", B), 40, 0.95, False)
    with comparison_record(study_file, _identity(what), new=False) as record:
        shown = Console(record=True, width=200, file=io.StringIO())
        measure_pairs(what, record, Limited(a, b), Stop(), shown)
    assert "probability that B has better values: 0." in shown.export_text()
    result = what.result(recorded_runs(study_file, _identity(what)))  # limits are recorded, too
    assert (result.better, result.ahead, result.pairs < 12) == (better, "B", True)
    assert said in "\n".join(result.lines())
    assert result.as_dict()["limits"]["p99"]["B"]["value"] == b["p99"]
    verdict = measured_verdict(study_file, B)
    assert f" Limit of p99, at most 20: the defaults {a['p99']}, " in verdict
    assert ("it breaks the limit" in verdict) is (better is None)


class Around(Limited):
    """B is beyond its limit in the first two of so many runs of both."""

    def __init__(self, period: int) -> None:
        super().__init__({}, {})
        self.period = period

    def measure(self, params, stop, *most):
        beyond = params["size"] == 4096 and len(self.asked) % self.period < 2
        self.limited = {512: {"p99": 1.0}, 4096: {"p99": 30.0 if beyond else 10.0}}
        return super().measure(params, stop)


def test_a_comparison_goes_on_until_it_is_known_whether_the_better_one_keeps_its_limits(
    write_study,
):
    path = write_study(("[parameters]", "[constraints]\np99 = { max = 20 }\n\n[parameters]"))
    result = run(path, Around(10), pairs=80)
    limit = result.limits[0].sides["B"]
    assert (result.better, limit.keeps) == ("B", True)
    assert 12 < result.pairs < 80


def test_none_is_better_while_it_is_open_whether_it_keeps_a_limit(write_study):
    path = write_study(("[parameters]", "[constraints]\np99 = { max = 20 }\n\n[parameters]"))
    result = run(path, Around(4), pairs=20)
    assert (result.better, result.ahead, result.pairs) == (None, "B", 20)
    said = "B has better values (95 % confidence), but it is undecided whether it keeps the limit"
    assert result.lines()[0].startswith(f"{said} of p99: B was better in 20 of 20 pairs")
    assert result.as_dict()["limits"]["p99"]["B"]["keeps"] is None


def test_the_direction_decides_which_is_better(write_study):
    maximize = ('direction = "minimize"', 'direction = "maximize"')
    result = run(write_study(maximize), Drifting())
    assert (result.better, result.probability < 0.05) == ("A", True)


def test_a_stop_ends_after_the_running_measurement_and_the_pair_is_completed_later(write_study):
    path, stop = write_study(), Stop()
    what = comparing(path, 3)
    objective = Drifting()
    objective.before = lambda: setattr(stop, "requested", len(objective.asked) == 2)
    with record_of(path) as record:
        measure_pairs(what, record, objective, stop, SILENT)
        assert [len(pair) for pair in record.pairs] == [2, 1]
        assert what.result(record.pairs).pairs == 1
        shown = Console(record=True, width=200, file=io.StringIO())
        _introduce(what, record, shown)
    assert "continued after 1 pair and a run of the next; --new" in shown.export_text()
    first = objective.asked[-1]
    again = Drifting()
    assert run(path, again, pairs=3).pairs == 3
    assert len(again.asked) == 3
    assert again.asked[0] == (A if first == B else B)


class WithErrors(Scripted):
    """Measures `share`; single runs go wrong, with an error that says so."""

    def measure(self, params, stop, *most):
        super().measure(params, stop)
        wrong = len(self.asked) % 5 == 0
        return measurement(params["share"] + 3.0 * wrong, 0.1, sem=3.0 if wrong else 0.01)


@pytest.mark.long
def test_standard_errors_are_recorded_shown_and_used(write_study):
    path = write_study()
    with record_of(path) as record:
        shown = Console(record=True, width=200, file=io.StringIO())
        measure_pairs(comparing(path, 12, True), record, WithErrors(), Stop(), shown)
        first = comparing(path).result(record.pairs)
    assert "A 0.5 ± 0.01" in shown.export_text()
    with record_of(path) as record:
        assert sorted({run.sem for pair in record.pairs for run in pair.values()}) == [0.01, 3.0]
        assert comparing(path).result(record.pairs) == first
        pairs = [
            {k: run.measuring(replace(run.number, sem=0.0)) for k, run in pair.items()}
            for pair in record.pairs
        ]
        assert comparing(path).result(pairs).probability != first.probability


def test_a_first_unit_that_cannot_be_converted_ends_the_comparison(write_study):
    objective = Scripted([measurement(1.0, 0.1, unit="MB")])
    path = write_study(("timeout = 30", "timeout = 30\nunit = 'ms'"))
    with pytest.raises(ComparisonFailed, match=r"is in MB, .* are in ms; .*nothing was recorded"):
        run(path, objective)
    with record_of(path) as record:
        assert not record.pairs


@pytest.mark.long
def test_another_name_of_the_declared_unit_is_compared_as_it_was_tuned(write_study):
    bench = "import sys; print(10 + len(sys.argv[1]), 'qps')\n"
    path = write_study(("timeout = 30", "timeout = 30\nunit = 'req/s'"), bench=bench)
    assert CliRunner().invoke(app, ["tune", str(path), "--rounds", "2"]).exit_code == 0
    for runs in (6, 8):
        _, out, err = cli(path, "--aa", "--runs", runs)
        assert (f"in 0 of {runs} pairs" in out, "nothing was recorded" in err) == (True, False)


def test_runs_in_another_declared_unit_are_of_another_comparison(write_study):
    def identity(unit: str) -> dict:
        return _identity(comparing(write_study(("timeout = 30", f"timeout = 30\n{unit}"))))

    units = ("", "unit = 'ms'", "unit = 's'")
    found = [identity(unit) for unit in units]
    assert all(a != b for a, b in itertools.combinations(found, 2))
    assert found == [identity(unit) for unit in units]


NOT_RECORDED = {"left_behind"}  # which no decision and no message needs


def test_whatever_a_run_reports_is_recorded_and_read_again(write_study):
    given = {
        "readings": {
            VALUE: Quantity(1.5, 0.5, "ms", "1.5 ± 0.5 ms"),
            "p99": Quantity(3.0, 0.25, "s", "3 ± 0.25 s"),
            "heat": Quantity(7.0),
        },
        "seconds": 0.25,
        "environment": {"load": 2.0},
        "worker": "rack 2",
        "ended_early": True,
        "samples": 7,
    }
    assert given.keys() | NOT_RECORDED == {one.name for one in fields(Measurement)}
    run, path = Measurement(**given), write_study()
    with record_of(path) as record:
        record.add(0, "a", run, {})
        record.add(0, "b", FAILED, {})
    untexted = {name: replace(one, text="") for name, one in run.readings.items()}
    with record_of(path) as record:
        assert record.pairs == [{"a": replace(run, readings=untexted), "b": FAILED}]


class OnWorkers(Scripted):
    """Measures `share` on two workers in turn, of which one is slower; the first runs name none."""

    def measure(self, params, stop, *most):
        super().measure(params, stop)
        number = len(self.asked) - 1
        worker = "" if number < 4 else "ab"[number // 3 % 2]
        return measurement(params["share"] + 10.0 * (worker == "b"), 0.1, worker=worker)


def test_pairs_on_different_workers_are_pointed_out(write_study):
    path = write_study()
    result = run(path, OnWorkers(), pairs=9, all_pairs=True)
    named = ["" if number < 4 else "ab"[number // 3 % 2] for number in range(18)]
    different = sum(a != b for a, b in zip(named[::2], named[1::2], strict=True))
    assert result.on_different_workers == different == 2
    assert result.as_dict()["on_different_workers"] == different
    assert result.lines()[-1].startswith(
        "In 2 of 9 pairs the two runs were on different workers, whose difference is in the pairs'"
    )
    with record_of(path) as record:
        assert comparing(path).result(record.pairs).on_different_workers == different
    assert not any("worker" in line for line in run(path, Drifting(), new=True).lines())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_run_that_was_cut_off_is_not_recorded(write_study, error):
    path = write_study()
    objective = Drifting()

    def cut_off() -> None:
        if len(objective.asked) == 3:
            raise error

    objective.before = cut_off
    with pytest.raises(error):
        run(path, objective)
    with record_of(path) as record:
        assert [len(pair) for pair in record.pairs] == [2, 1]


def test_an_incomplete_line_is_removed_and_a_foreign_file_is_refused(write_study):
    path = write_study()
    run(path, Drifting(), pairs=2)
    file = path.parent / "hill.compare.jsonl"
    with file.open("a") as end:
        end.write('{"comparison": 1, "pair": 2, "set')
    assert run(path, Drifting(), pairs=3).pairs == 3
    assert all(json.loads(line) for line in file.read_text().splitlines())
    for content in ("[1]\n", "something else"):
        file.write_text(content)
        with pytest.raises(InvalidInput, match="move it"), record_of(path):
            pass
        assert file.read_text() == content


HEADER = '{"comparison": 1, "settings": {}}'
LINE = '{"comparison": 1, "pair": 0, "setting": "a", "value": 1.5, "seconds": 0.1}'


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('{"comparison": 1, "s', '{"comparison": "x", "s'),
        ('{"comparison": 1, "s', '{"comparison": true, "s'),
        ('{"comparison": 1, "s', '{"comparison": 2, "s'),
        ("{}", "[]"),
        ('"pair": 0', '"pair": -1'),
        ('"pair": 0', '"pair": 2'),
        ('"b"', '"c"'),
        ("1.5", "NaN"),
        ("1.5", "1e999"),
        ("1.5", "1" + "0" * 400),
        ("1.5", '"fast"'),
        ("1.5", "true"),
        ("0.1", "null"),
        ("0.1", '0.1, "sem": Infinity'),
        ("0.1", '0.1, "environment": 3'),
        ('"value": 1.5', '"failure": 3, "output": "", "blameless": false'),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(write_study, right, wrong):
    path = write_study()
    file = path.parent / "hill.compare.jsonl"
    content = "\n".join([HEADER, LINE, LINE.replace('"a"', '"b"'), ""])
    file.write_text(content)
    for new in (False, True):
        with record_of(path, new=new):
            pass
    before, found, after = content.rpartition(right)
    assert found
    file.write_text(f"{before}{wrong}{after}")
    for new in (False, True):
        with (
            pytest.raises(InvalidInput, match=r"line [123] is not one of a comparison; restore"),
            record_of(path, new=new),
        ):
            pass


def test_only_one_process_compares(write_study):
    path = write_study()
    again = pytest.raises(InvalidInput, match="another comparison")
    with record_of(path), again, record_of(path):
        pass


def test_both_runs_of_a_pair_have_the_same_environment(write_study):
    path = write_study(command=f"{sys.executable} bench.py {{size}} {{share}} {{mode}} {{load}}")
    path.write_text(path.read_text() + ENVIRONMENT)
    objective = Drifting()
    run(path, objective, pairs=5, all_pairs=True)
    loads = [asked["load"] for asked in objective.asked]
    assert loads[::2] == loads[1::2]
    assert len(set(loads)) == 5


class TestFailures:
    def pairs(self, *pairs):
        return comparison_of(
            NamedSetting("a", A),
            NamedSetting("b", B),
            [{"a": a, "b": b} for a, b in pairs],
            minimize=True,
            confidence=0.95,
        )

    def test_a_setting_that_fails_is_worse(self):
        result = self.pairs(*[(measurement(1.0, 0.1), FAILED)] * 8)
        assert (result.better, result.failures_b, result.mean_difference) == ("A", 8, None)
        assert json.dumps(result.as_dict(), allow_nan=False)
        assert "Failed runs: A 0, B 8." in result.lines()

    def test_two_failures_and_a_missing_environment_say_nothing(self):
        blameless = Failure("no load", "", 0.1, blameless=True)
        result = self.pairs((FAILED, FAILED), (blameless, measurement(1.0, 0.1)))
        assert (result.pairs, result.wins_a, result.wins_b, result.probability) == (2, 0, 0, 0.5)
        assert result.difference is None
        assert result.lines()[-1] == "No pair has said yet which is better."

    def test_five_failing_pairs_in_a_row_end_the_comparison(self, write_study):
        with pytest.raises(ComparisonFailed, match=r"5 pairs in a row.*exit status 1.*sorry"):
            run(write_study(), Scripted([FAILED] * 20))


@pytest.mark.parametrize("unit", [1.0, 2.0**-30, 2.0**30])
def test_a_difference_without_spread_depends_on_no_outliers(unit):
    """Its mean differs by rounding from the interval of no length."""
    pairs = [
        {"a": measurement(0.1 * unit, 0.1), "b": measurement(0.4 * unit, 0.1)} for _ in range(11)
    ]
    result = comparison_of(NamedSetting("a", A), NamedSetting("b", B), pairs, True, 0.95)
    assert result.difference.lower == result.difference.upper != result.mean_difference
    assert not result.depends_on_outliers


def test_outliers_that_contradict_typical_runs_are_pointed_out():
    values = [(10.0 + i % 3, 9.0 + i % 2) for i in range(20)]
    values[4] = (10.0, 500.0)
    pairs = [{"a": measurement(a, 0.1), "b": measurement(b, 0.1)} for a, b in values]
    result = comparison_of(NamedSetting("a", A), NamedSetting("b", B), pairs, True, 0.95)
    assert result.better == "B"
    assert result.mean_difference > 0
    assert result.depends_on_outliers
    assert any("outside this interval and has the other sign" in line for line in result.lines())


class TestNamedSettings:
    def test_values_are_parsed_by_their_parameters(self, write_study):
        study_file = StudyFile.load(write_study())
        for between in (",", " , ", " ", "\n"):  # a report shows them with spaces
            assert named_setting(study_file, TEXT_B.replace(",", between)).params == B
        assert first_setting(study_file) == "trial 0"

    def test_defaults_come_first_where_there_are_any(self, write_study):
        without = StudyFile.load(write_study())
        study_file = SimpleNamespace(
            space=without.space, scheme=without.scheme, defaults=A, defaults_under=lambda _: A
        )
        assert first_setting(study_file) == "default"
        assert named_setting(study_file, "default").params == A

    def test_trials_and_the_recommendation(self, write_study):
        path = write_study()
        study_trials = trials_of(path, rounds=2)
        tune(study_trials, Scripted(), Stop())
        study_file, trials = StudyFile.load(path), all_of(study_trials)
        for name in ("trial 1", "trial=1"):
            assert named_setting(study_file, name).params == trials[1].params
        assert set(named_setting(study_file, "recommended").params) == set(A)
        with pytest.raises(InvalidInput, match="no trial 2, expected 0 to 1"):
            named_setting(study_file, "trial 2")

    def test_a_parameter_named_trial_is_a_parameter(self, write_study):
        path = write_study(command="true {trial}")
        head = path.read_text().partition("[parameters]")[0]
        path.write_text(head + '[parameters]\ntrial = { type = "int", low = 1, high = 3 }\n')
        study_trials = trials_of(path, rounds=3)
        tune(study_trials, Scripted(), Stop())
        study_file, trials = StudyFile.load(path), all_of(study_trials)
        assert named_setting(study_file, "trial=3").params == {"trial": 3}
        assert named_setting(study_file, "trial 2").params == trials[2].params

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        ("b", "message"),
        [
            ("bets", "expected `default`, `recommended`, `trial N` or `name=value,...`"),
            ("best", "run `surefoot tune STUDY.toml` first"),
            ("default", "the parameters have no `default`"),
            ("recommended", "run `surefoot tune STUDY.toml` first"),
            ("trial 3", "run `surefoot tune STUDY.toml` first"),
            ("sise=512,share=0.5,mode=OFF", "'sise' is not a parameter, expected size, share"),
            ("size=512,share=0.5", "no value of mode, expected all active parameters"),
            ("size=512,size=512", "size: given twice"),
            ("size=1.5,share=0.5,mode=OFF", "size: got '1.5', expected a whole number from 512"),
            ("size=512,share=nan,mode=OFF", "share: got 'nan', expected a number from 0 to 1"),
            ("size=512,share=0.5,mode=off", "mode: got 'off', expected one of OFF, NORMAL, FULL"),
            (TEXT_A, "A and B are the same configuration"),
        ],
    )
    def test_bad_settings_are_one_line_and_nothing_is_created(self, write_study, b, message):
        path = write_study()
        code, out, err = cli(path, "--a", TEXT_A, "--b", b)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert message in err
        assert {file.name for file in path.parent.iterdir()} == {"STUDY.toml", "bench.py"}


@pytest.mark.long
def test_the_command_prints_the_decision_and_json(write_study):
    path = write_study()
    code, out, err = cli(path, "--a", TEXT_A, "--b", TEXT_B)
    assert (code, err) == (0, "")
    assert "pair 7: A 1, B 0.5" in out
    assert "B is better (95 % confidence): B was better in 7 of 7 pairs, A in 0." in out
    assert "B minus A: -0.5 (-0.5 to -0.5), or -50 % (-50 % to -50 %)." in out
    code, out, _ = cli(path, "--a", TEXT_A, "--b", TEXT_B, "--json")
    assert code == 0
    content = json.loads(out)
    assert (content["better"], content["pairs"], content["b"]) == ("B", 7, B)
    assert cli(path, "--confidence", "1.5")[0] == 2


@pytest.mark.long
def test_a_setting_may_be_compared_with_itself_on_request(write_study):
    result = compare(write_study(), TEXT_A, TEXT_A, aa=True, runs=2, quiet=True)
    assert (result.better, result.pairs, result.wins_a, result.wins_b) == (None, 2, 0, 0)


def test_setup_and_teardown_run_once_and_only_if_something_is_measured(write_study):
    log = 'timeout = 30\nsetup = "sh log.sh setup"\nteardown = "sh log.sh teardown"'
    path = write_study(("timeout = 30", log))
    (path.parent / "log.sh").write_text('echo "$1" >> log\n')
    for _ in range(2):
        assert compare(path, TEXT_A, TEXT_B, runs=2, quiet=True).pairs == 2
        assert (path.parent / "log").read_text().split() == ["setup", "teardown"]


SLOW = """import os, sys, time
open('new', 'w').write(str(os.getpid()))
os.replace('new', 'pid')  # which is whole whenever the process is killed
time.sleep(0.3)
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_comparison_keeps_its_runs_and_continues(write_study, number):
    path = write_study(bench=SLOW + "print(sys.argv[2])\n")
    file = path.parent / "hill.compare.jsonl"
    arguments = [str(path), "--a", TEXT_A, "--b", TEXT_B, "--runs", "3"]
    process = forked_surefoot("compare", *arguments)
    end = time.monotonic() + 120
    while not file.exists() or len(file.read_text().splitlines()) < 4:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == {9: -9, 15: 143, 2: 130}[number]
    if number != signal.SIGKILL:
        assert "Undecided" in out
    assert wait_until_gone(int((path.parent / "pid").read_text()))
    before = file.read_text().splitlines()
    code, out, _ = cli(*arguments)
    assert code == 0
    assert "of 3 pairs" in out
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[: len(before) - 1] == before[:-1]


def test_the_verdict_that_was_measured_is_told_with_the_recommendation(write_study):
    path = write_study(("low = 512", "default = 512, low = 512"), DEFAULT_SHARE, DEFAULT_MODE)
    study_file = StudyFile.load(path)
    assert study_file.defaults == A
    assert measured_verdict(study_file, B) == ""
    what = Comparing(study_file, NamedSetting("default", A), NamedSetting("b", B), 40, 0.95, False)
    with comparison_record(study_file, _identity(what), new=False) as record:
        measure_pairs(what, record, Drifting(), Stop(), SILENT)
    path.with_name("hill.compare.jsonl").open("ab").write(b'{"comparison"')  # was killed
    before = path.with_name("hill.compare.jsonl").read_bytes()
    verdict = measured_verdict(study_file, B)
    assert verdict.startswith("Measured against the defaults in ")
    assert "by `surefoot compare`: better (95 % confidence), -" in verdict
    assert measured_verdict(study_file, B | {"share": 0.3}) == ""
    assert path.with_name("hill.compare.jsonl").read_bytes() == before


@pytest.mark.long
@pytest.mark.parametrize(("runs", "warned"), [(1, True), (7, True), (8, False)])
def test_runs_that_can_hardly_decide_are_said(write_study, runs, warned):
    bench = "import random, sys\nprint(500 * float(sys.argv[2]) + random.random())\n"
    path = write_study(bench=bench)
    low, high = (f"size=600,share={share},mode=OFF" for share in (0.1, 0.9))
    _, out, err = cli(path, "--a", low, "--b", high, "--runs", runs, "--json")
    assert ("can hardly decide at 95 % confidence" in err) is warned
    assert (json.loads(out)["better"] is None) is warned


@pytest.mark.parametrize(
    "result",
    [
        Measurement({VALUE: Quantity(2.0)}, 1.5),
        Measurement(
            {VALUE: Quantity(-2.0, 0.25, "ms"), "p99": Quantity(0.0, 0.5), "rss": Quantity(3.0)},
            0.0,
            {"load": 0.0},
            worker="w",
            ended_early=True,
            samples=7,
        ),
        Failure("exit status 1", "a line", 0.25, blameless=True, worker="w"),
        Failure("", "", 0.0),
    ],
)
def test_a_record_is_read_as_it_was_written(result: Measurement | Failure) -> None:
    assert recorded(json.loads(json.dumps(result.record))) == result


@pytest.mark.parametrize(
    "wrong",
    [{"value": True}, {"sem": "1"}, {"samples": 1.0}, {"constraints": []}, {"ended early": 1}],
)
def test_a_record_of_something_else_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        recorded({"value": 1.0, "seconds": 1.0, **wrong})
