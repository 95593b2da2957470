"""What failed measurements say, and values that failed ones have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from surefoot._internal.tensors import NO_INDICES
from surefoot.beliefs.probability import CERTAIN, LIKELY, Probability

Variables = Sequence[tuple[list[int], Tensor]]

_PRIOR = 0.2  # probability that a value of a variable always fails, shared by all its values
_PSEUDO = (1.0, 2.0)  # failures and measurements in the rate of failures without the value
_LEAST = 1e-3  # that rate: more failures cost no more to explain by chance
_MOST_LOG_ODDS = 20.0  # beyond which the probability is 1 but for rounding


@dataclass(frozen=True, eq=False)
class SharedValue:
    """A value of one variable with which measurements fail.

    Args:
        columns: Coordinates (c,) of the variable.
        value: Coordinates of the value (c,).
        failures: Failures that have it; no success has.
        probability: Probability that it always fails.
    """

    columns: list[int]
    value: Tensor
    failures: int
    probability: float

    @property
    def odds(self) -> float:
        """The odds that it always fails."""
        return self.probability / (1.0 - self.probability)

    def has(self, points: Tensor) -> Tensor:
        """Mask (n,) of points (n, d) with this value."""
        return (points[:, self.columns] == self.value).all(-1)


@dataclass(frozen=True)
class SharedValues:
    """Values of discrete variables with which measurements seem to fail, whatever the others are.

    That one value always fails explains failures that share it at the price of its prior
    probability; otherwise each has happened by chance, at the rate of failures without the value.
    What one value explains is not explained again by another: values that the same failures share
    are rival explanations, one of which is true at most. A point with all of them fails, whichever
    it is.

    Args:
        explanations: Rivals in each; the most probable explanation first.
    """

    explanations: tuple[tuple[SharedValue, ...], ...] = ()

    @classmethod
    def of(cls, variables: Variables, succeeded: Tensor, failed: Tensor) -> SharedValues:
        """The values that failures share.

        Args:
            variables: The discrete variables: columns (c,) of each, and its values (o, c).
            succeeded: Sites (s, d) with successes.
            failed: Inputs (f, d) that have failed.
        """
        explanations: list[tuple[SharedValue, ...]] = []
        while len(failed):
            possible = [
                one
                for columns, values in variables
                for value in failed[:, columns].unique(dim=0)
                if bool((values == value).all(-1).any())  # not of an inactive variable
                if (one := _judged(columns, value, len(values), succeeded, failed)).failures
            ]
            if not possible:
                break
            best = max(possible, key=lambda one: one.odds)
            rivals = [one for one in possible if bool((one.has(failed) & best.has(failed)).any())]
            total = sum(one.odds for one in rivals)
            if total / (1.0 + total) < LIKELY:
                break
            explanations.append(
                tuple(replace(one, probability=one.odds / (1.0 + total)) for one in rivals)
            )
            failed = failed[~best.has(failed)]
        return cls(tuple(explanations))

    @property
    def found(self) -> tuple[SharedValue, ...]:
        """The values that probably always fail, each by itself."""
        every = (one for rivals in self.explanations for one in rivals)
        return tuple(one for one in every if one.probability >= LIKELY)

    def rule_out(self, inputs: Tensor) -> bool:
        """Whether measurements at inputs (n, d) probably fail, on average."""
        return float(self(inputs).mean()) < LIKELY

    def __call__(self, points: Tensor) -> Tensor:
        """Probability (n,) that points (n, d) have none of the values."""
        chance = points.new_ones(len(points))
        for rivals in self.explanations:
            fails = sum(one.probability * one.has(points).to(chance) for one in rivals)
            chance = chance * (1.0 - fails)
        return chance


NOTHING_SHARED = SharedValues()


def _judged(
    columns: list[int], value: Tensor, number: int, succeeded: Tensor, failed: Tensor
) -> SharedValue:
    """One of a number of values of a variable, compared with chance alone."""
    one = SharedValue(columns, value, 0, 0.0)
    here = int(one.has(failed).sum())
    if not here or bool(one.has(succeeded).any()):
        return one
    elsewhere = len(failed) - here
    rate = (elsewhere + _PSEUDO[0]) / (elsewhere + len(succeeded) + _PSEUDO[1])
    log_odds = math.log(_PRIOR / number) - here * math.log(max(rate, _LEAST))
    odds = math.exp(min(log_odds, _MOST_LOG_ODDS))
    return replace(one, failures=here, probability=odds / (1.0 + odds))


@dataclass(frozen=True, eq=False)
class FailureBelief:
    """Where measuring is likely to succeed, and what failures share.

    Args:
        success: How far (n,) the search counts on a success at model inputs (n, d): near 1 where
            few fail, by chance or not, near 0 where all do.
        shared: Values that failed measurements share, and no success has.
        conditions: Values of the environment under which no measurement succeeds: failures there
            say nothing about designs, and what is predicted there is extrapolated.
        unstable: Indices (k,) of the sites whose replicates differ too much.
    """

    success: Probability = CERTAIN
    shared: SharedValues = NOTHING_SHARED
    conditions: SharedValues = NOTHING_SHARED
    unstable: Tensor = NO_INDICES


NO_FAILURES = FailureBelief()
