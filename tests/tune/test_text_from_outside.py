"""Text of commands and foreign tools: searched, stored, printed and written without harm."""

from __future__ import annotations

import csv
import io
import json
import time

import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial
from rich.console import Console
from typer.testing import CliRunner

from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot import SurefootError
from surefoot.cli import app
from surefoot.tune import StudyFile, import_table, open_study, run
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.section import ValueName
from surefoot.tune.definition.study_file import StudyFileError
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measurement import Failure, ObservedVariables
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.plain_text import (
    escaped,
    printable,
    secrets_of,
    storable,
    without_any_password,
    without_passwords,
)
from surefoot.tune.stopping import Stop
from surefoot.tune.study.location import StorageFailed
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.stored_file import locate
from surefoot.tune.workers.worker_loop import tune


def surefoot(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


class TestNumberSearch:
    @pytest.mark.long
    @pytest.mark.parametrize(
        "text",
        [
            "1" * 8_000 + "_",
            "1" * 60_000 + "_",
            "1." * 30_000 + "_",
            "1e" * 30_000 + "_",
            "1e+1" * 15_000 + "_",
            "1" * 30_000 + "x" * 30_000 + "_",
            "\x1b[" + "1" * 60_000,
            "\x1b[" * 30_000,
            "-+" * 30_000 + "_",
            "1 " * 30_000,
            "1(1)" * 15_000,
            "'" * 60_000,
            "±" * 60_000,
            "p99(" * 15_000,
            "p99= " * 12_000,
            "p99=1\n" * 10_000,
            " " * 60_000 + "1",
            "{" * 60_000 + "}",
            '{"a":' * 12_000,
            '[{"a":1},\n' * 6_000,
            "x = {'a': " + '{"a":1},' * 6_000,
        ],
    )
    def test_it_is_linear(self, text):
        begun = time.perf_counter()
        printed_value(text)
        printed_value(text, ValueName("p99"))
        assert time.perf_counter() - begun < 5.0

    @pytest.mark.long
    def test_ten_megabytes_of_digits(self, tmp_path):
        (tmp_path / "script.sh").write_text("echo 7; yes 1 | tr -d '\\n' | head -c 10000000; echo")
        objective = CommandObjective(CommandTemplate.parse("sh script.sh"), tmp_path, 20)
        result = objective.measure({}, Stop())
        assert isinstance(result, Failure)
        assert result.reason == "the measurement is infinite, expected a finite number"

    def test_the_lines_of_observed_variables(self):
        begun = time.perf_counter()
        given, _ = ObservedVariables({"load": None}).split("load=1" + " " * 60_000 + "x\nload = 2")
        assert time.perf_counter() - begun < 0.2
        assert given == {"load": "2"}


SURROGATES = "no such file: caf\udce9"


class TestLoneSurrogates:
    @pytest.mark.long
    def test_an_exception_that_has_them_is_stored_without(self, tmp_path):
        (tmp_path / "rig.py").write_text(
            "def measure(x):\n    raise OSError('caf' + chr(0xdce9) + chr(0))\n"
        )
        path = tmp_path / "STUDY.toml"
        path.write_text(
            '[study]\nname = "s"\ndirection = "minimize"\nrounds = 2\n'
            '[objective]\nfunction = "rig:measure"\n'
            '[parameters]\nx = { type = "float", low = 0, high = 1 }\n'
        )
        run(path, quiet=True, sampler=RandomSampler(seed=0))
        for trial in open_study(path).study.trials:
            assert trial.user_attrs["failure"] == "OSError: caf\ufffd\ufffd"
            trial.user_attrs["output"].encode()

    @pytest.mark.long
    def test_a_study_that_has_them_can_be_used(self, write_study, tmp_path):
        path = write_study()
        study = create_study(StudyFile.load(path), RandomSampler(seed=0)).study
        params = {"size": 1024, "share": 0.5, "mode": "OFF"}
        attributes = {"failure": SURROGATES, "output": SURROGATES}
        for state in (TrialState.FAIL, TrialState.COMPLETE):
            study.add_trial(
                create_trial(
                    params=params,
                    distributions=StudyFile.load(path).distributions,
                    state=state,
                    value=1.0 if state == TrialState.COMPLETE else None,
                    user_attrs=attributes,
                )
            )
        console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        assert run(path, rounds=3, console=console, sampler=RandomSampler()).summary.trials == 3
        assert surefoot("report", path, "-o", tmp_path / "report.html")[0] == 0
        assert surefoot("export", path, "-o", tmp_path / "trials.csv")[0] == 0
        assert "caf\ufffd" in (tmp_path / "report.html").read_text()
        assert "caf\ufffd" in (tmp_path / "trials.csv").read_text()

    def test_five_failures_with_them(self, write_study):
        trials = trials_of(write_study(command="false {size} {share} {mode}"), rounds=9)
        failed = Failure(SURROGATES, SURROGATES + "\x1b[2J", 0.1)
        with pytest.raises(Exception, match="5 failures in a row") as caught:
            tune(trials, Scripted([failed] * 5), Stop())
        assert str(caught.value).isprintable()

    @pytest.mark.long
    def test_a_folder_with_them(self, write_study, tmp_path):
        folder = tmp_path / "caf\udce9 {x} 50%?a=b#c"
        folder.mkdir()
        path = folder / "STUDY.toml"
        path.write_text(write_study().read_text())
        (folder / "bench.py").write_text((tmp_path / "bench.py").read_text())
        outcome = run(path, rounds=1, quiet=True, sampler=RandomSampler(seed=0))
        assert outcome.summary.recommended is not None  # by a fit, which is kept
        assert len(open_study(path).study.trials) == 1
        found = {one.name for one in folder.iterdir()}
        assert found == {"STUDY.toml", "bench.py", "hill.db", "hill.fits"}
        assert surefoot("report", path, "-o", folder / "report.html")[0] == 0
        code, _, err = surefoot("recommend", folder / "none.toml")
        assert code == 2
        assert "none.toml: no such file" in err


ESCAPES = "\x1b]0;owned\x07\x1b[2Jred\x9b31m\x08\rhidden"


class TestTerminal:
    @pytest.mark.long
    def test_escape_sequences_do_not_reach_it(self, write_study):
        failed = Failure(f"reason {ESCAPES}", f"output {ESCAPES}", 0.1)
        trials = trials_of(write_study(), rounds=20)
        with pytest.raises(Exception, match="5 failures") as caught:
            tune(trials, Scripted([failed] * 5), Stop())
        assert str(caught.value).isprintable()
        code, out, err = surefoot("tune", trials.study_file.path, "--rounds", 6)
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()

    def test_a_command_line_error_is_printable(self, tmp_path):
        path = tmp_path / "a\x1b[2Jb.toml"
        code, _, err = surefoot("tune", path)
        assert code == 2
        assert err.strip().isprintable()

    @pytest.mark.long
    def test_files_have_them_in_readable_form(self, write_study, tmp_path):
        path = write_study()
        trials = trials_of(path, rounds=2)
        tune(trials, Scripted([Failure(ESCAPES, ESCAPES, 0.1), measurement(1.0, 0.1)]), Stop())
        assert all_of(trials)[0].user_attrs["output"] == ESCAPES  # as it came
        surefoot("report", path, "-o", tmp_path / "report.html")
        surefoot("export", path, "-o", tmp_path / "trials.csv")
        for name in ("report.html", "trials.csv"):
            text = (tmp_path / name).read_text()
            assert "\x1b" not in text
            assert "\\x1b[2Jred" in text

    def test_the_functions(self):
        assert printable(ESCAPES) == "redhidden"
        assert printable("a\tb\nc\u202ed") == "a\tb\ncd"
        assert escaped("a\r\nb\rc\u202e") == "a\nb\\x0dc\\u202e"
        assert storable("\ud800\0é") == "\ufffd\ufffdé"


def test_cells_that_a_spreadsheet_would_compute_are_text(tmp_path):
    choices = ["=1+1", "+cmd", "-x", "@sum", "\tx", "-1.5", "plain", "'=1", "''-x", "'x", "\rx"]
    path = tmp_path / "STUDY.toml"
    path.write_text(
        '[study]\nname = "s"\ndirection = "minimize"\nrounds = 2\n'
        '[objective]\ncommand = "true {x}"\n'
        f'[parameters]\nx = {{ type = "categorical", choices = {json.dumps(choices)} }}\n'
    )
    study_file = StudyFile.load(path)
    study = create_study(study_file, RandomSampler()).study
    for choice in choices:
        study.add_trial(
            create_trial(params={"x": choice}, distributions=study_file.distributions, value=-1.5)
        )
    assert surefoot("export", path, "-o", tmp_path / "trials.csv")[0] == 0
    with (tmp_path / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["params_x"] for row in rows] == [
        *("'=1+1", "'+cmd", "'-x", "'@sum", "'\tx", "-1.5", "plain", "''=1", "'''-x", "'x"),
        "'\\x0dx",
    ]
    assert rows[0]["value"] == "-1.5"
    with (tmp_path / "again.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows[:-1])
    (tmp_path / "s.db").unlink()
    assert import_table(path, tmp_path / "again.csv").trials == len(choices) - 1
    assert [one.params["x"] for one in open_study(path).study.get_trials()] == choices[:-1]


SECRET = "s3cr3t/wo:rd"
URLS = [
    f"postgresql://me:{SECRET}@host/db",
    f"postgresql:/me:{SECRET}@host/db",
    f"nosuch://me:{SECRET}@host/db",
    f"nosuch://me:{SECRET} with 'space'@host/db",
    f"postgresql://me:{SECRET}@host:port/db",
    f"postgresql://host/db?password={SECRET}",
    f"sqlite://me:{SECRET}@host/x.db",
    f"me:{SECRET}@host",
    f"postgresql{SECRET}@host",
    f"postgre[/me:{SECRET}@localhost/db",
]
DAMAGED = [  # beyond recognition of the password
    f"sqlite://me:{SECRET}host/x.db",
    f"postgresql://host/db?pa_sword={SECRET}",
    f"postgresql://host/db?pass:{SECRET}",
    f"postgresql://host/db?pa@sword={SECRET}",
    f"postgresql://host assword={SECRET}",
    f"nosuch://me:{SECRET}\U0001f600host/db",
    f"postg:://host/db?{{assword={SECRET}",
]


class TestPasswords:
    @pytest.mark.daily(1)
    @pytest.mark.parametrize("url", URLS)
    def test_no_message_has_the_password_of_a_storage(self, write_study, url):
        path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
        for command in (["tune"], ["recommend"], ["report"], ["export", "-o", "x.csv"]):
            code, out, err = surefoot(command[0], path, *command[1:])
            assert code in (1, 2)
            assert err
            assert "s3cr3t" not in out + err

    @pytest.mark.parametrize("password", ["p@s3cr3t", "pa@s3cr3t/x", "pa@@s3cr3t", "pa@s3cr3t x"])
    def test_a_password_with_an_unescaped_at_is_refused(self, write_study, password):
        """What follows its first `@` is the host then, of which drivers say that it is unknown."""
        url = f"postgresql://me:{password}@localhost/db"
        study_file = StudyFile.load(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"')))
        with pytest.raises(StudyFileError, match="write each `@` of a password as %40") as caught:
            locate(study_file)
        assert "s3cr3t" not in str(caught.value)
        host = f"{password.partition('@')[2]}@localhost"
        assert "s3cr3t" not in study_file.hide_passwords(f"failed to resolve host '{host}'")

    @pytest.mark.parametrize("rest", ["?a=geheim@h/d", "?geheim@h/d", "/geheim@h/d"])
    def test_no_part_of_it_is_an_option_or_a_name(self, write_study, rest):
        storage = f'rounds = 8\nstorage = "mysql+pymysql://me:p@s{rest}"'
        with pytest.raises(StudyFileError, match="%40"):
            locate(StudyFile.load(write_study(("rounds = 8", storage))))

    @pytest.mark.parametrize(
        "url", ["me@corp:word@host/db", "me:p%40s@host/db", "host/db?user=a@b", "me:p?w@host/db"]
    )
    def test_other_urls_may_have_one(self, write_study, url):
        storage = f'rounds = 8\nstorage = "postgresql://{url}"'
        located = locate(StudyFile.load(write_study(("rounds = 8", storage))))
        assert located.url.host == "host"

    @pytest.mark.parametrize("url", DAMAGED)
    def test_of_a_damaged_url_only_the_scheme_is_shown(self, write_study, url):
        for key, values in {
            "storage": [f'"{url}"', f'["{url}"]', f'{{ a = "{url}" }}', f'{{ "{url}" = 1 }}'],
            "seed": [f'"{url}"', f'["{url}"]', f'{{ a = "{url}" }}', f'{{ "{url}" = 1 }}'],
            f'"{url}"': ["1"],
        }.items():
            for value in values:
                path = write_study(("rounds = 8", f"rounds = 8\n{key} = {value}"))
                with pytest.raises(SurefootError) as caught:
                    create_study(StudyFile.load(path))
                assert "s3cr3t" not in str(caught.value), (key, value)

    def test_a_key_that_comes_twice(self, write_study):
        path = write_study(
            ("rounds = 8", f'rounds = 8\nx = {{ "{URLS[0]}" = 1, "{URLS[0]}" = 2 }}')
        )
        with pytest.raises(
            StudyFileError, match=r"not valid TOML: .*\(at line \d+, column \d+\)"
        ) as caught:
            StudyFile.load(path)
        assert "s3cr3t" not in str(caught.value)

    def test_harmless_urls_and_paths_are_shown(self):
        for text in (
            *("curl http://localhost:80/x {x}", "curl 'http://host/x' {x}", "C:/a/b {x}"),
            *("['sqlite:///x.db', 'a']", "{'a': 'journal:///x.log'}", "docker -v /d:/e img {x}"),
        ):
            assert without_any_password(text) == text

    @pytest.mark.long
    @pytest.mark.parametrize("value", [f'["{URLS[0]}"]', f'{{ a = "{URLS[3]}" }}'])
    @pytest.mark.parametrize("key", ["storage", "name", "rounds"])
    def test_in_a_wrong_place(self, write_study, key, value):
        line = "rounds = 8"
        path = write_study((line, f"{line}\n{key} = {value}" if key == "storage" else line))
        if key != "storage":
            path.write_text(path.read_text().replace(key + " =", f"{key} = {value} #"))
        code, out, err = surefoot("tune", path)
        assert code == 2
        assert "s3cr3t" not in out + err

    def test_what_a_driver_says(self, write_study):
        url = "postgresql://me:p%40ss-word@host/db"
        study_file = StudyFile.load(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"')))
        with pytest.raises(StorageFailed) as caught, locate(study_file).errors("reading"):
            raise OSError("bad dsn: password=p@ss-word")
        assert "ss-word" not in str(caught.value)

    def test_a_report_has_none(self, write_study, tmp_path):
        path = write_study()
        tune(trials_of(path, rounds=3), Scripted(), Stop())
        path.write_text(path.read_text() + f"# once {URLS[0]}\n")
        surefoot("report", path, "-o", tmp_path / "report.html")
        assert "s3cr3t" not in (tmp_path / "report.html").read_text()

    def test_the_functions(self):
        assert secrets_of("sqlite:///x.db") == ()
        assert secrets_of(["no", "URL"]) == ()
        assert without_passwords("at http://host:80/a and b@c") == "at http://host:80/a and b@c"
        shown = without_passwords("x p://a:longer@h?sslpassword=q;z", secrets_of("p://a:longer@h"))
        assert shown == "x p://a:***@h?sslpassword=***;z"


def test_an_error_of_a_study_file_names_no_password(write_study):
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{URLS[2]}"'))
    with pytest.raises(StudyFileError, match=r"\*\*\*@host/db"):
        create_study(StudyFile.load(path))
