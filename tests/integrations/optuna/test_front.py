"""Pareto fronts of studies with several objectives, whichever sampler ran them."""

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, TrialState, create_trial

import surefoot as sf
from support.study_spaces import space_of
from surefoot.integrations.optuna import (
    STANDARD_ERROR,
    STANDARD_ERRORS,
    Front,
    MultiObjectiveBelief,
    ParetoPoint,
    StudyEnvironment,
    SurefootSampler,
    belief,
)

LINE = {"x": FloatDistribution(0.0, 1.0)}
REFERENCE = {"cost": 1.2, "speed": -0.2}
EXAMPLE = Path(__file__).parents[3] / "examples" / "optuna_front.py"


def study_of(
    rows: list[tuple[Any, Any]], *, space: dict[str, Any] | None = None, **options: Any
) -> optuna.Study:
    """A study that minimises cost and maximises speed, with measured pairs by values of x."""
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=RandomSampler(seed=0), **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(["cost", "speed"])
    for params, values in rows:
        params = params if isinstance(params, dict) else {"x": params}
        distributions = {n: (space or LINE)[n] for n in params}
        study.add_trial(create_trial(params=params, distributions=distributions, values=values))
    return study


def curve(x: Any) -> tuple[Any, Any]:
    """Both are best between 0.2 and 0.8: below cost rises, above speed falls."""
    return (x - 0.2) ** 2 + 0.01, 1.0 - (x - 0.8) ** 2


def noisy(spikes: dict[int, tuple[float, float]], number: int = 30) -> optuna.Study:
    generator, x = np.random.default_rng(0), np.linspace(0.0, 1.0, number)
    noise = 0.01 * generator.standard_normal((number, 2))
    for trial, spike in spikes.items():
        noise[trial] += spike
    return study_of([(float(x[i]), np.array(curve(x[i])) + noise[i]) for i in range(number)])


@pytest.fixture(scope="module")
def spiked() -> optuna.Study:
    return noisy({2: (0.0, 5.0), 28: (-3.0, 0.0), 15: (4.0, 0.0)})


@pytest.fixture(scope="module")
def front(spiked: optuna.Study) -> Front:
    return belief(spiked).front()


@pytest.mark.long
def test_lucky_outliers_are_no_members_and_unlucky_ones_are(
    spiked: optuna.Study, front: Front
) -> None:
    assert {2, 28} <= {trial.number for trial in spiked.best_trials}
    members = {number for point in front for number in point.trials}
    assert not {2, 28} & members
    assert 15 in members
    assert all(0.1 < point.params["x"] < 0.9 for point in front)


def test_members_have_intervals_and_probabilities(spiked: optuna.Study, front: Front) -> None:
    costs = [point.values["cost"] for point in front]
    assert costs == sorted(costs)
    for point in front:
        cost, speed = curve(point.params["x"])
        for name, truth in (("cost", cost), ("speed", speed)):
            assert point.lower[name] < point.values[name] < point.upper[name]
            assert abs(point.values[name] - truth) < 0.05
        assert 0.0 < point.probability <= 1.0
    dominated = [one for one in front.candidates if one not in list(front)]
    assert max(one.probability for one in dominated if abs(one.params["x"] - 0.5) > 0.45) < 0.05
    assert front[0] is next(iter(front))
    assert "speed" in front._repr_html_()
    assert "Belief of speed" in belief(spiked)._repr_html_()
    assert repr(front).splitlines()[0] == "Front of cost, speed"
    assert "trial 15: cost 0." in repr(front)
    assert "speed" in front[0]._repr_html_()


def test_hypervolume_is_the_true_one(front: Front) -> None:
    median, lower, upper = front.hypervolume(REFERENCE)
    x = np.linspace(0.2, 0.8, 2000)
    costs, speeds = curve(x)
    truth = (1.2 - costs[0]) * (speeds[0] + 0.2) + np.sum((1.2 - costs[1:]) * np.diff(speeds))
    assert lower < median < upper
    assert median == pytest.approx(truth, rel=0.05)


