"""Pruned, interrupted and restarted trials, and studies of the same name."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.pruners import MedianPruner
from optuna.storages import RDBStorage
from optuna.trial import Trial, TrialState, create_trial

import surefoot as sf
from surefoot.integrations.optuna import CONSTRAINTS, INTERRUPTED, SurefootSampler
from surefoot.integrations.optuna.endings import is_ignored_failure
from surefoot.integrations.optuna.search_space import ExhaustedSpace
from surefoot.integrations.optuna.trial_reader import Curve, predicted_value

SPACE = {"x": FloatDistribution(0.0, 1.0)}


class TestPruned:
    def test_the_last_report_and_what_others_gained_after_it(self) -> None:
        others = [Curve({0: v + 5.0, 1: v + 1.0}, v) for v in (1.0, 2.0, 3.0, 4.0)]
        value, error = predicted_value(Curve({0: 12.0}), others, -1.0)
        assert (value, error) == (7.0, 0.0)
        value, error = predicted_value(Curve({0: 12.0, 1: 9.0, 7: 0.0}), others, -1.0)
        assert (value, error) == (8.0, 0.0)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_it_is_not_better_than_the_best(self, sign: float) -> None:
        others = [Curve({0: v}, v) for v in (1.0, 2.0, 3.0)]
        value, _ = predicted_value(Curve({0: sign * 100.0}), others, sign)
        assert value == (3.0 if sign > 0 else 1.0)

    @pytest.mark.parametrize("reports", [{}, {5: 1.0}])
    def test_without_a_report_to_compare_it_has_none(self, reports: dict) -> None:
        others = [Curve({0: v}, v) for v in (1.0, 2.0, 3.0, 4.0, 5.0)]
        assert predicted_value(Curve(reports), others, -1.0) is None

    def test_reports_that_are_no_numbers_are_passed_over(self) -> None:
        trial = create_trial(
            state=TrialState.PRUNED, intermediate_values={0: 2.0, 1: float("nan"), 2: -1.0}
        )
        assert Curve.of(trial, log=False).reports == {0: 2.0, 2: -1.0}
        assert Curve.of(trial, log=True).reports == {0: np.log(2.0)}

    @pytest.mark.long
    def test_no_configuration_is_asked_again_because_it_left_no_value(self) -> None:
        rng = np.random.default_rng(0)

        def objective(trial: Trial) -> float:
            f = (trial.suggest_float("x", 0, 1) - 0.3) ** 2
            for step in range(6):
                trial.report(f + 0.5 * 0.6**step + rng.normal(0, 0.02), step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return f + float(rng.normal(0, 0.02))

        pruner = MedianPruner(n_startup_trials=4)
        study = optuna.create_study(sampler=SurefootSampler(seed=0), pruner=pruner)
        study.optimize(objective, 20)
        pruned = study.get_trials(states=[TrialState.PRUNED])
        assert len(pruned) > 3
        assert len({round(trial.params["x"], 4) for trial in pruned}) > len(pruned) - 2
        belief = study.sampler.belief(study)
        assert belief.trials == list(range(20))
        assert belief.recommend().params["x"] == pytest.approx(0.3, abs=0.12)


class TestInterrupted:
    def test_ctrl_c_does_not_count_against_a_configuration(self) -> None:
        def objective(trial: Trial) -> float:
            trial.suggest_float("x", 0, 1)
            raise KeyboardInterrupt if trial.number == 0 else ValueError

        study = optuna.create_study(sampler=SurefootSampler(seed=0))
        with pytest.raises(KeyboardInterrupt):
            study.optimize(objective, 1)
        study.optimize(objective, 1, catch=ValueError)
        assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 2
        assert study.trials[0].user_attrs == {INTERRUPTED: True}
        assert [is_ignored_failure(trial) for trial in study.trials] == [True, False]

    def test_a_trial_that_the_storage_ended_does_not_count(self, tmp_path: Path) -> None:
        storage = RDBStorage(f"sqlite:///{tmp_path}/a.db", heartbeat_interval=60)
        study = optuna.create_study(storage=storage, sampler=SurefootSampler(seed=0))
        killed, failed = study.ask(SPACE), study.ask(SPACE)
        storage.set_trial_state_values(killed._trial_id, TrialState.FAIL)  # as after a missing beat
        study.tell(failed, state=TrialState.FAIL)
        assert [is_ignored_failure(trial) for trial in study.trials] == [True, False]


class TestSameSeed:
    def test_scripts_that_are_started_for_every_trial_measure_different_points(self) -> None:
        study = optuna.create_study()
        for _ in range(6):
            study.sampler = SurefootSampler(seed=1)
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 1)
        assert len({trial.params["x"] for trial in study.trials}) == 6

    @pytest.mark.parametrize("declared", [False, True])
    def test_scripts_that_are_started_at_once_measure_different_points(
        self, declared: bool
    ) -> None:
        study, chosen = optuna.create_study(), set()
        for _ in range(5):
            study.sampler = SurefootSampler(seed=1, search_space=SPACE if declared else None)
            chosen.add(study.ask(SPACE).params["x"])
        assert len(chosen) == 5

    def test_a_pickled_sampler_knows_its_study_by_more_than_the_name(self) -> None:
        study = optuna.create_study(study_name="same", sampler=SurefootSampler(seed=0))
        study.optimize(lambda trial: 100.0 + trial.suggest_float("x", 0, 1), 4)
        sampler = pickle.loads(pickle.dumps(study.sampler))
        again = optuna.create_study(study_name="same", sampler=sampler)
        again.optimize(lambda trial: trial.suggest_float("x", 0, 1), 5)
        assert sampler.belief(again).recommend().value < 1.0


def test_declared_limits_are_kept_to_by_the_best_trial_of_the_study() -> None:
    limits = {"memory": sf.Constraint(maximum=5.0), "rate": sf.Constraint(minimum=2.0)}
    study = optuna.create_study(sampler=SurefootSampler(sf.Problem(outcomes=limits), seed=0))
    for x, memory, rate in ((1.0, 6.0, 3.0), (2.0, 4.0, 1.0), (3.0, 5.0, 2.0), (4.0, 1.0, 9.0)):
        study.enqueue_trial({"x": x})
        trial = study.ask({"x": FloatDistribution(0.0, 5.0)})
        trial.set_user_attr(CONSTRAINTS, {"memory": memory, "rate": rate, "other": 7.0})
        study.tell(trial, x)
    assert study.best_trial.params == {"x": 3.0}
    assert study.trials[0].constraints == {"memory": 1.0, "rate": -1.0}


SMALL = {"k": IntDistribution(1, 3), "mode": CategoricalDistribution(["a", "b"])}


def small_study(trials: list[tuple[int, str, float]]) -> optuna.Study:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    for k, mode, value in trials:
        study.add_trial(
            create_trial(value=value, params={"k": k, "mode": mode}, distributions=SMALL)
        )
    return study


EVERY = [(k, mode, (k - 2.0) ** 2 + (mode == "a")) for k in (1, 2, 3) for mode in "ab"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("repeated", "message"),
    [(0.0, "repeats one and tells nothing new"), (0.1, "repeats one, for a")],
)
def test_a_small_space_that_has_been_measured_says_so_once(repeated: float, message: str) -> None:
    study = small_study([*EVERY, (2, "b", repeated)])
    with pytest.warns(UserWarning, match=f"all 6 configurations .* {message}") as caught:
        [study.ask(SMALL), study.ask(SMALL)]
    assert sum(one.category is ExhaustedSpace for one in caught) == 1


def test_without_noise_no_configuration_is_repeated_while_others_are_left() -> None:
    study = small_study([one for one in EVERY if one[:2] != (3, "a")] + [(2, "b", 0.0)])
    assert study.ask(SMALL).params == {"k": 3, "mode": "a"}


@pytest.mark.long
@pytest.mark.parametrize(("high", "notes"), [(1.0, 0), (0.0, 1)])
def test_a_small_space_is_not_all_where_trials_have_further_parameters(high, notes) -> None:
    study, x = optuna.create_study(sampler=SurefootSampler(seed=0)), FloatDistribution(0.0, high)
    for k, mode, value in EVERY:
        params, distributions = {"k": k, "mode": mode}, dict(SMALL)
        if mode == "a":  # a conditional parameter, which is not declared
            params["x"], distributions["x"] = 0.0, x
        study.add_trial(create_trial(value=value, params=params, distributions=distributions))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.ask(SMALL)
    assert sum("configurations of the search space" in str(one.message) for one in caught) == notes
