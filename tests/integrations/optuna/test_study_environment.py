"""The sampler beside a random environment: what is recorded, what is learnt, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import optuna
import pytest
import torch
from optuna.distributions import FloatDistribution
from optuna.trial import FixedTrial, Trial, TrialState, create_trial

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import ENVIRONMENT, StudyEnvironment, SurefootSampler

LOADS = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0], dtype=torch.float64)
WEIGHTS = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1], dtype=torch.float64)
FINITE = StudyEnvironment(["load"], sf.FiniteEnvironment(LOADS, WEIGHTS))
UNIFORM = StudyEnvironment(
    ["load"], sf.ContinuousEnvironment(torch.distributions.Uniform(0.0, 1.0))
)
SPACE = {"x": FloatDistribution(0.0, 1.0)}


def known(x: float, load: float) -> float:
    """Least at x = 0 for the low loads and at x = 1 for the high ones, in any direction."""
    return 8.0 * (load - 0.5) * (0.6 - x) + 2.0 * (x - 0.5) ** 2


def chosen(trial: Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    return known(x, trial.study.sampler.environment_of(trial)["load"])


def observed(trial: Trial) -> float:
    load = trial.number * 0.618 % 1.0
    value = known(trial.suggest_float("x", 0.0, 1.0), load)
    trial.set_user_attr(ENVIRONMENT, {"load": load})
    return value


def study_of(
    environment: StudyEnvironment, risk: object = None, direction: str = "minimize", seed: int = 0
) -> optuna.Study:
    sampler = SurefootSampler(
        sf.Problem(environment=environment, risk=risk or sf.VaR(0.1)), seed=seed, search_space=SPACE
    )
    return optuna.create_study(sampler=sampler, direction=direction)


def filled(environment: StudyEnvironment = FINITE, risk: object = None, **given) -> optuna.Study:
    """A study whose model knows the function well, without a search."""
    study = study_of(environment, risk, **given)
    generator = np.random.default_rng(0)
    for x in np.linspace(0.0, 1.0, 6):
        for load in LOADS.tolist():
            study.add_trial(
                create_trial(
                    params={"x": x},
                    distributions=SPACE,
                    value=known(x, load) + 0.02 * generator.standard_normal(),
                    user_attrs={ENVIRONMENT: {"load": load}},
                )
            )
    return study


def run(environment: StudyEnvironment, objective, trials: int, **given) -> list[tuple]:
    study = study_of(environment, **given)
    study.optimize(objective, trials)
    return rows(study)


def rows(study: optuna.Study) -> list[tuple]:
    return [(trial.params, trial.user_attrs[ENVIRONMENT]) for trial in study.trials]


RUNS = {"finite": FINITE, "uniform": UNIFORM}


@pytest.fixture(scope="module", params=RUNS)
def undisturbed(request: pytest.FixtureRequest) -> tuple[StudyEnvironment, list[tuple]]:
    """An environment with the run in it, which tests only look at."""
    environment = RUNS[request.param]
    return environment, run(environment, chosen, 10)


@pytest.fixture(scope="module")
def belief():
    """What is known of the function under a finite environment."""
    return (study := filled()).sampler.belief(study)


class TestTrials:
    @pytest.mark.long
    def test_the_setting_is_a_parameter_and_the_environment_is_recorded(self, undisturbed) -> None:
        among, trials = undisturbed
        for params, environment in trials:
            assert set(params) == {"x"}
            assert environment["load"] in LOADS.tolist() or among is UNIFORM

    @pytest.mark.long
    def test_a_pickled_sampler_goes_on_with_the_same_run(self, undisturbed) -> None:
        environment, trials = undisturbed
        study = study_of(environment)
        study.optimize(chosen, 9)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(chosen, 1)
        assert rows(study) == trials

    @pytest.mark.long
    def test_asking_again_gives_the_same_and_records_it_at_once(self) -> None:
        study = study_of(UNIFORM)
        study.optimize(chosen, 9)
        trial = study.ask(SPACE)
        assert ENVIRONMENT not in study.trials[-1].user_attrs
        first = study.sampler.environment_of(trial)
        assert study.trials[-1].user_attrs[ENVIRONMENT] == first
        assert study.sampler.environment_of(trial) == first

    def test_an_environment_given_beforehand_is_kept(self) -> None:
        study = study_of(FINITE)
        study.enqueue_trial({"x": 0.5}, user_attrs={ENVIRONMENT: {"load": 0.75}})
        study.optimize(chosen, 1)
        assert rows(study) == [({"x": 0.5}, {"load": 0.75})]
        study.enqueue_trial({"x": 0.5}, user_attrs={ENVIRONMENT: {"load": 0.76}})
        with pytest.raises(sf.InvalidInput, match="not one of its 5"):
            study.optimize(chosen, 1)

    def test_a_setting_that_somebody_else_chose_gets_an_environment_that_suits_it(self) -> None:
        study = filled()
        study.enqueue_trial({"x": 0.9})
        study.optimize(chosen, 1)
        params, environment = rows(study)[-1]
        assert params == {"x": 0.9}
        # Of upper tail 0.1 at x = 0.9: the worst load is the least one, 0.
        assert environment["load"] <= 0.25

    def test_before_anything_is_known_of_the_search_space(self) -> None:
        sampler = SurefootSampler(sf.Problem(environment=FINITE, risk=sf.Mean()), seed=0)
        study = optuna.create_study(sampler=sampler)
        study.optimize(chosen, 3)
        assert sampler.belief(study).trials == [0, 1, 2]

    @pytest.mark.long
    def test_parallel_trials_are_spread_out(self) -> None:
        study = filled(UNIFORM)
        trials = [study.ask(SPACE) for _ in range(2)]
        pairs = [(t.params["x"], study.sampler.environment_of(t)["load"]) for t in trials]
        assert len(set(pairs)) == 2
        other = SurefootSampler(
            sf.Problem(environment=UNIFORM, risk=sf.VaR(0.1)), seed=1, search_space=SPACE
        )
        study.sampler = other  # as another worker sees those that run
        trial = study.ask(SPACE)
        assert (trial.params["x"], other.environment_of(trial)["load"]) not in pairs
        assert len(other._tracker.optimizer.pending) == 3

    def test_whole_numbers_stay_whole(self) -> None:
        environment = StudyEnvironment("n", sf.FiniteEnvironment([1, 2, 4]), integer=["n"])
        assert environment.names == ("n",)
        for value in (1, 2, 4):
            decoded = environment.decode(environment.encode({"n": value}))
            assert decoded == {"n": value}
            assert isinstance(decoded["n"], int)


class TestObserved:
    def study(self, trials: int) -> optuna.Study:
        environment = StudyEnvironment(["load"], UNIFORM.distribution, observed=True)
        study = study_of(environment, sf.Mean())
        study.optimize(observed, trials)
        return study

    @pytest.mark.long
    def test_the_world_draws_it_and_running_and_failed_trials_need_none(self) -> None:
        study = self.study(10)
        belief = study.sampler.belief(study)
        assert belief.trials == list(range(10))
        fitted = belief.predict(
            [trial.params for trial in study.trials],
            [trial.user_attrs[ENVIRONMENT] for trial in study.trials],
        )[0]
        np.testing.assert_allclose(fitted, belief.fitted.values, atol=0.3)

        study.ask(SPACE)
        study.tell(study.ask(SPACE), state=TrialState.FAIL)
        study.optimize(observed, 1)
        assert len(study.sampler.belief(study).trials) == 11

    def test_there_is_nothing_to_choose(self) -> None:
        study = self.study(1)
        with pytest.raises(sf.InvalidInput, match="it is observed"):
            study.sampler.environment_of(study.ask(SPACE))

    def test_a_value_without_it_is_left_out(self) -> None:
        study = self.study(3)
        study.tell(study.ask(SPACE), 1.0)
        with pytest.warns(UserWarning, match=r"trial 3 .* set it before the value is told"):
            belief = study.sampler.belief(study)
        assert [*belief.trials] == [0, 1, 2]


class TestBelief:
    @pytest.mark.long
    @pytest.mark.parametrize(
        ("direction", "risk"),
        [
            ("maximize", sf.VaR(0.15)),
            ("minimize", sf.VaR(0.15)),
            ("minimize", sf.Mean()),
            ("maximize", sf.CVaR(0.25)),
            ("minimize", sf.WorstCase()),
        ],
        ids=str,
    )
    def test_risks_are_of_the_bad_tail_and_in_the_studys_units(self, direction, risk) -> None:
        study = filled(FINITE, risk, direction=direction)
        sign = 1.0 if direction == "maximize" else -1.0
        belief = study.sampler.belief(study)
        xs = [0.1, 0.5, 0.85]
        true = [
            sign
            * float(risk(sign * torch.tensor([known(x, load) for load in LOADS.tolist()]), WEIGHTS))
            for x in xs
        ]
        value, lower, upper = belief.predict([{"x": x} for x in xs])
        np.testing.assert_allclose(value, true, atol=0.15)
        assert bool(((lower <= value) & (value <= upper)).all())
        best = belief.recommend()
        assert best.lower <= best.value <= best.upper
        again = belief.predict([best.params])
        assert (best.value, best.lower, best.upper) == tuple(float(one[0]) for one in again)
        candidates = [
            sign
            * float(risk(sign * torch.tensor([known(x, load) for load in LOADS.tolist()]), WEIGHTS))
            for x in np.linspace(0.0, 1.0, 6)
        ]
        wanted = np.linspace(0.0, 1.0, 6)[int(np.argmax(sign * np.array(candidates)))]
        assert best.params["x"] == pytest.approx(wanted, abs=1e-9)

    def test_no_effect_of_a_trial_is_added_to_a_prediction(self, belief) -> None:
        """A report passes the trial of each configuration, whatever the study."""
        settings, environments = [{"x": 0.3}], [{"load": LOADS.tolist()[0]}]
        for more in ({}, {"environments": environments}):
            plain, at = (
                belief.predict(settings, **more, **one) for one in ({}, {"at": belief.trials[:1]})
            )
            np.testing.assert_array_equal(plain, at)

    def test_over_the_environment(self, belief) -> None:
        over = belief.over_environment({"x": 0.3})
        np.testing.assert_allclose(over.values[:, 0], LOADS)
        np.testing.assert_allclose(over.weights, WEIGHTS)
        np.testing.assert_allclose(
            over.mean, [known(0.3, load) for load in LOADS.tolist()], atol=0.15
        )
        assert bool(((over.lower <= over.mean) & (over.mean <= over.upper)).all())
        at_risk = belief.predict([{"x": 0.3}])
        assert float(at_risk[0][0]) in over.mean

    def test_many_values_stand_for_a_density(self) -> None:
        belief = (study := filled(UNIFORM)).sampler.belief(study)
        over = belief.over_environment({"x": 0.3})
        assert over.values.shape == (1024, 1)
        assert over.weights.sum() == pytest.approx(1.0)
        wanted = np.quantile(over.mean, 0.9)
        assert float(belief.predict([{"x": 0.3}])[0][0]) == pytest.approx(wanted, abs=0.02)

    def test_looking_does_not_change_what_was_believed(self) -> None:
        belief = (study := filled()).sampler.belief(study)
        before = belief.predict([{"x": 0.3}])
        study.optimize(chosen, 1)
        study.sampler.belief(study)
        np.testing.assert_array_equal(belief.predict([{"x": 0.3}]), before)

    def test_nothing_asked(self, belief) -> None:
        assert [len(part) for part in belief.predict([])] == [0, 0, 0]
        assert [len(part) for part in belief.predict([], [])] == [0, 0, 0]

    def test_what_cannot_be_asked(self, belief) -> None:
        with pytest.raises(sf.InvalidInput, match="1 environments came with 2 configurations"):
            belief.predict([{"x": 0.1}, {"x": 0.2}], [{"load": 0.5}])
        with pytest.raises(sf.InvalidInput, match="not one of its 5"):
            belief.predict([{"x": 0.1}], [{"load": 0.4}])
        plain = optuna.create_study(sampler=SurefootSampler(seed=0))
        plain.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 3)
        belief = plain.sampler.belief(plain)
        for ask in (
            lambda: belief.over_environment({"x": 0.1}),
            lambda: belief.predict([{"x": 0.1}], [{"load": 0.5}]),
        ):
            with pytest.raises(sf.InvalidInput, match="the study has no environment"):
                ask()
        with pytest.raises(sf.InvalidInput, match="the sampler has no `environment`"):
            plain.sampler.environment_of(plain.ask())


class TestBadInput:
    def test_a_value_without_its_environment_says_what_to_call(self) -> None:
        study = study_of(FINITE)
        with pytest.warns(UserWarning, match=r"trial 0 .* one of `environment_of\(trial\)`"):
            study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), 2)
        with pytest.raises(sf.NotReady, match="has a finite value and its 'surefoot:environment'"):
            study.sampler.belief(study)

    def test_a_sampler_without_the_environment_says_what_it_ignores(self) -> None:
        study = study_of(FINITE)
        study.optimize(
            lambda trial: (
                trial.suggest_float("x", 0.0, 1.0) * study.sampler.environment_of(trial)["load"]
            ),
            6,
        )
        with pytest.warns(UserWarning, match="knows nothing") as told:
            SurefootSampler(search_space={"x": FloatDistribution(0.0, 1.0)}).belief(study)
        assert len([one for one in told if "knows nothing" in str(one.message)]) == 1

    def test_a_fixed_trial_needs_its_environment(self) -> None:
        sampler, trial = study_of(FINITE).sampler, FixedTrial({"x": 0.5})
        with pytest.raises(sf.InvalidInput, match=r"`trial` is a FixedTrial .*a running trial"):
            sampler.environment_of(trial)
        trial.set_user_attr(ENVIRONMENT, {"load": 0.5})
        assert sampler.environment_of(trial) == {"load": 0.5}

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (None, "expected {'load': number}"),
            ({}, "expected {'load': number}"),
            ({"load": 0.5, "more": 1.0}, "expected {'load': number}"),
            ({"load": "high"}, "load is 'high', expected a number"),
            ({"load": True}, "load is True, expected a number"),
            ({"load": float("nan")}, "load is nan, expected a number"),
            ({"load": 10**400}, "load is too large, expected a number"),
            ({"load": 1.5}, "load is 1.5, expected a number from 0.0 to 1.0"),
        ],
    )
    def test_what_is_no_environment(self, values, message) -> None:
        with pytest.raises(sf.InvalidInput) as caught:
            UNIFORM.encode(values)
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"environment": FINITE}, "no `risk` came"),
            ({"risk": sf.VaR(0.1)}, "no `environment` came"),
            (
                {"environment": FINITE.distribution, "risk": sf.VaR(0.1)},
                "a `StudyEnvironment",
            ),
            ({"environment": FINITE, "risk": 0.1}, "expected a risk such as `VaR"),
            (
                {
                    "environment": FINITE,
                    "risk": sf.Mean(),
                    "search_space": {"load": SPACE["x"]},
                },
                "'load' is a variable of the environment and in `search_space`",
            ),
        ],
    )
    def test_wrong_samplers(self, given, message) -> None:
        with pytest.raises(sf.InvalidInput, match=message):
            sampler_of(**given)

    @pytest.mark.parametrize(
        ("names", "environment", "message"),
        [
            (
                ["a", "b"],
                FINITE.distribution,
                "2 `names` came with an environment of 1 coordinates",
            ),
            (["a", "a"], sf.FiniteEnvironment([[1.0, 2.0]]), "expected different names"),
            ([1], FINITE.distribution, "expected different names"),
            (["a"], [1, 2], "expected `FiniteEnvironment"),
        ],
    )
    def test_wrong_environments(self, names, environment, message) -> None:
        with pytest.raises(sf.InvalidInput, match=message):
            StudyEnvironment(names, environment)
