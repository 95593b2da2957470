"""The sampler in studies as people run them: workers, failures, pickles, and what it believes."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler, QMCSampler, RandomSampler
from optuna.trial import Trial, TrialState, create_trial

import surefoot as sf
from surefoot.integrations.optuna import BLAMELESS, INTERRUPTED, SurefootSampler

Objective = Callable[[Trial], float]


def bowl(trial: Trial) -> float:
    """Best (0) at x = 2, k = 5, rate = 1e-2, mode "b"; each is of another kind."""
    x = trial.suggest_float("x", -5.0, 5.0)
    k = trial.suggest_int("k", 1, 9)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    mode = trial.suggest_categorical("mode", ["a", "b", "c"])
    value = (x - 2.0) ** 2 / 10.0 + (k - 5) ** 2 / 10.0 + (math.log10(rate) + 2.0) ** 2 / 4.0
    return value + (0.0 if mode == "b" else 0.7)


def line(trial: Trial) -> float:
    return (trial.suggest_float("x", 0.0, 10.0) - 3.0) ** 2


def run(
    objective: Objective, trials: int, seed: int = 0, direction: str = "minimize"
) -> optuna.Study:
    study = optuna.create_study(sampler=SurefootSampler(seed=seed), direction=direction)
    study.optimize(objective, trials)
    return study


def params(study: optuna.Study) -> list[dict]:
    return [trial.params for trial in study.trials]


@pytest.fixture(scope="module")
def on_line() -> optuna.Study:
    """A run that tests only look at; the first trials of a longer run are those of a shorter."""
    return run(line, 10)


@pytest.fixture(scope="module")
def three_on_line() -> optuna.Study:
    """Three trials without a search, which tests only look at."""
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(line, 3)
    return study


@pytest.fixture(scope="module")
def on_bowl() -> optuna.Study:
    return run(bowl, 12)


class TestRuns:
    def test_the_same_seed_gives_the_same_run(self, on_bowl: optuna.Study) -> None:
        assert params(run(bowl, 12)) == params(on_bowl)

    def test_another_seed_gives_another_run(self) -> None:
        assert params(run(line, 3, seed=0)) != params(run(line, 3, seed=1))

    def test_a_pickled_sampler_goes_on_with_the_same_run(self, on_bowl: optuna.Study) -> None:
        study = run(bowl, 9)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(bowl, 3)
        assert params(study) == params(on_bowl)

    @pytest.mark.long
    def test_a_pickled_sampler_before_the_first_trial(self, on_line: optuna.Study) -> None:
        sampler = pickle.loads(pickle.dumps(SurefootSampler(seed=0)))
        study = optuna.create_study(sampler=sampler)
        study.optimize(line, 6)
        assert params(study) == params(on_line)[:6]

    @pytest.mark.long
    def test_maximising_the_negative_is_the_same_run(self, on_line: optuna.Study) -> None:
        up = run(lambda trial: -line(trial), 10, direction="maximize")
        for left, right in zip(on_line.trials, up.trials, strict=False):
            assert left.params["x"] == pytest.approx(right.params["x"], abs=1e-6)

    @pytest.mark.long
    def test_values_are_of_their_distributions(self) -> None:
        def objective(trial: Trial) -> float:
            step = trial.suggest_float("step", 0.5, 2.0, step=0.25)
            odd = trial.suggest_int("odd", 1, 99, step=2)
            power = trial.suggest_int("power", 1, 2**20, log=True)
            choice = trial.suggest_categorical("choice", [None, True, 3, "x"])
            only = trial.suggest_int("only", 4, 4)
            alone = trial.suggest_categorical("alone", ["this"])
            assert only == 4
            assert alone == "this"
            assert (step - 0.5) / 0.25 == pytest.approx(round((step - 0.5) / 0.25))
            assert odd % 2 == 1
            assert isinstance(odd, int)
            assert isinstance(power, int)
            return step + odd / 99 + math.log2(power) / 20 + (choice is True)

        study = run(objective, 14)
        for trial in study.trials:
            assert trial.state == TrialState.COMPLETE
            for name, distribution in trial.distributions.items():
                assert distribution._contains(distribution.to_internal_repr(trial.params[name]))

    def test_nothing_that_can_vary(self) -> None:
        study = run(lambda trial: float(trial.suggest_int("only", 4, 4)), 4)
        assert params(study) == [{"only": 4}] * 4

    def test_some_parameters_fixed_from_outside(self) -> None:
        sampler = PartialFixedSampler({"k": 7}, SurefootSampler(seed=0))
        study = optuna.create_study(sampler=sampler)
        study.optimize(bowl, 10)
        assert {trial.params["k"] for trial in study.trials} == {7}
        assert len({trial.params["x"] for trial in study.trials}) == 10

    @pytest.mark.long
    def test_parameters_of_a_search_space_fixed_from_outside(self) -> None:
        space = {"x": FloatDistribution(0.0, 10.0), "k": IntDistribution(0, 9)}
        sampler = PartialFixedSampler({"k": 7}, SurefootSampler(seed=0, search_space=space))
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: line(trial) + trial.suggest_int("k", 0, 9), 12)
        assert {trial.params["k"] for trial in study.trials} == {7}
        assert study.best_params["x"] == pytest.approx(3.0, abs=0.1)

    @pytest.mark.long
    def test_parameters_that_come_and_go(self) -> None:
        def objective(trial: Trial) -> float:
            x = trial.suggest_float("x", 0.0, 1.0)
            return x + (trial.suggest_float("y", 0.0, 1.0) if trial.number % 3 else 0.5)

        study = run(objective, 10)
        assert len(study.get_trials(states=[TrialState.COMPLETE])) == 10

    def test_enqueued_trials_are_learnt_from(self) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        for x in (3.0, 1.0, 9.0):
            study.enqueue_trial({"x": x})
        study.optimize(line, 5)
        assert [trial.params["x"] for trial in study.trials[:3]] == [3.0, 1.0, 9.0]
        assert study.sampler.belief(study).trials == list(range(5))

    @pytest.mark.long
    def test_ask_and_tell_in_any_order(self) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        study.optimize(line, 5)
        trials = [study.ask({"x": FloatDistribution(0.0, 10.0)}) for _ in range(6)]
        assert len({round(trial.params["x"], 3) for trial in trials}) == 6
        for trial in reversed(trials):
            study.tell(trial, (trial.params["x"] - 3.0) ** 2)
        belief = study.sampler.belief(study)
        assert sorted(belief.trials) == list(range(11))
        for number, value in zip(belief.trials, belief.fitted.values, strict=True):
            assert study.trials[number].value == pytest.approx(value)

    @pytest.mark.long
    def test_parallel_trials_are_spread_out(self, on_bowl: optuna.Study) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        study.add_trials(on_bowl.trials)
        space = {"x": FloatDistribution(-5.0, 5.0)}
        fixed = {"k": IntDistribution(1, 9), "rate": FloatDistribution(1e-4, 1.0, log=True)}
        mode = {"mode": CategoricalDistribution(["a", "b", "c"])}
        trials = [study.ask({**space, **fixed, **mode}) for _ in range(5)]
        for i, left in enumerate(trials):
            for right in trials[:i]:
                same_cell = all(left.params[n] == right.params[n] for n in ("k", "mode"))
                apart = abs(left.params["x"] - right.params["x"]) / 10.0
                apart += abs(math.log10(left.params["rate"] / right.params["rate"])) / 4.0
                assert not same_cell or apart > 0.01


class TestModel:
    @pytest.mark.long
    def test_each_trial_is_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from surefoot.parameters.encoding import Encoding

        encoded: list[object] = []
        encode = Encoding.encode
        monkeypatch.setattr(
            Encoding, "encode", lambda self, p: (encoded.append(p), encode(self, p))[1]
        )
        study = run(line, 9)
        study.sampler.belief(study)
        # Once as it runs, empty, in its own ask; once when it has finished.
        assert len(encoded) <= 2 * 9 + 2

    def test_a_new_sampler_on_an_old_study_reads_it_all(self, on_bowl: optuna.Study) -> None:
        assert SurefootSampler(seed=5).belief(on_bowl).trials == list(range(12))

    def test_one_sampler_on_two_studies_of_one_name(self) -> None:
        sampler = SurefootSampler(seed=0)
        first = optuna.create_study(study_name="same", sampler=sampler)
        first.optimize(line, 8)
        second = optuna.create_study(study_name="same", sampler=sampler)
        second.optimize(lambda trial: -line(trial), 4)
        belief = sampler.belief(second)
        assert belief.trials == [0, 1, 2, 3]
        np.testing.assert_allclose(belief.fitted.values, [trial.value for trial in second.trials])

    @pytest.mark.long
    def test_belief_in_the_studys_units(self) -> None:
        generator = np.random.default_rng(0)
        study = optuna.create_study(sampler=QMCSampler(seed=0))
        study.optimize(lambda trial: 1e4 + 100.0 * bowl(trial) + generator.normal(), 25)
        study.sampler = SurefootSampler(seed=0)
        study.optimize(lambda trial: 1e4 + 100.0 * bowl(trial) + generator.normal(), 3)
        belief = study.sampler.belief(study)
        best = {"x": 2.0, "k": 5, "rate": 1e-2, "mode": "b"}
        settings = [best, *(trial.params for trial in study.trials[-5:])]
        mean, lower, upper = belief.predict(settings)
        assert bool(((lower <= mean) & (mean <= upper)).all())
        assert float(mean[0]) == pytest.approx(1e4, abs=60.0)
        found = belief.recommend()
        assert found.lower <= found.value <= found.upper
        assert found.value == pytest.approx(1e4, abs=60.0)
        assert bowl(optuna.trial.FixedTrial(found.params)) < 0.5
        assert 0.0 < belief.fitted.noise_scale < 60.0
        assert belief.weights.shape == belief.fitted.values.shape == belief.outliers.shape == (28,)
        assert "Student-t" in belief.fitted.assumed

    @pytest.mark.long
    @pytest.mark.parametrize("direction", ["minimize", "maximize"])
    def test_intervals_cover_a_known_function(self, direction: str) -> None:
        sign = 1.0 if direction == "minimize" else -1.0
        generator = np.random.default_rng(1)

        def known(x: np.ndarray | float) -> np.ndarray | float:
            return sign * (50.0 + 10.0 * np.cos(x))

        study = optuna.create_study(sampler=SurefootSampler(seed=0), direction=direction)
        space = {"x": FloatDistribution(0.0, 10.0)}
        for x in np.linspace(0.0, 10.0, 30):
            measured = known(x) + generator.normal()
            study.add_trial(create_trial(params={"x": x}, distributions=space, value=measured))
        at = np.linspace(0.4, 9.6, 12)
        mean, lower, upper = study.sampler.belief(study).predict([{"x": x} for x in at])
        np.testing.assert_allclose(mean, known(at), atol=3.0)
        assert int(((lower <= known(at)) & (known(at) <= upper)).sum()) >= 9

    @pytest.mark.long
    def test_outliers_are_seen_as_such(self) -> None:
        generator = np.random.default_rng(2)

        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        for number, x in enumerate(generator.uniform(0.0, 10.0, 30)):
            spike = 500.0 if number in (11, 17, 23) else 0.0
            measured = (x - 3.0) ** 2 + 0.3 * generator.normal() + spike
            space = {"x": FloatDistribution(0.0, 10.0)}
            study.add_trial(create_trial(params={"x": x}, distributions=space, value=measured))
        belief = study.sampler.belief(study)
        hit = dict(zip(belief.trials, belief.outliers, strict=True))
        assert all(hit[number] for number in (11, 17, 23))
        assert sum(hit.values()) <= 8
        assert belief.recommend().params["x"] == pytest.approx(3.0, abs=1.0)

    def test_belief_without_a_finished_trial(self) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        with pytest.raises(sf.SurefootError, match="no finished trial"):
            study.sampler.belief(study)

    def test_belief_of_a_study_in_which_nothing_varies_says_so(self) -> None:
        study = run(lambda trial: float(trial.suggest_int("only", 4, 4)), 3)
        with pytest.raises(sf.SurefootError) as caught:
            study.sampler.belief(study)
        assert "no finished trial" not in str(caught.value)

    def test_belief_of_a_study_without_a_common_parameter_says_what_to_do(self) -> None:
        study = run(lambda trial: trial.suggest_float(f"x{trial.number}", 0.0, 1.0), 3)
        with pytest.raises(sf.SurefootError, match=r"in common.*pass the `search_space`"):
            study.sampler.belief(study)

    @pytest.mark.parametrize(("log", "value"), [(False, math.inf), (True, -1.0)])
    def test_belief_of_values_that_cannot_be_modelled_says_why(
        self, log: bool, value: float
    ) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0, log=log))
        study.optimize(lambda trial: value + 0.0 * trial.suggest_float("x", 0.0, 1.0), 3)
        why = r"above 0: leave out `log=True`" if log else r"a finite value\.$"
        with pytest.raises(sf.SurefootError, match=f"none of the 3 finished trials.*{why}"):
            study.sampler.belief(study)

    @pytest.mark.daily(3)
    @pytest.mark.parametrize(
        "setting",
        [
            {},
            {"x": 11.0},
            {"y": 1.0},
            {"x": "a"},
            {"x": math.nan},
            {"x": 10**400},
            {"x": [1.0]},
            None,
            3,
            "x",
            ["x"],
        ],
        ids=lambda setting: repr(setting)[:20],
    )
    def test_predicting_what_is_not_of_the_study(
        self, setting: Any, three_on_line: optuna.Study
    ) -> None:
        belief = SurefootSampler().belief(three_on_line)
        for call in (
            lambda: belief.predict([setting]),
            lambda: belief.assess([setting]),
            lambda: belief.difference({"x": 1.0}, setting),
            lambda: belief.probability_of_gain(setting, 0.1),
        ):
            with pytest.raises(sf.InvalidInput, match=r"is not a configuration.*values for x.*'x'"):
                call()

    def test_what_a_prediction_is_asked_for(self, three_on_line: optuna.Study) -> None:
        belief = SurefootSampler().belief(three_on_line)
        for settings in (None, 3, "x", {"x": 1.0}):
            with pytest.raises(sf.InvalidInput, match=r"`settings` is .*expected a list"):
                belief.predict(settings)
            with pytest.raises(sf.InvalidInput, match="`settings` is"):
                belief.points(settings)
        assert [len(part) for part in belief.predict([])] == [0, 0, 0]
        assert [len(call([])) for call in (belief.assess, belief.feasibility)] == [0, 0]
        for trials in (0, "a", [0, 1], [77], ["a"]):
            with pytest.raises(sf.InvalidInput, match=r"`at` is .*number of a trial"):
                belief.predict([{"x": 1.0}], at=trials)
        for gain in ("a", None, math.nan, [0.1]):
            with pytest.raises(sf.InvalidInput, match="`gain` is"):
                belief.probability_of_gain({"x": 1.0}, gain)

    @pytest.mark.long
    def test_looking_does_not_change_the_run(self, on_line: optuna.Study) -> None:
        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        for _ in range(8):
            study.optimize(line, 1)
            study.sampler.belief(study).recommend()
        assert params(study) == params(on_line)[:8]


class TestFailures:
    @pytest.mark.long
    def test_failed_trials_are_avoided(self) -> None:
        def objective(trial: Trial) -> float:
            value = line(trial)
            if abs(trial.params["x"] - 3.0) < 1.5:
                raise RuntimeError
            return value

        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        study.optimize(objective, 15, catch=RuntimeError)
        failed = [t.params["x"] for t in study.trials if t.state == TrialState.FAIL]
        assert failed
        assert len(failed) <= 7
        assert len({round(x, 2) for x in failed}) >= 0.6 * len(failed)

    @pytest.mark.long
    @pytest.mark.parametrize("value", [math.inf, math.nan])
    def test_values_that_are_not_finite_are_not_asked_for_again_and_again(
        self, value: float
    ) -> None:
        def objective(trial: Trial) -> float:
            measured = line(trial)
            return value if abs(trial.params["x"] - 3.0) < 1.5 else measured

        study = run(objective, 12)
        numbers = study.sampler.belief(study).trials
        assert len(numbers) >= 6

    @pytest.mark.long
    def test_trials_that_say_nothing_are_passed_over(self, on_line: optuna.Study) -> None:
        study = run(line, 8)
        for mark in (INTERRUPTED, BLAMELESS):
            study.add_trial(
                create_trial(
                    state=TrialState.FAIL,
                    params={"x": 3.0},
                    distributions={"x": FloatDistribution(0.0, 10.0)},
                    user_attrs={mark: True},
                )
            )
        study.optimize(line, 2)
        assert params(study)[10:] == params(on_line)[8:10]

    def test_a_pruned_trial_without_equals_has_failed(self) -> None:
        def objective(trial: Trial) -> float:
            if trial.number == 3:
                trial.report(1e9, 0)
                line(trial)
                raise optuna.TrialPruned
            return line(trial)

        study = run(objective, 5)
        belief = study.sampler.belief(study)
        assert belief.trials == [0, 1, 2, 4]
        assert len(study.sampler._tracker.optimizer._told.failures.all) == 1

    @pytest.mark.parametrize(
        "wrong",
        [{"seed": -1}, {"seed": 1.5}, {"initial": -1}, {"device": "nowhere"}, {"device": "meta"}],
    )
    def test_wrong_arguments(self, wrong: dict) -> None:
        with pytest.raises(sf.InvalidInput, match=next(iter(wrong))):
            SurefootSampler(**wrong)


@pytest.mark.long
def test_two_threads_share_a_sampler() -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(line, 12, n_jobs=2)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert sorted(study.sampler.belief(study).trials) == list(range(12))


@pytest.mark.long
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_values_are_not_rounded_before_the_model_sees_them(offset: float) -> None:
    study = optuna.create_study()
    x = FloatDistribution(0.0, 1.0)
    for place in np.arange(24) / 24:
        value = offset + 10.0 * (place - 0.3) ** 2
        trial = create_trial(params={"x": place}, distributions={"x": x}, value=value)
        study.add_trial(trial)
    belief = SurefootSampler(seed=0).belief(study)
    assert abs(belief.recommend().params["x"] - 0.3) < 0.05
    assert belief.fitted.values.tolist() == [trial.value for trial in study.trials]


@pytest.mark.long
def test_finite_values_of_any_size_are_measurements() -> None:
    def steep(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return 1.7e308 if x > 0.8 else (x - 0.3) ** 2

    study = run(steep, 12)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert study.sampler.belief(study).recommend().params["x"] < 0.8


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_the_chance_of_a_gain_needs_no_noise(seed: int) -> None:
    draw = np.random.default_rng(seed)
    unit = FloatDistribution(0.0, 1.0)
    study = optuna.create_study()
    for x, y in draw.random((25, 2)):
        value = (x - 0.3) ** 2 + (y - 0.6) ** 2
        params, both = {"x": x, "y": y}, {"x": unit, "y": unit}
        study.add_trial(create_trial(params=params, distributions=both, value=value))
    belief = SurefootSampler(seed=0).belief(study)
    assert 0.0 <= belief.probability_of_gain(belief.recommend().params, 0.01) <= 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("low", "high", "step"), [(0.1, 0.7, 0.1), (0.0, 1.2, 0.4), (-31.1, -0.3, 0.7)]
)
def test_the_last_value_of_a_grid_may_have_a_rounding_error(
    low: float, high: float, step: float
) -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(lambda t: abs(t.suggest_float("x", low, high, step=step) - high), 12)
    assert study.best_params == {"x": high}


def test_values_of_a_grid_are_the_same_but_for_rounding() -> None:
    study = optuna.create_study()
    for x in (0.6, 0.6000000000000001, 0.1):  # Optuna's samplers propose the second
        grid = {"x": FloatDistribution(0.0, 1.0, step=0.1)}
        study.add_trial(create_trial(params={"x": x}, distributions=grid, value=x))
    mean, _, _ = SurefootSampler().belief(study).predict([{"x": 0.6}, {"x": 0.6000000000000001}])
    assert mean[0] == mean[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("low", "high", "best"), [(1.0, 256.0, 3.0), (1e-6, 1e-3, 8e-6), (0.1, 7.0, 0.1 + 0.2)]
)
def test_a_measured_value_comes_back_as_it_was(low: float, high: float, best: float) -> None:
    """Logarithms and back change the last bits: that would be another configuration."""
    sampler = SurefootSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({"x": best})
    study.optimize(
        lambda trial: 1 + abs(math.log(trial.suggest_float("x", low, high, log=True) / best)), 14
    )
    values = [trial.params["x"] for trial in study.trials]
    assert sampler.belief(study).recommend().params == {"x": best}
    assert not [one for one in values if one != best and abs(one / best - 1.0) < 1e-12]


def test_a_study_whose_trials_have_nothing_in_common_is_said_to_be_sampled_at_random() -> None:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    hi = optuna.distributions.CategoricalDistribution(["hi"])
    study.add_trial(
        optuna.trial.create_trial(params={"x": "hi"}, distributions={"x": hi}, value=20.0)
    )
    with pytest.warns(UserWarning, match="values of x are sampled at random.*`search_space`"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 10.0), n_trials=3)


@pytest.mark.long
def test_a_study_that_is_loaded_again_goes_on(tmp_path):
    """With the sampler that it had, which knows it by what it has read of it."""
    space = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
    found = []
    for again in ((), (2, 5, 9, 10)):
        storage = f"sqlite:///{tmp_path}/{len(again)}.db"
        sampler = SurefootSampler(seed=3, search_space=space)
        study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
        for number in range(12):
            if number in again:
                sampler.belief(study)
                study = optuna.load_study(study_name="s", storage=storage, sampler=sampler)
            trial = study.ask(space)
            study.tell(trial, (trial.params["x"] - 0.3) ** 2 + (trial.params["y"] - 0.6) ** 2)
        found.append([list(one.params.values()) for one in study.trials])
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.long
def test_another_study_of_the_same_name_is_another(tmp_path):
    space = {"x": FloatDistribution(0.0, 1.0)}
    sampler, values = SurefootSampler(seed=3, search_space=space), []
    for name in "ab":
        storage = f"sqlite:///{tmp_path}/{name}.db"
        study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
        for _ in range(3):
            trial = study.ask(space)
            study.tell(trial, trial.params["x"] + 10.0 * (name == "b"))
        values.append(sorted(sampler.belief(study).fitted.values.tolist()))
    assert all(value < 1.0 for value in values[0])
    assert all(value >= 10.0 for value in values[1])
