"""Results and trials that are incomplete or locked are named in one line, and never used."""

import json
import multiprocessing
import shutil
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pandas as pd
import pytest

from surefoot import InvalidInput
from surefoot_experiments import Plan, find, run, write_gallery
from surefoot_experiments.harness.store import locked

EXPERIMENT = find("heavy-tails-1c")
TRIALS, ROUNDS = 2, 15


def plan(out: Path, **settings: object) -> Plan:
    return Plan(out, **{"trials": TRIALS, "rounds": ROUNDS, "resume": True, **settings})


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    return run(EXPERIMENT, plan(tmp_path_factory.mktemp("finished"))).folder


@pytest.fixture
def result(finished, tmp_path) -> Path:
    folder = tmp_path / EXPERIMENT.name
    shutil.copytree(finished, folder)
    return folder


def change(folder: Path, how) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    how(content)
    path.write_text(json.dumps(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def without_trial_0(path: Path) -> None:
    table = pd.read_parquet(path)
    table[table["trial"] != 0].to_parquet(path, index=False)


@pytest.mark.long
@pytest.mark.parametrize("trials", [TRIALS, TRIALS + 1])
@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("numbers.parquet", Path.unlink, "is missing"),
        ("figure.svg", Path.unlink, "is missing"),
        ("page.md", empty, "has been changed"),
        ("numbers.parquet", cut, "has been changed"),
        ("problems.parquet", without_trial_0, "has been changed"),
    ],
)
def test_it_is_neither_taken_over_nor_grown(result, name, spoil, message, trials):
    spoil(result / name)
    before = (result / "manifest.json").read_bytes()
    with pytest.raises(InvalidInput, match=message) as caught:
        run(EXPERIMENT, plan(result.parent, trials=trials))
    said = str(caught.value)
    assert said.startswith(f"{result / name}: ")
    assert said.endswith(f"or delete {result} to run it again")
    assert "\n" not in said
    assert (result / "manifest.json").read_bytes() == before
    assert [path.name for path in result.parent.iterdir()] == [EXPERIMENT.name]


@pytest.mark.daily(4)
@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda content: content.pop("trials"), "`trials`: Field required"),
        (lambda content: content.pop("fingerprint"), "`fingerprint`: Field required"),
        (lambda content: content["checks"][0].pop("holds"), "`checks.0.holds`: Field required"),
        (lambda content: content.update(trials="2"), "`trials`: Input should be a valid integer"),
        (lambda content: content.update(trials=0), "`trials`: Input should be greater than 0"),
        (lambda content: content.update(checks={}), "`checks`: Input should be a valid array"),
        (lambda content: content.update(data=[]), "`data`: .* object"),
        (lambda content: content.update(files={"../a": ""}), "is not a file name"),
    ],
)
def test_a_manifest_that_lacks_something_is_named(result, how, message, resume):
    change(result, how)
    with pytest.raises(InvalidInput, match=message) as caught:
        run(EXPERIMENT, plan(result.parent, resume=resume))
    assert str(caught.value).startswith(f"{result / 'manifest.json'}: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\xff"])
def test_a_manifest_that_is_none_is_named(result, text):
    (result / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInput, match=r"manifest\.json: "):
        run(EXPERIMENT, plan(result.parent))


@pytest.mark.long
def test_a_stored_trial_that_is_truncated_is_named_before_anything_runs(tmp_path):
    class Stopped(Exception):
        pass

    def stop(finished: int, trials: int) -> None:
        if finished == 1:
            raise Stopped

    with pytest.raises(Stopped):
        run(EXPERIMENT, plan(tmp_path), notify=stop)
    (file,) = tmp_path.glob(".trials/*/*.json")
    cut(file)
    with pytest.raises(InvalidInput, match="Invalid JSON") as caught:
        run(EXPERIMENT, plan(tmp_path), notify=stop)
    assert str(caught.value).endswith(f": delete {file} to run it again")
    file.unlink()
    run(EXPERIMENT, plan(tmp_path))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "figure.svg").unlink(), r"figure\.svg: cannot be read"),
        (
            lambda folder: change(folder, lambda it: it.pop("experiment")),
            "`experiment`: Field required",
        ),
        (lambda folder: (folder / "manifest.json").write_text("{"), "Invalid JSON"),
    ],
)
def test_the_gallery_leaves_it_out_and_says_so(finished, tmp_path, spoil, message):
    for name in ("bkb-1", EXPERIMENT.name):
        shutil.copytree(finished, tmp_path / name)
    spoil(tmp_path / "bkb-1")
    said = []
    text = write_gallery(tmp_path, ["bkb-1", EXPERIMENT.name, "bkb-time"], said.append).read_text()
    (line,) = said
    assert line.startswith(f"bkb-1: skipped in the gallery: {tmp_path / 'bkb-1'}/")
    assert pd.Series([line]).str.contains(message).all()
    assert "Skipped, since they are incomplete: bkb-1." in text
    assert text.count("<section") == 1


@pytest.mark.long
def test_a_result_that_another_process_writes_is_refused_until_it_ends(tmp_path):
    lock = tmp_path / ".trials" / f"{EXPERIMENT.name}.lock"
    with locked(lock, "taken"):  # another open file, as in another process
        with pytest.raises(InvalidInput, match="another process runs this: wait until it ends"):
            run(EXPERIMENT, plan(tmp_path))
        assert lock.exists()
    assert not run(EXPERIMENT, plan(tmp_path)).kept
    assert [path.name for path in tmp_path.iterdir()] == [EXPERIMENT.name]


def hold(lock: Path, held: Event) -> None:
    with locked(lock, ""):
        held.set()
        time.sleep(600)


@pytest.mark.long
def test_the_lock_of_a_killed_process_is_released(tmp_path):
    lock = tmp_path / ".trials" / f"{EXPERIMENT.name}.lock"
    processes = multiprocessing.get_context("fork")  # which needs no imports
    held = processes.Event()
    process = processes.Process(target=hold, args=(lock, held), daemon=True)
    process.start()
    try:
        assert held.wait(60)
        with pytest.raises(InvalidInput, match="another process runs this"):
            run(EXPERIMENT, plan(tmp_path))
    finally:
        process.kill()
        process.join()
    assert lock.exists()
    run(EXPERIMENT, plan(tmp_path))
    assert not lock.parent.exists()


@pytest.mark.long
@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_swap_of_folders_that_was_killed_is_completed(finished, tmp_path, stage):
    """`stage`: whether the new result was in its place already."""
    folder, former = tmp_path / EXPERIMENT.name, tmp_path / f".{EXPERIMENT.name}.former"
    shutil.copytree(finished, former)
    (former / "notes.txt").write_text("thoughts")
    if stage == "after":
        shutil.copytree(finished, folder)
    run(EXPERIMENT, plan(tmp_path, trials=TRIALS + 1))
    assert (folder / "notes.txt").read_text() == "thoughts"
    assert [path.name for path in tmp_path.iterdir()] == [EXPERIMENT.name]
