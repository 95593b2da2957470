"""An optimiser driven through every call in any order, beside two that show what must hold.

The `twin` gets the same calls but is never looked at, saved or loaded, so that it must ask the same
points throughout. A fresh optimiser that is told the same rewards must have the same posterior
where the features last. `Slot` and `Told` are what should be pending and known, kept by hand.
"""

import math
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from torch import Tensor

import surefoot as sf

PLACES = 8
place = st.integers(0, PLACES - 1)
which = st.integers(0, 99)  # of a list, modulo its length
reward = st.sampled_from([-1.0, 0.0, 0.3, 1.0, 2.0, 40.0])
failing = st.sampled_from([False, False, True])


@dataclass(frozen=True)
class Subject:
    """An algorithm on a space, and what can be said of its posterior.

    `fresh` is the tolerance to which its posterior is that of a fresh optimiser told the same
    rewards, None where features change or the kernel is learnt. `exact` builds an optimiser
    whose variance is the same once it has the same pulls. `grows` is the number of rounds
    after which the dictionary is about as large as in an undisturbed run. `searches` says that a
    free ask is a search in a box, which takes long. `first` is how many rewards a run begins with.
    """

    build: Callable[[], sf.Optimizer]
    fresh: float | None = None
    exact: Callable[[], sf.Optimizer] | None = None
    grows: int = 0
    searches: bool = False
    first: int = 0


@dataclass
class Slot:
    """A query as both optimisers gave it, and how many of its measurements are missing."""

    query: sf.Query
    twin: sf.Query
    where: int | Tensor
    z: Tensor | None  # the environment, None where the world draws it or there is none
    missing: int


@dataclass
class Told:
    """Every reward, in order."""

    where: list[int | Tensor] = field(default_factory=list)
    environments: list[Tensor | None] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    sems: list[float] = field(default_factory=list)

    def tell(self, optimizer: sf.Optimizer) -> None:
        """Tell everything at once."""
        z = None if self.environments[0] is None else torch.stack(self.environments)  # type: ignore[arg-type]
        where: Any = self.where
        if isinstance(where[0], Tensor):
            where = torch.stack(where)
        optimizer.tell_all(where, self.rewards, z, sems=self.sems)


def seen_at(space: Any, where: int | Tensor, z: Tensor | None) -> Tensor:
    """What the model sees of a design and an environment."""
    design = space.design if isinstance(space, sf.Joint) else space
    x = where if isinstance(where, Tensor) else design.points[where]
    return x if z is None else torch.cat([x, z])