def test_a_preference_is_kept_with_confidence(front: Front) -> None:
    by_cost = front.prefer({"cost": 0.1})
    assert by_cost.values["cost"] < 0.1
    assert 0.35 < by_cost.params["x"] < 0.2 + 0.3**0.5
    by_speed = front.prefer({"speed": 0.95})
    assert by_speed.values["speed"] > 0.95
    assert 0.55 < by_speed.params["x"] < 0.7
    bold = front.prefer({"speed": 0.95}, confidence=0.3)
    assert bold.values["cost"] <= by_speed.values["cost"]
    both = front.prefer({"cost": 0.2, "speed": 0.8})
    assert 0.35 < both.params["x"] < 0.65
    with pytest.warns(UserWarning, match=r"keeps cost<=-0.5 with .*: the one chosen has 0"):
        least = front.prefer({"cost": -0.5})
    assert least.params["x"] < 0.4


@pytest.mark.parametrize(
    ("limit", "chosen"), [(0.0, "front"), (4.3, "sure")], ids=["none comes near", "one nearly does"]
)
def test_where_nothing_keeps_a_limit_the_expected_excess_decides(limit: float, chosen: str) -> None:
    """A wide interval is more probably within, and one that nearly keeps it is nearest to it."""
    laws = {"front": (4.0, 1.0), "sure": (4.25, 0.1), "wide": (5.0, 3.0)}
    names = ("cost", "loss")
    points = [
        ParetoPoint((i,), {"of": one}, *(dict.fromkeys(names, mean) for _ in range(3)), 0.1)
        for i, (one, (mean, _)) in enumerate(laws.items())
    ]
    drawn = np.random.default_rng(0).standard_normal((3, 2, 2000))
    draws = np.array([[[m], [m]] for m, _ in laws.values()])
    draws = draws + np.array([[[s], [s]] for _, s in laws.values()]) * drawn
    front = Front(dict.fromkeys(names, False), points, draws)
    with pytest.warns(UserWarning, match="no measured configuration keeps"):
        assert front.prefer({"cost": limit}).params == {"of": chosen}


@pytest.mark.parametrize("limits", [{"cost": -0.5}, {"speed": 1e9}, {"cost": -1e9, "speed": 1e9}])
def test_a_limit_that_nothing_keeps_chooses_from_the_front(
    front: Front, limits: dict[str, float]
) -> None:
    with pytest.warns(UserWarning, match="the one chosen has 0"):
        assert front.prefer(limits) in list(front)


def test_the_knee_is_the_compromise(front: Front) -> None:
    assert abs(front.knee().params["x"] - 0.5) < 0.1


@pytest.mark.parametrize(("deviation", "best"), [(0.01, 1.2), (1e-6, 2.4)])
def test_a_tie_that_noise_breaks_does_not_decide_the_knee(deviation: float, best: float) -> None:
    """Errors are all the same but for what is not known of them, or differ for sure."""
    values = [{"cost": cost, "errors": -1e-3 * i} for i, cost in enumerate((1.0, 1.2, 2.4, 10.0))]
    points = [ParetoPoint((i,), {"x": i}, one, one, one, 1.0) for i, one in enumerate(values)]
    normals = np.random.default_rng(0).standard_normal((4, 2, 1000))
    means = np.array([list(one.values()) for one in values])
    draws = means[:, :, None] + np.array([0.1, deviation])[:, None] * normals
    front = Front({"cost": False, "errors": False}, points, draws)
    assert len(front) == 4
    assert front.knee().values["cost"] == best


@pytest.mark.long
def test_the_same_seed_draws_the_same(spiked: optuna.Study, front: Front) -> None:
    np.testing.assert_array_equal(belief(spiked).front().draws, front.draws)
    other = belief(spiked).front(seed=1)
    assert not np.array_equal(other.draws, front.draws)
    assert [one.trials for one in other] == [one.trials for one in front]


def test_one_objective_has_the_front_of_its_best_configuration() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.4) ** 2, n_trials=12)
    found = belief(study)
    (best,) = found.front()
    assert best.params == found.front().knee().params
    assert list(found.objectives) == ["value"]
    assert best.trials == (study.best_trial.number,)
    mean, _, _ = SurefootSampler().belief(study).predict([best.params])
    assert best.values["value"] == pytest.approx(float(mean[0]))
    assert found.recommend() == found.objectives["value"].recommend()
    assert found.recommend(given={"x": 0.3}).params == {"x": 0.3}


