"""The objective of a study file: a command or a function that measures a configuration."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from surefoot.tune.definition.command_template import InvalidCommand
from surefoot.tune.definition.section import ValueName
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.measurement import Failure, Measurement, ObservedVariables
from surefoot.tune.measuring.setup_commands import check_programs
from surefoot.tune.measuring.supervised_process import KeptProcesses, keep_until_end
from surefoot.tune.stopping import Stop
from surefoot.tune.system import check_processes


class Objective(Protocol):
    """Measures configurations. It never raises for what the measured system does."""

    def check(self) -> None:
        """Raise `InvalidCommand` if it cannot be started at all."""

    def measure(
        self, params: Mapping[str, Any], stop: Stop, most: float = math.inf
    ) -> Measurement | Failure:
        """Run once with these parameters and the variables of a chosen environment.

        A command ends after `most` samples that it prints one by one. Raises what `stop.check`
        raises, soon after a signal has come.
        """

    def close(self) -> None:
        """End all processes that it keeps running."""


def objective_of(study_file: StudyFile, kept: KeptProcesses) -> Objective:
    """The objective that a study file describes; `kept` is used if it has `keep = true`.

    Raises:
        StudyFileError: If it describes none.
        NoProcesses: If nothing can be measured on this operating system.
    """
    section, folder = study_file.objective, study_file.folder
    if section.command is None and section.function is None:
        raise study_file.error(
            "objective.command",
            "missing; expected a command line (or `function` instead) to measure with; `surefoot "
            "ask` and `surefoot tell` need none",
        )
    check_processes()
    timeout = section.timeout
    scheme, names = study_file.scheme, list(study_file.parameters)
    observed = ObservedVariables(scheme.variables) if scheme.observed else None
    if not scheme.observed:
        names += scheme.variables
    keep = kept if section.keep else None
    if section.function is not None:
        return FunctionObjective(
            section.function,
            names,
            folder,
            timeout,
            observed,
            keep,
            list(study_file.reported),
            list(study_file.inactive),
            list(scheme.objectives),
        )
    return CommandObjective(
        section.templates["objective.command"],
        folder,
        timeout,
        observed,
        keep,
        {name: _named(one.value) for name, one in study_file.reported.items()},
        study_file.inactive,
        _named(section.value),
        list(scheme.objectives),
    )


@contextlib.contextmanager
def usable_objective(
    study_file: StudyFile, ended: Callable[[str], None], is_here: bool = True
) -> Iterator[tuple[Objective, KeptProcesses]]:
    """The objective of a study file with the processes that it keeps, until the end of the block.

    Args:
        study_file: The study file.
        ended: Gets a line about processes that are ended at the end.
        is_here: Whether it is used on this machine, where it is checked.

    Raises:
        StudyFileError: If the objective, `setup` or `teardown` cannot be started at all.
    """
    with (
        keep_until_end(ended) as kept,
        contextlib.closing(objective_of(study_file, kept)) as objective,
    ):
        try:
            if is_here:
                objective.check()
            check_programs(study_file)
        except InvalidCommand as error:
            raise study_file.error(error.key, str(error)) from None
        yield objective, kept


def _named(text: str | None) -> ValueName | None:
    return None if text is None else ValueName(text)
