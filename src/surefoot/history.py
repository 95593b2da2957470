"""Every reward as it came, by the distinct point (site) that it was measured at."""

from __future__ import annotations

import torch
from torch import Tensor


class History:
    """Raw rewards in order of arrival, kept for ever, with counts and sums for each site.

    Buffers grow by doubling, so a tell costs O(d) and never a copy of what is there.
    """

    def __init__(self, dimension: int, device: torch.device | str = "cpu") -> None:
        self.dimension = dimension
        self.device = torch.device(device)
        self._number = 0
        self._sites_number = 0
        self._reward = torch.empty(64, dtype=torch.float64, device=device)
        self._site = torch.empty(64, dtype=torch.int64, device=device)
        self._sites = torch.empty(64, dimension, dtype=torch.float64, device=device)
        self._count = torch.zeros(64, dtype=torch.float64, device=device)
        self._sum = torch.zeros(64, dtype=torch.float64, device=device)
        self._known: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._number

    @property
    def rewards(self) -> Tensor:
        """Raw rewards (t,)."""
        return self._reward[: self._number]

    @property
    def site(self) -> Tensor:
        """Index into `sites` of each reward (t,)."""
        return self._site[: self._number]

    @property
    def sites(self) -> Tensor:
        """Distinct points (S, d) in order of first measurement."""
        return self._sites[: self._sites_number]

    @property
    def counts(self) -> Tensor:
        """Rewards at each site (S,), as floats."""
        return self._count[: self._sites_number]

    @property
    def sums(self) -> Tensor:
        """Sum of the rewards at each site (S,)."""
        return self._sum[: self._sites_number]

    def append(self, point: Tensor, reward: float) -> int:
        """Record a reward at a point (d,); gives the site's index."""
        key = point.detach().cpu().numpy().tobytes()
        site = self._known.get(key, self._sites_number)
        if site == self._sites_number:
            self._sites = _room(self._sites, site)
            self._count = _room(self._count, site)
            self._sum = _room(self._sum, site)
            self._sites[site] = point
            self._count[site] = 0.0
            self._sum[site] = 0.0
            self._known[key] = site
            self._sites_number += 1
        self._reward = _room(self._reward, self._number)
        self._site = _room(self._site, self._number)
        self._reward[self._number] = reward
        self._site[self._number] = site
        self._count[site] += 1.0
        self._sum[site] += reward
        self._number += 1
        return site


def _room(buffer: Tensor, index: int) -> Tensor:
    if index < len(buffer):
        return buffer
    grown = torch.empty(
        2 * len(buffer), *buffer.shape[1:], dtype=buffer.dtype, device=buffer.device
    )
    grown[: len(buffer)] = buffer
    return grown
