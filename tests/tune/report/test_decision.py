"""The head of the report: the defaults against the recommendation, by everything that is known."""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.study_doubles import measurement
from surefoot.tune import StudyFile, open_study
from surefoot.tune.comparison.compare import Comparing, _identity, measured_verdict
from surefoot.tune.comparison.comparison_file import comparison_record
from surefoot.tune.comparison.named_settings import NamedSetting
from surefoot.tune.measuring.measurement import VALUE, Failure
from surefoot.tune.report.collect import collect
from surefoot.tune.report.decision import _advice, _measured
from surefoot.tune.report.figures import limited, measurements, paired, slice_figure
from surefoot.tune.report.page import page, summary
from surefoot.tune.study.findings import Findings
from surefoot.tune.study.table_import import import_table

STUDY = """
[study]
name = "hill"
direction = "minimize"
rounds = 40

[objective]
unit = "ms"
command = "./hill {{x}}"

[parameters]
x = {{ type = "float", low = 0, high = 1{default} }}

[constraints]
memory = {{ max = {most} }}
"""


@functools.cache
def imported(default: str, most: float) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Forty measurements, best at x = 0.3, whose memory is 50 (1 + x); fitted, for all tests."""
    made, rng = tempfile.TemporaryDirectory(), random.Random(0)
    path = Path(made.name) / "hill.toml"
    path.write_text(STUDY.format(default=default, most=most))
    rows = ["x,value,constraint_memory"]
    for number in range(40):
        x = (number * 0.618034) % 1.0
        value = 20.0 + 30.0 * (x - 0.3) ** 2 + rng.gauss(0.0, 0.2)
        rows.append(f"{x},{value},{50.0 * (1.0 + x) + rng.gauss(0.0, 0.2)}")
    path.with_name("rows.csv").write_text("\n".join(rows))
    import_table(path, path.with_name("rows.csv"))
    collect(open_study(path).state())  # the fits are kept beside the study
    return made, path


def study(folder: Path, default: str = ", default = 0.9", most: float = 60.0) -> Path:
    """A copy of a study of forty measurements."""
    _, path = imported(default, most)
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    return folder / path.name


def compared(
    path: Path, a: float, b: float, memory: float, pairs: int = 10, failing: int = -1
) -> None:
    """Record what `compare` would, of the defaults at `a` and the recommendation at `b`.

    In the pair `failing` the recommendation fails.
    """
    study_file, rng = StudyFile.load(path), random.Random(1)
    best = open_study(path).state().recommendation.params
    settings = NamedSetting("default", study_file.defaults), NamedSetting("recommended", best)
    what = Comparing(study_file, *settings, 1, 0.95, False)
    with comparison_record(study_file, _identity(what), new=False) as record:
        for pair in range(pairs):
            for label, value in (("a", a), ("b", b)):
                others = {"memory": (memory if label == "b" else 95.0) + rng.gauss(0.0, 0.2)}
                one = measurement(value + rng.gauss(0.0, 0.1), 0.1, others=others)
                if (pair, label) == (failing, "b"):
                    one = Failure("killed", "", 0.1)
                record.add(pair, label, one, {})


@pytest.mark.long
def test_without_a_comparison_all_is_predicted_and_measuring_it_is_advised(tmp_path: Path) -> None:
    report = collect(open_study(study(tmp_path)).state())
    value, memory = report.decision.rows
    assert report.decision.other == "defaults"
    assert (value.name, value.unit, value.recommended.runs, value.other.runs) == (
        *("value", "ms"),
        *(0, 0),
    )
    assert abs(value.other.interval.mean - 30.8) < 1.0
    assert (memory.name, memory.limit) == ("memory", "at most 60")
    assert (memory.other.limit, memory.recommended.limit) == ("below 0.001", "above 0.999")
    assert "`surefoot compare" in report.decision.advice
    assert "<code>surefoot compare" in page(report)


@pytest.mark.long
@pytest.mark.parametrize(
    ("b", "memory", "pairs", "advised", "apart"),
    [
        (20.4, 59.0, 10, "Use it: ", False),
        (20.4, 64.0, 10, "Do not use it: ", True),  # and its memory is not what was predicted
        (20.4, 59.0, 3, "Undecided in 3 pairs", False),
        (40.0, 59.0, 10, "The defaults have better values", True),  # and break the limit
    ],
)
def test_what_was_measured_comes_before_what_is_predicted(
    tmp_path: Path, b: float, memory: float, pairs: int, advised: str, apart: bool
) -> None:
    path = study(tmp_path)
    compared(path, 30.8, b, memory, pairs)
    report = collect(open_study(path).state())
    value, limited = report.decision.rows
    assert (value.recommended.runs, value.other.runs, limited.recommended.runs) == 3 * (pairs,)
    assert abs(value.recommended.interval.mean - b) < 0.2
    assert limited.recommended.limit == f"{pairs if memory <= 60 else 0} within"
    assert report.decision.advice.startswith(advised)
    said = (*value.contradictions, *limited.contradictions)
    assert bool(said) is apart, said
    text = page(report)
    assert "Measured at the recommended configuration" in text
    assert text.count("Contradiction:") == len(said)


@pytest.mark.long
def test_where_nothing_is_feasible_the_advice_is_against_it(tmp_path: Path) -> None:
    report = collect(open_study(study(tmp_path, most=40.0)).state())
    assert report.decision.advice.startswith("Do not use it: no configuration is known")
    text = page(report)
    assert "No feasible configuration yet" in text
    assert '<th scope="col" class="text">nearest</th>' in text
    assert "| nearest |" in summary(report)


@pytest.mark.long
def test_without_defaults_it_is_compared_with_the_first(tmp_path: Path) -> None:
    report = collect(open_study(study(tmp_path, default="")).state())
    assert (report.decision.other, report.decision.advice) == ("first measured", "")
    assert abs(report.decision.rows[0].other.interval.mean - 22.7) < 0.5  # x = 0


@pytest.mark.long
def test_a_damaged_file_of_comparisons_is_said(tmp_path: Path) -> None:
    path = study(tmp_path)
    path.with_name("hill.compare.jsonl").write_text("no line of a comparison\n")
    report = collect(open_study(path).state())
    assert "line 1 is not one of a comparison" in report.decision.advice
    assert "line 1 is not one of a comparison" in page(report)


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2, 6, 7, 30])
def test_the_interval_of_a_median_covers_it(number: int) -> None:
    """At least 95 % of the samples, or the whole range where no interval has that."""
    rng, inside = random.Random(number), 0
    for _ in range(2000):
        values = (measurement(rng.gauss(0.0, 1.0), 0.1) for _ in range(number))
        found = _measured([{"a": one, "b": one} for one in values], "a", VALUE, None)
        assert found.interval.lower <= found.interval.mean <= found.interval.upper
        assert found.few is (number < 7)
        inside += found.interval.lower <= 0.0 <= found.interval.upper
    least = 1.0 - 0.5 ** (number - 1) if found.few else 0.95
    assert inside / 2000 > least - 0.03


@pytest.mark.daily(1)
@pytest.mark.parametrize(("pairs", "few"), [(6, True), (7, False)])
def test_too_few_pairs_have_a_range_and_no_confidence(
    tmp_path: Path, pairs: int, few: bool
) -> None:
    path = study(tmp_path)
    compared(path, 22.7, 40.0, 95.0, pairs=pairs)
    report = collect(open_study(path).state())
    text, short = page(report), summary(report)
    assert (f"(range of {pairs} runs, too few for an interval)" in text) is few
    assert (f"% confidence, median of {pairs} runs" in text) is not few
    for said in (text, short):
        assert (f"measured, range of {pairs} runs" in said) is few
    assert bool(report.decision.rows[0].contradictions) is not few


@pytest.mark.long
def test_each_limit_is_drawn_and_what_is_beyond_it_is_open(tmp_path: Path) -> None:
    report = collect(open_study(study(tmp_path)).state())
    figure = limited(report, "memory")
    (line,) = figure.layout.shapes
    assert (line.y0, line.y1) == (60.0, 60.0)
    marks = figure.data[-1]
    numbers = [trial.number for trial in report.trials if trial.constraints["memory"] > 60.0]
    shown = zip(marks.x, marks.marker.symbol, strict=True)
    assert [n for n, symbol in shown if symbol.endswith("-open")] == numbers != []
    every = zip(report.measured, measurements(report).data[0].marker.symbol, strict=True)
    assert [one.number for one, symbol in every if symbol.endswith("-open")] == numbers
    text = page(report)
    assert f"{len(numbers)} of them beyond its limit, at most 60." in text
    assert '<div class="slices" data-limit="memory">' in text


@pytest.mark.long
def test_a_limit_is_predicted_along_the_parameters_that_move_it(tmp_path: Path) -> None:
    state = open_study(study(tmp_path)).state()
    report = collect(state)
    (along,) = report.limit_slices["memory"]
    for x, found in zip(along.values[::8], along.predicted[::8], strict=True):
        known = state.belief.constraints({"x": x})["memory"]
        assert found.mean == pytest.approx(known.value, rel=0.02)
    figure = slice_figure(report, along, "memory")
    assert {shape.y0 for shape in figure.layout.shapes} >= {60.0}
    assert figure.layout.yaxis.range == limited(report, "memory").layout.yaxis.range


@pytest.mark.long
def test_pairs_of_runs_are_joined_beside_their_medians(tmp_path: Path) -> None:
    path = study(tmp_path)
    compared(path, 30.8, 20.4, 64.0, 9)
    report = collect(open_study(path).state())
    value, memory = report.decision.rows
    assert [(a.number, b.number) for a, b in value.pairs] == [(n, n) for n in range(9)]
    joined, defaults, best, medians = paired(report, memory).data
    assert (len(joined.x), joined.x[:3]) == (27, (0, 1, None))
    assert list(defaults.y) == pytest.approx([a.value for a, _ in memory.pairs])
    assert set(defaults.marker.symbol) | set(best.marker.symbol) == {"circle-open"}, "break it"
    assert list(medians.y) == [memory.other.interval.mean, memory.recommended.interval.mean]
    assert paired(report, memory).layout.shapes[0].y0 == 60.0
    assert not paired(report, value).layout.shapes, "a limit of another quantity"
    text = page(report)
    assert 'data-pairs="value"' in text
    assert "in 9 pairs of runs; the recommendation has the smaller number in 9." in text


@pytest.mark.long
def test_a_pair_of_which_a_run_failed_is_not_drawn(tmp_path: Path) -> None:
    path = study(tmp_path)
    compared(path, 30.8, 20.4, 59.0, 6, failing=5)
    decision = collect(open_study(path).state()).decision
    row = decision.rows[0]
    assert (len(row.pairs), row.other.runs, row.recommended.runs) == (5, 6, 5)
    assert decision.advice.endswith("Failed runs: the defaults 0, the recommendation 1.")


SEVERAL = """
[objectives]
latency = {{ direction = "minimize", unit = "ms" }}
speed = {{ direction = "maximize" }}
"""


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("memory", "speed", "pairs", "head", "standing"),
    [
        ((55.0, 55.0), 9.0, 10, "A trade-off: ", "better in latency (-33"),
        ((95.0, 55.0), 9.0, 10, "Not the defaults: ", "worse in speed"),
        ((55.0, 95.0), 11.0, 10, "Do not use it: ", "and speed (+1"),
        ((95.0, 95.0), 11.0, 10, "Do not use it: ", "and speed (+1"),
        ((95.0, 55.0), 10.0, 10, "Not the defaults: ", "undecided in speed"),
        ((55.0, 55.0), 11.0, 10, "Use it: ", "and speed (+1"),
        ((55.0, 55.0), 10.0, 10, "Undecided: ", "undecided in speed"),
        ((55.0, 55.0), 9.0, 3, "Undecided: ", "undecided in latency and speed"),
        ((55.0, None), 11.0, 10, "Undecided: ", "and speed (+1"),  # in every second run
        ((None, None), 11.0, 10, "Undecided: ", "and speed (+1"),
    ],
)
def test_advice_is_of_every_objective_and_limit(
    tmp_path: Path,
    memory: tuple[float, float | None],
    speed: float,
    pairs: int,
    head: str,
    standing: str,
) -> None:
    path = tmp_path / "hill.toml"
    text = STUDY.format(default=", default = 0.9", most=60.0) + SEVERAL.format()
    text = text.replace('direction = "minimize"\nrounds', "rounds").replace('unit = "ms"\n', "", 1)
    path.write_text(text)
    study_file, rng = StudyFile.load(path), random.Random(2)
    settings = NamedSetting("default", {"x": 0.9}), NamedSetting("recommended", {"x": 0.3})
    what = Comparing(study_file, *settings, 1, 0.95, False)
    runs = [
        {
            label: measurement(
                value + rng.gauss(0.0, 0.1),
                0.1,
                others={
                    "memory": used or (55.0, 95.0)[pair % 2],
                    "speed": other + rng.gauss(0.0, 0.05),
                },
            )
            for label, value, other, used in zip(
                "ab", (30.0, 20.0), (10.0, speed), memory, strict=True
            )
        }
        for pair in range(pairs)
    ]
    result = what.result(runs)
    assert list(result.each) == ["latency", "speed"]
    assert standing in result.standing
    state = SimpleNamespace(
        study_file=study_file, recommendation=SimpleNamespace(feasible=True, params={"x": 0.3})
    )
    advice = _advice(state, result, {"x": 0.9}, same=False)
    assert advice.startswith(f"{head}it is ")
    keeps = {
        side: None if one is None else one < 60.0 for side, one in zip("AB", memory, strict=True)
    }
    assert ("it breaks the limit of memory" in advice) is (keeps["B"] is False)
    assert ("undecided whether it keeps the limit of memory" in advice) is (keeps["B"] is None)
    assert ("the defaults break the limit" in advice) is (keeps["A"] is False and keeps["B"])
    for found in result.each.values():  # whichever objective is the first
        assert found.better == (found.ahead if keeps.get(found.ahead) else None)
    assert result.lines().count("Limits:") == 1


OF_MANY_RUNS = {
    "mean": ('unit = "ms"', 'unit = "ms"\nestimand = "mean"', "mean"),
    "risk": (
        "[constraints]",
        '[risk]\nmeasure = "var"\nlevel = 0.1\n[environment]\n'
        "load = {{ values = [1, 2], weights = [0.85, 0.15] }}\n[constraints]",
        "value at risk 0.1",
    ),
}


@pytest.mark.parametrize(("old", "new", "functional"), OF_MANY_RUNS.values(), ids=OF_MANY_RUNS)
def test_medians_of_runs_are_no_measurement_of_a_mean_or_risk(
    tmp_path: Path, old: str, new: str, functional: str
) -> None:
    """Nothing that was predicted is contradicted, and no advice follows from typical runs."""
    path, rng = tmp_path / "hill.toml", random.Random(0)
    assert old in STUDY
    text = STUDY.replace(old, new)
    text = text.replace("{{x}}", "{{x}} {{load}}") if "load" in new else text
    path.write_text(text.format(default=", default = 0.9", most=200.0))
    rows = ["x,value,constraint_memory" + ",environment_load" * ("load" in new)]
    for number in range(40):
        x, load = (number * 0.618034) % 1.0, 1 + number % 2
        value = 20.0 + 30.0 * (x - 0.3) ** 2 + 40.0 * (load == 2) + rng.gauss(0.0, 0.2)
        rows.append(f"{x},{value},50" + f",{load}" * ("load" in new))
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    import_table(path, tmp_path / "rows.csv")
    compared(path, 20.4, 24.0, 50.0)
    state = open_study(path).state()
    report = collect(state)
    value, typical = report.decision.rows[:2]
    assert (value.name, typical.name) == (functional, "median of runs")
    assert (value.recommended.runs, typical.recommended.runs) == (0, 10)
    assert not value.contradictions + typical.contradictions
    assert report.decision.advice.startswith("By typical runs it is worse in 10 pairs of runs")
    assert f"its {functional}, which" in report.decision.advice
    verdict = measured_verdict(state.study_file, state.recommendation.params)
    assert f"the {functional} is not compared" in verdict
    assert "median of B" not in verdict


@pytest.mark.long
def test_where_values_are_told_no_command_is_advised_that_needs_one(tmp_path: Path) -> None:
    path = study(tmp_path)
    state = open_study(path).state()
    assert "`surefoot compare" in collect(state).decision.advice
    assert "`surefoot compare" in "".join(Findings(state).lines())
    path.write_text(path.read_text().replace('command = "./hill {x}"', ""))
    state = open_study(path).state()
    assert collect(state).decision.advice == (
        "Measure it against the defaults before you use it, in turn."
    )
    assert "surefoot compare" not in "".join(Findings(state).lines())


def test_what_is_measured_already_is_not_advised(tmp_path: Path) -> None:
    lines = Findings(open_study(study(tmp_path)).state()).lines("Measured: better.")
    assert "Measured: better." in lines
    assert not any("surefoot compare" in one for one in lines)
