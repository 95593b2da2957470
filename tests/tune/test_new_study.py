"""`surefoot init`: a study file from a command line, which loads as it stands."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot.cli import app
from surefoot.tune import StudyFile
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.new_study import new_study
from surefoot.types import InvalidInput


def written(tmp_path: Path, command: str) -> StudyFile:
    path = tmp_path / "new.toml"
    path.write_text(new_study(command)[1])
    return StudyFile.load(path)


@pytest.mark.parametrize(
    ("described", "type_", "keys", "suffix"),
    [
        ("1..16", "int", {"low": 1, "high": 16, "log": False, "unit": None}, ""),
        ("1..100", "int", {"low": 1, "high": 100, "log": True}, ""),
        ("-5..500", "int", {"low": -5, "high": 500, "log": False}, ""),
        ("0.1..0.9", "float", {"low": 0.1, "high": 0.9, "log": False}, ""),
        ("1e-6..1", "float", {"low": 1e-6, "high": 1, "log": True}, ""),
        ("1k..1m", "int", {"low": 1, "high": 1024, "log": True, "unit": "k"}, "k"),
        ("16M..2G", "int", {"low": 16, "high": 2048, "unit": "M"}, "M"),
        ("512..4k", "int", {"low": 512, "high": 4096, "unit": None}, ""),
        ("1g..1.5t", "int", {"low": 1, "high": 1536, "unit": "g"}, "g"),
        ("10ms..50ms", "int", {"low": 10, "high": 50, "log": False, "unit": "ms"}, "ms"),
        ("a, b,c", "categorical", {"choices": ["a", "b", "c"], "ordered": False}, ""),
        ("1,2,4", "categorical", {"choices": [1, 2, 4], "ordered": True}, ""),
        ("4,1", "categorical", {"choices": [4, 1], "ordered": False}, ""),
        ("'a','b c, d', e'f", "categorical", {"choices": ["a", "b c, d", "e'f"]}, ""),
        ('"a", "it\'s"', "categorical", {"choices": ["a", "it's"]}, ""),
    ],
)
def test_a_range_or_choices_become_a_parameter(tmp_path, described, type_, keys, suffix):
    study_file = written(tmp_path, f'bench "a b" --x={{x:{described}}} {{{{kept}}}} {{x}}')
    parameter = study_file.parameters["x"]
    assert parameter.type == type_
    assert {key: getattr(parameter, key) for key in keys} == keys
    value = parameter.examples()[0]
    filled = CommandTemplate.parse(study_file.objective.command or "").fill({"x": value})
    assert filled == ["bench", "a b", f"--x={value}{suffix}", "{kept}", f"{value}{suffix}"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("bench", "without a parameter, expected {name:1..16}"),
        ("", "got an empty command"),
        ("bench {a}", "{a}: has no range, expected {name:1..16}"),
        ("bench {a", "write {{ and }} for plain braces"),
        ("bench {a:1..3} {b", "write {{ and }} for plain braces"),
        ("bench {a:1..2} {b}", "{b}: has no range"),
        ("bench {a:1}", "a: got '1', expected {name"),
        ("bench {a:b,}", "a: got 'b,', expected {name"),
        ("bench {a:x..y}", "a: got 'x..y', expected {name"),
        ("bench {a:3..1}", "a: got '3..1', whose ends are in the wrong order; expected {a:1..3}"),
        ("bench {a:-1..-3}", "expected {a:-3..-1}"),
        ("bench {a:5k..2k}", "expected {a:2k..5k}"),
        ("bench {a:0.50..0.5}", "whose ends are the same"),
        ("bench {a:1..1e999}", "a: got '1..1e999', expected finite ends"),
        ("bench {a:1k..3s}", "different suffixes"),
        ("bench {a:1m..3k}", "different suffixes"),
        ("bench {a:1..3} {a:2..3}", "a: has two ranges"),
        ("bench {a:0..1}", "which may be all numbers in between, {a:0.0..1.0}, or one of two"),
        ("bench {1a:1..3}", "got the name '1a'"),
        ("bench {a:b,b}", "parameters.a.choices: got"),
        ("'bench {a:1..3}", "expected closed quotes"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_written(tmp_path, command, message):
    with pytest.raises(InvalidInput) as error:
        new_study(command)
    assert message in str(error.value)
    path = tmp_path / "new.toml"
    result = CliRunner().invoke(app, ["init", command, "-o", str(path)])
    assert result.exit_code == 2
    assert not path.exists()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("nginx-bench {x:1..2}", "nginx-bench"),
        ("./bin/my.bench.sh {x:1..2}", "my-bench"),
        ("python bench.py {x:1..2}", "bench"),
        ("python -m bench {x:1..2}", "python"),
        ("{x:a,b}", "x"),
    ],
)
def test_the_study_is_named_after_its_program(command, name):
    assert new_study(command)[0] == name


def test_the_command_writes_a_file_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["init", "bench {x:1..9}", "--maximize"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = (tmp_path / "bench.toml").read_text()
    assert StudyFile.load(tmp_path / "bench.toml").study.direction == "maximize"
    assert '"minimize" if smaller measurements are better' in text
    again = CliRunner().invoke(app, ["init", "bench {x:1..8}"])
    assert again.exit_code == 2
    assert "exists" in again.stderr
    assert (tmp_path / "bench.toml").read_text() == text


@pytest.mark.parametrize(
    ("name", "why"),
    [("folder", "exists"), ("link", "exists"), ("none/new.toml", "there is no folder")],
)
def test_a_study_file_is_a_new_one_in_a_folder(tmp_path, name, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere.toml")
    before = {*tmp_path.iterdir()}
    result = CliRunner().invoke(app, ["init", "bench {x:1..9}", "-o", str(tmp_path / name)])
    assert result.exit_code == 2
    assert why in result.stderr
    assert {*tmp_path.iterdir()} == before
    assert (tmp_path / "link").is_symlink()


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    result = CliRunner().invoke(app, ["init", "bench {x:1..9}", "-o", str(tmp_path / "new.toml")])
    assert result.exit_code == 1
    assert "new.toml: cannot be written: No space left on device" in result.stderr
    assert not [*tmp_path.iterdir()]


def test_what_is_commented_out_loads_as_well(tmp_path):
    path = tmp_path / "new.toml"
    text = new_study("bench {x:1..9}")[1]
    path.write_text(re.sub(r"(?m)^# (timeout|\[constraints\]|p99)", r"\1", text))
    study_file = StudyFile.load(path)
    assert study_file.objective.timeout == 30.0
    assert study_file.constraints["p99"].maximum == 20.0
