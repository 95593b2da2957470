"""`[pairing]`: what the next configuration is measured beside, and whether that pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial, Trial, TrialState

from surefoot.tune.measuring.beside import CANDIDATE, COMPANION, Companion, Level
from surefoot.tune.study.trial_attributes import BESIDE, PAIR, is_interrupted
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyRecommendation
    from surefoot.tune.study.state import StudyState

PAIRED = ("measured", "beside")  # columns of a table of trials
PILOTS = 6  # rounds with two measurements of the companion before pairs are judged
WORTH = 0.75  # correlation of a pair from which on pairs are worth their cost
OFTEN = 4  # rounds from one measurement of the defaults to the next, where pairs are not
ATTEMPTS = 3  # at measuring the defaults, which all pairs are based on
LATEST = 3  # rounds whose companion shows the present level


@dataclass(frozen=True)
class Repeats:
    r"""Measurements of the companion soon after one another, and some rounds apart.

    With noise of variance :math:`s^2` and a level of variance :math:`t^2` that is new in each
    round, the correlation within a round is :math:`\rho = t^2 / (s^2 + t^2)`. A difference within
    a round has the error variance :math:`2 s^2`, and the mean of two measurements in different
    rounds, at the same cost, :math:`(s^2 + t^2) / 2`. The former is less where
    :math:`\rho > 3/4`.

    Args:
        soon: Median distance of two measurements of one round.
        later: Median distance of two in successive rounds.
        is_ratio: Whether these are distances of logarithms.
    """

    soon: float
    later: float
    is_ratio: bool

    @property
    def correlation(self) -> float:
        """Correlation of two measurements of one round."""
        return 1.0 - (self.soon / self.later) ** 2 if self.later > 0.0 else 0.0

    @property
    def favour_pairs(self) -> bool:
        """Whether a pair tells more than two measurements at different times."""
        return self.correlation > WORTH

    def __str__(self) -> str:
        chosen = "pairs" if self.favour_pairs else "single measurements"
        return (
            f"pairing: {chosen} from here on, since two measurements of the defaults differ by "
            f"{self._text(self.soon)} one after the other and by {self._text(self.later)} from "
            "round to round (medians)"
        )

    def _text(self, distance: float) -> str:
        return f"{100.0 * np.expm1(distance):.2g} %" if self.is_ratio else f"{distance:.3g}"

    @classmethod
    def of(cls, rounds: Sequence[Sequence[float]]) -> Repeats | None:
        """The first repeats in rounds (k, n) of measurements of the companion; None if too few."""
        values = np.array([one[:2] for one in rounds if len(one) > 1][:PILOTS])
        if len(values) < PILOTS:
            return None
        is_ratio = bool((values > 0.0).all())
        values = np.log(values) if is_ratio else values
        soon = np.abs(values[:, 0] - values[:, 1])
        later = np.abs(values[1:, :, None] - values[:-1, None, :])
        return cls(float(np.median(soon)), float(np.median(later)), is_ratio)


@dataclass(frozen=True)
class Pairing:
    """The companion of the next configuration.

    Args:
        state: The study.
    """

    state: StudyState

    @property
    def is_on(self) -> bool:
        """Whether the study file asks for a companion."""
        return self._asked != "none"

    @property
    def awaits_reference(self) -> bool:
        """Whether a running trial is to give the value that all others are converted to."""
        running = [one for one in self.state.trials if one.state == TrialState.RUNNING]
        return self.is_on and any(map(self._gives_reference, running)) and self.reference is None

    @cached_property
    def reference(self) -> float | None:
        """The first measurement, on which the companion's values are based; None before it."""
        done = (one for one in self.state.trials if one.state == TrialState.COMPLETE)
        return next((one.value for one in done if self._gives_reference(one)), None)

    def _gives_reference(self, trial: FrozenTrial) -> bool:
        """Whether others may be based on the value of a trial."""
        is_companion = trial.params == self.state.study_file.defaults
        return companion_of(trial) is None and (self._asked == "incumbent" or is_companion)

    @property
    def awaits_defaults(self) -> bool:
        """Whether the defaults failed and are tried again, before anything is based on them.

        After some failures only now and then, as somebody may have mended what they failed of.
        """
        failed = self._failed_defaults
        if not self._lacks_defaults or len(failed) < ATTEMPTS:
            return self._lacks_defaults
        return self.state.trials[-1].number - failed[-1].number >= OFTEN

    @property
    def note(self) -> str:
        """Why pairs are measured, or are not; empty where the study file alone says it."""
        if self._lacks_defaults and len(self._failed_defaults) >= ATTEMPTS:
            return (
                f"pairing: off, since the defaults failed in {len(self._failed_defaults)} trials, "
                "so that each configuration is measured alone until they succeed"
            )
        return "" if self.repeats is None else str(self.repeats)

    @property
    def _lacks_defaults(self) -> bool:
        return self._asked in ("defaults", "auto") and self.reference is None

    @cached_property
    def _failed_defaults(self) -> list[FrozenTrial]:
        defaults = self.state.study_file.defaults
        failed = (one for one in self.state.trials if one.state == TrialState.FAIL)
        return [one for one in failed if one.params == defaults and not is_interrupted(one)]

    @cached_property
    def repeats(self) -> Repeats | None:
        """Repeats of the companion that decide; None while there are too few, or none are needed.

        They follow from the first such rounds, so that the decision stays the same.
        """
        beside = [measured for _, measured in self._rounds]
        return Repeats.of(beside) if self._asked == "auto" else None

    @property
    def default_value(self) -> float | None:
        """Value of the defaults where each round measures them; None in any other study."""
        beside_all = self._asked in ("defaults", "auto") and not self.chose_singles
        return self.reference if beside_all else None

    @property
    def chose_singles(self) -> bool:
        """Whether pairs were found not to be worth their cost.

        The defaults are then measured every `OFTEN` rounds, which tells a drift.
        """
        return self.repeats is not None and not self.repeats.favour_pairs

    def at_present(self, value: float) -> float | None:
        """A predicted value at the level of the machine in the latest rounds; None before any.

        Where pairs were not worth their cost, the model itself predicts for the latest trial, in
        units of what was known of the companion.
        """
        latest = self._single_levels if self.chose_singles else self._levels[-LATEST:]
        if not latest:
            return None
        if all(one.is_ratio for one in latest):
            return value * float(np.median([one.value / one.reference for one in latest]))
        return value + float(np.median([one.value - one.reference for one in latest]))

    def known(self, prediction: StudyRecommendation) -> StudyRecommendation:
        """A prediction, which is certain of the defaults where all values are based on theirs."""
        value = self.default_value
        if value is None or prediction.params != self.state.study_file.defaults:
            return prediction
        return replace(prediction, value=value, lower=value, upper=value)

    def presently(self, prediction: StudyRecommendation) -> StudyRecommendation | None:
        """A prediction at the level of the machine in the latest rounds; None before any."""
        value, lower, upper = (
            self.at_present(one) for one in (prediction.value, prediction.lower, prediction.upper)
        )
        if value is None or lower is None or upper is None:
            return None
        return replace(prediction, value=value, lower=lower, upper=upper)

    def companion(self) -> Companion | None:
        """Companion of the next configuration, None where it is measured alone."""
        if not self.is_on or self.reference is None:
            return None
        params, reference = self._params_and_reference()
        seed = [self.state.study_file.study.seed, len(self.state.trials)]
        is_first = bool(np.random.default_rng(seed).integers(2))
        order = CANDIDATE + COMPANION
        if self._asked == "auto" and self.repeats is None:
            order += COMPANION
        elif self.chose_singles:
            known = tuple(value for _, measured in self._rounds for value in measured)
            return Companion(params, reference, CANDIDATE, known)
        return Companion(params, reference, order[::-1] if is_first else order)

    def _params_and_reference(self) -> tuple[dict[str, Any], float]:
        """The companion and the value that it stands for."""
        defaults = self.state.study_file.defaults
        if self._asked == "incumbent":
            try:
                best = self.state.recommendation
            except NotReady:
                pass
            else:
                return best.params, best.value
        assert defaults is not None
        assert self.reference is not None
        return defaults, self.reference

    @property
    def _asked(self) -> str:
        return self.state.study_file.scheme.companion

    @cached_property
    def _levels(self) -> list[Level]:
        """The level in each round that was measured beside a companion."""
        rounds = ((companion_of(trial), measured) for trial, measured in self._rounds)
        return [companion.level(measured) for companion, measured in rounds if companion]

    @property
    def _single_levels(self) -> list[Level]:
        """The level that the latest trial was converted from, where pairs are not measured."""
        known = (companion_of(trial) for trial in reversed(self.state.trials))
        return [one.level([]) for one in known if one is not None and one.known][:1]

    @cached_property
    def _rounds(self) -> list[tuple[FrozenTrial, list[float]]]:
        """The trials that were measured beside a companion, and its measurements."""
        pairs = [(one, one.user_attrs.get(PAIR)) for one in self.state.trials]
        found = [(one, pair.get("companion")) for one, pair in pairs if isinstance(pair, dict)]
        return [(one, beside) for one, beside in found if isinstance(beside, list) and beside]


