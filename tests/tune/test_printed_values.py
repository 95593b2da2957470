"""Numbers with standard errors and replicates, from the output of a command to the model."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.integrations.optuna import STANDARD_ERROR
from surefoot.tune import export, import_table, open_study
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.section import ValueName
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import printed_value, robust_location
from surefoot.tune.measuring.quantity import Missing, Quantity
from surefoot.tune.stopping import Stop
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput


@pytest.mark.parametrize(
    ("text", "value", "sem"),
    [
        ("12.5 +- 0.4", 12.5, 0.4),
        ("12.5 +/- 0.4\n", 12.5, 0.4),
        ("12.5+-0.4", 12.5, 0.4),
        ("12.5 ± 0.4 ms", 12.5, 0.4),
        ("p95 = -12.5ms ±0.4ms\ndone\n", -12.5, 0.4),
        ("99.9% +- 1e-2%", 99.9, 0.01),
        ("3 runs\n12.5 µs ± 4e-1 µs", 12.5, 0.4),
        ("12.5 +- 0.4\n13", 13.0, 0.0),
        ("12.5(4)", 12.5, 0.4),
        ("1.2345(67)e-3 kg", 1.2345e-3, 6.7e-6),
        ("1.002 s ±  24.3 ms", 1.002, 0.0243),
        ("(12.5 ± 0.4) ms", 12.5, 0.4),
        ("12.5 ms (+/- 0.4)", 12.5, 0.4),
        ("12.5 ms ± 4%", 12.5, 0.5),
        ("time (mean ± σ): 12.5 ms ± 0.4 ms", 12.5, 0.0),  # a standard deviation
        ("samples: 12.5", 12.5, 0.0),
        ("samples: 3 5", 4.0, 1.0),
        ("\x1b[32msamples = [3ms, 5ms]\x1b[0m\n", 4.0, 1.0),
        ("samples: 3ms, 5ms;\r\ndone", 4.0, 1.0),
        ("samples: 0.003 s, 5 ms", 0.004, 0.001),
        ("samples: 3 5\n7", 7.0, 0.0),
    ],
)
def test_the_number_of_the_last_line_is_the_measurement(text, value, sem):
    printed = printed_value(text)
    assert isinstance(printed, Quantity)
    assert (printed.value, printed.sem) == pytest.approx((value, sem))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "done",
        "****",
        "info nanny p95 0x1F cuda-7",
        "v1.2.3 of 2026-11-25 21:33:43",
        "25 Nov 2026",
    ],
)
def test_a_text_without_a_number(text):
    assert printed_value(text) is None


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("12.5 - 0.4", "12.5, 0.4"),
        ("12.5 +- 0.4 of 7 runs", "12.5 +- 0.4, 7"),
        ("1 2 3", "1, 2, 3"),
        ("1 234.5", "1, 234.5"),
        ("1\N{NARROW NO-BREAK SPACE}234.5", "1, 234.5"),
        ("12.5 [12.1, 12.9]", "12.5, 12.1, 12.9"),
        ("12.5 (95% CI 12.1-12.9)", "12.5, 95%, 12.1-12.9"),
        ("0.93 (std 0.02)", "0.93, 0.02"),
        ("avg=12.34, stdev=5.6", "avg=12.34, stdev=5.6"),
        ("mean 5 ms over 15 samples", "5 ms, 15"),
        ("samples: 1000 mean 12.5", "samples=1000, 12.5"),
        ("12.5 roughly about ± 0.4", "12.5, ± 0.4"),
        ("run 7, 12.5", "7, 12.5"),
        ("1,234 ± 5", "1,234, ± 5"),
        ("1.#INF", "1, INF"),
        ('{"p50": 3, "p99": 12.5}', "p50=3, p99=12.5"),
        ('{\n"a": {"p50": [3, 4]},\n"p99": 12.5\n}', "a.p50[0]=3, a.p50[1]=4, p99=12.5"),
        ("1 2 3 4 5 6 7 8", "1, 2, 3, 4, 5, 6, ..."),
    ],
)
def test_several_numbers_are_refused_and_listed(text, listed):
    printed = printed_value(text)
    assert isinstance(printed, Missing)
    assert f": {listed}; expected one, or `value` in [objective] that names one" in printed.reason


@pytest.mark.parametrize(
    "text",
    [
        *("1,234.5", "latency 1,234.5 ms", "1,234,567", "12,5", "1,234e3"),
        *("1'234.5", "1,23,456.7", "1.234.567", "1_000", "0.123-102", "12.1-12.9", "10,0.53"),
        *("12:34:56", "0:01.23", "1/2", "1½", "25/11/2026", "<0.01", "p < 0.05", "--5", "x = - 5"),
        *("12.5e", "12.5e-", "2d3h", "1d12h", "12.5+", "1.5e- ms", "1.5 e3", "1.5 D-03 s"),
        *(
            "± 0.4",
            "12.5 ms ± 3 MB",
            "8-core",
            "12.5_",
            "5e+3_",
            "10^6",
            "3×4",
            "12.5.txt",
        ),
    ],
)
def test_a_number_with_several_readings_is_refused(text):
    printed = printed_value(text)
    assert isinstance(printed, Missing)
    assert " in the last line has several readings, expected a number" in printed.reason


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        *[("17 rounds\nloss: None", True), ("17\nloss=", True), ("17\n'loss': null,", True)],
        *[("17\nscore = N/A\nbye", True), ("17\nlatency: -", True), ("17\nloss: -∞", True)],
        *[("12.5\nErrors: none", False), ("12.5\nSummary:", False), ("12.5\nNone", False)],
        *[("12.5\n-----", False), ("12.5\nsee http://localhost/a?b", False)],
    ],
)
def test_a_name_without_its_number_is_no_end_of_the_output(text, refused):
    """An earlier number, such as a count, is not the measurement that is missing."""
    printed = printed_value(text)
    if refused:
        assert isinstance(printed, Missing)
        assert re.match("no number in `.*`, only before it: 17; expected one", printed.reason)
    else:
        assert isinstance(printed, Quantity)
        assert printed.value == 12.5


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("a,12.5", 12.5, ""),
        ("\N{MINUS SIGN}3.5", -3.5, ""),
        ("\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}", 12, ""),
        ("1.5D-03", 1.5e-3, ""),
        ("1E+03", 1000, ""),
        ("1.2\N{MULTIPLICATION SIGN}10^-3 s", 1.2e-3, "s"),
        ("1.5*10^-3", 1.5e-3, ""),
        ("1.5 · 10⁻³", 1.5e-3, ""),
        ("12.5 \N{MICRO SIGN}s", 12.5, "μs"),
        ("12.5\N{GREEK SMALL LETTER MU}s", 12.5, "μs"),
        ("12.5\N{NO-BREAK SPACE}ms", 12.5, "ms"),
        ("99.9 %", 99.9, "%"),
        ("3.4k", 3.4, "k"),
        ("1.2 GiB/s", 1.2, "GiB/s"),
        ("120 ops/s", 120, "ops/s"),
        ("1.2 M ops/s", 1.2, "Mops/s"),
        ("1.2M requests/s", 1.2, "M"),
        ("950 k", 950, "k"),
        ("950 mJ", 950, "mJ"),
        ("57000 /min", 57000, "/min"),
        ("8.1 [ms] (mean)", 8.1, "ms"),
        ("1m2.5s", 62.5, "s"),
        ("50%\r100%\rdone: 12.5 s", 12.5, "s"),
        ("\x1b[1;32m12.5\x1b[0m", 12.5, ""),
        ("[2026-11-25 21:33:43,123] INFO p95 = 12.5", 12.5, ""),
        ("Wed Nov 25 21:33:43 UTC 2026: 12.5", 12.5, ""),
        ("12.5 by v1.2.3 at 127.0.0.1:8080", 12.5, ""),
        ("tensor(0.25, device='cuda:0')", 0.25, ""),
        ("95th percentile: 12.5", 12.5, ""),
        ("[1] 12.5", 12.5, ""),
        ('{"value": "12.5 ms"}', 12.5, "ms"),
        ("nan", math.nan, ""),
        ("-Infinity ms", -math.inf, "ms"),
        ("\N{EN DASH}12.5 ms", -12.5, "ms"),
        ("x = \N{FIGURE DASH}12.5", -12.5, ""),
        ("1e\N{EN DASH}3", 1e-3, ""),
        ("\N{EN DASH} 12.5", 12.5, ""),
        ("took 12.5 ms: ok", 12.5, "ms"),
        ("12.5 ms => done", 12.5, "ms"),
    ],
)
def test_forms_of_one_number(text, value, unit):
    printed = printed_value(text)
    assert isinstance(printed, Quantity)
    assert (printed.value, printed.unit) == (pytest.approx(value, nan_ok=True), unit)


@pytest.mark.parametrize(
    "dash", "\N{HYPHEN}\N{EM DASH}\N{EN DASH}\N{HORIZONTAL BAR}\N{FIGURE DASH}-"
)
def test_a_dash_is_a_sign_or_refused_but_never_dropped(dash):
    for text in (f"{dash}12.5", f"x: {dash}12.5 ms", f"p95 {dash}12.5", f"10{dash}12.5"):
        printed = printed_value(text)
        assert isinstance(printed, Missing) or printed.value == -12.5


UNITS = [
    "k",
    "M",
    "G",
    "s",
    "h",
    "d",
    "ms",
    "m",
    "min",
    "B",
    "kB",
    "MB/s",
    "%",
    "W",
    "J",
    "qps",
    "K",
]


@pytest.mark.parametrize("word", UNITS)
@pytest.mark.parametrize("sign", [":", "=", " : ", " = ", ": ", "= ", ":\t"])
def test_the_next_name_in_a_line_is_no_unit(word, sign):
    for number in ("10", "-3", ".5", "inf", "none", "[1, 2]"):
        printed = printed_value(f"score{sign}1.36 {word}{sign}{number} p95: 4", ValueName("score"))
        assert isinstance(printed, Missing) or (printed.value, printed.unit) == (1.36, "")
        assert isinstance(printed, Quantity) or word == "%"  # no name begins so


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("p95=12.5 p50=3", "p95", 12.5),
        ("p95: 12.5 ms\nruns 7", "p95", 12.5),
        ("p95=1\np95=12.5\n3", "p95", 12.5),  # the last one
        ("p999=1, p95 = 12.5, xp95=3", "p95", 12.5),
        ("| p95 | 12.5 |", "p95", 12.5),
        ('"p95","12.5"', "p95", 12.5),
        ("wall........: 12.5 (7 runs)", "wall", 12.5),
        ("wall (s): 12.5 [12.1, 12.9]", "wall", 12.5),
        ("total time 01:02:03.5", "total time", 3723.5),
        ("loss=5\nvalidation loss=3", "loss", 5),
        ('{"a": [{"p95": 12.5}], "p50": 3}', "a[0].p95", 12.5),
        ('log 1\n{"a.b": 12.5}', "a.b", 12.5),
        ('{"a": 3, "b": {"c": 12.5}}', "$.b.c", 12.5),
        ("mean of 7 runs was 12.5 µs", r"/was ([\d.]+ µs)/", 12.5),
        ("mean +- 1: 12.5", r"/\+- 1: (.*)/", 12.5),
    ],
)
def test_a_named_number(text, name, value):
    printed = printed_value(text, ValueName(name))
    assert isinstance(printed, Quantity)
    assert printed.value == value


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("p95=\n12.5", "p95", "nothing behind `p95`"),
        ("p95=12.5\np95=", "p95", "nothing behind `p95`"),
        ("p95 12.5 13.5", "p95", "several numbers behind it: 12.5 13.5"),
        ("p95=1 234.5", "p95", "several numbers behind it: 1 234.5"),
        ("p95=1,234", "p95", "1,234 in its line has several readings"),
        ("mean latency: 5\nmax latency: 9", "latency", "`mean latency`, `max latency`"),
        ("P95=12.5, p50=3", "p95", "no p95 on standard output, which objective.value names"),
        ("P95=12.5, p50=3", "p95", "there are P95, p50"),
        ('{"a": {"p95": 12.5}}', "p95", "no p95 in the JSON output, expected one of a.p95"),
        ('{"p95": null, "b": [{}]}', "p95", "p95 in the JSON output is None"),
        ('{"p95": true}', "p95", "p95 in the JSON output is True"),
        ('{"p95": [12, "13 ms"]}', "p95", "samples without a unit and in ms, expected one unit"),
        ('{"p95": ["12 ms", "3 MB"]}', "p95", "samples in ms and in MB, expected one unit"),
        ("p95 12.5 ms", "/p95 (.*) m/", ""),
        ("p95 about 12.5", "/p95 (.*)/", "the group of objective.value is 'about 12.5'"),
    ],
)
def test_a_name_without_one_number_is_refused(text, name, reason):
    printed = printed_value(text, ValueName(name))
    assert isinstance(printed, Missing) == bool(reason)
    assert reason in getattr(printed, "reason", "")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("'/(/'", "not a pattern"),
        ("'/a/'", "a pattern with 0 groups"),
        ("'/(a)(b)/'", "a pattern with 2 groups"),
        ("''", "no printable text"),
        ("3", "expected a key that stands before the number"),
    ],
)
def test_a_wrong_name_is_refused_in_one_line(write_study, value, wrong):
    path = write_study(("timeout = 30", f"timeout = 30\nvalue = {value}"))
    with pytest.raises(StudyFileError, match=r"objective\.value: got ") as refused:
        StudyFile.load(path)
    assert wrong in str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("12.5 ± -0.4", "the standard error is -0.4, expected a finite number of at least 0"),
        ("12.5 ± nan", "the standard error is nan, expected a finite number of at least 0"),
        ("12.5 ± inf", "the standard error is inf, expected a finite number of at least 0"),
        ("samples: nan 12 13", "the measurement is NaN"),
        ("samples: 12 inf 13", "the measurement is infinite"),
        ("p50=3, p99=12.5", "several numbers in the last line: p50=3, p99=12.5"),
    ],
)
def test_wrong_errors_and_samples_are_failures(tmp_path: Path, text, reason):
    (tmp_path / "output").write_text(text, encoding="utf-8")
    result = CommandObjective(CommandTemplate.parse("cat output"), tmp_path, 20).measure({}, Stop())
    assert isinstance(result, Failure)
    assert result.reason.startswith(reason)
    assert result.blameless == ("standard error" in reason or "several" in reason)
    assert result.unclear == ("several" in reason)


SUMMARY = """
     http_req_blocked...............: avg=1.2ms min=1ms max=4ms p(90)=4ms p(95)=7ms
     http_req_duration..............: avg=12.5ms min=1ms max=40ms p(90)=20ms p(95)=30ms
     iteration_duration.............: avg=12.5ms min=1ms max=40ms p(90)=20ms p(95)=40ms
