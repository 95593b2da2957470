"""The command `surefoot-experiments`."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot_experiments import BENCHMARKS, EXPERIMENTS, catalogue, write_gallery
from surefoot_experiments.cli import app


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_list_names_every_experiment_with_its_figure():
    code, out, _ = run("list")
    assert code == 0
    lines = out.splitlines()
    names = ["all:", *EXPERIMENTS, "benchmarks:", *BENCHMARKS]
    assert [line.split()[0] for line in lines] == names
    assert "Figure 1a" in lines[1]
    assert "20 x 20,000 rounds" in lines[1]


@pytest.mark.long
def test_an_experiment_is_played_and_its_page_named(tmp_path):
    code, out, err = run(
        "run", "heavy-tails-1c", "--trials", 1, "--rounds", 20, "--out", tmp_path, "--seed", 3
    )
    assert (code, err) == (0, "")
    assert out.startswith("heavy-tails-1c: ")
    page = tmp_path / "heavy-tails-1c" / "page.md"
    assert re.search(rf"claims hold.*; took \d+ s; {re.escape(str(page))}", out)
    assert page.is_file()
    code, out, _ = run(
        "run",
        "heavy-tails-1c",
        *("--trials", 1, "--rounds", 20, "--out", tmp_path, "--seed", 3, "--resume"),
    )
    assert re.search("claims hold.*; was complete already; ", out)
    code, out, _ = run(
        "run",
        *("heavy-tails-1c", "--trials", 2, "--rounds", 20, "--out", tmp_path, "--seed", 3),
        "--resume",
    )
    assert re.search("claims hold.*; took", out)
    code, out, _ = run(
        "run",
        *("heavy-tails-1c", "--trials", 1, "--rounds", 20, "--out", tmp_path, "--seed", 3),
        "--resume",
    )
    assert (code, "was complete already, with 2 trials; " in out) == (0, True)


@pytest.mark.long
def test_what_is_in_the_place_of_one_is_said_before_another_is_played(tmp_path, monkeypatch):
    two = {name: EXPERIMENTS[name] for name in ("heavy-tails-1c", "bkb-1")}
    monkeypatch.setitem(catalogue.GROUPS, "all", two)
    (tmp_path / "bkb-1").mkdir()
    (tmp_path / "bkb-1" / "manifest.json").write_text("{}")
    code, out, err = run("run", "all", "--trials", 1, "--rounds", 20, "--out", tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"{tmp_path / 'bkb-1' / 'manifest.json'}: `experiment`: Field required" in err
    assert [path.name for path in tmp_path.iterdir()] == ["bkb-1"]


@pytest.mark.long
def test_the_tests_of_recorded_data_are_printed(tmp_path):
    code, out, _ = run("run", "heavy-tails-1d", "--trials", 1, "--rounds", 20, "--out", tmp_path)
    assert code == 0
    first, second = out.splitlines()
    assert re.fullmatch(
        r"heavy-tails-1d: Kolmogorov–Smirnov tests of each stock's values: a normal law is "
        r"rejected at 5% for \d+ of 20; a fitted Student-t law is closer for \d+\.",
        first,
    )
    assert "claims hold" in second
    assert (
        first.removeprefix("heavy-tails-1d: ") in (tmp_path / "heavy-tails-1d/page.md").read_text()
    )


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heavy-tails-1z"], "no experiment is named 'heavy-tails-1z': nearest are heavy-tails-1"),
        (["ALL"], "no experiment is named 'ALL': nearest are all"),
        (["Heavy-Tails-1A"], "nearest are heavy-tails-1a"),
        (["heavy-tails-1a", "--rounds", "9" * 20], "`rounds` is 99999999999999999999, expected at"),
        (["heavy-tails-1a", "--rounds", 0], "`rounds` is 0, expected at least 1"),
        (["heavy-tails-1a", "--trials", 0], "`trials` is 0"),
        (["heavy-tails-1d", "--data", "empty"], "dow29_2016_2019.csv: no such file"),
        (["all", "--data", "empty"], "dow29_2016_2019.csv: no such file"),
        (["heavy-tails-1e", "--data", "nowhere"], "nowhere: no such folder"),
        (["heavy-tails-1a", "--backend", "dask"], "`backend` is 'dask', expected loky, dask://"),
    ],
)
def test_what_is_wrong_ends_with_2_and_one_line_and_creates_nothing(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    code, out, err = run("run", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


@pytest.mark.long
def test_all_of_them_make_a_gallery_that_needs_no_network(tmp_path, monkeypatch):
    two = {name: EXPERIMENTS[name] for name in ("heavy-tails-1c", "bkb-1")}
    monkeypatch.setitem(catalogue.GROUPS, "all", two)
    code, out, _ = run("run", "all", "--trials", 1, "--rounds", 20, "--out", tmp_path)
    assert code == 0
    assert out.splitlines()[-1] == f"wrote {tmp_path / 'index.html'}"
    text = (tmp_path / "index.html").read_text()
    assert text.count('src="data:image/svg+xml;base64,') == 2
    assert not re.search(r"https?://|<script|<link|url\(", text)
    for name in two:
        assert f'<section id="{name}">' in text
        assert two[name].title in text


@pytest.mark.long
def test_what_a_manifest_says_is_text_in_the_gallery_and_a_broken_one_is_left_out(tmp_path):
    run("run", "heavy-tails-1c", "--trials", 1, "--rounds", 5, "--out", tmp_path)
    path = tmp_path / "heavy-tails-1c" / "manifest.json"
    content = json.loads(path.read_text()) | {"title": "<script>alert(1)</script>"}
    path.write_text(json.dumps(content))
    broken = tmp_path / "bkb-1"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    text = write_gallery(tmp_path, ["heavy-tails-1c", "bkb-1", "heavy-tails-1a"]).read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<section") == 1


@pytest.mark.long
def test_the_gallery_is_written_again_with_a_summary(tmp_path):
    run("run", "heavy-tails-1c", "--trials", 1, "--rounds", 5, "--out", tmp_path)
    summary = tmp_path / "summary.md"
    code, out, _ = run("gallery", "--out", tmp_path, "--markdown", summary)
    assert (code, out) == (0, f"wrote {tmp_path / 'index.html'}\nwrote {summary}\n")
    assert "## heavy-tails-1c: " in summary.read_text()
    assert EXPERIMENTS["heavy-tails-1c"].says in summary.read_text()


def test_a_gallery_of_no_folder_is_refused(tmp_path):
    code, out, err = run("gallery", "--out", tmp_path / "nope")
    assert (code, out) == (2, "")
    assert "nope: no such folder, expected one with results of experiments" in err
    assert not (tmp_path / "nope").exists()


@pytest.mark.long
def test_a_benchmark_runs_with_the_same_command(tmp_path):
    command = ["bench-risk-coverage", "--trials", 1, "--rounds", 2, "--out", tmp_path]
    code, out, _ = run("run", *command)
    page = tmp_path / "bench-risk-coverage" / "page.md"
    assert (code, re.fullmatch(rf"bench-risk-coverage: took \d+ s; {page}\n", out) is None) == (
        0,
        False,
    )
    assert "| V-UCB Prob | 1 of 1 |" in page.read_text()
    assert "was complete already" in run("run", *command, "--resume")[1]


def test_the_entry_point_of_surefoot_reproduce_is_this_command():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["surefoot.commands"] == {
        "reproduce": project["scripts"]["surefoot-experiments"]
    }
    module, _, name = project["scripts"]["surefoot-experiments"].partition(":")
    with pytest.raises(SystemExit) as ended:
        getattr(import_module(module), name)(["list"], "surefoot reproduce")
    assert ended.value.code == 0


@pytest.mark.parametrize("word", ["figure1", "lits", "heavy-tails-1c", "x y"])
def test_an_unknown_command_is_answered_in_a_line_with_the_ones_to_use(word):
    code, out, err = run(word)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert repr(word) in err
    assert " list` names the experiments" in err
    assert " run NAME` runs one" in err
