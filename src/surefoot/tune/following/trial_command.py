"""A command that runs after each trial."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optuna.trial import FrozenTrial

from surefoot.tune.definition.command_template import CommandTemplate, InvalidCommand
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import describe_exit
from surefoot.tune.observer import Follower, NewTrials, Observer
from surefoot.tune.study.trial_attributes import failure_reason, is_round
from surefoot.tune.study.trials import StudyTrials
from surefoot.types import InvalidInput

TIMEOUT = 60.0  # seconds
NAMES = ("number", "value", "failure")


def trial_command(line: str, study_file: StudyFile) -> Follower:
    """A follower that runs a command for each trial, without a shell, in the study file's folder.

    Placeholders are `{number}`, `{value}` (empty for a failure), `{failure}` (empty for a
    measurement), and the parameters. A command that fails, or runs for more than a minute, is
    noted; the run goes on.

    Args:
        line: The command line.
        study_file: The study file.

    Raises:
        InvalidInput: If the command has other placeholders, or its program does not exist.
    """
    known = (*NAMES, *(name for name in study_file.parameters if name not in NAMES))
    try:
        template = CommandTemplate.parse(line, "--on-trial")
        template.check_program(study_file.folder)
    except InvalidCommand as error:
        raise InvalidInput(f"{error.key}: {error}") from None
    used = [piece.parameter for word in template.arguments for piece in word]
    if unknown := [name for name in used if name is not None and name not in known]:
        raise InvalidInput(
            f"--on-trial: {{{unknown[0]}}} is not known, expected one of {', '.join(known)}"
        )

    @contextmanager
    def follow(trials: StudyTrials, display: Observer) -> Iterator[Observer]:
        new = NewTrials(trials)

        def finished() -> None:
            for trial in filter(is_round, new.look()):
                if wrong := _run(template, study_file.folder, trial):
                    display.note(f"--on-trial, trial {trial.number}: {wrong}")

        try:
            yield Observer(finished=finished)
        finally:
            finished()

    return follow


def _run(template: CommandTemplate, folder: Path, trial: FrozenTrial) -> str:
    """Run the command; why it failed, empty if it did not."""
    values = {"number": trial.number, "failure": failure_reason(trial)}
    values |= {} if trial.value is None else {"value": trial.value}
    try:
        done = subprocess.run(
            template.fill({**trial.params, **values}),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"ended after {TIMEOUT:g} s"
    except (OSError, ValueError) as error:
        return str(error)
    return describe_exit(done.returncode) if done.returncode else ""
