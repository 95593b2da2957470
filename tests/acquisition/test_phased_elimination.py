"""Elimination of arms in phases whose arms do not depend on their rewards."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import elimination
from surefoot.acquisition import PhasedElimination
from surefoot.estimators import SubGaussianSum, TruncatedSum

LINE = np.linspace(0.0, 1.0, 12)[:, None]
KERNEL = sf.kernels.squared_exponential(0.25)
GRAM = np.exp(-((LINE - LINE.T) ** 2) / (2 * 0.25**2))
NORM, NOISE, DELTA, RIDGE, FIRST = 2.0, 0.1, 0.1, 0.5, 8
MOMENT = sf.Moment(alpha=0.5, bound=3.0)
ESTIMATES = {
    "truncated": (
        TruncatedSum(MOMENT),
        lambda w, y, L: elimination.truncated(w, y, 3.0, 0.5, L),
    ),
    "sub-gaussian": (
        SubGaussianSum(NOISE),
        lambda w, y, L: elimination.sub_gaussian(w, y, NOISE, L),
    ),
}
F = GRAM[:, [2, 9]] @ np.array([1.5, -1.0])  # norm 1.8


def policy_of(name: str) -> PhasedElimination:
    return PhasedElimination(KERNEL, NORM, ESTIMATES[name][0], DELTA, RIDGE, FIRST)


def optimizer_of(name: str) -> sf.Optimizer:
    return sf.Optimizer(sf.Arms(LINE), KERNEL, policy=policy_of(name))


def literal_bounds(name: str, pulled: list[int], y: np.ndarray, phase: int) -> list[Any]:
    """Mean and distance of the bounds at all arms, pull by pull."""
    K, found = GRAM[np.ix_(pulled, pulled)], []
    L = elimination.logarithm(len(LINE), DELTA, phase)
    for x in range(len(LINE)):
        k = GRAM[pulled, x]
        w = elimination.weights(K, k, RIDGE)
        mean, error = ESTIMATES[name][1](w, y, L)
        found.append((mean, NORM * elimination.misfit(K, k, 1.0, w) + error))
    return found


@pytest.mark.parametrize("name", ESTIMATES)
def test_bounds_are_those_of_the_proposition(name: str) -> None:
    random = np.random.default_rng(0)
    pulled = random.integers(0, len(LINE), 30).tolist()
    y = F[pulled] + random.standard_t(1.6, 30)
    arms = torch.arange(len(LINE))
    ours = policy_of(name).bounds(
        torch.from_numpy(LINE), arms, torch.tensor(pulled), torch.from_numpy(y), 2
    )
    expected = [(m - e, m + e) for m, e in literal_bounds(name, pulled, y, 2)]
    np.testing.assert_allclose(torch.stack(ours, -1).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ESTIMATES)
def test_choices_are_those_of_the_algorithm(name: str) -> None:
    optimizer = optimizer_of(name)
    random = np.random.default_rng(1)
    left, start, phase = list(range(len(LINE))), 0, 0
    pulled: list[int] = [4]
    rewards = [float(F[4])]
    optimizer.tell(4, rewards[0])
    for t in range(1, 60):
        if t == start + FIRST * 2**phase:
            found = literal_bounds(name, pulled[start:], np.array(rewards[start:]), phase)
            best = max(found[x][0] - found[x][1] for x in left)
            left = [x for x in left if found[x][0] + found[x][1] >= best]
            start, phase = t, phase + 1
        now = pulled[start:]
        K = GRAM[np.ix_(now, now)]
        variances = [elimination.variance(K, GRAM[now, x], 1.0, RIDGE) for x in left]
        arm = optimizer.ask().arm
        assert variances[left.index(arm)] == pytest.approx(max(variances), rel=1e-9)
        pulled.append(arm)
        rewards.append(float(F[arm] + 0.1 * random.standard_normal()))
        optimizer.tell(arm, rewards[-1])
    if name == "sub-gaussian":
        assert len(left) < len(LINE)
    assert int(F.argmax()) in left


def test_what_the_other_arms_do_is_of_no_matter_within_a_phase() -> None:
    """Arms of a phase are the same whatever its rewards are, with queries pending or not."""
    runs = []
    for scale in (0.0, 100.0):
        optimizer = optimizer_of("truncated")
        optimizer.tell(0, scale)
        arms = [query.arm for query in optimizer.ask_batch(3)]
        for arm in arms:
            optimizer.tell(arm, scale * arm)
        runs.append([*arms, optimizer.ask().arm])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 4


@pytest.mark.parametrize(("alpha", "dof"), [(1.0, 2.5), (0.4, 1.6)])
def test_they_hold_under_heavy_tails(alpha: float, dof: float) -> None:
    """With a moment found from 10^6 draws; seeds are fixed."""
    random = np.random.default_rng(2)
    draws = random.standard_t(dof, 10**6)
    v = max(float((np.abs(f + draws) ** (1 + alpha)).mean()) for f in F)
    policy = PhasedElimination(KERNEL, NORM, TruncatedSum(sf.Moment(alpha, v)), 0.5, RIDGE)
    points, arms, failed = torch.from_numpy(LINE), torch.arange(len(LINE)), 0
    for _ in range(40):
        pulled = random.integers(0, len(LINE), 64)
        y = torch.from_numpy(F[pulled] + random.standard_t(dof, 64))
        lower, upper = policy.bounds(points, arms, torch.from_numpy(pulled), y, 0)
        failed += bool((lower.numpy() > F).any() or (upper.numpy() < F).any())
    assert failed <= 10  # a share of 0.25 of delta / 2 would be


def test_save_and_load_keep_the_arms_that_are_left(tmp_path: Path) -> None:
    optimizer = optimizer_of("sub-gaussian")
    optimizer.tell(0, float(F[0]))
    for _ in range(30):
        arm = optimizer.ask().arm
        optimizer.tell(arm, float(F[arm]))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert [loaded.ask().arm for _ in range(3)] == [optimizer.ask().arm for _ in range(3)]
    again = optimizer_of("sub-gaussian")  # all at once
    again.tell_all(optimizer.history.sites[optimizer.history.site], optimizer.history.rewards)
    again.ask()
    assert torch.equal(again._memory["phase"]["arms"], optimizer._memory["phase"]["arms"])


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(sf.InvalidInput, match="`Arms`"):
        sf.Optimizer(sf.Box([0.0], [1.0]), KERNEL, policy=policy_of("truncated"))
    with pytest.raises(sf.InvalidInput, match="`estimate`"):
        PhasedElimination(KERNEL, 1.0, 0.3)  # type: ignore[arg-type]
    given = {"kernel": KERNEL, "norm_bound": 1.0, "estimate": ESTIMATES["truncated"][0]}
    for bad in ({"norm_bound": 0.0}, {"delta": 1.0}, {"ridge": -1.0}, {"first": 0}):
        with pytest.raises(sf.InvalidInput, match=next(iter(bad))):
            PhasedElimination(**given | bad)
