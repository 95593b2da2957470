"""Effects of worker and time, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import FrozenTrial

from surefoot.integrations.optuna import TIME
from surefoot.tune.estimate_text import Units
from surefoot.tune.plain_text import listed, printable
from surefoot.tune.study.model_checks import ALONE, beside_others
from surefoot.tune.study.state import StudyState

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyDrift


def effect_lines(state: StudyState) -> tuple[str, ...]:
    """Sentences on drift and workers; none of what the data do not show."""
    study_file, model, params = state.study_file, state.belief, state.recommendation.params
    lines, minimize = [], study_file.study.direction == "minimize"
    if (drift := model.drift(params)) is not None:
        begun = {  # None where the study counts time by a clock of its own, or not at all
            trial.number: None if TIME in trial.user_attrs else trial.datetime_start
            for trial in state.trials
        }
        line = drift_line(drift, minimize, study_file.units, begun)
        lines.append(f"{line}{_began_beside(drift, state.measured)}")
    if workers := model.workers(params):
        lines.append(_workers_line(workers, float(model.predict([params])[0][0]), study_file.units))
    return tuple(lines)


def drift_line(
    drift: StudyDrift,
    minimize: bool,
    units: Units,
    begun: Mapping[int, datetime | None] | None = None,
) -> str:
    """The largest change over time, and what predictions are for.

    Args:
        drift: One configuration at the times of the trials.
        minimize: Whether larger values are worse.
        units: Unit of the values.
        begun: When each trial began, by its number; None where that is not known by a clock.

    Returns:
        A sentence or two.
    """
    split, before, after = largest_change(drift.mean)
    worse = "worse" if (after > before) is minimize else "better"
    ends = float(drift.mean.min()), float(drift.mean.max())
    return (
        f"The level of the measurements changed during the study: from "
        f"{_since(drift.trials, split, begun or {})} on, the same configuration is "
        f"{_change(before, after, units)} {worse} than before. Over "
        f"all trials, the recommended one is predicted between {ends[0]:.5g} and "
        f"{units.of_value(f'{ends[1]:.5g}')}; this drift is taken out, and predictions are for the "
        f"latest trial."
    )


def _began_beside(drift: StudyDrift, measured: Sequence[FrozenTrial]) -> str:
    """The remedy, where measurements began to run beside others at the largest change."""
    split, _, _ = largest_change(drift.mean)
    beside = dict(zip((one.number for one in measured), beside_others(measured), strict=True))
    ran = [beside.get(number, False) for number in drift.trials]
    if not np.mean(ran[:split]) < 0.5 < np.mean(ran[split:]):
        return ""
    return f" Measurements run beside others since, which may disturb them: {ALONE}."


def _since(trials: Sequence[int], split: int, begun: Mapping[int, datetime | None]) -> str:
    """Where a change is, in words: a trial, or a time where numbers are not in order of time."""
    first = trials[split]
    if max(trials[:split]) < min(trials[split:]):
        return f"trial {min(trials[split:])}"
    at = begun.get(first)
    return f"the time of trial {first}" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def largest_change(values: np.ndarray) -> tuple[int, float, float]:
    """The step that explains most of the values, by least squares.

    Args:
        values: Values (n,) in order of time, two at least.

    Returns:
        How many values are before it, and the means before and after.
    """
    number = len(values)
    before = np.arange(1, number)
    sums = np.cumsum(values)[:-1]
    means = sums / before, (values.sum() - sums) / (number - before)
    split = int(np.argmax(before * (number - before) * (means[0] - means[1]) ** 2))
    return split + 1, float(means[0][split]), float(means[1][split])


def _change(before: float, after: float, units: Units) -> str:
    if before * after > 0.0 and 0.5 <= (percent := abs(100.0 * (after / before - 1.0))) < 900.0:
        return f"{percent:.0f} %"
    return units.of_value(f"{abs(after - before):.3g}")


def _workers_line(
    workers: Mapping[str, tuple[float, float, float]], average: float, units: Units
) -> str:
    ordered = sorted(workers.items(), key=lambda each: -abs(each[1][0] - average))
    shown = listed(
        f"{printable(name)} {units.of_value(f'{value:.5g}')}" for name, (value, *_) in ordered
    )
    return (
        f"Workers differ: the recommended configuration is predicted at {shown}. These "
        f"differences are taken out, and predictions are for the average of the workers."
    )
