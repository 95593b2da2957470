"""The objective that is a command: the measurement is a number that it prints."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.section import ValueName
from surefoot.tune.measuring.json_output import Output
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    ObservedVariables,
    describe_exit,
    measurement_of,
    outcome,
    timed_out,
)
from surefoot.tune.measuring.observed_constraints import check_constraints, printed_constraints
from surefoot.tune.measuring.printed_value import (
    NO_NUMBER,
    printed_samples,
    printed_value,
    samples_of,
    split_worker,
)
from surefoot.tune.measuring.quantity import Missing, Quantity, plain, sole
from surefoot.tune.measuring.supervised_process import (
    KeptProcesses,
    SupervisedProcess,
    Tail,
    left_behind,
)
from surefoot.tune.plain_text import without_escapes
from surefoot.tune.stopping import Stop

_NO_LINE = "no line `{0}=NUMBER` on standard output, expected one, since {0} is observed"
_NO_VALUE = "no `{0}=NUMBER` on standard output, expected it, since {0} is in the study file"
_TOO_LONG = (
    "more than {} MiB on standard output, of which the beginning is lost, expected less: print the "
    "rest to standard error or to a file"
)
_CUT = "the run was ended after its samples, before `{0}=NUMBER` was printed: print it before them"


class PrintedSamples:
    """The samples in the complete lines of a stream, each of which is read once.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: Tail) -> None:
        self._stream = stream
        self._samples: list[Quantity] = []

    def so_far(self) -> list[Quantity]:
        """The samples after the last other number."""
        for line in plain(self._stream.new_lines()).split("\n"):
            found = samples_of(line)
            if found is None:
                self._samples.clear()
            self._samples += found or []
        return self._samples


@dataclass(frozen=True)
class CommandObjective:
    """Runs a command for each measurement.

    An observed variable of the environment has a line `name=number` on standard output, a
    constraint and each of several objectives `name=number` anywhere in it, and a line `worker=name`
    names who or what measured; none of them is searched for the measurement. The command and
    everything it started have ended
    when `measure` returns, also by an exception.

    Args:
        template: The command with its placeholders.
        folder: Working directory of the command.
        timeout: Limit of one measurement in seconds, None for no limit.
        observed: Variables of the environment that the command reports, if any.
        kept: Where to keep what the command leaves running; if None, it is ended.
        constraints: Constraints whose values the command reports, by name, and what stands before
            each in the output, None for the name itself.
        value: Which of the printed numbers is the measurement; None for the only one.
        objectives: Names of several objectives, of which the first is the measurement.
        inactive: Texts of conditional parameters where they are inactive, None for those that have
            none.
    """

    template: CommandTemplate
    folder: Path
    timeout: float | None
    observed: ObservedVariables | None = None
    kept: KeptProcesses | None = None
    constraints: Mapping[str, ValueName | None] = field(default_factory=dict)
    inactive: Mapping[str, str | None] = field(default_factory=dict)
    value: ValueName | None = None
    objectives: Sequence[str] = ()

    def check(self) -> None:
        self.template.check_program(self.folder)

    def measure(
        self, params: Mapping[str, Any], stop: Stop, most: float = math.inf
    ) -> Measurement | Failure:
        start = time.monotonic()
        try:
            arguments = self.template.fill(params, self.inactive)
            process = SupervisedProcess(arguments, self.folder, kept=self.kept)
        except OSError as error:
            reason = f"the command cannot be started: {error.strerror or error}"
            return outcome(Missing(reason), "", time.monotonic() - start)
        try:
            deadline = None if self.timeout is None else start + self.timeout
            samples = PrintedSamples(process.stdout)
            sliced = most < math.inf
            code = process.wait(deadline, stop, lambda: sliced and len(samples.so_far()) >= most)
            cut = sliced and code is None and len(samples.so_far()) >= most
            seconds = time.monotonic() - start
        finally:
            process.end()
        said, left = process.output.text(), left_behind(process.left_behind)
        if code is None and not cut:
            return outcome(Missing(timed_out(self.timeout)), said, seconds, left_behind=left)
        if code:
            return outcome(Missing(describe_exit(code)), said, seconds, left_behind=left)
        if process.stdout.cut:
            much = Missing(_TOO_LONG.format(process.stdout.limit >> 20), blameless=True)
            return outcome(much, said, seconds, left_behind=left)
        text = without_escapes(process.stdout.text())
        text, worker, environment = text[: text.rfind("\n") + 1] if cut else text, None, None
        variables = () if self.observed is None else self.observed.variables
        if "worker" not in (*self.constraints, *self.objectives, *variables):  # then that
            worker, text = split_worker(text)
        if self.observed is not None:
            given, text = self.observed.split(plain(text))
            environment = self.observed.check(given, _CUT if cut else _NO_LINE)
        first = self.objectives[:1]  # has a name, too
        names = {**dict.fromkeys(first, self.value), **self.constraints}
        named = self.value is not None or len(first) > 0
        reported, rest = printed_constraints(Output.of(text), names, named, self.objectives)
        missing = _CUT if cut else _NO_VALUE
        others = check_constraints(self.constraints, reported, missing, self.objectives)
        if first:
            absent = Missing(missing.format(first[0]), blameless=True)  # as any other one
            number = self._first_of(reported, rest) or absent
        else:
            absent = Missing(f"{NO_NUMBER}{_elsewhere(said)}")
            number = printed_value(rest, self.value, apart=list(reported)) or absent
        what = measurement_of(self.objectives)
        found = outcome(number, said, seconds, environment, left, others, worker, what)
        if not isinstance(found, Measurement):
            return found
        return replace(found, ended_early=cut, samples=len(printed_samples(rest)))

    def close(self) -> None:
        return None

    def _first_of(
        self, reported: Mapping[str, Quantity | Missing], rest: Output
    ) -> Quantity | Missing | None:
        """The first of several objectives: by its name, or what stands alone without one.

        That is, where the study file does not name it, its replicates behind `samples:`, or a last
        line that is only a number.
        """
        found = reported.get(self.objectives[0])
        if self.value is not None:
            return found
        if printed_samples(rest):
            return printed_value(rest)
        lines = rest.text.strip().splitlines()
        return found or (sole(lines[-1]) if lines else None)


def _elsewhere(output: str) -> str:
    """Where the number is that standard output has not, in words; empty if there is none."""
    found = printed_value(output)
    if not isinstance(found, Quantity):
        return ""
    return f", only `{found.text}` on standard error; expected it there: append 2>&1 in a script"
