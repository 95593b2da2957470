"""A result of which something is missing or cut off is named in a line, and never taken for one."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from surefoot_experiments.result import Result

from surefoot.types import InvalidInput
from surefoot_experiments import Plan, find, reproduce, write_gallery

EXPERIMENT = find("heavy-tails-1c")
TRIALS, ROUNDS = 2, 15
LATER = ("files", "sources")  # keys that manifests have not always had


def plan(out: Path, **settings: object) -> Plan:
    return Plan(out, **{"trials": TRIALS, "rounds": ROUNDS, "resume": True, **settings})


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    return reproduce(EXPERIMENT, plan(tmp_path_factory.mktemp("played"))).folder


@pytest.fixture(params=["listed", "not listed"])
def result(request, played, tmp_path) -> Path:
    folder = tmp_path / EXPERIMENT.name
    shutil.copytree(played, folder)
    if request.param == "not listed":
        change(folder, lambda content: [content.pop(name) for name in LATER])
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


@pytest.mark.parametrize("trials", [TRIALS, TRIALS + 1])
@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("numbers.parquet", Path.unlink, "is missing, though the result is finished"),
        ("figure.svg", Path.unlink, "is missing, though the result is finished"),
        ("page.md", empty, "is empty, though the result is finished"),
        ("numbers.parquet", cut, "cannot be read as a table"),
        ("problems.parquet", cut, "cannot be read as a table"),
        ("problems.parquet", without_trial_0, "holds trial 1, expected trials 0 to 1"),
    ],
)
def test_it_is_neither_taken_over_nor_grown(result, name, spoil, message, trials):
    spoil(result / name)
    before = (result / "manifest.json").read_bytes()
    with pytest.raises(InvalidInput, match=message) as caught:
        reproduce(EXPERIMENT, plan(result.parent, trials=trials))
    said = str(caught.value)
    assert said.startswith(f"{result / name}: ")
    assert said.endswith(f"or delete {result} to play it anew")
    assert "\n" not in said
    assert (result / "manifest.json").read_bytes() == before
    assert [path.name for path in result.parent.iterdir()] == [EXPERIMENT.name]


def test_a_table_that_is_missing_is_known_by_the_list_of_files(played, tmp_path):
    folder = tmp_path / EXPERIMENT.name
    shutil.copytree(played, folder)
    (folder / "problems.parquet").unlink()
    with pytest.raises(InvalidInput, match=r"problems\.parquet: is missing"):
        reproduce(EXPERIMENT, plan(tmp_path, trials=TRIALS + 1))
    # and without such a list, by the next trial.
    change(folder, lambda content: content.pop("files"))
    with pytest.raises(InvalidInput, match=r"one alone has problems\.parquet: delete it, and a"):
        reproduce(EXPERIMENT, plan(tmp_path, trials=TRIALS + 1))
    assert Result.at(folder).trials == TRIALS


def test_one_whose_manifest_lists_no_files_grows(result):
    outcome = reproduce(EXPERIMENT, plan(result.parent, trials=TRIALS + 1))
    assert (outcome.trials, outcome.taken_over) == (TRIALS + 1, False)
    assert sorted(Result.at(result).files) == sorted(
        {path.name for path in result.iterdir()} - {"manifest.json"}
    )


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda content: content.pop("trials"), "`trials` is missing"),
        (lambda content: content.pop("experiment"), "`experiment` is missing"),
        (lambda content: content.pop("fingerprint"), "`fingerprint` is missing"),
        (lambda content: content["seconds"].pop("wall"), "`wall` is missing"),
        (lambda content: content["checks"][0].pop("holds"), "`holds` is missing"),
        (lambda content: content.update(trials="2"), "`trials` is '2', expected an integer of"),
        (lambda content: content.update(trials=0), "`trials` is 0, expected an integer of at l"),
        (lambda content: content.update(checks={}), "`checks` is {}, expected a list"),
        (lambda content: content.update(seconds=3), "`seconds` is 3, expected an object"),
        (lambda content: content.update(data=[]), r"`data` is \[\], expected an object"),
        (lambda content: content.update(files=["../a"]), "`files` holds '../a', expected names"),
    ],
)
def test_a_manifest_that_lacks_something_is_named(result, how, message, resume):
    change(result, how)
    with pytest.raises(InvalidInput, match=message) as caught:
        reproduce(EXPERIMENT, plan(result.parent, resume=resume))
    assert str(caught.value).startswith(f"{result / 'manifest.json'}: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\xff"])
def test_a_manifest_that_is_none_is_named(result, text):
    (result / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInput, match=r"manifest\.json: "):
        reproduce(EXPERIMENT, plan(result.parent))


def test_a_kept_trial_that_is_cut_off_is_named_before_anything_is_played(tmp_path):
    class Stopped(Exception):
        pass

    def stop(finished: int, trials: int) -> None:
        if finished == 1:
            raise Stopped

    with pytest.raises(Stopped):
        reproduce(EXPERIMENT, plan(tmp_path), notice=stop)
    (file,) = tmp_path.glob(".trials/*/trial-*/numbers.parquet")
    cut(file)
    for message in ("cannot be read as a table", "there is no such file"):
        with pytest.raises(InvalidInput, match=message) as caught:
            reproduce(EXPERIMENT, plan(tmp_path), notice=stop)
        assert str(caught.value).endswith(f": delete {file.parent} to play it anew")
        file.unlink(missing_ok=True)
    shutil.rmtree(file.parent)
    reproduce(EXPERIMENT, plan(tmp_path))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "figure.svg").unlink(), r"figure\.svg: cannot be read"),
        (lambda folder: change(folder, lambda it: it.pop("experiment")), "`experiment` is missing"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read as JSON"),
    ],
)
def test_the_gallery_leaves_it_out_and_says_so(played, tmp_path, spoil, message):
    for name in ("bkb-1", EXPERIMENT.name):
        shutil.copytree(played, tmp_path / name)
    spoil(tmp_path / "bkb-1")
    said = []
    text = write_gallery(tmp_path, ["bkb-1", EXPERIMENT.name, "bkb-time"], said.append).read_text()
    (line,) = said
    assert line.startswith(f"bkb-1: left out of the gallery: {tmp_path / 'bkb-1'}/")
    assert pd.Series([line]).str.contains(message).all()
    assert "Left out, since not all of it is there: bkb-1." in text
    assert text.count("<section") == 1
