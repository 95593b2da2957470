"""Worker and time of trials."""

import datetime

import numpy as np
import optuna
import pytest

from surefoot import InvalidInput
from surefoot.integrations.optuna import TIME, WORKER, SurefootSampler


def study_with(attributes: list[dict], values: list[float], **options) -> optuna.Study:
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=4, **options))
    distribution = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    xs = np.random.default_rng(0).random(len(values))
    for number, (given, value) in enumerate(zip(attributes, values, strict=True)):
        trial = optuna.trial.create_trial(
            params={"x": xs[number]},
            distributions=distribution,
            value=value + (xs[number] - 0.4) ** 2,
            user_attrs=given,
        )
        trial.datetime_start = datetime.datetime.fromtimestamp(1000.0 + 10.0 * number)
        study.add_trial(trial)
    return study


def history(study: optuna.Study):
    study.ask(study.trials[0].distributions)
    return study.sampler._tracker.optimizer.history


def test_workers_and_times_are_told():
    attributes = [{WORKER: "a"}, {WORKER: 3}, {}, {TIME: 7.5}, {TIME: None}]
    study = study_with(attributes, [1.0] * 5, effects=["worker", "drift"])
    known = history(study)
    assert known.worker_names == ["a", "3"]
    assert known.workers.tolist() == [0, 1, -1, -1, -1]
    assert known.times[:4].tolist() == [1000.0, 1010.0, 1020.0, 7.5]
    assert known.times[4].isnan()


def test_by_default_times_are_not():
    known = history(study_with([{WORKER: "a"}] * 3, [1.0] * 3))
    assert known.workers.tolist() == [0, 0, 0]
    assert known.times.isnan().all()


@pytest.mark.long
@pytest.mark.parametrize(
    "given", [{WORKER: ""}, {WORKER: [1]}, {TIME: "noon"}, {TIME: float("nan")}]
)
def test_wrong_conditions_are_left_out_with_a_warning(given):
    study = study_with([{}] * 3 + [given], [1.0] * 4, effects=["worker", "drift"])
    with pytest.warns(UserWarning, match="trial 3 has wrong conditions"):
        known = history(study)
    assert known.workers.tolist() == [-1] * 4
    assert known.times[3].isnan()


def test_a_drift_and_workers_are_predicted_apart():
    """Values of the second half are larger by 1, those of a worker by 0.6."""
    noise = 0.03 * np.random.default_rng(1).standard_normal(40)
    values = noise + (np.arange(40) >= 20) + 0.6 * (np.arange(40) % 2)
    attributes = [{WORKER: "ab"[number % 2]} for number in range(40)]
    study = study_with(attributes, values.tolist(), effects=["worker", "drift"])
    belief = study.sampler.belief(study)
    assert set(belief.effects) == {"worker", "drift"}
    drift, workers = belief.drift({"x": 0.4}), belief.workers({"x": 0.4})
    assert drift.trials == list(range(40))
    assert np.mean(drift.mean[20:]) - np.mean(drift.mean[:20]) == pytest.approx(1.0, abs=0.2)
    assert (drift.lower <= drift.mean).all()
    assert workers["b"][0] - workers["a"][0] == pytest.approx(0.6, abs=0.2)
    assert belief.predict([{"x": 0.4}])[0][0] == pytest.approx(1.3, abs=0.2)
    then = belief.predict([{"x": 0.4}], at=[3])[0][0]
    assert then == pytest.approx(0.3, abs=0.2)
    spread = belief.fitted.adjusted - belief.predict([trial.params for trial in study.trials])[0]
    assert np.std(spread) < 0.1


def test_without_support_there_is_nothing_to_say():
    noise = 0.03 * np.random.default_rng(1).standard_normal(24)
    study = study_with([{WORKER: "a"}] * 24, noise.tolist(), effects=["worker", "drift"])
    belief = study.sampler.belief(study)
    assert belief.effects == ()
    assert belief.drift({"x": 0.4}) is None
    assert belief.workers({"x": 0.4}) == {}
    assert belief.fitted.adjusted is belief.fitted.values


def test_effects_of_a_sampler_are_names():
    with pytest.raises(InvalidInput, match="`effects` is 'clock', expected"):
        SurefootSampler(effects=["clock"])
