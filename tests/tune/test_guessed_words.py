"""Words that people guess: each works, or the answer names the right one in one line."""

from __future__ import annotations

import os
import shlex
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from surefoot.cli import app
from surefoot.cli_words import COMMANDS, OPTIONS
from surefoot.tune import StudyFile, StudyFileError, import_table, open_study
from surefoot.tune.comparison.named_settings import named_setting
from surefoot.tune.definition.command_template import (
    CommandTemplate,
    InvalidCommand,
    shell_note,
    shell_notes,
)
from surefoot.tune.measuring.function_server import _call
from surefoot.types import InvalidInput


def surefoot(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["help"], "surefoot tune"),
        (["-h"], "surefoot tune"),
        (["help", "tune"], "--rounds"),
        (["tune", "-h"], "--rounds"),
        (["-V"], "surefoot 0."),
    ],
)
def test_words_for_help_and_version_work(arguments, shown):
    code, out, _ = surefoot(*arguments)
    assert code == 0
    assert shown in out


@pytest.mark.daily(1)
@pytest.mark.parametrize("word", COMMANDS)
def test_a_command_of_another_tool_is_answered(word):
    code, _, err = surefoot(word, "study.toml")
    assert code == 2
    assert f"no command '{word}'; use " in " ".join(err.split())


def test_the_answers_are_commands():
    names = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    used = {use.split()[1] for use in COMMANDS.values() if use.startswith("surefoot")}
    assert used <= {*names, "--version"}
    assert not names & COMMANDS.keys()


@pytest.mark.long
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_tool_is_answered(option):
    code, _, err = surefoot("tune", "study.toml", option, "3")
    wanted = [one for one in OPTIONS[option] if one in ("--rounds N", "--workers N", "--quiet")]
    wanted += [one for one in OPTIONS[option] if not one.startswith("-")]
    assert code == 2
    assert not wanted or f"no option {option}; use {wanted[0]}" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["recommend", "s.toml", "-j"], "use --json"),
        (["recommend", "s.toml", "-n", "3"], "No such option: -n"),
        (["recommend", "s.toml", "--format", "json"], "use --json"),
        (["export", "s.toml", "--format", "csv"], "use -o FILE, whose ending is the format"),
        (["report", "s.toml", "--format", "json"], "use -o FILE, whose ending is the format"),
        (["ask", "s.toml", "--n", "2"], "use -n N"),
        (["tune", "--file", "s.toml"], "use the study file without an option"),
        (["init", "bench", "--threads", "{t:1..8}"], "use quotes around the whole command"),
        (["s.toml"], "use surefoot tune s.toml"),
    ],
)
def test_the_answer_is_an_option_of_the_command(arguments, answer):
    code, _, err = surefoot(*arguments)
    assert code == 2
    assert answer in " ".join(err.split())


def test_a_written_study_file_warns_of_a_pipe(tmp_path):
    code, _, err = surefoot("init", "b {x:1..8} | tail -1", "-o", tmp_path / "b.toml")
    assert code == 0
    assert "Warning: objective.command has `|`" in err


def test_notes_are_about_every_command():
    lines = {"objective.command": "a {x}", "objective.setup": "a && b", "objective.teardown": None}
    assert [note[:15] for note in shell_notes(lines)] == ["objective.setup"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("cd", "no shell runs the command"),
        ("A=1", "no shell runs the command"),
        ("~/bench", "no shell runs the command"),
        ("./notes.txt", "the file is not executable"),
    ],
)
def test_why_a_program_cannot_be_run(tmp_path, program, why):
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(InvalidCommand, match=why):
        CommandTemplate.parse(f"{program} {{x}}").check_program(tmp_path)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"#!/bin/sh\r\n", r"interpreter '/bin/sh\\r', which is not there; save it with Unix"),
        (b"#! /opt/no/python -u\n", "interpreter '/opt/no/python', which is not there$"),
        (b"#! /bin/sh\t-e\n", ""),
        (b"#!/bin/sh", ""),
        (b"#!relative\n", ""),
        (b"\x7fELF\r\n", ""),
        (b"", ""),
    ],
)
def test_a_script_needs_its_interpreter(tmp_path, first, why):
    """Before a round fails for it, as `execve` then says that the script is not there."""
    (tmp_path / "bench").write_bytes(first)
    (tmp_path / "bench").chmod(0o755)
    template = CommandTemplate.parse("./bench {x}")
    with pytest.raises(InvalidCommand, match=why) if why else nullcontext():
        template.check_program(tmp_path)


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://u:p@h/d", "expected postgresql://"),
        ("mysql+nodriver://u@h/d", "expected postgresql://"),
    ],
)
def test_a_storage_without_a_driver_is_answered(write_study, url, message):
    path = write_study(("rounds = 8", f"rounds = 8\nstorage = '{url}'"))
    with pytest.raises(StudyFileError, match=message):
        open_study(path)


