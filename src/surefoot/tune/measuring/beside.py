"""A configuration measured back to back with a companion, and its value beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.objective import Objective
from surefoot.tune.measuring.unit_scales import scaled
from surefoot.tune.stopping import Stop

CANDIDATE, COMPANION = "a", "b"
_KEYS = {"params": dict, "reference": int | float, "order": str, "known": list}


class Level(NamedTuple):
    """The level at which a companion was measured.

    Args:
        value: The mean of its measurements, the geometric one of a ratio.
        reference: Its value in the study's units.
        is_ratio: Whether values are multiples of it, rather than differences from it.
    """

    value: float
    reference: float
    is_ratio: bool


@dataclass(frozen=True)
class Companion:
    """The companion that a configuration is measured beside.

    Args:
        params: The companion, as values by parameter name.
        reference: Its value in the study's units, to which all values are converted.
        order: What is measured in turn, such as `"ba"`: `CANDIDATE` once, and `COMPANION`.
        known: Its values in place of measurements, where it is not measured again.
    """

    params: dict[str, Any]
    reference: float
    order: str
    known: tuple[float, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values, from which `of` makes it again."""
        return {**vars(self), "known": list(self.known)}

    @classmethod
    def of(cls, given: object) -> Companion | None:
        """The companion of JSON values, None where they are of none."""
        if not isinstance(given, Mapping) or given.keys() != _KEYS.keys():
            return None
        if not all(isinstance(given[key], kind) for key, kind in _KEYS.items()):
            return None
        return cls(**{**given, "known": tuple(given["known"])})

    def scaled(self, size: float) -> Companion:
        """The companion in another unit: its values are multiplied by the size."""
        known = tuple(scaled(one, size) for one in self.known)
        return replace(self, reference=scaled(self.reference, size), known=known)

    def measure(
        self, objective: Objective, params: Mapping[str, Any], stop: Stop
    ) -> Measurement | Failure:
        """Measure a configuration and the companion, in their order.

        Args:
            objective: Measures one of them at a time.
            params: The configuration, as values by parameter name.
            stop: Ends the measurement.

        Returns:
            The measurement of the configuration with those of the companion, in its unit; or the
            first failure, of which that of the companion is not the configuration's fault.
        """
        found: dict[str, list[Measurement]] = {CANDIDATE: [], COMPANION: []}
        seconds = 0.0
        for one in self.order:
            result = objective.measure(params if one == CANDIDATE else self.params, stop)
            seconds += result.seconds
            if isinstance(result, Failure):
                result = replace(result, seconds=seconds)
                return result if one == CANDIDATE else _of_companion(result)
            found[one].append(result)
        (own,) = found[CANDIDATE]
        unit = own.number.unit
        beside = [same for one in found[COMPANION] if (same := one.into(unit)) is not None]
        if len(beside) < len(found[COMPANION]):
            reason = "its companion has another unit, expected one that can be converted"
            return Failure(reason, "", seconds, blameless=True)
        left = next((one.left_behind for one in (own, *beside) if one.left_behind), "")
        return replace(own, seconds=seconds, left_behind=left, beside=tuple(beside))

    def level(self, measured: Sequence[float]) -> Level:
        """Level of the companion in measurements, or in the known ones where there are none."""
        beside = [*measured] or [*self.known]
        if self.reference > 0.0 and min(beside) > 0.0:
            value = math.exp(math.fsum(map(math.log, beside)) / len(beside))
            return Level(value, self.reference, is_ratio=True)
        return Level(math.fsum(beside) / len(beside), self.reference, is_ratio=False)

    def relative(self, result: Measurement) -> Measurement | Failure:
        r"""A measurement as it would be where the companion has its reference value.

        With the value v of the configuration, c of the companion and its reference r this is
        :math:`v\,r / c` where the latter are positive, and :math:`v - c + r` elsewhere: the ratio
        or the difference of the two, in the units of the study.

        Args:
            result: The measurement, in the study's units.

        Returns:
            The measurement with the converted value and its standard error; a failure where the
            companion's value has no finite one.
        """
        level = self.level([one.value for one in result.beside])
        errors, reference = [one.sem for one in result.beside], self.reference
        error = math.hypot(*errors) / max(len(errors), 1) if all(errors) else 0.0
        if level.is_ratio:
            value = result.value / level.value * reference
            shares = result.sem / level.value, abs(value / reference) * error / level.value
            sem = reference * math.hypot(*shares)
        else:
            value = result.value - level.value + reference
            sem = math.hypot(result.sem, error)
        if not (math.isfinite(value) and math.isfinite(sem)):
            reason = (
                f"{result.value:g} beside its companion's {level.value:g} is not a finite number"
            )
            return Failure(reason, "", result.seconds, left_behind=result.left_behind)
        number = replace(result.number, value=value, sem=sem if result.sem else 0.0)
        return result.measuring(number)


def _of_companion(failure: Failure) -> Failure:
    return replace(failure, reason=f"its companion: {failure.reason}", blameless=True)
