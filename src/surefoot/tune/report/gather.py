"""From a study and what the model believes of it to the values on the page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from surefoot.tune import StudyFile
from surefoot.tune.ledger import OUTPUT, SECONDS, environment_of, is_interrupted, reason_of
from surefoot.tune.report.cuts import cuts, intervals, parameter
from surefoot.tune.report.data import Interval, ReportData, Trial
from surefoot.tune.report.history import history
from surefoot.tune.report.noise import tails
from surefoot.tune.report.reproduce import command, storage, versions, without_passwords
from surefoot.tune.report.surroundings import surroundings

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief


def gather(study_file: StudyFile, study: optuna.Study, belief: StudyBelief) -> ReportData:
    """All that the report shows."""
    found = study.get_trials(deepcopy=False)
    best = belief.recommend()
    space = study_file.distributions

    by_number = {trial.number: trial for trial in found}
    measured = [by_number[number] for number in belief.trials]
    beside = study_file.study_environment
    settings = [trial.params for trial in measured]
    under = None if beside is None else [environment_of(trial) for trial in measured]
    predicted = intervals(*belief.predict(settings, under))
    first = min(measured, key=lambda trial: trial.number)
    opinions = {
        number: (interval, float(weight), bool(outlier))
        for number, interval, weight, outlier in zip(
            belief.trials, predicted, belief.weights, belief.outliers, strict=True
        )
    }
    residuals = np.asarray(belief.values) - np.array([interval.mean for interval in predicted])
    return ReportData(
        name=study_file.study.name,
        direction=study_file.study.direction,
        parameters=tuple(parameter(name, space[name]) for name in space),
        trials=tuple(_trial(trial, opinions.get(trial.number)) for trial in found),
        recommended={name: best.params[name] for name in space},
        value=Interval(best.value, best.lower, best.upper),
        history=history(study_file, study, belief),
        slices=cuts(belief, best.params, space),
        tails=tails(residuals),
        assumed=belief.assumed,
        study_text=without_passwords(study_file.path.read_text(encoding="utf-8")),
        command=command(study_file),
        versions=versions(),
        storage=storage(study_file),
        seed=study_file.study.seed,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        first=intervals(*belief.predict([first.params]))[0],
        surroundings=surroundings(study_file, belief, best.params),
    )


def _trial(trial: FrozenTrial, opinion: tuple[Interval, float, bool] | None) -> Trial:
    predicted, weight, outlier = opinion or (None, None, False)
    measured = trial.state == TrialState.COMPLETE
    return Trial(
        number=trial.number,
        params=dict(trial.params),
        state=_state(trial),
        value=trial.value if measured else None,
        predicted=predicted,
        weight=weight,
        outlier=outlier,
        seconds=_seconds(trial),
        failure=reason_of(trial),
        output=str(trial.user_attrs.get(OUTPUT, "")),
        environment=environment_of(trial),
    )


def _state(trial: FrozenTrial) -> str:
    if is_interrupted(trial):
        return "interrupted"
    return "failed" if trial.state == TrialState.FAIL else trial.state.name.lower()


def _seconds(trial: FrozenTrial) -> float | None:
    if SECONDS in trial.user_attrs:
        return float(trial.user_attrs[SECONDS])
    return trial.duration.total_seconds() if trial.duration else None
