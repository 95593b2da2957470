"""Pareto front of the measured configurations of a study, with intervals; it loads no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from surefoot._internal import checks
from surefoot._internal.html import as_html, value_text
from surefoot._internal.numbers import OF_95, TINY
from surefoot._internal.pareto import hypervolume, non_dominated
from surefoot._internal.user_warnings import warn
from surefoot.types import InvalidInput

_LEVELS = (0.025, 0.975)  # of a 95 % interval


@dataclass(frozen=True)
class ParetoPoint:
    """A measured configuration with its predicted value of each objective.

    Args:
        trials: Numbers of the trials that measured it.
        params: Values by parameter name.
        values: Predicted values by name of the objective, without noise: the posterior mean of
            the estimand, or the posterior median where values are transformed.
        lower: Lower ends of their 95 % credible intervals.
        upper: Upper ends.
        probability: Probability that no other measured configuration that keeps all constraints
            dominates it.
        feasibility: Probability that all constraints hold, 1 without constraints.
    """

    trials: tuple[int, ...]
    params: dict[str, Any]
    values: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    probability: float
    feasibility: float = 1.0

    @property
    def rows(self) -> dict[str, Any]:
        """Rows of a table about the point, by name."""
        ends = {n: value_text(v, self.lower[n], self.upper[n]) for n, v in self.values.items()}
        chances = {"probability to be optimal": f"{self.probability:.0%}"}
        if self.feasibility < 1.0:
            chances["constraints hold"] = f"{self.feasibility:.0%}"
        return {"configuration": self.params, **ends, **chances}

    def _repr_html_(self) -> str:
        return as_html("Measured configuration", self.rows)


@dataclass(frozen=True, eq=False)
class Front:
    """Measured configurations whose predicted values are not dominated.

    `MultiObjectiveBelief.front` returns it. It is a sequence of points, in order of the first
    objective, the best first.

    Args:
        maximised: Whether each objective is maximised, by name.
        candidates: Measured configurations whose constraints hold with confidence.
        draws: Values (n, k, s) of the objectives of the candidates in functions drawn jointly from
            the posterior of each objective.
        units: Units of the objectives by name, for messages.
    """

    maximised: Mapping[str, bool]
    candidates: Sequence[ParetoPoint]
    draws: np.ndarray
    units: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[ParetoPoint]:
        return (self.candidates[i] for i in self._members)

    def __getitem__(self, index: int) -> ParetoPoint:
        return self.candidates[self._members[index]]

    def __repr__(self) -> str:
        lines = [f"{trial}: {text}" for trial, text in self._lines.items()]
        return "\n".join([f"Front of {', '.join(self.names)}", *lines])

    def _repr_html_(self) -> str:
        return as_html("Pareto front", self._lines)

    @property
    def _lines(self) -> dict[str, str]:
        """Rows of a table about each point, by its trials."""
        return {
            f"trial {', '.join(map(str, one.trials))}": ", ".join(
                f"{name} {text}" for name, text in one.rows.items() if isinstance(text, str)
            )
            for one in self
        }

    @property
    def names(self) -> list[str]:
        """Names of the objectives."""
        return list(self.maximised)

    def knee(self) -> ParetoPoint:
        """The point that compromises between the objectives.

        Of each objective the values of the front are scaled to [0, 1], where 0 is the best; to less
        than that where they differ by less than two posterior standard deviations of such
        differences. The point has the least of its largest coordinate.

        Returns:
            A point of the front.

        References:
            Yu 1973, "A class of solutions for group decision problems": the compromise solution
            under the maximum norm.
        """
        return self._compromise(self._members, range(len(self.maximised)))

    def prefer(self, limits: Mapping[str, float], confidence: float = 0.95) -> ParetoPoint:
        """The best configuration of those that keep limits of some objectives with confidence.

        Args:
            limits: Limits by name of the objective: at most this if it is minimised, at least this
                if it is maximised.
            confidence: Probability with which all limits are to hold.

        Returns:
            The configuration with the best predicted value of the objective without a limit; the
            compromise (`knee`) between them, if there are several, or if all have a limit. If none
            keeps the limits with this confidence, it is the one that is expected to be least beyond
            them, and a warning says so.

        Raises:
            InvalidInput: If there is no such objective, a limit is no finite number, or
                `confidence` is not between 0 and 1.
        """
        checks.probability("confidence", confidence)
        wanted = self._vector("limits", limits)
        excess = self._signed(self.draws.swapaxes(1, 2)) - self._signed(wanted)  # (n, s, k)
        chance = ((excess <= 0.0) | np.isnan(wanted)).all(-1).mean(-1)
        kept = np.flatnonzero(chance >= confidence)
        if not len(kept):
            deviations = self.draws.std(-1).mean(0).clip(TINY)  # units, of all candidates
            expected = np.nanmax(excess / deviations, -1).clip(0.0).mean(-1)
            dominated = ~np.isin(np.arange(len(chance)), self._members)
            nearest = np.lexsort((dominated, expected))[0]
            warn(
                f"no measured configuration keeps {self._limits_text(limits)} with a probability "
                f"of {confidence:g}: the one chosen has {chance[nearest]:.2g}.",
            )
            return self.candidates[nearest]
        free = np.flatnonzero(np.isnan(wanted))
        return self._compromise(kept, free if len(free) else range(len(wanted)))

    def _limits_text(self, limits: Mapping[str, float]) -> str:
        signs = {name: ">=" if maximised else "<=" for name, maximised in self.maximised.items()}
        texts = (f"{name}{signs[name]}{limit:g}" for name, limit in limits.items())
        return ", ".join(
            f"{text} {self.units.get(name, '')}".rstrip()
            for name, text in zip(limits, texts, strict=True)
        )

    def hypervolume(self, reference: Mapping[str, float]) -> tuple[float, float, float]:
        """Hypervolume that the front dominates, without noise.

        Args:
            reference: Reference point: a value of each objective, by name.

        Returns:
            Posterior median, lower and upper end of the 95 % credible interval.

        Raises:
            InvalidInput: If a value of an objective is missing, or no finite number.
        """
        point = self._vector("reference", reference)
        missing = [name for name, one in zip(self.names, point, strict=True) if np.isnan(one)]
        if missing:
            raise InvalidInput(
                f"`reference` is {checks.shown(dict(reference))}, expected a number for each of "
                f"{', '.join(self.names)}: add {', '.join(missing)}."
            )
        drawn = self._signed(np.moveaxis(self.draws[self._members], -1, 0))  # (s, n, k)
        volumes = hypervolume(drawn, self._signed(point))
        lower, upper = np.quantile(volumes, _LEVELS)
        return float(np.median(volumes)), float(lower), float(upper)

    @cached_property
    def _losses(self) -> np.ndarray:
        """Predicted values (n, k) of the candidates, smaller if better."""
        rows = [[one.values[name] for name in self.names] for one in self.candidates]
        return self._signed(np.array(rows))

    @cached_property
    def _members(self) -> list[int]:
        members = np.flatnonzero(non_dominated(self._losses))
        return [int(i) for i in members[np.lexsort(self._losses[members].T[::-1])]]

    def _compromise(self, among: Sequence[int] | np.ndarray, objectives: Any) -> ParetoPoint:
        """The compromise of some candidates between some objectives."""
        losses = self._losses[:, list(objectives)]
        front = losses[among][non_dominated(losses[among])]
        best, extent = front.min(0), np.ptp(front, 0)
        drawn = self.draws[np.asarray(among)][:, list(objectives)]
        resolved = OF_95 * (drawn - drawn.mean(0)).std(-1).mean(0)
        extent = np.maximum(extent, resolved)  # else a tie that is broken by noise decides
        scaled = (losses - best) / np.where(extent > 0.0, extent, 1.0)
        optimal = [one.probability for one in self.candidates]
        return self.candidates[
            min(among, key=lambda i: (scaled[i].max(), scaled[i].sum(), -optimal[i]))
        ]

    def _signed(self, values: np.ndarray) -> np.ndarray:  # (..., k)
        """Losses, which are smaller if better."""
        return values * np.where([*self.maximised.values()], -1.0, 1.0)

    def _vector(self, argument: str, values: object) -> np.ndarray:
        """Numbers (k,) by name of the objective; NaN where there is none."""
        if not isinstance(values, Mapping) or not values or not {*values} <= {*self.names}:
            raise InvalidInput(
                f"`{argument}` is {checks.shown(values)}, expected numbers by name of the "
                f"objective, of {', '.join(self.names)}."
            )
        for name, value in values.items():
            checks.finite(f"{argument}[{name!r}]", value)
        return np.array([float(values.get(name, np.nan)) for name in self.names])
