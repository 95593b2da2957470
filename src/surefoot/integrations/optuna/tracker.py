"""Synchronisation of an optimizer with the trials of an Optuna study."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS, SAMPLES
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.attributes import ENVIRONMENT
from surefoot.integrations.optuna.choosable import Part, choosable, rounded
from surefoot.integrations.optuna.common_space import Ranges, configuration_distributions
from surefoot.integrations.optuna.environment import StudyEnvironment
from surefoot.integrations.optuna.objectives import penalty_of
from surefoot.integrations.optuna.reservation import MOVES, read_reservation
from surefoot.integrations.optuna.search_space import ExhaustedSpace
from surefoot.integrations.optuna.trial_reader import Place, Reading, TrialReader, key_of
from surefoot.parameters import Space
from surefoot.parameters.encoding import Encoding
from surefoot.parameters.parameter import shared_name
from surefoot.regression.transforms import Affine, Chain, Log
from surefoot.spaces import Box, Joint
from surefoot.spaces.representatives import LISTED, every_point
from surefoot.types import InvalidInput, Query

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.beliefs import Belief
    from surefoot.optimizer import Optimizer


def alternatives(
    encoding: Encoding, box: Box, point: Tensor, taken: list[Tensor], generator: torch.Generator
) -> Tensor:
    """Points (n, d) that are none of those taken, from all that can be chosen and around a point.

    Args:
        encoding: Encoding of the search space.
        box: The part of the encoded space that can be chosen.
        point: The point (d,) that is to be replaced.
        taken: Points (d,) that are being measured, rounded to what can be measured.
        generator: Source of all randomness.

    Returns:
        All points of a small finite space that are not taken, otherwise random ones; none (0, d)
        if every point is taken.
    """
    candidates = every_point(box, LISTED)
    if candidates is None:
        number = LISTED // 4
        drawn = box.sample(number, generator)
        reach = torch.logspace(-0.5, -2.0, number)[:, None]
        noise = torch.randn(len(reach), box.dimension, dtype=torch.float64, generator=generator)
        candidates = torch.cat([drawn, box.snap(point + reach * noise)])
    free = [
        one
        for one in candidates
        if not any(map(partial(torch.equal, rounded(encoding, one)), taken))
        and not any(box.alike(one, other) for other in taken)
    ]
    return torch.stack(free) if free else candidates[:0]


@dataclass(frozen=True)
class _Pending:
    """A pending query of the optimizer, and what is measured for it after rounding."""

    query: Query
    place: Place


@dataclass(frozen=True, eq=False)
class TrackedBelief:
    """Belief from the trials of a study.

    Args:
        belief: The belief, in the units of the study.
        numbers: Numbers of the trials whose values it follows from, in their order.
        configuration: Function that returns the configuration of a point (d,).
    """

    belief: Belief
    numbers: list[int]
    configuration: Callable[[Tensor], dict[str, Any]]


@dataclass(eq=False)
class _Measured:
    """What the trials that were read have measured.

    Args:
        encoding: Encoding of the search space.
        is_alone: Whether there is no environment.
        places: Where they measured.
        values: Their values, by their points.
        pruned: Points of pruned trials, all of whose varying parameters are in the model.
        has_others: Whether one has a varying parameter that the model has not.
        is_exhausted: Whether it was said that no configuration is left.
    """

    encoding: Encoding
    is_alone: bool
    places: list[Place] = field(default_factory=list)
    values: dict[bytes, list[tuple[float, ...]]] = field(default_factory=dict)
    pruned: set[bytes] = field(default_factory=set)
    has_others: bool = False
    is_exhausted: bool = False

    def add(self, one: Reading) -> None:
        """Add a trial that was read."""
        known = {*map(shared_name, self.encoding.parameters)}
        others = [d for name, d in one.trial.distributions.items() if name not in known]
        has_other = not all(distribution.single() for distribution in others)
        self.has_others |= has_other
        if one.has_value and one.trial.state == TrialState.COMPLETE:
            for key in one.configuration:
                self.values.setdefault(key, []).append(tuple(one.trial.values))
        if one.trial.state == TrialState.PRUNED and self.is_alone and not has_other:
            self.pruned |= {place.key for place in one.places}
        self.places += one.places

    def spent(self) -> list[Place]:
        """Where another trial says nothing new.

        That is where one was pruned and none completed, as it would be again; without noise it is
        wherever one was, while a small space has other configurations.
        """
        if self._left() and self._is_noiseless:
            return self.places
        spent = self.pruned - self.values.keys()
        return [place for place in self.places if place.key in spent]

    def _left(self) -> set[bytes]:
        """Configurations of a small space that were not tried; says once that none is left.

        None where trials have further parameters: the same point is no repeated configuration.
        """
        if self.has_others:
            return set()
        left = self._every - self.values.keys() - self.pruned
        if self._every and not left and not self.is_exhausted:
            self.is_exhausted = True
            again = (
                " and tells nothing new. Stop the study, or extend its space"
                if self._is_noiseless
                else ", for a narrower interval"
            )
            warn(
                f"all {len(self._every)} configurations of the search space have been measured: "
                f"every further trial repeats one{again}.",
                ExhaustedSpace,
            )
        return left

    @cached_property
    def _every(self) -> set[bytes]:
        """All configurations of a small space without an environment, none of any other."""
        points = every_point(self.encoding.box, LISTED)
        listed = [] if points is None or not self.is_alone else [*points]
        return {key_of(rounded(self.encoding, point)) for point in listed}

    @property
    def _is_noiseless(self) -> bool:
        """Whether configurations that were measured several times had the same value each time."""
        several = [len({*values}) for values in self.values.values() if len(values) > 1]
        return bool(several) and max(several) == 1


class StudyTracker:
    """Keeps an optimizer up to date with a study; each trial is read once.

    Args:
        study: The study; only a weak reference is kept.
        encoding: Encoding of its search space.
        optimizer: Optimizer on the encoded space, without observations.
        signs: Of each objective 1 to maximise it, -1 to minimise it; with several of them, all but
            the first are outcomes of the optimizer.
        environment: Random environment of the study, if any.
        device: torch device of the optimizer.
        log: Whether the optimizer is told the logarithms of the values.
    """

    def __init__(
        self,
        study: Study,
        encoding: Encoding,
        optimizer: Optimizer,
        signs: Sequence[float],
        environment: StudyEnvironment | None = None,
        device: str | torch.device = "cpu",
        log: bool = False,
    ) -> None:
        self._sign = signs[0]
        self._penalty = penalty_of(study.get_trials(deepcopy=False), self._sign)
        self._reader = TrialReader(encoding, optimizer, signs, environment, log, self._penalty)
        if not math.isnan(self._penalty):
            warn(
                f"several configurations of study {study.study_name!r} gave exactly "
                f"{self._penalty:g}, far worse than all others: they count as failed. Raise an "
                "exception, or `optuna.TrialPruned`, in place of returning a constant."
            )
        self._units = Chain((*((Log(),) if log else ()), Affine(scale=signs[0])))
        self.study_name = study.study_name
        self._study: weakref.ref[Study] | None = weakref.ref(study)
        self.encoding = encoding
        self.optimizer = optimizer
        self._device = device
        self.environment = environment
        self.numbers: list[int] = []  # of the trials whose values were told to the optimizer
        self._configurations: dict[bytes, dict[str, Any]] = {}  # of the values, by their points
        self._read_below = 0
        self._read: set[int] = set()  # numbers of read trials from `_read_below` on
        self._unread: dict[int, Reading] = {}  # finished trials that a belief followed from
        self._pending: dict[int, _Pending] = {}
        self._contents: dict[int, tuple[Any, ...]] = {}  # of the trials that were read
        self._measured = _Measured(encoding, environment is None)

    def matches(self, study: Study, space: Space, trials: Sequence[FrozenTrial]) -> bool:
        """Whether this tracks that study on that search space, under its conditions.

        It does not once a trial that it has read was discarded, or where its trials have another
        value by now that stands for a failure.
        """
        same = (
            self.encoding.space == space and self.is_of(study, trials) and self.agrees_with(trials)
        )
        return same and repr(penalty_of(trials, self._sign)) == repr(self._penalty)

    def agrees_with(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether no trial that was read was discarded since."""
        unread = {number: one.trial.state for number, one in self._unread.items()}
        known = {number: one[0] for number, one in self._contents.items()} | unread
        return all(trials[number].state == state for number, state in known.items())

    def is_of(self, study: Study, trials: Sequence[FrozenTrial]) -> bool:
        """Whether this tracks that study; loaded anew it is recognised by what was read of it."""
        if self._study is not None and self._study() is study:
            return True
        known = (
            self.study_name == study.study_name
            and len(trials) > max([*self._contents, *self._unread], default=-1)
            and all(_content(trials[number]) == one for number, one in self._contents.items())
        )
        if known:
            self._study = weakref.ref(study)
        return known

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_study": None}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Tell the optimizer about finished trials, and register running ones as pending.

        Args:
            trials: All trials of the study, in order.
        """
        fresh = self._fresh(trials)
        readings = self._readings(fresh)
        for one in readings:
            self._read.add(one.trial.number)
            self._contents[one.trial.number] = _content(one.trial)
            del self._unread[one.trial.number]
            self._release(one.trial.number)
            if one.has_value:
                self.numbers += one.numbers
                self._configurations |= one.configuration
            self._measured.add(one)
        while self._read_below in self._read:
            self._read.remove(self._read_below)
            self._read_below += 1
        self.read_running(t for t in fresh if t.state == TrialState.RUNNING)
        self.optimizer.record(
            [measured for one in readings for measured in one.measurements], undeclared=True
        )

    def belief(self, trials: Sequence[FrozenTrial]) -> TrackedBelief:
        """Belief from all finished trials, read or not; the run goes on as if it was not formed.

        Args:
            trials: All trials of the study, in order.

        Raises:
            NotReady: If no trial has a value that can be modelled.
        """
        readings = self._readings(self._fresh(trials))
        more = [measured for one in readings for measured in one.measurements]
        known, numbers = dict(self._configurations), list(self.numbers)
        for one in readings:
            if one.has_value:
                numbers += one.numbers
                known |= one.configuration
        belief = self.optimizer.belief(more, undeclared=True).of(units=self._units)
        return TrackedBelief(belief, numbers, partial(self._configuration, known))

    def _readings(self, trials: Sequence[FrozenTrial]) -> list[Reading]:
        """Finished trials as the optimizer is told about them; the run stays as it is."""
        finished = [t for t in trials if t.state.is_finished()]
        for trial in finished:
            self._reader.see(trial)
            if trial.number not in self._unread:
                self._unread[trial.number] = self._reader.read(trial)
        self._reader.warn_of_outside()
        return [self._unread[trial.number] for trial in finished]

    def read_running(self, trials: Iterable[FrozenTrial]) -> None:
        """Register running trials as pending, those of other workers by their reservations.

        Args:
            trials: Running trials of the study.
        """
        for trial in trials:
            known, place = self._pending.get(trial.number), self._place_of_running(trial)
            if place is None or (known is not None and known.place.is_near(place)):
                continue
            self._release(trial.number)
            z = self._reader.environment_of(trial) if place.z is None else place.z
            self._pending[trial.number] = _Pending(self.optimizer.expect(place.point, z), place)

    def part(self, given: Mapping[str, Any], ranges: Ranges) -> Part:
        """What can be chosen.

        Args:
            given: Values by parameter name that are known before the choice.
            ranges: Distributions by parameter name, of which the values are to be.

        Returns:
            The part of the search space.

        Raises:
            InvalidInput: If no configuration with these values satisfies the rules.
        """
        return Part(choosable(self.encoding, given, ranges), given, ranges)

    def propose(self, number: int, part: Part) -> dict[str, Any]:
        """Choose a configuration, pending under the number of its trial.

        It is not one that another trial is known to measure at the same time, or that was pruned,
        unless every configuration that can be chosen is.

        Args:
            number: Number of the trial.
            part: What can be chosen.

        Returns:
            Values by parameter name.
        """
        self._release(number)
        proposal = self._ask(part)
        spent = any(proposal.place.is_near(one) for one in self._measured.spent())
        if spent or self._is_taken(proposal.place, number):
            proposal = self._pending_of(self._ask_elsewhere(proposal.query, part, number))
        return self._register(number, proposal, part)

    def propose_elsewhere(self, number: int, part: Part, attempt: int) -> dict[str, Any]:
        """Choose a configuration again, since another worker has chosen the same meanwhile.

        Both move, each to one of a random half of the alternatives, so that they part.

        Args:
            number: Number of the trial.
            part: What can be chosen.
            attempt: How often it has moved before.

        Returns:
            Values by parameter name.
        """
        moved = self._ask_elsewhere(self._pending.pop(number).query, part, number, 1 + attempt)
        return self._register(number, self._pending_of(moved), part)

    def configuration(self, point: Tensor) -> dict[str, Any]:
        """The configuration of a point (d,): for a measured one exactly the one measured."""
        return self._configuration(self._configurations, point)

    def _configuration(
        self, measured: Mapping[bytes, dict[str, Any]], point: Tensor
    ) -> dict[str, Any]:
        at = point.detach().cpu().numpy()
        known = measured.get(at.tobytes())
        if known is None and measured:  # 3.0 and 3.0000000000000004 are one configuration
            off = np.abs(np.frombuffer(b"".join(measured)).reshape(len(measured), -1) - at).max(-1)
            if off.min() <= LAST_DIGITS:
                known = [*measured.values()][int(off.argmin())]
        if known is None:
            return self.encoding.decode(point)
        return {name: known[name] for name in self.distributions if name in known}

    def has_chosen(self, number: int, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a value of a parameter was chosen for a trial with some values, or could be."""
        return number in self._pending and name in map(
            shared_name, self.encoding.space.active(params)
        )

    def is_shared(self, number: int) -> bool:
        """Whether another running trial measures the same as one of this worker."""
        return self._is_taken(self._pending[number].place, number)

    def reserved_environment(self, number: int) -> dict[str, Any] | None:
        """Environment that was chosen with a configuration, None where none was."""
        z = self._pending[number].place.z
        if self.environment is None or self.environment.observed or z is None:
            return None
        return self.environment.decode(z)

    def environment_for(
        self, number: int, params: Mapping[str, Any], environment: StudyEnvironment, seed: int
    ) -> Tensor:
        """Environment (dz,) to measure a running trial under.

        It is the one proposed with the configuration; for a configuration that was not proposed,
        the most informative one about its risk.

        Args:
            number: Number of the trial.
            params: Its configuration.
            environment: Environment of the study.
            seed: Seed of a random draw, where there is nothing to go by.

        Returns:
            The environment z (dz,).
        """
        point, known = self.encoding.encode(params), self._pending.get(number)
        if (
            known is not None
            and known.place.z is not None
            and (point is None or torch.equal(point, known.place.point))
        ):
            return known.place.z
        if point is None:
            return environment.draw(seed)
        self._release(number)
        query = (
            self.optimizer.ask(arms=point.unsqueeze(0))
            if len(self.optimizer.history)
            else self.optimizer.expect(point, environment.draw(seed))
        )
        self._pending[number] = self._pending_of(query)
        return query.environment.cpu()  # type: ignore[union-attr]

    def _fresh(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        return [t for t in trials[self._read_below :] if t.number not in self._read]

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions of the parameters as Optuna stores them, by name."""
        return configuration_distributions(self.encoding.space)

    def _register(self, number: int, proposal: _Pending, part: Part) -> dict[str, Any]:
        self._pending[number] = proposal
        return part.values(self.configuration(proposal.query.point))

    def _ask(self, part: Part) -> _Pending:
        """The next query.

        Points of the initial design are left out that seem to be infeasible or to fail, or that
        were measured before, by a process with the same seed.
        """
        within = self._within(part)
        while self.optimizer.in_initial_design:
            query = self.optimizer.ask(within=within)
            proposal = self._pending_of(query)
            if not (self._is_known(proposal.place) or self._is_in_vain(query)):
                return proposal
            self.optimizer.forget(query, failed=False)
        return self._pending_of(self.optimizer.ask(within=within))

    def _within(self, part: Part) -> Box | None:
        """The part for the optimizer, None for all of its space."""
        return None if part.box is self.encoding.box else part.box.to(self._device)

    def _is_in_vain(self, query: Query) -> bool:
        """Whether a query probably violates the constraints, or fails."""
        inputs, known = self._inputs(query), self.optimizer
        return known.constraints.rule_out(inputs) or known.shared_failures.rule_out(inputs)

    def _is_known(self, place: Place) -> bool:
        """Whether a trial has measured there, or is measuring."""
        return any(map(place.is_near, self._measured.places)) or self._is_taken(place, -1)

    def _inputs(self, query: Query) -> Tensor:
        """Inputs (n, d) of a query's measurement: several where its environment is observed."""
        if self.environment is None:
            return query.point.unsqueeze(0)
        z = (
            self.environment.distribution.sample(SAMPLES, torch.Generator().manual_seed(0))
            if query.environment is None
            else query.environment.unsqueeze(0)
        )
        space: Joint = self.optimizer.space  # type: ignore[assignment]
        return space.points(query.point.unsqueeze(0), z)[0]

    def _ask_elsewhere(self, query: Query, part: Part, number: int, attempt: int = 0) -> Query:
        """Replace a query by one for a configuration that no other trial measures."""
        generator = torch.Generator().manual_seed(number * MOVES + attempt)
        if not len(self.optimizer.history) and self.environment is not None:
            self.optimizer.forget(query, failed=False)
            return self.optimizer.ask(within=self._within(part))  # of the design, or at random
        taken = [p.place.point for other, p in self._pending.items() if other != number]
        taken += [place.point for place in self._measured.spent()]
        free = alternatives(self.encoding, part.box, query.point.cpu(), taken, generator)
        free = self.optimizer.safe_of(free.to(self._device))
        if attempt:
            free = free[torch.randperm(len(free), generator=generator)[: (len(free) + 1) // 2]]
        if not len(free):
            return query
        self.optimizer.forget(query, failed=False)
        return self.optimizer.ask(arms=free)

    def _pending_of(self, query: Query) -> _Pending:
        z = None if query.environment is None else query.environment.cpu()
        return _Pending(query, Place(rounded(self.encoding, query.point.cpu()), z))

    def _is_taken(self, place: Place, number: int) -> bool:
        return any(
            other != number and pending.place.is_near(place)
            for other, pending in self._pending.items()
        )

    def _place_of_running(self, trial: FrozenTrial) -> Place | None:
        """The place that a running trial measures, None while it is not known completely."""
        reserved, reserved_z = read_reservation(trial, self.distributions)
        params = reserved | trial.params
        point = self.encoding.encode(params) if params else None
        if point is None:
            return None
        environment = self.environment
        if environment is None or environment.observed:
            return Place(point, None)
        if ENVIRONMENT in trial.user_attrs:
            return Place(point, self._reader.environment_of(trial))
        try:
            return Place(point, environment.encode(reserved_z))
        except InvalidInput:
            return None

    def _release(self, number: int) -> None:
        """Remove the pending query of a trial, without a failure."""
        pending = self._pending.pop(number, None)
        if pending is not None:
            self.optimizer.forget(pending.query, failed=False)


def _content(trial: FrozenTrial) -> tuple[Any, ...]:
    """Content that tells a finished trial from one of another study."""
    return trial.state, repr(trial.values), repr(trial.params)
