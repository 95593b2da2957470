"""Random dictionaries of the arms pulled, and when to draw them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.features.nystrom import NystromEmbedding
from surefoot.features.random_dictionary import Nystrom
from surefoot.regression.tabulated import Tabulated

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_SMALL = 2**14  # numbers in a table whose features are worked out at once for many rounds
_ROOM = 2**29  # bytes of kernel rows that are kept


class Sketching:
    """Draws the dictionary of `rule` when it is due, and tabulates its features at all arms."""

    def __init__(
        self,
        rule: Nystrom,
        kernel: Kernel,
        points: Tensor,  # (A, d)
        prior: Tensor,  # (A,)
        ridge: float,
        generator: torch.Generator,
    ) -> None:
        self.rule = rule
        self.generator = generator
        self._kernel = kernel
        self._points = points
        self._prior = prior
        self._ridge = ridge
        self._rows = KernelRows(kernel, points)
        self._explained = 0.0
        self._start = prior  # (A,), variance at the last draw
        self._start_at = prior.cpu().numpy()  # the same, quick to look up
        self._dictionary: Tensor | None = None  # arms
        self._chance: dict[int, float] = {}  # at which each member of the dictionary is in

    def nothing(self) -> Tabulated:
        """The table before the first pull: no features."""
        none = self._points[:0]
        eye = self._prior.new_zeros(0, 0)
        embedding = NystromEmbedding(self._kernel, none, eye)
        columns = self._prior.new_zeros(len(self._points), 0)
        return Tabulated(embedding, self._points, self._prior, columns)

    def count(self, arm: int, times: int = 1) -> None:
        """Count pulls of an arm against what one dictionary may explain."""
        self._explained += times * float(self._start_at[arm]) / self._ridge

    @property
    def is_due(self) -> bool:
        """Whether the pulls so far call for a new dictionary."""
        return self._dictionary is None or self.rule.is_due(self._explained)

    def draw(self, pulled: list[int], last: int, counts: Tensor) -> Tabulated:
        """A new dictionary of the arms pulled (S), by their variance at the last draw.

        The last pull is in it where the draw leaves it empty.
        """
        arms = torch.tensor(pulled, dtype=torch.int64)
        relative = self._start[arms.to(self._start.device)] / self._ridge
        if self.rule.resample == "incremental":
            chosen = self._stayed(arms, relative, float(counts.sum()), last)
        else:
            chosen = arms[self.rule.draw(relative, counts, self.generator)]
        return self._table(chosen if len(chosen) else torch.tensor([last]))

    def _stayed(self, arms: Tensor, relative: Tensor, pulls: float, last: int) -> Tensor:
        """The members that stay, each with p_new / p_old, and the last pull with its own p."""
        chances = self.rule.pull_chances(relative, pulls).cpu().tolist()
        now = dict(zip(arms.tolist(), chances, strict=True))
        before = self._chance if last in self._chance else self._chance | {last: 1.0}
        draws = torch.rand(len(before), dtype=torch.float64, generator=self.generator).tolist()
        self._chance = {
            arm: min(old, now[arm])
            for (arm, old), draw in zip(before.items(), draws, strict=True)
            if draw * old < min(old, now[arm])
        }
        return torch.tensor(list(self._chance), dtype=torch.int64)

    def begin(self, variance: Tensor) -> None:
        """The variance (A,) from which the next pulls are counted."""
        self._explained, self._start = 0.0, variance
        self._start_at = variance.cpu().numpy()

    def state(self) -> dict[str, Tensor]:
        """All that changes, as tensors; for `restored`."""
        tensors = {
            "explained": torch.tensor(self._explained, dtype=torch.float64),
            "start": self._start,
            "members": torch.tensor(list(self._chance), dtype=torch.int64),
            "chances": torch.tensor(list(self._chance.values()), dtype=torch.float64),
        }
        return tensors if self._dictionary is None else tensors | {"dictionary": self._dictionary}

    def restored(self, tensors: dict[str, Tensor]) -> Tabulated:
        """Go on from a state; gives the table of its dictionary."""
        self.begin(tensors["start"])
        self._explained = float(tensors["explained"])
        members, chances = tensors["members"].tolist(), tensors["chances"].tolist()
        self._chance = dict(zip(members, chances, strict=True))
        if "dictionary" not in tensors:
            return self.nothing()
        return self._table(tensors["dictionary"].cpu())

    def _table(self, chosen: Tensor) -> Tabulated:
        self._dictionary = chosen
        self._rows.need(chosen)
        points = self._points[chosen.to(self._points.device)]
        embedding, stayed = NystromEmbedding.of_gram(self._kernel, points, self._rows.gram(chosen))
        rows = self._rows.at(chosen[stayed.cpu()])
        if self.rule.resample == "adaptive" and rows.numel() <= _SMALL:
            features = rows.T @ embedding.inverse_root.T
            return Tabulated(embedding, self._points, self._prior, features)
        return Tabulated.of_kernel(embedding, self._points, self._prior, rows.T)


class KernelRows:
    """k(x, .) at all arms for arms x, computed once each as far as memory goes.

    Rows are computed one at a time, so that they do not depend on what else is asked for.
    """

    def __init__(self, kernel: Kernel, points: Tensor) -> None:
        self._kernel = kernel
        self._points = points
        self._place: dict[int, int] = {}
        self._known = points.new_zeros(0, len(points))

    def need(self, arms: Tensor) -> None:
        """Have the rows of arms (n,); others are let go when there is no more room."""
        names = arms.tolist()
        missing = [arm for arm in names if arm not in self._place]
        if missing and (len(self._place) + len(missing)) * len(self._points) * 8 > _ROOM:
            kept = [arm for arm in names if arm in self._place]
            self._known = self._known[self._places(kept)]
            self._place = {arm: place for place, arm in enumerate(kept)}
        for arm in missing:
            place = self._place[arm] = len(self._place)
            if place == len(self._known):
                spare = self._known.new_zeros(max(8, place // 2), len(self._points))
                self._known = torch.cat([self._known, spare])
            self._known[place] = kernels.block(
                self._kernel, self._points[arm : arm + 1], self._points
            )[0]

    def at(self, arms: Tensor) -> Tensor:
        """Rows (n, A) of arms (n,) that are there."""
        return self._known[self._places(arms.tolist())]

    def gram(self, arms: Tensor) -> Tensor:
        """Kernel matrix (n, n) of arms (n,) whose rows are there."""
        columns = arms.to(self._known.device)
        return self._known[self._places(arms.tolist())[:, None], columns[None, :]]

    def _places(self, arms: list[int]) -> Tensor:
        places = [self._place[arm] for arm in arms]
        return torch.tensor(places, dtype=torch.int64, device=self._known.device)