"""


def test_a_line_that_begins_with_the_key_has_no_other_name():
    assert printed_value("a=12.5 b=13 a=14", ValueName("a")).value == 14.0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (SUMMARY, "p(95)"),
        (SUMMARY, "avg"),
        ("read: runs=3 iops=12\nwrite: runs=3 iops=9", "iops"),
        ("GET: 3 calls, rps=12\nSET: 3 calls, rps=9\nrps=3", "rps"),
    ],
)
def test_a_key_in_lines_of_different_names_is_refused_and_the_pattern_reads_one(text, name):
    refused = printed_value(text, ValueName(name))
    assert isinstance(refused, Missing)
    assert f"`{name}` stands in lines of `" in refused.reason
    pattern = re.search("such as ['\"](/.*/)['\"]$", refused.reason)[1]
    assert isinstance(printed_value(text, ValueName(pattern)), Quantity)


@pytest.mark.parametrize(
    "text",
    [
        "step 1: n=3 p95=3\nstep 2: n=3 p95=4",
        "2026-01-01 12:00:01 p95=3\n2026-01-01 12:00:02 p95=4",
        "[ 10%] p95: 3 ms\n[ 20%] p95: 4 ms",
        "p95=3\n  p95=4",
    ],
)
def test_of_lines_of_one_name_the_last_one_counts(text):
    assert printed_value(text, ValueName("p95")).value == 4


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ('"test","rps","p50"\n"SET","12345.6","0.5"', "rps", 12345.6),
        ("t,qps\n1,12\n2,13\n\ndone in 3 s", "qps", 13),
        ("name , qps,p95 (ms)\nall, 12 ,0.5 ms", "p95 (ms)", 0.5),
        ("t,qps\n1,12\nt,qps\n1,14", "qps", 14),
        ('"test","rps"\n"SET","12"\n"GET","13"', "rps", "has rows of SET, GET; expected one"),
        ("t,qps\n1,many", "qps", "'many' in the column qps, expected a number"),
        ("t,qps", "qps", None),
        ("t,qps\n1", "qps", "no column qps with a row"),
        ("t,qps\n1,2", "tps", "no column tps with a row"),
    ],
)
def test_a_column_of_printed_cells(text, column, found):
    printed = printed_value(text, ValueName(f"column:{column}"))
    if isinstance(found, str):
        assert found in printed.reason
    else:
        assert (None if printed is None else printed.value) == found


@pytest.mark.parametrize("name", [None, ValueName("p95")])
def test_a_number_on_standard_error_only_is_pointed_out(tmp_path, name):
    (tmp_path / "script.sh").write_text("echo ready\necho p95=12.5ms >&2\n")
    objective = CommandObjective(CommandTemplate.parse("sh script.sh"), tmp_path, 20, value=name)
    failed = objective.measure({}, Stop())
    assert isinstance(failed, Failure)
    assert failed.reason.startswith("no number on standard output, only `12.5ms` on standard error")
    (tmp_path / "script.sh").write_text("echo ready\necho ready >&2\n")
    assert objective.measure({}, Stop()).reason == "no number on standard output"


def test_a_command_has_its_standard_error(tmp_path: Path):
    (tmp_path / "output").write_text("samples: 12.1 12.9 48.0 12.3", encoding="utf-8")
    result = CommandObjective(CommandTemplate.parse("cat output"), tmp_path, 20).measure({}, Stop())
    assert isinstance(result, Measurement)
    assert 12.1 < result.value < 12.9
    assert 0.1 < result.sem < 1.0


@pytest.mark.long
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_location_solves_the_equation_of_huber(values):
    location, error = robust_location(values)
    y = np.array(values, dtype=float)
    deviations = np.abs(y - np.median(y))
    if np.median(deviations) == 0.0:
        return
    scale = 1.4826 * np.median(deviations)

    def psi(at: float) -> float:
        return float(np.clip((y - at) / scale, -1.345, 1.345).sum())

    expected = optimize.brentq(psi, y.min() - scale, y.max() + scale, xtol=1e-14, rtol=1e-14)
    assert location == pytest.approx(expected, abs=1e-6 * scale)
    assert error > 0.0


def test_replicates_without_outliers_have_their_usual_standard_error():
    values = [1.0, 2.0, 3.0, 0.5, 3.5]  # none is 1.345 deviations away
    location, error = robust_location(values)
    assert location == pytest.approx(np.mean(values))
    assert error == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)))


@pytest.mark.long
@pytest.mark.parametrize("number", [5, 50])
def test_standard_errors_are_those_of_repeated_runs(number):
    generator = np.random.default_rng(0)
    runs = [robust_location(row) for row in generator.standard_t(3, size=(2000, number))]
    spread = np.std([location for location, _ in runs])
    assert np.median([error for _, error in runs]) == pytest.approx(spread, rel=0.25)


def test_equal_replicates_have_no_error():
    assert robust_location([3.0, 3.0, 3.0]) == (3.0, 0.0)
    assert robust_location([3.0]) == (3.0, 0.0)


@pytest.mark.long
def test_a_trial_keeps_its_error_in_the_study_and_in_tables(write_study, tmp_path):
    path = write_study()
    results = [measurement(1.5, 0.2, sem=0.25), measurement(2.5, 0.2)]
    tune(trials_of(path, rounds=2), Scripted(results), Stop())
    opened = open_study(path)
    recorded = [trial.user_attrs.get(STANDARD_ERROR) for trial in opened.study.get_trials()]
    assert recorded == [0.25, None]
    export(opened, tmp_path / "all.csv")
    (tmp_path / "hill.db").unlink()
    import_table(path, tmp_path / "all.csv")
    again = [trial.user_attrs.get(STANDARD_ERROR) for trial in open_study(path).study.get_trials()]
    assert again == recorded


@pytest.mark.long
@pytest.mark.parametrize(("sem", "expected"), [(0.0, 0.0), (0.25, 0.25)])
def test_an_error_that_a_trial_was_queued_with_is_not_that_of_its_result(
    write_study, sem, expected
):
    trials = trials_of(write_study(), rounds=1)
    queued = {"size": 1024, "share": 0.5, "mode": "OFF"}
    trials.opened.study.enqueue_trial(queued, user_attrs={STANDARD_ERROR: 9.0})
    tune(trials, Scripted([measurement(1.5, 0.2, sem=sem)]), Stop())
    (trial,) = (one for one in trials.opened.study.get_trials() if one.value is not None)
    assert trial.user_attrs[STANDARD_ERROR] == expected


@pytest.mark.parametrize("sem", ["-0.5", "nan", "much"])
def test_a_table_with_a_wrong_error_is_refused(write_study, tmp_path, sem):
    path, table = write_study(), tmp_path / "runs.csv"
    table.write_text(f"size,share,mode,value,sem\n512,0.5,OFF,1.0,{sem}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line 2: got .* in column 'sem', expected .*; nothing"):
        import_table(path, table)
