"""History of the objective: pulls, rewards, and its belief kept up to date."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.beliefs.outcome import Inferred, OutcomeBelief
from surefoot.estimators import LeastSquares
from surefoot.hyperparameters import Fitted
from surefoot.models.model import Model, Regressor
from surefoot.optimizer.serialization import OUTSIDE, Decoder, is_whole
from surefoot.regression.noise import NoKnownNoise
from surefoot.regression.observations import Observations, Pull, key_of
from surefoot.regression.posterior import Posterior
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, InvalidInput, Measurement, NotReady

_NO_REWARDS = "there are no rewards yet: call `ask` and `tell` first."


@dataclass(eq=False)
class Outstanding:
    """Pulls that the posterior does not know of.

    Args:
        point: The point (d,) in the coordinates of the model.
        arm: Its index, on arms.
        count: How many pulls.
        missing: How many of them have no reward yet.
    """

    point: Tensor
    arm: int | None
    count: int
    missing: int


@dataclass(frozen=True, eq=False)
class _Look:
    """Belief from all rewards, as the next choice will find it.

    Args:
        regressor: The regressor after the estimate.
        generator: Source of its random choices, a copy.
        belief: The belief.
    """

    regressor: Regressor
    generator: torch.Generator
    belief: OutcomeBelief


@dataclass(eq=False)
class History:
    """Keeps the belief of the objective up to date as points are chosen and rewards arrive.

    `pull` says that a point was chosen, `observe` that a reward came from it, `release` that none
    will. The estimate is made when the next point is chosen; one that is looked at before does not
    change the run. A regression that works in batches keeps it until its features are due.

    Args:
        model: Parts of the model.
        generator: Source of all random choices.
        observations: The rewards.
        initial: Size of the initial design, during which fits are rare.
    """

    model: Model = field(metadata={"saved": False})
    generator: torch.Generator = field(metadata={"saved": False})
    observations: Observations
    initial: int = field(default=0, metadata={"saved": False})
    regressor: Regressor = field(init=False)
    fitted_at: int = 0  # number of rewards that hyperparameters are due to be fitted to
    in_use: int = 0  # and of those in use
    outstanding: list[Outstanding] = field(default_factory=list)
    inferred: Inferred | None = None  # before the first reward
    _missing: dict[int | bytes, list[Outstanding]] = field(  # those with missing rewards
        default_factory=dict, metadata={"saved": False}
    )
    _selection: Posterior | None = None
    _selected: int = 0  # outstanding pulls in it
    _latest: OutcomeBelief | None = field(default=None, metadata={"saved": False})
    _belief: OutcomeBelief | None = field(default=None, metadata={"saved": False})
    _look: _Look | None = field(default=None, metadata={"saved": False})

    def __post_init__(self) -> None:
        self.regressor = self.model.regressor(
            self.model.fit(self.observations), self.observations, self.generator
        )
        self._check_width()

    @property
    def fitted(self) -> Fitted:
        """The hyperparameters in use."""
        return self.regressor.fitted

    def pull(self, point: Tensor, arm: int | None, count: int = 1) -> None:
        """A point was chosen, to be measured so many times."""
        one = Outstanding(point, arm, count, count)
        self.outstanding.append(one)
        self._missing.setdefault(key_of(point, arm), []).append(one)
        if self._is_batched:
            self._count(Pull(point, arm, count))

    def observe(self, location: Location, measured: Measurement, *, more: bool = False) -> None:
        """A reward came from a location, chosen before or not, and `more` told with it follow."""
        point, arm = location.point, location.arm
        if key_of(point, arm) not in self._missing:
            self.pull(point, arm)
        self.append(self.observations, location, measured)
        self.regressor.take(self.observations)
        if self._is_batched:
            self._settle(point, arm)
        else:
            self._take_back(point, arm)
            self.regressor.count(Pull(point, arm, 1, more))

    def append(self, observations: Observations, location: Location, measured: Measurement) -> None:
        """Append the reward of a measurement, with the known part of its noise."""
        known, error = self.model.hyperparameters.known_noise, measured.sem
        if not isinstance(known, NoKnownNoise):
            variance = float(known.variances(location.point.unsqueeze(0)))
            variance = checks.non_negative("the known variance of the noise", variance)
            error = math.hypot(error, variance**0.5)
        observations.append(
            location.point,
            measured.values[OBJECTIVE],
            location.arm,
            error,
            measured.worker,  # type: ignore[arg-type]
            measured.time,
        )

    def release(self, point: Tensor, arm: int | None, count: int = 1) -> None:
        """So many rewards will not come from a point that was chosen."""
        for _ in range(count):
            self._take_back(point, arm)
        if self._is_batched:
            self._count(Pull(point, arm, -count))

    def settle(self) -> None:
        """Decide which rewards hyperparameters are fitted to, after those told together."""
        if self._is_batched:
            if self.inferred is None and len(self.observations):
                self._renew()
        else:
            self.fitted_at = latest_fit(self._next_due, len(self.observations), self.fitted_at)

    def selection(self) -> Posterior:
        """The posterior that the next point is chosen by: outstanding pulls lower its variance."""
        if self.regressor.regression.is_due or self._is_stale:
            self._renew()
        posterior = self.latest.posterior if self._selection is None else self._selection
        new = self.outstanding[self._selected :]
        if new:
            posterior = posterior.updated([Pull(one.point, one.arm, one.count) for one in new])
            self._selected = len(self.outstanding)
        self._selection = posterior
        return posterior

    @property
    def latest(self) -> OutcomeBelief:
        """The belief from all rewards; within a batch, from those before it.

        Raises:
            NotReady: Before the first reward.
        """
        if not len(self.observations):
            raise NotReady(_NO_REWARDS)
        if not self._is_stale:
            return self._latest  # type: ignore[return-value]
        if self._look is None or len(self._look.belief.observations) != len(self.observations):
            own = self.generator.clone_state()
            regressor = replace(self._due_regressor(own))  # whose state is its own
            self._look = _Look(regressor, own, regressor.infer(self.observations))
        return self._look.belief

    @property
    def width(self) -> float:
        """Multiplier of the standard deviation in the next bounds."""
        return self.latest.width if len(self.observations) else self.regressor.width_at_start()

    def belief(self) -> OutcomeBelief:
        """The belief from all rewards so far, under hyperparameters and features of all of them.

        Fits are rare while the initial design is measured, since nothing is chosen by them, and a
        batched dictionary is redrawn when a point is chosen. The belief does not depend on when
        the last fit or draw was, and the run goes on as if it had not been asked for.
        """
        number = len(self.observations)
        if self._belief is None or len(self._belief.observations) != number:
            self._belief = self._current()
        return self._belief

    def belief_with(self, observations: Observations) -> OutcomeBelief:
        """The belief from these observations and further ones, as if those had been told."""
        number = len(observations)
        if not number:
            raise NotReady(_NO_REWARDS)
        latest = latest_fit(self._next_due, number, self.fitted_at)
        rare = self._is_batched or self._is_in_design(number, latest)
        fitted = self.model.fit(observations.first(number if rare else latest))
        return self.model.belief(observations, fitted, self.generator)

    def _is_in_design(self, number: int, fitted_at: int) -> bool:
        """Whether fits to so many rewards are as rare as in the initial design."""
        return not self.model.hyperparameters.lasting and fitted_at < min(number, self.initial)

    def _current(self) -> OutcomeBelief:
        observations = self.observations
        rule, number = self.model.hyperparameters, len(observations)
        if self._is_in_design(number, self.fitted_at):
            return self.belief_with(observations)
        latest = self.latest
        if self._is_batched and number >= 2 * latest.inferred.number:
            return self.regressor.redrawn(observations, self.generator.clone_state()).infer(
                observations
            )
        if not self._is_batched or len(latest.observations) == number:
            return latest
        due = number >= rule.next_due(self.fitted_at)
        return self.regressor.current(
            observations, self.model.fit(self.observations) if due else self.fitted
        )

    def _check_width(self) -> None:
        """`InvalidInput` unless the width is a function of `Progress` with values of at least 0."""
        given = self.model.width
        try:
            width = self.regressor.width_at_start()
        except Exception as error:
            raise InvalidInput(
                f"`width` is {checks.shown(given)}, which cannot be called with a `Progress`: "
                f"{type(error).__name__}, {error}."
            ) from error
        checks.non_negative("what `width` gives", width)
        estimator = self.model.estimator
        if self.model.band_rules and not isinstance(estimator, LeastSquares):
            raise InvalidInput(
                f"`width` is {given!r}, whose bounds are those of least squares, and `estimator` "
                f"is {checks.shown(estimator)}: pass `LeastSquares()`, or another width."
            )

    def restore(self, values: Any, decoder: Decoder) -> None:
        """Go on from a saved history of the same parts."""
        fields = values["fields"]
        saved = fields["regressor"]["fields"]
        fitted = copy.copy(self.fitted)
        if self.model.hyperparameters.lasting:  # the kernel is a part that is here
            saved["fitted"]["fields"]["kernel"] = OUTSIDE
        decoder.fill(fitted, saved["fitted"])
        decoder.fill(self.observations, fields["observations"])
        self.regressor = self._regressor(fitted, self.generator)
        decoder.fill(self.regressor.regression, saved["regression"])
        shifted = saved["shifted"]["fields"]
        others = self.regressor.shifted.of(self.regressor.regression, shifted["version"])
        for other, values in zip(others, shifted["regressions"]["tuple"], strict=True):
            decoder.fill(other, values)
        self.regressor.state = (
            decoder.decode(saved["state"])
            if is_whole(saved["state"])
            else self.regressor.replayed(self.observations)
        )
        for name in ("fitted_at", "in_use", "outstanding", "inferred", "_selection", "_selected"):
            setattr(self, name, decoder.decode(fields[name]))
        for one in self.outstanding:
            if one.missing:
                self._missing.setdefault(key_of(one.point, one.arm), []).append(one)
        if self.inferred is not None and not self._is_behind:
            self._attach(self.inferred)

    def _attach(self, inferred: Inferred) -> None:
        """Derive what is not in a file: feature maps, and posteriors that follow from them."""
        seen = self.observations.first(inferred.number)
        self._latest = self.regressor.restored(seen, inferred)
        if self._selection is inferred.posterior or self._selection is None:
            self._selection, self._selected = None, 0
        else:
            kept = replace(inferred, posterior=self._selection)
            self._selection = self.regressor.restored(seen, kept).posterior
        self.inferred = self._latest.inferred

    @property
    def _is_behind(self) -> bool:
        """Whether the estimate is not from all rewards, and is not to stay for a batch."""
        known = 0 if self.inferred is None else self.inferred.number
        return not self._is_batched and known != len(self.observations)

    @property
    def _is_stale(self) -> bool:
        return self._latest is None or self._is_behind

    def _renew(self) -> None:
        """Fit, redraw and estimate from all rewards, as far as each is due."""
        look = self._look
        if self._is_batched:
            if len(self.observations) >= self._next_due(self.fitted_at):
                self.fitted_at = len(self.observations)
            due = self._due_regressor(self.generator)
            self.regressor = due.redrawn(self.observations, self.generator)
            for one in self.outstanding:
                one.count = one.missing
            self.outstanding = [one for one in self.outstanding if one.missing]
            self._latest = self.regressor.infer(self.observations)
        elif look is not None and self._is_due(look):
            self.regressor, self._latest = look.regressor, look.belief
        else:
            self.regressor = self._due_regressor(self.generator)
            self._latest = self.regressor.infer(self.observations)
        self.in_use = self.fitted_at
        self._look = self._belief = None
        self.inferred = self._latest.inferred
        self._selection, self._selected = None, 0

    def _is_due(self, look: _Look) -> bool:
        """Whether a look was at the estimate that is due, and drew nothing at random."""
        if len(look.belief.observations) != len(self.observations):
            return False
        return torch.equal(look.generator.get_state(), self.generator.get_state())

    def _next_due(self, before: int) -> float:
        """Number of rewards of the next fit: fits are rare in the initial design."""
        rule = self.model.hyperparameters
        if not rule.lasting and before < self.initial:
            return max(before + 1, min(2 * before, self.initial))
        return rule.next_due(before)

    def _due_regressor(self, generator: torch.Generator) -> Regressor:
        """The regressor under the hyperparameters that are due."""
        if self.in_use == self.fitted_at:
            return self.regressor
        return self._regressor(self.model.fit(self.observations.first(self.fitted_at)), generator)

    def _regressor(self, fitted: Fitted, generator: torch.Generator) -> Regressor:
        """The regressor under other hyperparameters, begun anew where the kernel is another."""
        if self.fitted.kernel is fitted.kernel:
            return replace(self.regressor, fitted=fitted)
        return self.model.regressor(fitted, self.observations, generator)

    @property
    def _is_batched(self) -> bool:
        return self.regressor.regression.batched

    def _count(self, pull: Pull) -> None:
        """Count pulls in a batch, whose next dictionary is drawn from those without rewards too."""
        self.regressor.count(pull)
        self._belief = None

    def _settle(self, point: Tensor, arm: int | None) -> Outstanding:
        """One reward of the first pulls of a point is no longer missing."""
        key = key_of(point, arm)
        one = self._missing[key][0]
        one.missing -= 1
        if one.missing == 0:
            del self._missing[key][0]
            if not self._missing[key]:
                del self._missing[key]
        return one

    def _take_back(self, point: Tensor, arm: int | None) -> None:
        """One pull without a reward is no longer outstanding."""
        one = self._settle(point, arm)
        one.count -= 1
        if one.count == 0:
            self.outstanding.remove(one)
        self._selection, self._selected = None, 0


_LEFT_OUT = 0.1  # of the rewards, by a first fit at most


def latest_fit(next_due: Callable[[int], float], number: int, before: int = 0) -> int:
    """Number of the rewards of the latest fit, as if they had been told one by one.

    So what follows from the same rewards is the same, however they were told. But a first fit to
    many rewards is to all of them where that would leave out more than 10 %, as with fits that are
    rarer than by default.

    Args:
        next_due: Number of rewards at which the next fit is due, given that at the last one.
        number: Number of rewards.
        before: Number at a fit before, 0 if there was none.

    Example:
        >>> latest_fit(lambda before: before + 1 + before // 100, 107)
        106
        >>> latest_fit(lambda before: before + 50, 70)
        70
    """
    latest = before
    while (due := next_due(latest)) <= number:
        latest = int(due)
    return number if before == 0 and number - latest > _LEFT_OUT * number else latest
