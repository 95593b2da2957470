"""The contents of a report, as plain values: no model, no storage, no drawing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.estimate_text import Units
from surefoot.tune.study.findings import Findings
from surefoot.tune.study.front_text import StudyFront
from surefoot.types import Constraint


@dataclass(frozen=True)
class Interval:
    """A prediction in the study's units."""

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Estimate:
    """What is known of a quantity at a configuration: measured side by side, or predicted.

    Args:
        interval: Its value with a 95 % interval.
        runs: Runs of `surefoot compare` that measured it, 0 where it is predicted.
        limit: How far its limit is kept: the probability, or the number of runs; empty without one.
        few: Whether the runs are too few for such an interval, in place of which is their range.
    """

    interval: Interval
    runs: int = 0
    limit: str = ""
    few: bool = False


@dataclass(frozen=True)
class DecisionRow:
    """One quantity of the defaults, None if they are recommended, and of the recommendation."""

    name: str
    limit: str
    unit: str
    other: Estimate | None
    recommended: Estimate
    contradictions: tuple[str, ...] = ()  # between what was measured and predicted, a sentence each
    pairs: tuple[tuple["Trial", "Trial"], ...] = ()  # runs of both, with their pair's number


@dataclass(frozen=True)
class Decision:
    """The defaults against the recommendation, and what to do.

    Args:
        other: What it is compared with, "defaults" or "first measured"; empty if with nothing.
        rows: The value or the objectives, then each limit.
        advice: What to do, in a sentence; empty where nothing follows.
    """

    other: str
    rows: tuple[DecisionRow, ...]
    advice: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of the study. `choices` is None for a number."""

    name: str
    log: bool = False
    choices: tuple[Any, ...] | None = None
    special: tuple[float, ...] = ()  # values of a number that are apart from its scale


@dataclass(frozen=True)
class Trial:
    """One trial. `value` is None unless it is complete; `failure` is the reason if it failed."""

    number: int
    params: dict[str, Any]
    state: str  # complete, failed, interrupted, pruned, running or waiting
    value: float | None = None
    predicted: Interval | None = None
    weight: float | None = None  # 1: full weight, near 0: treated as an outlier
    outlier: bool = False
    seconds: float | None = None
    failure: str = ""
    output: str = ""  # the end of what a failed trial printed
    environment: dict[str, Any] = field(default_factory=dict)  # under which it was measured
    constraints: dict[str, float] = field(default_factory=dict)  # values by name
    violated: tuple[str, ...] = ()  # names of the constraints that its values are beyond
    outlying: tuple[str, ...] = ()  # names of `constraints` whose values are treated as outliers


@dataclass(frozen=True)
class Checkpoint:
    """The recommendation after `trials` measurements."""

    trials: int
    then: Interval  # its value by the model fitted to those measurements
    now: Interval  # its value by the model fitted to all measurements


@dataclass(frozen=True)
class Slice:
    """The model along one parameter, with all others as recommended."""

    parameter: Parameter
    values: tuple[Any, ...]  # of the parameter
    predicted: tuple[Interval, ...]  # one for each value
    recommended: Any

    @property
    def span(self) -> float:
        """The range of the predicted mean: how much the parameter matters."""
        means = [interval.mean for interval in self.predicted]
        return max(means) - min(means)


@dataclass(frozen=True)
class EnvironmentView:
    """The recommended configuration under each environment, and the risk that is optimised.

    `Report.value` is then that risk of the recommended configuration.
    """

    names: tuple[str, ...]
    discrete: bool  # whether `points` are all environments, rather than quadrature points
    points: tuple[tuple[float, ...], ...]  # a value for each name
    predicted: tuple[Interval, ...]  # one for each point
    weights: tuple[float, ...]  # probabilities, one for each point
    risk: RiskDescription  # its measure is fidelity where the points are its levels

    @property
    def is_fidelity(self) -> bool:
        """Whether the points are levels of fidelity, of which the last counts."""
        return self.risk.measure == "fidelity"

    @property
    def plural(self) -> str:
        """Plural noun for the points."""
        return "levels" if self.is_fidelity else "environments"


@dataclass(frozen=True)
class Effects:
    """Effects of worker and time on the recommended configuration."""

    text: tuple[str, ...]  # a sentence each
    trials: tuple[int, ...]  # in order of time; none without a drift
    drift: tuple[Interval, ...]  # predicted at their times
    workers: tuple[tuple[str, Interval], ...]  # predicted on each; none where they do not differ


@dataclass(frozen=True)
class Report:
    """Everything on the page, in the study's units and direction."""

    name: str
    direction: str  # minimize or maximize
    parameters: tuple[Parameter, ...]
    trials: tuple[Trial, ...]  # by number
    findings: Findings
    value: Interval  # of the recommendation
    history: tuple[Checkpoint, ...]
    slices: tuple[Slice, ...]
    noise_facts: tuple[tuple[str, str], ...]  # (name, finding)
    noise_verdict: str
    noise_model: str
    study_text: str
    command: str
    versions: tuple[tuple[str, str], ...]
    storage: str
    seed: int
    written: str
    decision: Decision
    effects: Effects
    given: str = ""  # values of the given variables that it is recommended under
    environment: EnvironmentView | None = None
    left_to_gain: tuple[float, ...] = ()  # probability of more than `gain`, for each of `history`
    gain: float = 0.0  # of `[stop]`, a share
    confidence: float = 0.0  # of `[stop]`
    units: Units = field(default_factory=Units)
    estimand: str = "location"  # of measurements, which is predicted
    bounds: Mapping[str, Constraint] = field(default_factory=dict)  # limits of the study by name
    limit_slices: Mapping[str, tuple[Slice, ...]] = field(default_factory=dict)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Names of the constraints that were measured."""
        return tuple(dict.fromkeys(name for trial in self.trials for name in trial.constraints))

    @property
    def front(self) -> StudyFront | None:
        """The front of several objectives, of which the first is the value."""
        return self.findings.front

    def readings(self, name: str = "") -> list[tuple[Trial, float]]:
        """The trials that measured the value or the quantity of this name, with what it was."""
        known = ((one, one.constraints.get(name) if name else one.value) for one in self.trials)
        return [(trial, value) for trial, value in known if value is not None]

    @cached_property
    def measured(self) -> tuple[Trial, ...]:
        """The trials with a value."""
        return tuple(trial for trial in self.trials if trial.value is not None)

    @cached_property
    def failed(self) -> tuple[Trial, ...]:
        """The trials that ended without a value, except interrupted ones."""
        return tuple(trial for trial in self.trials if trial.state in ("failed", "pruned"))