def test_other_unknown_words_are_the_usual_error():
    assert "No such command" in surefoot("nonsense")[2]
    assert "No such option" in surefoot("tune", "study.toml", "--nonsense")[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rounds = 8", "n_trials = 8"), "study.n_trials: unknown key; did you mean `rounds`?"),
        (("rounds = 8", "rounds = 8\nmode = 'min'"), "study.mode: unknown key; did you mean `dire"),
        (("rounds = 8", "rounds = 8\nn_jobs = 2"), "use `surefoot tune --workers N` instead"),
        (("low = 0,", "min = 0,"), "parameters.share.min: unknown key; did you mean `low`?"),
        (("high = 1 }", "max = 1 }"), "parameters.share.max: unknown key; did you mean `high`?"),
        (("timeout = 30", "metric = 'p95'"), "objective.metric: unknown key; did you mean `value`"),
        (('"minimize"', "minimize"), 'text has quotes: direction = "minimize"'),
        (('"hill"', "hill # a name"), 'text has quotes: name = "hill"'),
        (('type = "float"', "type = float"), 'text has quotes: type = "float"'),
        (('"hill"', "\u201chill\u201d"), "quotes are straight"),
        ((" bench.py", ' "bench.py"'), "is in single quotes"),
        (("timeout = 30", "direction = 'minimize'"), "did you mean `direction` in [study]?"),
        (("timeout = 30", "maximize = true"), "did you mean `direction` in [study]?"),
        (("timeout = 30", "repeats = 3"), "[repeats] is a table of its own."),
        (("rounds = 8", "rounds = 8\ntimeout = 3"), "did you mean `timeout` in [objective]?"),
        (("rounds = 8", "rounds = 8\nmetric = 'p99'"), "did you mean `value` in [objective]?"),
        (("rounds = 8", "rounds = 8\nsampler = 'x'"), "study.sampler: unknown key; Expected one"),
        (("[study]\n", ""), "did you mean `name` in [study]?"),
    ],
)
def test_a_word_in_a_study_file_is_answered(write_study, change, message):
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(change))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_function_named_by_its_file(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        '[study]\nname = "s"\ndirection = "minimize"\nrounds = 2\n'
        '[objective]\nfunction = "fn.py:measure"\n'
        '[parameters]\nx = { type = "float", low = 0, high = 1 }\n'
    )
    with pytest.raises(StudyFileError, match="module without its ending: 'fn:measure'"):
        StudyFile.load(path)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sh b.sh {x} | tail -1", "|"),
        ("cd a && sh b.sh {x}", "&&"),
        ("sh a.sh; sh b.sh {x}", "a.sh;"),
        ("sh b.sh {x} > out", ">"),
        ("sh -c 'echo 1 | cat' {x}", ""),
        ("grep '|' {x}", ""),
        ("curl 'http://a?b=1&c=2' {x}", ""),
        ("awk '{{print $1; exit}}' {x}", ""),
        ("sh b.sh ${x}", "${x}"),
        ("sh b.sh {x} $HOME/a", "$HOME/a"),
        ('sh b.sh {x} "$HOME"', '"$HOME"'),
        ("sh b.sh {x} $(date)", "$(date)"),
        ("sh b.sh {x} `date`", "`date`"),
        ("sh b.sh {x} *.csv", "*.csv"),
        ("~/b {x}", "~/b"),
        ("sh b.sh '*.csv' \\* a~b 5$ {x:.3f}", ""),
        ("curl http://a?b=1 {x}", ""),
    ],
)
def test_what_only_a_shell_understands_is_a_warning(line, found):
    note = shell_note(line)
    assert bool(note) == bool(found)
    assert f"`{found}`, which is passed as an argument" in note or not found


def test_a_pair_of_numbers_is_answered():
    reply = _call(lambda: (12.5, 0.4), {}, "")
    assert "a number with its standard error is (number, {'sem': number})" in reply["error"]


@pytest.mark.parametrize(("separator", "shown"), [(";", "';'"), ("\t", r"'\\t'")])
def test_other_separators_are_answered(write_study, tmp_path, separator, shown):
    (tmp_path / "runs.csv").write_text(f"size{separator}value\n512{separator}1,5\n")
    with pytest.raises(InvalidInput, match=f"the cells are separated by {shown}, expected commas"):
        import_table(write_study(), tmp_path / "runs.csv")


def test_a_trial_by_its_number_and_a_table_on_standard_output(write_study, tmp_path):
    path = write_study()
    (tmp_path / "runs.csv").write_text("size,share,mode,value\n512,0.5,OFF,1\n600,1,OFF,2\n")
    import_table(path, tmp_path / "runs.csv")
    for name in ("1", "#1", "trial 1", "trial=1", "trial1"):
        assert named_setting(StudyFile.load(path), name).params["size"] == 600
    code, out, _ = surefoot("export", path, "-o", "-")
    assert code == 0
    assert out.splitlines()[0].startswith("number,state,params_size")
    assert len(out.splitlines()) == 3


def test_a_text_that_the_locale_does_not_have_is_refused(monkeypatch):
    monkeypatch.setattr(os, "fsencode", lambda text: text.encode("ascii"))
    with pytest.raises(InvalidCommand, match=r"got '\\xe4', which this locale's encoding"):
        CommandTemplate.parse("sh b.sh {x}").check({"x": ["\u00e4", "b"]})


def test_a_suggested_command_can_be_pasted_into_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = "my study; v2.toml"
    _, out, _ = surefoot("init", "bench --size {size:1..9}", "-o", file)
    answers = [out, *(surefoot(word, file)[2] for word in ("recommend", "report"))]
    suggested = [words for answer in answers for words in answer.split("`")[1::2]]
    assert len(suggested) == 4
    for words in suggested:
        assert shlex.split(words)[2:] == [file]
