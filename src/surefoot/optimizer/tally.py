"""Sums over the pulls of arms, and the geometry that they make, kept up as rewards arrive."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from surefoot.estimators.log import Log
from surefoot.optimizer.sketching import Sketching
from surefoot.regression.observations import History
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.tabulated import Tabulated

_REFRESH = 512  # pulls between factorisations from the counts
_CHECK = 32  # pulls between looks at whether rounding has moved a variance
_DRIFT = 1e-8  # of a variance, at which one comes sooner
_LARGEST_STEP = 1e4  # growth of V in one direction, after which V^{-1} has lost digits
_CACHED = 2**16  # numbers in a table that is read twice as fast as two columns are put together
_MOST_STEPS = 64  # rank-one updates that are taken together


class Tally:
    """V, Phi'y and the variance of all arms, by rank-one updates of features that last.

    A round costs the same however many came before. Features that are drawn anew now and then
    (`Sketching`) take the sums from the counts of the arms pulled. `log` is what the estimator
    keeps of the rewards; it may give less than a reward for the sums. What is of the size of the
    features or of the sites lies in main memory, what is of the size of the arms on their device.
    """

    mass = None

    def __init__(
        self,
        features: Tabulated | Sketching,
        prior: Tensor,
        ridge: float,
        log: Log | None,
        history: History,
    ) -> None:
        self.sketching = features if isinstance(features, Sketching) else None
        self.table = features if isinstance(features, Tabulated) else features.nothing()
        # In batches pulls and their rewards come apart.
        self.batched = self.sketching is not None and self.sketching.rule.batched
        self.prior = prior  # (A,), k(x, x)
        self.ridge = ridge
        self.log = log
        self.factor = RidgeFactor.of(self.table.columns[:0].cpu(), ridge)
        self.variance = prior  # (A,), as of the last `products`
        self.moments = torch.zeros(self.table.dimension, dtype=prior.dtype)
        self._history = history
        self._sums = np.zeros(64)
        self._arms = np.zeros(64, dtype=np.int64)
        self._known_arms = 0
        self._steps: list[tuple[Tensor, float]] = []
        self._of_sites: tuple[Tensor, Tensor, Tensor] | None = None

    @property
    def arms(self) -> Tensor:
        """The arm of each site (S,)."""
        return self._sites()[0]

    @property
    def features(self) -> Tensor:
        """Features of the sites (S, m)."""
        return self._sites()[1]

    @property
    def residual(self) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ of the sites (S,)."""
        return self._sites()[2]

    @property
    def counts(self) -> Tensor:
        """Pulls of each site (S,)."""
        return self._history.counts

    @property
    def sums(self) -> Tensor:
        """Sum of what counts of the rewards of each site (S,)."""
        return torch.from_numpy(self._sums[: len(self._history.arms)])

    @property
    def number(self) -> int:
        """t, the number of pulls."""
        return len(self._history)

    @property
    def site(self) -> Tensor:
        """The site of each pull (t,)."""
        return self._history.site

    @property
    def rewards(self) -> Tensor:
        """Raw rewards (t,)."""
        return self._history.rewards

    def add(self, site: int, arm: int, reward: float) -> None:
        """The pull that the history has just taken in."""
        kept = self.note(site, reward)
        if self.sketching is not None:
            self.sketching.count(arm)
            if self.sketching.is_due:
                self.sketch_anew({}, arm)
                return
        feature = self.table.at(arm).cpu()
        solved, growth = self._step(feature)
        self._steps.append((solved, growth))
        self.moments.add_(feature, alpha=kept)
        crowded = self.number % _REFRESH == 0 or len(self._steps) > _MOST_STEPS
        if crowded or growth > _LARGEST_STEP:
            self.refresh()

    def note(self, site: int, reward: float) -> float:
        """Take in a reward at a site, without its pull; gives what of it counts in the sums."""
        if site == len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
        kept = reward if self.log is None else self.log.append(site, reward)
        self._sums[site] += kept
        return kept

    def step(self, arm: int, times: int = 1) -> tuple[Tensor, float]:
        """Take in pulls without their rewards; gives the step of V^{-1} (`RidgeFactor.stepped`)."""
        return self._step(times**0.5 * self.table.at(arm).cpu())

    def _step(self, feature: Tensor) -> tuple[Tensor, float]:
        self.factor, solved, growth = self.factor.stepped(feature)
        return solved, growth

    def sketch_anew(self, awaited: dict[int, int], last: int) -> None:
        """Draw the dictionary anew from all pulls, those with rewards `awaited` (by arm) too."""
        if self.sketching is None:
            return
        known = self._history.arms
        counts = dict(zip(known, self.counts.tolist(), strict=True))
        for arm, number in awaited.items():
            counts[arm] = counts.get(arm, 0.0) + number
        pulls = torch.tensor(list(counts.values()), dtype=torch.float64)
        self.table = self.sketching.draw(list(counts), last, pulls)
        self._of_sites = None
        self.refresh(awaited)
        if self.log is not None:
            self.log.redrawn()
        self.sketching.begin(self.variance)

    def refresh(self, awaited: dict[int, int] | None = None) -> None:
        """V and the variance anew from the counts, without what rounding has added up.

        Pulls whose rewards are `awaited` (by arm) count in V.
        """
        features, counts = self.features, self.counts.cpu()
        self.moments = features.T @ self.sums
        if awaited:
            arms = torch.tensor(list(awaited), device=self.prior.device)
            features = torch.cat([features, self.table.at(arms).cpu()])
            counts = torch.cat([counts, torch.tensor(list(awaited.values())).to(counts)])
        self.factor = RidgeFactor.of(features, self.ridge, counts)
        self.variance = self.table.variance(self.factor.to(self.variance.device))
        self._steps.clear()

    def leverage(self, sites: np.ndarray) -> np.ndarray:  # (k,) -> (k,)
        """At least phi' V^{-1} phi at sites."""
        arms = self._arms_of(sites)
        if self.variance.device.type == "cpu":
            variance = self.variance.numpy()[arms]
        else:
            variance = self.variance[torch.from_numpy(arms).to(self.variance.device)].cpu().numpy()
        return np.maximum(variance, 0.0) / self.ridge

    def products(self, coefficients: Tensor) -> Tensor:
        """Phi theta (A,) for coefficients (m,), bringing the variance up to date.

        Both in one reading of Phi, which is what a round on many arms costs.
        """
        coefficients = coefficients.to(self.prior.device)
        if len(self._steps) <= 1 and self.table.columns.numel() <= _CACHED:
            for solved, growth in self._steps:
                self._fall(self.table.product(solved), growth)
            product = self.table.product(coefficients)
        else:
            directions = [solved.to(self.prior.device) for solved, _ in self._steps]
            products = self.table.products(torch.stack([*directions, coefficients], -1))
            for column, (_, growth) in enumerate(self._steps):
                self._fall(products[:, column], growth)
            product = products[:, -1]
        self._steps.clear()
        if self.number % _CHECK == 0:
            self._refresh_if_drifted()
        return product

    def state(self) -> dict[str, Tensor]:
        """All that changes, as tensors; for `restore` on a tally of the same arms and features."""
        tensors = {
            "moments": self.moments,
            "variance": self.variance,
            "gram": self.factor.gram,
            "inverse": self.factor.inverse,
            "gain": torch.tensor(self.factor.information_gain, dtype=torch.float64),
            "sums": self.sums,
            "solved": _stack([solved for solved, _ in self._steps], self.moments),
            "growths": torch.tensor([growth for _, growth in self._steps], dtype=torch.float64),
        }
        if self.log is not None:
            tensors |= {f"log.{name}": x for name, x in self.log.state().items()}
        if self.sketching is not None:
            tensors |= {f"sketching.{name}": x for name, x in self.sketching.state().items()}
        return {f"tally.{name}": tensor for name, tensor in tensors.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        state = {name.removeprefix("tally."): x for name, x in tensors.items() if "tally." in name}
        if self.sketching is not None:
            self.table = self.sketching.restored(_under("sketching.", state))
        self.variance = state["variance"]
        gram, inverse, self.moments = (state[x].cpu() for x in ("gram", "inverse", "moments"))
        self.factor = RidgeFactor(self.ridge, gram, inverse, float(state["gain"]))
        self._sums = np.concatenate([state["sums"].cpu().numpy(), np.zeros(64)])
        self._steps = list(zip(state["solved"].cpu(), state["growths"].tolist(), strict=True))
        self._of_sites = None
        if self.log is not None:
            log = {name: x.cpu() for name, x in _under("log.", state).items()}
            self.log.restore(log)

    def _fall(self, product: Tensor, growth: float) -> None:
        """Take a step off the variance, given Phi times its direction (A,)."""
        self.variance = self.variance.addcmul(product, product, value=-self.ridge / growth)

    def _refresh_if_drifted(self) -> None:
        feature, fresh = self.features[-1:], RidgeFactor(self.ridge, self.factor.gram)
        exact = float(self.residual[-1] + self.ridge * fresh.leverage(feature))
        arm = self._history.arms[-1]
        if abs(exact - float(self.variance[arm])) > _DRIFT * float(self.prior[arm]):
            self.refresh()

    def _arms_of(self, sites: np.ndarray) -> np.ndarray:
        known = self._history.arms
        while self._known_arms < len(known):
            if self._known_arms == len(self._arms):
                self._arms = np.concatenate([self._arms, np.zeros_like(self._arms)])
            self._arms[self._known_arms] = known[self._known_arms]
            self._known_arms += 1
        return np.asarray(self._arms[sites])

    def _sites(self) -> tuple[Tensor, Tensor, Tensor]:
        """Arms, features and residual of the sites, in main memory but for the arms."""
        known = self._history.arms
        if self._of_sites is None or self._of_sites[0].shape[0] != len(known):
            arms = torch.tensor(known, dtype=torch.int64, device=self.prior.device)
            features = self.table.at(arms).cpu()
            residual = self.prior[arms].cpu() - features.square().sum(-1)
            self._of_sites = arms, features, residual.clamp_min_(0.0)
        return self._of_sites


def _stack(rows: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(rows) if rows else like.new_zeros(0, len(like))


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