def companion_of(trial: FrozenTrial | Trial) -> Companion | None:
    """Companion of a trial, None where it is measured alone."""
    return Companion.of(trial.user_attrs.get(BESIDE))


def measured_in_pair(trial: FrozenTrial) -> dict[str, float | None]:
    """Value of a trial and mean of its companion; of both None where there is none."""
    if trial.state != TrialState.COMPLETE:
        return dict.fromkeys(PAIRED)
    pair, companion = trial.user_attrs.get(PAIR), companion_of(trial)
    if not isinstance(pair, dict) or companion is None:
        return dict(zip(PAIRED, (trial.value, None), strict=True))
    beside = companion.level(pair["companion"]).value if pair["companion"] else None
    return dict(zip(PAIRED, (pair["value"], beside), strict=True))


def pair_text(trial: FrozenTrial) -> str:
    """The measurements of a trial and its companion as they came, in words; empty without one."""
    pair, companion = trial.user_attrs.get(PAIR), companion_of(trial)
    if not isinstance(pair, dict) or companion is None or trial.value is None:
        return ""
    beside = " and ".join(f"{one:.5g}" for one in pair["companion"])
    change = change_text(trial.value, companion.reference)
    return f"{pair['value']:.5g} beside {beside}, {change}" if beside else ""


def change_text(value: float, reference: float) -> str:
    """A value against a reference: in per cent where both are positive."""
    if value > 0.0 and reference > 0.0 and value / reference < 10.0:
        return f"{100.0 * (value / reference - 1.0):+.3g} %"
    return f"{value - reference:+.3g}"
