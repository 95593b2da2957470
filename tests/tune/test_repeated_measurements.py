"""`[repeats]`: the best known configurations are measured again, and unstable ones avoided."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial

import surefoot as sf
from support.study_doubles import BENCH, COMMAND, STUDY, Scripted, measurement
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Measurement
from surefoot.tune.report.collect import collect
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise, unstable_note, unstable_trials
from surefoot.tune.study.opened_study import OpenedStudy, create_study, open_study
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune

optuna.logging.set_verbosity(optuna.logging.WARNING)


def having(*tables: str) -> tuple[str, str]:
    return "[parameters]", "\n".join([*tables, "[parameters]"])


def is_shaky(params: dict) -> bool:
    return abs(params["share"] - 0.3) < 0.05 and params["mode"] == "OFF"


class Shaky(Scripted):
    """A valley with 1 % noise; from 0.25 to 0.35 of one mode, every other run is slow."""

    def measure(self, params: dict, stop: Stop) -> Measurement:
        self.before()
        self.asked.append(dict(params))
        generator = np.random.default_rng(len(self.asked))
        slow = is_shaky(params) and self.asked.count(params) % 2 == 0
        level = 1.0 + (params["share"] - 0.3) ** 2 + (params["mode"] == "FULL")
        noise = 1.0 + 0.01 * generator.standard_normal()
        return measurement(level * noise * (1.5 if slow else 1.0), 0.1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[OpenedStudy, Shaky]:
    """A finished study of 40 rounds, which tests only look at."""
    folder = tmp_path_factory.mktemp("repeats")
    text = STUDY.format(command=COMMAND).replace(*having("[repeats]"))
    (folder / "STUDY.toml").write_text(text)
    (folder / "bench.py").write_text(BENCH)
    objective, study_file = Shaky(), StudyFile.load(folder / "STUDY.toml")
    opened = create_study(study_file)
    tune(
        StudyTrials(opened, 40, "a run", "here/w0"),
        objective,
        Stop(),
    )
    return open_study(folder / "STUDY.toml"), objective


@pytest.mark.long
class TestStudy:
    def test_the_best_known_configurations_are_measured_again(self, finished) -> None:
        _, objective = finished
        runs = Counter(map(str, objective.asked[:34]))  # of the search
        assert 3 <= max(runs.values()) <= 10
        assert len(runs) >= 17  # at most every second one

    def test_no_unstable_configuration_is_recommended(self, finished) -> None:
        """Whether or not one was measured so often that it is named."""
        opened, objective = finished
        state, shaky = opened.state(), [one for one in objective.asked if is_shaky(one)]
        assert len(shaky) >= 4  # the search has been there
        best = summarise(opened).recommended
        assert best is not None
        assert not is_shaky(best.params)
        for number in unstable_trials(state):
            assert is_shaky(state.trials[number].params)


def shaken(study_file: StudyFile) -> OpenedStudy:
    """Eight configurations, each measured three times, of which one, from trial 6 on, is slow."""
    opened = create_study(study_file)
    for number in range(24):
        share = number // 3 / 8
        slow = share == 0.25 and number % 3
        params = {"size": 512, "share": share, "mode": "OFF"}
        value = 1.0 + share / 10 + 0.001 * (number % 3) + (0.5 if slow else 0.0)
        opened.study.add_trial(
            create_trial(params=params, distributions=study_file.distributions, value=value)
        )
    return opened


def test_a_configuration_that_is_slow_every_other_time_is_named(write_study) -> None:
    state = shaken(StudyFile.load(write_study(having("[repeats]")))).state()
    assert unstable_trials(state) == [6]
    assert state.recommendation.params not in state.belief.unstable
    assert "measured first in trial 6" in unstable_note(state)
    best = replace(state.recommendation, params=state.belief.unstable[0])
    vars(state)["recommendation"] = best
    assert "among them" in unstable_note(state)


@pytest.mark.long
def test_the_report_names_unstable_configurations(write_study) -> None:
    found = collect(shaken(StudyFile.load(write_study(having("[repeats]")))).state())
    assert any(
        "1 configuration is unstable, measured first in trial 6" in s
        for s in found.findings.warnings
    )


def test_without_the_table_there_are_none(write_study) -> None:
    study_file = StudyFile.load(write_study())
    assert (study_file.repeats.most, study_file.repeats.unstable) == (1, False)
    told = StudyFile.load(write_study(having("[repeats]", "most = 4", "unstable = false")))
    assert (told.repeats.most, told.repeats.unstable) == (4, False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[repeats]\nmost = 0", "repeats.most: got 0, expected a whole number of at least 1"),
        ("[repeats]\nmost = 2.5", "repeats.most: got 2.5, expected a whole number"),
        ("[repeats]\nunstable = 0", "repeats.unstable: got 0.0, expected a share above 0"),
        ("[repeats]\nunstable = true", "repeats.unstable: got True, expected a share above 0"),
        ("[repeats]\nunstable = nan", "repeats.unstable: got nan, expected a share above 0"),
        (
            '[repeats]\nunstable = "0.2"',
            "repeats.unstable: got '0.2', expected a share above 0",
        ),
        ("[repeats]\nmots = 2", "repeats.mots: unknown key; did you mean `most`?"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(write_study, table, message) -> None:
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(having(table)))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


class TestSampler:
    @pytest.mark.long
    def test_a_repeat_has_exactly_the_same_parameters(self) -> None:
        """Also where encoding and decoding round."""
        sampler = SurefootSampler(seed=0, repeats=10)
        study = optuna.create_study(sampler=sampler)

        def objective(trial: optuna.Trial) -> float:
            x = trial.suggest_float("x", 1e-3, 10.0, log=True)
            return (math.log10(x) - 0.3) ** 2 + trial.suggest_int("n", 1, 9)

        study.optimize(objective, 22)
        runs = Counter(tuple(trial.params.items()) for trial in study.trials)
        assert 2 <= max(runs.values()) <= 10

    @pytest.mark.parametrize(
        ("option", "value"), [("repeats", 0), ("repeats", 1.5), ("unstable", 0), ("unstable", "x")]
    )
    def test_wrong_options_are_refused(self, option: str, value: object) -> None:
        with pytest.raises(sf.InvalidInput, match=option):
            SurefootSampler(**{option: value})
