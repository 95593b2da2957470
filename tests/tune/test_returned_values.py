"""What a function may return: a number, replicates, a standard error, constraints, a worker."""

import numpy as np
import pytest
import torch

from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.function_server import _call
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import robust_location
from surefoot.tune.stopping import Stop

REPLICATES = [12.1, 12.9, 48.0, 12.3]
MODULE = """
import numpy as np
RETURNED = [
    (12.5, {{"sem": 0.4}}),
    {replicates},
    ({replicates}, {{"worker": "a"}}),
    (np.float32(12.5), {{"sem": np.array(0.5)}}),
    ([12.0, 14.0], {{"sem": 3.0}}),
    (12.5, {{"sem": -0.1}}),
    (12.5, {{"sem": float("nan")}}),
    [12.5, float("nan")],
    [12.5, float("inf")],
    [],
    (12.5, {{"sem": "small"}}),
    (12.5, 0.4),
]

def measure(x):
    return RETURNED[int(x)]
"""
BAD_ERROR = "the standard error is {}, expected a finite number of at least 0"
FAILURES = {  # by index: the reason, and whether the configuration is not to blame
    5: (BAD_ERROR.format("-0.1"), True),
    6: (BAD_ERROR.format("nan"), True),
    7: ("the measurement is NaN, expected a finite number", False),
    8: ("the measurement is infinite, expected a finite number", False),
    9: ("returned [], expected a number or a list of numbers", False),
    10: ("returned (12.5, {'sem': 'small'}), expected (number, {'sem': number})", True),
    11: (
        "returned (12.5, 0.4), expected a number or a list of numbers; a number with its standard "
        "error is (number, {'sem': number})",
        False,
    ),
}


@pytest.mark.parametrize(
    ("returned", "reported", "reply"),
    [
        (np.array([1.0, 2.0]), "", {"samples": [1.0, 2.0]}),
        (torch.tensor(1.5), "", {"value": 1.5}),
        (np.float64(1.5), "", {"value": 1.5}),
        ([1, 2], "", {"samples": [1.0, 2.0]}),
        ((1.5, {"p99": 2, "sem": 0.1}), "p99", {"value": 1.5, "reported": {"p99": 2}, "sem": 0.1}),
        (([1.5], {"p99": 2}), "p99", {"samples": [1.5], "reported": {"p99": 2}}),
        ((1.5, {"sem": 2}), "sem", {"value": 1.5, "reported": {"sem": 2.0}}),
        ((1.5, {"worker": None}), "", {"value": 1.5}),
        ((1.5, {"worker": np.array([1, 2])}), "", {"value": 1.5, "worker": "[1 2]"}),
    ],
)
def test_replies(returned, reported, reply):
    assert _call(lambda: returned, {}, reported) == reply


@pytest.mark.parametrize(
    ("returned", "reported", "wanted", "blameless"),
    [
        (
            (1.5, {"p99": 2}),
            "",
            "a number or a list of numbers; 'p99': not declared in [constraints]",
            True,
        ),
        (True, "", "a number or a list of numbers", False),
        (np.bool_(True), "", "a number or a list of numbers", False),
        ([1.0, True], "", "a number or a list of numbers", False),
        ((1.5, {"p99": True}), "p99", "(number, {'p99': number})", True),
        (1.5, "p99", "(number, {'p99': number})", True),
        ((1.5, {"p99": None}), "p99", "(number, {'p99': number})", True),
        (([1.5], {"p99": None}), "p99", "(number, {'p99': number})", True),
        ((1.5, {"sem": "x", "p99": 2}), "p99", "(number, {'p99': number, 'sem': number})", True),
        (float("nan"), "p99", "(number, {'p99': number})", False),
        (([1.5, float("inf")], {"p99": None}), "p99", "(number, {'p99': number})", False),
        ((None, {"p99": 2}), "p99", "(number, {'p99': number})", False),
        ([[1.0], [2.0]], "", "a number or a list of numbers", False),
        ({"value": 1.0}, "", "a number or a list of numbers", False),
        (None, "", "a number or a list of numbers", False),
    ],
)
def test_what_is_not_expected_is_an_error(returned, reported, wanted, blameless):
    expected = {"error": f"returned {returned!r}, expected {wanted}"}
    assert _call(lambda: returned, {}, reported) == expected | (
        {"blameless": True} if blameless else {}
    )


def test_measurements_and_failures(tmp_path):
    (tmp_path / "returning.py").write_text(MODULE.format(replicates=REPLICATES))
    objective = FunctionObjective("returning:measure", ["x"], tmp_path, 60.0)
    try:
        results = [objective.measure({"x": index}, Stop()) for index in range(12)]
    finally:
        objective.close()
    good = [result for result in results if isinstance(result, Measurement)]
    expected = [(12.5, 0.4), *[robust_location(REPLICATES)] * 2, (12.5, 0.5), (13.0, 3.0)]
    assert [(one.value, one.sem) for one in good] == expected
    assert good[2].worker == "a"
    failed = [result for result in results if isinstance(result, Failure)]
    assert {index: (one.reason, one.blameless) for index, one in enumerate(failed, 5)} == FAILURES


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ({"lat": 1, "rate": 2}, {"value": 1.0, "reported": {"rate": 2.0}}),
        ((1, {"rate": 2}), {"value": 1.0, "reported": {"rate": 2.0}}),
        (
            {"lat": [1, 3], "rate": 2, "worker": "w"},
            {"samples": [1.0, 3.0], "reported": {"rate": 2.0}, "worker": "w"},
        ),
    ],
)
def test_a_dictionary_of_all_objectives_has_the_first_one_too(returned, expected) -> None:
    assert _call(lambda: returned, {}, "rate", "lat") == expected


@pytest.mark.parametrize("returned", [{"rate": 2}, {"lat": "?", "rate": 2}, {"lat": True}, 1.0])
def test_objectives_that_were_not_returned_are_named(returned) -> None:
    assert (
        "expected {'lat': number, 'rate': number}"
        in _call(lambda: returned, {}, "rate", "lat")["error"]
    )


IN_MODULE = "import os, time\nif os.fork(): time.sleep(0.3)\ndef measure(x):\n    return x\n"
IN_FUNCTION = """
import os, time
def measure(x):
    if not os.fork():
        {}
    time.sleep(0.2)
    return x
"""


@pytest.mark.parametrize(
    "module",
    [
        IN_MODULE,
        IN_FUNCTION.format("return x"),
        IN_FUNCTION.format("raise OSError('no such program')"),
    ],
)
def test_a_forked_process_that_comes_back_answers_nothing(tmp_path, module) -> None:
    """Else its reply is taken for that of the next configuration, and so on for the whole run."""
    (tmp_path / "forking.py").write_text(module)
    objective = FunctionObjective("forking:measure", ["x"], tmp_path, 60.0)
    try:
        results = [objective.measure({"x": float(index)}, Stop()) for index in range(4)]
    finally:
        objective.close()
    assert [getattr(one, "value", one) for one in results] == [0.0, 1.0, 2.0, 3.0]