class OptimizerMachine(RuleBasedStateMachine):
    """Rules are what a user may do; invariants are what holds after each."""

    def __init__(self, subject: Subject, foreign: bool = False) -> None:
        super().__init__()
        self.subject, self.foreign = subject, foreign
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "run"
        self.optimizer, self.twin = subject.build(), subject.build()
        self.slots: list[Slot] = []
        self.settled: list[Slot] = []
        self.told = Told()
        self.fresh: tuple[tuple[Tensor, Tensor], int] = (torch.empty(0), torch.empty(0)), 0
        self.space = self.optimizer.space
        self.is_joint = isinstance(self.space, sf.Joint)
        self.design = self.space.design if self.is_joint else self.space
        self.observed = self.is_joint and self.space.observed
        generator = torch.Generator().manual_seed(17)
        if isinstance(self.design, sf.Arms):
            arms = torch.randperm(len(self.design), generator=generator)
            self.places: list[Any] = (arms.tolist() * PLACES)[:PLACES]
        else:
            self.places = list(self.design.sample(PLACES, generator))
        self.z: list[Tensor | None] = [None] * PLACES
        if self.is_joint:
            self.z = list(self.space.environment.sample(PLACES, generator))
        self.points = torch.stack(
            [seen_at(self.space, x, z) for x, z in zip(self.places, self.z, strict=True)]
        )

    @initialize()
    def begin(self) -> None:
        for index in range(self.subject.first):
            self.tell_a_place(index % PLACES, 0.5 * index)
        if self.subject.exact is not None:
            self.ask()

    # What a user may do

    def free_ask(self) -> bool:
        return not self.subject.searches or not self.told.rewards

    @precondition(lambda self: self.free_ask())
    @rule()
    def ask(self) -> None:
        self.add(self.optimizer.ask(), self.twin.ask())

    @precondition(lambda self: self.subject.searches and len(self.told.rewards) % 5 == 4)
    @rule()
    def search(self) -> None:
        self.add(self.optimizer.ask(), self.twin.ask())

    @precondition(lambda self: self.free_ask())
    @rule(number=st.integers(2, 3))
    def ask_batch(self, number: int) -> None:
        pairs = zip(self.optimizer.ask_batch(number), self.twin.ask_batch(number), strict=True)
        for query, twin in pairs:
            self.add(query, twin)

    @precondition(lambda self: self.told.rewards or not self.is_joint)
    @rule(among=st.lists(place, min_size=1, max_size=4, unique=True))
    def ask_among(self, among: list[int]) -> None:
        listed = self.listed(among)
        self.add(self.optimizer.ask(arms=listed), self.twin.ask(arms=listed))
        query = self.slots[-1].query
        design = query.point if isinstance(self.places[0], Tensor) else query.arm
        assert any(same(design, self.places[index]) for index in among)

    @rule(index=place)
    def expect(self, index: int) -> None:
        where, z = self.places[index], self.z[index]
        self.add(self.optimizer.expect(where, z), self.twin.expect(where, z))

    @precondition(lambda self: self.slots)
    @rule(index=which, y=reward)
    def tell(self, index: int, y: float) -> None:
        slot = self.slots[index % len(self.slots)]
        z = self.z[index % PLACES] if self.observed else None
        self.record(slot.where, slot.z if z is None else z, self.noisy(y))
        self.both(lambda optimizer, query: self.last(optimizer, query, z), slot)
        self.came(slot)

    @precondition(lambda self: self.settled)
    @rule(index=which, y=reward)
    def tell_again(self, index: int, y: float) -> None:
        """A second reward of a query, or one of a query that was given up."""
        slot = self.settled[index % len(self.settled)]
        z = self.z[index % PLACES] if self.observed else None
        self.record(slot.where, slot.z if z is None else z, self.noisy(y))
        self.both(lambda optimizer, query: self.last(optimizer, query, z), slot)

    @rule(index=place, y=reward)
    def tell_a_place(self, index: int, y: float) -> None:
        """By its arm or point; the first query that is pending there has its reward."""
        where, z = self.places[index], self.z[index]
        self.record(where, z, self.noisy(y))
        for optimizer in (self.optimizer, self.twin):
            self.last(optimizer, where, z)
        slot = self.pending_at(where, z)
        if slot is not None:
            self.came(slot)

    @precondition(lambda self: self.foreign and self.told.rewards)
    @rule(theirs=place, ours=place, y=reward, seed=st.integers(1, 5))
    def tell_a_query_of_another(self, theirs: int, ours: int, y: float, seed: int) -> None:
        """A copy with another seed asks as often as this one, which asks for something else."""
        assume(not same(self.places[theirs], self.places[ours]))
        assume(self.pending_at(self.places[theirs], self.z[theirs], any_z=True) is None)
        other = self.loaded()
        other.reseed(seed)
        foreign = other.ask(arms=self.listed([theirs]))
        self.ask_among([ours])
        z = self.z[theirs] if self.observed else foreign.environment
        self.record(self.places[theirs], z, self.noisy(y))
        for optimizer in (self.optimizer, self.twin):
            self.last(optimizer, foreign, z if self.observed else None)

    @precondition(lambda self: self.slots)
    @rule(index=which, failed=failing)
    def forget(self, index: int, failed: bool) -> None:
        slot = self.slots.pop(index % len(self.slots))
        self.settled.append(slot)
        self.both(lambda optimizer, query: optimizer.forget(query, failed=failed), slot)

    @precondition(lambda self: self.settled and not self.observed)
    @rule(index=which, failed=failing)
    def forget_again(self, index: int, failed: bool) -> None:
        slot = self.settled[index % len(self.settled)]
        self.both(lambda optimizer, query: optimizer.forget(query, failed=failed), slot)

    @rule(index=place, failed=failing)
    def forget_a_place(self, index: int, failed: bool) -> None:
        where, z = self.places[index], self.z[index]
        for optimizer in (self.optimizer, self.twin):
            optimizer.forget(where, z, failed=failed)
        slot = self.pending_at(where, z)
        if slot is not None:
            self.slots.remove(slot)
            self.settled.append(slot)

    @rule(by=st.sampled_from(["mean", "lower"]))
    def look(self, by: str) -> None:
        self.optimizer.save(self.file)
        _ = self.optimizer.width
        if not self.told.rewards:
            with pytest.raises(sf.NotReady):
                self.optimizer.belief()
            return
        assert len(self.optimizer.belief().weights) == len(self.told.rewards)
        found = self.optimizer.recommend(by)
        assert found.lower <= found.value <= found.upper
        if self.is_joint:
            self.optimizer.belief().predict(found.point[None])

    @rule(renewed=st.booleans())
    def save_and_load(self, renewed: bool) -> None:
        """Queries from before stay good; those of the loaded one are the same."""
        self.optimizer = self.loaded()
        if renewed:
            for slot, query in zip(self.slots, self.optimizer.pending, strict=True):
                slot.query = query

    @precondition(lambda self: self.told.rewards)
    @rule(among=st.lists(place, min_size=2, max_size=5, unique=True))
    def copies_ask_the_same(self, among: list[int]) -> None:
        arms = self.listed(among) if self.subject.searches else None
        left, right = self.loaded(), pickle.loads(pickle.dumps(self.optimizer))
        for _ in range(2):
            assert asked(left.ask(arms=arms)) == asked(right.ask(arms=arms))

    # What holds after each step

    @invariant()
    def pending_is_exact(self) -> None:
        for optimizer in (self.optimizer, self.twin):
            ids = [query.id for query in optimizer.pending]
            expected = [slot.query.id for slot in self.slots]
            assert ids == expected, f"pending are {ids}, expected {expected}"
        for query, slot in zip(self.optimizer.pending, self.slots, strict=True):
            assert asked(query) == asked(slot.query)
            assert query.repeats == slot.query.repeats

    @invariant()
    def history_is_exact(self) -> None:
        assert self.optimizer.history.rewards.tolist() == self.told.rewards
        assert self.optimizer.history.sems.tolist() == self.told.sems

    @invariant()
    def posterior_is_that_of_a_fresh_optimizer(self) -> None:
        if not self.told.rewards:
            return
        mean, variance = self.belief(self.optimizer)
        assert bool(torch.isfinite(mean).all())
        assert bool(torch.isfinite(variance).all())
        assert bool((variance >= 0.0).all())
        if self.subject.fresh is not None:
            expected, spread = self.of_fresh()
            close(mean, expected, self.subject.fresh)
            close(variance, spread, self.subject.fresh)

    @invariant()
    def variance_is_that_of_the_pulls(self) -> None:
        """Of the rewarded ones, or of the pending ones too."""
        if self.subject.exact is None or not self.told.rewards or not self.settled:
            return
        exact, ours = self.subject.exact(), self.belief(self.optimizer)[1]
        self.told.tell(exact)
        of_rewards = self.belief(exact)[1]
        for slot in self.slots:
            for _ in range(slot.missing):
                exact.tell(slot.where, 0.0)
        differences = [float((ours - v).abs().max()) for v in (of_rewards, self.belief(exact)[1])]
        assert min(differences) < 1e-6, differences

    def teardown(self) -> None:
        if sys.exc_info()[0] is None and self.told.rewards:
            self.goes_on()
        self.folder.cleanup()

    def goes_on(self) -> None:
        """Two more rounds, and the dictionary."""
        for turn in range(2):
            if self.subject.searches:
                self.ask_among([turn, turn + 2, turn + 4])
            else:
                self.ask()
            self.tell(len(self.slots) - 1, 0.1)
        if self.subject.grows:
            self.dictionary_still_grows(self.subject.grows)

    def dictionary_still_grows(self, rounds: int) -> None:
        """To at least half of that of an undisturbed run."""
        undisturbed = self.subject.build()
        self.told.tell(undisturbed)
        dimensions = []
        for optimizer in (self.optimizer, undisturbed):
            seen = []
            for step in range(rounds):
                query = optimizer.ask()
                y = math.sin(5.0 * float(query.point.sum())) + 0.1 * math.sin(97.0 * step)
                seen.append(optimizer.tell(query, y).dimension)
            dimensions.append(max(seen[rounds // 2 :]))
        assert dimensions[0] >= 0.5 * dimensions[1], dimensions

    # How it is kept by hand

    def add(self, query: sf.Query, twin: sf.Query) -> None:
        """A query that both asked, which must be the same."""
        assert asked(query) == asked(twin)
        assert query.repeats == twin.repeats
        where = query.point.clone() if query.arm is None else query.arm
        z = None if query.environment is None else query.environment.clone()
        self.slots.append(Slot(query, twin, where, z, query.repeats))

    def came(self, slot: Slot) -> None:
        """One measurement of a query."""
        slot.missing -= 1
        if slot.missing == 0:
            self.slots = [other for other in self.slots if other is not slot]
            self.settled.append(slot)

    def pending_at(self, where: int | Tensor, z: Tensor | None, any_z: bool = False) -> Slot | None:
        """The first query that is pending there."""
        for slot in self.slots:
            if same(slot.where, where) and (any_z or slot.z is None or same(slot.z, z)):
                return slot
        return None

    def record(self, where: int | Tensor, z: Tensor | None, y: float) -> None:
        self.told.where.append(where)
        self.told.environments.append(z)
        known = (
            hasattr(self.optimizer._history.model.estimator, "update_with_error")
            and self.subject.exact is None
        )
        self.told.sems.append(0.4 if known and len(self.told.rewards) % 3 == 2 else 0.0)
        self.told.rewards.append(y)

    def last(self, optimizer: sf.Optimizer, where: Any, z: Tensor | None) -> None:
        """Tell the last reward, every third one with a standard error."""
        optimizer.tell(where, self.told.rewards[-1], z, sem=self.told.sems[-1])

    def noisy(self, y: float) -> float:
        """So that no two rewards are the same."""
        return y + 0.01 * math.sin(97.0 * len(self.told.rewards))

    def listed(self, among: Sequence[int]) -> Any:
        chosen = [self.places[index] for index in among]
        return torch.stack(chosen) if isinstance(chosen[0], Tensor) else chosen

    def both(self, call: Callable[[sf.Optimizer, sf.Query], object], slot: Slot) -> None:
        call(self.optimizer, slot.query)
        call(self.twin, slot.twin)

    def loaded(self) -> sf.Optimizer:
        self.optimizer.save(self.file)
        return sf.Optimizer.load(self.file)

    def of_fresh(self) -> tuple[Tensor, Tensor]:
        """The posterior of a fresh optimiser told the same, computed once for each reward."""
        known, number = self.fresh
        if number != len(self.told.rewards):
            optimizer = self.subject.build()
            self.told.tell(optimizer)
            known = self.belief(optimizer)
            self.fresh = known, len(self.told.rewards)
        return known

    def belief(self, optimizer: sf.Optimizer) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            posterior = optimizer.belief().posterior
            return posterior.mean(self.points), posterior.variance(self.points)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return torch.equal(left, right)
    return bool(left == right)


def asked(query: sf.Query) -> list[float]:
    z = [] if query.environment is None else query.environment.tolist()
    return [*query.point.tolist(), *z]


def close(ours: Tensor, expected: Tensor, tolerance: float) -> None:
    atol = tolerance * max(float(expected.abs().max()), 1.0)
    torch.testing.assert_close(ours, expected, rtol=0.0, atol=atol)


def drive(subject: Subject, examples: int, steps: int, foreign: bool = False) -> None:
    """Run the machine on a subject, the same way each time.

    With `foreign`, queries of another optimiser are told too.
    """
    chosen = settings(
        max_examples=round(examples * float(os.environ.get("SUREFOOT_EXAMPLES", "1"))),
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        phases=(Phase.generate,),  # found again by its seed: shrinking takes minutes
    )
    run_state_machine_as_test(lambda: OptimizerMachine(subject, foreign), settings=chosen)
