"""Studies whose values are transformed before they are modelled."""

import numpy as np
import optuna
import pytest

from surefoot.integrations.optuna import SurefootSampler


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_residuals_have_the_scale_of_the_noise(direction: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    generator = np.random.default_rng(0)
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(direction=direction, sampler=SurefootSampler(seed=0))
    x = generator.uniform(size=(40, 2))
    cost = (1.0 + 400.0 * (x[:, 0] - 0.3) ** 2 * (1.0 + 30.0 * x[:, 1])) * np.exp(
        0.3 * generator.standard_normal(40)
    )
    space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in "xy"}
    for (a, b), value in zip(x, sign * cost, strict=True):
        study.add_trial(
            optuna.create_trial(params={"x": a, "y": b}, distributions=space, value=value)
        )
    belief = study.sampler.belief(study)
    fitted = belief.fitted
    assert "compressed" in fitted.assumed
    predicted = belief.predict([trial.params for trial in study.trials])[0]
    residual = fitted.on_model_scale(fitted.values) - fitted.on_model_scale(predicted)
    spread = 1.4826 * np.median(np.abs(residual))
    assert 0.3 * fitted.noise_scale < spread < 2.0 * fitted.noise_scale
    # They are as large at large costs as at small ones, unlike those on the scale of the values.
    high = np.abs(predicted) > np.median(np.abs(predicted))
    for left, least, most in ((residual, 0.0, 3.0), (fitted.values - predicted, 5.0, np.inf)):
        assert least < np.median(np.abs(left[high])) / np.median(np.abs(left[~high])) < most
