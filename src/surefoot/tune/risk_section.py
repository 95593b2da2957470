"""`[risk]`: what is sought over the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from surefoot.risks import CVaR, Mean, Risk, VaR, WorstCase
from surefoot.tune.section import Section, WrongKey


@dataclass(frozen=True)
class StatedRisk:
    """A risk in words: the name of the number, and what it says."""

    measure: str
    level: float | None
    tail: str | None  # "upper" where the study minimises, "lower" where it maximises
    name: str
    meaning: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "measure": self.measure,
            "level": self.level,
            "tail": self.tail,
            "meaning": self.meaning,
        }


class RiskSection(Section):
    """The measure of risk, and its level where it has one."""

    measure: Literal["mean", "var", "cvar", "worst-case"] = Field(
        description="'mean', 'var', 'cvar' or 'worst-case'"
    )
    level: float | None = Field(
        default=None, gt=0, lt=1, description="a number strictly between 0 and 1"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        needed = self.measure in ("var", "cvar")
        if needed and self.level is None:
            raise WrongKey(
                "level",
                f"missing; expected a number strictly between 0 and 1 for {self.measure!r}, the "
                "share of environments that counts as bad",
            )
        if not needed and self.level is not None:
            raise WrongKey(
                "level", f"given beside measure = {self.measure!r}, expected for 'var' and 'cvar'"
            )
        return self

    def functional(self) -> Risk:
        """As a function of values, larger ones being better."""
        if self.level is None:
            return Mean() if self.measure == "mean" else WorstCase()
        return VaR(self.level) if self.measure == "var" else CVaR(self.level)

    def stated(self, direction: str) -> StatedRisk:
        """In words, for a study of this direction."""
        level = self.level or 0.0
        bad, good = f"{100 * level:g} %", f"{100 * (1 - level):g} %"
        name, meaning = {
            "mean": ("mean", "its mean over the environment"),
            "var": (
                f"value at risk {level:g}",
                f"in at least {bad} of environments it is this bad or worse, in at least {good} "
                "this good or better",
            ),
            "cvar": (
                f"conditional value at risk {level:g}",
                f"its mean over the worst {bad} of environments",
            ),
            "worst-case": ("worst case", "in no environment is it worse"),
        }[self.measure]
        tail = "upper" if direction == "minimize" else "lower"
        return StatedRisk(
            self.measure, self.level, None if self.measure == "mean" else tail, name, meaning
        )