def test_objectives_without_names_have_those_of_the_data_frame() -> None:
    study = optuna.create_study(directions=["minimize"] * 3, sampler=RandomSampler(seed=0))
    study.optimize(lambda t: ((x := t.suggest_float("x", 0, 1)), 1 - x, x * x), n_trials=6)
    front = belief(study).front()
    assert front.names == ["values_0", "values_1", "values_2"]
    assert len(front) == 6
    rest = front.prefer({"values_0": 0.9})  # a compromise of the other two
    assert rest.values["values_0"] < 0.9


@pytest.mark.long
def test_failed_pruned_and_running_trials_are_no_members() -> None:
    study = noisy({}, 12)
    rows = [(0.5, TrialState.FAIL), (0.45, TrialState.PRUNED), (0.55, TrialState.RUNNING)]
    for x, state in rows:
        study.add_trial(create_trial(params={"x": x}, distributions=LINE, state=state))
    study.add_trial(create_trial(params={"x": 0.6}, distributions=LINE, values=[0.0, np.inf]))
    found = belief(study)
    assert {12, 13, 14, 15}.isdisjoint(n for one in found.front().candidates for n in one.trials)
    assert 13 not in found.objectives["cost"].trials


@pytest.mark.long
def test_trials_of_the_same_configuration_are_one_point() -> None:
    space = {"kind": CategoricalDistribution(["a", "b", "c"])}
    values = {"a": (1.0, 1.0), "b": (2.0, 2.0), "c": (3.0, 1.5)}
    generator = np.random.default_rng(0)
    rows = [
        ({"kind": kind}, np.array(values[kind]) + 0.05 * generator.standard_normal(2))
        for kind in "abcabcabcabc"
    ]
    rows[2][1][1] += 20.0  # c is dominated by b but for this measurement
    front = belief(study_of(rows, space=space)).front()
    assert [(one.params["kind"], one.trials) for one in front] == [
        ("a", (0, 3, 6, 9)),
        ("b", (1, 4, 7, 10)),
    ]


