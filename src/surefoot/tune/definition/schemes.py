"""Measurement schemes: what one trial of a study measures, and what it goes together with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from surefoot.tune.definition.environment import EnvironmentSection, Variable
from surefoot.tune.definition.fidelity import FidelitySection
from surefoot.tune.definition.parameters import Parameter
from surefoot.tune.definition.schema import (
    ObjectivesSection,
    PairingSection,
    RiskDescription,
    RiskSection,
)
from surefoot.types import Objective

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyEnvironment

_ONE_OF = "expected one of the two"
_FOR_VALUES = dict.fromkeys(
    ("confirm", "repeats", "pairing", "stop"), f"{_ONE_OF}: it is for values"
)
_FOR_ONE_VALUE = dict.fromkeys(
    ("environment", "fidelity", "confirm", "repeats", "pairing", "prior", "stop"),
    f"{_ONE_OF}: it is for one value",
)
_SURE_LIMITS = dict.fromkeys(
    ("study.safe", "constraints.*.safe"), "under which a limit is broken by chance"
)
_VARYING = {**_FOR_VALUES, **_SURE_LIMITS, "objective.race": _ONE_OF}
"""What needs measurements of a configuration that are alike."""
_IN_EACH = "expected it there for each of them"


@dataclass(frozen=True)
class Scheme:
    """A trial measures the value of its configuration, alone.

    Every other scheme departs from this one in some of its members.
    """

    table: ClassVar[str] = ""
    """Where the study file asks for it."""
    home: ClassVar[str] = "environment"
    """Table of the study file that has its variables."""
    excluded: ClassVar[Mapping[str, str]] = {}
    """Keys of the study file that do not go together with it, and what is expected instead."""
    is_replayed: ClassVar[bool] = True
    """Whether a known configuration can be measured again, under the same conditions."""

    @property
    def variables(self) -> dict[str, Variable]:
        """Random variables under whose values a trial measures, by name."""
        return {}

    @property
    def observed(self) -> bool:
        """Whether the objective reports the values of `variables`, rather than being told them."""
        return False

    @property
    def companion(self) -> str:
        """What each configuration is measured beside, back to back, as in `[pairing]`."""
        return "none"

    @property
    def given(self) -> dict[str, Parameter]:
        """Variables whose values are known before each choice, by name."""
        return {}

    @property
    def objectives(self) -> dict[str, ObjectivesSection]:
        """The objectives by name, if there are several; the first is the value of a trial."""
        return {}

    @property
    def further(self) -> dict[str, Objective]:
        """The objectives beside the value, by name."""
        return {name: one.goal for name, one in [*self.objectives.items()][1:]}

    @property
    def risk(self) -> RiskDescription | None:
        """Meaning of a recommended value, None where it is that of every measurement."""
        return None

    def goal(self, direction: str) -> str:
        """What is optimised in the direction of the study, in words."""
        return direction

    @cached_property
    def environment(self) -> StudyEnvironment | None:
        """The joint distribution of `variables`, None where there are none."""
        return None

    def sampler_arguments(self) -> dict[str, Any]:
        """Arguments of `SurefootSampler` by name."""
        return {}

    def definition(self) -> dict[str, Any]:
        """Its tables of the study file as JSON values, equal for equal schemes."""
        return {}


@dataclass(frozen=True)
class Beside(Scheme):
    """A trial measures its configuration back to back with a companion."""

    table: ClassVar[str] = "[pairing]"
    excluded: ClassVar[Mapping[str, str]] = {"objective.race": _ONE_OF}
    section: PairingSection

    @property
    def companion(self) -> str:
        return self.section.companion


@dataclass(frozen=True)
class Given(Scheme):
    """A trial measures its configuration under values that are known before the choice."""

    table: ClassVar[str] = "environment.control = 'given'"
    excluded: ClassVar[Mapping[str, str]] = {
        "risk": "expected none: a value that is known before the choice has no risk",
        **_VARYING,
    }
    is_replayed: ClassVar[bool] = False
    section: EnvironmentSection

    @property
    def given(self) -> dict[str, Parameter]:
        return self.section.given


@dataclass(frozen=True)
class Random(Scheme):
    """A trial measures its configuration in an environment, over which a risk is optimised."""

    table: ClassVar[str] = "[environment]"
    excluded: ClassVar[Mapping[str, str]] = {
        "prior": _ONE_OF,
        "objective.log": "expected false: the risk is of values",
        **_VARYING,
    }
    is_replayed: ClassVar[bool] = False
    section: EnvironmentSection
    measure: RiskSection
    direction: str

    @property
    def observed(self) -> bool:
        return self.section.observed

    @property
    def variables(self) -> dict[str, Variable]:
        return self.section.variables

    @property
    def risk(self) -> RiskDescription:
        return self.measure.describe(self.direction)

    def goal(self, direction: str) -> str:
        return f"{direction} the {self.risk.name} over {', '.join(self.variables)}"

    @cached_property
    def environment(self) -> StudyEnvironment:
        return self.section.joint()

    def sampler_arguments(self) -> dict[str, Any]:
        return {"environment": self.environment, "risk": self.measure.functional()}

    def definition(self) -> dict[str, Any]:
        tables = {"environment": self.section, "risk": self.measure}
        return {name: one.model_dump(mode="json") for name, one in tables.items()}


@dataclass(frozen=True)
class Level(Scheme):
    """A trial measures its configuration at a level of fidelity that it chooses."""

    table: ClassVar[str] = "[fidelity]"
    home: ClassVar[str] = "fidelity"
    excluded: ClassVar[Mapping[str, str]] = {
        "environment": _ONE_OF,
        "risk": "expected none: what counts is the value at the highest level",
        "prior": _ONE_OF,
        **_VARYING,
    }
    is_replayed: ClassVar[bool] = False
    section: FidelitySection

    @property
    def variables(self) -> dict[str, Variable]:
        return dict(self.section.variables)

    @property
    def risk(self) -> RiskDescription:
        return self.section.describe()

    def goal(self, direction: str) -> str:
        return f"{direction} the {self.risk.name}"

    @cached_property
    def environment(self) -> StudyEnvironment:
        return self.section.joint()

    def sampler_arguments(self) -> dict[str, Any]:
        return {"fidelity": self.section.named()}

    def definition(self) -> dict[str, Any]:
        return {"fidelity": self.section.model_dump(mode="json")}


@dataclass(frozen=True)
class Several(Scheme):
    """A trial measures several objectives, of which the Pareto front is sought."""

    table: ClassVar[str] = "[objectives]"
    excluded: ClassVar[Mapping[str, str]] = {
        "study.direction": "each of which has its own direction",
        "objective.value": _IN_EACH,
        "objective.unit": _IN_EACH,
        "objective.log": "expected none",
        "objective.race": "expected none",
        **_FOR_ONE_VALUE,
    }
    named: Mapping[str, ObjectivesSection]

    @property
    def objectives(self) -> dict[str, ObjectivesSection]:
        return dict(self.named)

    def goal(self, direction: str) -> str:
        return ", ".join(f"{one.direction} {name}" for name, one in self.named.items())

    def sampler_arguments(self) -> dict[str, Any]:
        return {"objectives": self.further}

    def definition(self) -> dict[str, Any]:
        return {"objectives": {name: one.direction for name, one in self.named.items()}}
