"""Measurements of another study become trials of a study, as after a change of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.integrations.optuna import ENVIRONMENT
from surefoot.integrations.optuna.attributes import FAILURE
from surefoot.integrations.optuna.constraints import constraints_of
from surefoot.tune.comparison.named_settings import given_values
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import MEASUREMENT
from surefoot.tune.measuring.quantity import VALUE, plain_number
from surefoot.tune.measuring.unit_scales import scaled
from surefoot.tune.plain_text import shown
from surefoot.tune.study.compatibility import DEFINITION, recorded_units
from surefoot.tune.study.parameter_units import (
    ParameterConversion,
    attributes_in_units,
    recorded_parameter_units,
    size_of,
)
from surefoot.tune.study.stored_file import study_in
from surefoot.tune.study.table_import import Imported, add_trials, assumption, own_units
from surefoot.tune.study.trial_attributes import (
    IMPORTED,
    OWNER,
    is_round,
    study_units,
    trial_constraints,
    trial_environment,
    trial_start,
)
from surefoot.types import InvalidInput


def import_study(
    path: Path | str,
    storage: Path | str,
    note: Callable[[str], None] = lambda text: None,
    given: Mapping[str, str] | None = None,
) -> Imported:
    """Add the finished trials of the study in a storage to a study, which is created if need be.

    A parameter that a trial lacks has its default. Measurements and parameters in another unit are
    converted to that of the study, which has theirs if it has none. Trials with values outside the
    present ranges are left out, and so are those that the study has already.

    Args:
        path: The study file.
        storage: An SQLite file or a journal of Optuna, with one study or one of the same name.
        note: Shows every few seconds how far it is.
        given: Texts by name, of the values under which the trials were measured: of given variables
            and of those of an environment or a fidelity, which the other study did not have.

    Returns:
        How many trials were added.

    Raises:
        StudyFileError: If the study file is invalid or its storage holds another study.
        InvalidInput: If the other study has another direction, a unit that cannot be converted or a
            parameter that the study file lacks, one that is new has no default, or a variable no
            value; nothing is added.
        StorageFailed: If a storage cannot be read or written.
    """
    study_file, file = StudyFile.load(path), Path(storage).absolute()
    study, trials = study_in(study_file, file)
    name = study.study_name
    _check_objectives(study_file, study, file)
    theirs = recorded_units(study.user_attrs, trials)
    own, of_parameters = own_units(study_file)
    units = {VALUE: "", **study_units(study.user_attrs), **theirs, **own}
    sizes = {
        name: size_of(MEASUREMENT if name == VALUE else name, one, units[name], file, study_file)
        for name, one in theirs.items()
    }
    conversion = ParameterConversion.between(study, file, study_file, of_parameters)
    recorded = recorded_parameter_units(study.user_attrs)
    there = {one for trial in trials for one in trial.params} - recorded.keys()
    known = {name: unit for name, unit in own.items() if unit and name not in theirs}
    if assumed := known | {
        name: one for name, one in of_parameters.items() if one and name in there
    }:
        note(assumption(file.name, assumed))
    takeover = _Takeover(study_file, file, sizes, conversion, *_conditions(study_file, given or {}))
    rounds = [trial for trial in trials if is_round(trial) and trial.state != TrialState.PRUNED]
    if unread := sorted(
        {name for one in rounds for name in constraints_of(one).keys() - trial_constraints(one)}
    ):
        note(
            f"{file.name}: {', '.join(map(shown, unread))}: constraints that Optuna has recorded "
            "are not taken over; for one in [constraints], import a table with its values as "
            "`constraint_NAME`"
        )
    adopted = [takeover.adopted(trial, f"{name} {trial.number}") for trial in rounds]
    fitting = [(one, trial_start(one)) for one in adopted if one is not None]
    skipped, outside = len(trials) - len(rounds), len(rounds) - len(fitting)
    known = {**recorded, **of_parameters}
    return add_trials(study_file, fitting, skipped, outside, units, known, note=note)


def _check_objectives(study_file: StudyFile, study: optuna.Study, file: Path) -> None:
    """Check that the values of another study's trials are of the same objective."""
    theirs, own = (
        next(iter(one.get("objectives") or ()), "")
        for one in (study.user_attrs.get(DEFINITION) or {}, study_file.scheme.definition)
    )
    if theirs and own and theirs != own:
        raise InvalidInput(
            f"{file}: the first of its objectives is {shown(theirs)}, expected {shown(own)} as in "
            f"{study_file.path.name}: give them the same names, and the same first one"
        )


