"""A session of proposals: each is measured beside the incumbent until it is kept or discarded."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from surefoot._internal import checks
from surefoot._internal.user_warnings import warn
from surefoot.tune.definition.command_template import CommandTemplate, InvalidCommand, shell_note
from surefoot.tune.judging.rank_bets import evidence
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.measurement import (
    MAX_FAILURES,
    MEASUREMENT,
    Measurement,
    unit_phrase,
)
from surefoot.tune.output_file import append_line, check_output, only_writer, read_lines
from surefoot.tune.plain_text import printable, shown
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.types import InvalidInput, SurefootError

KEEP, DISCARD, UNDECIDED = "keep", "discard", "undecided"


@dataclass(frozen=True)
class Rules:
    """Promise of a session, and how much it measures.

    Args:
        direction: "minimize" or "maximize".
        proposals: Proposals at most.
        error: Probability of keeping any proposal that changes nothing, in the whole session.
        pool: Runs of the incumbent, before the first proposal and after each that is kept.
        most: Runs of a proposal at most.
        looked_for: Improvement to look for, in robust deviations of the noise (1.4826 times the
            median absolute deviation).
        patience: Logarithm of the likelihood ratio against such an improvement at which a proposal
            is discarded.
    """

    direction: str = "minimize"
    proposals: int = 30
    error: float = 0.05
    pool: int = 60
    most: int = 60
    looked_for: float = 1.0
    patience: float = 0.5

    def __post_init__(self) -> None:
        checks.choice("direction", self.direction, "minimize", "maximize")
        checks.count("proposals", self.proposals)
        checks.probability("error", self.error)
        checks.count("pool", self.pool, least=5)
        checks.count("most", self.most)
        checks.positive("looked_for", self.looked_for)
        checks.positive("patience", self.patience)

    @property
    def threshold(self) -> float:
        """Logarithm of the evidence at which a proposal is kept."""
        return math.log(self.proposals / self.error)

    def can_keep(self, pool: int, most: int) -> bool:
        """Whether so many runs of the incumbent and of a proposal keep one that is far better."""
        found = evidence([float(run) for run in range(pool)], [-1.0] * most)
        return any(one.log_capital >= self.threshold for one in found)

    def check(self) -> None:
        """Raise `InvalidInput` where no proposal can be kept, whatever is measured."""
        if not self.can_keep(self.pool, self.most):
            least = next(runs for runs in itertools.count(5) if self.can_keep(runs, runs))
            raise InvalidInput(
                f"runs: {self.pool} of the incumbent and {self.most} of a proposal cannot keep any "
                f"change at an error of {self.error:g} over {self.proposals} proposals, expected "
                f"at least {least} of each, or fewer proposals"
            )

    def decide(self, pool: list[float], runs: list[float], number: int) -> str:
        """Whether a proposal is to be kept, discarded, or measured again.

        Args:
            pool: Runs of the incumbent; infinite ones have failed.
            runs: Runs of the proposal in their order.
            number: Its number in the session, which seeds the order of equal runs.
        """
        sign = 1.0 if self.direction == "minimize" else -1.0

        def signed(values: list[float]) -> list[float]:
            return [sign * one if math.isfinite(one) else math.inf for one in values]

        found = evidence(signed(pool), signed(runs), self.looked_for, number)
        for count, one in enumerate(found, 1):
            if one.log_capital >= self.threshold:
                return KEEP
            if one.log_ratio <= -self.patience or count == self.most:
                return DISCARD
        return UNDECIDED


@dataclass
class Session:
    """The proposals of a session so far.

    Args:
        file: A JSON object a line: the rules, then each run and each decision.
        rules: The rules.
        decisions: Decisions so far.
        pool: Runs of the incumbent of now.
        incumbent: Its command; empty where it is not known.
        proposal: Text of the proposal that is undecided; empty if there is none.
        runs: Its runs.
        unit: Unit of all runs, that of the first; empty if it had none, None before it.
    """

    file: Path
    rules: Rules
    decisions: list[str] = field(default_factory=list)
    pool: list[float] = field(default_factory=list)
    incumbent: str = ""
    proposal: str = ""
    runs: list[float] = field(default_factory=list)
    unit: str | None = None

    @classmethod
    def open(cls, file: Path, given: Mapping[str, Any]) -> Self:
        """The session of a file, which is created if it does not exist.

        Args:
            file: The file.
            given: Fields of `Rules`: those of a new session, or some of those that it has.

        Raises:
            InvalidInput: If it is no session, has other rules, or ones by which no proposal can be
                kept.
        """
        check_output(file)
        if not file.exists() or not file.stat().st_size:
            session = cls(file, Rules(**given))
            session.rules.check()
            append_line(file, {"rules": asdict(session.rules)})
            return session
        try:
            lines = [json.loads(line) for line in read_lines(file)]
            session = cls(file, Rules(**lines[0]["rules"]))
            for line in lines[1:]:
                session._apply(line)
        except InvalidInput:
            raise
        except (ValueError, LookupError, TypeError):
            raise InvalidInput(
                f"{file}: is not a session of `surefoot judge`; choose another file"
            ) from None
        read_lines(file, repair=True)
        session.rules.check()
        for name, now in given.items():
            if now != (before := getattr(session.rules, name)):
                raise InvalidInput(
                    f"{file}: got {name} = {shown(now)}, but the session began with "
                    f"{shown(before)}, by which its error is stated; begin another session"
                )
        return session

    def begin(self, incumbent: str) -> None:
        """Begin the runs of an incumbent, or go on with them.

        Args:
            incumbent: Its command.

        Raises:
            InvalidInput: If the runs since the last change that was kept are of another command.
        """
        if not self.pool or self.lacks_incumbent:  # whose command, or what it needs, is mended now
            self.record({"incumbent": incumbent})
        elif self.incumbent not in ("", incumbent):
            raise InvalidInput(
                f"incumbent: got {shown(incumbent)}, but its {len(self.pool)} runs in {self.file} "
                f"are of {shown(self.incumbent)}; give the same, or begin another session"
            )

    def check(self, proposal: str) -> None:
        """Check that a proposal may begin, or go on.

        Raises:
            InvalidInput: If the session has had all its proposals.
        """
        begun = len(self.decisions) + bool(self.proposal)
        if proposal != self.proposal and begun >= self.rules.proposals:
            undecided = f"{shown(self.proposal)} is undecided: go on with it, or "
            raise InvalidInput(
                f"{self.file}: had all its {self.rules.proposals} proposals, for which its error "
                f"is stated; {undecided if self.proposal else ''}begin another session"
            )

    def propose(self, proposal: str) -> None:
        """Begin a proposal, or go on with the undecided one; another undecided one is discarded.

        Raises:
            InvalidInput: If the session has had all its proposals.
        """
        self.check(proposal)
        if proposal == self.proposal:
            return
        if self.proposal:
            self.record({"decision": DISCARD})
        self.record({"proposal": proposal})

    @property
    def lacks_incumbent(self) -> bool:
        """Whether the incumbent was run several times and never gave a number."""
        return len(self.pool) >= MAX_FAILURES and not any(map(math.isfinite, self.pool))

    def decide(self) -> str:
        """The decision about the proposal, given its runs."""
        return self.rules.decide(self.pool, self.runs, len(self.decisions))

    def record(self, event: Mapping[str, Any]) -> None:
        """Store a run, a proposal or a decision; it counts once it is stored."""
        append_line(self.file, event)
        self._apply(event)

    def _apply(self, event: Mapping[str, Any]) -> None:
        if "decision" in event:
            self.decisions.append(event["decision"])
            if (
                event["decision"] == KEEP
            ):  # its runs were selected: the new incumbent has fresh ones
                self.pool = []
            self.proposal, self.runs = "", []
        elif "incumbent" in event:
            self.incumbent, self.pool = event["incumbent"], []
        elif "proposal" in event:
            self.proposal = event["proposal"]
        else:
            value = event["value"]
            if value is not None and self.unit is None:
                self.unit = str(event.get("unit", ""))
            runs = self.pool if event["of"] == "incumbent" else self.runs
            runs.append(math.inf if value is None else float(value))


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
            f"{self.decision} (proposal {self.number} of {self.proposals}, {self.runs} "
            f"run{'s' * (self.runs != 1)}"
            f"{failed}; the session keeps a false change with probability {self.error:g} at most, "
            "if no run depends on the one before)"
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
        InvalidInput: If a command cannot be run, the session is another one, over, or written to
            by another process, its runs are of another incumbent, or a run is in a unit that
            cannot be converted to that of the session; that run is not recorded.
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
        if shell := shell_note(line, key):
            warn(shell)
    file, stop = Path(session), Stop()
    check_output(file)
    if not file.exists():  # rules that are refused leave no file
        Rules(**rules).check()
    with only_writer(file, "another judgement of this session"), stop_on_signals(stop):
        opened = Session.open(file, rules)
        opened.check(proposal)
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
        unit, printed = session.unit, result.number.unit
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
