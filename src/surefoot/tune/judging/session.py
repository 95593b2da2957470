"""A session of proposals: its runs and decisions, in a file that is only appended to."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from surefoot._internal import checks
from surefoot.tune.judging.rank_bets import evidence
from surefoot.tune.output_file import WriteFailed, check_output
from surefoot.tune.plain_text import shown
from surefoot.types import InvalidInput

KEEP, DISCARD, UNDECIDED = "keep", "discard", "undecided"
MOST_FAILED = 5  # runs of an incumbent without a number, before it is no incumbent


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
        if not file.exists():
            session = cls(file, Rules(**given))
            session.rules.check()
            session._append({"rules": asdict(session.rules)})
            return session
        try:
            text = file.read_text(encoding="utf-8")
            complete = text[
                : text.rfind("\n") + 1
            ]  # but for a line that a killed process has begun
            lines = [json.loads(line) for line in complete.splitlines()]
            rules = Rules(**lines[0]["rules"])
        except OSError as error:
            raise InvalidInput(f"{file}: cannot be read: {error.strerror}") from None
        except (ValueError, LookupError, TypeError):
            raise InvalidInput(
                f"{file}: is not a session of `surefoot judge`; choose another file"
            ) from None
        if complete != text:
            file.write_text(complete, encoding="utf-8")
        rules.check()
        for name, now in given.items():
            if now != (before := getattr(rules, name)):
                raise InvalidInput(
                    f"{file}: got {name} = {shown(now)}, but the session began with "
                    f"{shown(before)}, by which its error is stated; begin another session"
                )
        session = cls(file, rules)
        for line in lines[1:]:
            session._apply(line)
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

    def propose(self, proposal: str) -> None:
        """Begin a proposal, or go on with the undecided one.

        Raises:
            InvalidInput: If the session has had all its proposals.
        """
        if proposal == self.proposal:
            return
        if self.proposal:
            self.record({"decision": DISCARD})
        if len(self.decisions) >= self.rules.proposals:
            raise InvalidInput(
                f"{self.file}: had all its {self.rules.proposals} proposals, for which its error "
                "is stated; begin another session"
            )
        self.record({"proposal": proposal})

    @property
    def lacks_incumbent(self) -> bool:
        """Whether the incumbent was run several times and never gave a number."""
        return len(self.pool) >= MOST_FAILED and not any(map(math.isfinite, self.pool))

    def decide(self) -> str:
        """The decision about the proposal, given its runs."""
        return self.rules.decide(self.pool, self.runs, len(self.decisions))

    def record(self, event: Mapping[str, Any]) -> None:
        """Store a run, a proposal or a decision; it counts once it is stored."""
        self._append(event)
        self._apply(event)

    def _append(self, event: Mapping[str, Any]) -> None:
        try:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(event) + "\n")
        except OSError as error:
            raise WriteFailed(f"{self.file}: cannot be written: {error.strerror}") from None

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
