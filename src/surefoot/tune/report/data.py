"""What a report shows, as plain values: no model, no storage, nothing that draws."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Interval:
    """A value that the model believes in, in the study's units."""

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Parameter:
    """One thing that was tuned. `choices` is None for a number."""

    name: str
    log: bool = False
    choices: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Trial:
    """One evaluation. `value` is None where it failed or still runs; `failure` says why.

    An interrupted one is no failure: it says nothing of its setting.
    """

    number: int
    params: dict[str, Any]
    state: str  # complete, failed, interrupted, pruned, running or waiting
    value: float | None = None
    predicted: Interval | None = None
    weight: float | None = None  # 1 = taken in full, near 0 = treated as an outlier
    outlier: bool = False
    seconds: float | None = None
    failure: str = ""
    output: str = ""  # the end of what a failed run printed
    environment: dict[str, Any] = field(default_factory=dict)  # what it was measured under


@dataclass(frozen=True)
class Checkpoint:
    """The recommendation as it stood after `trials` measurements."""

    trials: int
    believed: Interval  # by the model of that moment
    hindsight: Interval  # of the same setting, by the model of all measurements


@dataclass(frozen=True)
class Slice:
    """The model along one parameter, every other one at the recommendation."""

    parameter: Parameter
    settings: tuple[Any, ...]
    predicted: tuple[Interval, ...]  # one for each of `settings`
    recommended: Any

    @property
    def span(self) -> float:
        """How far the mean moves over the parameter's range: how much the parameter matters."""
        means = [belief.mean for belief in self.predicted]
        return max(means) - min(means)


@dataclass(frozen=True)
class Surroundings:
    """The recommended setting over its random environment, and the risk that is sought.

    `value` in `ReportData` is then that risk of the recommended setting.
    """

    names: tuple[str, ...]
    listed: bool  # whether `places` are all there are, and do not stand for a density
    places: tuple[tuple[float, ...], ...]  # a value for each name
    predicted: tuple[Interval, ...]  # one for each of `places`
    weights: tuple[float, ...]  # probabilities, one for each of `places`
    measure: str  # mean, var, cvar or worst-case
    level: float | None
    risk: str  # the measure's name, with its level
    meaning: str  # what the risk says, in words


@dataclass(frozen=True)
class Tails:
    """How heavy the noise is: what `surefoot.tails.diagnose` says of the residuals, in words."""

    facts: tuple[tuple[str, str], ...]  # (what, finding)
    verdict: str


@dataclass(frozen=True)
class ReportData:
    """Everything on the page, in the study's units and direction."""

    name: str
    direction: str  # minimize or maximize
    parameters: tuple[Parameter, ...]
    trials: tuple[Trial, ...]  # by number
    recommended: dict[str, Any]
    value: Interval
    history: tuple[Checkpoint, ...]
    slices: tuple[Slice, ...]
    tails: Tails
    assumed: str
    study_text: str
    command: str
    versions: tuple[tuple[str, str], ...]
    storage: str
    seed: int | None
    written: str
    first: Interval | None = None  # of the first setting measured, to be compared with `value`
    surroundings: Surroundings | None = None

    @property
    def measured(self) -> tuple[Trial, ...]:
        """The trials with a value."""
        return tuple(trial for trial in self.trials if trial.value is not None)

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The trials that ended without a value, for a reason of their own."""
        return tuple(trial for trial in self.trials if trial.state in ("failed", "pruned"))
