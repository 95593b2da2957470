"""Medians with an anytime-valid interval: of series, of a confirm stage, of a comparison."""

import heapq
import re
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from optuna.trial import TrialState, create_trial

from surefoot.tune import summarise
from surefoot.tune.comparison.compare import Comparing
from surefoot.tune.comparison.named_settings import NamedSetting
from surefoot.tune.comparison.paired_test import median_interval, medians_text, sign_test
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import VALUE, Failure, Measurement
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.study.confirm_stage import CONFIRM, ConfirmStage
from surefoot.tune.study.opened_study import create_study

SERIES = {
    "few": [3.0, 1.0, 2.0],
    "normal": np.random.default_rng(0).standard_normal(25).tolist(),
    "ties": np.random.default_rng(1).integers(0, 4, 40).astype(float).tolist(),
    "failures": [np.inf] * 4 + np.random.default_rng(2).standard_normal(20).tolist(),
    "constant": [2.0] * 12,
}


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", SERIES)
def test_it_holds_what_the_sign_test_does_not_reject(name: str, confidence: float) -> None:
    """A number is below the median where too few values to be half of them are at most it."""
    values = np.array(SERIES[name])
    lower, upper = median_interval(values, confidence)
    known = values[np.isfinite(values)]
    for number in np.concatenate([known, known - 1e-9, known + 1e-9]):
        below, above = int((values <= number).sum()), int((values > number).sum())
        assert (sign_test(above, below, confidence) > 0) == (number < lower)
        below, above = int((values < number).sum()), int((values >= number).sum())
        assert (sign_test(above, below, confidence) < 0) == (number > upper)


LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "Cauchy": lambda random, size: random.standard_cauchy(size),
    "skewed": lambda random, size: random.exponential(size=size) - np.log(2.0),
    "one value in half of the runs": lambda random, size: np.maximum(random.normal(size=size), 0.0),
    # The scale depends on the last value, as where a slow run makes the next ones slow.
    "depends on the past": lambda random, size: np.cumprod(random.normal(size=size), 1),
}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_it_is_hardly_ever_false_at_any_time(law: str) -> None:
    """400 series of 60 values, looked at after each: at 95 %, more than 45 false with 3e-7."""
    values = LAWS[law](np.random.default_rng(0), (400, 60))
    false = np.zeros(len(values), dtype=bool)
    for n in range(1, values.shape[1] + 1):
        lower, upper = median_interval(np.arange(float(n)))
        if np.isfinite(lower):
            ordered = np.sort(values[:, :n], 1)
            false |= (ordered[:, int(lower)] > 0.0) | (ordered[:, int(upper)] < 0.0)
    assert false.sum() <= 45


def said(text: str) -> tuple[float, ...]:
    return tuple(float(one) for one in re.findall(r"(?<![\w%])-?\d+(?:\.\d+)?(?! ?% c)", text))


@pytest.mark.parametrize(("minimize", "sign"), [*product([True, False], [1.0, -1.0])])
def test_what_is_better_is_said_as_a_share_where_values_are_positive(
    minimize: bool, sign: float
) -> None:
    low, high = np.linspace(10.0, 11.0, 15), np.linspace(15.00007, 16.0, 15)
    one, other = (sign * one for one in ((low, high) if minimize is (sign > 0) else (high, low)))
    text = medians_text(("its median", one), ("that of A", other), minimize, "ms")
    each = 1.0 - 0.05 / 2
    ends, far = median_interval(one, each), median_interval(other, each)
    gap = far[0] - ends[1] if minimize else ends[0] - far[1]
    assert gap > 0.0
    assert f"Its median is between {ends[0]:.5g} and {ends[1]:.5g} ms, at least " in text
    size = f"{np.floor(1000 * gap / far[0 if minimize else 1]) / 10:g} %"
    wanted = size if sign > 0 else f"{np.floor(1000 * gap) / 1000:g} ms"
    assert float(wanted.split()[0]) < (gap if sign < 0 else 100.0)  # never more than it is
    assert f"at least {wanted} {'below' if minimize else 'above'} that of A, at 95 %" in text


def test_what_is_not_known_is_not_said() -> None:
    values, few = np.linspace(10.0, 11.0, 15), np.array([9.0, 20.0])
    assert medians_text(("a", few), ("b", values), True, "") == ""
    for other in (few, values, values - 5.0, np.array([])):
        assert "at least" not in medians_text(("a", values), ("b", other), True, "")


def test_more_series_to_choose_from_have_wider_intervals() -> None:
    values = np.linspace(10.0, 11.0, 15)
    two, six = (medians_text(("a", values), ("b", []), True, "", number=n) for n in (2, 9))
    assert said(two)[0] > said(six)[0]


TEXT = """
study = {{ name = "s", direction = "{direction}", rounds = 60 }}
objective = {{ command = "b {{x}}", unit = "ms" }}
parameters = {{ x = {{ type = "float", low = 0, high = 1, default = 1 }} }}
confirm = {{ share = 0.5, candidates = 2 }}
"""


