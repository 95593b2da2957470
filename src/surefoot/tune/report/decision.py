"""The head of a report for whoever decides: the defaults against the recommendation, and advice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from surefoot.integrations.optuna import StudyBelief
from surefoot.tune.comparison.compare import recorded_comparison
from surefoot.tune.comparison.comparison import Comparison
from surefoot.tune.comparison.comparison_file import Runs
from surefoot.tune.comparison.measured_limits import readings_of
from surefoot.tune.comparison.paired_test import median_interval
from surefoot.tune.definition.constraint_text import describe, limit_words, probability_text
from surefoot.tune.estimate_text import quantity
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.quantity import VALUE
from surefoot.tune.plain_text import escaped
from surefoot.tune.report.contents import Decision, DecisionRow, Estimate, Interval, Trial
from surefoot.tune.report.formatting import interval_text
from surefoot.tune.study.findings import Findings
from surefoot.tune.study.state import StudyState
from surefoot.types import Constraint, InvalidInput


def decision(findings: Findings, first: dict[str, Any], under: str) -> Decision:
    """The defaults, or the first configuration, against the recommended one.

    Args:
        findings: Findings on the study.
        first: The configuration that was measured first.
        under: Values of the given variables that it holds under, in words; empty without any.
    """
    state = findings.state
    study_file, best = state.study_file, state.recommendation
    own = study_file.defaults_under({n: v for n, v in best.params.items() if n in state.given})
    try:
        result, runs = recorded_comparison(study_file, best.params) or (None, [])
    except InvalidInput as error:
        return Decision("", (), escaped(str(error)))
    other = {**first, **state.given} if own is None else own
    same = other == best.params
    alone = same or (
        state.only_failed(other)
        and not any(isinstance(pair.get("a"), Measurement) for pair in runs)
    )
    sides = {"b": best.params} if alone else {"a": other, "b": best.params}
    bounds = study_file.constraints
    rows = []
    for name, unit, key, one in _values(state):
        predicted = {side: _predicted(one, params) for side, params in sides.items()}
        if not study_file.functional:
            rows.append(_row(name, "", unit, predicted, runs, key, bounds))
            continue
        rows.append(_row(name, "", unit, predicted, [], key, bounds))
        typical = _row("median of runs", "", unit, predicted, runs, key, bounds)
        if all(side.runs for side in (typical.other, typical.recommended) if side is not None):
            rows.append(replace(typical, contradictions=()))  # of what was not predicted
    limits = {side: findings.constraints_at(params) for side, params in sides.items()}
    for name, found in limits["b"].items():
        known = {side: each[name] for side, each in limits.items() if name in each}
        unit = study_file.units.reported.get(name, "")
        predicted = {
            side: Estimate(
                Interval(one.value, one.lower, one.upper), 0, probability_text(one.probability)
            )
            for side, one in known.items()
        }
        row = _row(name, limit_words(found.limit, unit), unit, predicted, runs, name, bounds)
        again = () if math.isnan(found.contrary) else (describe(name, found, unit),)
        rows.append(replace(row, contradictions=(*row.contradictions, *again)))
    title = "" if alone else "first measured" if own is None else "defaults"
    advice = _advice(state, result, own, same)
    if advice and under:  # it says nothing of other conditions
        advice = f"Under {escaped(under)}: {advice[0].lower()}{advice[1:]}"
    return Decision(title, tuple(rows), advice)


def violated(limits: Mapping[str, Constraint], values: Mapping[str, float]) -> tuple[str, ...]:
    """Names of the limits that measured values are beyond."""
    return tuple(
        name for name, one in limits.items() if name in values and one.excess(values[name]) > 0.0
    )


def _values(state: StudyState) -> list[tuple[str, str, str, StudyBelief]]:
    """Name, unit, name among the readings of a run and model of each objective."""
    units, named = state.study_file.units, state.study_file.scheme.objectives
    if not named:
        risk, estimand = state.study_file.scheme.risk, state.study_file.objective.estimand
        what = quantity(estimand, None if risk is None else risk.name)
        return [(what, units.value, VALUE, state.belief)]
    first = next(iter(named))
    return [
        (name, units.reported.get(name, ""), VALUE if name == first else name, one)
        for name, one in state.objectives.objectives.items()
    ]


def _predicted(model: StudyBelief, params: dict[str, Any]) -> Estimate:
    mean, lower, upper = (float(one[0]) for one in model.predict([params]))
    return Estimate(Interval(mean, lower, upper))


def _row(
    name: str,
    words: str,
    unit: str,
    predicted: Mapping[str, Estimate],
    runs: Runs,
    key: str,
    limits: Mapping[str, Constraint],
) -> DecisionRow:
    """A row, of what was measured side by side where it was, else predicted."""
    measured = {side: _measured(runs, side, key, limits.get(key)) for side in predicted}
    shown = {side: measured[side] or one for side, one in predicted.items()}
    notes = [
        f"{name} of {'the defaults' if side == 'a' else 'the recommendation'}, measured "
        f"{interval_text(found.interval)}, predicted {interval_text(predicted[side].interval)}. "
        "The system is another than during the search, or the model is wrong there."
        for side, found in measured.items()
        if found is not None
        and not found.few
        and not (
            found.interval.lower <= predicted[side].interval.upper
            and predicted[side].interval.lower <= found.interval.upper
        )
    ]
    sides = (
        {side: _run(number, one, key, limits) for side, one in pair.items()}
        for number, pair in enumerate(runs)
    )
    pairs = tuple((a, b) for one in sides if (a := one.get("a")) and (b := one.get("b")))
    return DecisionRow(name, words, unit, shown.get("a"), shown["b"], tuple(notes), pairs)


def _run(
    pair: int, one: Measurement | Failure, key: str, limits: Mapping[str, Constraint]
) -> Trial | None:
    """A run of a pair, with one of its readings as the value; None without."""
    if not isinstance(one, Measurement) or key not in one.readings:
        return None
    value, beyond = one.readings[key].value, violated(limits, one.values)
    return Trial(pair, {}, "complete", value, violated=beyond)


def _measured(runs: Runs, side: str, key: str, limit: Constraint | None) -> Estimate | None:
    """Median of the runs of one side, with its confidence sequence; their range if too few."""
    values = readings_of(key, [pair for pair in runs if len(pair) == 2], side)
    if not values:
        return None
    lower, upper = median_interval(np.asarray(values))
    ends = Interval(median(values), max(lower, min(values)), min(upper, max(values)))
    kept = "" if limit is None else f"{sum(limit.excess(v) <= 0.0 for v in values)} within"
    return Estimate(ends, len(values), kept, few=lower == -math.inf)


def _advice(
    state: StudyState, result: Comparison | None, defaults: Mapping[str, Any] | None, same: bool
) -> str:
    """What to do, in a sentence."""
    word = escaped(state.study_file.as_word)
    if not state.recommendation.feasible:
        return "Do not use it: no configuration is known that keeps all limits."
    if defaults is None:
        return ""
    if same:
        return "Keep the defaults: no configuration is known to be better."
    if result is None:
        how = f": `surefoot compare {word}`" if state.study_file.objective.measures else ", in turn"
        advice = (
            "The defaults have failed."
            if state.only_failed(defaults)
            else f"Measure it against the defaults before you use it{how}."
        )
        return advice if state.study_file.scheme.is_replayed else ""
    pairs = f"in {result.pairs} pair{'s' * (result.pairs != 1)} of runs"
    failed = f" {result.failed_runs('the defaults', 'the recommendation')}".rstrip()
    size = "" if result.further else ", or ".join(result.sizes)
    size = f": {size}" if size else ""
    open_ = [one.more_pairs or 0 for one in result.each.values() if one.ahead is None]
    number = max(open_, default=0)
    more = f"about {number} more pair{'s' * (number != 1)}" if all(open_) else "more pairs"
    doubt, broken = result.doubt("B"), result.limits_of("B", False)
    of_defaults = "" if doubt else result.limits_of("A", False)
    against = doubt or (result.doubt("A", "the defaults") if of_defaults else "")
    beside = f", {'and' if doubt else 'but'} {against}" if against else ""
    if functional := state.study_file.functional:
        head = "Do not use it: by" if broken else "By"
        return (
            f"{head} typical runs it is {result.standing}{beside} {pairs}, at 95 % confidence"
            f"{size}; its {functional}, which is what was searched for, is predicted only.{failed}"
        )
    if result.further:
        head = (
            "Not the defaults"
            if of_defaults
            else _HEADS.get(frozenset(one.ahead for one in result.each.values()), "Undecided")
        )
        head = "Do not use it" if broken else "Undecided" if doubt else head
        advice = f"{head}: it is {result.standing}{beside}, {pairs}, at 95 % confidence."
        return f"{advice}{f' Measure {more}, `surefoot compare {word}`.' if open_ else ''}{failed}"
    if result.ahead == "B" and doubt:
        head = "Do not use it" if broken else "Undecided"
        return f"{head}: its values are better {pairs}, but {doubt}."
    if result.ahead == "A" and (doubt := result.doubt("A", "they")):
        return f"The defaults have better values {pairs}, but {doubt}."
    if result.ahead == "B":
        return f"Use it: it is better than the defaults {pairs}, at 95 % confidence{size}.{failed}"
    if result.ahead == "A":
        return f"Keep the defaults: they are better {pairs}, at 95 % confidence{size}.{failed}"
    return f"Undecided {pairs}: measure {more}, `surefoot compare {word}`.{failed}"


_HEADS: dict[frozenset[str | None], str] = {
    frozenset({"B"}): "Use it",
    frozenset({"A"}): "Keep the defaults",
    frozenset({"A", "B"}): "A trade-off",
}
