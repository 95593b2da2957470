"""Do the measurements contradict the model? Repeats, trends over time, and earlier predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import ALARM, FEWEST, TESTED, TINY
from surefoot.tune.estimate_text import Units, estimate_text
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import ASKED, trial_environment

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief, StudyRecommendation

_LEAST_EQUAL = 5  # configurations
_BETTER = 10.0  # nats, by which another model predicts what is left out: very strong evidence
ALONE = "measure with one worker, or give each cores of its own"
_IN_TURN = 1.45  # 1 + 2 (correlation of absolute differences that share a Gaussian measurement)
_MEDIAN = math.sqrt(math.pi / 2.0)  # standard error of a median over that of a mean


def contradictions(
    state: StudyState, earlier: Mapping[int, StudyRecommendation], *, compared: bool = True
) -> tuple[str, ...]:
    """Contradictions between the measurements and the model.

    Args:
        state: The study.
        earlier: Recommendations by models of fewer measurements, by their number.
        compared: Whether to compare the model with another one, which takes as long as a fit.

    Returns:
        A sentence for each contradiction: of equal measurements, of the order in time, of values of
        the environment at which nothing succeeds, of the repeats of a configuration, of earlier
        predictions, of those of measurements that are left out, of repeats beside other
        measurements, of effects that are factors, of measurements near the recommendation, and of
        the symmetry of the noise.
    """
    found = [
        _equal_values(state),
        _change_in_time(state),
        _never_measured(state),
        _extrapolated(state),
    ]
    if not state.study_file.scheme.variables:
        units, model, best = state.study_file.units, state.belief, state.recommendation
        found += [
            _repeats(state),
            _earlier_predictions(units, model, earlier),
            _left_out(state),
            _disturbed(state),
            _proportional(state) if compared else "",
            _bias(model, best),
            _skewness(units, model, best),
        ]
    return tuple(text for text in found if text)


def _extrapolated(state: StudyState) -> str:
    """That the level of fidelity that counts was not measured yet."""
    last = {
        name: one.values[-1]  # type: ignore[union-attr]
        for name, one in state.study_file.scheme.variables.items()
        if not state.study_file.scheme.varies
    }
    if not last or any(trial_environment(one) == last for one in state.measured):
        return ""
    ((name, value),) = last.items()
    return (
        f"Nothing was measured at {name}={value:g} yet: the value there is that of other levels, "
        "from which it may differ by any constant."
    )


def _never_measured(state: StudyState) -> str:
    """Values of the environment at which every run has failed."""
    model = state.belief
    failing = [
        (*model.predicted.variable(*model.belief.space.condition(one.columns[0], one.value)), one)  # type: ignore[union-attr]
        for one in model.belief.failures.conditions.found
    ]
    if not failing:
        return ""
    where = ", ".join(f"{name} = {value} ({one.failures} failed)" for name, value, one in failing)
    return (
        f"No success at {where}: these failures are not held against the configurations, and what "
        "is predicted there is extrapolated from the other values. Mend what fails there, or leave "
        "the value out."
    )


def _equal_values(state: StudyState) -> str:
    """Whether most configurations have the same measurement, to the last digit."""
    by_value: dict[float, set[str]] = {}
    configurations = set()
    for trial in state.trials:
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            configurations.add(one := json.dumps(trial.params, sort_keys=True))
            by_value.setdefault(trial.value, set()).add(one)
    value, equal = max(by_value.items(), key=lambda one: len(one[1]))
    if len(equal) < _LEAST_EQUAL or 2 * len(equal) <= len(configurations):
        return ""
    return (
        f"Equal measurements: {len(equal)} different configurations gave exactly {value:.15g}. "
        "Either they are alike, or the objective does not use its parameters, or another number "
        "than the measurement is read; `surefoot check` shows which."
    )


def _repeats(state: StudyState) -> str:
    """The configuration whose repeats contradict its prediction most, if they do.

    The median of k values with tails of Student's t has those of (k + 1) / 2 times as many degrees
    of freedom.
    """
    from scipy import special

    study_file, model, trials = state.study_file, state.belief, state.measured
    repeated = _repeated(trials, FEWEST)
    fitted = model.fitted
    if not repeated or not math.isfinite(fitted.noise_scale):
        return ""
    settings = [trials[group[0]].params for group in repeated]
    mean, lower, upper = model.of_estimand("location").predict(settings)
    medians = np.array([np.median(fitted.adjusted[group]) for group in repeated])
    scaled = [fitted.on_model_scale(one) for one in (medians, mean, lower, upper)]
    counts = np.array([len(group) for group in repeated])
    errors = fitted.noise_scale * _MEDIAN / np.sqrt(counts)
    deviations = np.hypot(errors, (scaled[3] - scaled[2]) / 4.0)
    z = np.abs(scaled[0] - scaled[1]) / np.maximum(deviations, TINY)
    tails = special.stdtr(0.5 * model.belief.outcome.fitted.dof * (counts + 1), -z)
    worst = int(np.argmin(tails))
    if 2.0 * tails[worst] * len(repeated) > ALARM:
        return ""
    params, number = settings[worst], counts[worst]
    name = f"configuration of trial {trials[repeated[worst][0]].number}"
    best = state.recommendation.params
    for known, what in ((best, "recommended"), (study_file.defaults, "default")):
        name = f"{what} configuration" if params == known else name
    units = study_file.units
    median = units.of_value(f"{medians[worst]:.5g}")
    predicted = units.of_value(estimate_text(mean[worst], lower[worst], upper[worst]))
    return (
        f"The {name} was measured {number} times, with median {median}; the model predicts "
        f"{predicted}."
    )


def _left_out(state: StudyState) -> str:
    """Whether measurements are predicted from the others no better than by chance."""
    validation = state.belief.belief.outcome.cross_validation
    if validation.is_predictive:
        return ""
    number = int(beside_others(state.measured).sum())
    beside = f" {number} measurements ran beside others, which may disturb them: {ALONE}."
    return (
        "The model predicts measurements that are left out no better than chance (correlation "
        f"{validation.correlation:.2f}): what it predicts of other configurations is no evidence "
        f"that they differ.{beside if number else ''}"
    )


def _disturbed(state: StudyState) -> str:
    """Whether repeats of a configuration differ more where one ran beside others."""
    trials, fitted = state.measured, state.belief.fitted
    beside, values = beside_others(trials), fitted.on_model_scale(fitted.adjusted)
    pairs = [pair for group in _repeated(trials, 2) for pair in pairwise(group)]
    apart = np.array([abs(values[one] - values[other]) for one, other in pairs])
    either = np.array([beside[one] or beside[other] for one, other in pairs], dtype=bool)
    with_others, alone = apart[either], apart[~either]
    few = min(len(with_others), len(alone)) < _LEAST_EQUAL
    if few or rank_sum(with_others, alone, _IN_TURN) > ALARM:
        return ""
    times = float(np.median(with_others) / max(np.median(alone), TINY))
    return (
        f"Repeats of a configuration differ {times:.2g} times as much where they run beside other "
        f"measurements, from trial {trials[int(beside.argmax())].number} on, as where they run "
        f"alone: workers disturb each other, so {ALONE}."
    )


def _repeated(trials: Sequence[FrozenTrial], least: int) -> list[list[int]]:
    """Which trials have the same configuration, of those measured so often."""
    groups: dict[str, list[int]] = {}
    for index, trial in enumerate(trials):
        groups.setdefault(json.dumps(trial.params, sort_keys=True), []).append(index)
    return [group for group in groups.values() if len(group) >= least]


def rank_sum(
    larger: NDArray[np.float64], smaller: NDArray[np.float64], variance: float = 1.0
) -> float:
    """Probability, by the ranks, of values as much larger than others by chance.

    Args:
        larger: Values (n,).
        smaller: The others (m,).
        variance: Of the sum of ranks, over that of independent values.

    References:
        Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically
        larger than the other".
    """
    first, second = len(larger), len(smaller)
    wins = float((larger[:, None] > smaller).sum() + 0.5 * (larger[:, None] == smaller).sum())
    deviation = math.sqrt(variance * first * second * (first + second + 1) / 12.0)
    return 0.5 * math.erfc((wins - first * second / 2.0) / deviation / math.sqrt(2.0))


def beside_others(trials: Sequence[FrozenTrial]) -> NDArray[np.bool_]:
    """Whether each trial ran while another did; False where it is not known when it ran."""
    spans = [
        (None, None) if ASKED in one.user_attrs else (one.datetime_start, one.datetime_complete)
        for one in trials
    ]
    ends = [[math.nan if at is None else at.timestamp() for at in span] for span in spans]
    begun, ended = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    order, beside = np.argsort(begun), np.zeros(len(begun), dtype=bool)
    beside[order[1:]] |= begun[order[1:]] < np.fmax.accumulate(ended[order])[:-1]
    beside[order[:-1]] |= begun[order[1:]] < ended[order[:-1]]
    return beside


def _proportional(state: StudyState) -> str:
    """Whether workers or time change measurements by a factor, where an amount is modelled."""
    model, is_log = state.belief, state.study_file.objective.log
    if is_log or not model.belief.outcome.effects or not (model.fitted.values > 0.0).all():
        return ""
    other = state.opened.belief_of_logarithms(state.trials)
    gain = other.fitted.log_density_left_out - model.fitted.log_density_left_out
    if not other.belief.outcome.effects or gain < _BETTER:
        return ""
    return (
        "Levels, workers or time change the measurements by a factor rather than by an amount, "
        "which is what the model has: of logarithms it predicts each of them from the others "
        f"better (by {gain:.0f} nats). Set log = true in [objective]: until then, predictions may "
        "miss what was measured."
    )


def _bias(model: StudyBelief, best: StudyRecommendation) -> str:
    """Whether measurements near the recommendation differ from what the others predict there."""
    bias = float(model.belief.outcome.bias_near(model.points([best.params])))
    if math.erfc(abs(bias) / math.sqrt(2.0)) > ALARM:
        return ""
    side, cause = (
        ("better", "an optimum too narrow") if bias > 0.0 else ("worse", "an edge too steep")
    )
    return (
        f"Measurements near the recommended configuration are {side} than the others predict, by "
        f"{abs(bias):.1f} standard errors: there may be {cause} for the model, and the interval "
        "may miss the value. Measure it, or let the search go on."
    )


def _skewness(units: Units, model: StudyBelief, best: StudyRecommendation) -> str:
    """Whether the interval of the mean of measurements excludes their location.

    That interval contains what is not known of the location, so that chance has less than the
    usual 5 %.
    """
    if model.estimand != "location":
        return ""
    (mean,) = model.of_estimand("mean").assess([best.params])
    if not (best.value < mean.lower or best.value > mean.upper):  # also where it is not known
        return ""
    predicted = units.of_value(estimate_text(mean.value, mean.lower, mean.upper))
    return (
        "The noise is skewed: the value is the location of measurements, and their mean is "
        f"predicted at {predicted}; `estimand = 'mean'` in [objective] reports the mean."
    )


def _change_in_time(state: StudyState) -> str:
    """Whether the residuals are larger or smaller after some trial than before it.

    Not where the model has a drift: it describes the change, and is reported by itself.
    """
    study_file, model, trials = state.study_file, state.belief, state.measured
    if "drift" in model.effects:
        return ""
    mean, _, _ = state.at_measured(model.of_estimand("location"))
    order = sorted(
        range(len(trials)), key=lambda i: (trials[i].datetime_complete is None, trials[i].number)
    )
    fitted = model.fitted
    residuals = (fitted.adjusted - mean)[order]
    scaled = fitted.on_model_scale(fitted.adjusted) - fitted.on_model_scale(mean)
    split, probability = change_point(scaled[order])
    if probability > ALARM:
        return ""
    shift = float(np.median(residuals[split:]) - np.median(residuals[:split]))
    size, word = study_file.units.of_value(f"{abs(shift):.3g}"), "above" if shift > 0 else "below"
    first = trials[order[split]].number
    return (
        f"From trial {first} on, measurements are {size} {word} those before, compared with the "
        f"model: the system may have changed during the study."
    )


def change_point(residuals: NDArray[np.float64]) -> tuple[int, float]:
    """Pettitt's rank test of a change in location at an unknown time.

    Args:
        residuals: Values (n,) in order of time.

    Returns:
        Where the change is most likely, as the number of values before it, and the p-value, 1 for
        fewer than twelve values.

    References:
        Pettitt 1979, "A non-parametric approach to the change-point problem".
    """
    number = len(residuals)
    if number < TESTED:
        return 0, 1.0
    _, position, counts = np.unique(residuals, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[position]  # of equal values their mean
    statistic = 2.0 * np.cumsum(ranks)[:-1] - np.arange(1, number) * (number + 1.0)
    split = int(np.argmax(np.abs(statistic))) + 1
    largest = float(np.abs(statistic[split - 1]))
    return split, min(1.0, 2.0 * math.exp(-6.0 * largest**2 / (number**3 + number**2)))


def _earlier_predictions(
    units: Units, model: StudyBelief, earlier: Mapping[int, StudyRecommendation]
) -> str:
    """Whether most of the earlier intervals miss what the model predicts there now."""
    known = {count: best for count, best in earlier.items() if count >= TESTED}
    if len(known) < 2:
        return ""
    settings = [best.params for best in known.values()]
    now, _, _ = model.predict(settings, at=[model.trials[count - 1] for count in known])
    missed = [
        (count, best, float(value))
        for (count, best), value in zip(known.items(), now, strict=True)
        if not best.lower <= value <= best.upper
    ]
    if 2 * len(missed) <= len(known):
        return ""
    count, best, value = missed[-1]
    predicted = units.of_value(estimate_text(best.value, best.lower, best.upper))
    return (
        f"What was recommended after {count} measurements was predicted at {predicted} and is "
        f"now at {units.of_value(f'{value:.5g}')}; {len(missed)} of {len(known)} earlier intervals "
        "miss like that."
    )
