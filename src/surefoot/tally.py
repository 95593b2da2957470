"""Sums over the pulls of arms whose features last: the cost of a round does not grow with t."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from surefoot.estimators.estimator import Keep
from surefoot.estimators.live_rewards import LiveRewards
from surefoot.features.tabulated import Tabulated
from surefoot.ridge import RidgeFactor

_REFRESH = 512  # pulls between factorisations from the counts
_DRIFT = 1e-8  # of a leverage, at which one comes sooner


_STATE = ("counts", "sums", "moments", "leverage")


class Tally:
    """V, Phi'y, counts and leverages of all arms, by rank-one updates.

    `keep` says what of a reward goes into Phi'y, for estimators that decide it in the reward's own
    round; `live` holds rewards for estimators that decide anew each round.
    """

    def __init__(
        self, table: Tabulated, ridge: float, keep: Keep | None = None, live: bool = False
    ) -> None:
        features = table.features
        arms, dimension = features.shape
        self.table = table
        self.ridge = ridge
        self.keep = keep
        self.live = LiveRewards() if live else None
        self.factor = RidgeFactor.of(features[:0], ridge)
        self.counts = features.new_zeros(arms)
        self.sums = features.new_zeros(arms)
        self.moments = features.new_zeros(dimension)
        self.number = 0
        self.changed = 0
        self.last_changed = False
        self.leverage = features.square().sum(-1) / ridge  # (A,), as of the last `values`
        self._steps: list[tuple[Tensor, Tensor]] = []
        self._arm = np.zeros(64, dtype=np.int64)

    @property
    def arm(self) -> Tensor:
        """The arm of each reward (t,)."""
        return torch.from_numpy(self._arm[: self.number]).to(self.counts.device)

    def add(self, arm: int, reward: float) -> None:
        """One pull."""
        if self.number == len(self._arm):
            self._arm = np.concatenate([self._arm, np.zeros(64 + self.number, dtype=np.int64)])
        self._arm[self.number] = arm
        self.number += 1
        kept = reward if self.keep is None else self.keep(reward, self.number)
        self.last_changed = kept != reward
        self.changed += self.last_changed
        if self.live is not None:
            self.live.append(arm, reward, self.number - 1)
        feature = self.table.features[arm]
        solved = self.factor.solve(feature)
        self._steps.append((solved, 1.0 + feature @ solved))
        self.factor = self.factor.extended(feature.unsqueeze(0))
        self.counts[arm] += 1.0
        self.sums[arm] += reward
        self.moments.add_(feature, alpha=kept)
        if self.number % _REFRESH == 0:
            self.refresh()

    def refresh(self) -> None:
        """V and the leverages anew from the counts, without what rounding has added up."""
        pulled = self.counts.nonzero().squeeze(-1)
        features = self.table.features
        self.factor = RidgeFactor.of(features[pulled], self.ridge, self.counts[pulled])
        self.leverage = torch.cat([self.factor.leverage(part) for part in features.split(4096)])
        self._steps.clear()

    def products(self, coefficients: Tensor) -> Tensor:
        """Phi theta (A,) for coefficients (m,), bringing the leverages up to date.

        Both in one reading of Phi, which is what a round on many arms costs.
        """
        columns = torch.stack([*(solved for solved, _ in self._steps), coefficients], -1)
        products = self.table.features @ columns
        if self._steps:
            gains = torch.stack([gain for _, gain in self._steps])
            falls = (products[:, :-1].square() / gains).sum(-1)
            self.leverage = (self.leverage - falls).clamp_min_(0.0)
            self._steps.clear()
            self._refresh_if_drifted()
        return products[:, -1]

    def state(self) -> dict[str, Tensor]:
        """All that changes, as tensors; for `restore` on a tally of the same arms and features."""
        tensors = {f"tally.{name}": getattr(self, name) for name in _STATE}
        tensors["tally.gram"] = self.factor.gram
        tensors["tally.arm"] = self.arm
        tensors["tally.changed"] = torch.tensor([self.changed, int(self.last_changed)])
        tensors["tally.solved"] = _stack([solved for solved, _ in self._steps], self.moments)
        tensors["tally.gains"] = torch.tensor([float(gain) for _, gain in self._steps])
        if self.live is not None:
            tensors |= {f"tally.live.{name}": x for name, x in self.live.state().items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        for name in _STATE:
            setattr(self, name, tensors[f"tally.{name}"])
        self.factor = RidgeFactor.from_gram(self.ridge, tensors["tally.gram"])
        self._arm = tensors["tally.arm"].cpu().numpy().copy()
        self.number = len(self._arm)
        self.changed, last = tensors["tally.changed"].tolist()
        self.last_changed = bool(last)
        gains = tensors["tally.gains"].to(self.moments)
        self._steps = list(zip(tensors["tally.solved"], gains, strict=True))
        if self.live is not None:
            self.live.restore(
                {name: tensors[f"tally.live.{name}"].cpu() for name in self.live.state()}
            )

    def _refresh_if_drifted(self) -> None:
        arm = int(self._arm[self.number - 1])
        exact = self.factor.leverage(self.table.features[arm].unsqueeze(0))
        if abs(float(exact - self.leverage[arm])) > _DRIFT:
            self.refresh()


def _stack(rows: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(rows) if rows else like.new_zeros(0, len(like))
