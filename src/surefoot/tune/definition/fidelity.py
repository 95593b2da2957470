"""`[fidelity]`: levels of accuracy at which a command can measure, and their costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import ConfigDict, Field, model_validator

from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.definition.section import InvalidKey, Section, is_finite

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyEnvironment
    from surefoot.spaces import Fidelity

_LEVELS = "a list of 2 or more increasing numbers, of which the last counts"
_COST = "a list of numbers above 0, one for each level"


class LevelsSection(Section):
    """Levels of one quantity, such as the seconds that a benchmark runs."""

    levels: list[int | float] = Field(description=_LEVELS)
    cost: list[int | float] = Field(description=_COST)

    @model_validator(mode="after")
    def _check(self) -> Self:
        rising = all(a < b for a, b in zip(self.levels, self.levels[1:], strict=False))
        if len(self.levels) < 2 or not rising or not all(map(is_finite, self.levels)):
            raise self.invalid("levels", self.levels)
        if len(self.cost) != len(self.levels):
            raise InvalidKey(
                "cost",
                f"got {len(self.cost)} of them for {len(self.levels)} levels, expected {_COST}",
            )
        if not all(is_finite(one) and one > 0 for one in self.cost):
            raise self.invalid("cost", self.cost)
        return self


class FidelitySection(Section):
    """The one quantity whose level each measurement chooses."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, LevelsSection]

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = list(self.__pydantic_extra__)
        if len(names) != 1:
            raise InvalidKey(
                "",
                f"got {', '.join(names) or 'no quantity'}, expected one, such as "
                "seconds = { levels = [5, 30, 120], cost = [5, 30, 120] }",
            )
        return self

    @property
    def quantity(self) -> tuple[str, LevelsSection]:
        """Name of the fidelity, and its levels."""
        return next(iter(self.__pydantic_extra__.items()))

    @property
    def fidelity(self) -> Fidelity:
        """The levels and costs, for the model."""
        from surefoot.spaces import Fidelity

        name, one = self.quantity
        return Fidelity(one.levels, one.cost, name)

    def describe(self) -> RiskDescription:
        """A recommended value in words."""
        name, one = self.quantity
        lower = ", ".join(map(str, one.levels[:-1]))
        return RiskDescription(
            "fidelity",
            None,
            None,
            f"value at {name}={one.levels[-1]}",
            f"measurements at {name}={lower} count as approximations of it",
        )

    def joint(self) -> StudyEnvironment:
        """The levels, of which a recommendation is for the highest."""
        from surefoot.integrations.optuna import StudyEnvironment

        return StudyEnvironment.of_fidelity(self.fidelity)
