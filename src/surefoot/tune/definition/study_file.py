"""The study file: TOML in, checked values out, with error messages that name the key."""

from __future__ import annotations

import errno
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from optuna.distributions import BaseDistribution
from pydantic import ValidationError

from surefoot.integrations.optuna.search_space import distributions
from surefoot.tune.definition.contents import Contents
from surefoot.tune.definition.explanation import explained, one_line, too_large, without_quotes
from surefoot.tune.definition.schema import (
    ConfirmSection,
    ConstraintSection,
    ObjectivesSection,
    RepeatsSection,
    StudySection,
)
from surefoot.tune.estimate_text import Units
from surefoot.tune.measuring.quantity import UNSURE, VALUE
from surefoot.tune.plain_text import secrets_of, without_any_password, without_passwords
from surefoot.types import InvalidInput

STORED = re.compile(r"(sqlite|sqlite\+pysqlite|journal):///([^?]+)", re.DOTALL)
"""URL of a storage in a file."""


def _folder(path: Path, study: StudySection) -> Path:
    """Folder of a study: of its study file, or of the file that it links to if the study is there.

    All of a study has one folder: its storage, its fits, and where its commands run.
    """
    of_file = STORED.fullmatch(study.storage or "")
    name = f"{study.name}.db" if study.storage is None else unquote(of_file[2]) if of_file else ""
    here, there = path.parent, path.resolve().parent
    # Unlike `Path.exists`, it is false of a name that no file can have.
    only_there = os.path.exists(there / name) and not os.path.exists(here / name)
    return there if name and only_there else here


class StudyFileError(InvalidInput):
    """A study file that cannot be used: one line with the file, the key and what was expected."""


