"""Configurations that a user names: `default`, `recommended`, `trial 17` or `key=value,...`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from surefoot.tune.definition.parameters import value_of, written
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.quantity import sole
from surefoot.tune.plain_text import shown
from surefoot.tune.study.opened_study import open_study
from surefoot.types import InvalidInput

FORMS = "`default`, `recommended`, `trial N` or `name=value,...`"
_GUESSED = {"defaults": "default", "best": "recommended", "recommendation": "recommended"}
_TRIAL = re.compile(r"(?:trial(?:[ =]\s*|(?=\d)))?#?(\d+)")
_NEXT_NAME = r",\s*(?=[A-Za-z_][A-Za-z0-9_-]*\s*=)"


@dataclass(frozen=True)
class NamedSetting:
    """A configuration of a study and how it was named.

    Args:
        name: The name, such as `recommended`.
        params: Values of all parameters, in the order of the study file.
        under: Given variables of the study that have no value in the name.
    """

    name: str
    params: dict[str, Any]
    under: frozenset[str] = frozenset()


def first_setting(study_file: StudyFile) -> str:
    """Default of `a`: the defaults of the study file where there are any, or trial 0."""
    return "trial 0" if study_file.defaults is None else "default"


def given_values(
    study_file: StudyFile, given: Mapping[str, Any], partly: bool = False
) -> dict[str, Any]:
    """Values of the given variables of a study, from texts or as they are.

    Args:
        study_file: The checked study file.
        given: Values, or texts that stand for them, by name.
        partly: Whether some may be missing.

    Returns:
        Values by name, in the order of the study file.

    Raises:
        InvalidInput: If one is unknown, missing or out of its range, or no configuration with them
            satisfies the rules of [[require]].
    """
    file, names = study_file.path.name, study_file.scheme.given
    known = ", ".join(names) or 'no variable: none has environment.control = "given"'
    if unknown := [name for name in given if name not in names]:
        raise InvalidInput(f"{file}: got a value of {shown(unknown[0])}, expected {known}")
    missing = [] if partly else [name for name in names if name not in given]
    if missing:
        raise InvalidInput(
            f"{file}: no value of {', '.join(missing)}, known before each choice; expected "
            + " ".join(f"--given {name}=VALUE" for name in missing)
        )
    space = study_file.space
    values = {name: _value(str(given[name]), name, study_file) for name in names if name in given}
    if space.constraints and values:
        space.encoding.part(space.encoding.box, values)  # raises where none is left
    return values


def named_settings(
    study_file: StudyFile,
    names: Iterable[str | Mapping[str, Any]],
    given: Mapping[str, Any] | None = None,
) -> list[NamedSetting]:
    """The configurations that names stand for, all under the same given values.

    Args:
        study_file: The checked study file.
        names: Each as in `named_setting`, or values by parameter name.
        given: Values of given variables, or texts that stand for them, by name, of all
            configurations that do not have their own.

    Returns:
        The configurations.

    Raises:
        InvalidInput: As by `named_setting`, or if no configuration uses one of the given values.
        NotReady: If the study has no measurement to recommend from.
    """
    values = given_values(study_file, given or {}, partly=True)
    found = [_named(study_file, one, values) for one in names]
    if idle := [name for name in values if not any(name in one.under for one in found)]:
        raise InvalidInput(
            f"{study_file.path.name}: got a value of {idle[0]}, but each of the configurations has "
            f"its own; leave out --given {idle[0]}"
        )
    return found


def named_setting(
    study_file: StudyFile, name: str, given: Mapping[str, Any] | None = None
) -> NamedSetting:
    """The configuration that a name stands for.

    Args:
        study_file: The checked study file.
        name: `default`, `recommended`, `trial N` or `name=value,...` with all parameters.
        given: Values of given variables by name, for those that the name has no value of: all for
            `default` and `recommended`, none for `trial N`.

    Returns:
        The configuration.

    Raises:
        InvalidInput: If the name is none of these, a parameter is unknown or missing, or a value
            does not fit its parameter.
        NotReady: If the study has no measurement to recommend from.
    """
    return _named(study_file, name, given or {})


def _named(
    study_file: StudyFile, given_name: str | Mapping[str, Any], under: Mapping[str, Any]
) -> NamedSetting:
    scheme, space = study_file.scheme, study_file.space
    if not isinstance(given_name, str):
        if not isinstance(given_name, Mapping):
            raise InvalidInput(
                f"got the configuration {shown(given_name)}, expected values by name"
            )
        texts = {str(name): f"{one}" for name, one in given_name.items()}
        params = configuration_of(study_file, texts, under)
        return NamedSetting("", space.restricted(params), frozenset(scheme.given) - texts.keys())
    name = given_name.strip()
    name, free = _GUESSED.get(name, name), frozenset(scheme.given)
    missing = [one for one in scheme.given if one not in under]
    if missing and name in ("default", "recommended"):
        options = " ".join(f"--given {one}=VALUE" for one in missing)
        raise InvalidInput(
            f"{study_file.path.name}: got {name!r} without a value of {', '.join(missing)}, under "
            f"which it is measured; expected {options}, `trial N` or `name=value,...` with all of "
            "them"
        )
    if name == "default":
        defaults = study_file.defaults_under(under)
        if defaults is None:
            raise InvalidInput(
                f"{study_file.path.name}: the parameters have no `default`, expected {FORMS}"
            )
        params = defaults
    elif name == "recommended":
        params = _recommended(study_file, under)
    elif (found := _TRIAL.fullmatch(name)) and not (
        "=" in name and "trial" in study_file.parameters
    ):
        params, free = _trial(study_file, int(found[1])), frozenset()
        name = f"trial {int(found[1])}"
    elif "=" in name:
        texts = _parse(study_file, name)
        params, free = configuration_of(study_file, texts, under), free - texts.keys()
    else:
        raise InvalidInput(f"got the configuration {shown(name)}, expected {FORMS}")
    return NamedSetting(name, space.restricted(params), free)


def _recommended(study_file: StudyFile, given: Mapping[str, Any]) -> dict[str, Any]:
    return replace(open_study(study_file.path).state(), asked=given).recommendation.params


def _trial(study_file: StudyFile, number: int) -> dict[str, Any]:
    trials = open_study(study_file.path).state().trials
    if number >= len(trials):
        last = f"0 to {len(trials) - 1}" if trials else "one of a study with trials"
        raise InvalidInput(f"{study_file.path.name}: no trial {number}, expected {last}")
    params: dict[str, Any] = trials[number].params
    if missing := [name for name in study_file.space.active(params) if name not in params]:
        raise InvalidInput(
            f"{study_file.path.name}: trial {number} has no value of {', '.join(missing)}, "
            "expected a trial that was measured"
        )
    return params


def _parse(study_file: StudyFile, text: str) -> dict[str, str]:
    """The texts in `name=value,name=value` by name; before a parameter, spaces will do."""
    given: dict[str, str] = {}
    names = "|".join(map(re.escape, study_file.space.parameters))
    for part in re.split(rf"{_NEXT_NAME}|\s+(?=(?:{names})\s*=)", text):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name in given:
            raise InvalidInput(f"{name}: given twice, expected one value")
        given[name] = value
    return given


def configuration_of(
    study_file: StudyFile, given: Mapping[str, str], under: Mapping[str, Any]
) -> dict[str, Any]:
    """The configuration of values in text.

    Args:
        study_file: The checked study file.
        given: A text for each active parameter, by name.
        under: Values of given variables, where there is no text.

    Returns:
        Values by parameter name.

    Raises:
        InvalidInput: If a parameter is unknown, missing or inactive, a value does not fit, or the
            configuration violates a rule.
    """
    space, params = study_file.space, {}
    known = space.parameters
    text = ",".join(f"{name}={value}" for name, value in given.items())
    for name, value in given.items():
        if name not in known:
            raise InvalidInput(
                f"{shown(text)}: {shown(name)} is not a parameter, expected {', '.join(known)}"
            )
        params[name] = _value(value, name, study_file)
    params = {**under, **params}
    active = space.active(params)
    if missing := [name for name in active if name not in params]:
        raise InvalidInput(
            f"{shown(text)}: no value of {', '.join(missing)}, expected all active parameters: "
            f"{','.join(f'{name}=VALUE' for name in active)}"
        )
    if inactive := [name for name in params if name not in active]:
        when = space.conditions[inactive[0]].text
        raise InvalidInput(f"{inactive[0]}: given, but it is active only when {when}; leave it out")
    if violated := space.violated_by(params):
        raise InvalidInput(
            f"{shown(text)}: violates {shown(violated[0])}, expected a configuration that "
            "satisfies every rule of [[require]]"
        )
    return params


def _value(text: str, name: str, study_file: StudyFile) -> Any:
    """The value of a parameter that a text stands for, which may have a unit of the parameter's."""
    parameter, unit = study_file.space.parameters[name], study_file.units.parameters.get(name)
    value = value_of(text.strip(), parameter)
    if value is None and unit is not None and (number := sole(text)) is not None and not number.sem:
        value = value_of(repr(number.limit_in(unit)), parameter)
    if value is None:
        of_unit = f", in {unit}" if unit is not None else ""
        raise InvalidInput(f"{name}: got {shown(text)}, expected {written(parameter)}{of_unit}")
    return value
