"""Every reward as it came, by the distinct point (site) that it was measured at."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class History:
    """Raw rewards in order of arrival, kept for ever, with counts and sums for each site.

    Buffers lie in main memory and grow by doubling, so that a tell costs O(d) and, apart from the
    doubling, copies nothing; tensors on a CPU are views of them.
    """

    def __init__(self, dimension: int, device: torch.device | str = "cpu") -> None:
        self.dimension = dimension
        self.device = torch.device(device)
        self._on_host = self.device.type == "cpu"
        self._number = 0
        self._sites_number = 0
        self._reward = np.zeros(64)
        self._site = np.zeros(64, dtype=np.int64)
        self._sites = np.zeros((64, dimension))
        self._count = np.zeros(64)
        self._sum = np.zeros(64)
        self._known: dict[bytes | int, int] = {}
        self.arms: list[int] = []  # of the sites, where they are arms

    def __len__(self) -> int:
        return self._number

    @property
    def rewards(self) -> Tensor:
        """Raw rewards (t,)."""
        return self._tensor(self._reward, self._number)

    @property
    def site(self) -> Tensor:
        """Index into `sites` of each reward (t,)."""
        return self._tensor(self._site, self._number)

    @property
    def sites(self) -> Tensor:
        """Distinct points (S, d) in order of first measurement."""
        return self._tensor(self._sites, self._sites_number)

    @property
    def counts(self) -> Tensor:
        """Rewards at each site (S,), as floats."""
        return self._tensor(self._count, self._sites_number)

    @property
    def sums(self) -> Tensor:
        """Sum of the rewards at each site (S,)."""
        return self._tensor(self._sum, self._sites_number)

    def append(self, point: Tensor, reward: float, arm: int | None = None) -> int:
        """Record a reward at a point (d,) or at an arm, which is told by its index; gives the site.

        Arms are sites of their own even where their coordinates are the same.
        """
        key = point.detach().cpu().numpy().tobytes() if arm is None else arm
        site = self._known.get(key)
        if site is None:
            site = self._known[key] = self._sites_number
            self._sites = _room(self._sites, site)
            self._count = _room(self._count, site)
            self._sum = _room(self._sum, site)
            self._sites[site] = point.detach().cpu().numpy()
            self._sites_number += 1
            if arm is not None:
                self.arms.append(arm)
        self._reward = _room(self._reward, self._number)
        self._site = _room(self._site, self._number)
        self._reward[self._number] = reward
        self._site[self._number] = site
        self._count[site] += 1.0
        self._sum[site] += reward
        self._number += 1
        return site

    def _tensor(self, buffer: np.ndarray, number: int) -> Tensor:
        tensor = torch.from_numpy(buffer[:number])
        return tensor if self._on_host else tensor.to(self.device)


def _room(buffer: np.ndarray, index: int) -> np.ndarray:
    if index < len(buffer):
        return buffer
    return np.concatenate([buffer, np.zeros_like(buffer)])