def _conditions(
    study_file: StudyFile, texts: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Values of given variables, and of those of an environment or a fidelity, from texts."""
    scheme = study_file.scheme
    if unknown := [name for name in texts if name not in {*scheme.given, *scheme.variables}]:
        known = ", ".join([*scheme.given, *scheme.variables]) or "none: it has no such variable"
        raise InvalidInput(
            f"{study_file.path.name}: --given: got a value of {shown(unknown[0])}, expected {known}"
        )
    variables: dict[str, float] = {}
    for name, text in texts.items():
        if name in scheme.variables:
            one, number = scheme.variables[name], plain_number(text)
            wanted = "a number" if number is None else one.mismatch(number)
            if number is None or wanted is not None:
                raise InvalidInput(f"--given {name}: got {shown(text)}, expected {wanted}")
            variables[name] = one.nearest(number)
    given = {name: text for name, text in texts.items() if name in scheme.given}
    return given_values(study_file, given, partly=True), variables


@dataclass(frozen=True)
class _Takeover:
    """How the trials of another study become trials of a study.

    Args:
        study_file: The study file.
        file: Storage of the other study.
        sizes: What measured numbers are multiplied by, by name.
        conversion: Conversion of the parameters.
        given: Values of given variables in trials that lack them, by name.
        variables: Values of the environment or the fidelity of trials that lack them, by name.
    """

    study_file: StudyFile
    file: Path
    sizes: Mapping[str, float]
    conversion: ParameterConversion
    given: Mapping[str, Any]
    variables: Mapping[str, float]

    def adopted(self, trial: FrozenTrial, identity: str) -> FrozenTrial | None:
        """A trial as one of the study; None if its values are outside the present ranges."""
        space, params = self.study_file.space, self.conversion.params(trial.params)
        if unknown := [name for name in params if name not in space.parameters]:
            raise InvalidInput(
                f"{self.file}: trial {trial.number} has the parameter {shown(unknown[0])}, which "
                f"{self.study_file.path.name} lacks: its measurements depend on it"
            )
        while missing := [name for name in space.active(params) if name not in params]:
            params[missing[0]] = self._missing(missing[0], trial)
        params = space.restricted(params)
        distributions = {name: self.study_file.distributions[name] for name in params}
        is_within = all(space.parameters[name].contains(one) for name, one in params.items())
        if not is_within or space.violated_by(params):
            return None
        attributes: dict[str, Any] = {
            key: value
            for key, value in attributes_in_units(trial.user_attrs, self.sizes).items()
            if key != OWNER
        }
        told = trial.value if trial.state == TrialState.COMPLETE else None
        measured = told if told is not None and math.isfinite(told) else None
        adopted = create_trial(
            state=TrialState.FAIL if measured is None else TrialState.COMPLETE,
            value=None if measured is None else scaled(measured, self.sizes.get(VALUE, 1.0)),
            params=params,
            distributions=distributions,
            user_attrs=attributes
            | self._environment(trial)
            | {IMPORTED: identity}
            | (
                {}
                if told == measured
                else {FAILURE: f"the value is {told}, expected a finite number"}
            ),
        )
        adopted.datetime_start, adopted.datetime_complete = (
            trial.datetime_start,
            trial.datetime_complete,
        )
        return adopted

    def _missing(self, name: str, trial: FrozenTrial) -> Any:
        """The value of a parameter that a trial lacks."""
        study_file = self.study_file
        if name in study_file.scheme.given:
            if name not in self.given:
                raise self._without(name, trial, "environment")
            return self.given[name]
        default = study_file.parameters[name].default
        if default is None:
            raise InvalidInput(
                f"{study_file.path.name}: parameters.{name} is new to the study in {self.file}, "
                "expected a `default`: the value that it had in the earlier measurements"
            )
        return default

    def _environment(self, trial: FrozenTrial) -> dict[str, Any]:
        """The attribute with the environment of a trial, as it is or as it was given."""
        scheme = self.study_file.scheme
        if scheme.environment is None:
            return {}
        values = {**self.variables, **trial_environment(trial)}
        if trial.state == TrialState.COMPLETE:
            if lacking := [name for name in scheme.variables if name not in values]:
                raise self._without(lacking[0], trial, scheme.home)
            try:
                scheme.environment.encode(values)
            except InvalidInput as error:
                raise InvalidInput(f"{self.file}: trial {trial.number}: {error}") from None
        return {ENVIRONMENT: values} if values else {}

    def _without(self, name: str, trial: FrozenTrial, table: str) -> InvalidInput:
        return InvalidInput(
            f"{self.file}: trial {trial.number} has no value of {table}.{name} in "
            f"{self.study_file.path.name}; expected --given {name}=VALUE, under which the trials "
            "without one were measured"
        )
