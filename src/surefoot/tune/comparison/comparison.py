"""The result of a comparison of two configurations: from runs in pairs to a decision in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from surefoot._internal.html import as_html
from surefoot._internal.numbers import TINY
from surefoot.tune.comparison.measured_limits import Letter, MeasuredLimit, measured_limits
from surefoot.tune.comparison.named_settings import NamedSetting
from surefoot.tune.comparison.paired_test import Floats, PairedTest, paired_test, pairs_to_decide
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.plain_text import finite_json
from surefoot.types import Constraint

Run = Measurement | Failure
STANDINGS: dict[Letter | None, str] = {"B": "better", "A": "worse", None: "undecided"}


@dataclass(frozen=True)
class Difference:
    """Difference of the values of B and A.

    Args:
        estimate: Typical difference within a pair; infinite where most runs of one have failed.
        lower: Lower end of its confidence sequence; may be infinite.
        upper: Upper end.
    """

    estimate: float
    lower: float
    upper: float

    def text(self, unit: str = "") -> str:
        """The difference and its interval, to three digits."""
        interval = f"{_bound(self.lower, unit)} to {_bound(self.upper, unit)}"
        return f"{self.estimate:+.3g}{unit} ({interval})"


@dataclass(frozen=True)
class Comparison:
    """The state of a comparison of A and B.

    Args:
        a: Parameters of A.
        b: Parameters of B.
        ahead: "A" or "B" where the values of one are better at the confidence asked, else None.
        probability: Posterior probability that B is better by signs and ranks, if both are
            equally likely beforehand.
        pairs: Pairs measured.
        wins_a: Pairs in which A was better; a run that failed is worse than one that did not.
        wins_b: Pairs in which B was better.
        failures_a: Failed runs of A.
        failures_b: Failed runs of B.
        difference: Value of B minus value of A, in the objective's units; None before the first
            pair.
        percent: Change from A to B in per cent; None unless all values are positive.
        mean_difference: Mean of the differences, which outliers dominate; None before the first
            pair of two measurements.
        depends_on_outliers: Whether the mean difference lies outside the interval of the typical
            one.
        more_pairs: Estimate of how many more pairs decide; 0 if it is decided, None if more than
            1,000 or unknown.
        confidence: One minus the probability that two equal configurations are ever called
            different.
        stopped: Whether Ctrl-C ended the comparison.
        limits: Limits of the study that both have measured.
        unit: Unit of the values, empty if the study file has none.
        objective: Name of the value, where the study has several objectives.
        further: The comparisons of the other objectives by name.
        on_different_workers: Pairs whose two runs named different workers.
        warning: What the difference may be of beside the choice; empty if nothing.
        medians: The median of B, and how much better it is than that of A, in a sentence; empty
            while there are too few runs, and where some failed or ended early.
    """

    a: dict[str, Any]
    b: dict[str, Any]
    ahead: Letter | None
    probability: float
    pairs: int
    wins_a: int
    wins_b: int
    failures_a: int
    failures_b: int
    difference: Difference | None
    percent: Difference | None
    mean_difference: float | None
    depends_on_outliers: bool
    more_pairs: int | None
    confidence: float
    stopped: bool
    limits: tuple[MeasuredLimit, ...] = ()
    unit: str = ""
    objective: str = ""
    further: Mapping[str, Comparison] = field(default_factory=dict)
    on_different_workers: int = 0
    warning: str = ""
    medians: str = ""

    @property
    def each(self) -> dict[str, Comparison]:
        """The comparison of each objective by name; that of a single value has none."""
        return {self.objective: self, **self.further}

    @property
    def standing(self) -> str:
        """How B stands against A, and by how much in each of several objectives."""
        if not self.further:
            return STANDINGS[self.ahead]
        parts = []
        for letter, word in STANDINGS.items():
            led = [(name, one) for name, one in self.each.items() if one.ahead == letter]
            named = (
                f"{name} ({one.sizes[-1]})" if letter and one.sizes else name for name, one in led
            )
            parts += [f"{word} in {' and '.join(named)}"] if led else []
        return ", ".join(parts)

    def failed_runs(self, a: str = "A", b: str = "B") -> str:
        """The failed runs in a sentence with these names, empty if there are none."""
        if not self.failures_a + self.failures_b:
            return ""
        return f"Failed runs: {a} {self.failures_a}, {b} {self.failures_b}."

    def limits_of(self, letter: Letter | None, keeps: bool | None) -> str:
        """The limits that one keeps or breaks in most runs, or may do either; empty for none."""
        names = [one.name for one in self.limits if letter and one.sides[letter].keeps is keeps]
        return f"the limit{'s' * (len(names) > 1)} of {', '.join(names)}" if names else ""

    def doubt(self, letter: Letter | None, name: str = "it") -> str:
        """What the limits say against one, with a name for it; empty for nothing."""
        s = "s" * (name == "it")
        if broken := self.limits_of(letter, False):
            return f"{name} break{s} {broken}"
        led = any(one.ahead == letter for one in self.each.values())
        unknown = self.limits_of(letter, None) if led else ""
        return f"it is undecided whether {name} keep{s} {unknown}" if unknown else ""

    @property
    def better(self) -> Letter | None:
        """The one that is ahead, where it is known to keep all limits."""
        return None if self.doubt(self.ahead) else self.ahead

    @property
    def sizes(self) -> list[str]:
        """The difference in words, in the objective's unit and in per cent, as far as known."""
        each = [(self.difference, f" {self.unit}" if self.unit else ""), (self.percent, " %")]
        return [one.text(unit) for one, unit in each if one and math.isfinite(one.estimate)]

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values; infinite ends of intervals are None."""
        found = {"better": self.better, **asdict(self)}
        found["limits"] = {
            one.name: {
                "max": one.limit.maximum,
                "min": one.limit.minimum,
                **{letter: vars(side) for letter, side in one.sides.items()},
            }
            for one in self.limits
        }
        found["further"] = {name: one.as_dict() for name, one in self.further.items()}
        return finite_json(found)

    def _repr_html_(self) -> str:
        return as_html("Comparison", {"A": self.a, "B": self.b}, self.lines())

    def lines(self) -> list[str]:
        """The result in words, of each objective where there are several."""
        own = self._lines()
        limits = ["Limits:", *(f"  {one.text()}" for one in self.limits)] if self.limits else []
        notes = [*limits, *self._workers(), *([f"Warning: {self.warning}"] if self.warning else [])]
        if not self.objective:
            return own + notes
        each = [(self.objective, own), *((n, one._lines()) for n, one in self.further.items())]
        named = [line for name, found in each for line in (f"{name}:", *(f"  {x}" for x in found))]
        return named + notes

    def _lines(self) -> list[str]:
        level = f"{100 * self.confidence:g} % confidence"
        counts = f"B was better in {self.wins_b} of {self.pairs} pairs, A in {self.wins_a}"
        if self.ahead is None:
            verdict = f"Undecided at {level}"
        elif doubt := self.doubt(self.ahead):
            verdict = f"{self.ahead} has better values ({level}), but {doubt}"
        else:
            verdict = f"{self.better} is better ({level})"
        lines = (
            f"{verdict}: {counts}.",
            f"Probability that B {better_text(self.limits)}: {self.probability:.3g}.",
            f"B minus A: {', or '.join(self.sizes)}." if self.sizes else "",
            self.medians,
            self.failed_runs(),
            self._outliers(),
            self._missing() if self.ahead is None and self.pairs else "",
        )
        return list(filter(None, lines))

    def _workers(self) -> list[str]:
        """Noise of the pairs by the difference between workers, if there is any."""
        if not self.on_different_workers:
            return []
        return [
            f"In {self.on_different_workers} of {self.pairs} pairs the two runs were on different "
            "workers, whose difference is in the pairs' noise: with all runs on one worker, fewer "
            "pairs decide and the interval is narrower."
        ]

    def _outliers(self) -> str:
        if (mean := self.mean_difference) is None or not self.depends_on_outliers:
            return ""
        opposite = self.difference is not None and mean * self.difference.estimate < 0
        also = " and has the other sign" if opposite else ""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"The mean difference, {_bound(mean, unit)}, is outside this interval{also}: it "
            "depends on a few outliers. The decision is about typical runs, not about means."
        )

    def _missing(self) -> str:
        if not self.wins_a + self.wins_b:
            return "No pair has said yet which is better."
        count = "More than 1,000" if self.more_pairs is None else f"About {self.more_pairs}"
        return (
            f"{count} more pair{'s' * (self.more_pairs != 1)} would decide, if the difference is "
            "what it seems."
        )


def of_further(pairs: Sequence[Mapping[str, Run]], name: str) -> list[dict[str, Run]]:
    """Runs with the value of a further objective, which they have measured beside their own.

    Those from before the study had the objective are left out.

    Args:
        pairs: Results of "a" and "b" by pair.
        name: Name of the objective.
    """
    return [
        {
            label: run.measuring(run.readings[name]) if isinstance(run, Measurement) else run
            for label, run in pair.items()
            if not isinstance(run, Measurement) or name in run.readings
        }
        for pair in pairs
    ]


def better_text(limits: Collection[object]) -> str:
    """The verb of what values alone say, with limits and without."""
    return "has better values" if limits else "is better"


def comparison_of(
    a: NamedSetting,
    b: NamedSetting,
    pairs: Sequence[Mapping[str, Run]],
    minimize: bool,
    confidence: float,
    stopped: bool = False,
    limits: Mapping[str, Constraint] | None = None,
) -> Comparison:
    """Decide from the runs so far.

    Args:
        a: Configuration A.
        b: Configuration B.
        pairs: Results of "a" and "b" by pair; incomplete pairs are left out.
        minimize: Whether smaller values are better.
        confidence: Confidence of the decision.
        stopped: Whether Ctrl-C ended the comparison.
        limits: Limits of the study by name.

    Returns:
        The state of the comparison.
    """
    complete = [pair for pair in pairs if len(pair) == 2]
    values = pair_values(pairs, minimize)
    differences, errors = values.differences, values.errors
    sign = -1 if minimize else 1
    test = values.test(confidence)
    measured = differences[np.isfinite(differences)]
    mean = float(measured.mean()) if len(measured) else None
    return Comparison(
        a=a.params,
        b=b.params,
        ahead=ahead(test, minimize),
        probability=probability_b(test, minimize),
        pairs=len(complete),
        wins_a=int((sign * differences < 0).sum()),
        wins_b=int((sign * differences > 0).sum()),
        failures_a=sum(isinstance(pair["a"], Failure) for pair in complete),
        failures_b=sum(isinstance(pair["b"], Failure) for pair in complete),
        difference=(
            Difference(test.estimate, test.lower, test.upper) if len(differences) else None
        ),
        percent=_percent(values, confidence),
        mean_difference=mean,
        depends_on_outliers=mean is not None and values.puts_outside(mean, test),
        more_pairs=(
            pairs_to_decide(differences, confidence, errors=errors) if len(differences) else None
        ),
        confidence=confidence,
        stopped=stopped,
        limits=measured_limits(limits or {}, complete, confidence),
        on_different_workers=sum(  # of those that have named them
            len({run.worker for run in pair.values() if isinstance(run, Measurement)} - {""}) > 1
            for pair in complete
        ),
    )


@dataclass(frozen=True)
class PairValues:
    """Values of A and B in pairs.

    Args:
        values: Values (n, 2), infinite for a failure.
        sems: Standard errors (n, 2) of the values, 0 where they are unknown.
    """

    values: Floats
    sems: Floats

    @property
    def differences(self) -> Floats:
        """B minus A (n,)."""
        return differences_of(self.values)

    @property
    def errors(self) -> Floats:
        """Standard errors (n,) of the differences, 0 where one of the two is unknown."""
        return np.where((self.sems > 0.0).all(-1), np.hypot(*self.sems.T), 0.0)

    @property
    def logarithms(self) -> PairValues | None:
        """The same of logarithms; None unless all values that were measured are positive."""
        finite = np.isfinite(self.values)
        if not finite.any() or (self.values[finite] <= 0).any():
            return None
        logs, sems = self.values.copy(), self.sems.copy()  # failures stay infinite
        logs[finite] = np.log(self.values[finite])
        sems[finite] = self.sems[finite] / self.values[finite]
        return PairValues(logs, sems)

    def puts_outside(self, mean: float, test: PairedTest) -> bool:
        """Whether the mean difference is outside the interval by more than its own rounding."""
        largest = np.abs(self.values[np.isfinite(self.values)]).max(initial=0.0)
        rounding = len(self.values) * float(np.finfo(np.float64).eps * largest)
        return not test.lower - rounding <= mean <= test.upper + rounding

    def test(self, confidence: float) -> PairedTest:
        """The test of B minus A."""
        return paired_test(self.differences, confidence, self.errors)


def pair_values(pairs: Sequence[Mapping[str, Run]], minimize: bool) -> PairValues:
    """Values in the pairs that say which configuration is better.

    A failed run is worse than any other. Incomplete pairs, pairs of two failures, and pairs with a
    failure that is not the configuration's are left out.
    """
    failed = np.inf if minimize else -np.inf

    def value(run: Run) -> tuple[float, float]:
        if isinstance(run, Measurement):
            return run.value, run.sem
        return np.nan if run.blameless else failed, 0.0

    complete = [pair for pair in pairs if len(pair) == 2]
    found = np.array([[value(pair["a"]), value(pair["b"])] for pair in complete])
    values, sems = np.moveaxis(found.reshape(-1, 2, 2), -1, 0)
    kept = ~np.isnan(values).any(-1) & ~np.isinf(values).all(-1)
    return PairValues(values[kept], sems[kept])


@np.errstate(over="ignore", under="ignore")  # whatever the caller has set
def differences_of(values: Floats) -> Floats:
    """B minus A (n,) of values (n, 2); infinite beyond what can be added in float64."""
    differences = values[:, 1] - values[:, 0]
    return np.where(np.abs(differences) * TINY > 1.0, np.copysign(np.inf, differences), differences)


def ahead(test: PairedTest, minimize: bool) -> Letter | None:
    """The configuration with better values by a test of B minus A, None if neither has."""
    better: Letter = "A" if (test.sign > 0) is minimize else "B"
    return better if test.sign else None


def probability_b(test: PairedTest, minimize: bool) -> float:
    """Posterior probability that B is better."""
    positive = test.probability_positive
    return 1 - positive if minimize else positive


def _percent(values: PairValues, confidence: float) -> Difference | None:
    """The change in per cent, from the logarithms of positive values."""
    logs = values.logarithms
    if logs is None:
        return None
    test = logs.test(confidence)
    with np.errstate(over="ignore"):
        low, middle, high = 100 * np.expm1([test.lower, test.estimate, test.upper])
    low, middle = (float(one) if one > -100 else -math.inf for one in (low, middle))
    return Difference(middle, low, float(high))


def _bound(value: float, unit: str = "") -> str:
    return f"{value:+.3g}{unit}" if math.isfinite(value) else "no bound"
