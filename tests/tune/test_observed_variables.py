"""An environment that the world draws, read from what the objective gives back."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.environment import EnvironmentSection
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.measurement import Failure, Measurement, ObservedVariables
from surefoot.tune.stopping import Stop

OBSERVED = ObservedVariables(
    EnvironmentSection.model_validate(
        {
            "control": "observed",
            "load": {"distribution": "uniform", "low": 0.25, "high": 0.75},
            "n-clients": {"values": [1, 2, 4]},
        }
    ).variables
)


def run(folder: Path, *lines: str) -> Measurement | Failure:
    (folder / "said").write_text("\n".join(lines))
    objective = CommandObjective(CommandTemplate.parse("cat said"), folder, 20, OBSERVED)
    return objective.measure({}, Stop())


@pytest.mark.parametrize(
    "lines",
    [
        ("load=0.61", "n-clients=2", "12.5"),
        ("12.5 ms", "  load = 6.1e-1\t", "n-clients=2.0"),
        ("load=0.3", "load=9", "12.5", "n-clients=1", "load=0.61", "n-clients=2"),
        ("\x1b[32mload=0.61\x1b[0m", "p95 = 12.5ms", "n-clients=2", "overload=7 done"),
    ],
)
def test_the_last_line_of_each_variable_counts_and_holds_no_measurement(tmp_path, lines):
    result = run(tmp_path, *lines)
    assert isinstance(result, Measurement)
    assert result.value == (7 if "overload=7 done" in lines else 12.5)
    assert result.environment == {"load": 0.61, "n-clients": 2}
    assert isinstance(result.environment["n-clients"], int)  # as the study file has it


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("12.5", "n-clients=2"), "no line `load=NUMBER` on standard output, expected one, since"),
        (("load=0.61", "12.5"), "no line `n-clients=NUMBER` on standard output, expected one, si"),
        (("load is 0.6", "n-clients=2", "3"), "no line `load=NUMBER` on standard output"),
        (("load=high", "n-clients=2", "3"), "the environment's load is high, expected a number"),
        (("load=", "n-clients=2", "3"), "the environment's load is , expected a number"),
        (("load=nan", "n-clients=2", "3"), "the environment's load is nan, expected a number from"),
        (
            ("load=0.8", "n-clients=2", "3"),
            "the environment's load is 0.8, expected a number from ",
        ),
        (
            ("load=0.6", "n-clients=3", "3"),
            "the environment's n-clients is 3, expected one of 1, 2",
        ),
        (("load=0.6", "n-clients=2"), "no number on standard output"),
    ],
)
def test_what_is_missing_or_wrong_fails_with_what_was_expected(tmp_path, lines, reason):
    result = run(tmp_path, *lines)
    assert isinstance(result, Failure)
    assert result.reason.startswith(reason)
    assert lines[0] in result.output or lines[-1] in result.output
    assert result.blameless is (not reason.startswith("no number"))


MODULE = """
answers = {
    0: (5.0, {"load": 0.5, "n-clients": 4, "more": 1}),
    1: 5.0,
    2: (5.0, {"load": 0.5}),
    3: (5.0, {"load": "much", "n-clients": 4}),
    4: (5.0, {"load": 0.9, "n-clients": 4}),
    5: (float("nan"), {"load": 0.5, "n-clients": 4}),
    6: [5.0, 0.5],
}
def measure(x):
    print("asked", x)
    if x == 7: raise TypeError("mine")
    return answers[x]
"""


def test_a_function_returns_it_beside_the_value(tmp_path):
    (tmp_path / "rig_with_weather.py").write_text(MODULE)
    objective = FunctionObjective("rig_with_weather:measure", ["x"], tmp_path, 20, OBSERVED)
    objective.check()
    try:
        result = objective.measure({"x": 0}, Stop())
        assert isinstance(result, Measurement)
        assert (result.value, result.environment) == (5.0, {"load": 0.5, "n-clients": 4})
        expected = "expected (number, {'load': number, 'n-clients': number})"
        reasons = {
            1: f"returned 5.0, {expected}",
            2: "no 'n-clients' in the dictionary that was returned, expected it, since n-clients",
            3: f"returned (5.0, {{'load': 'much', 'n-clients': 4}}), {expected}",
            4: "the environment's load is 0.9, expected a number from 0.25 to 0.75",
            5: "the measurement is NaN, expected a finite number",
            6: f"returned [5.0, 0.5], {expected}",
            7: "TypeError: mine",
        }
        for x, reason in reasons.items():
            result = objective.measure({"x": x}, Stop())
            assert isinstance(result, Failure)
            assert result.reason.startswith(reason)
            assert "asked" in result.output
            assert result.blameless is (x not in (5, 7))
    finally:
        objective.close()


def test_a_pair_is_no_number_where_nothing_is_observed(tmp_path):
    (tmp_path / "rig_without_weather.py").write_text(MODULE)
    objective = FunctionObjective("rig_without_weather:measure", ["x"], tmp_path, 20)
    try:
        result = objective.measure({"x": 0}, Stop())
        assert isinstance(result, Failure)
        assert "expected a number or a list of numbers; 'load', " in result.reason
        assert result.reason.endswith("not declared in [constraints]")
        assert objective.measure({"x": 1}, Stop()).value == 5.0
    finally:
        objective.close()
