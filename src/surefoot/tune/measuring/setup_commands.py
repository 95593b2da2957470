"""The commands `setup` and `teardown` of a study file, which run once in a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import describe_exit
from surefoot.tune.measuring.supervised_process import KeptProcesses, SupervisedProcess
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.system import PAUSE
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
