"""The sampler in studies with several objectives."""

import pickle
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler, belief

UNIT = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
EXAMPLE = Path(__file__).parents[3] / "examples" / "optuna_objectives.py"


def values(params: dict[str, Any]) -> tuple[float, float]:
    """Cost and speed, which a larger x raises both; both are best at y = 0.3."""
    x, off = params["x"], (params["y"] - 0.3) ** 2
    return x + off, 1.0 - (1.0 - x) ** 2 - off


def measured(trial: Trial) -> tuple[float, float]:
    trial.suggest_float("x", 0.0, 1.0)
    trial.suggest_float("y", 0.0, 1.0)
    return values(trial.params)


def study_of(**options: Any) -> optuna.Study:
    sampler = sampler_of(**{"seed": 0, "search_space": UNIT, "initial": 6, **options})
    return optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)


def asked(study: optuna.Study, number: int) -> list[dict[str, Any]]:
    return [study.ask(UNIT).params for _ in range(number)]


@pytest.mark.long
def test_the_search_is_along_the_whole_front() -> None:
    searched = study_of()
    searched.optimize(measured, 16)
    later = [trial.params for trial in searched.trials[8:]]
    near = [one["x"] for one in later if abs(one["y"] - 0.3) < 0.1]
    assert len(near) >= 5
    assert min(near) < 0.3
    assert max(near) > 0.7


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2])
def test_an_end_of_a_flat_front_is_left(seed: int) -> None:
    """ZDT2 in six variables: a point at its end alone has most of the hypervolume."""
    noise = np.random.default_rng(seed)

    def zdt2(trial: Trial) -> tuple[float, float]:
        first, *others = (trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(6))
        distance = 1.0 + 9.0 * float(np.mean(others))
        second = distance * (1.0 - (first / distance) ** 2)
        return first + 0.03 * noise.normal(), second + 0.13 * noise.normal()

    study = optuna.create_study(directions=["minimize"] * 2, sampler=SurefootSampler(seed=seed))
    study.optimize(zdt2, 40)
    ends = [point.params["x0"] for point in belief(study).front()]
    assert min(ends) < 0.1
    assert max(ends) > 0.5


@pytest.mark.long
def test_directions_are_those_of_the_study() -> None:
    searched = study_of()
    searched.optimize(measured, 9)
    turned = optuna.create_study(
        directions=["maximize", "maximize"],
        sampler=SurefootSampler(seed=0, search_space=UNIT, initial=6),
    )
    turned.optimize(lambda trial: (-measured(trial)[0], values(trial.params)[1]), 9)
    assert [t.params for t in turned.trials] == [t.params for t in searched.trials]


@pytest.mark.long
def test_a_run_that_is_pickled_goes_on_as_it_would_have() -> None:
    study = study_of()
    study.optimize(measured, 7)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    other = study_of()
    other.optimize(measured, 7)
    assert asked(study, 2) == asked(other, 2)


@pytest.mark.long
def test_pending_trials_are_not_measured_twice() -> None:
    study = study_of()
    study.optimize(measured, 8)
    batch = asked(study, 3)
    assert len({tuple(one.values()) for one in batch}) == 3
    spread = [max(one[name] for one in batch) - min(one[name] for one in batch) for name in UNIT]
    assert max(spread) > 0.05


@pytest.mark.long
def test_constraints_and_failures_count() -> None:
    study = study_of()

    def limited(trial: Trial) -> tuple[float, float]:
        found = measured(trial)
        if trial.params["y"] > 0.8:
            raise RuntimeError
        trial.set_constraint("x", trial.params["x"] - 0.5)
        return found

    study.optimize(limited, 14, catch=(RuntimeError,))
    later = [trial.params for trial in study.trials[8:]]
    assert sum(one["x"] <= 0.55 for one in later) >= 4
    assert all(one["y"] < 0.9 for one in later)
    assert all(point.params["x"] <= 0.55 for point in belief(study).front())


def test_what_has_a_single_objective_is_refused() -> None:
    environment = StudyEnvironment(["z"], sf.FiniteEnvironment([[0.0], [1.0]]))
    for wrong in ({"repeats": 2}, {"environment": environment, "risk": sf.VaR(0.1)}):
        study = study_of(**wrong)
        with pytest.raises(sf.InvalidInput, match=f"`{next(iter(wrong))}`.*2 objectives"):
            study.ask()
        assert [trial.state for trial in study.trials] == [TrialState.FAIL]


def test_the_belief_of_one_objective_names_that_of_several() -> None:
    study = study_of()
    study.optimize(measured, 2)
    with pytest.raises(sf.InvalidInput, match=r"optuna.belief\(study\)"):
        study.sampler.belief(study)


@pytest.mark.long
def test_the_example_finds_its_front() -> None:
    front = runpy.run_path(str(EXAMPLE))["front"]
    assert len(front) >= 4
    assert front.hypervolume({"latency": 40.0, "throughput": 0.0})[0] > 2800.0