class StudyFile:
    """A checked study file.

    Args:
        path: The file's absolute path.
        contents: All tables of the file.

    Attributes:
        path: The file's absolute path.
        contents: All tables of the file.
        folder: Its folder, where commands run and relative paths start.
        study: `[study]`: name, direction, rounds, initial design, seed and storage.
        objective: `[objective]`: command or function, and timeout in seconds.
        scheme: What a trial measures: `[environment]` and `[risk]`, `[fidelity]` or
            `[objectives]`.
        parameters: `[parameters]` by name, in the order of the file, and the given variables.
        constraints: `[constraints]` by name, in the order of the file.
        confirm: `[confirm]`, with its defaults if the file has none.
        repeats: `[repeats]`, by default without repeats.
        stop: `[stop]`, or None.
        prior: `[prior]`, or None.
        space: The parameters with their conditions and special values.
        recorded: Units of measurements that its study has, by name; see `measured_in`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "demo.toml"
        >>> _ = path.write_text('''
        ... study = { name = "demo", direction = "minimize", rounds = 20 }
        ... objective = { command = "sh bench.sh {threads}" }
        ... parameters = { threads = { type = "int", low = 1, high = 32 } }
        ... ''')
        >>> StudyFile.load(path).distributions
        {'threads': IntDistribution(high=32, log=False, low=1, step=1)}
    """

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.contents = contents
        self.folder = _folder(path, contents.study)
        self.study = contents.study
        self.objective = contents.objective
        self.scheme = contents.scheme
        for first in [*self.scheme.objectives.values()][:1]:  # whose value is that of the trials
            self.study = self.study.model_copy(update={"direction": first.direction})
            measured = {"value": first.value, "unit": first.unit}
            self.objective = self.objective.model_copy(update=measured)
        self.parameters = {**contents.parameters, **self.scheme.given}
        self.confirm = contents.confirm or ConfirmSection()
        self.repeats = contents.repeats or RepeatsSection(most=1, unstable=False)
        self.stop = contents.stop
        self.prior = contents.prior
        self.constraints = {name: one.limit() for name, one in contents.constraints.items()}
        self.space = contents.space
        self.recorded: Mapping[str, str] = {}

    @classmethod
    def load(cls, path: Path | str) -> StudyFile:
        """Read and check a study file.

        Args:
            path: A TOML file.

        Returns:
            The checked file.

        Raises:
            StudyFileError: If the file cannot be read or anything in it is invalid; the message is
                one line.
        """
        path, text = Path(path), ""
        try:
            if any(is_kind(path) for is_kind in (Path.is_fifo, Path.is_char_device)):
                raise OSError(errno.EINVAL, "it is a device or a pipe, expected a file in TOML")
            text = path.read_text(encoding="utf-8-sig")
            raw = tomllib.loads(text)
            key = too_large(raw)
        except FileNotFoundError:
            raise StudyFileError(f"{path}: no such file, expected a study file in TOML") from None
        except OSError as error:
            raise StudyFileError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise StudyFileError(f"{path}: not a text file in UTF-8, expected TOML") from None
        except tomllib.TOMLDecodeError as error:
            what, at, where = str(error).rpartition(" (at ")  # it may quote a key
            message = one_line(without_any_password(what) + at + where)
            raise StudyFileError(
                f"{path}: not valid TOML: {message}{without_quotes(text, where)}"
            ) from None
        except RecursionError:
            raise StudyFileError(
                f"{path}: nested too deeply, expected tables and lists of a study file"
            ) from None
        except ValueError as error:  # an integer of more than 4,300 digits; a path with a null
            raise StudyFileError(f"{path}: cannot be read: {one_line(str(error))}") from None
        if key:
            key = one_line(without_any_password(key))
            raise StudyFileError(
                f"{path}: {key}: got an integer beyond float64, expected at most 1e308"
            )
        try:
            contents = Contents.model_validate(raw)
        except ValidationError as error:
            table = raw.get("study")
            secrets = secrets_of(table.get("storage") if isinstance(table, dict) else None)
            message = without_passwords(explained(error, raw), secrets)
            raise StudyFileError(f"{path}: {message}") from None
        return cls(path.absolute(), contents)

    @property
    def directions(self) -> str | dict[str, str]:
        """Direction of the value, of several objectives by name."""
        several: dict[str, str] = {
            name: one.direction for name, one in self.scheme.objectives.items()
        }
        return several or self.study.direction

    @property
    def reported(self) -> dict[str, ObjectivesSection | ConstraintSection]:
        """Further objectives and constraints, which are measured beside the value, by name."""
        return {
            **{name: self.scheme.objectives[name] for name in self.scheme.further},
            **self.contents.constraints,
        }

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The parameters as Optuna distributions, in the order of the file."""
        return distributions(self.space)

    @property
    def defaults(self) -> dict[str, Any] | None:
        """The default configuration, in the order of the file; None if the file has none.

        It has the parameters that are active in it.
        """
        return self.defaults_under({})

    def defaults_under(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The default configuration under values of the given variables, with these.

        Args:
            given: Values by name.
        """
        values = {name: one.default for name, one in self.contents.parameters.items()}
        known = {name: value for name, value in values.items() if value is not None}
        return self.space.restricted({**known, **given}) if known else None

    @property
    def guess(self) -> dict[str, Any]:
        """Where the best configuration is thought to be: values of some parameters by name.

        Without those that are inactive there, as each parameter has a guess of its own.
        """
        named = self.contents.parameters.items()
        each = {name: one.guess for name, one in named if one.guess is not None}
        inactive = self.space.excluded(each) if each else []
        return {name: value for name, value in each.items() if name not in inactive}

    @property
    def is_safe(self) -> bool:
        """Whether no trial is proposed that may break a limit, or fail."""
        return self.study.safe or any(one.safe for one in self.constraints.values())

    @property
    def functional(self) -> str:
        """What is optimised of many runs, a mean or a risk, where one run does not show it."""
        scheme, estimand = self.scheme, self.objective.estimand
        if scheme.risk is not None and scheme.home == "environment":
            return scheme.risk.name
        return estimand if estimand == "mean" else ""

    @property
    def as_word(self) -> str:
        """The name of the file as a word of a command line."""
        return shlex.quote(self.path.name)

    @property
    def first_step(self) -> str:
        """How to get the first measurement of the study."""
        name, objective = self.as_word, self.objective
        if objective.command is None and objective.function is None:
            return f"`surefoot ask {name}`, measure and `surefoot tell` first"
        return f"run `surefoot tune {name}` first"

    @property
    def declared_units(self) -> dict[str, str]:
        """Units of measurements that the file has: of the value by the name `VALUE`, of others."""
        given = {name: one.unit for name, one in self.reported.items()}
        return {name: unit for name, unit in {VALUE: self.objective.unit, **given}.items() if unit}

    def measured_in(self, units: Mapping[str, str]) -> StudyFile:
        """The same file of a study that has units of measurements by name, declared or printed."""
        found = copy(self)
        found.recorded = units
        return found

    @property
    def units(self) -> Units:
        """Units of the objective, of the parameters, and of what is reported beside it."""
        named = self.parameters.items()
        units = {name: one for name, one in self.recorded.items() if not one.endswith(UNSURE)}
        units |= self.declared_units
        value = units.pop(VALUE, "")
        units |= dict.fromkeys([*self.scheme.objectives][:1], value)
        return Units(
            value,
            {name: one.unit for name, one in named if one.unit is not None},
            {name: one.special for name, one in self.space.parameters.items() if one.special},
            {name: one for name, one in units.items() if one},
        )

    @property
    def inactive(self) -> dict[str, str | None]:
        """Text of the command for each conditional parameter where it is inactive."""
        return {n: one.inactive for n, one in self.parameters.items() if one.when is not None}

    def error(self, key: str, message: str) -> StudyFileError:
        """An error about a key whose value turned out to be invalid only when it was used."""
        return StudyFileError(f"{self.path.name}: {key}: {one_line(self.hide_passwords(message))}")

    def hide_passwords(self, text: str) -> str:
        """`text` without the passwords of `study.storage` and of all URLs."""
        return without_passwords(text, secrets_of(self.study.storage))
