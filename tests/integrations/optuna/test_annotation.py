"""Copies of studies whose trials carry what the model says of them."""

import warnings

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import surefoot as sf
from surefoot.integrations.optuna import (
    ENVIRONMENT,
    StudyEnvironment,
    SurefootSampler,
    annotated,
    belief,
)
from surefoot.types import InvalidInput, NotReady

NAMES = ("predicted", "predicted lower", "predicted upper", "model weight")


def measure(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if trial.number == 7:
        raise optuna.TrialPruned
    if trial.number == 8:
        raise ValueError
    return (x - 0.3) ** 2 + (50.0 if trial.number == 5 else 0.0)


def one_objective() -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), study_name="one")
    study.optimize(measure, n_trials=20, catch=ValueError)
    study.set_user_attr("host", "rack 2")
    return study


def rows(study: optuna.Study, before: str = "") -> np.ndarray:
    """The attributes (n, 4) of the trials that have them."""
    names = [f"{before}{name}" for name in NAMES]
    known = [one.user_attrs for one in study.trials if names[0] in one.user_attrs]
    return np.array([[attributes[name] for name in names] for attributes in known])


@pytest.mark.long
def test_trials_have_the_prediction_and_weight_of_the_model():
    study = one_objective()
    found, model = annotated(study), belief(study).objectives["value"]
    inside = [one for one in study.trials if one.number in model.trials]
    order = [model.trials.index(one.number) for one in inside]
    expected = [*model.predict([one.params for one in inside]), model.weights[order]]
    np.testing.assert_array_equal(rows(found).T, expected)
    attributes = found.trials[5].user_attrs
    assert attributes["predicted upper"] < 10.0 < found.trials[5].value
    assert attributes["model weight"] < 0.1
    assert "predicted" not in found.trials[8].user_attrs  # it failed


def test_all_else_is_copied_and_the_study_stays(tmp_path):
    study = one_objective()
    study.enqueue_trial({"x": 0.5})
    study.ask()
    study.enqueue_trial({"x": 0.25})
    before = study.trials
    storage = f"sqlite:///{tmp_path / 'copy.db'}"
    found = annotated(study, storage, "copy")
    assert (found.study_name, found.direction, found.user_attrs["host"]) == (
        "copy",
        study.direction,
        "rack 2",
    )
    assert study.trials == before
    again = optuna.load_study(study_name="copy", storage=storage)
    for one, other in zip(again.trials, before, strict=True):
        kept = {name: value for name, value in one.user_attrs.items() if name not in NAMES}
        assert (one.state, one.values, one.params, kept) == (
            other.state,
            other.values,
            other.params,
            other.user_attrs,
        )
        assert (one.datetime_start, one.distributions) == (
            other.datetime_start,
            other.distributions,
        )
    assert [one.state for one in again.trials[-2:]] == [TrialState.RUNNING, TrialState.WAITING]
    with pytest.raises(InvalidInput, match="has a study 'copy' already, expected a new name"):
        annotated(study, storage, "copy")


def test_several_objectives_have_names():
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(["cost", "speed"])
    study.optimize(lambda trial: ((x := trial.suggest_float("x", 0, 1)), x**0.5), n_trials=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = annotated(study)
    assert found.metric_names == ["cost", "speed"]
    values = np.array([one.values for one in study.trials])
    for index, name in enumerate(("cost", "speed")):
        assert abs(rows(found, f"{name} ")[:, 0] - values[:, index]).max() < 0.1


def test_a_value_is_predicted_under_the_environment_of_its_trial():
    load = sf.FiniteEnvironment([[0.0], [10.0]], [0.5, 0.5])
    environment = StudyEnvironment("load", load, observed=True)
    sampler = SurefootSampler(sf.Problem(environment=environment, risk=sf.VaR(0.5)), seed=0)
    study = optuna.create_study(sampler=sampler)

    def loaded(trial: optuna.Trial) -> float:
        trial.set_user_attr(ENVIRONMENT, {"load": 10.0 * (trial.number % 2)})
        return trial.suggest_float("x", 0, 1) + 10.0 * (trial.number % 2)

    study.optimize(loaded, n_trials=14)
    predicted = rows(annotated(study))[:, 0]
    assert abs(predicted - [one.value for one in study.trials]).max() < 1.0


@pytest.mark.long
def test_a_branch_is_predicted_by_its_own_model():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def branched(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("x", 0, 1)
        return 100.0 + trial.suggest_float("y", 0, 1)

    study.optimize(branched, n_trials=24)
    predicted = rows(annotated(study))[:, 0]
    assert abs(predicted - [one.value for one in study.trials]).max() < 1.0


@pytest.mark.long
def test_views_of_optuna_draw_the_attributes():
    found = annotated(one_objective())

    def target(trial: optuna.trial.FrozenTrial) -> float:
        return trial.user_attrs["predicted"]

    figure = optuna.visualization.plot_slice(found, target=target, target_name="predicted")
    assert max(figure.data[0].y) < 10.0  # without the outlier
    optuna.visualization.plot_contour(found, target=target, target_name="predicted")


@pytest.mark.parametrize("study", [None, 3, "study"])
def test_what_is_no_study_is_refused(study):
    with pytest.raises(InvalidInput, match="expected a study"):
        annotated(study)


def test_a_study_without_a_value_is_refused_and_no_copy_is_made(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'copy.db'}")
    with pytest.raises(NotReady):
        annotated(optuna.create_study(), storage, "copy")
    assert not storage.get_all_studies()


def test_attributes_of_the_user_are_not_replaced():
    study = one_objective()
    with pytest.raises(InvalidInput, match="has the user attribute 'model weight' already"):
        annotated(annotated(study))


def test_a_trial_that_optuna_refuses_is_left_out_with_a_warning() -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.enqueue_trial({"x": 9.0})
    with warnings.catch_warnings(action="ignore"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 6)
    with pytest.warns(UserWarning, match="trial 0 is left out of the copy"):
        found = annotated(study)
    assert [one.params for one in found.trials] == [one.params for one in study.trials[1:]]
