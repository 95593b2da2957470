"""Why trials have failed, and what the failed ones have in common, in words."""

from __future__ import annotations

import json
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial

from surefoot._internal.numbers import ALARM, FEWEST
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import printable
from surefoot.tune.study.trial_attributes import (
    failure_reason,
    is_failed_round,
    is_round,
    trial_output,
)
from surefoot.types import NotReady

_RELATIONS = {"=": operator.eq, ">=": operator.ge, "<=": operator.le}


def explained_failure(trial: FrozenTrial) -> str:
    """Why a trial failed, in one line: its reason, and the last line that it printed."""
    reason = printable(failure_reason(trial))
    printed = printable(trial_output(trial)).strip().splitlines()
    last = printed[-1].strip()[:200] if printed else ""
    return reason if not last or last in reason else f"{reason}: {last}"


def without_measurement(study_file: StudyFile, trials: Sequence[FrozenTrial]) -> NotReady:
    """Why nothing can be said of a study that has no measurement, and what to do.

    Args:
        study_file: Its study file.
        trials: Its trials.
    """
    lines = failure_lines(trials)
    why = f": {lines[0]}" if lines else f"; {study_file.first_step}"
    return NotReady(f"{study_file.path.name}: no round has a measurement{why}")


def failure_lines(trials: Sequence[FrozenTrial]) -> tuple[str, ...]:
    """Sentences on the failed rounds: how many, the first one's reason, what they share."""
    rounds = [trial for trial in trials if is_round(trial)]
    failed = [trial for trial in rounds if is_failed_round(trial)]
    if not failed:
        return ()
    first = f"trial {failed[0].number}: {explained_failure(failed[0])}"
    named = "the first, " * (len(failed) > 1)
    counted = f"{len(failed)} of {len(rounds)} trials failed, {named}{first}."
    return tuple(filter(None, (counted, shared_property(failed, rounds))))


@dataclass(frozen=True)
class _Property:
    """A property of configurations: a parameter's value, or an end of its range."""

    name: str
    value: Any
    relation: str = "="

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {_text(self.value)}"

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Whether a configuration has it."""
        if self.name not in params:
            return False
        return bool(_RELATIONS[self.relation](params[self.name], self.value))


def shared_property(failed: Sequence[FrozenTrial], rounds: Sequence[FrozenTrial]) -> str:
    """A value or a range that all failed trials have and few others; empty if that may be chance.

    By the hypergeometric distribution, for all that could have been shared: one of the values of
    each parameter, and each end of the ranges of numbers.

    Args:
        failed: The failed trials.
        rounds: They and all others.
    """
    if len(failed) < FEWEST or len(failed) == len(rounds):
        return ""
    names = {name for trial in rounds for name in trial.params}
    columns = {name: [one.params[name] for one in rounds if name in one.params] for name in names}
    ranged = {name for name, column in columns.items() if all(map(_is_number, column))}
    best, least = "", ALARM / max(len(columns) + 2 * len(ranged), 1)
    for one in _properties([trial.params for trial in failed], ranged):
        having = sum(one.holds(trial.params) for trial in rounds)
        counts = [*Counter(columns[one.name]).values()] if one.relation == "=" else [having]
        # The probability that as many trials, drawn at random, share this or what is as rare.
        rare = sum(math.comb(count, len(failed)) for count in counts if count <= having)
        chance = rare / math.comb(len(rounds), len(failed))
        if chance < least:
            others = having - len(failed)
            best, least = f"All {len(failed)} have {one}, as {_measured(others)}.", chance
    return best


def _measured(number: int) -> str:
    if number == 0:
        return "no trial with a measurement has"
    return f"{number} with a measurement {'has' if number == 1 else 'have'}"


def _properties(failed: Sequence[dict[str, Any]], ranged: Collection[str]) -> Iterator[_Property]:
    """Values of parameters, or ends of the ranges of some, that all failed configurations share."""
    names = [name for name in failed[0] if all(name in params for params in failed)]
    for name in names:
        values = [params[name] for params in failed]
        if all(value == values[0] for value in values):
            yield _Property(name, values[0])
        elif name in ranged:
            yield _Property(name, min(values), ">=")
            yield _Property(name, max(values), "<=")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    return printable(value if isinstance(value, str) else json.dumps(value))
