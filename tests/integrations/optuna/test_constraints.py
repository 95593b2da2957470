"""Constraints of trials: the search and the recommendation keep to them."""

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState, create_trial

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import ENVIRONMENT, StudyEnvironment, SurefootSampler
from surefoot.integrations.optuna.constraints import constraints_of

LINE = {"x": FloatDistribution(0.0, 1.0)}


def limited(noise: float) -> Callable[[Trial], float]:
    generator = np.random.default_rng(0)

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("limit", x - 0.5 + noise * generator.standard_normal())
        return x + noise * generator.standard_normal()

    return objective


def run(objective: Callable[[Trial], float], trials: int, **given) -> optuna.Study:
    study = optuna.create_study(direction="maximize", sampler=sampler_of(seed=0, **given))
    study.optimize(objective, trials)
    return study


def of_measured(values: dict[float, float | None], **given) -> optuna.Study:
    """A study of trials at x with a constraint each, whose values are x."""
    study = optuna.create_study(direction="maximize", sampler=sampler_of(seed=0, **given))
    for x, value in values.items():
        attributes = {} if value is None else {"constraints:limit": value}
        study.add_trial(
            create_trial(params={"x": x}, distributions=LINE, value=x, system_attrs=attributes)
        )
    return study


@pytest.fixture(scope="module")
def below_the_limit() -> optuna.Study:
    """A run with little noise, which tests only look at."""
    return run(limited(0.01), 18)


DECLARED = {"later": sf.Constraint(maximum=0.3)}


@pytest.mark.parametrize("values", [None, 0.0], ids=["alone", "beside one that is measured"])
class TestUnmeasured:
    """A declared constraint of which no trial has a value yet."""

    @pytest.mark.daily(1)
    def test_of_it_nothing_is_known(self, values: float | None) -> None:
        study = of_measured(dict.fromkeys(np.linspace(0.0, 1.0, 8), values), outcomes=DECLARED)
        belief = study.sampler.belief(study)
        with pytest.warns(UserWarning, match="later has no measurement yet"):
            best = belief.recommend()
        assert (best.feasible, best.unmeasured) == (False, ("later",))
        assert best.rows["not measured yet"] == "later"
        assert best.params["x"] > 0.8, "the best of what is known"
        assert belief.belief.constraints.unmeasured == ("later",)

    def test_the_search_goes_on(self, values: float | None) -> None:
        study = of_measured(dict.fromkeys(np.linspace(0.0, 1.0, 4), values), outcomes=DECLARED)
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 3)
        assert len(study.trials) == 7


