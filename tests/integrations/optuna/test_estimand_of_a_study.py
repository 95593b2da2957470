"""What a study's model predicts of measurements: location, median or mean."""

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

import surefoot as sf
from support.samplers import largest_gains, sampler_of
from surefoot.integrations.optuna import StudyBelief, StudyEnvironment, SurefootSampler
from surefoot.integrations.optuna.attributes import ENVIRONMENT
from surefoot.types import InvalidInput

SPACE = {"x": FloatDistribution(0.0, 1.0)}
X = {"x": 0.4}


def belief_of(noisy, number: int = 80, direction: str = "minimize", **arguments) -> StudyBelief:
    """Of measurements `noisy(x, generator)` at points spread evenly."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    generator = np.random.default_rng(4)
    study = optuna.create_study(direction=direction, sampler=sampler_of(seed=0, **arguments))
    for x in np.linspace(0.0, 1.0, number):
        value = float(noisy(x, generator))
        study.add_trial(optuna.create_trial(params={"x": x}, distributions=SPACE, value=value))
    return study.sampler.belief(study)


def waiting(x, generator) -> float:
    return 5.0 + x + generator.exponential(1.0)


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_mean_is_above_the_median_where_noise_is_above(direction: str) -> None:
    belief = belief_of(waiting, 200, direction)
    found = {
        name: belief.of_estimand(name).assess([X])[0] for name in ("location", "median", "mean")
    }
    assert {name: one.estimand for name, one in found.items()} == {name: name for name in found}
    assert found["mean"].value > found["median"].value
    assert abs(found["mean"].value - 6.4) < 0.3
    assert abs(found["median"].value - 5.4 - np.log(2.0)) < 0.3
    for one in found.values():
        assert one.lower < one.value < one.upper


@pytest.mark.long
def test_the_estimand_of_the_sampler_is_that_of_its_belief() -> None:
    belief = belief_of(waiting, estimand="mean")
    assert belief.estimand == belief.recommend().estimand == "mean"
    plain = belief.of_estimand("location")
    assert (plain.estimand, belief.estimand) == ("location", "mean")
    assert plain.recommend().params == belief.recommend().params
    assert plain.recommend().value < belief.recommend().value
    with pytest.raises(InvalidInput, match="`estimand` is 'mode', expected 'location'"):
        belief.of_estimand("mode")
    with pytest.raises(InvalidInput, match="`estimand` is 'mode', expected 'location'"):
        SurefootSampler(sf.Problem(estimand="mode"))


@pytest.mark.long
def test_a_mean_of_logarithms_is_in_the_units_of_the_values() -> None:
    """The mean of log-normal noise is exp(sigma^2 / 2) times its median."""
    belief = belief_of(lambda x, g: np.exp(1.0 + x + 0.5 * g.standard_normal()), 200, log=True)
    ratio = belief.of_estimand("mean").predict([X])[0] / belief.predict([X])[0]
    assert ratio == pytest.approx(np.exp(0.125), rel=0.03)


@pytest.mark.long
def test_differences_and_gains_of_additive_noise_do_not_depend_on_it() -> None:
    belief = belief_of(waiting, direction="maximize")
    assert "compressed" not in belief.fitted.assumed
    mean = belief.of_estimand("mean")
    assert mean.difference(X, {"x": 0.9}) == belief.difference(X, {"x": 0.9})
    shares = largest_gains(belief, {"x": 0.1}) / largest_gains(mean, {"x": 0.1})
    ratio = mean.assess([{"x": 0.1}])[0].value / belief.assess([{"x": 0.1}])[0].value
    assert np.allclose(shares, ratio)


@pytest.mark.long
def test_differences_of_transformed_values_are_those_of_the_means() -> None:
    def steep(x, generator):
        return (1.0 + 400.0 * (x - 0.3) ** 2) * np.exp(0.5 * generator.standard_normal())

    belief = belief_of(steep, 120)
    assert "compressed" in belief.fitted.assumed
    mean, other = belief.of_estimand("mean"), {"x": 0.9}
    value, lower, upper = mean.difference(X, other)
    assert lower < value < upper < 0.0
    assert value == pytest.approx(
        mean.assess([X])[0].value - mean.assess([other])[0].value, rel=0.05
    )
    assert value < belief.difference(X, other)[0]
    gains = np.median(largest_gains(mean, other))
    assert gains == pytest.approx(np.median(largest_gains(belief, other)), abs=0.1)


def test_risks_over_an_environment_are_those_of_the_means() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    environment = StudyEnvironment(["load"], sf.FiniteEnvironment([0.0, 1.0, 2.0]))
    sampler = SurefootSampler(
        sf.Problem(environment=environment, risk=sf.VaR(0.4)), seed=0, search_space=SPACE
    )
    study = optuna.create_study(sampler=sampler)
    generator = np.random.default_rng(2)
    for x in np.linspace(0.0, 1.0, 60):
        load = float(generator.integers(3))
        study.add_trial(
            optuna.create_trial(
                params={"x": x},
                distributions=SPACE,
                value=waiting(x, generator) + load,
                user_attrs={ENVIRONMENT: {"load": load}},
            )
        )
    belief = sampler.belief(study)
    mean = belief.of_estimand("mean")
    shift = mean.predict([X])[0] - belief.predict([X])[0]
    assert shift > 0.05
    under = belief.predict([X], [{"load": 1.0}])[0], mean.predict([X], [{"load": 1.0}])[0]
    assert under[1] - under[0] == pytest.approx(shift)
    assert np.allclose(mean.over_environment(X).mean - belief.over_environment(X).mean, shift)
    low, high = (np.array([end[0] for end in one.predict([X])[1:]]) for one in (belief, mean))
    assert (high[1] - high[0]) > (low[1] - low[0])


def test_every_branch_of_a_conditional_space_has_the_estimand() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    generator = np.random.default_rng(1)
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    kinds = CategoricalDistribution(["a", "b"])
    for index in range(40):
        kind, x = "ab"[index % 2], float(generator.random())
        name = {"a": "x", "b": "y"}[kind]
        study.add_trial(
            optuna.create_trial(
                params={"kind": kind, name: x},
                distributions={"kind": kinds, name: FloatDistribution(0.0, 1.0)},
                value=waiting(x, generator) + 3.0 * (kind == "b"),
            )
        )
    belief = study.sampler.belief(study)
    best, mean = belief.recommend(), belief.of_estimand("mean").recommend()
    assert mean.estimand == "mean"
    assert mean.params == best.params
    assert mean.value > best.value


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_difference_of_logarithms_is_that_of_the_values(direction: str) -> None:
    """With what is not known of the level of either, as in functions drawn."""
    random = np.random.default_rng(2)
    study = optuna.create_study(direction=direction, sampler=SurefootSampler(seed=2, log=True))
    space = {"x": FloatDistribution(-1.0, 1.0)}
    for x in random.uniform(-1.0, 0.3, 8):
        value = 3.0 * np.exp(x + 0.1 * random.standard_normal())
        study.add_trial(
            optuna.trial.create_trial(params={"x": x}, distributions=space, value=value)
        )
    belief, near, far = study.sampler.belief(study), {"x": -0.5}, {"x": 0.9}
    drawn = belief.belief.draws(belief.points([near, far]), 8000)
    low, middle, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.5, 0.975])
    value, lower, upper = belief.difference(near, far)
    assert value == pytest.approx(middle, abs=0.4)
    assert 2.5 * low < lower < low < high < upper < 2.5 * high  # Student's t is wider
    back = belief.difference(far, near)
    assert (-back[0], -back[2], -back[1]) == pytest.approx((value, lower, upper), rel=0.05)
