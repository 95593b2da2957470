"""The loop: ask for a point, tell its reward, recommend the best."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import _checks, kernels, saving
from surefoot._threads import one_thread
from surefoot.belief import Belief
from surefoot.estimators import (
    Estimator,
    LeastSquares,
)
from surefoot.features import Exact, Features, Nystrom
from surefoot.fit import Learner, Learnt
from surefoot.history import History
from surefoot.maximise import best_arm, best_point, scores
from surefoot.model import Model
from surefoot.places import Place, Where, locate
from surefoot.policies import Policy, Score, Situation, UpperConfidenceBound
from surefoot.policies.feasibility import feasibility
from surefoot.posterior import Posterior
from surefoot.spaces import Arms, Box, Space
from surefoot.types import Info, InvalidInput, NotReady, Query, Recommendation
from surefoot.waiting import Waiting
from surefoot.widths import Progress, Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_NO_BETTER = 1e-3  # of the spread of the rewards: then a point that was measured is recommended
_PARTS = ("features", "estimator", "width", "policy", "learner")


class Optimizer:
    """Maximises an unknown function from noisy measurements.

    `space` is `Arms` or `Box`; `kernel` a GPyTorch kernel, or None to learn one (on spaces with
    coordinates); `features`, `estimator`, `width` and `policy` are the parts that a named
    algorithm puts together (`surefoot.algorithms`). With `standardise`, rewards are centred and
    scaled by median and median absolute deviation first. `ridge` is the regularisation, which is
    the noise variance in the units of the (standardised) rewards; a learnt kernel brings its own.
    The first `initial` points on a space are spread evenly instead of chosen. With `repeat_until`
    above 1 a chosen point is to be measured until its variance has fallen by that factor
    (`Query.repeats`; Calandriello et al. 2022), though never more often than all before it.

    All randomness comes from `seed`; the same seed and the same rewards give the same run.
    """

    def __init__(
        self,
        space: Space,
        kernel: Kernel | None = None,
        *,
        features: Features | Nystrom | None = None,
        estimator: Estimator | None = None,
        width: Width | None = None,
        policy: Policy | None = None,
        learner: Learner | None = None,
        ridge: float = 1.0,
        standardise: bool = False,
        initial: int = 0,
        repeat_until: float = 1.0,
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
        self.space = space.to(device)
        self.policy: Policy = policy or UpperConfidenceBound()
        self.width_rule: Width = width or srinivas()
        self.seed = _checks.count("seed", seed, least=0)
        self._generator = torch.Generator().manual_seed(self.seed)
        self._model = Model(
            self.space,
            kernel,
            learner,
            features or Exact(),
            estimator or LeastSquares(),
            _checks.positive("ridge", ridge),
            standardise,
            self._generator,
        )
        self._initial = self._draw_initial(_checks.count("initial", initial, least=0))
        self._initial_used = 0
        self._repeat_until = _checks.positive("repeat_until", repeat_until)
        if self._repeat_until < 1.0:
            raise InvalidInput(f"`repeat_until` is {repeat_until!r}, expected at least 1.")
        self._waiting = Waiting()
        self._failed: list[Tensor] = []
        self._width: tuple[Belief | None, float] | None = None  # and the belief that it goes with

    def ask(self, *, arms: Sequence | Tensor | None = None) -> Query:
        """The next point to measure; it counts as pending until told or forgotten.

        `arms` are the only ones to choose from in this round: indices (n,) of an `Arms` space, or
        points (n, d) of a `Box`, which may never have been seen before.
        """
        if arms is not None:
            point, arm = self._choose_among(arms)
        else:
            point, arm = self._choose()
        return self._wait_for(point.clone(), arm, self._repeats(point, arm))

    def ask_batch(self, number: int) -> list[Query]:
        """Several points to measure in parallel, spread out by counting each as pending."""
        return [self.ask() for _ in range(_checks.count("number", number))]

    def expect(self, where: Where) -> Query:
        """Register a measurement under way that somebody else chose; it counts as pending."""
        place = self._locate(where)
        return self._wait_for(place.point, place.arm)

    def tell(self, where: Where, y: float) -> Info:
        """Record a reward for a query, an arm's index or a point, in any order.

        Raises `InvalidInput`, with nothing changed, for a reward that is not a finite number or a
        point that is not of the space.
        """
        started = time.perf_counter()
        place = self._locate(where)
        self._record(place, _checks.reward(y))
        belief = self._model.after_tell()
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
        belief = self._model.after_tell()
        return self._info(belief, time.perf_counter() - started)

    def forget(self, query: Where, *, failed: bool = True) -> None:
        """Give up a query without a reward.

        With `failed`, the point itself is taken to be bad: the search keeps away from it and,
        as failures gather, from its surroundings. Without, it may be asked again.
        """
        place = self._locate(query)
        if place.query is not None:
            missing = self._waiting.drop(place.query)
            if place.arm is not None and self._model.batched:
                self._model.give_up(place.arm, missing)
        if failed:
            self._failed.append(place.point)

    def recommend(self) -> Recommendation:
        """The point of largest posterior mean, with the interval mean +- width deviations.

        Where measurements have failed, a point counts for less by its chance of failing.

        Raises `NotReady` before the first reward.
        """
        if len(self._model.history) == 0:
            raise NotReady("there are no rewards yet: call `ask` and `tell` before `recommend`.")
        belief = self._model.believe(learn=True)
        posterior, sites = belief.posterior, self._model.history.sites
        situation = Situation(posterior, 0.0, sites, self._generator, 0, self._feasible())
        score = UpperConfidenceBound()(situation)  # the mean, and less where measurements fail
        arm: int | None = None
        if isinstance(self.space, Arms):
            arm = _best_arm(score, self.space, posterior)
            point = self.space.points[arm].clone()
        else:
            generator = torch.Generator().manual_seed(0)  # leaves the run's draws alone
            measured = self._best_sites(score)
            with one_thread():
                point = best_point(score, self.space, generator, measured)
            gain = scores(score, torch.stack([point, measured[0]]))
            if float(gain[0] - gain[1]) <= _NO_BETTER * posterior.scale:
                point = measured[0].clone()
        with torch.no_grad():
            mean, deviation = posterior.mean_and_deviation(point.unsqueeze(0))
        reach = self.width * float(deviation)
        return Recommendation(point, arm, float(mean), float(mean) - reach, float(mean) + reach)

    @property
    def posterior(self) -> Posterior:
        """The posterior of the function; `NotReady` before the first reward."""
        if len(self._model.history) == 0:
            raise NotReady("there are no rewards yet: the posterior needs at least one `tell`.")
        return self._model.believe(learn=False).posterior

    @property
    def width(self) -> float:
        """beta, the multiplier of the deviation in the next bounds."""
        belief = self._model.latest
        if belief is None and self._model.batched and len(self._model.history) > 0:
            belief = self._model.believe(learn=False)
        if belief is None or self._width is None or self._width[0] is not belief:
            progress = Progress(
                round=len(self._model.history),
                information_gain=0.0 if belief is None else belief.factor.information_gain,
                dimension=0 if belief is None else belief.factor.dimension,
                ridge=self._model.ridge,
                effective_dimension=self._model.effective_dimension,
                prior_variance=self._model.prior_variance,
            )
            self._width = belief, self.width_rule(progress)
        return self._width[1]

    @property
    def history(self) -> History:
        """Every reward as it was told."""
        return self._model.history

    @property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the present estimate, in order of arrival."""
        if len(self._model.history) == 0:
            return torch.ones(0, dtype=torch.float64)
        return self._model.weights()

    @property
    def pending(self) -> list[Query]:
        """Queries that were asked and neither told nor forgotten."""
        return list(self._waiting.queries.values())

    @property
    def learnt(self) -> Learnt | None:
        """The hyperparameters in use, where the kernel is learnt and there was data to learn."""
        return self._model.learnt

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the run needs to go on, to one file (safetensors with JSON).

        The file replaces the one at `path` only when it is whole.
        """
        model, tensors = self._model, dict[str, Tensor]()
        values: dict[str, Any] = {
            "space": saving.space_to_values(self.space, tensors),
            "kernel": saving.kernel_to_values(model.given, "kernel", tensors),
            **{name: saving.part_to_values(part) for name, part in self._parts().items()},
            "ridge": model.given_ridge,
            "standardise": model.standardise,
            "seed": self.seed,
            "model": model.state(tensors),
            "waiting": self._waiting.state(),
            "initial_used": self._initial_used,
            "repeat_until": self._repeat_until,
        }
        tensors |= {
            "initial": self._initial,
            "failed": saving.stacked(self._failed, self.space.dimension),
            "pending": saving.stacked((q.point for q in self.pending), self.space.dimension),
            "generator": self._generator.get_state(),
        }
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
        for name in ("kernel", *_PARTS):
            if name in parts:
                continue
            if values[name] == saving.OUTSIDE:
                raise InvalidInput(
                    f"{path} was saved with a `{name}` that is not surefoot's own: "
                    f"pass it again, `Optimizer.load(path, {name}=...)`."
                )
            parts[name] = saving.part_from_values(values[name]) if name != "kernel" else None
        if values["kernel"] not in (None, saving.OUTSIDE) and parts["kernel"] is None:
            parts["kernel"] = saving.kernel_from_values(values["kernel"], "kernel", tensors)
        optimizer = cls(
            saving.space_from_values(values["space"], tensors),
            ridge=values["ridge"],
            standardise=values["standardise"],
            repeat_until=values["repeat_until"],
            seed=values["seed"],
            device=device,
            **parts,
        )
        optimizer._restore(values, tensors)
        return optimizer

    def _restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self._model.restore(values["model"], tensors)
        self._initial = tensors["initial"].to(self._initial)
        self._initial_used = values["initial_used"]
        self._failed = list(tensors["failed"].to(self._initial))
        self._waiting.restore(values["waiting"], tensors["pending"].to(self._initial))
        self._generator.set_state(tensors["generator"])

    def _parts(self) -> dict[str, object]:
        """The parts by the names of the constructor's arguments; no learner beside a kernel."""
        model = self._model
        learner = model.learner if model.given is None else None
        parts = (model.features, model.estimator, self.width_rule, self.policy, learner)
        return dict(zip(_PARTS, parts, strict=True))

    def reseed(self, seed: int) -> None:
        """Draw from a new seed from now on, as parallel copies of one optimiser must."""
        self._generator.manual_seed(_checks.count("seed", seed, least=0))

    def _choose(self) -> tuple[Tensor, int | None]:
        known = len(self._model.history) + len(self._waiting.queries)
        if self._initial_used < len(self._initial) and known < len(self._initial):
            point = self._initial[self._initial_used]
            self._initial_used += 1
            return point, self._locate(point).arm
        if len(self._model.history) == 0:
            return self._guess()
        if self._in_batches and isinstance(self.space, Arms):
            arm = self._model.next_of_batch(lambda: self.width)
            return self.space.points[arm], arm
        situation = self._situation()
        score = self.policy(situation)
        if isinstance(self.space, Arms):
            arm = _best_arm(score, self.space, situation.posterior)
            return self.space.points[arm], arm
        anchors = self._best_sites(situation.posterior.mean)
        with one_thread():
            return best_point(score, self.space, self._generator, anchors), None

    @property
    def _in_batches(self) -> bool:
        plain = isinstance(self.policy, UpperConfidenceBound) and not self._failed
        return plain and self._model.batched

    def _guess(self) -> tuple[Tensor, int | None]:
        """A random point; among arms, one of largest prior variance that is not pending."""
        if isinstance(self.space, Box):
            return self.space.sample(1, self._generator)[0].to(self.space.lower.device), None
        variance = torch.ones(len(self.space), dtype=torch.float64)
        if self._model.given is not None:
            variance = kernels.diagonal(self._model.given, self.space.points).cpu().clone()
        held = [query.arm for query in self.pending if query.arm is not None]
        if len(set(held)) < len(variance):
            variance[held] = -torch.inf
        best = (variance >= variance.max() * (1.0 - 1e-12)).nonzero().squeeze(-1)
        arm = int(best[torch.randint(len(best), (), generator=self._generator)])
        return self.space.points[arm], arm

    def _situation(self) -> Situation:
        belief = self._model.believe(learn=True)
        posterior, sites = belief.posterior, self._model.history.sites
        if self._waiting.queries and not self._model.batched:
            points, missing = self._waiting.repeated(sites)
            posterior = posterior.hallucinated(points, missing)
            sites = torch.cat([sites, points])
        round_ = len(self._model.history) + sum(self._waiting.missing)
        return Situation(posterior, self.width, sites, self._generator, round_, self._feasible())

    def _feasible(self) -> Score | None:
        if not self._failed:
            return None
        return feasibility(self._model.kernel, self._model.history.sites, torch.stack(self._failed))

    def _best_sites(self, score: Score, number: int = 8) -> Tensor:
        sites = self._model.history.sites
        return sites[scores(score, sites).argsort(descending=True)[:number]]

    def _draw_initial(self, number: int) -> Tensor:
        if number == 0:
            return torch.zeros(
                0, self.space.dimension, dtype=torch.float64, device=self.space.lower.device
            )
        if isinstance(self.space, Arms):
            number = min(number, len(self.space))
            order = torch.randperm(len(self.space), generator=self._generator)[:number]
            return self.space.points[order.to(self.space.lower.device)]
        return self.space.sample(number, self._generator).to(self.space.lower.device)

    def _choose_among(self, arms: Sequence | Tensor) -> tuple[Tensor, int | None]:
        """The best of these arms or points; any of them before the first reward."""
        if isinstance(self.space, Arms):
            indices = [self.space.index(arm) for arm in _checks.indices("arms", arms)]
            points = self.space.points[indices]
        else:
            indices, points = [], _checks.matrix("arms", arms, self.space.lower.device)
            for point in points:
                self._locate(point)
        if len(self._model.history) == 0:
            best = int(torch.randint(len(points), (), generator=self._generator))
        elif self._in_batches and indices:
            return self._of_arm(self._model.next_of_batch(lambda: self.width, indices))
        else:
            best = best_arm(self.policy(self._situation()), points)
        return (points[best], None) if not indices else self._of_arm(indices[best])

    def _of_arm(self, arm: int) -> tuple[Tensor, int | None]:
        return self._locate(arm).point, arm

    def _repeats(self, point: Tensor, arm: int | None) -> int:
        """How often to measure: n with 1 + n sigma^2 / ridge = repeat_until."""
        if self._repeat_until == 1.0 or len(self._model.history) == 0:
            return 1
        belief = self._model.latest or self._model.believe(learn=False)
        with torch.no_grad():
            variance = float(belief.posterior.variance(point.unsqueeze(0)))
        relative = variance / belief.posterior.scale**2 / self._model.ridge
        most = len(self._model.history)
        return max(1, min(most, math.ceil((self._repeat_until - 1.0) / max(relative, 1e-300))))

    def _wait_for(self, point: Tensor, arm: int | None, repeats: int = 1) -> Query:
        if arm is not None and self._model.batched:
            self._model.await_reward(arm, repeats)
        return self._waiting.add(point, arm, repeats)

    def _record(self, place: Place, reward: float) -> None:
        if place.query is not None:
            self._waiting.settle(place.query)
        self._model.record(place, reward)

    def _locate(self, where: Where) -> Place:
        return locate(self.space, where, self._waiting.queries)

    def _info(self, belief: Belief, seconds: float) -> Info:
        estimate = belief.estimate
        return Info(
            round=len(self._model.history),
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


def _best_arm(score: Score, arms: Arms, posterior: Posterior) -> int:
    return best_arm(score, arms.points, tabulated=posterior.table is not None)
