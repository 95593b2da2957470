"""What is wrong in a study file is said in one line that names the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from support.commands import surefoot
from surefoot.parameters import Float
from surefoot.parameters.parameter import InvalidParameter
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.contents import Contents
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.study import server
from surefoot.tune.study.opened_study import create_study


def test_a_good_file_gives_its_parts(write_study):
    path = write_study(("rounds = 8", 'rounds = 8\nseed = 3\nstorage = "sqlite:///other.db"'))
    study_file = StudyFile.load(path)
    assert study_file.study.name == "hill"
    assert study_file.study.seed == 3
    assert study_file.folder == path.parent
    assert study_file.objective.timeout == 30
    assert study_file.distributions == {
        "size": IntDistribution(512, 65536, log=True),
        "share": FloatDistribution(0, 1),
        "mode": CategoricalDistribution(["OFF", "NORMAL", "FULL"]),
    }
    assert list(study_file.distributions) == ["size", "share", "mode"]


@pytest.mark.long
@pytest.mark.parametrize("depth", [50, 300, 900, 3_000])
@pytest.mark.parametrize(
    "form",
    ["[{0}]", "{0} = 1", "[study]\n{0} = 1", "[parameters.x]\nlow.{0} = 1", "a = {{ {0} = 1 }}"],
)
def test_whatever_is_nested_is_refused_in_one_line(tmp_path, form, depth):
    path = tmp_path / "deep.toml"
    path.write_text(form.format(".".join("a" * depth)))
    assert len(surefoot("status", path, code=2).splitlines()) == 1


def test_a_device_or_a_pipe_is_no_study_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in ("/dev/zero", "/dev/random", tmp_path / "pipe", tmp_path / "link"):
        assert "is a device or a pipe" in surefoot("status", path, code=2)


@pytest.mark.long
@pytest.mark.parametrize("step", [1e-16, 1e-17, 1e-27, 1e-28, 1e-300, 5e-324])
def test_steps_that_float64_cannot_tell_apart_are_refused(write_study, step):
    path = write_study(("low = 0, high = 1", f"low = 0, high = 1, step = {step}"))
    assert "parameters.share.step: got" in surefoot("status", path, code=2)
    with pytest.raises(InvalidParameter, match="expected steps that float64 can tell"):
        Float(0.0, 1.0, step=step)


@pytest.mark.daily(1)
@pytest.mark.parametrize("step", [0.5, 1e-6, 1e-9, 2.0**-40])
def test_fine_steps_are_steps(write_study, step):
    path = write_study(("low = 0, high = 1", f"low = 0, high = 1, step = {step}"))
    assert surefoot("ask", path).splitlines()[-1].startswith("0 size=")


WRONG = [
    (("low = 512", "low = 70000"), "parameters.size.low: got 70000, expected less than `high`"),
    (("low = 512", "default = 600, low = 70000"), "parameters.size.low: got 70000, expected less"),
    (("low = 512", 'low = "a"'), "parameters.size.low: got 'a', expected a whole number"),
    (("low = 512", "low = 1.5"), "parameters.size.low: got 1.5, expected a whole number"),
    (("low = 512", "low = 0"), "parameters.size.low: got 0, expected more than 0, since `log`"),
    (("low = 512,", ""), "parameters.size.low: missing; expected a whole number"),
    (("high = 65536", "hihg = 65536"), "parameters.size.hihg: unknown key; did you mean `high`?"),
    (("low = 0, high = 1 ", "low = inf, high = 1 "), "parameters.share.low: got inf, expected a f"),
    (('type = "float"', 'type = "real"'), "parameters.share.type: got 'real', expected one of 'i"),
    (('type = "float",', ""), "parameters.share.type: missing, expected one of 'int', 'float'"),
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', 'choices = ["OFF"]'),
        "parameters.mode.choices: got [",
    ),
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', "choices = [1, true]"),
        "parameters.mode.choices: got",
    ),
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', 'choices = [1, "2", "1"]'),
        "parameters.mode.choices: got 1 and '1', which cannot be told apart in a command",
    ),
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', 'choices = [true, "true"]'),
        "parameters.mode.choices: got True and 'true', which cannot be told apart",
    ),
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', 'choices = ["OFF", "OFF "]'),
        "parameters.mode.choices: got 'OFF' and 'OFF ', which cannot be told apart",
    ),
    (('choices = ["OFF", "NORMAL", "FULL"]', "choices = [[1], [2]]"), "parameters.mode.choices: "),
    (('choices = ["OFF", "NORMAL", "FULL"]', "low = 1"), "parameters.mode.low: unknown key"),
    (("share = {", "share = 5 #"), "parameters.share: got 5, expected a table such as"),
    (("share =", '"a b" ='), "parameters.a b: got this name, expected ASCII letters"),
    (("rounds = 8", "rounds = 0"), "study.rounds: got 0, expected a whole number of at least 1"),
    (("rounds = 8", "rounds = true"), "study.rounds: got True, expected a whole number"),
    (("rounds = 8", "ruonds = 8"), "study.ruonds: unknown key; did you mean `rounds`?"),
    (('"minimize"', '"minimise"'), "study.direction: got 'minimise', expected 'minimize' or 'm"),
    (('"hill"', '"../hill"'), "study.name: got '../hill', expected a name of ASCII letters"),
    (("rounds = 8", 'rounds = 8\nstorage = "here.db"'), "study.storage: got 'here.db', expected"),
    (("rounds = 8", 'rounds = 8\nstorage = "sqlite://"'), "study.storage: got 'sqlite://', which"),
    (("rounds = 8", "rounds = 8\nseed = -1"), "study.seed: got -1, expected a whole number from 0"),
    (("rounds = 8", "rounds = 8\ninitial = 0"), "study.initial: got 0, expected a whole number"),
    (("timeout = 30", "timeout = 0"), "objective.timeout: got 0, expected a number of seconds"),
    (("timeout = 30", "timeout = 'soon'"), "objective.timeout: got 'soon', expected a number of"),
    *[
        (("timeout = 30", f"timeout = 30\nlog = {word}"), f"expected true or false: log = {said}")
        for word, said in (("True", "true"), ("yes", "true"), ("OFF", "false"), ("No", "false"))
    ],
    (
        ('choices = ["OFF", "NORMAL", "FULL"]', 'choices = ["OFF", "NORMAL"], default = OFF'),
        'text has quotes: default = "OFF"',
    ),
    (
        ("high = 65536, log = true", "high = 65536, log = True"),
        "expected true or false: log = true",
    ),
    (("timeout = 30", "timeout = nan"), "objective.timeout: got nan, expected a number of seconds"),
    (("timeout = 30", 'function = "a:b"'), "objective.function: given together with `command`"),
    (("[study]", "[sudy]"), "sudy: unknown key; did you mean `study`?"),
    (("[study]", "study = 3\n[studi]"), "studi: unknown key"),
    (("{mode}", "{mood}"), "objective.command: {mood} is not a parameter, expected one of size"),
    (("{mode}", ""), "parameters.mode: not used in objective.command; expected {mode} in it"),
    (("{mode}", "{mode:.3f}"), "objective.command: the format '.3f' does not fit 'OFF'"),
    (("{mode}", "{mode} {}"), "objective.command: got '{}': a placeholder is {name}"),
    (("{mode}", "{mode} '"), "closed quotes"),
    (("direction =", "direction"), "not valid TOML"),
    (("[study]", "[study]\nsafe = 1.5"), "study.safe: got 1.5, expected true or false"),
    (
        ("[study]", "[study]\nsafe = true\ninitial = 5"),
        "study.initial: given beside study.safe = true",
    ),
    (
        ("[study]", "constraints.p.max = 1\nconstraints.p.safe = true\n[study]\ninitial = 5"),
        "study.initial: given beside constraints.p.safe = true",
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_is_wrong_is_said_in_one_line(write_study, change, message):
    path = write_study(change)
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert message in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 250


def test_all_keys_that_are_wrong_are_named(write_study):
    path = write_study(("low = 512", 'low = "a"'), ("high = 65536", "hihg = 65536"))
    with pytest.raises(StudyFileError) as error:
        StudyFile.load(path)
    assert str(error.value).endswith("; then also: parameters.size.high, parameters.size.low")


def test_a_command_may_be_a_list_of_arguments(write_study):
    line = '"python bench.py {size} {share} {mode}"'
    command = next(
        text for text in write_study().read_text().splitlines() if text.startswith("command")
    )
    as_line = write_study((command, f"command = {line}"))
    template = CommandTemplate.parse(StudyFile.load(as_line).objective.command)
    as_list = write_study(
        (command, 'command = ["python", "bench.py", "{size}", "{share}", "{mode}"]')
    )
    assert CommandTemplate.parse(StudyFile.load(as_list).objective.command) == template
    with pytest.raises(
        StudyFileError, match=r"objective.command: got \[1\], expected a command li"
    ):
        StudyFile.load(write_study((command, "command = [1]")))


def test_every_section_may_be_missing(tmp_path: Path):
    path = tmp_path / "STUDY.toml"
    path.write_text("")
    with pytest.raises(StudyFileError, match=r"study: missing; expected a table \[study\]"):
        StudyFile.load(path)
    path.write_text(
        '[study]\nname="a"\ndirection="maximize"\nrounds=1\n[objective]\nkeep=true\n[parameters]\n'
    )
    with pytest.raises(StudyFileError, match=r"objective.command: missing; expected a command"):
        StudyFile.load(path)
    path.write_text(path.read_text().replace("keep=true", 'command="true"'))
    with pytest.raises(StudyFileError, match=r"parameters: got none, expected at least one"):
        StudyFile.load(path)


ON_WITHOUT_A_KEY = {"study", "objective", "parameters", "confirm", "repeats"}


@pytest.mark.parametrize("table", sorted(Contents.model_fields.keys() - ON_WITHOUT_A_KEY))
def test_a_table_without_the_key_that_it_is_for_is_refused(tmp_path, table):
    path = tmp_path / "STUDY.toml"
    study = 'study = { name = "a", direction = "minimize", rounds = 9 }\n'
    parameters = "parameters = { x = { type = 'int', low = 1, high = 9, default = 1 } }\n"
    empty = "[]" if table == "require" else "{}"
    path.write_text(f"{study}{parameters}{table} = {empty}\n")
    with pytest.raises(StudyFileError, match=rf": {table}\S*: (missing|got no)"):
        StudyFile.load(path)
    if table == "stop":
        path.write_text(f"{study}{parameters}stop = {{ confidence = 0.9 }}\n")
        with pytest.raises(StudyFileError, match=r"stop\.gain: missing; expected a number"):
            StudyFile.load(path)


def test_a_function_needs_parameters_that_are_keywords(tmp_path: Path):
    path = tmp_path / "STUDY.toml"
    path.write_text(
        '[study]\nname="a"\ndirection="maximize"\nrounds=1\n[objective]\nfunction="bench:measure"\n'
        '[parameters]\npage-size={type="float", low=0, high=1}\n'
    )
    with pytest.raises(StudyFileError, match=r"parameters.page-size: .* keyword argument"):
        StudyFile.load(path)
    path.write_text(path.read_text().replace("bench:measure", "bench.py"))
    with pytest.raises(StudyFileError, match=r"objective.function: got 'bench.py', expected 'mod"):
        StudyFile.load(path)


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(StudyFileError, match="no such file"):
        StudyFile.load(tmp_path / "none.toml")
    with pytest.raises(StudyFileError, match="cannot be read"):
        StudyFile.load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyFileError, match="UTF-8"):
        StudyFile.load(tmp_path / "binary.toml")


EXTREME = [
    (("low = 512", f"low = {10**400}"), "parameters.size.low: got an integer beyond float64"),
    (("low = 512", f"low = 1{'0' * 4300}"), "Exceeds the limit (4300 digits)"),
    (("low = 512", f"low = 0x{'f' * 20_000}"), "parameters.size.low: got an integer beyond flo"),
    (("high = 65536", f"high = {2**53 + 1}"), "parameters.size.high: got 9007199254740993, expe"),
    (("rounds = 8", f"rounds = {10**300}"), "study.rounds: got 1000"),
    (("low = 512", "low = " + "[" * 3_000 + "]" * 3_000), "nested too deeply"),
    (("low = 512", "low = " + "[" * 50 + "]" * 50), "parameters.size.low: got [[["),
    (('"hill"', f'"{"h" * 256}"'), "study.name: got 'hhh"),
    (("share =", f'"{"s" * 256}" ='), "expected ASCII letters, digits, '_' and '-', not beginning"),
    (("rounds = 8", r'rounds = 8 storage = "sqlite:///\u0000.db"'.replace(" s", "\ns")), r"\x00"),
    (("{share}", "{share:10000000f}"), "objective.command: got '{share:10000000f}': a format has"),
    (("{share}", "{share:.99999f}" * 2), "got an argument of 200,002 bytes, expected at most 131,"),
    (("{mode}", "{mode} " + "x" * 131_072), "got an argument of 131,072 bytes, expected at most"),
    (('"FULL"]', f'"{"F" * 131_072}"]'), "got an argument of 131,072 bytes, expected at most"),
    (("low = 0, high = 1 ", "low = 0, high = 5e-324 "), "parameters.share.high: low = 0.0 and"),
    (("timeout = 30", 'timeout = "' + "9" * 9_000 + '"'), "objective.timeout: got '999"),
]


@pytest.mark.parametrize(("change", "message"), EXTREME)
def test_extreme_values_are_refused_in_one_line(write_study, change, message):
    path = write_study(change)
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(path)
    said = str(caught.value)
    assert message in said
    assert said.isprintable()
    assert len(said) < len(str(path)) + 520


def test_a_path_that_is_none():
    with pytest.raises(StudyFileError, match="cannot be read"):
        StudyFile.load("a\0b")
    with pytest.raises(StudyFileError, match="cannot be read: File name too long"):
        StudyFile.load("a" * 300)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite:///x.db?mode=ro&nothing=1", "expected sqlite:///FILE, without a host and options"),
        ("sqlite://host/x.db", "expected sqlite:///FILE, without a host and options"),
        ("sqlite:///" + "y" * 300, "cannot be used: File name too long"),
        ("sqlite:///.", "is a folder, expected a file"),
        ("sqlite+nosuch:///x.db", "study.storage: "),
        ("nosuch://host/db", "study.storage: nosuch://host/db: Can't load plugin"),
        ("postgresql://host:port/db", "study.storage: got 'postgresql://***', expected an"),
        ("mysql://host/{db}?nothing=1", "study.storage: "),
    ],
)
def test_storage_urls_that_cannot_be_used(write_study, url, message):
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
    with pytest.raises(StudyFileError) as caught:
        create_study(StudyFile.load(path))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_options_that_a_driver_does_not_know(write_study, monkeypatch):
    def connect(*arguments, **keywords):
        raise TypeError("connect() got an unexpected keyword argument 'nothing'")

    monkeypatch.setattr(server, "RDBStorage", connect)
    path = write_study(("rounds = 8", 'rounds = 8\nstorage = "mysql://host/db?nothing=1"'))
    with pytest.raises(StudyFileError, match=r"cannot be opened: .*'nothing'; expected"):
        create_study(StudyFile.load(path))


def test_a_byte_order_mark_is_no_part_of_the_file(write_study):
    path = write_study()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert StudyFile.load(path).study.name == "hill"
