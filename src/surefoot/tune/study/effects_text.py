"""Effects of worker and time, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from surefoot.tune.plain_text import printable
from surefoot.tune.study.pairing import Pairing
from surefoot.tune.study.state import StudyState
from surefoot.tune.units import Units

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyDrift

_SHOWN = 8  # workers that differ most from their average


def effect_lines(state: StudyState) -> tuple[str, ...]:
    """Sentences on drift, workers and pairs; none of what the data do not show."""
    study_file, model, params = state.study_file, state.belief, state.recommendation.params
    lines, minimize = [], study_file.study.direction == "minimize"
    if (drift := model.drift(params)) is not None:
        lines.append(drift_line(drift, minimize, study_file.units))
    if workers := model.workers(params):
        average = float(model.predict([params])[0][0])
        lines.append(_workers_line(workers, average, study_file.units))
    if note := Pairing(state).note:
        lines.append(note)
    return tuple(lines)


def drift_line(drift: StudyDrift, minimize: bool, units: Units) -> str:
    """The largest change over time, and what predictions are for.

    Args:
        drift: One configuration at the times of the trials.
        minimize: Whether larger values are worse.
        units: Unit of the values.
    """
    split, before, after = largest_change(drift.mean)
    worse = "worse" if (after > before) is minimize else "better"
    ends = float(drift.mean.min()), float(drift.mean.max())
    return (
        f"The level of the measurements changed during the study: from trial {drift.trials[split]} "
        f"on, the same configuration is {_change(before, after, units)} {worse} than before. Over "
        f"all trials, the recommended one is predicted between {ends[0]:.5g} and "
        f"{units.of_value(f'{ends[1]:.5g}')}; this drift is taken out, and predictions are for the "
        f"latest trial."
    )


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
    explained = before * (number - before) * (means[0] - means[1]) ** 2
    split = int(np.argmax(explained))
    return split + 1, float(means[0][split]), float(means[1][split])


def _change(before: float, after: float, units: Units) -> str:
    if before * after > 0.0 and 0.5 <= (percent := abs(100.0 * (after / before - 1.0))) < 900.0:
        return f"{percent:.0f} %"
    return units.of_value(f"{abs(after - before):.3g}")


def _workers_line(
    workers: Mapping[str, tuple[float, float, float]], average: float, units: Units
) -> str:
    ordered = sorted(workers.items(), key=lambda each: -abs(each[1][0] - average))
    shown = ", ".join(
        f"{printable(name)} {units.of_value(f'{value:.5g}')}"
        for name, (value, *_) in ordered[:_SHOWN]
    )
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return (
        f"Workers differ: the recommended configuration is predicted at {shown}{more}. These "
        f"differences are taken out, and predictions are for the average of the workers."
    )
