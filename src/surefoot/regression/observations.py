"""Rewards in order of arrival, grouped by distinct location."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.brief import brief


class Pull(NamedTuple):
    """Measurements of one point, whatever their rewards."""

    point: Tensor  # (d,)
    arm: int | None
    times: int
    more: bool = False  # whether others that were told with it follow


class Failed(NamedTuple):
    """A failed measurement, and the number of rewards before it."""

    point: Tensor  # (d,)
    after: int


def grown(buffer: np.ndarray, index: int, axis: int = -1) -> np.ndarray:
    """The buffer with room for `index` along an axis, longer by half where it is full."""
    shape, room = list(buffer.shape), buffer.shape[axis]
    if index < room:
        return buffer
    shape[axis] = max(room // 2, 64, index + 1 - room)
    return np.concatenate([buffer, np.zeros(shape, dtype=buffer.dtype)], axis)


class Conditions(NamedTuple):
    """Under which rewards (n,) were measured."""

    workers: Tensor  # index (n,) of the worker of each, -1 where it is unknown
    times: Tensor  # time (n,) of each, NaN where it is unknown
    points: Tensor  # (n, d); with a fidelity, the last coordinate is the rank of its level


@dataclass(eq=False)
class Observations:
    """Raw rewards in order of arrival, with counts and sums at each distinct location (site).

    Buffers lie in main memory and grow by half, so that an observation costs O(d) amortized;
    tensors on a CPU are views of them.

    Args:
        dimension: Number of coordinates d of a location.
        device: Device of the tensors that are given out.
        arms: Indices of the arms of the sites, where locations are arms.
        worker_names: Names of the workers that are known, in order of first observation.
    """

    dimension: int
    device: torch.device = field(default=torch.device("cpu"), metadata={"saved": False})
    arms: list[int] = field(default_factory=list)
    worker_names: list[str] = field(default_factory=list)
    _number: int = 0
    _sites_number: int = 0
    _reward: np.ndarray = field(default_factory=lambda: np.zeros(64))
    _sem: np.ndarray = field(default_factory=lambda: np.zeros(64))
    _site: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))
    _worker: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))
    _time: np.ndarray = field(default_factory=lambda: np.zeros(64))
    _points: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (capacity, d)
    _count: np.ndarray = field(default_factory=lambda: np.zeros(64))
    _sum: np.ndarray = field(default_factory=lambda: np.zeros(64))
    has_errors: bool = False  # whether any standard error is above 0
    sum_of_squares: float = 0.0  # of the rewards
    _index: dict[int | bytes, int] = field(default_factory=dict, metadata={"saved": False})

    __repr__ = brief

    def __post_init__(self) -> None:
        if not len(self._points):
            self._points = np.zeros((64, self.dimension))

    def __len__(self) -> int:
        return self._number

    @property
    def rewards(self) -> Tensor:
        """Raw rewards (t,)."""
        return self._tensor(self._reward[: self._number])

    @property
    def sems(self) -> Tensor:
        """Standard errors (t,) of the rewards, 0 where none was told."""
        return self._tensor(self._sem[: self._number])

    @property
    def workers(self) -> Tensor:
        """Index (t,) into `worker_names` of who measured each reward, -1 where none was told."""
        return self._tensor(self._worker[: self._number])

    @property
    def times(self) -> Tensor:
        """Time (t,) of each reward, NaN where none was told."""
        return self._tensor(self._time[: self._number])

    @property
    def conditions(self) -> Conditions:
        """Under which the rewards were measured, on the CPU."""
        return Conditions(self.workers.cpu(), self.times.cpu(), self.sites[self.site].cpu())

    @property
    def site(self) -> Tensor:
        """Index into `sites` of each reward (t,)."""
        return self._tensor(self._site[: self._number])

    @property
    def sites(self) -> Tensor:
        """Distinct locations (S, d) in order of first observation."""
        return self._tensor(self._points[: self._sites_number])

    @property
    def counts(self) -> Tensor:
        """Rewards at each site (S,), as floats."""
        return self._tensor(self._count[: self._sites_number])

    @property
    def sums(self) -> Tensor:
        """Sum of the rewards at each site (S,)."""
        return self._tensor(self._sum[: self._sites_number])

    def append(
        self,
        point: Tensor,
        reward: float,
        arm: int | None = None,
        sem: float = 0.0,
        worker: str | None = None,
        time: float | None = None,
    ) -> int:
        """Record a reward.

        Args:
            point: Location (d,).
            reward: Finite reward.
            arm: Index of the arm, on a space of arms; arms are sites of their own even where
                their coordinates are equal.
            sem: Standard error of the reward.
            worker: Name of who measured it, None where it is unknown.
            time: When it was measured, None where it is unknown.

        Returns:
            The index of the site.
        """
        site = self._site_of(point, arm)
        number = self._number
        self._reward, self._site = grown(self._reward, number), grown(self._site, number)
        self._sem, self._time = grown(self._sem, number), grown(self._time, number)
        self._worker = grown(self._worker, number)
        self._reward[number], self._site[number], self._sem[number] = reward, site, sem
        self._worker[number] = self._index_of(worker)
        self._time[number] = math.nan if time is None else time
        self.has_errors = self.has_errors or sem > 0.0
        self._count[site] += 1.0
        self._sum[site] += reward
        self.sum_of_squares += reward * reward
        self._number += 1
        return site

    def with_rewards(self, rewards: Tensor) -> Observations:
        """The same observations with other rewards (t,); nothing may be appended to them."""
        other = copy.copy(self)
        values = rewards.cpu().numpy()
        other._reward, other.sum_of_squares = values, float(values @ values)
        other._sum = np.bincount(self._site[: self._number], values, self._sites_number)
        return other

    @property
    def frozen(self) -> Observations:
        """The same observations, which later ones do not change; nothing may be appended."""
        other, sites = object.__new__(Observations), self._sites_number
        other.__dict__.update(self.__dict__)  # a third of the time of `copy.copy`
        other.arms, other.worker_names = self.arms[:sites], self.worker_names.copy()
        other._count, other._sum = self._count[:sites].copy(), self._sum[:sites].copy()
        return other

    def first(self, number: int) -> Observations:
        """The first `number` observations; nothing may be appended."""
        if number == self._number:
            return self.frozen
        other = copy.copy(self)
        site, rewards = self._site[:number], self._reward[:number]
        other._number, other._sites_number = number, int(site.max(initial=-1)) + 1
        other.arms = self.arms[: other._sites_number]
        other._count = np.bincount(site, minlength=other._sites_number).astype(np.float64)
        other._sum = np.bincount(site, rewards, other._sites_number)
        other.has_errors = bool(self._sem[:number].any())
        other.sum_of_squares = float(rewards @ rewards)
        return other

    def among(self, chosen: Tensor) -> Observations:
        """Some of the observations, as a mask (t,), at their sites alone."""
        other = Observations(self.dimension, self.device)
        points, names = self.sites.cpu(), [*self.worker_names, None]  # -1 where none was told
        for row in chosen.nonzero()[:, 0].tolist():
            site = int(self._site[row])
            other.append(
                points[site],
                float(self._reward[row]),
                self.arms[site] if self.arms else None,
                float(self._sem[row]),
                names[self._worker[row]],
                float(self._time[row]),
            )
        return other

    @property
    def writable(self) -> Observations:
        """A copy to which observations may be appended."""
        return copy.deepcopy(self)

    @property
    def digest(self) -> bytes:
        """Digest that observations of the same rewards in the same order have in common."""
        found, number = hashlib.sha256(), self._number
        for column in (self._site, self._reward, self._sem, self._worker, self._time):
            found.update(column[:number].tobytes())
        found.update(self._points[: self._sites_number].tobytes())
        return found.digest()

    @property
    def last_row(self) -> tuple[int, float, float]:
        """Site, reward and standard error of the last observation."""
        last = self._number - 1
        return int(self._site[last]), float(self._reward[last]), float(self._sem[last])

    @property
    def last(self) -> Observations:
        """The last observation alone, at its site; nothing may be appended."""
        other = copy.copy(self)
        for name in ("_reward", "_sem", "_site", "_worker", "_time"):
            setattr(other, name, getattr(self, name)[self._number - 1 : self._number])
        other._number = 1
        return other

    @property
    def pulls(self) -> list[Pull]:
        """Counts of the rewards of each site, in order of first observation."""
        arms: Sequence[int | None] = self.arms or [None] * self._sites_number
        counts = self._count[: self._sites_number].astype(np.int64).tolist()
        return [Pull(*each) for each in zip(self.sites, arms, counts, strict=True)]

    def _index_of(self, worker: str | None) -> int:
        if worker is None:
            return -1
        if worker not in self.worker_names:
            self.worker_names.append(worker)
        return self.worker_names.index(worker)

    def _site_of(self, point: Tensor, arm: int | None) -> int:
        """The site at a location, a new one if there is none."""
        number = self._sites_number
        if len(self._index) != number:
            keys = self.arms or [point.tobytes() for point in self._points[:number]]
            self._index = {key: site for site, key in enumerate(keys)}
        site = self._index.setdefault(key_of(point, arm), number)
        if site < number:
            return site
        self._points = grown(self._points, site, axis=0)
        self._count, self._sum = grown(self._count, site), grown(self._sum, site)
        self._points[site] = point.detach().cpu().numpy()
        self._sites_number += 1
        if arm is not None:
            self.arms.append(arm)
        return site

    def _tensor(self, rows: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(rows)
        return tensor if self.device.type == "cpu" else tensor.to(self.device)


def key_of(point: Tensor, arm: int | None) -> int | bytes:
    """Identity of a location: of an arm its index, else the coordinates (d,)."""
    return point.detach().cpu().numpy().tobytes() if arm is None else arm
