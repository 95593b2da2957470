"""Measuring a proposal beside the incumbent until it is kept or discarded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.tune.definition.command_template import CommandTemplate, InvalidCommand
from surefoot.tune.judging.session import UNDECIDED, Session
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measured_units import unit_phrase
from surefoot.tune.measuring.measurement import MEASUREMENT, Measurement
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.types import InvalidInput, SurefootError


class IncumbentFailed(SurefootError):
    """The incumbent cannot be measured."""


@dataclass(frozen=True)
class Judgement:
    """The decision about a proposal.

    Args:
        decision: "keep" or "discard".
        runs: Runs of the proposal.
        failed: Those of them that failed.
        number: Number of the proposal in its session, from 1.
        proposals: Proposals of the session.
        error: Probability that the session keeps any proposal that changes nothing.
    """

    decision: str
    runs: int
    failed: int
    number: int
    proposals: int
    error: float

    @property
    def line(self) -> str:
        """The decision in words."""
        failed = f", {self.failed} failed" if self.failed else ""
        return (
            f"{self.decision} (proposal {self.number} of {self.proposals}, {self.runs} runs"
            f"{failed}; the session keeps a false change with probability {self.error:g} at most)"
        )


def judge(
    session: Path | str,
    incumbent: str,
    proposal: str,
    note: Callable[[str], None] = lambda line: None,
    **rules: Any,
) -> Judgement:
    """Run a proposal until it is known to be better than the incumbent, or unlikely to be.

    Args:
        session: File of the session, created if it does not exist.
        incumbent: Command that measures the system as it is; the last number printed counts.
        proposal: Command that measures the proposed change.
        note: Shows each run.
        **rules: Fields of `Rules`, of a new session.

    Returns:
        The decision; the caller makes a kept proposal the incumbent.

    Raises:
        InvalidInput: If a command cannot be run, the session is another one, or over, its runs are
            of another incumbent, or a run is in a unit that cannot be converted to that of the
            session; that run is not recorded.
        IncumbentFailed: If the first five runs of the incumbent fail; nothing is decided, and the
            same session measures it anew.
        KeyboardInterrupt: At Ctrl-C; the runs are kept, and the same call goes on.
    """
    folder = Path.cwd()
    commands = {}
    for key, line in (("incumbent", incumbent), ("proposal", proposal)):
        try:
            template = CommandTemplate.parse(line, key)
            template.check_fixed()
            template.check_program(folder)
        except InvalidCommand as error:
            raise InvalidInput(f"{error.key}: {error}") from None
        commands[key] = CommandObjective(template, folder, None)
    opened, stop = Session.open(Path(session), rules), Stop()
    with stop_on_signals(stop):
        opened.begin(incumbent)
        _measure_incumbent(opened, commands, stop, note)
        opened.propose(proposal)
        while (decision := opened.decide()) == UNDECIDED:
            _measure(opened, commands, "proposal", stop, note)
    runs = opened.runs
    opened.record({"decision": decision})
    failed = sum(run == float("inf") for run in runs)
    number, stated = len(opened.decisions), opened.rules
    return Judgement(decision, len(runs), failed, number, stated.proposals, stated.error)


def _measure_incumbent(
    session: Session,
    commands: dict[str, CommandObjective],
    stop: Stop,
    note: Callable[[str], None],
) -> None:
    """Complete the runs of the incumbent, unless it has given no number in several."""
    while len(session.pool) < session.rules.pool:
        reason = _measure(session, commands, "incumbent", stop, note)
        if session.lacks_incumbent:
            raise IncumbentFailed(
                f"incumbent: no number in {len(session.pool)} of {len(session.pool)} runs, the "
                f"last time: {printable(reason)}; nothing was decided, and once that is mended the "
                "same session measures the incumbent anew"
            )


def _measure(
    session: Session,
    commands: dict[str, CommandObjective],
    of: str,
    stop: Stop,
    note: Callable[[str], None],
) -> str:
    """Record a run; returns why it gave no number, empty if it gave one."""
    if stop.requested:
        raise KeyboardInterrupt
    result = commands[of].measure({}, stop)
    if isinstance(result, Measurement):
        unit = session.unit
        printed = result.number.unit
        same = result.into(printed if unit is None else unit)
        if same is None:
            raise InvalidInput(
                f"{of}: {MEASUREMENT} is {unit_phrase(printed)}, and those of the session are "
                f"{unit_phrase(unit or '')}; expected the same, or a unit that can be converted to "
                "it; the run was not recorded, and another session may have another unit"
            )
        unit = same.number.unit
        session.record({"of": of, "value": same.value, "unit": unit})
        note(f"{of}: {same.value:.6g} {unit}".rstrip())
        return ""
    session.record({"of": of, "value": None, "failure": result.reason})
    note(f"{of}: failed, {result.reason}")
    return result.reason
