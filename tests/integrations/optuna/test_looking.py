"""What a model of a study shows: conditional spaces, studies of others, and no trace in the run."""

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import FixedTrial, Trial, create_trial

import surefoot as sf
from support.samplers import largest_gains
from surefoot.integrations.optuna import SurefootSampler
from surefoot.parameters.encoding import Encoding

LINE = {"x": FloatDistribution(0.0, 1.0)}


def conditional(trial: Trial | FixedTrial) -> float:
    """Best (0) with a forest of depth 6."""
    trial.suggest_int("version", 3, 3)
    if trial.suggest_categorical("model", ["forest", "svm"]) == "forest":
        return (trial.suggest_int("depth", 1, 10) - 6) ** 2 / 25.0
    return 0.5 + abs(trial.suggest_float("C", 0.0, 1.0) - 0.5)


class TestConditionalSpaces:
    @pytest.mark.long
    def test_a_recommendation_is_complete(self) -> None:
        study = optuna.create_study(sampler=RandomSampler(seed=0))
        study.optimize(conditional, 30)
        study.sampler = SurefootSampler(seed=0)
        study.optimize(conditional, 4)
        best = study.sampler.belief(study).recommend()
        assert set(best.params) == {"model", "depth", "version"}
        assert conditional(FixedTrial(best.params)) <= 0.05
        assert best.lower <= best.value <= best.upper

    def test_a_constant_parameter_is_part_of_it(self) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        study.optimize(
            lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("only", 4, 4), 4
        )
        assert study.sampler.belief(study).recommend().params["only"] == 4

    def test_a_search_space_that_no_trial_fills_is_modelled(self) -> None:
        space = {"depth": IntDistribution(1, 10), "C": FloatDistribution(0.0, 1.0)}
        study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=space))
        study.optimize(conditional, 12)  # some have one of the two, and some the other
        found = study.sampler.belief(study)
        assert len(found.trials) == 12
        assert conditional(FixedTrial(found.recommend().params)) == 0.0

    def test_values_out_of_its_range_say_so(self) -> None:
        study = optuna.create_study()
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 2)
        sampler = SurefootSampler(search_space={"x": FloatDistribution(2.0, 3.0)})
        with pytest.raises(sf.SurefootError, match="out of range: 'x' in 2"):
            sampler.belief(study)


class TestStudiesOfOthers:
    @pytest.mark.long
    def test_a_loaded_study_needs_no_sampler(self, tmp_path) -> None:
        storage = f"sqlite:///{tmp_path}/study.db"
        study = optuna.create_study(study_name="s", storage=storage)
        study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, 12)
        loaded = optuna.load_study(study_name="s", storage=storage)
        before = [trial.system_attrs for trial in loaded.trials]
        best = SurefootSampler().belief(loaded).recommend()
        assert best.params["x"] == pytest.approx(0.3, abs=0.1)
        assert [trial.system_attrs for trial in loaded.trials] == before

    @pytest.mark.long
    def test_one_sampler_looks_at_several(self, tmp_path) -> None:
        storage, sampler = f"sqlite:///{tmp_path}/study.db", SurefootSampler(seed=0)
        for name in ("x", "y"):
            study = optuna.create_study(study_name=name, storage=storage)
            study.optimize(lambda trial, name=name: trial.suggest_float(name, 0.0, 1.0), 3)
            assert set(sampler.belief(study).recommend().params) == {name}

    @pytest.mark.parametrize("wrong", [None, "s", 3])
    def test_what_is_no_study(self, wrong: object) -> None:
        with pytest.raises(sf.InvalidInput, match=r"optuna.load_study"):
            SurefootSampler().belief(wrong)


def in_pairs(look: bool) -> list[dict]:
    """A run of two trials at a time, with a look between their ends."""
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    other = optuna.create_study()
    other.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 3)
    for _ in range(6):  # the first four are of the initial design
        pair = [study.ask(LINE) for _ in range(2)]
        for trial in reversed(pair):
            study.tell(trial, (trial.params["x"] - 0.3) ** 2 + 0.1 * (trial.number % 3))
            if look:
                study.sampler.belief(study).recommend()
                study.sampler.belief(other).recommend()
    return [trial.params for trial in study.trials]


