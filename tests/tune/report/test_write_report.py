"""The report of a real study in a real storage."""

import json

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial
from typer.testing import CliRunner

from support.study_spaces import space_of
from surefoot.cli import app
from surefoot.tune import StudyFile
from surefoot.tune.plain_text import without_passwords
from surefoot.tune.report import write_report
from surefoot.tune.report.collect import (
    CHECKPOINTS,
    checkpoint_counts,
    slices,
)
from surefoot.tune.study.opened_study import create_study
from surefoot.types import InvalidInput, NotReady

HEAD = """
[study]
name = "rig"
direction = "maximize"
rounds = 30
[objective]
command = "rig {speed} {mode}"
[parameters]
"""
SPEED = "speed = { type = 'float', low = 1, high = 100, log = true }\n"
STEPS = "speed = { type = 'int', low = 1, high = 5 }\n"
GEAR = "speed = { type = 'categorical', choices = [1, 'two', true] }\n".replace("true", "2.5")
MODE = "mode = { type = 'categorical', choices = ['a', '<b>'] }\n"


def study(folder, parameters, values):
    """A study file with finished trials behind it; None is a failure."""
    path = folder / "rig.toml"
    path.write_text(HEAD + parameters, encoding="utf-8")
    study_file = StudyFile.load(path)
    opened = create_study(study_file).study
    random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for value in values:
        params = random.ask(study_file.distributions).params
        opened.add_trial(
            create_trial(
                state=TrialState.FAIL if value is None else TrialState.COMPLETE,
                value=value,
                params=params,
                distributions=study_file.distributions,
                user_attrs={"failure": "exit status <7>", "output": "</td>"}
                if value is None
                else {},
            )
        )
    return path


NOISE = np.random.default_rng(0).standard_normal(30)


@pytest.mark.long
@pytest.mark.parametrize(
    ("parameters", "values"),
    [
        pytest.param(SPEED + MODE, [*NOISE, 1e6, None, None, -3.0], id="spike and failures"),
        pytest.param(SPEED + MODE, [4.0], id="one trial"),
        pytest.param(STEPS + MODE, [None, 4.0, 5.0], id="failure first"),
        pytest.param(SPEED + MODE, [4.0] * 6, id="constant"),
        pytest.param(GEAR + MODE, list(NOISE[:8]), id="all categorical"),
    ],
)
def test_a_report_is_written(tmp_path, parameters, values):
    path = study(tmp_path, parameters, values)
    write_report(path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<script>") == 2
    for name in ("speed", "mode"):
        assert f'data-parameter="{name}"' in text
    trials = text[text.index('id="trials"') :]
    assert trials.count("<tr") == 1 + len(values)
    assert text.count("exit status &lt;7&gt;</summary><pre>&lt;/td&gt;</pre>") == values.count(None)
    assert ("No diagnosis: the sample of residuals has" in text) == (len(values) < 20)
    written = {one.name for one in tmp_path.iterdir()} - {"rig.fits"}  # where something is fitted
    assert written == {"report.html", "rig.db", "rig.toml"}


@pytest.mark.long
def test_its_head_is_written_as_markdown(tmp_path):
    odd = "mode = { type = 'categorical', choices = ['a|b', '<b>|'] }\n"
    path = study(tmp_path, SPEED + odd, list(NOISE[:9]))
    write_report(path, tmp_path / "report.md")
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# rig"
    assert "9 measurements" in lines[2]
    tables = [line for line in lines if line.startswith("|")]
    assert any(line.startswith("| value |") and "predicted" in line for line in tables)
    (mode,) = (line for line in tables if line.startswith("| mode"))
    assert mode.replace("\\|", "").count("|") == 3
    assert "<b>" not in mode


def test_nothing_is_written_without_a_measurement(tmp_path):
    path = study(tmp_path, SPEED + MODE, [None])
    with pytest.raises(NotReady):
        write_report(path, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path):
    with pytest.raises(InvalidInput, match="no folder"):
        write_report(tmp_path / "none.toml", tmp_path / "nowhere" / "report.html")
    with pytest.raises(InvalidInput, match="is a folder"):
        write_report(tmp_path / "none.toml", tmp_path)
    with pytest.raises(InvalidInput, match="is a device or a pipe"):
        write_report(tmp_path / "none.toml", "/dev/null")


@pytest.mark.long
@pytest.mark.parametrize("name", ["rig.db", "rig.toml", "bench.py"])
def test_no_other_file_is_replaced_by_a_report(tmp_path, name):
    path = study(tmp_path, SPEED + MODE, [4.0])
    (tmp_path / "bench.py").write_text("print(4.0)\n")
    before = (tmp_path / name).read_bytes()
    with pytest.raises(InvalidInput, match=r"got the ending .*, expected .html or .htm or .md"):
        write_report(path, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("measured", [1, 2, 3, 4, 20, 500])
def test_the_history_has_few_moments_and_ends_with_the_present(measured):
    moments = checkpoint_counts(measured)
    assert len(moments) <= CHECKPOINTS
    assert moments[-1] == measured
    assert moments == sorted(set(moments))


def test_stepped_slices_stay_on_their_steps():
    class Belief:
        def predict(self, settings):
            self.asked = [setting["x"] for setting in settings]
            return (np.zeros(len(settings)),) * 3

    belief = Belief()
    space = space_of({"x": FloatDistribution(0.0, 1.0, step=0.25)})
    slices(belief, {"x": 0.5}, space, {})
    assert sorted(set(belief.asked)) == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:s3cret@host/db", "postgresql://ann:***@host/db"),
        (
            "storage = 'mysql+pymysql://ann:p:a@b@host/db'",
            "storage = 'mysql+pymysql://ann:***@host/db'",
        ),
        ("sqlite:///sqlite.db", "sqlite:///sqlite.db"),
    ],
)
def test_passwords_are_hidden(text, shown):
    assert without_passwords(text) == shown


def refused(name: str) -> None:
    raise AssertionError(f"JSON has no {name}")


@pytest.mark.daily(1)
@pytest.mark.parametrize("values", [[4.0], [None, 4.0, 5.0], [*NOISE[:12], 1e6]])
def test_as_json_it_has_what_recommend_prints_and_the_trials(tmp_path, values):
    path = study(tmp_path, SPEED + MODE, values)
    write_report(path, tmp_path / "report.json")
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=refused)
    printed = CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout
    assert json.loads(printed).items() <= found.items()
    assert [one["value"] for one in found["rows"]] == [None if v is None else v for v in values]
    assert found["decision"]["rows"][0]["name"] == "value"
    assert found["history"][-1]["trials"] == sum(value is not None for value in values)
