"""What is believed of the function: the history, what was learnt from it, and the posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.threads import one_thread
from surefoot.estimators import Estimator, Huber, StudentT
from surefoot.estimators.log import Logging, Terms
from surefoot.estimators.spread import robust_spread
from surefoot.features import Dictionary, Exact, Features, Nystrom, QuadratureFourier, RandomFourier
from surefoot.hyperparameters.student_t_fit import Learner, Learnt
from surefoot.optimizer import serialization
from surefoot.optimizer.batches import Batches
from surefoot.optimizer.belief import Belief, Carry, Units, believe, believe_tally, reward_weights
from surefoot.optimizer.site_sketching import SiteSketching
from surefoot.optimizer.sketching import Sketching
from surefoot.optimizer.tally import Tally
from surefoot.regression.observations import History
from surefoot.regression.tabulated import Tabulated
from surefoot.spaces import Arms, Space
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput, NotReady

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_LEARN_EVERY = 0.01  # share of the rewards that may be new before the kernel is learnt again
_LARGEST_TABLE = 2048  # arms up to which all of them, pulled or not, make the exact dictionary
_UNITS_EVERY = 0.01  # share of the rewards that may be new before units are worked out again
_UNITS_AT_ONCE = 1000  # rewards up to which they are after each
_LEARNT = ("noise", "dof", "centre", "scale")


class Model:
    """Keeps a belief up to date as rewards arrive.

    The kernel is given, or learnt by `learner`. Where the features of all arms last, pulls are
    tallied and a round costs the same however many came before.
    """

    def __init__(
        self,
        space: Space,
        given: Kernel | None,
        learner: Learner | None,
        features: Features | Nystrom,
        estimator: Estimator,
        ridge: float,
        standardise: bool,
        generator: torch.Generator,
    ) -> None:
        device = space.lower.device
        self.space = space
        self.given = None if given is None else kernels.owned(given, space).to(device)
        self.learner = learner or Learner()
        if isinstance(features, Nystrom) and given is None:
            raise InvalidInput(
                "`Nystrom` features need a kernel that is given: pass a `kernel`, or `Sketch()` "
                "features for one that is learnt."
            )
        self.features = features
        self.estimator = estimator
        self.given_ridge = ridge
        self.standardise = standardise
        self._generator = generator
        self.history = History(space.dimension, device)
        self.learnt: Learnt | None = None
        self._learnt_at = 0
        self._belief: Belief | None = None
        self._carry = Carry()
        # The likeliest prior rests on residuals that are clipped as in this estimate.
        self._clips = isinstance(estimator, Huber) and not estimator.growing
        self._standard = 0, Units(provisional=self._clips)
        self._prior: tuple[Kernel, float] | None = None
        self._tally = self._begin_tally()
        batched = self._tally is not None and self._tally.batched
        self._batches = Batches(self._tally) if batched and self._tally is not None else None
        self._site_sketching: SiteSketching | None = None
        if isinstance(features, Nystrom) and self._tally is None:
            self._site_sketching = SiteSketching(features, self.kernel, ridge, generator)

    @property
    def kernel(self) -> Kernel:
        """The kernel in use; one that is to be learnt is learnt from the rewards there are."""
        if self.given is not None:
            return self.given
        return (self.learnt or self._learn()).kernel

    @property
    def ridge(self) -> float:
        """The regularisation in use, in the model's units."""
        return self.given_ridge if self.learnt is None else self.learnt.noise

    @property
    def latest(self) -> Belief | None:
        """The last belief, if there is one: of all rewards so far, or of those before a batch."""
        begun_with = None if self._batches is None else self._batches.begun_with
        return self._belief or begun_with

    @property
    def batched(self) -> bool:
        """Whether arms are chosen in batches, without the rewards of their batch."""
        return self._batches is not None

    def effective_dimension(self) -> float:
        """Sum of sigma^2(x) / ridge over all pulls, with the variance of now."""
        if len(self.history) == 0:
            return 0.0
        posterior = (self.latest or self.believe(learn=False)).posterior
        if self._tally is not None and posterior.table is not None:
            deviation = posterior.table.deviation[self._tally.arms]
        else:
            deviation = posterior.mean_and_deviation(self.history.sites)[1]
        relative = (deviation / posterior.scale).square() / self.ridge
        return float((self.history.counts * relative).sum())

    @property
    def prior_variance(self) -> float:
        """The largest k(x, x) that can be seen: of all arms, or of the ends of a box."""
        if self.given is None and self.learnt is None:
            return 1.0
        kernel = self.kernel
        if self._prior is None or self._prior[0] is not kernel:
            ends = torch.stack([self.space.lower, self.space.upper])
            points = self.space.points if isinstance(self.space, Arms) else ends
            self._prior = kernel, float(kernels.diagonal(kernel, points).max())
        return self._prior[1]

    def record(self, location: Location, reward: float) -> None:
        """Take in a reward; what follows from it is worked out when it is asked for."""
        arm, tally = location.arm, self._tally
        site = self.history.append(location.point, reward, arm)
        if tally is not None and arm is not None:
            if self._batches is not None:
                self._batches.reward_came(arm)
                tally.note(site, reward)
            else:
                tally.add(site, arm, reward)
        elif self._site_sketching is not None:
            self._site_sketching.count(self.history)
        self._set_aside()

    def await_reward(self, arm: int, times: int = 1) -> None:
        """Count pulls of an arm in the geometry before their rewards are there; for batches."""
        if self._batches is not None:
            self._set_aside()
            self._batches.await_reward(arm, times)

    def give_up(self, arm: int, times: int = 1) -> None:
        """Take back pulls whose rewards will not come; for batches, which end with it."""
        if self._batches is not None and self._batches.give_up(arm, times):
            self._set_aside()

    def next_of_batch(self, width: Callable[[], float], among: list[int] | None = None) -> int:
        """The arm to choose next, of those `among` which it must be.

        The width is asked for at the start of each batch.
        """
        tally, batches = self._tally, self._batches
        if tally is None or batches is None:
            raise NotReady("arms are chosen in batches only from a sketch of arms.")
        if batches.is_over:
            batches.bring_up_to_date(tally.sketching is not None and tally.sketching.is_due)
            self._belief = believe_tally(tally, self.estimator, self._units(), self._carry)
            batches.begin(self._belief, width)
        return batches.best(among)

    def believe(self, learn: bool) -> Belief:
        """The belief of all rewards so far, at least one; with `learn`, of a kernel up to date."""
        if self.given is None and self._learning_is_due(learn):
            self._learn()
        if self._belief is None:
            if self._tally is not None:
                if self._batches is not None:
                    self._batches.bring_up_to_date(draw=self._tally.table.dimension == 0)
                self._belief = believe_tally(
                    self._tally, self.estimator, self._units(), self._carry
                )
            else:
                with one_thread():
                    self._belief = self._believe_anew()
        return self._belief

    def weights(self) -> Tensor:
        """The weight in [0, 1] of each reward (t,) in the estimate from all of them."""
        weights = self.believe(learn=True).estimate.weights
        if weights is None and self._tally is not None:
            weights = reward_weights(self._tally, self.estimator, self._units())
        return torch.ones_like(self.history.rewards) if weights is None else weights

    def after_tell(self) -> Belief:
        """The belief that the next arm is chosen by."""
        return (self.latest if self.batched else None) or self.believe(learn=False)

    def state(self, tensors: dict[str, Tensor]) -> dict[str, Any]:
        """All that `restore` needs, as values, and tensors added to those given."""
        tensors |= {
            "rewards": self.history.rewards,
            "site": self.history.site,
            "sites": self.history.sites,
            "arms": torch.tensor(self.history.arms, dtype=torch.int64),
        }
        for name in ("weights", "dictionary"):
            if getattr(self._carry, name) is not None:
                tensors[f"carry.{name}"] = getattr(self._carry, name)
        if self._tally is not None:
            tensors |= self._tally.state()
        if self._site_sketching is not None:
            tensors |= self._site_sketching.state()
        learnt = None
        if self.learnt is not None:
            learnt = {name: getattr(self.learnt, name) for name in _LEARNT}
            learnt["kernel"] = serialization.kernel_to_values(self.learnt.kernel, "learnt", tensors)
        return {
            "learnt": learnt,
            "learnt_at": self._learnt_at,
            "believed": self._belief is not None and not self.batched,
            "batches": None if self._batches is None else self._batches.state(tensors),
            "dictionary_sites": self._carry.sites,
            "standard": [self._standard[0], self._standard[1].centre, self._standard[1].scale],
        }

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        device = self.space.lower.device
        tensors = {name: value.to(device) for name, value in tensors.items()}
        arms = tensors["arms"].tolist() or [None] * len(tensors["sites"])
        for site, reward in zip(tensors["site"].tolist(), tensors["rewards"].tolist(), strict=True):
            self.history.append(tensors["sites"][site], reward, arms[site])
        if values["learnt"] is not None:
            learnt = dict(values["learnt"])
            kernel = serialization.kernel_from_values(learnt.pop("kernel"), "learnt", tensors)
            self.learnt = Learnt(kernel=kernel.to(device), **learnt)
        self._learnt_at = values["learnt_at"]
        self._carry = Carry(
            tensors.get("carry.weights"),
            tensors.get("carry.dictionary"),
            values["dictionary_sites"],
        )
        known, centre, scale = values["standard"]
        self._standard = known, Units(centre, scale, provisional=self._clips)
        if self._tally is not None:
            self._tally.restore(tensors)
        if self._site_sketching is not None:
            self._site_sketching.restore(tensors)
        if self._batches is not None:
            self._batches.restore(values["batches"], tensors)
        if values["believed"]:
            self.believe(learn=False)

    def _believe_anew(self) -> Belief:
        estimator, features = self.estimator, self.features
        if self.learnt is not None and isinstance(estimator, StudentT):
            estimator = replace(estimator, dof=self.learnt.dof)
        if self._site_sketching is not None:
            features = self._site_sketching.features
        if isinstance(features, Nystrom):
            raise NotReady("`Nystrom` features draw a dictionary first.")
        return believe(
            self.history,
            self.kernel,
            features,
            estimator,
            self.ridge,
            self._units(),
            self._carry,
        )

    def _learning_is_due(self, wanted: bool) -> bool:
        if self.learnt is None or not wanted:
            return self.learnt is None
        fresh = len(self.history) - self._learnt_at
        return fresh >= self.learner.every and fresh > _LEARN_EVERY * self._learnt_at

    def _learn(self) -> Learnt:
        self._set_aside()
        span = self.space.upper - self.space.lower
        span = torch.where(span > 0.0, span, 1.0)
        points = self.history.sites[self.history.site]
        with one_thread():
            self.learnt, weights = self.learner(
                points, self.history.rewards, self.space.lower, span
            )
        self._learnt_at = len(self.history)
        self._carry = Carry(weights)
        return self.learnt

    def _set_aside(self) -> None:
        """The belief is no longer that of all rewards; the next one starts from it."""
        if self._belief is not None:
            self._carry = self._belief.carry()
            self._belief = None

    def _units(self) -> Units:
        if self.learnt is not None:
            return Units(self.learnt.centre, self.learnt.scale)
        if self.standardise:
            return self._standard_units()
        return Units()

    def _standard_units(self) -> Units:
        """Median and MAD of the rewards; of all but the last hundredth where there are many."""
        number, (known, units) = len(self.history), self._standard
        due = number > known * (1.0 + _UNITS_EVERY) if known > _UNITS_AT_ONCE else number != known
        if due:
            rewards = self.history.rewards
            units = Units(float(rewards.median()), robust_spread(rewards), provisional=self._clips)
            self._standard = number, units
        return units

    def _begin_tally(self) -> Tally | None:
        """Sums by arm, where the features of the arms last or can be drawn anew from them."""
        if self.given is None or not isinstance(self.space, Arms):
            return None
        features, points, ridge = self.features, self.space.points, self.given_ridge
        prior = kernels.diagonal(self.given, points).detach()
        table: Tabulated | Sketching
        if isinstance(features, Nystrom):
            table = Sketching(features, self.given, points, prior, ridge, self._generator)
            most = len(points)
        elif isinstance(features, QuadratureFourier | RandomFourier | Dictionary) or (
            isinstance(features, Exact) and len(points) <= _LARGEST_TABLE
        ):
            table = Tabulated.of(features.embed(self.given, points), points, prior)
            most = table.dimension
        else:
            return None
        terms = Terms(ridge, float(prior.max()), most)
        log = self.estimator.log(terms) if isinstance(self.estimator, Logging) else None
        return Tally(table, prior, ridge, log, self.history)
