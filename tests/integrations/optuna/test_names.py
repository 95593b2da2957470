"""Names that Optuna allows: of parameters and of objectives."""

import optuna
import pytest
from optuna.distributions import FloatDistribution

import surefoot as sf
from surefoot.integrations.optuna import SurefootSampler, belief

NAMES = ["", " ", "a.b", "1", "x'", 'x"', "a\n", "ü", "{}"]


@pytest.mark.long
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_may_have_any_name(name: str, declared: bool) -> None:
    space = {name: FloatDistribution(0.0, 1.0)} if declared else None
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=9, search_space=space))
    study.optimize(lambda trial: trial.suggest_float(name, 0.0, 1.0), 3)
    assert [*study.sampler.belief(study).recommend().params] == [name]  # type: ignore[attr-defined]


def test_objectives_of_one_name_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0), 1.0), 3)
    study.set_metric_names(["latency", "latency"])
    with pytest.raises(sf.InvalidInput, match="are named latency, latency, expected different"):
        belief(study)
    study.set_metric_names(["latency", "throughput"])
    assert [*belief(study).objectives] == ["latency", "throughput"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("n_startup_trials", "what Optuna's samplers call so is `initial`"),
        ("multivariate", "see its documentation"),
        ("constraints_func", "call `trial.set_constraint` in the objective function"),
        ("guess", r"pass `problem=Problem\(guess=...\)`"),
    ],
)
def test_an_argument_of_others_is_refused_with_those_that_there_are(name: str, hint: str) -> None:
    with pytest.raises(
        sf.InvalidInput, match=rf"got `{name}`, expected one of problem, .*: {hint}\.$"
    ):
        SurefootSampler(**{name: 5})
