"""A command that runs after each trial."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from optuna.trial import FrozenTrial

from surefoot.tune.definition.command_template import CommandTemplate, InvalidCommand
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.display import Display
from surefoot.tune.following.followers import Follower, NewTrials
from surefoot.tune.measuring.measurement import describe_exit
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

    def follow(trials: StudyTrials, display: Display) -> AbstractContextManager[Display]:
        return _running(_TrialCommand(template, study_file.folder, NewTrials(trials), display))

    return follow


@contextmanager
def _running(command: _TrialCommand) -> Iterator[Display]:
    try:
        yield command
    finally:
        command.finished()


@dataclass(frozen=True)
class _TrialCommand:
    template: CommandTemplate
    folder: Path
    new: NewTrials
    display: Display

    def began(self) -> None:
        return None

    def finished(self) -> None:
        for trial in self.new.look()[1]:
            if is_round(trial) and (wrong := self._run(trial)):
                self.display.note(f"--on-trial, trial {trial.number}: {wrong}")

    def note(self, text: str) -> None:
        return None

    def _run(self, trial: FrozenTrial) -> str:
        """Run the command; why it failed, empty if it did not."""
        values = {"number": trial.number, "failure": failure_reason(trial)}
        values |= {} if trial.value is None else {"value": trial.value}
        try:
            done = subprocess.run(
                self.template.fill({**trial.params, **values}),
                cwd=self.folder,
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
