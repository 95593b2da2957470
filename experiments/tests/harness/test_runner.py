"""Results are complete or not there, depend on the seed only, and interrupted runs continue."""

from __future__ import annotations

import contextlib
import json
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from surefoot import InvalidInput
from surefoot_experiments import Plan, find, run
from surefoot_experiments.harness import backends
from surefoot_experiments.harness.store import source_fingerprint
from surefoot_experiments.harness.trial import Check

EXPERIMENT = find("heavy-tails-1c")
TRIALS, ROUNDS = 3, 40


def plan(out: Path, **settings: object) -> Plan:
    return Plan(out, **{"trials": TRIALS, "rounds": ROUNDS, "seed": 5, **settings})


def numbers(out: Path, name: str = EXPERIMENT.name) -> pd.DataFrame:
    return pd.read_parquet(out / name / "numbers.parquet")


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder with a result, which tests only look at."""
    out = tmp_path_factory.mktemp("finished")
    run(EXPERIMENT, plan(out))
    return out


@pytest.fixture
def result(finished, tmp_path) -> Path:
    """A copy of it that a test may change, alone in its folder."""
    shutil.copytree(finished / EXPERIMENT.name, tmp_path / EXPERIMENT.name)
    return tmp_path


class Stopped(Exception):
    """An interruption of a run."""


def stop_after(count: int):
    def notify(finished: int, trials: int) -> None:
        if finished == count:
            raise Stopped

    return notify


@pytest.mark.long
def test_a_result_holds_figure_numbers_manifest_and_page(tmp_path):
    seen = []
    outcome = run(EXPERIMENT, plan(tmp_path), notify=lambda *progress: seen.append(progress))
    assert seen == [(done, TRIALS) for done in range(TRIALS + 1)]
    assert [path.name for path in tmp_path.iterdir()] == [EXPERIMENT.name]
    assert {path.name for path in outcome.folder.iterdir()} == {
        "figure.svg",
        "figure.png",
        "numbers.parquet",
        "problems.parquet",
        "manifest.json",
        "page.md",
    }
    frame = numbers(tmp_path)
    assert list(frame) == ["experiment", "algorithm", "trial", "round", "regret"]
    assert set(frame["algorithm"]) == {
        "TGP-UCB",
        "ATA-GP-UCB-Nyström",
        "ATA-GP-UCB-Nyström, per pull",
        "surefoot's ATA, Nyström",
    }
    assert sorted(frame["trial"].unique()) == list(range(TRIALS))
    assert frame["round"].max() == ROUNDS
    assert frame["regret"].between(0, 2).all()

    manifest = json.loads((outcome.folder / "manifest.json").read_text())
    assert (manifest["seed"], manifest["trials"], manifest["rounds"]) == (5, TRIALS, ROUNDS)
    assert manifest["versions"]["surefoot"]
    assert manifest["seconds"] >= 0
    assert platform.node() not in json.dumps(manifest["machine"])
    assert [Check(**check) for check in manifest["checks"]] == outcome.checks

    page = (outcome.folder / "page.md").read_text()
    assert EXPERIMENT.says in page
    assert all(check.claim in page for check in outcome.checks)
    assert "at this smaller scale some need not hold" in page
    assert f"--trials {TRIALS} --rounds {ROUNDS} --seed 5" in page


@pytest.mark.long
def test_the_same_seed_gives_the_same_numbers_and_the_same_picture(finished, tmp_path):
    for name, seed in (("same", 5), ("other", 6)):
        run(EXPERIMENT, plan(tmp_path / name, seed=seed))
    one, two = (everything(out / EXPERIMENT.name) for out in (finished, tmp_path / "same"))
    one.pop("manifest.json"), two.pop("manifest.json")
    assert one == two
    assert not numbers(finished).equals(numbers(tmp_path / "other"))


@pytest.mark.long
def test_a_trial_does_not_depend_on_how_many_there_are(finished, tmp_path):
    run(EXPERIMENT, plan(tmp_path, trials=1))
    many = numbers(finished)
    assert many[many["trial"] == 0].reset_index(drop=True).equals(numbers(tmp_path))


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_from_its_finished_trials(finished, tmp_path):
    out = tmp_path
    with pytest.raises(Stopped):
        run(EXPERIMENT, plan(out), notify=stop_after(2))
    assert [path.name for path in out.iterdir()] == [".trials"]
    before = everything(out)

    with pytest.raises(InvalidInput, match=r"2 finished trials .* continue it with --resume"):
        run(EXPERIMENT, plan(out))
    assert everything(out) == before

    seen = []
    run(EXPERIMENT, plan(out, resume=True), notify=lambda *progress: seen.append(progress))
    assert seen == [(2, TRIALS), (3, TRIALS)]
    assert [path.name for path in out.iterdir()] == [EXPERIMENT.name]
    pd.testing.assert_frame_equal(numbers(out), numbers(finished), check_exact=True)

    after = everything(out)
    again = run(EXPERIMENT, plan(out, resume=True))
    assert again.kept
    assert everything(out) == after


@pytest.mark.long
def test_a_result_of_few_trials_grows_into_one_of_more(finished, tmp_path):
    out = tmp_path
    run(EXPERIMENT, plan(out, trials=2))
    seen = []
    run(EXPERIMENT, plan(out, resume=True), notify=lambda *progress: seen.append(progress))
    assert seen == [(2, TRIALS), (3, TRIALS)]
    one, other = (everything(folder / EXPERIMENT.name) for folder in (finished, out))
    one.pop("manifest.json"), other.pop("manifest.json")
    assert one == other

    # It does not shrink again: what is there is more than was asked for.
    seen.clear()
    before = everything(out)
    outcome = run(
        EXPERIMENT,
        plan(out, trials=1, resume=True),
        notify=lambda *progress: seen.append(progress),
    )
    assert (outcome.kept, outcome.trials, seen) == (True, TRIALS, [])
    assert everything(out) == before


@pytest.mark.parametrize(
    "settings",
    [
        {"trials": 1},
        {"rounds": ROUNDS - 1},
        {"seed": 6, "trials": 2},
        {"rounds": 7, "resume": True},
    ],
)
def test_a_larger_result_is_not_replaced_by_a_smaller_one(result, settings):
    before = everything(result)
    with pytest.raises(InvalidInput, match=r"3 trials of 40 rounds, more than .* another --out"):
        run(EXPERIMENT, plan(result, **settings))
    assert everything(result) == before


@pytest.mark.long
def test_trials_beyond_those_asked_for_are_kept_for_a_longer_run(finished, tmp_path):
    with pytest.raises(Stopped):
        run(EXPERIMENT, plan(tmp_path), notify=stop_after(2))
    run(EXPERIMENT, plan(tmp_path, trials=1, resume=True))
    seen = []
    run(EXPERIMENT, plan(tmp_path, resume=True), notify=lambda *each: seen.append(each))
    assert seen[0] == (2, TRIALS)
    assert [path.name for path in tmp_path.iterdir()] == [EXPERIMENT.name]
    pd.testing.assert_frame_equal(numbers(tmp_path), numbers(finished), check_exact=True)


@pytest.mark.long
def test_the_manifest_tells_states_of_the_package_apart_and_trials_do_not(tmp_path, monkeypatch):
    run(EXPERIMENT, plan(tmp_path, trials=1))
    monkeypatch.setattr(backends, "source_fingerprint", lambda: "another one")
    run(EXPERIMENT, plan(tmp_path, trials=2, resume=True))
    content = json.loads((tmp_path / EXPERIMENT.name / "manifest.json").read_text())
    assert content["sources"] == [source_fingerprint(), "another one"]
    assert re.fullmatch("[0-9a-f]{12}", source_fingerprint())


@pytest.mark.long
def test_trials_of_other_settings_are_not_taken_over(tmp_path):
    with pytest.raises(Stopped):
        run(EXPERIMENT, plan(tmp_path, seed=1), notify=stop_after(2))
    seen = []
    run(EXPERIMENT, plan(tmp_path, resume=True), notify=lambda *progress: seen.append(progress))
    assert seen[0] == (0, TRIALS)


@pytest.mark.long
def test_a_former_result_stays_until_the_next_is_complete(result):
    before = everything(result)

    def cannot(*arguments: object) -> None:
        raise Stopped

    broken = replace(EXPERIMENT, output=replace(EXPERIMENT.output, draw=cannot))
    with pytest.raises(Stopped):
        run(broken, plan(result, seed=6))
    kept = {name: content for name, content in everything(result).items() if name in before}
    assert kept == before
    assert not list(result.glob(".*partial")) + list(result.glob(".*former"))
    # The trials are kept: only the figure is drawn again.
    outcome = run(EXPERIMENT, plan(result, seed=6, resume=True))
    assert json.loads((outcome.folder / "manifest.json").read_text())["seed"] == 6


@contextlib.contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: the error of a full disk, in all but name."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.long
def test_no_room_for_the_result_leaves_no_half_of_one(tmp_path):
    # Room for the trials, not for the picture.
    with (
        small_files(20_000),
        pytest.raises(InvalidInput, match="cannot be written: File too large"),
    ):
        run(EXPERIMENT, plan(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [".trials"]
    outcome = run(EXPERIMENT, plan(tmp_path, resume=True))
    assert outcome.folder.is_dir()


def test_a_folder_that_is_no_result_is_left_alone(tmp_path):
    theirs = tmp_path / EXPERIMENT.name
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")
    with pytest.raises(InvalidInput, match=r"is not a result: choose another --out"):
        run(EXPERIMENT, plan(tmp_path))
    assert (theirs / "thesis.tex").read_text() == "years of work"


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    out = tmp_path / "out"
    out.write_text("a file")
    with pytest.raises(InvalidInput, match="cannot be written: Not a directory"):
        run(EXPERIMENT, plan(out))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "`rounds` is 0, expected at least 1"),
        ({"rounds": 10**20}, "`rounds` is 1000.*0, expected at most 1,000,000,000"),
        ({"trials": 10**9 + 1}, "`trials` is 1000000001, expected at most"),
        ({"trials": -1}, "`trials` is -1, expected at least 1"),
        ({"jobs": 0}, "`jobs` is 0"),
        ({"seed": -1}, "`seed` is -1, expected an integer >= 0"),
        ({"data": Path("nowhere")}, "nowhere: no such folder"),
        ({"backend": "spark://a:1"}, "expected loky, dask://HOST:PORT or ray://HOST:PORT"),
        ({"backend": "dask://"}, "`backend` is 'dask://'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(tmp_path, settings, message):
    with pytest.raises(InvalidInput, match=message):
        plan(tmp_path, **settings)


def test_a_run_that_comes_to_nothing_leaves_no_folder(tmp_path, monkeypatch):
    def unreachable(*arguments: object) -> Iterator[None]:
        raise InvalidInput("no scheduler answers")
        yield

    monkeypatch.setattr("surefoot_experiments.harness.runner.run_trials", unreachable)
    with pytest.raises(InvalidInput, match="no scheduler"):
        run(EXPERIMENT, plan(tmp_path / "a" / "b"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_files_of_others_in_the_folder_of_a_result_stay_there(tmp_path):
    folder = run(EXPERIMENT, plan(tmp_path, trials=1)).folder
    (folder / "notes.txt").write_text("thoughts")
    (folder / "mine").mkdir()
    (folder / "mine" / "more.txt").write_text("more of them")
    (folder / "table.parquet").write_text("no table of the result")
    (folder / "gone").symlink_to("nowhere")
    run(EXPERIMENT, plan(tmp_path, trials=2, resume=True))
    run(EXPERIMENT, plan(tmp_path, trials=2, seed=6))
    assert (folder / "notes.txt").read_text() == "thoughts"
    assert (folder / "mine" / "more.txt").read_text() == "more of them"
    assert (folder / "table.parquet").read_text() == "no table of the result"
    assert (folder / "gone").is_symlink()
    files = json.loads((folder / "manifest.json").read_text())["files"]
    assert set(files) == {
        *("figure.png", "figure.svg", "numbers.parquet", "page.md", "problems.parquet")
    }


@pytest.mark.long
def test_kill_9_loses_no_finished_trial(tmp_path):
    settings = ["--trials", "3", "--rounds", "100", "--seed", "5", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot_experiments", "run", EXPERIMENT.name, *settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not list(tmp_path.glob(".trials/*/*.json")):
        assert time.monotonic() < end, "no trial finished in time"
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.005)
    process.kill()
    process.wait()
    if not (tmp_path / EXPERIMENT.name).exists():  # it was not quicker than the signal
        there = len(list(tmp_path.glob(".trials/*/*.json")))
        seen = []
        run(
            EXPERIMENT,
            plan(tmp_path, rounds=100, resume=True),
            notify=lambda *progress: seen.append(progress),
        )
        assert seen[0] == (there, 3)
    run(EXPERIMENT, plan(tmp_path / "once", rounds=100))
    pd.testing.assert_frame_equal(numbers(tmp_path), numbers(tmp_path / "once"), check_exact=True)
