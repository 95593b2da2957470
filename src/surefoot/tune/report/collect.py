"""The contents of a report, from the state of a study."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import compress
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna import StudyBelief, StudyRecommendation
from surefoot.parameters import Choice, Space
from surefoot.tails import TailDiagnosis, diagnose
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import escaped
from surefoot.tune.report.contents import (
    Checkpoint,
    Effects,
    EnvironmentView,
    Interval,
    Parameter,
    Report,
    Slice,
    Trial,
)
from surefoot.tune.report.decision import decision, violated
from surefoot.tune.report.formatting import setting
from surefoot.tune.report.plotting import GRID
from surefoot.tune.study.best_by_given import values_along
from surefoot.tune.study.early_stop import probability_left
from surefoot.tune.study.findings import Findings
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import (
    failure_reason,
    is_interrupted,
    trial_constraints,
    trial_environment,
    trial_output,
    trial_seconds,
)
from surefoot.types import InvalidInput, Outcome

CHECKPOINTS = 10
PACKAGES = ("surefoot", "torch", "gpytorch", "optuna", "numpy")


def collect(state: StudyState) -> Report:
    """The contents of the report of a study.

    Raises:
        NotReady: If the study has no measurement yet.
    """
    if given := state.given:  # at all times: other conditions are no progress
        state = replace(state, asked=given)
    study_file, model, measured = state.study_file, state.belief, state.measured
    best, space = state.recommendation, study_file.space
    earlier = [] if study_file.scheme.objectives else checkpoint_counts(len(measured))[:-1]
    past = {count: _outlook(state.after(count)) for count in earlier}  # one belief at a time
    for count, (then, _) in past.items():
        state.opened.recommended[count] = then
    found = Findings(state, list(past))
    under = ", ".join(f"{name}={setting(value)}" for name, value in given.items())
    outlooks = {**past, len(measured): _outlook(state)}
    predicted = intervals(*state.at_measured(model))
    fits = {
        number: (interval, float(weight), bool(outlier))
        for number, interval, weight, outlier in zip(
            model.trials, predicted, model.weights, model.outliers, strict=True
        )
    }
    first = min(measured, key=lambda trial: trial.number)
    center, _, _ = state.at_measured(model.of_estimand("location"))
    fitted = model.fitted
    residuals = fitted.on_model_scale(fitted.adjusted) - fitted.on_model_scale(center)
    others, near = _of_others(state), _best_values(model, measured)
    outlying = _outlying(state, others)
    facts, verdict = _noise(residuals, int(np.sum(model.outliers)))
    return Report(
        name=study_file.study.name,
        direction=study_file.study.direction,
        parameters=tuple(_parameter(space, name) for name in space.parameters),
        trials=tuple(
            replace(
                _trial(study_file, trial, *fits.get(trial.number, (None, None, False))),
                outlying=tuple(name for name in outlying if trial.number in outlying[name]),
            )
            for trial in state.trials
        ),
        findings=found,
        value=Interval(best.value, best.lower, best.upper),
        history=_history(model, {count: one for count, (one, _) in outlooks.items()}),
        gain=0.0 if study_file.stop is None else study_file.stop.gain,
        confidence=0.0 if study_file.stop is None else study_file.stop.confidence,
        left_to_gain=tuple(chance for _, left in outlooks.values() for chance in left),
        slices=influential(slices(model, best.params, space, near)),
        noise_facts=facts,
        noise_verdict=verdict,
        noise_model=fitted.assumed,
        study_text=escaped(
            study_file.hide_passwords(study_file.path.read_text(encoding="utf-8-sig"))
        ),
        command=escaped(
            f"surefoot {'tune' if study_file.objective.measures else 'ask'} {study_file.as_word}"
        ),
        versions=_versions(),
        storage=_storage(study_file),
        seed=study_file.study.seed,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        decision=decision(found, first.params, under),
        given=under,
        environment=_environment(study_file, model, best.params),
        effects=_effects(found),
        units=study_file.units,
        estimand=model.estimand,
        bounds=study_file.constraints,
        limit_slices={
            name: influential(slices(others[name], best.params, space, near))[:2]
            for name in study_file.constraints
            if name in others and not study_file.scheme.variables
        },
    )


def _of_others(state: StudyState) -> dict[str, StudyBelief]:
    """Models of the limited quantities and further objectives that were measured, by name."""
    model = state.belief
    declared: dict[str, Outcome] = {**model.declared, **state.study_file.constraints}
    return {
        name: model.of_outcome(name, one)
        for name, one in declared.items()
        if name in model.belief.constraints.outcomes
    }


def _outlying(state: StudyState, others: Mapping[str, StudyBelief]) -> dict[str, set[int]]:
    """Numbers of the trials that measured an outlier, for each quantity."""
    measured = {trial.number: trial_constraints(trial) for trial in state.measured}
    return {
        name: {*compress((n for n, values in measured.items() if name in values), one.outliers)}
        for name, one in others.items()
    }


def intervals(
    mean: Iterable[float], lower: Iterable[float], upper: Iterable[float]
) -> tuple[Interval, ...]:
    """Three arrays as intervals."""
    return tuple(
        Interval(float(middle), float(low), float(high))
        for middle, low, high in zip(mean, lower, upper, strict=True)
    )


def slices(
    model: StudyBelief,
    recommended: dict[str, Any],
    space: Space,
    others: Mapping[str, Any],
) -> tuple[Slice, ...]:
    """One slice for each parameter of the recommendation, from a single prediction.

    Args:
        model: The model.
        recommended: The recommended configuration.
        space: The search space.
        others: Values of parameters that become active along a slice.
    """
    every = {
        name: one.choices[0] if isinstance(one, Choice) else one.scale.low
        for name, one in space.parameters.items()
    } | {**others}
    values = {name: _values(space, name, recommended[name]) for name in recommended}
    settings = [
        space.restricted({**every, **recommended, name: value})
        for name in values
        for value in values[name]
    ]
    predicted = iter(intervals(*model.predict(settings)))
    return tuple(
        Slice(
            _parameter(space, name),
            along,
            tuple(next(predicted) for _ in along),
            recommended[name],
        )
        for name, along in values.items()
    )


def influential(found: Iterable[Slice]) -> tuple[Slice, ...]:
    """Slices, the most influential parameter first."""
    return tuple(sorted(found, key=lambda one: one.span, reverse=True))


def _state(trial: FrozenTrial) -> str:
    if is_interrupted(trial):
        return "interrupted"
    return "failed" if trial.state == TrialState.FAIL else trial.state.name.lower()


def _trial(
    study_file: StudyFile,
    trial: FrozenTrial,
    predicted: Interval | None,
    weight: float | None,
    outlier: bool,
) -> Trial:
    limits, constraints = study_file.constraints, trial_constraints(trial)
    return Trial(
        number=trial.number,
        params=dict(trial.params),
        state=_state(trial),
        value=trial.value if trial.state == TrialState.COMPLETE else None,
        predicted=predicted,
        weight=weight,
        outlier=outlier,
        seconds=trial_seconds(trial),
        failure=escaped(failure_reason(trial)),
        output=escaped(trial_output(trial)),
        environment=trial_environment(trial),
        constraints={n: constraints[n] for n in study_file.reported if n in constraints},
        violated=violated(limits, constraints),
    )


def _parameter(space: Space, name: str) -> Parameter:
    one = space.parameters[name]
    if isinstance(one, Choice):
        return Parameter(name, choices=tuple(one.choices))
    return Parameter(name, log=one.log, special=tuple(one.special))


def _best_values(model: StudyBelief, measured: list[FrozenTrial]) -> dict[str, Any]:
    """Value of each parameter in the best measured configuration that has it."""
    assessed = model.assess([trial.params for trial in measured])
    values: dict[str, Any] = {}
    for one in sorted(assessed, key=model.preference):
        values |= one.params
    return values


def _values(space: Space, name: str, recommended: Any) -> tuple[Any, ...]:
    """The values of a parameter at which its slice is predicted."""
    parameter = space.parameters[name]
    along = values_along(parameter, np.linspace(0.0, 1.0, GRID))
    return tuple(along if isinstance(parameter, Choice) else sorted({*along, recommended}))


def _noise(residuals: np.ndarray, downweighted: int) -> tuple[tuple[tuple[str, str], ...], str]:
    """The diagnosis of the residuals (n,), or why there is none."""
    try:
        found = diagnose(residuals, "the sample of residuals")
    except InvalidInput as error:
        return (), f"No diagnosis: {error}"
    far = round(found.outlier_share * found.n)
    # Which algorithm to use is no question here: the model is the one that was suggested.
    facts = [(name, text) for name, text in found.facts() if not name.startswith("Suggested")]
    renamed = {
        "Values": ("Residuals", str(found.n)),
        "Share of outliers (beyond 3.5 robust sd)": (
            "Beyond 3.5 robust standard deviations",
            f"{far} of {found.n}; for normal noise 1 in 2,000",
        ),
    }
    return tuple(renamed.get(name, (name, text)) for name, text in facts), _verdict(
        found, downweighted
    )


def _verdict(found: TailDiagnosis, downweighted: int) -> str:
    """Meaning of the diagnosis for the fitted model."""
    if found.algorithm == "gp_ucb":
        noise = f"No evidence against normal residuals (p = {found.p_value:.2f})."
    elif found.tail_upper < 2:
        noise = "The residuals are heavy-tailed: their variance is infinite, or practically so."
    elif found.tail_lower > 2:
        noise = "The residuals are not normal, with outliers, but their variance is finite."
    else:
        noise = "The residuals are not normal; whether their variance is finite is open."
    weights = (
        f"In the model, {downweighted} of {found.n} measurements have less than half "
        "their weight: they are the outliers that this page counts. The count beyond 3.5 robust "
        "standard deviations is a fixed rule, so the two may differ."
    )
    weak = " With fewer than 60 measurements this is weak evidence." if found.n < 60 else ""
    return f"{noise}{weak} {weights}"


def _effects(found: Findings) -> Effects:
    model, recommended = found.state.belief, found.state.recommendation.params
    drift, workers = model.drift(recommended), model.workers(recommended)
    return Effects(
        found.effects,
        () if drift is None else tuple(drift.trials),
        () if drift is None else intervals(drift.mean, drift.lower, drift.upper),
        tuple((escaped(name), Interval(*ends)) for name, ends in sorted(workers.items())),
    )


def _environment(
    study_file: StudyFile, model: StudyBelief, recommended: dict[str, Any]
) -> EnvironmentView | None:
    environment, risk = study_file.scheme.environment, study_file.scheme.risk
    if environment is None or risk is None:
        return None
    over = model.over_environment(recommended)
    return EnvironmentView(
        names=tuple(environment.names),
        discrete=environment.distribution.finite,
        points=tuple(tuple(point) for point in over.values.tolist()),
        predicted=intervals(over.mean, over.lower, over.upper),
        weights=tuple(over.weights.tolist()),
        risk=risk,
    )


def _outlook(state: StudyState) -> tuple[StudyRecommendation, tuple[float, ...]]:
    """The recommendation, and the probability that more than the gain of `[stop]` is left."""
    stop = state.study_file.stop
    return state.recommendation, () if stop is None else (probability_left(state, stop.gain),)


def _history(
    model: StudyBelief, bests: Mapping[int, StudyRecommendation]
) -> tuple[Checkpoint, ...]:
    """Recommendations by number of measurements, and their predictions now."""
    at = [model.trials[count - 1] for count in bests]
    now = intervals(*model.predict([best.params for best in bests.values()], at=at))
    return tuple(
        Checkpoint(count, Interval(best.value, best.lower, best.upper), value)
        for (count, best), value in zip(bests.items(), now, strict=True)
    )


def checkpoint_counts(measured: int) -> list[int]:
    """Numbers of measurements to replay, denser at first; each takes one fit."""
    first = min(3, measured)
    spread = np.geomspace(first, measured, min(CHECKPOINTS, measured - first + 1))
    return sorted({round(float(count)) for count in spread})


def _storage(study_file: StudyFile) -> str:
    given = study_file.study.storage
    if given is None:
        return f"{study_file.study.name}.db, beside the study file"
    return study_file.hide_passwords(given)


def _versions() -> tuple[tuple[str, str], ...]:
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return (*((name, version(name)) for name in PACKAGES), ("Python", python))