def confirmed(tmp_path: Any, sign: float = 1.0, failed: int = 0) -> Any:
    """30 rounds of search, and 30 of a stage of three candidates, the defaults among them."""
    direction = "minimize" if sign > 0 else "maximize"
    (path := tmp_path / "s.toml").write_text(TEXT.format(direction=direction))
    opened = create_study(StudyFile.load(path))
    random = np.random.default_rng(0)
    chosen = [{"x": 0.5}, {"x": 0.25}, {"x": 1.0}]
    rows = [({"x": float(x)}, {}) for x in np.linspace(0.0, 1.0, 30)]
    rows += [(one, {CONFIRM: 60}) for one in chosen * 10]
    opened.study.set_user_attr(CONFIRM, {"rounds": 60, "candidates": chosen})
    for number, (params, attributes) in enumerate(rows):
        value = 20.0 + 20.0 * (params["x"] - 0.5) ** 2 + 0.1 * random.standard_normal()
        is_failed = bool(attributes) and number >= len(rows) - 3 * failed
        opened.study.add_trial(
            create_trial(
                state=TrialState.FAIL if is_failed else TrialState.COMPLETE,
                params=params,
                distributions=opened.study_file.distributions,
                value=None if is_failed else sign * value,
                user_attrs=attributes,
            )
        )
    return opened


@pytest.mark.daily(1)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_confirm_stage_ends_in_a_statement_by_its_own_runs(tmp_path: Any, sign: float) -> None:
    opened = confirmed(tmp_path, sign)
    findings = summarise(opened)
    best = findings.recommended.params
    (text,) = findings.statements
    values = {
        x: [t.value for t in opened.state().trials if t.user_attrs and t.params["x"] == x]
        for x in (best["x"], 1.0)
    }
    assert best == {"x": 0.5}
    names = ("its median in the confirm stage", "that of the defaults")
    series = [*zip(names, map(np.array, values.values()), strict=True)]
    assert text == medians_text(*series, sign > 0, "ms", number=3)
    low, high, *_ = said(text)
    assert low <= sign * 20.0 <= high
    assert ("below" if sign > 0 else "above") + " that of the defaults" in text
    assert text in findings.lines()


def test_the_statement_holds_whenever_it_is_looked_at_beside_running_workers() -> None:
    """Of 16 workers, and values that are durations, so that those that have ended are the short."""
    random, candidates, false = np.random.default_rng(0), ({"x": 1.0}, {"x": 2.0}), 0
    study = SimpleNamespace(direction="minimize")
    study_file = SimpleNamespace(
        defaults=candidates[1], study=study, units=SimpleNamespace(value="s")
    )
    for _ in range(60):
        runs, free = list[tuple[float, float, float]](), [0.0] * 16  # begin, end and duration
        for _run in range(60):
            begin = heapq.heappop(free)
            lasts = 75.0 if random.random() < 0.52 else 1.0  # so that the median is 75
            runs.append((begin, begin + lasts, lasts))
            heapq.heappush(free, begin + lasts)
        shown = ""
        for now in sorted(end for _, end, _ in runs):
            trials = [
                SimpleNamespace(
                    params=candidates[number % 2],
                    state=TrialState.COMPLETE if end <= now else TrialState.RUNNING,
                    value=value,
                    user_attrs={},
                    system_attrs={},
                )
                for number, (begin, end, value) in enumerate(runs)
                if begin <= now
            ]
            stage = ConfirmStage(study_file, 60, candidates, tuple(trials))  # type: ignore[arg-type]
            shown += stage.statement(candidates[0])
        false += "between 1 and 1 s" in shown
    assert false <= 12  # 3 at most are expected


@pytest.mark.long
def test_runs_that_fail_say_nothing_or_less(tmp_path: Any) -> None:
    assert summarise(confirmed(tmp_path, failed=5)).statements == ()


def compared(b: list[float | None], **parts: Any) -> Any:
    """Pairs of 20 and the values of B, None for a run that failed."""
    runs = [
        Failure("it failed", "", 1.0)
        if one is None
        else Measurement({VALUE: Quantity(one)}, 1.0, **parts)
        for one in b
    ]
    return [{"a": Measurement({VALUE: Quantity(20.0)}, 1.0), "b": run} for run in runs]


@pytest.fixture
def comparing(tmp_path: Any) -> Comparing:
    (path := tmp_path / "s.toml").write_text(TEXT.format(direction="minimize"))
    a, b = NamedSetting("A", {"x": 1.0}), NamedSetting("B", {"x": 0.5})
    return Comparing(StudyFile.load(path), a, b, 30, 0.95, True)


def test_a_comparison_says_the_median_of_b(comparing: Comparing) -> None:
    values = np.linspace(10.0, 12.0, 15).tolist()
    found = comparing.result(compared(values))
    assert found.medians == medians_text(
        ("the median of B", np.array(values)), ("that of A", np.full(15, 20.0)), True, "ms"
    )
    assert "below that of A" in found.medians
    assert found.medians in found.lines()
    assert found.as_dict()["medians"] == found.medians


@pytest.mark.long
@pytest.mark.parametrize("wrong", ["few", "failed", "ended early"])
def test_a_comparison_says_nothing_of_medians_where(comparing: Comparing, wrong: str) -> None:
    values: list[float | None] = np.linspace(10.0, 12.0, 15).tolist()
    pairs = {
        "few": compared(values[:5]),
        "failed": compared([*values, None]),
        "ended early": compared(values, ended_early=True),
    }[wrong]
    found = comparing.result(pairs)
    assert found.medians == ""
    assert not any("median" in line for line in found.lines())


@pytest.mark.parametrize("minimize", [True, False])
def test_beside_a_median_that_is_a_failure_no_size_is_said(minimize: bool) -> None:
    values, sign = 10.0 + 0.1 * np.arange(20), 1.0 if minimize else -1.0
    failed = np.full(20, sign * np.inf)
    said = medians_text(("its median", values), ("that of the defaults", failed), minimize, "ms")
    side = "below" if minimize else "above"
    assert f"and 11.7 ms, {side} that of the defaults, at 95 %" in said
    assert "inf" not in said
