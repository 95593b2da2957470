"""The objective that is a command: its last number on standard output is the measurement."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot.tune.command_template import CommandTemplate, InvalidCommand
from surefoot.tune.measurement import (
    Failure,
    Measurement,
    ObservedVariables,
    describe_exit,
    outcome,
    timed_out,
)
from surefoot.tune.supervised_process import SupervisedProcess

# A number that is not part of a word (`p95`, `0x1F`), though a unit may follow it (`12.5ms`).
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=[^\W\d_]*(?!\w))"
    r"|(?i:inf(?:inity)?|nan)(?!\w))"
)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NO_LINE = "no line `{0}=NUMBER` on standard output, expected one, since {0} is observed"


class CommandObjective:
    """Runs a command for each measurement.

    An observed variable of the environment has a line `name=number` on standard output, and such
    lines are not searched for the measurement. The command and everything it started have ended
    when `measure` returns, also by an exception.

    Args:
        template: The command with its placeholders.
        folder: Working directory of the command.
        timeout: Limit of one measurement in seconds, None for no limit.
        observed: Variables of the environment that the command reports, if any.
    """

    def __init__(
        self,
        template: CommandTemplate,
        folder: Path,
        timeout: float | None,
        observed: ObservedVariables | None = None,
    ) -> None:
        self._template = template
        self._folder = folder
        self._timeout = timeout
        self._observed = observed

    def check(self) -> None:
        program = self._template.program
        if program is None:
            return
        # As in a shell, a name with a slash is a path, relative to the folder the command runs in.
        found = str(self._folder / program) if "/" in program else program
        if shutil.which(found) is None:
            where = f"in {self._folder}" if "/" in program else "on PATH"
            raise InvalidCommand(f"{program!r} is not a program {where}")

    def measure(self, params: Mapping[str, Any]) -> Measurement | Failure:
        start = time.monotonic()
        process = SupervisedProcess(self._template.fill(params), self._folder)
        try:
            code = process.wait(None if self._timeout is None else start + self._timeout)
        finally:
            process.kill()
        seconds = time.monotonic() - start
        environment: dict[str, float] | str | None = None
        value: float | str
        if code is None:
            value = timed_out(self._timeout)
        elif code:
            value = describe_exit(code)
        else:
            text = ESCAPES.sub("", process.stdout.text())
            if self._observed is not None:
                given, text = self._observed.split(text)
                environment = self._observed.check(given, _NO_LINE)
            value = last_number(text)
        return outcome(value, process.output.text(), seconds, environment)

    def close(self) -> None:
        return None


def last_number(text: str) -> float | str:
    """The last number in a text, or the reason of a failure if there is none."""
    numbers = NUMBER.findall(ESCAPES.sub("", text))
    return float(numbers[-1]) if numbers else "no number on standard output"
