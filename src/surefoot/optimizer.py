"""The loop: ask for a point, tell its reward, recommend the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from surefoot import _checks, kernels, saving
from surefoot.belief import Belief, Carry, Units, believe, believe_tally
from surefoot.estimators import (
    AdaptiveTruncation,
    Estimator,
    LeastSquares,
    StudentT,
    Truncation,
)
from surefoot.estimators.spread import robust_spread
from surefoot.features import Exact, Features, QuadratureFourier, RandomFourier
from surefoot.features.tabulated import Tabulated
from surefoot.fit import Learner, Learnt
from surefoot.history import History
from surefoot.maximise import best_arm, best_point, scores
from surefoot.policies import Policy, Score, Situation, UpperConfidenceBound
from surefoot.policies.feasibility import feasibility
from surefoot.posterior import Posterior
from surefoot.spaces import Arms, Box, Space
from surefoot.tally import Tally
from surefoot.types import Info, InvalidInput, NotReady, Query, Recommendation
from surefoot.widths import Progress, Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_LEARN_EVERY = 0.01  # share of the rewards that may be new before the kernel is learnt again
_NO_BETTER = 1e-3  # of the spread of the rewards: then a point that was measured is recommended
_LARGEST_TABLE = 2048  # arms up to which all of them, pulled or not, make the exact dictionary


_PART_NAMES = ("features", "estimator", "width_rule", "policy", "learner")
_ARGUMENTS = {"width_rule": "width"}
_PLAIN_NAMES = ("ridge", "standardise", "seed", "_initial_used", "_next_id", "_learnt_at")


class _Place(NamedTuple):
    """Where a reward belongs."""

    point: Tensor
    arm: int | None
    query: int | None


class Optimizer:
    """Maximises an unknown function from noisy measurements.

    `space` is `Arms` or `Box`; `kernel` a GPyTorch kernel, or None to learn one (on spaces with
    coordinates); `features`, `estimator`, `width` and `policy` are the parts that a named
    algorithm puts together (`surefoot.algorithms`). With `standardise`, rewards are centred and
    scaled by median and median absolute deviation first. `ridge` is the regularisation, which is
    the noise variance in the units of the (standardised) rewards; a learnt kernel brings its own.
    The first `initial` points on a space are spread evenly instead of chosen.

    All randomness comes from `seed`; the same seed and the same rewards give the same run.
    """

    def __init__(
        self,
        space: Space,
        kernel: Kernel | None = None,
        *,
        features: Features | None = None,
        estimator: Estimator | None = None,
        width: Width | None = None,
        policy: Policy | None = None,
        learner: Learner | None = None,
        ridge: float = 1.0,
        standardise: bool = False,
        initial: int = 0,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> None:
        if not isinstance(space, Arms | Box):
            raise InvalidInput(f"`space` is {space!r}, expected `Arms` or `Box`.")
        if kernel is not None and learner is not None:
            raise InvalidInput("both `kernel` and `learner` came: pass one of them.")
        if isinstance(space, Arms) and not space.has_coordinates and kernel is None:
            raise InvalidInput(
                "`Arms` without coordinates needs a kernel: pass `kernels.precomputed(K)`, "
                "or `Arms(points)` with their coordinates."
            )
        if width is not None and not callable(width):
            raise InvalidInput(
                f"`width` is {width!r}, expected a width: pass `widths.constant({width!r})`."
            )
        self.space = _placed(space, device)
        self.device = torch.device(device)
        self.kernel = None
        if kernel is not None:
            self.kernel = kernels.owned(kernel, self.space).to(self.device)
        self.learner = None if kernel is not None else (learner or Learner())
        self.features: Features = features or Exact()
        self.estimator: Estimator = estimator or LeastSquares()
        self.width_rule: Width = width or srinivas()
        self.policy: Policy = policy or UpperConfidenceBound()
        self.ridge = _checks.positive("ridge", ridge)
        self.standardise = standardise
        self.seed = _checks.count("seed", seed, least=0)
        self._generator = torch.Generator().manual_seed(self.seed)
        self._history = History(self.space.dimension, self.device)
        self._initial = self._draw_initial(_checks.count("initial", initial, least=0))
        self._initial_used = 0
        self._pending: dict[int, Query] = {}
        self._failed: list[Tensor] = []
        self._next_id = 0
        self._learnt: Learnt | None = None
        self._learnt_at = 0
        self._belief: Belief | None = None
        self._carry = Carry()
        self._tally = self._begin_tally()

    # -- the loop ---------------------------------------------------------------------------

    def ask(self) -> Query:
        """The next point to measure; it counts as pending until told or forgotten."""
        point, arm = self._choose()
        query = Query(self._next_id, point.clone(), arm)
        self._next_id += 1
        self._pending[query.id] = query
        return query

    def ask_batch(self, number: int) -> list[Query]:
        """Several points to measure in parallel, spread out by counting each as pending."""
        return [self.ask() for _ in range(_checks.count("number", number))]

    def expect(self, where: int | Tensor | Sequence[float]) -> Query:
        """Register a measurement under way that somebody else chose; it counts as pending."""
        place = self._locate(where)
        query = Query(self._next_id, place.point, place.arm)
        self._next_id += 1
        self._pending[query.id] = query
        return query

    def tell(self, where: Query | int | Tensor | Sequence[float], y: float) -> Info:
        """Record a reward for a query, an arm's index or a point, in any order.

        Raises `InvalidInput`, with nothing changed, for a reward that is not a finite number or a
        point that is not of the space.
        """
        started = time.perf_counter()
        place = self._locate(where)
        self._record(place, _checks.reward(y))
        belief = self._believe(learn=False)
        return self._info(belief, time.perf_counter() - started)

    def tell_all(self, points: Tensor | Sequence, rewards: Tensor | Sequence) -> Info:
        """Record many rewards (n,) at points (n, d) or arms (n,) at once, with one estimate."""
        started = time.perf_counter()
        y = _checks.vector("rewards", rewards)
        if len(points) != len(y):
            raise InvalidInput(
                f"{len(points)} points came with {len(y)} rewards, expected as many."
            )
        located = [self._locate(where) for where in points]
        for place, reward in zip(located, y.tolist(), strict=True):
            self._record(place, reward)
        belief = self._believe(learn=False)
        return self._info(belief, time.perf_counter() - started)

    def forget(self, query: Query | int | Tensor | Sequence[float], *, failed: bool = True) -> None:
        """Give up a query without a reward.

        With `failed`, the point itself is taken to be bad: the search keeps away from it and,
        as failures gather, from its surroundings. Without, it may be asked again.
        """
        place = self._locate(query)
        if place.query is not None:
            self._pending.pop(place.query, None)
        if failed:
            self._failed.append(place.point)

    def recommend(self) -> Recommendation:
        """The point of largest posterior mean, with the interval mean +- width deviations.

        Where measurements have failed, a point counts for less by its chance of failing.

        Raises `NotReady` before the first reward.
        """
        if len(self._history) == 0:
            raise NotReady("there are no rewards yet: call `ask` and `tell` before `recommend`.")
        belief = self._believe(learn=True)
        posterior, sites = belief.posterior, self._history.sites
        situation = Situation(posterior, 0.0, sites, self._generator, 0, self._feasible())
        score = UpperConfidenceBound()(situation)  # the mean, and less where measurements fail
        arm: int | None = None
        if isinstance(self.space, Arms):
            arm = best_arm(score, self.space.points)
            point = self.space.points[arm].clone()
        else:
            generator = torch.Generator().manual_seed(0)  # leaves the run's draws alone
            measured = self._best_sites(score)
            point = best_point(score, self.space, generator, measured)
            gain = scores(score, torch.stack([point, measured[0]]))
            if float(gain[0] - gain[1]) <= _NO_BETTER * posterior.scale:
                point = measured[0].clone()
        with torch.no_grad():
            mean, deviation = posterior.mean_and_deviation(point.unsqueeze(0))
        reach = self.width * float(deviation)
        return Recommendation(point, arm, float(mean), float(mean) - reach, float(mean) + reach)

    # -- what is known ----------------------------------------------------------------------

    @property
    def posterior(self) -> Posterior:
        """The posterior of the function; `NotReady` before the first reward."""
        if len(self._history) == 0:
            raise NotReady("there are no rewards yet: the posterior needs at least one `tell`.")
        return self._believe(learn=False).posterior

    @property
    def width(self) -> float:
        """beta, the multiplier of the deviation in the next bounds."""
        belief = self._belief
        return self.width_rule(
            Progress(
                round=len(self._history),
                information_gain=0.0 if belief is None else belief.factor.information_gain,
                dimension=0 if belief is None else belief.factor.dimension,
                ridge=self._ridge,
            )
        )

    @property
    def history(self) -> History:
        """Every reward as it was told."""
        return self._history

    @property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the present estimate, in order of arrival."""
        if len(self._history) == 0:
            return torch.ones(0, dtype=torch.float64)
        weights = self._believe(learn=True).estimate.weights
        return torch.ones_like(self._history.rewards) if weights is None else weights

    @property
    def pending(self) -> list[Query]:
        """Queries that were asked and neither told nor forgotten."""
        return list(self._pending.values())

    @property
    def learnt(self) -> Learnt | None:
        """The hyperparameters in use, where the kernel is learnt and there was data to learn."""
        return self._learnt

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the run needs to go on, to one file (safetensors with JSON).

        The file replaces the one at `path` only when it is whole.
        """
        tensors = {
            "rewards": self._history.rewards,
            "site": self._history.site,
            "sites": self._history.sites,
            "initial": self._initial,
            "failed": saving.stacked(self._failed, self.space.dimension),
            "pending": saving.stacked((q.point for q in self.pending), self.space.dimension),
            "generator": self._generator.get_state(),
        }
        values: dict[str, Any] = {
            "space": saving.space_to_values(self.space, tensors),
            "kernel": saving.kernel_to_values(self.kernel, "kernel", tensors),
            **{name: saving.part_to_values(getattr(self, name)) for name in _PART_NAMES},
            **{name: getattr(self, name) for name in _PLAIN_NAMES},
            "pending": [[q.id, q.arm, q.repeats] for q in self.pending],
            "learnt": None,
            "believed": self._belief is not None,
            "dictionary_sites": self._carry.sites,
        }
        for name in ("weights", "dictionary"):
            if getattr(self._carry, name) is not None:
                tensors[f"carry.{name}"] = getattr(self._carry, name)
        if self._learnt is not None:
            values["learnt"] = {
                "kernel": saving.kernel_to_values(self._learnt.kernel, "learnt.kernel", tensors),
                **{
                    name: getattr(self._learnt, name)
                    for name in ("noise", "dof", "centre", "scale")
                },
            }
        if self._tally is not None:
            tensors |= self._tally.state()
        saving.write(Path(path), tensors, values)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, device: str | torch.device = "cpu", **parts: Any
    ) -> Optimizer:
        """The optimiser that was saved: the same next ask, the same run from here on.

        Parts that are not surefoot's own (a GPyTorch kernel, an estimator of yours) are not in the
        file; pass them again by the names that `Optimizer` gives them.
        """
        tensors, values = saving.read(Path(path))
        made: dict[str, Any] = {}
        for name in ("kernel", *_PART_NAMES):
            argument = _ARGUMENTS.get(name, name)
            if values[name] == saving.OUTSIDE and argument not in parts:
                raise InvalidInput(
                    f"{path} was saved with a `{argument}` that is not surefoot's own: "
                    f"pass it again, `Optimizer.load(path, {argument}=...)`."
                )
            if argument in parts:
                made[argument] = parts[argument]
            elif name == "kernel":
                made[argument] = saving.kernel_from_values(values[name], name, tensors)
            else:
                made[argument] = saving.part_from_values(values[name])
        optimizer = cls(
            saving.space_from_values(values["space"], tensors),
            **made,
            ridge=values["ridge"],
            standardise=values["standardise"],
            seed=values["seed"],
            device=device,
        )
        optimizer._restore(tensors, values)
        return optimizer

    def _restore(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        for name in _PLAIN_NAMES:
            setattr(self, name, values[name])
        sites = tensors["sites"].to(self.device)
        for site, reward in zip(tensors["site"].tolist(), tensors["rewards"].tolist(), strict=True):
            self._history.append(sites[site], reward)
        self._initial = tensors["initial"].to(self.device)
        self._failed = list(tensors["failed"].to(self.device))
        points = tensors["pending"].to(self.device)
        self._pending = {
            id_: Query(id_, point, arm, repeats)
            for (id_, arm, repeats), point in zip(values["pending"], points, strict=True)
        }
        self._generator.set_state(tensors["generator"])
        if values["learnt"] is not None:
            learnt = dict(values["learnt"])
            kernel = saving.kernel_from_values(learnt.pop("kernel"), "learnt.kernel", tensors)
            assert kernel is not None
            self._learnt = Learnt(kernel=kernel.to(self.device), **learnt)
        carried = {
            name: tensors[f"carry.{name}"].to(self.device)
            for name in ("weights", "dictionary")
            if f"carry.{name}" in tensors
        }
        self._carry = Carry(**carried, sites=values["dictionary_sites"])
        if self._tally is not None:
            self._tally.restore({name: value.to(self.device) for name, value in tensors.items()})
        if values["believed"]:
            self._believe(learn=False)

    def reseed(self, seed: int) -> None:
        """Draw from a new seed from now on, as parallel copies of one optimiser must."""
        self._generator = torch.Generator().manual_seed(_checks.count("seed", seed, least=0))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_generator": self._generator.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._generator = torch.Generator()
        self._generator.set_state(state["_generator"])

    # -- choosing ---------------------------------------------------------------------------

    def _choose(self) -> tuple[Tensor, int | None]:
        known = len(self._history) + len(self._pending)
        if self._initial_used < len(self._initial) and known < len(self._initial):
            point = self._initial[self._initial_used]
            self._initial_used += 1
            return point, self._locate(point).arm
        if len(self._history) == 0:
            return self._guess()
        situation = self._situation()
        score = self.policy(situation)
        if isinstance(self.space, Arms):
            arm = best_arm(score, self.space.points)
            return self.space.points[arm], arm
        anchors = self._best_sites(situation.posterior.mean)
        return best_point(score, self.space, self._generator, anchors), None

    def _guess(self) -> tuple[Tensor, int | None]:
        """A random point; among arms, one of largest prior variance that is not pending."""
        if isinstance(self.space, Box):
            return self.space.sample(1, self._generator)[0].to(self.device), None
        variance = torch.ones(len(self.space), dtype=torch.float64)
        if self.kernel is not None:
            variance = kernels.diagonal(self.kernel, self.space.points).cpu().clone()
        held = [query.arm for query in self._pending.values() if query.arm is not None]
        if len(set(held)) < len(variance):
            variance[held] = -torch.inf
        best = (variance >= variance.max() * (1.0 - 1e-12)).nonzero().squeeze(-1)
        arm = int(best[torch.randint(len(best), (), generator=self._generator)])
        return self.space.points[arm], arm

    def _situation(self) -> Situation:
        belief = self._believe(learn=True)
        posterior, sites = belief.posterior, self._history.sites
        waiting = [query.point for query in self._pending.values()]
        if waiting:
            points = torch.stack(waiting)
            posterior = posterior.hallucinated(points)
            sites = torch.cat([sites, points])
        round_ = len(self._history) + len(self._pending)
        return Situation(posterior, self.width, sites, self._generator, round_, self._feasible())

    def _feasible(self) -> Score | None:
        if not self._failed:
            return None
        return feasibility(self._kernel, self._history.sites, torch.stack(self._failed))

    def _best_sites(self, score: Score, number: int = 8) -> Tensor:
        sites = self._history.sites
        return sites[scores(score, sites).argsort(descending=True)[:number]]

    def _draw_initial(self, number: int) -> Tensor:
        if number == 0:
            return torch.zeros(0, self.space.dimension, dtype=torch.float64, device=self.device)
        if isinstance(self.space, Arms):
            number = min(number, len(self.space))
            order = torch.randperm(len(self.space), generator=self._generator)[:number]
            return self.space.points[order.to(self.device)]
        return self.space.sample(number, self._generator).to(self.device)

    # -- believing --------------------------------------------------------------------------

    @property
    def _kernel(self) -> Kernel:
        if self.kernel is not None:
            return self.kernel
        assert self._learnt is not None
        return self._learnt.kernel

    @property
    def _ridge(self) -> float:
        return self.ridge if self._learnt is None else self._learnt.noise

    def _believe(self, learn: bool) -> Belief:
        if self.learner is not None and self._learning_is_due(learn):
            self._learn()
        if self._belief is None:
            self._belief = self._believe_anew()
        return self._belief

    def _believe_anew(self) -> Belief:
        if self._tally is not None:
            rewards = self._history.rewards
            return believe_tally(self._tally, rewards, self.estimator, self._units(), self._carry)
        return believe(
            self._history,
            self._kernel,
            self.features,
            self._estimator(),
            self._ridge,
            self._units(),
            self._carry,
        )

    def _learning_is_due(self, wanted: bool) -> bool:
        if self._learnt is None or not wanted:
            return self._learnt is None
        fresh = len(self._history) - self._learnt_at
        return fresh > _LEARN_EVERY * self._learnt_at

    def _learn(self) -> None:
        assert self.learner is not None
        self._invalidate()
        self._learnt, weights = self.learner(
            self._history.sites[self._history.site],
            self._history.rewards,
            self.space.lower,
            (self.space.upper - self.space.lower).clamp_min(1e-300),
        )
        self._learnt_at = len(self._history)
        self._carry = Carry(weights)

    def _invalidate(self) -> None:
        if self._belief is not None:
            self._carry = self._belief.carry()
            self._belief = None

    def _estimator(self) -> Estimator:
        if self._learnt is not None and isinstance(self.estimator, StudentT):
            return replace(self.estimator, dof=self._learnt.dof)
        return self.estimator

    def _units(self) -> Units:
        if self._learnt is not None:
            return Units(self._learnt.centre, self._learnt.scale)
        if self.standardise:
            rewards = self._history.rewards
            return Units(float(rewards.median()), robust_spread(rewards))
        return Units()

    def _begin_tally(self) -> Tally | None:
        """Running sums, where the features of all arms can be kept for ever."""
        if self.kernel is None or not isinstance(self.space, Arms):
            return None
        lasting = isinstance(self.features, QuadratureFourier | RandomFourier)
        small = isinstance(self.features, Exact) and len(self.space) <= _LARGEST_TABLE
        if not (lasting or small):
            return None
        points = self.space.points
        table = Tabulated.of(self.features.embed(self.kernel, points), points)
        keep = self.estimator.keep if isinstance(self.estimator, Truncation) else None
        live = isinstance(self.estimator, AdaptiveTruncation)
        return Tally(table, self.ridge, keep, live)

    # -- recording --------------------------------------------------------------------------

    def _record(self, place: _Place, reward: float) -> None:
        if place.query is not None:
            self._pending.pop(place.query, None)
        self._history.append(place.point, reward)
        if self._tally is not None and place.arm is not None:
            self._tally.add(place.arm, reward)
        self._invalidate()

    def _locate(self, where: Query | int | Tensor | Sequence[float]) -> _Place:
        """The point, the arm and the query meant, or `InvalidInput`."""
        if isinstance(where, Query):
            place = self._locate(where.point if where.arm is None else where.arm)
            return place._replace(query=where.id if where.id in self._pending else None)
        if isinstance(self.space, Arms) and (arm := _checks.integer(where)) is not None:
            return self._settling(self.space.points[self.space.index(arm)], arm)
        point = _checks.vector("point", where, self.space.dimension, self.device)  # type: ignore[arg-type]
        if isinstance(self.space, Arms):
            found = (self.space.points == point).all(-1).nonzero()
            if len(found) == 0:
                raise InvalidInput(
                    f"the point {point.tolist()} is not one of the arms: tell the arm's index."
                )
            return self._settling(point, int(found[0]))
        if not self.space.contains(point):
            raise InvalidInput(
                f"the point {point.tolist()} is outside the box from {self.space.lower.tolist()} "
                f"to {self.space.upper.tolist()}: tell points of the space that was given."
            )
        return self._settling(point, None)

    def _settling(self, point: Tensor, arm: int | None) -> _Place:
        """The place, with the first query that is pending there."""
        for query in self._pending.values():
            if query.arm == arm and torch.equal(query.point, point):
                return _Place(point, arm, query.id)
        return _Place(point, arm, None)

    def _info(self, belief: Belief, seconds: float) -> Info:
        estimate = belief.estimate
        return Info(
            round=len(self._history),
            width=self.width,
            threshold=None
            if belief.estimate.threshold is None
            else belief.estimate.threshold * belief.posterior.scale,
            truncated=int(estimate.last_truncated),
            truncated_total=estimate.truncated,
            dimension=belief.factor.dimension,
            information_gain=belief.factor.information_gain,
            seconds=seconds,
        )


def _placed(space: Space, device: str | torch.device) -> Space:
    if torch.device(device).type == "cpu":
        return space
    if isinstance(space, Arms):
        placed = Arms(len(space)) if not space.has_coordinates else Arms(space.points)
        object.__setattr__(placed, "points", space.points.to(device))
        return placed
    moved = Box(space.lower, space.upper, levels=space.levels, choices=space.choices)
    object.__setattr__(moved, "lower", space.lower.to(device))
    object.__setattr__(moved, "upper", space.upper.to(device))
    return moved
