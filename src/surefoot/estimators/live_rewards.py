"""Rewards that a rising threshold may still cut."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class LiveRewards:
    """Arms and rewards with |y| h > b, h the root of the arm's leverage.

    Leverages only fall and thresholds only rise, so a reward once below the threshold is below it
    for ever and is let go; what stays is few.
    """

    def __init__(self) -> None:
        self._number = 0
        self._arm = np.zeros(64, dtype=np.int64)
        self._reward = np.zeros(64)
        self._order = np.zeros(64, dtype=np.int64)

    def append(self, arm: int, reward: float, order: int) -> None:
        """Take in reward number `order` of an arm."""
        if self._number == len(self._arm):
            self._arm, self._reward, self._order = (
                np.concatenate([column, np.zeros_like(column)])
                for column in (self._arm, self._reward, self._order)
            )
        self._arm[self._number] = arm
        self._reward[self._number] = reward
        self._order[self._number] = order
        self._number += 1

    def above(self, threshold: float, leverage: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Arms, rewards and numbers (k,) of those above, for leverages (A,); lets go of others."""
        arm, reward = self._arm[: self._number], self._reward[: self._number]
        heights = leverage[torch.from_numpy(arm).to(leverage.device)].sqrt().cpu().numpy()
        stays = np.abs(reward) * heights > threshold
        kept = int(stays.sum())
        for column in (self._arm, self._reward, self._order):
            column[:kept] = column[: self._number][stays]
        self._number = kept
        arms, rewards, orders = (
            torch.from_numpy(column[:kept].copy()).to(leverage.device)
            for column in (self._arm, self._reward, self._order)
        )
        return arms, rewards, orders

    def state(self) -> dict[str, Tensor]:
        """What there is, as tensors."""
        columns = {"arm": self._arm, "reward": self._reward, "order": self._order}
        return {name: torch.from_numpy(x[: self._number].copy()) for name, x in columns.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        self._number = 0
        columns = (tensors[name].tolist() for name in ("arm", "reward", "order"))
        for arm, reward, order in zip(*columns, strict=True):
            self.append(arm, reward, order)
