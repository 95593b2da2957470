"""Numbers with standard errors and replicates, from the output of a command to the model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from support.study_doubles import Scripted, trials_of
from surefoot.integrations.optuna import STANDARD_ERROR
from surefoot.tune import export, import_table, open_study
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import PrintedValue, printed_value
from surefoot.tune.measuring.replicates import robust_location
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
        ("12.5 +- 0.4 of 7 runs", 7.0, 0.0),
        ("12.5 ms ± 0.4 ms per loop (mean ± std. dev. of 7 runs, 100 loops each)", 100.0, 0.0),
        ("12.5 - 0.4", 0.4, 0.0),
        ("samples: 12.5", 12.5, 0.0),
        ("samples: 3 5", 4.0, 1.0),
        ("\x1b[32msamples = [3ms, 5ms]\x1b[0m\n", 4.0, 1.0),
        ("samples: 3ms, 5ms;\r\ndone", 4.0, 1.0),
        ("samples: 1000 mean 12.5", 12.5, 0.0),
        ("samples: 3 5\n7", 7.0, 0.0),
    ],
)
def test_what_is_printed_last_is_the_measurement(text, value, sem):
    printed = printed_value(text)
    assert isinstance(printed, PrintedValue)
    assert (printed.value, printed.sem) == pytest.approx((value, sem))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no number on standard output"),
        ("± 0.4", "no number before the standard error 0.4"),
        ("12.5 roughly about ± 0.4", "no number before the standard error 0.4"),
        ("12.5\n± 0.4", "no number before the standard error 0.4"),
    ],
)
def test_a_standard_error_without_its_number_is_a_failure(text, reason):
    assert str(printed_value(text)).startswith(reason)


@pytest.mark.parametrize(
    "text", ["1,234.5", "latency 1,234.5 ms", "1,234,567", "12,5", "1,234 ± 5", "1,234e3"]
)
def test_a_number_with_commas_is_a_failure(text):
    assert "expected a number without separators" in str(printed_value(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [("10,0.53", 0.53), ("run 7, 12.5", 12.5), ("a,12.5", 12.5), ("\N{MINUS SIGN}3.5", -3.5)],
)
def test_a_number_in_a_list_is_none_with_separators(text, value):
    assert printed_value(text) == PrintedValue(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("12.5 ± -0.4", "the standard error is -0.4, expected a finite number of at least 0"),
        ("12.5 ± nan", "the standard error is nan, expected a finite number of at least 0"),
        ("12.5 ± inf", "the standard error is inf, expected a finite number of at least 0"),
        ("samples: nan 12 13", "the measurement is NaN"),
        ("samples: 12 inf 13", "the measurement is infinite"),
    ],
)
def test_wrong_errors_and_samples_are_failures(tmp_path: Path, text, reason):
    (tmp_path / "output").write_text(text, encoding="utf-8")
    result = CommandObjective(CommandTemplate.parse("cat output"), tmp_path, 20).measure({}, Stop())
    assert isinstance(result, Failure)
    assert result.reason.startswith(reason)
    assert result.blameless == ("standard error" in reason)


def test_a_command_has_its_standard_error(tmp_path: Path):
    (tmp_path / "output").write_text("samples: 12.1 12.9 48.0 12.3", encoding="utf-8")
    result = CommandObjective(CommandTemplate.parse("cat output"), tmp_path, 20).measure({}, Stop())
    assert isinstance(result, Measurement)
    assert 12.1 < result.value < 12.9
    assert 0.1 < result.sem < 1.0


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("number", [5, 50])
def test_standard_errors_are_those_of_repeated_runs(number):
    generator = np.random.default_rng(0)
    runs = [robust_location(row) for row in generator.standard_t(3, size=(2000, number))]
    spread = np.std([location for location, _ in runs])
    assert np.median([error for _, error in runs]) == pytest.approx(spread, rel=0.25)


def test_equal_replicates_have_no_error():
    assert robust_location([3.0, 3.0, 3.0]) == (3.0, 0.0)
    assert robust_location([3.0]) == (3.0, 0.0)


@pytest.mark.slow
def test_a_trial_keeps_its_error_in_the_study_and_in_tables(write_study, tmp_path):
    path = write_study()
    results = [Measurement(1.5, 0.2, sem=0.25), Measurement(2.5, 0.2)]
    tune(trials_of(path, rounds=2), Scripted(results), Stop())
    opened = open_study(path)
    recorded = [trial.user_attrs.get(STANDARD_ERROR) for trial in opened.study.get_trials()]
    assert recorded == [0.25, None]
    export(opened, tmp_path / "all.csv")
    (tmp_path / "hill.db").unlink()
    import_table(path, tmp_path / "all.csv")
    again = [trial.user_attrs.get(STANDARD_ERROR) for trial in open_study(path).study.get_trials()]
    assert again == recorded


@pytest.mark.parametrize("sem", ["-0.5", "nan", "much"])
def test_a_table_with_a_wrong_error_is_refused(write_study, tmp_path, sem):
    path, table = write_study(), tmp_path / "runs.csv"
    table.write_text(f"size,share,mode,value,sem\n512,0.5,OFF,1.0,{sem}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line 2: got .* in column 'sem', expected .*; nothing"):
        import_table(path, table)
