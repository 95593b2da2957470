"""A policy from outside the package: one class with `check` and `choose`, or one score."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.acquisition import (
    Policy,
    PolicyState,
    ScorePolicy,
    UpperConfidenceBound,
    maximise,
)
from surefoot.beliefs import Belief, Candidates
from surefoot.spaces.locations import Location

LINE = np.linspace(0.0, 1.0, 8)[:, None]
WORLD = sf.FiniteEnvironment([0.1, 0.5, 0.9], [0.2, 0.5, 0.3])
DENSITY = sf.ContinuousEnvironment(sf.environments.truncated_normal([0.5], 0.2, 0.0, 1.0))
SPACES: dict[str, sf.Arms | sf.Box | sf.Joint] = {
    "arms": sf.Arms(LINE),
    "box": sf.Box([0.0], [1.0]),
    "arms beside a list": sf.Joint(sf.Arms(LINE), WORLD),
    "box beside a list": sf.Joint(sf.Box([0.0], [1.0]), WORLD),
    "box beside a density": sf.Joint(sf.Box([0.0], [1.0]), DENSITY),
}
every = pytest.mark.parametrize("name", SPACES)


class Greedy:
    """The best risk of the mean, under the first environment."""

    def check(self, space: object, risk: object) -> None:
        if isinstance(risk, sf.WorstCase):
            raise sf.InvalidInput("no worst case")

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        candidates = Candidates.sampled(belief, 16, state.generator)
        best = maximise(candidates.mean, candidates, state.generator, among)
        if not isinstance(belief.space, sf.Joint):
            return best
        return belief.space.location(best.design, best.design_arm, candidates.z[0])


def bold(candidates: Candidates, generator: torch.Generator):
    return lambda x: candidates.bound(x, 4.0)


def build(space: sf.Arms | sf.Box | sf.Joint, policy: object, risk: object = None) -> sf.Optimizer:
    joint = isinstance(space, sf.Joint)
    kernel = sf.kernels.squared_exponential([0.3, 0.5] if joint else 0.3)
    risk = risk or (sf.VaR(0.3) if joint else None)
    width = sf.widths.constant(4.0)
    return sf.Optimizer(
        sf.Problem(space, risk=risk),
        sf.Method(kernel, policy=policy, width=width, ridge=0.1, plan=sf.acquisition.Plan(3)),
    )


def drive(optimizer: sf.Optimizer, rounds: int) -> list[list[float]]:
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        z = [] if query.environment is None else query.environment.tolist()
        asked.append([*query.point.tolist(), *z])
        optimizer.tell(query, float(np.sin(sum((i + 4) * v for i, v in enumerate(asked[-1])))))
    return asked


@pytest.mark.long
@every
def test_a_class_with_check_and_choose_is_a_policy(name: str) -> None:
    assert isinstance(Greedy(), Policy)
    optimizer = build(SPACES[name], Greedy())
    drive(optimizer, 5)
    belief = optimizer._searching()
    chosen = optimizer.policy.choose(belief, None, optimizer._state)
    design = belief.space.design
    grid = design.points if isinstance(design, sf.Arms) else torch.linspace(0, 1, 50)[:, None]
    values = belief.candidates.mean(torch.cat([chosen.design.unsqueeze(0), grid.double()]))
    assert float(values[0]) >= float(values.max()) - 1e-6
    listed = [2, 5] if isinstance(design, sf.Arms) else [[0.2], [0.7]]
    allowed = [design.locate(one).design.tolist() for one in listed]
    assert optimizer.ask(arms=listed).point.tolist() in allowed


def test_its_check_is_asked() -> None:
    with pytest.raises(sf.InvalidInput, match="no worst case"):
        build(SPACES["arms beside a list"], Greedy(), sf.WorstCase())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "box beside a density" else [])
        for name in SPACES
    ],
)
def test_a_score_alone_is_a_policy(name: str) -> None:
    """This one is the upper confidence bound at the width that both have."""
    space = SPACES[name]
    scored, reference = build(space, bold), build(space, UpperConfidenceBound())
    assert drive(scored, 5) == drive(reference, 5)


def test_a_score_may_be_given_as_a_policy() -> None:
    space = SPACES["box"]
    scored, reference = build(space, ScorePolicy(bold)), build(space, UpperConfidenceBound())
    assert drive(scored, 5) == drive(reference, 5)


class Sweep:
    """Even points one after another: it remembers how many there were."""

    def check(self, space: object, risk: object) -> None:
        pass

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        step = state.memory.get("step", 0)
        state.memory["step"] = step + 1
        return belief.space.location(torch.tensor([step / 16], dtype=torch.float64))


def test_what_a_policy_keeps_is_saved_and_only_choosing_changes_it(tmp_path: Path) -> None:
    optimizer = sf.Optimizer(SPACES["box"], sf.Method(sf.kernels.linear(), policy=Sweep()))
    optimizer.tell([0.5], 1.0)
    assert [float(query.point) for query in optimizer.ask_batch(3)] == [0.0, 1 / 16, 2 / 16]
    optimizer.policy.choose(optimizer.belief(), None, optimizer._state.cloned)
    optimizer.recommend()
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", policy=Sweep())
    for one in (optimizer, loaded):
        assert float(one.ask().point) == 3 / 16


@pytest.mark.daily(2)
@every
def test_it_is_passed_again_on_loading(name: str, tmp_path: Path) -> None:
    space, path = SPACES[name], tmp_path / "run"
    again = {"space": space} if space is SPACES["box beside a density"] else {}
    for policy in (Greedy(), bold):
        optimizer = build(space, policy)
        drive(optimizer, 4)
        optimizer.save(path)
        with pytest.raises(sf.InvalidInput, match="policy"):
            sf.Optimizer.load(path, **again)
        loaded = sf.Optimizer.load(path, policy=policy, **again)
        assert drive(loaded, 2) == drive(optimizer, 2)


class Chosen:
    """A policy that chooses what a function of belief and state returns."""

    def __init__(self, function: Callable[[Belief, PolicyState], object]) -> None:
        self.function = function

    def check(self, space: object, risk: object) -> None:
        pass

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        return self.function(belief, state)  # type: ignore[return-value]


def outside(belief: Belief, state: PolicyState) -> Location:
    return belief.space.location(torch.tensor([7.0], dtype=torch.float64))


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (outside, "outside the box"),
        (lambda belief, state: None, "the policy chose None, expected a"),
    ],
)
def test_a_choice_that_is_not_of_the_space_is_refused(choose, message: str) -> None:
    optimizer = sf.Optimizer(
        SPACES["box"], sf.Method(sf.kernels.squared_exponential(0.2), policy=Chosen(choose))
    )
    optimizer.tell([0.3], 1.0)
    with pytest.raises(sf.InvalidInput, match=message):
        optimizer.ask()
    assert len(optimizer.pending) == 0


@pytest.mark.parametrize("name", ["arms", "box"])
@pytest.mark.parametrize(
    ("score", "message"),
    [
        (
            lambda x: x.repeat(1, 2),
            r"the score returned a tensor \(\d+, 2\), expected a tensor \(\d+,\)",
        ),
        (lambda x: x[:, 0] * torch.nan, "the score is NaN at"),
        (lambda x: None, "the score returned <class 'NoneType'>"),
    ],
)
def test_what_a_score_returns_is_checked(name: str, score, message: str) -> None:
    kernel = sf.kernels.squared_exponential(0.2)
    optimizer = sf.Optimizer(
        SPACES[name], sf.Method(kernel, policy=lambda candidates, generator: score)
    )
    optimizer.tell(LINE[0], 1.0)
    with pytest.raises(sf.InvalidInput, match=message):
        optimizer.ask()


def test_a_memory_that_cannot_be_in_a_file_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    values = iter([np.arange(6.0)[::-1], {1}, [np.array(["a"])], {"a": {1}}])

    def keep(belief: Belief, state: PolicyState) -> Location:
        state.memory["kept"] = next(values)
        return belief.space.location(torch.tensor([0.5], dtype=torch.float64))

    box, kernel = SPACES["box"], sf.kernels.squared_exponential(0.2)
    optimizer = sf.Optimizer(box, sf.Method(kernel, policy=Chosen(keep)))
    optimizer.tell([0.3], 1.0)
    optimizer.ask()
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", policy=Chosen(keep))
    assert loaded._memory["kept"].tolist() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    before = (tmp_path / "run").read_bytes()
    for _ in range(3):
        optimizer.ask()
        with pytest.raises(sf.InvalidInput, match=r"`state.memory\['kept'\]` is"):
            optimizer.save(tmp_path / "run")
        assert (tmp_path / "run").read_bytes() == before
