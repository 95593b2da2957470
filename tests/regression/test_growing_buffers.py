"""Every buffer that grows with a run holds what a list holds, at all sizes from 1 to 300."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from surefoot import kernels
from surefoot.estimators.adaptive_truncation import LiveRewards, Rewards
from surefoot.estimators.digest import Digest
from surefoot.estimators.estimator import Constants
from surefoot.features.sketched import KernelRows
from surefoot.regression.observations import Observations
from surefoot.spaces.storage import InFile, InMemory, Rows

MOST = 300
STEPS = (1, 2, 10, 64, 65, 97, 100, 129, 193, 300)  # sizes about which buffers become longer


@dataclass
class Listed:
    """Observations as lists."""

    rows: list[tuple[tuple[float, float], float, float, str | None, float]] = field(
        default_factory=list
    )

    def add(self, to: Observations, number: int, rng: random.Random, repeats: float) -> None:
        """The same further observations here and there."""
        for _ in range(number):
            known = self.rows and rng.random() < repeats
            point = rng.choice(self.rows)[0] if known else (rng.random(), rng.random())
            row = point, rng.gauss(0, 1), rng.choice([0.0, 0.3]), rng.choice([None, "a", "b"]), 1.0
            self.rows.append((*row[:4], float(len(self.rows))))
            place = torch.tensor(point, dtype=torch.float64)
            to.append(place, row[1], sem=row[2], worker=row[3], time=self.rows[-1][4])

    def check(self, one: Observations) -> None:
        """Observations hold these rows, and their sums and counts by site."""
        points, rewards, sems, workers, times = zip(*self.rows, strict=True)
        sites = list(dict.fromkeys(points))
        names = [None if index < 0 else one.worker_names[index] for index in one.workers.tolist()]
        assert one.rewards.tolist() == list(rewards)
        assert (one.sems.tolist(), one.times.tolist(), names) == ([*sems], [*times], [*workers])
        assert one.sites.tolist() == [list(site) for site in sites]
        assert one.site.tolist() == [sites.index(point) for point in points]
        assert one.counts.tolist() == [points.count(site) for site in sites]
        totals = [sum(r for p, r in zip(points, rewards, strict=True) if p == s) for s in sites]
        torch.testing.assert_close(one.sums, torch.tensor(totals, dtype=torch.float64))


COPIES: dict[str, Callable[[Observations], Observations]] = {
    "writable": lambda one: one.writable,
    "of frozen": lambda one: one.frozen.writable,
    "of first": lambda one: one.first(len(one)).writable,
    "twice": lambda one: one.writable.writable,
    "among": lambda one: one.among(torch.ones(len(one), dtype=torch.bool)),
}


@pytest.mark.long
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_at_any_size_takes_further_points(copy: str) -> None:
    rng, kept = random.Random(1), Listed()
    one = Observations(2)
    for number in range(1, MOST + 1):
        kept.add(one, 1, rng, repeats=0.0)
        if copy == "among" and number not in STEPS:  # of which every row is appended
            continue
        more, listed = COPIES[copy](one), Listed(kept.rows.copy())
        listed.add(more, 2, rng, repeats=0.3)
        assert more.rewards.tolist() == [row[1] for row in listed.rows]
        assert more.sites.tolist() == [list(p) for p in dict.fromkeys(r[0] for r in listed.rows)]
        assert float(more.counts.sum()) == len(listed.rows)
        if number in STEPS:
            listed.check(more)
            kept.check(one)


@pytest.mark.long
@settings(max_examples=25)
@given(
    st.sampled_from(STEPS),
    st.integers(1, MOST),
    st.sampled_from([0.0, 0.5, 0.95]),
    st.sampled_from(sorted(COPIES)),
    st.integers(0, 2**32),
)
def test_observations_are_a_list_whatever_was_copied(
    first: int, more: int, repeats: float, copy: str, seed: int
) -> None:
    rng = random.Random(seed)
    kept, one = Listed(), Observations(2)
    kept.add(one, first, rng, repeats)
    frozen, before = one.frozen, Listed(kept.rows.copy())
    other, listed = COPIES[copy](one), Listed(kept.rows.copy())
    listed.add(other, more, rng, repeats)
    kept.add(one, more, rng, repeats)
    kept.check(one)
    listed.check(other)
    before.check(frozen)
    before.check(one.first(first))


def kernel_rows() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
    points = torch.linspace(0, 1, MOST, dtype=torch.float64)[:, None]
    kernel = sf.kernels.squared_exponential(0.2)
    rows = KernelRows(kernel, points)
    whole = kernels.block(kernel, points, points)
    need = lambda n: rows.need(torch.tensor([MOST - n]))  # noqa: E731
    chosen = lambda n: torch.arange(MOST - 1, MOST - n - 1, -1)  # noqa: E731
    return (
        need,
        lambda n: rows.at(chosen(n)).round(decimals=12).tolist(),
        lambda n: whole[chosen(n)].round(decimals=12).tolist(),
    )


def stored_rows(storage: Any) -> Callable[[], Any]:
    def made() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
        rows = Rows(storage, 4, torch.device("cpu"))

        def add(n: int) -> None:
            rows.first(n)[n - 1] = float(n)

        return add, lambda n: rows.first(n)[:, 1].tolist(), lambda n: [*map(float, range(1, n + 1))]

    return made


def rewards() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
    held = Rewards()

    def found(n: int) -> Any:
        other = Rewards()
        other.keep(held, np.arange(n))
        return [
            (int(s), float(r), int(o), bool(f))
            for one in (held, other)
            for s, r, o, f in zip(one.site[:n], one.reward, one.order, one.far, strict=False)
        ]

    row = lambda n: (n % 7, 0.5 * n, n, n % 3 == 0)  # noqa: E731
    return (
        lambda n: held.append(*row(n)),
        found,
        lambda n: 2 * [row(k) for k in range(1, n + 1)],
    )


def live_rewards() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
    live = LiveRewards(Constants(0.5))
    return (
        lambda n: live.append(n - 1, float(n), False),
        lambda n: (live.sums[:n].tolist(), live.pulls[:n].tolist(), live.live.number),
        lambda n: ([*map(float, range(1, n + 1))], [1.0] * n, n),
    )


def digest() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
    held = Digest()
    return (
        lambda n: held.append(n - 1, float(n), 0.1),
        lambda n: (held._site[:n].tolist(), held._value[:n].tolist(), held._sem[:n].tolist()),
        lambda n: ([*range(n)], [*map(float, range(1, n + 1))], [0.1] * n),
    )


def truncated_sums() -> tuple[Callable[[int], None], Callable[[int], Any], Callable[[int], Any]]:
    estimator = sf.Truncation(sf.Moment(1.0, 1e9))
    state = estimator.init(Constants(0.5))
    return (
        lambda n: estimator.update(state, n - 1, float(n)) and None,
        lambda n: state.sums[:n].tolist(),
        lambda n: [*map(float, range(1, n + 1))],
    )


BUFFERS: dict[str, Callable[[], Any]] = {
    "kernel rows": kernel_rows,
    "rows in memory": stored_rows(InMemory()),
    "rows in a file": stored_rows(InFile()),
    "rewards": rewards,
    "live rewards": live_rewards,
    "digest": digest,
    "truncated sums": truncated_sums,
}


@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_is_a_list(name: str) -> None:
    add, found, expected = BUFFERS[name]()
    for number in range(1, MOST + 1):
        add(number)
        if number in STEPS or number % 50 == 0:
            assert found(number) == expected(number)
