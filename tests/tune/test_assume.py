"""`[assume]` in a study file: the sentence that is proved, or why nothing is."""

import functools
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import surefoot as sf
from surefoot._internal.html import at_least, at_most
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune import open_study, summarise
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.report import write_report
from surefoot.tune.study.opened_study import OpenedStudy, create_study

ASSUME = "[assume]\nnorm = 4\nlengthscale = [0.3, 0.6]\nnoise = 0.2\ncenter = 60\n"
TEXT = """
study = {{ name = "s", direction = "{direction}", rounds = 40, initial = 40 }}
objective = {{ unit = "ms" }}
parameters = {{ x = {{ type = "float", low = 0, high = 10 }} }}
{assume}
"""
ERRORS = (0.01 * np.random.default_rng(0).standard_normal(40)).tolist()
SIGNS = {"minimize": 1.0, "maximize": -1.0}


@functools.cache
def measured(
    direction: str, assume: str, failed: int
) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Values 60 + (x / 10 - 0.3)^2, whose best one is known, with the sign of the direction."""
    made = tempfile.TemporaryDirectory()
    (path := Path(made.name) / "s.toml").write_text(TEXT.format(direction=direction, assume=assume))
    opened = create_study(StudyFile.load(path))
    trials = []
    for row in range(40):
        x = 0.5 * (row % 20)
        value = 60.0 + SIGNS[direction] * (x / 10.0 - 0.3) ** 2 + ERRORS[row]
        trials.append(
            optuna.create_trial(
                params={"x": x},
                distributions=opened.study_file.distributions,
                state=TrialState.FAIL if row < failed else TrialState.COMPLETE,
                value=None if row < failed else value,
            )
        )
    opened.study.add_trials(trials)
    _ = summarise(open_study(path)).statements  # the fit is kept beside the study
    return made, path


def told(
    folder: Path, direction: str = "minimize", assume: str = ASSUME, failed: int = 0
) -> OpenedStudy:
    """A copy of a study of forty measurements."""
    _, path = measured(direction, assume, failed)
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    return open_study(folder / path.name)


def expected(direction: str) -> sf.beliefs.Belief:
    """The belief of the same rewards, which are maximised."""
    known = sf.Assumptions(norm=4.0, lengthscale=[0.3, 0.6], noise=0.2)
    problem = sf.Problem(sf.Box([0.0], [1.0]), assume=known)
    optimizer = sf.Optimizer(problem, sf.algorithms.robust(problem), seed=0)
    x = [0.05 * (row % 20) for row in range(40)]
    y = [-((one - 0.3) ** 2) - SIGNS[direction] * ERRORS[row] for row, one in enumerate(x)]
    optimizer.tell_all([[one] for one in x], y)
    return optimizer.belief()


@pytest.mark.long
@pytest.mark.parametrize("direction", SIGNS)
def test_it_is_in_the_units_and_the_direction_of_the_study(tmp_path: Path, direction: str) -> None:
    opened = told(tmp_path, direction)
    findings = summarise(opened)
    (text,) = findings.statements
    x = findings.recommended.params["x"] / 10.0
    found = expected(direction).certificate(design=[x])
    bound = 60.0 - SIGNS[direction] * found.lower
    side = f"most {at_most(bound)}" if direction == "minimize" else f"least {at_least(bound)}"
    assert text.startswith(f"Proved: its mean is at {side} ms and within ")
    assert f"within {at_most(found.within)} ms of the best, with probability 0.95, if " in text
    assert "the noise is 0.2-sub-Gaussian" in text
    assert "f is the mean less 60 in these" in text
    assert text in findings.lines()
    assert findings.as_dict()["statements"] == [text]
    json.dumps(findings.as_dict())


@pytest.mark.long
def test_a_report_prints_it(tmp_path: Path) -> None:
    opened = told(tmp_path)
    (text,) = summarise(opened).statements
    for name in ("s.md", "s.html"):
        write_report(opened.study_file.path, tmp_path / name)
        assert text[:60] in (tmp_path / name).read_text()


@pytest.mark.long
def test_where_nothing_is_proved_it_says_why(tmp_path: Path) -> None:
    (text,) = summarise(told(tmp_path, failed=1)).statements
    assert text == "There is no certificate: measurements failed or there are constraints."


@pytest.mark.long
def test_without_assumptions_nothing_is_said(tmp_path: Path) -> None:
    assert summarise(told(tmp_path, assume="")).statements == ()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("noise = 0.2", "", "expected at least one lengthscale, and either"),
        ("noise = 0.2", "noise = -1", "is -1.0, expected a finite number above 0"),
        ("norm = 4", "", "no norm, expected some of norm, lengthscale"),
        ("norm = 4", "norms = 4", "no norm, expected some of norm, lengthscale"),
        ("norm = 4", "norm = [1, 2]", "`norm` is \\[1.0, 2.0\\], expected a finite number"),
        ("noise = 0.2", "noises = 0.2", "unknown key noises, expected some of norm"),
        ("[0.3, 0.6]", "[]", "expected at least one lengthscale"),
        ("[0.3, 0.6]", '"a"', "lengthscale: got 'a'"),
    ],
)
def test_what_cannot_be_assumed_is_refused_with_the_keys(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    assert old in ASSUME
    text = TEXT.format(direction="minimize", assume=ASSUME.replace(old, new))
    (path := tmp_path / "s.toml").write_text(text)
    with pytest.raises(StudyFileError, match=f"assume.*{named}"):
        StudyFile.load(path)


def test_the_model_of_logarithms_assumes_nothing(tmp_path: Path) -> None:
    """A study whose level drifts is compared with it, whatever is assumed of its values."""
    opened = told(tmp_path)
    trials = opened.state().trials
    assert opened.belief_of_logarithms(trials).predict([{"x": 3.0}])[0] == pytest.approx(
        60.0, abs=0.1
    )
    with pytest.raises(sf.InvalidInput, match="there is no certificate"):
        opened.belief_of_logarithms(trials).certificate({"x": 3.0})


def test_lengthscales_are_as_they_were_written(tmp_path: Path) -> None:
    (text,) = summarise(told(tmp_path)).statements
    assert "lengthscale 0.3 or MaternKernel with lengthscale 0.6" in text


@pytest.mark.long
def test_what_is_assumed_after_a_look_counts_from_then_on() -> None:
    sampler = SurefootSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=12)
    known = sf.Assumptions(norm=2.0, lengthscale=0.5, noise=0.1)
    for assumed in (known, None):
        belief = SurefootSampler(sf.Problem(assume=assumed)).belief(study)
        if assumed is None:
            with pytest.raises(sf.InvalidInput, match="there is no certificate"):
                belief.certificate({"x": 0.3})
        else:
            assert belief.certificate({"x": 0.3}).startswith("its mean is at most")
