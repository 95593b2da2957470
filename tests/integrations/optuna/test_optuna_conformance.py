"""Optuna's own conformance cases for samplers."""

from collections.abc import Callable

import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import Trial

from surefoot.integrations.optuna import SurefootSampler

Distribution = FloatDistribution | IntDistribution
NUMERICAL: list[Distribution] = [
    FloatDistribution(-1.0, 1.0),
    FloatDistribution(1e-7, 1.0, log=True),
    FloatDistribution(-10, 10, step=0.5),
    IntDistribution(3, 10),
    IntDistribution(1, 100, log=True),
    IntDistribution(3, 9, step=2),
]
SUGGESTIONS: list[Callable[[Trial, str], float]] = [
    lambda trial, name: trial.suggest_float(name, 0, 10),
    lambda trial, name: trial.suggest_int(name, 0, 10),
    lambda trial, name: trial.suggest_categorical(name, [0, 1, 2]),
    lambda trial, name: trial.suggest_float(name, 0, 10, step=0.5),
    lambda trial, name: trial.suggest_float(name, 1e-7, 10, log=True),
    lambda trial, name: trial.suggest_int(name, 1, 10, log=True),
]


def beside_the_next(values: list) -> list[tuple]:
    """Each value once as the first and once as the second of a pair."""
    return list(zip(values, values[1:] + values[:1], strict=True))


class TestSurefootSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    """Of the 36 pairs of distributions six: coordinates are encoded one by one."""

    test_dynamic_range_objective = pytest.mark.daily(1)(
        BasicSamplerTestCase.test_dynamic_range_objective
    )
    test_single_parameter_objective = pytest.mark.daily(2)(
        BasicSamplerTestCase.test_single_parameter_objective
    )
    test_sample_relative_mixed = pytest.mark.daily(2)(
        RelativeSamplerTestCase.test_sample_relative_mixed
    )
    test_multi_objective_sample_independent = pytest.mark.daily(4)(
        MultiObjectiveSamplerTestCase.test_multi_objective_sample_independent
    )

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: SurefootSampler(seed=0)

    @pytest.mark.long
    @pytest.mark.parametrize(("x_distribution", "y_distribution"), beside_the_next(NUMERICAL))
    def test_sample_relative_numerical(
        self,
        sampler: Callable[[], BaseSampler],
        x_distribution: Distribution,
        y_distribution: Distribution,
    ) -> None:
        super().test_sample_relative_numerical(sampler, x_distribution, y_distribution)

    @pytest.mark.daily(2)
    @pytest.mark.parametrize(("first", "second"), beside_the_next(SUGGESTIONS))
    def test_combination_of_different_distributions_objective(
        self,
        sampler: Callable[[], BaseSampler],
        first: Callable[[Trial, str], float],
        second: Callable[[Trial, str], float],
    ) -> None:
        super().test_combination_of_different_distributions_objective(
            sampler, lambda trial: first(trial, "x"), lambda trial: second(trial, "y")
        )
