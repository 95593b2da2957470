"""Measurements that end early: when they do, how often wrongly, and what is recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from support.study_doubles import all_of
from surefoot._internal.numbers import SHOWING
from surefoot.tune.comparison.compare import ComparisonFailed, compare
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.display import result_of
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.objective import objective_of
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.race import NO_RACE, PrintedSamples, Race, decided
from surefoot.tune.measuring.supervised_process import KeptProcesses, Tail
from surefoot.tune.report.collect import collect
from surefoot.tune.stopping import Stop
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.trial_attributes import ENDED_EARLY, RACE, record_of
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune

ONE_BY_ONE = """
import sys, time
for value in sys.argv[2:]:
    print(sys.argv[1], value, flush=True)
    time.sleep(0.01)
open("end", "w").close()
print("sample: 1", end="", flush=True)
"""


def ever_lost(samples: np.ndarray, race: Race) -> bool:
    return any(race.is_lost(samples[: count + 1]) for count in range(len(samples)))


@pytest.mark.long
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "noise",
    [
        lambda random, size: random.standard_normal(size),
        lambda random, size: random.standard_cauchy(size),
        lambda random, size: random.lognormal(sigma=2.0, size=size) - 1.0,  # of median 0
    ],
    ids=["normal", "cauchy", "skewed"],
)
def test_a_run_at_the_limit_is_ended_in_one_of_forty_at_most(noise, maximize):
    random, race = np.random.default_rng(3), Race(5.0, maximize)
    sign = -1.0 if maximize else 1.0
    lost = sum(ever_lost(5.0 + sign * noise(random, 40), race) for _ in range(200))
    assert lost <= 0.025 * 200 + 3.0 * (200 * 0.025 * 0.975) ** 0.5


@pytest.mark.parametrize("maximize", [False, True])
def test_outliers_neither_end_a_run_nor_save_it(maximize):
    sign = -1.0 if maximize else 1.0
    race, worse, better = Race(0.0, maximize), sign * 1.0, -sign * 1.0
    assert not race.is_lost([better, better, 1e9 * worse, better, better, better, 1e9 * worse])
    assert race.is_lost([*[worse] * 5, 1e9 * better, *[worse] * 8])
    assert not NO_RACE.is_lost([worse] * 1000)


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("samples: 3\nsamples: 5", [3.0, 5.0]),
        ("sample: 3 ms\nsample: 5 ms", [3.0, 5.0]),
        ("sample: 3\nnow a word\nsamples: 5, 10\ndone", [3.0, 5.0, 10.0]),
        ("sample: 99\nwarm-up took 7\nsample: 3\nsample: 5", [3.0, 5.0]),
    ],
)
def test_samples_in_several_lines_are_of_one_run(text, samples):
    assert printed_value(text).value == printed_value(f"samples: {samples}").value


def test_samples_are_read_once_and_as_they_come():
    stream = Tail(64)
    samples = PrintedSamples(stream)
    for printed, known in (
        ("warm-up: 7\nsample: 3", []),
        (".5 ms\nwords\nsample", [3.5]),
        ("s: 5, 6\n", [3.5, 5, 6]),
        ("", [3.5, 5, 6]),
        ("x" * 200 + "\n", [3.5, 5, 6]),
        ("sample: 8\n", [3.5, 5, 6, 8]),
        ("took 3\nsample: 9\n", [9]),
    ):
        stream.add(printed.encode())
        assert [one.value for one in samples.so_far()] == known


def raced(folder: Path, race: Race, label: str, *values: float) -> Measurement:
    (folder / "bench.py").write_text(ONE_BY_ONE)
    line = f"{sys.executable} bench.py {label} {' '.join(map(str, values))}"
    objective = CommandObjective(CommandTemplate.parse(line), folder, 60.0)
    found = objective.measure({}, Stop(), race)
    assert isinstance(found, Measurement), found
    return found


def test_a_run_that_is_clearly_worse_ends_and_its_samples_count(tmp_path):
    found = raced(
        tmp_path, Race(0.01, False, "s"), "sample:", *[f"{20 + n % 3}ms" for n in range(500)]
    )
    assert found.ended_early
    assert not (tmp_path / "end").exists()
    assert 20.0 <= found.value <= 22.0
    assert 0.0 < found.sem < 0.5


@pytest.mark.long
@pytest.mark.parametrize("label", ["sample:", "value"])
def test_a_run_that_may_be_better_goes_on(tmp_path, label):
    values = [20.0, 5.0] * 6 if label == "sample:" else [20.0] * 12
    found = raced(tmp_path, Race(10.0, False), label, *values)
    assert not found.ended_early
    assert (tmp_path / "end").exists()


@pytest.mark.long
@pytest.mark.parametrize(("first", "keeps"), [("p99=3", True), ("hello", False)])
def test_what_a_shortened_run_has_not_printed_is_said_to_be_late(tmp_path, first, keeps):
    (tmp_path / "bench.py").write_text(f"print({first!r})\n{ONE_BY_ONE}\nprint()\nprint('p99=3')")
    line = f"{sys.executable} bench.py sample: {'1 ' * 40}"
    objective = CommandObjective(
        CommandTemplate.parse(line), tmp_path, 60.0, constraints={"p99": None}
    )
    found = objective.measure({}, Stop(), lambda printed: len(printed.so_far()) >= 4)
    assert isinstance(found, Measurement if keeps else Failure)
    assert keeps or "before `p99=NUMBER` was printed: print it before them" in found.reason
    assert isinstance(objective.measure({}, Stop()), Measurement)


@pytest.mark.long
def test_a_study_ends_runs_that_lose_and_keeps_their_samples(write_study):
    bench = (
        "import sys, time\nshare = float(sys.argv[2])\nfor turn in range(40):\n"
        "    print('sample:', 1 + 10 * share + 0.1 * (-1) ** turn, flush=True)\n"
        "    time.sleep(0.2 * (share > 0.5))\n"
    )
    path = write_study(("timeout = 30", "timeout = 30\nrace = true"), bench=bench)
    opened = create_study(StudyFile.load(path))
    for share in (0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.9, 0.1):
        opened.study.enqueue_trial({"size": 1024, "share": share, "mode": "OFF"})
    study_trials = StudyTrials(opened, SHOWING + 2, "a run", "w0")
    tune(study_trials, objective_of(study_trials.study_file, KeptProcesses(-1, -1)), Stop())
    trials = all_of(study_trials)
    assert all(RACE not in trial.user_attrs for trial in trials[:SHOWING])
    assert [bool(trial.user_attrs.get(ENDED_EARLY)) for trial in trials[SHOWING:]] == [
        True,
        False,
    ]
    shown = collect(open_study(path).state()).trials
    assert [one.state for one in shown[SHOWING:]] == ["ended early", "complete"]
    assert trials[SHOWING].value == pytest.approx(10.0, abs=0.3)
    assert record_of(trials[SHOWING])["sem"] > 1.5 * record_of(trials[0])["sem"]
    assert "ended early" in result_of(trials[SHOWING], study_trials.study_file)


def test_the_second_run_of_a_pair_ends_once_it_is_decided(tmp_path):
    for values, early in (([20.0] * 400, True), ([2.0] * 400, True), ([20.0, 2.0] * 12, False)):
        found = raced(tmp_path, decided(10.0), "sample:", *values)
        assert found.ended_early is early


@pytest.mark.long
@pytest.mark.parametrize("race", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_comparison_ends_second_runs_that_are_decided(write_study, race):
    bench = (
        "import random, sys, time\nfor _ in range(40):\n"
        "    print('sample:', 1 + 10 * float(sys.argv[2]) + random.gauss(0, 0.1), flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    told = ("timeout = 30", f"timeout = 30\nrace = {str(race).lower()}")
    path = write_study(told, bench=bench)
    a, b = (f"size=1024,share={share},mode=OFF" for share in (0.1, 0.9))
    result = compare(path, a, b, runs=3, quiet=True)
    assert (result.wins_a, result.wins_b) == (3, 0)
    runs = [json.loads(line) for line in (path.parent / "hill.compare.jsonl").open()][1:]
    assert [bool(run.get("ended early")) for run in runs] == [False, race] * 3


@pytest.mark.long
def test_a_comparison_in_slices_takes_a_share_of_each_run(write_study):
    bench = (
        "import sys, time\nfor step in range(40):\n"
        "    print('sample:', step + float(sys.argv[2]), flush=True)\n    time.sleep(0.02)\n"
    )
    path = write_study(bench=bench)
    a, b = (f"size=1024,share={share},mode=OFF" for share in (0.2, 0.3))
    result = compare(path, a, b, runs=1, slices=4, quiet=True)
    runs = [json.loads(line) for line in (path.parent / "hill.compare.jsonl").open()][1:]
    assert [run["samples"] for run in runs[:2]] == [40, 40]
    assert all(10 <= run["samples"] < 30 for run in runs[2:])  # some come while it ends
    assert result.pairs == 4


def test_slices_need_samples(write_study):
    path = write_study()
    a, b = (f"size=1024,share={share},mode=OFF" for share in (0.2, 0.3))
    with pytest.raises(ComparisonFailed, match="a run printed no samples"):
        compare(path, a, b, slices=3, quiet=True)


@pytest.mark.parametrize(
    "table",
    [
        "timeout = 30\nrace = true\nvalue = 'p95'",
        "timeout = 30\nrace = true\n[constraints]\nmemory = { max = 3 }",
    ],
)
def test_a_race_that_cannot_be_run_is_refused(write_study, table):
    with pytest.raises(StudyFileError, match=r"objective\.race: true"):
        StudyFile.load(write_study(("timeout = 30", table)))
