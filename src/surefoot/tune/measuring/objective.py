"""The objective of a study file: a command or a function that measures; `setup` and `teardown`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from surefoot.tune.definition.command_template import InvalidCommand
from surefoot.tune.definition.section import ValueName
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    ObservedVariables,
    describe_exit,
)
from surefoot.tune.measuring.race import NO_RACE, Ending
from surefoot.tune.measuring.supervised_process import (
    KeptProcesses,
    SupervisedProcess,
    keep_until_end,
)
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.system import PAUSE, check_processes
from surefoot.types import SurefootError


class CommandFailed(SurefootError):
    """`setup` or `teardown` failed."""


class TeardownInterrupted(CommandFailed):
    """A signal has ended `teardown`."""


def check_programs(study_file: StudyFile) -> None:
    """Raise `InvalidCommand` unless the programs of `setup` and `teardown` exist."""
    for key, template in study_file.objective.templates.items():
        if key != "objective.command":
            template.check_program(study_file.folder)


@contextlib.contextmanager
def set_up(
    study_file: StudyFile, kept: KeptProcesses, stop: Stop, note: Callable[[str], None]
) -> Iterator[None]:
    """Run `setup` before the block, and `teardown` after it, however it ends.

    Processes that `setup` leaves running are kept until the run ends. Where a stop is requested
    during `setup`, it is ended. A signal during `teardown` ends `teardown`.

    Args:
        study_file: The study file.
        kept: Where to keep the processes.
        stop: Whether the run was told to stop.
        note: Shows that `teardown` was interrupted, or has failed after a block that has raised.

    Raises:
        CommandFailed: If `setup` fails, or `teardown` after a block that has not raised.
        KeyboardInterrupt: If Ctrl-C has ended `teardown` after a block that has not raised.
    """
    try:
        _run(study_file, "setup", stop, kept)
        yield
    except BaseException:
        try:
            _tear_down(study_file)
        except CommandFailed as error:
            note(str(error))
        raise
    try:
        _tear_down(study_file)
    except TeardownInterrupted as error:
        note(str(error))
        raise KeyboardInterrupt from None


def _tear_down(study_file: StudyFile) -> None:
    own = Stop()
    with stop_on_signals(own):
        _run(study_file, "teardown", own, None)


def _run(study_file: StudyFile, name: str, stop: Stop, kept: KeptProcesses | None) -> None:
    template = study_file.objective.templates.get(f"objective.{name}")
    if template is None:
        return
    try:
        process = SupervisedProcess(template.fill({}), study_file.folder, kept=kept)
    except OSError as error:
        raise CommandFailed(
            f"objective.{name} cannot be started: {error.strerror or error}"
        ) from None
    try:
        while (code := process.wait(time.monotonic() + PAUSE, stop)) is None:
            if stop.requested:
                break
    finally:
        process.end()
    if code == 0 or (code is None and name == "setup"):
        return
    lines = printable(process.output.text()).strip().splitlines()
    printed = f"; it printed: {lines[-1][:200]}" if lines else ""
    if code is None:
        raise TeardownInterrupted(f"objective.teardown was interrupted{printed}")
    raise CommandFailed(f"objective.{name} failed: {describe_exit(code)}{printed}")


class Objective(Protocol):
    """Measures configurations. It never raises for what the measured system does."""

    def check(self) -> None:
        """Raise `InvalidCommand` if it cannot be started at all."""

    def measure(
        self, params: Mapping[str, Any], stop: Stop, race: Ending = NO_RACE
    ) -> Measurement | Failure:
        """Run once with these parameters and the variables of a chosen environment.

        A command ends when its samples have lost the race. Raises what `stop.check` raises, soon
        after a signal has come.
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