class TestSearch:
    def test_of_no_configuration(self) -> None:
        study = run(limited(0.01), 4)
        assert study.sampler.belief(study).assess([]) == []

    @pytest.mark.long
    def test_one_limit(self, below_the_limit: optuna.Study) -> None:
        study = below_the_limit
        assert all(trial.params["x"] <= 0.51 for trial in study.trials[8:])  # by the noise beyond
        best = study.sampler.belief(study).recommend()
        assert 0.47 <= best.params["x"] <= 0.502  # a fifth of the noise beyond the limit
        assert best.feasibility >= 0.95

    @pytest.mark.long
    def test_an_initial_design_in_small_part_feasible(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def infeasible(seed: int) -> int:
            def objective(trial: Trial) -> float:
                x = trial.suggest_float("x", 0.0, 1.0)
                trial.set_constraint("limit", x - 0.3)
                return x

            study = optuna.create_study(direction="maximize", sampler=SurefootSampler(seed=seed))
            study.optimize(objective, 8)
            return sum(trial.constraints["limit"] > 0.0 for trial in study.trials)

        ours = [infeasible(seed) for seed in range(2)]
        monkeypatch.setattr("surefoot.beliefs.constraints.UNLIKELY", 0.0)
        before = [infeasible(seed) for seed in range(2)]
        assert sum(before) >= 8  # of 16
        assert sum(ours) <= 0.6 * sum(before)

    @pytest.mark.long
    @pytest.mark.parametrize("observed", [False, True])
    def test_an_initial_design_under_an_environment(self, observed: bool) -> None:
        def objective(trial: Trial) -> float:
            x = trial.suggest_float("x", 0.0, 1.0)
            z = {"z": trial.number % 3 * 0.5}
            if observed:
                trial.set_user_attr(ENVIRONMENT, z)
            else:
                z = trial.study.sampler.environment_of(trial)
            trial.set_constraint("limit", x + 0.1 * z["z"] - 0.3)
            return x * z["z"]

        environment = StudyEnvironment(["z"], sf.FiniteEnvironment([0.0, 0.5, 1.0]), observed)
        study = run(objective, 12, environment=environment, risk=sf.VaR(0.3), initial=12)
        assert sum(trial.constraints["limit"] > 0.0 for trial in study.trials[6:]) <= 2

    @pytest.mark.long
    def test_a_noisy_limit(self) -> None:
        study = optuna.create_study(direction="maximize", sampler=SurefootSampler(seed=0))
        for x in np.linspace(0.0, 1.0, 24):
            study.enqueue_trial({"x": x})
        study.optimize(limited(0.05), 27)
        assert all(trial.params["x"] <= 0.5 for trial in study.trials[24:])
        best = study.sampler.belief(study).recommend()
        assert 0.35 <= best.params["x"] <= 0.5
        assert best.feasibility >= 0.95

    @pytest.mark.long
    def test_two_constraints_on_two_parameters(self) -> None:
        def objective(trial: Trial) -> float:
            x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
            trial.set_constraint("sum", x + y - 1.0)
            trial.set_constraint("apart", (x - y) ** 2 - 0.09)
            return 2.0 * x + y

        study = optuna.create_study(direction="maximize", sampler=SurefootSampler(seed=0))
        for x, y in itertools.product(np.linspace(0.0, 1.0, 4), repeat=2):
            study.enqueue_trial({"x": x, "y": y})
        study.optimize(objective, 22)
        later = [t.value for t in study.trials[16:] if max(t.constraints.values()) <= 0.0]
        assert max(later) >= 1.6  # the best of the grid: 1.33
        best = study.sampler.belief(study).recommend().params
        assert best["x"] + best["y"] <= 1.0
        assert (best["x"] - best["y"]) ** 2 <= 0.09
        assert 2.0 * best["x"] + best["y"] >= 1.6  # of 1.65

    @pytest.mark.long
    def test_without_constraints_nothing_changes(self) -> None:
        study = run(lambda trial: trial.suggest_float("x", 0.0, 1.0), 10)
        best = study.sampler.belief(study).recommend()
        assert best.feasibility == 1.0
        assert best.params["x"] > 0.95

    def test_in_a_random_environment(self) -> None:
        environment = StudyEnvironment(["z"], sf.FiniteEnvironment([0.0, 1.0]))
        sampler = SurefootSampler(
            sf.Problem(environment=environment, risk=sf.Mean()), seed=0, search_space=LINE
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for x in np.linspace(0.0, 1.0, 9):
            for z in (0.0, 1.0):
                study.add_trial(
                    create_trial(
                        params={"x": x},
                        distributions=LINE,
                        value=x + 0.1 * z,
                        user_attrs={ENVIRONMENT: {"z": z}},
                        system_attrs={"constraints:limit": x - 0.8 + 0.3 * z},
                    )
                )
        belief = sampler.belief(study)
        below, between = belief.feasibility([{"x": 0.3}, {"x": 0.65}])
        assert below > 0.95
        assert between == pytest.approx(0.5, abs=0.05)
        assert belief.recommend().params == {"x": 0.375}


class TestRecommendation:
    @pytest.mark.long
    def test_of_nothing_feasible_warns(self) -> None:
        study = of_measured({x: 0.2 + x for x in np.linspace(0.0, 1.0, 8)})
        with pytest.warns(UserWarning, match="constraints hold with a probability"):
            best = study.sampler.belief(study).recommend()
        assert best.params["x"] == 0.0
        assert best.feasibility < 0.05

    @pytest.mark.long
    def test_missing_and_infinite_constraints(self) -> None:
        values = {x: x - 0.5 for x in np.linspace(0.0, 1.0, 11)}
        study = of_measured(values | {0.33: None, 0.15: -math.inf, 0.95: math.inf})
        belief = study.sampler.belief(study)
        assert belief.recommend().params["x"] == pytest.approx(0.45, abs=0.05)
        assert len(belief.trials) == 14

    @pytest.mark.long
    def test_looking_changes_nothing(self, below_the_limit: optuna.Study) -> None:
        looked = optuna.create_study(direction="maximize", sampler=SurefootSampler(seed=0))
        objective = limited(0.01)
        for _ in range(11):
            looked.optimize(objective, 1)
            with warnings.catch_warnings(action="ignore"):
                looked.sampler.belief(looked).recommend()
        undisturbed = below_the_limit.trials[:11]
        assert [t.params for t in looked.trials] == [t.params for t in undisturbed]

    def test_constraints_of_pruned_and_failed_trials_count(self) -> None:
        study = of_measured({x: x - 0.5 for x in (0.0, 0.1, 0.2, 0.3, 0.4)})
        for x in np.linspace(0.55, 1.0, 5):
            study.add_trial(
                create_trial(
                    state=TrialState.PRUNED,
                    params={"x": x},
                    distributions=LINE,
                    system_attrs={"constraints:limit": x - 0.5},
                )
            )
        assert study.sampler.belief(study).feasibility([{"x": 0.8}])[0] < 0.05


class TestForeign:
    @pytest.mark.parametrize("foreign", [7, "text", [None], {"a": 1}, ["a", math.nan]])
    def test_constraints_that_are_none_are_passed_over(self, foreign: object) -> None:
        trial = create_trial(value=1.0, system_attrs={"constraints": foreign})
        assert constraints_of(trial) == {}

    def test_integers_beyond_any_float(self) -> None:
        trial = create_trial(value=1.0, system_attrs={"constraints": [10**400, -(10**400), 2]})
        assert constraints_of(trial) == {"0": math.inf, "1": -math.inf, "2": 2.0}


@pytest.mark.daily(1)
@pytest.mark.parametrize("recorded", [{"P": 0.2}, {"p": math.nan}, {"p": "high"}, "x", [1]])
def test_constraints_of_which_none_can_be_used_give_a_warning(recorded: object) -> None:
    sampler = SurefootSampler(sf.Problem(outcomes={"p": sf.Constraint(maximum=0.5)}), seed=0)
    study = optuna.create_study(sampler=sampler)
    trial = create_trial(
        params={"x": 0.5}, distributions=LINE, value=1.0, user_attrs={"constraints": recorded}
    )
    study.add_trial(trial)
    with pytest.warns(UserWarning, match="expected numbers by name, of p"):
        sampler.belief(study)


def test_constraints_that_can_be_used_give_no_warning() -> None:
    sampler = SurefootSampler(sf.Problem(outcomes={"p": sf.Constraint(maximum=0.5)}), seed=0)
    study = optuna.create_study(sampler=sampler)
    for recorded in ({"p": 0.2}, {"p": 0.2, "other": 3.0}):
        trial = create_trial(
            params={"x": 0.5}, distributions=LINE, value=1.0, user_attrs={"constraints": recorded}
        )
        study.add_trial(trial)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        sampler.belief(study)
