"""A study's trials as a table in a file."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.tune.ledger import SECONDS, environment_of, is_interrupted, reason_of
from surefoot.tune.opening import belief_of
from surefoot.tune.study_file import StudyFile
from surefoot.types import InvalidInput, NotReady, SurefootError

SUFFIXES = (".csv", ".parquet")


class ExportFailed(SurefootError):
    """The table could not be written."""


def check_output(output: Path) -> None:
    """Raise `InvalidInput` for a file that cannot be exported to."""
    if output.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"{output}: got the ending {output.suffix!r}, expected {' or '.join(SUFFIXES)}"
        )
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"{output}: there is no folder {output.absolute().parent}")
    if output.suffix.lower() == ".parquet":
        _parquet_writer()


def export(study_file: StudyFile, study: optuna.Study, output: Path) -> int:
    """Write all trials, by number, to a .csv or .parquet file; how many they are.

    Columns: number, state, `params_NAME` for each parameter, `environment_NAME` for each variable
    of the environment, value, weight (1: taken in full, near 0: treated as an outlier), failure,
    start (local time), seconds. The file appears complete or not at all. Raises `InvalidInput` for
    another kind of file, and where a .parquet file is asked for without the packages that write it.
    """
    check_output(output)
    rows = table(study_file, study)
    columns = list(_row(create_trial(state=TrialState.WAITING), _names(study_file), {}))
    # Beside the file, under a name of its own, so that replacing it is one step.
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        if output.suffix.lower() == ".csv":
            _write_csv(rows, columns, partial)
        else:
            _write_parquet(rows, columns, partial)
        partial.replace(output)
    except OSError as error:
        raise ExportFailed(f"{output}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return len(rows)


def table(study_file: StudyFile, study: optuna.Study) -> list[dict[str, Any]]:
    """A dictionary for each trial, all with the same keys; None for what there is not."""
    try:
        belief = belief_of(study_file, study)
        weights = dict(zip(belief.trials, belief.weights.tolist(), strict=True))
    except NotReady:
        weights = {}
    names = _names(study_file)
    return [_row(trial, names, weights) for trial in study.get_trials(deepcopy=False)]


def _names(study_file: StudyFile) -> tuple[Sequence[str], Sequence[str]]:
    """The parameters, and the variables of the environment."""
    environment = study_file.environment
    return list(study_file.parameters), [] if environment is None else list(environment.variables)


def _row(
    trial: FrozenTrial,
    names: tuple[Sequence[str], Sequence[str]],
    weights: dict[int, float],
) -> dict[str, Any]:
    state = "interrupted" if is_interrupted(trial) else trial.state.name.lower()
    return {
        "number": trial.number,
        "state": state,
        **{f"params_{name}": trial.params.get(name) for name in names[0]},
        **{f"environment_{name}": environment_of(trial).get(name) for name in names[1]},
        "value": trial.value if trial.state == TrialState.COMPLETE else None,
        "weight": weights.get(trial.number),
        "failure": reason_of(trial) or None,
        "start": trial.datetime_start,
        "seconds": _seconds(trial),
    }


def _seconds(trial: FrozenTrial) -> float | None:
    """The time of the measurement, or of the whole trial where surefoot did not measure it."""
    if SECONDS in trial.user_attrs:
        return float(trial.user_attrs[SECONDS])
    if is_interrupted(trial) or trial.duration is None:
        return None
    return trial.duration.total_seconds()


def _write_csv(rows: list[dict[str, Any]], columns: list[str], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns)
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(rows: list[dict[str, Any]], columns: list[str], path: Path) -> None:
    frame = _parquet_writer()(rows, columns=columns)
    for name in columns:
        # A column of a Parquet file has one type; the choices of a category need not.
        kinds = {type(row[name]) for row in rows if row[name] is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            frame[name] = [None if row[name] is None else str(row[name]) for row in rows]
    frame.to_parquet(path, index=False)


def _parquet_writer() -> Any:
    """`pandas.DataFrame`, if it can write Parquet."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "writing .parquet needs pandas and pyarrow: pip install 'surefoot[parquet]' "
            "(or export to .csv)"
        ) from None
    return pandas.DataFrame