def measured_with(limit: float) -> optuna.Study:
    def objective(trial: Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("memory", x - limit)
        return curve(x)

    study = study_of([])
    study.optimize(objective, n_trials=16)
    return study


def test_constraints_are_obeyed() -> None:
    front = belief(measured_with(0.5)).front()
    assert 0.35 < max(one.params["x"] for one in front) <= 0.5
    assert all(one.feasibility >= 0.95 for one in front.candidates)
    with pytest.warns(UserWarning, match="no measured configuration is known whose constraints"):
        front = belief(measured_with(-0.2)).front()
    assert len(front.candidates) == len(front) == 1
    assert front[0].params["x"] < 0.1


def test_rules_of_the_search_space_are_obeyed() -> None:
    sampler = SurefootSampler(search_space=space_of(LINE, require=["x <= 0.6"]))
    front = belief(noisy({}, 12), sampler).front()
    assert max(one.params["x"] for one in front) <= 0.6
    with pytest.raises(sf.NotReady, match="satisfies the rules of the `sampler`"):
        belief(study_of([(0.7, (0.0, 1.0))]), sampler)


SPACE = {"kind": CategoricalDistribution(["off", "on"]), **LINE}


def branching(trial: Trial) -> tuple[float, float]:
    if trial.suggest_categorical("kind", ["off", "on"]) == "off":
        return 0.0, 0.0
    return curve(trial.suggest_float("x", 0.0, 1.0))


@pytest.mark.long
@pytest.mark.parametrize("declared", [False, True])
def test_conditional_parameters(declared: bool) -> None:
    study = study_of([])
    study.optimize(branching, n_trials=24)
    space = space_of(SPACE, when={"x": "kind == 'on'"})
    front = belief(study, SurefootSampler(search_space=space) if declared else None).front()
    off = next(one for one in front if one.params == {"kind": "off"})
    assert off.values["cost"] == pytest.approx(0.0, abs=0.05)
    assert off.values["speed"] == pytest.approx(0.0, abs=0.05)
    for one in front:
        if one is not off:
            assert one.values["speed"] == pytest.approx(curve(one.params["x"])[1], abs=0.05)
    assert len(front) > 3


BAD: list[tuple[Callable[[Front], object], str]] = [
    (lambda front: front.prefer({}), r"`limits` is \{\}, expected numbers by name"),
    (lambda front: front.prefer({"latency": 1.0}), "of cost, speed"),
    (lambda front: front.prefer(20), "`limits` is 20"),  # type: ignore[arg-type]
    (lambda front: front.prefer({"cost": float("nan")}), r"limits\['cost'\]"),
    (lambda front: front.prefer({"cost": 1.0}, confidence=1.0), "`confidence` is 1.0"),
    (lambda front: front.hypervolume({"cost": 1.0}), "add speed"),
    (lambda front: front.hypervolume([1.0, 1.0]), "`reference` is"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "match"), BAD)
def test_bad_arguments_are_refused(
    front: Front, call: Callable[[Front], object], match: str
) -> None:
    with pytest.raises(sf.InvalidInput, match=match):
        call(front)


def test_bad_studies_and_samplers_are_refused() -> None:
    study = study_of([])
    with pytest.raises(sf.NotReady, match="no finished trial"):
        belief(study)
    study.add_trial(create_trial(params={"x": 0.1}, distributions=LINE, values=[0.0, np.inf]))
    study.add_trial(create_trial(params={"x": 0.2}, distributions=LINE, values=[np.inf, 0.0]))
    with pytest.raises(sf.NotReady, match="a finite value of every objective"):
        belief(study)
    with pytest.raises(sf.InvalidInput, match=r"expected a study: pass `optuna.load_study"):
        belief("a name")
    with pytest.raises(sf.InvalidInput, match="expected a `SurefootSampler`"):
        belief(study, RandomSampler())
    environment = StudyEnvironment(["z"], sf.FiniteEnvironment([[0.0], [1.0]]))
    sampler = SurefootSampler(sf.Problem(environment=environment, risk=sf.VaR(0.1)))
    with pytest.raises(sf.InvalidInput, match="the sampler has an environment"):
        belief(study, sampler)
    with pytest.raises(sf.InvalidInput, match="index of one of 2 objectives"):
        SurefootSampler().of_objective(study, 2)


def test_a_belief_of_each_objective(spiked: optuna.Study) -> None:
    found = belief(spiked)
    assert isinstance(found, MultiObjectiveBelief)
    speed = found.objectives["speed"]
    assert speed.is_maximised
    assert speed.weights[2] < 0.1 < speed.weights[28]
    assert found.objectives["cost"].weights[28] < 0.1
    assert abs(speed.recommend().params["x"] - 0.8) < 0.1
    with pytest.raises(sf.InvalidInput, match=r"2 objectives \(cost, speed\).*`front\(\).knee"):
        found.recommend()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_example_leaves_outliers_out() -> None:
    names = runpy.run_path(str(EXAMPLE))
    front, study = names["front"], names["study"]
    spiked = {trial.number for trial in study.trials if trial.values[1] > 300.0}
    assert spiked & {trial.number for trial in study.best_trials}
    assert all(point.values["throughput"] < 250.0 for point in front)
    assert names["point"].values["latency"] < 20.0


@pytest.mark.long
@pytest.mark.parametrize("named", [False, True])
def test_each_objective_has_its_own_standard_errors(named: bool) -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    if named:
        study.set_metric_names(["first", "second"])
    names = ["first", "second"] if named else ["values_0", "values_1"]
    x = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for i in range(12):
        params = {"x": i / 11}
        attributes = {STANDARD_ERROR: 0.5, STANDARD_ERRORS: {names[1]: 0.25}}
        trial = create_trial(
            values=[1.0 + i, 5.0 - i], params=params, distributions=x, user_attrs=attributes
        )
        study.add_trial(trial)
    for name, error in zip(names, (0.5, 0.25), strict=True):
        one = belief(study).objectives[name]
        assert one.belief.outcome.observations.sems.tolist() == [error] * 12


@pytest.mark.daily(1)
@pytest.mark.parametrize("recorded", [[1.0], {"values_1": -1.0}, {"values_1": "x"}])
def test_standard_errors_that_are_none_are_said(recorded) -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    x = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for i in range(6):
        study.add_trial(
            create_trial(
                values=[1.0 + i, 5.0 - i],
                params={"x": i / 5},
                distributions=x,
                user_attrs={STANDARD_ERRORS: recorded},
            )
        )
    with pytest.warns(UserWarning, match="surefoot:sem"):
        belief(study)
