"""Measuring one setting: the outcome, and the objective that is a command."""

from __future__ import annotations

import math
import re
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from surefoot.tune.child import Child
from surefoot.tune.command_line import CommandTemplate, WrongCommand
from surefoot.tune.observed import Observed

TAIL_CHARACTERS = 2000  # of a failed run's output, kept with its trial

# A number that is not part of a word (`p95`, `0x1F`), though a unit may follow it (`12.5ms`).
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=[^\W\d_]*(?!\w))"
    r"|(?i:inf(?:inity)?|nan)(?!\w))"
)
_NO_LINE = "no line `{0}=NUMBER` on standard output, expected one, since {0} is observed"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Measurement:
    """A finite number that the objective gave, and the seconds it took.

    `environment` is what the world drew for it, where that is observed.
    """

    value: float
    seconds: float
    environment: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Failure:
    """Why a setting gave no number, in one line, and the end of what was printed.

    It is `blameless` where the number was there and only what it was measured under was not.
    """

    reason: str
    output: str
    seconds: float
    blameless: bool = False


class Objective(Protocol):
    """Something that measures a setting. It never raises for what the measured thing does."""

    def check(self) -> None:
        """Raise `WrongCommand` if it cannot be started at all."""

    def measure(self, params: Mapping[str, Any]) -> Measurement | Failure:
        """Run once with these parameters, beside the variables of a chosen environment."""

    def close(self) -> None:
        """End whatever it keeps running."""


class CommandObjective:
    """Runs a command; the last number on its standard output is the measurement.

    `folder` is where it runs, `timeout` its limit in seconds, None for no limit. What is `observed`
    of the environment has a line `name=number` on standard output, and such lines hold no
    measurement. The command and everything it started is gone when `measure` returns, also by an
    exception.
    """

    def __init__(
        self,
        template: CommandTemplate,
        folder: Path,
        timeout: float | None,
        observed: Observed | None = None,
    ) -> None:
        self._observed = observed
        self._template = template
        self._folder = folder
        self._timeout = timeout

    def check(self) -> None:
        program = self._template.program
        if program is None:
            return
        # As in a shell, a name with a slash is a path, seen from the folder the command runs in.
        place = str(self._folder / program) if "/" in program else program
        if shutil.which(place) is None:
            where = f"in {self._folder}" if "/" in program else "on PATH"
            raise WrongCommand(f"{program!r} is not a program {where}")

    def measure(self, params: Mapping[str, Any]) -> Measurement | Failure:
        start = time.monotonic()
        child = Child(self._template.fill(params), self._folder)
        try:
            code = child.wait(None if self._timeout is None else start + self._timeout)
        finally:
            child.kill()
        seconds = time.monotonic() - start
        environment: dict[str, float] | str | None = None
        value: float | str
        if code is None:
            value = timed_out(self._timeout)
        elif code:
            value = describe_exit(code)
        else:
            text = ESCAPES.sub("", child.stdout.text())
            if self._observed is not None:
                given, text = self._observed.split(text)
                environment = self._observed.checked(given, _NO_LINE)
            value = last_number(text)
        return outcome(value, child.output.text(), seconds, environment)

    def close(self) -> None:
        return None


def outcome(
    value: float | str,
    output: str,
    seconds: float,
    environment: Mapping[str, float] | str | None = None,
) -> Measurement | Failure:
    """A measurement if `value` is a finite number, else a failure; a string is its reason."""
    blameless = False
    if isinstance(value, str):
        reason = value
    elif math.isnan(value):
        reason = "the measurement is NaN, expected a finite number"
    elif math.isinf(value):
        reason = "the measurement is infinite, expected a finite number"
    elif isinstance(environment, str):
        reason, blameless = environment, True
    else:
        return Measurement(value, seconds, environment)
    return Failure(reason, output[-TAIL_CHARACTERS:].strip(), seconds, blameless)


def last_number(text: str) -> float | str:
    """The last number in a text; if there is none, the reason to give for it."""
    numbers = NUMBER.findall(ESCAPES.sub("", text))
    return float(numbers[-1]) if numbers else "no number on standard output"


def timed_out(timeout: float | None) -> str:
    """The reason of a failure that is a timeout."""
    return f"no end within the timeout of {timeout:g} s" if timeout else "no end"


def describe_exit(code: int) -> str:
    """An exit code in words, as `subprocess` gives it: negative for a signal."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