@pytest.mark.long
def test_looking_between_the_ends_of_parallel_trials_changes_nothing() -> None:
    assert in_pairs(look=True) == in_pairs(look=False)


@pytest.mark.long
def test_a_model_stays_as_it_is_when_the_study_goes_on() -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=4))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 5)
    belief = study.sampler.belief(study)
    before = belief.recommend()
    gains = largest_gains(belief, before.params)
    study.optimize(lambda trial: 5.0 - trial.suggest_float("x", 0.0, 1.0), 3)
    assert belief.recommend() == before
    assert (largest_gains(belief, before.params) == gains).all()


@pytest.mark.long
def test_a_trial_that_was_looked_at_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []
    encode = Encoding.encode
    monkeypatch.setattr(Encoding, "encode", lambda self, p: (encoded.append(p), encode(self, p))[1])
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    for _ in range(9):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 1)
        study.sampler.belief(study)
        study.sampler.belief(study)
    assert len(encoded) <= 2 * 9 + 4


@pytest.mark.long
def test_a_belief_stays_as_it_is_when_another_is_formed_without_a_trial_in_between() -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=4))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 5)
    belief = study.sampler.belief(study)
    before = belief.predict([{"x": 0.5}]), largest_gains(belief, {"x": 0.5})
    study.add_trials(
        [create_trial(params={"x": x}, distributions=LINE, value=9.0 + x) for x in (0.4, 0.5, 0.6)]
    )
    later = study.sampler.belief(study)
    assert later.predict([{"x": 0.5}])[0] > before[0][0] + 1.0
    np.testing.assert_array_equal(belief.predict([{"x": 0.5}]), before[0])
    np.testing.assert_array_equal(largest_gains(belief, {"x": 0.5}), before[1])


@pytest.mark.long
def test_a_belief_of_given_trials_knows_no_others() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 5)
    trials = study.get_trials(deepcopy=False)
    past = SurefootSampler(seed=0).belief(study, trials[:3])
    assert past.trials == [0, 1, 2]
    assert SurefootSampler(seed=0).belief(study, trials).trials == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", [["x"], {"x": (0, 1)}, {3: FloatDistribution(0, 1)}, "x"])
def test_wrong_search_spaces(wrong: object) -> None:
    with pytest.raises(sf.InvalidInput, match="search_space"):
        SurefootSampler(search_space=wrong)


@pytest.mark.long
def test_the_interval_of_a_difference_integrates_over_the_hyperparameters() -> None:
    """It is that of functions drawn from the integrated posterior, and microscale variation."""
    study, noise = optuna.create_study(sampler=SurefootSampler(seed=0)), np.random.default_rng(0)
    study.optimize(
        lambda t: np.sin(6 * t.suggest_float("x", 0, 1)) + 0.3 * noise.standard_normal(), 12
    )
    assert isinstance(study.sampler, SurefootSampler)
    belief, pair = study.sampler.belief(study), [{"x": 0.9}, {"x": 0.2}]
    _, lower, upper = belief.difference(*pair)
    points = belief.points(pair)
    drawn = belief.belief.draws(points, 8192)
    length = 2 * 1.96 * float((drawn[0] - drawn[1]).std())
    assert 0.97 * length < upper - lower < 1.3 * length
    covariance = belief.belief.posterior.joint(points).covariance
    known = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert length > 1.3 * 2 * 1.96 * known**0.5


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_writing_into_values_and_weights_changes_no_run(direction: str) -> None:
    study = optuna.create_study(direction=direction, sampler=SurefootSampler(seed=0, initial=4))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 6)
    assert isinstance(study.sampler, SurefootSampler)
    belief = study.sampler.belief(study)
    belief.fitted.values[:], belief.weights[:] = 1e9, 0.0
    again = study.sampler.belief(study)
    assert again.fitted.values.tolist() == [trial.value for trial in study.trials]
    assert bool((again.weights > 0.0).all())
