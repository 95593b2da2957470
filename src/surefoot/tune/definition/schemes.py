"""Measurement schemes: what one trial of a study measures, and what it goes together with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from surefoot.tune.definition.environment import DiscreteVariable, EnvironmentSection, Variable
from surefoot.tune.definition.fidelity import FidelitySection
from surefoot.tune.definition.parameters import Parameter
from surefoot.tune.definition.schema import (
    ObjectivesSection,
    RiskDescription,
    RiskSection,
)
from surefoot.types import Objective

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyEnvironment


@dataclass(frozen=True)
class Scheme:
    """The subject of a trial's measurement; by default the value of its configuration, alone.

    Args:
        goal: What is optimised, in words.
        option: Name of it in the table of what does not go together, empty where it is none.
        table: Where the study file asks for it.
        is_replayed: Whether a known configuration is measured again, under the same conditions,
            since one is recommended for all.
        home: Table of the study file that has its variables.
        variables: Random variables under whose values a trial measures, by name.
        observed: Whether the objective reports the values of `variables`, rather than being told
            them.
        given: Variables whose values are known before each choice, by name.
        objectives: The objectives by name, if there are several; the first is the value of a trial.
        risk: Meaning of a recommended value, None where it is that of every measurement.
        definition: Its tables of the study file as JSON values, equal for equal schemes.
        joint: The joint distribution of `variables`, None where there are none.
        arguments: Arguments of its `Problem` by name, from the scheme.
    """

    goal: str
    option: str = ""
    table: str = ""
    is_replayed: bool = True
    home: str = "environment"
    variables: Mapping[str, Variable] = field(default_factory=dict)
    observed: bool = False
    given: Mapping[str, Parameter] = field(default_factory=dict)
    objectives: Mapping[str, ObjectivesSection] = field(default_factory=dict)
    risk: RiskDescription | None = None
    definition: Mapping[str, Any] = field(default_factory=dict)
    joint: Callable[[], StudyEnvironment | None] = lambda: None
    arguments: Callable[[Scheme], dict[str, Any]] = lambda scheme: {}

    @property
    def varies(self) -> bool:
        """Whether what is recommended is over several values of `variables`."""
        return bool(self.variables) and self.home == "environment"

    @property
    def further(self) -> dict[str, Objective]:
        """The objectives beside the value, by name."""
        return {name: one.goal for name, one in [*self.objectives.items()][1:]}

    @cached_property
    def environment(self) -> StudyEnvironment | None:
        """The joint distribution of `variables`, None where there are none."""
        return self.joint()


def under_given(direction: str, section: EnvironmentSection) -> Scheme:
    """A trial measures its configuration under values that are known before the choice."""
    return Scheme(
        direction,
        "given",
        "environment.control = 'given'",
        is_replayed=False,
        given=section.given,
    )


def over_environment(direction: str, section: EnvironmentSection, measure: RiskSection) -> Scheme:
    """A trial measures its configuration in an environment, over which a risk is optimised."""
    risk, tables = measure.describe(direction), {"environment": section, "risk": measure}
    return Scheme(
        f"{direction} the {risk.name} over {', '.join(section.variables)}",
        "environment",
        "[environment]",
        is_replayed=False,
        variables=section.variables,
        observed=section.observed,
        risk=risk,
        definition={name: one.model_dump(mode="json") for name, one in tables.items()},
        joint=section.joint,
        arguments=lambda scheme: {
            "environment": scheme.environment,
            "risk": measure.functional(),
        },
    )


def at_levels(direction: str, section: FidelitySection) -> Scheme:
    """A trial measures its configuration at a level of fidelity that it chooses."""
    (name, levels), risk = section.quantity, section.describe()
    return Scheme(
        f"{direction} the {risk.name}",
        "fidelity",
        "[fidelity]",
        is_replayed=False,
        home="fidelity",
        variables={name: DiscreteVariable(values=levels.levels)},
        risk=risk,
        definition={"fidelity": section.model_dump(mode="json")},
        joint=section.joint,
        arguments=lambda scheme: {"fidelity": section.fidelity},
    )


def of_several(named: Mapping[str, ObjectivesSection]) -> Scheme:
    """A trial measures several objectives, of which the Pareto front is sought."""
    return Scheme(
        ", ".join(f"{one.direction} {name}" for name, one in named.items()),
        "objectives",
        "[objectives]",
        is_replayed=False,
        objectives=named,
        definition={"objectives": {name: one.direction for name, one in named.items()}},
    )
