"""The loop: ask for a point, tell its reward, recommend the best."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition import Context, Policy, Score, ScoreRule, UpperConfidenceBound
from surefoot.acquisition.feasibility import feasibility
from surefoot.acquisition.policy import as_policy, risk_on
from surefoot.acquisition.recommendation import By, assess, check_by, first_location, recommend
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features, Nystrom
from surefoot.hyperparameters.student_t_fit import Learner, Learnt
from surefoot.optimizer import saved_pending, saved_space, serialization
from surefoot.optimizer.belief import Belief
from surefoot.optimizer.model import Model
from surefoot.optimizer.parts import check_parts
from surefoot.regression.observations import History
from surefoot.regression.posterior import Posterior
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint, Space
from surefoot.spaces.locations import EnvironmentValue, Location, Where
from surefoot.spaces.pending import PendingQueries, locate, new_owner
from surefoot.types import Info, InvalidInput, NotReady, Query, Recommendation
from surefoot.widths import Progress, Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_PARTS = ("features", "estimator", "width", "policy", "learner", "risk")


class Optimizer:
    """Maximises an unknown function from noisy measurements.

    `space` is `Arms`, `Box`, or `Joint` for designs beside a random environment, of which `risk`
    says what is maximised; `kernel` a GPyTorch kernel (of x followed by z on a `Joint`), or None
    to learn one (on spaces with coordinates); `features`, `estimator`, `width` and `policy` are the
    parts that a named algorithm puts together (`surefoot.algorithms`). With `standardise`, rewards
    are centred by their median and scaled by their MAD, and with `Huber()` the mean and the width
    of the prior are then those under which they are likeliest. `ridge` is the regularisation, which
    is the noise variance as a share of the prior's (in reward units where these are not
    standardised); a learnt kernel brings its own. The first `initial` points on a space are spread
    evenly instead of chosen. With `repeat_until` above 1 a chosen point is to be measured until its
    variance has fallen by that factor (`Query.repeats`; Calandriello et al. 2022), though never
    more often than all before it.

    All randomness comes from `seed`; the same seed and the same rewards give the same run.
    """

    def __init__(
        self,
        space: Space | Joint,
        kernel: Kernel | None = None,
        *,
        risk: Risk | None = None,
        features: Features | Nystrom | None = None,
        estimator: Estimator | None = None,
        width: Width | None = None,
        policy: Policy | ScoreRule | None = None,
        learner: Learner | None = None,
        ridge: float = 1.0,
        standardise: bool = False,
        initial: int = 0,
        repeat_until: float = 1.0,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> None:
        if not isinstance(space, Arms | Box | Joint):
            raise InvalidInput(f"`space` is {space!r}, expected `Arms`, `Box` or `Joint`.")
        if kernel is not None and learner is not None:
            raise InvalidInput("both `kernel` and `learner` came: pass one of them.")
        design = space.design if isinstance(space, Joint) else space
        if isinstance(design, Arms) and not design.has_coordinates and kernel is None:
            raise InvalidInput(
                "`Arms` without coordinates needs a kernel: pass `kernels.precomputed(K)`, "
                "or `Arms(points)` with their coordinates."
            )
        check_parts(features, estimator, width, policy)
        self.space = space.to(device)
        self.risk = risk
        self._risk = risk_on(space, risk)
        self.policy = as_policy(UpperConfidenceBound() if policy is None else policy)
        self.policy.check(space, self._risk)
        if isinstance(space, Joint) and isinstance(features, Nystrom):
            features = replace(features, feedback="immediate")  # batches choose arms, not designs
        self.width_rule: Width = width or srinivas()
        self.seed = checks.count("seed", seed, least=0)
        self._generator = torch.Generator().manual_seed(self.seed)
        self._model = Model(
            self.space.seen,
            kernel,
            learner,
            features or Exact(),
            estimator or LeastSquares(),
            checks.positive("ridge", ridge),
            standardise,
            self._generator,
        )
        self._initial = self.space.spread(
            checks.count("initial", initial, least=0), self._generator
        )
        self._initial_used = 0
        self._repeat_until = checks.positive("repeat_until", repeat_until)
        if self._repeat_until < 1.0:
            raise InvalidInput(f"`repeat_until` is {repeat_until!r}, expected at least 1.")
        self._pending = PendingQueries()
        design = self.space.design
        self._designs = design.lower.new_zeros(0, design.dimension)  # measured, on a `Joint` space
        self._failed: list[Tensor] = []
        self._width: tuple[Belief | None, float] | None = None  # and the belief that it goes with

    def ask(self, *, arms: Sequence | Tensor | None = None) -> Query:
        """The next point to measure; it counts as pending until told or forgotten.

        `arms` are the only ones to choose from in this round: indices (n,) of an `Arms` space, or
        points (n, d) of a `Box`, which may never have been seen before; designs on a `Joint`.
        """
        among = None if arms is None else self.space.listed(arms)
        return self._add_pending(self._choose(among))

    def ask_batch(self, number: int) -> list[Query]:
        """Several points to measure in parallel, spread out by counting each as pending."""
        return [self.ask() for _ in range(checks.count("number", number))]

    def expect(self, where: Where, environment: EnvironmentValue = None) -> Query:
        """Register a measurement under way that somebody else chose; it counts as pending."""
        location, _ = self._locate(where, self._supposed(environment))
        return self._add_pending(location, 1)

    def tell(self, where: Where, y: float, environment: EnvironmentValue = None) -> Info:
        """Record a reward for a query, an arm's index or a point, in any order.

        `environment` (dz,) is the z that it was measured under, on a `Joint` space where the query
        did not ask for one; one query may be told under several. Raises `InvalidInput`, with
        nothing changed, for a reward that is not a finite number or a point that is not of the
        space.
        """
        started = time.perf_counter()
        location, query = self._locate(where, environment)
        self._record(location, query, checks.reward(y))
        belief = self._model.after_tell()
        return self._info(belief, time.perf_counter() - started)

    def tell_all(
        self,
        points: Tensor | Sequence,
        rewards: Tensor | Sequence,
        environments: Tensor | Sequence | None = None,
    ) -> Info:
        """Record many rewards (n,) at points (n, d) or arms (n,) at once, with one estimate.

        On a `Joint` space, `environments` (n, dz) are what they were measured under.
        """
        started = time.perf_counter()
        y = checks.vector("rewards", rewards)
        under = [None] * len(points) if environments is None else environments
        if checks.is_single(under):
            raise InvalidInput(
                f"`environments` is {environments!r}, expected one for each reward: (n, dz)."
            )
        if not len(points) == len(y) == len(under):
            also = "" if environments is None else f" and {len(under)} environments"
            raise InvalidInput(
                f"{len(points)} points came with {len(y)} rewards{also}, expected as many."
            )
        located, left = [], self._pending.copy()
        for where, environment in zip(points, under, strict=True):
            location, query = locate(self.space, where, environment, left)
            if query is not None:
                left.settle(query)
            located.append((location, query))
        for (location, query), reward in zip(located, y.tolist(), strict=True):
            self._record(location, query, reward)
        belief = self._model.after_tell()
        return self._info(belief, time.perf_counter() - started)

    def forget(
        self, query: Where, environment: EnvironmentValue = None, *, failed: bool = True
    ) -> None:
        """Give up a query without a reward.

        With `failed`, the point itself is taken to be bad: the search keeps away from it and,
        as failures gather, from its surroundings. Without, it may be asked again.
        """
        pending = self._pending.find(query) if isinstance(query, Query) else None
        if pending is None:
            location, id_ = self._locate(query, self._supposed(environment))
        else:
            location, id_ = pending.location, pending.query.id
        if id_ is not None:
            missing = self._pending.drop(id_)
            if location.arm is not None and self._model.batched:
                self._model.give_up(location.arm, missing)
        if failed:
            self._failed.append(location.point)

    def recommend(self, by: By = "mean") -> Recommendation:
        """The point of largest posterior mean, with the interval mean +- width deviations.

        On a `Joint` space, the design among those measured whose risk of the mean is largest, with
        the risks of the bounds as its interval (Nguyen et al. 2021, Section 3.2). With `by`
        "lower", the one whose lower bound is largest. Where measurements have failed, a point
        counts for less by its chance of failing.

        Raises `NotReady` before the first reward.
        """
        check_by(by)
        if len(self._model.history) == 0:
            raise NotReady("there are no rewards yet: call `ask` and `tell` before `recommend`.")
        return recommend(self._context(pending=False), by)

    def assess(self, designs: Tensor | Sequence) -> tuple[Tensor, Tensor, Tensor]:
        """The risk of the mean, of the lower and of the upper bound (n,) at designs (n, dx).

        On a space without an environment, the mean and the bounds themselves. `NotReady` before
        the first reward.
        """
        if len(self._model.history) == 0:
            raise NotReady("there are no rewards yet: call `ask` and `tell` before `assess`.")
        design = self.space.design
        rows = checks.matrix("designs", designs, design.lower.device)
        x = torch.stack([design.locate(row, name="designs").design for row in rows])
        return assess(self._context(pending=False), x)

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
        return self._pending.queries

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
            "space": saved_space.to_values(self.space, tensors),
            "initial": len(self._initial),
            "kernel": serialization.kernel_to_values(model.given, "kernel", tensors),
            **{name: serialization.part_to_values(part) for name, part in self._parts().items()},
            "ridge": model.given_ridge,
            "standardise": model.standardise,
            "seed": self.seed,
            "model": model.state(tensors),
            "pending": saved_pending.to_values(self._pending, tensors),
            "initial_used": self._initial_used,
            "repeat_until": self._repeat_until,
        }
        tensors |= {
            "designs": self._designs,
            "failed": serialization.stacked(self._failed, self.space.seen.dimension),
            "generator": self._generator.get_state(),
        }
        serialization.write(Path(path), tensors, values)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, device: str | torch.device = "cpu", **parts: Any
    ) -> Optimizer:
        """The optimiser that was saved: the same next ask, the same run from here on.

        Parts that are not surefoot's own (a GPyTorch kernel, an estimator of yours, a `Joint` space
        with a density or a perturbation) are not in the file; pass them again by the names that
        `Optimizer` gives them.
        """
        tensors, values = serialization.read(Path(path))
        space = parts.pop("space", None)
        if space is not None:
            saved_space.check_same(Path(path), values["space"], tensors, space)
        elif saved_space.is_whole(values["space"]):
            space = saved_space.from_values(values["space"], tensors)
        else:
            raise InvalidInput(
                f"{path} was saved with a `space` that cannot be put in a file: pass it again, "
                "`Optimizer.load(path, space=...)`."
            )
        for name in ("kernel", *_PARTS):
            if name in parts:
                continue
            if values[name] == serialization.OUTSIDE:
                raise InvalidInput(
                    f"{path} was saved with a `{name}` that is not surefoot's own: "
                    f"pass it again, `Optimizer.load(path, {name}=...)`."
                )
            parts[name] = serialization.part_from_values(values[name]) if name != "kernel" else None
        if values["kernel"] not in (None, serialization.OUTSIDE) and parts["kernel"] is None:
            parts["kernel"] = serialization.kernel_from_values(values["kernel"], "kernel", tensors)
        optimizer = cls(
            space,
            initial=values["initial"],
            ridge=values["ridge"],
            standardise=values["standardise"],
            repeat_until=values["repeat_until"],
            seed=values["seed"],
            device=device,
            **parts,
        )
        if tensors["sites"].shape[1] != optimizer.space.seen.dimension:
            raise InvalidInput(
                f"{path} has points of {tensors['sites'].shape[1]} coordinates and the `space` "
                f"that came has {optimizer.space.seen.dimension}: pass the one it was saved with."
            )
        optimizer._restore(values, tensors)
        return optimizer

    def _restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self._model.restore(values["model"], tensors)
        device = self.space.seen.lower.device
        self._designs = tensors["designs"].to(self._designs)
        self._initial_used = values["initial_used"]
        self._failed = list(tensors["failed"].to(device))
        self._pending = saved_pending.from_values(values["pending"], tensors, device)
        self._generator.set_state(tensors["generator"])

    def _parts(self) -> dict[str, object]:
        """The parts by the names of the constructor's arguments; no learner beside a kernel."""
        model = self._model
        learner = model.learner if model.given is None else None
        parts = (model.features, model.estimator, self.width_rule, self.policy, learner, self.risk)
        return dict(zip(_PARTS, parts, strict=True))

    def reseed(self, seed: int) -> None:
        """Draw from a new seed from now on, as parallel copies of one optimiser must."""
        self._generator.manual_seed(checks.count("seed", seed, least=0))
        self._pending.owner = new_owner()  # the next queries of two copies have the same ids

    def _choose(self, among: list[Location] | None) -> Location:
        known = len(self._model.history) + len(self._pending)
        if among is None and self._initial_used < len(self._initial) > known:
            self._initial_used += 1
            return self._initial[self._initial_used - 1]
        if len(self._model.history) == 0:
            if among is None:
                return first_location(self.space, self._model.given, self._pending, self._generator)
            if self.risk is None:
                return among[int(torch.randint(len(among), (), generator=self._generator))]
            raise NotReady("there are no rewards yet: `ask` without `arms` first.")
        if self._in_batches:
            arms = None if among is None else [a.arm for a in among if a.arm is not None]
            return self.space.locate(self._model.next_of_batch(lambda: self.width, arms))
        return self.policy.choose(self._context(), among)

    @property
    def _in_batches(self) -> bool:
        rule = getattr(self.policy, "score", None)
        return self._model.batched and isinstance(rule, UpperConfidenceBound) and not self._failed

    def _context(self, pending: bool = True) -> Context:
        belief = self._model.believe(learn=True)
        posterior, sites = belief.posterior, self._model.history.sites
        if pending and len(self._pending) and not self._model.batched:
            points, missing = self._pending.repeated(sites)
            posterior = posterior.hallucinated(points, missing)
            sites = torch.cat([sites, points])
        return Context(
            self.space,
            self._risk,
            posterior,
            self.width,
            sites,
            self._designs if isinstance(self.space, Joint) else sites,
            self._pending,
            self._generator,
            len(self._model.history) + self._pending.missing,
            self._feasible(),
        )

    def _feasible(self) -> Score | None:
        if not self._failed:
            return None
        return feasibility(self._model.kernel, self._model.history.sites, torch.stack(self._failed))

    def _repeats(self, point: Tensor) -> int:
        """How often to measure: n with 1 + n sigma^2 / ridge = repeat_until."""
        if self._repeat_until == 1.0 or len(self._model.history) == 0:
            return 1
        belief = self._model.latest or self._model.believe(learn=False)
        with torch.no_grad():
            variance = float(belief.posterior.variance(point.unsqueeze(0)))
        relative = variance / belief.posterior.scale**2 / self._model.ridge
        most = len(self._model.history)
        return max(1, min(most, math.ceil((self._repeat_until - 1.0) / max(relative, 1e-300))))

    def _add_pending(self, location: Location, repeats: int | None = None) -> Query:
        times = self._repeats(location.point) if repeats is None else repeats
        if location.arm is not None and self._model.batched:
            self._model.await_reward(location.arm, times)
        return self._pending.add(location, times, observed=self.space.observed)

    def _record(self, location: Location, query: int | None, reward: float) -> None:
        if query is not None:
            self._pending.settle(query)
        elif location.arm is not None and self._model.batched:
            self._model.await_reward(location.arm)  # a pull of its own, not that of a query
        if isinstance(self.space, Joint) and not bool(
            (self._designs == location.design).all(-1).any()
        ):
            self._designs = torch.cat([self._designs, location.design.unsqueeze(0)])
        self._model.record(location, reward)

    def _supposed(self, environment: EnvironmentValue) -> EnvironmentValue:
        """The environment of a measurement without a reward: nobody knows what the world drew."""
        if environment is None and isinstance(self.space, Joint) and self.space.observed:
            return self.space.environment.sample(1, torch.Generator().manual_seed(0))[0]
        return environment

    def _locate(
        self, where: Where, environment: EnvironmentValue = None
    ) -> tuple[Location, int | None]:
        return locate(self.space, where, environment, self._pending)

    def _info(self, belief: Belief, seconds: float) -> Info:
        estimate = belief.estimate
        return Info(
            round=len(self._model.history),
            width=self.width,
            threshold=None
            if belief.estimate.threshold is None
            else belief.estimate.threshold * belief.units.scale,
            truncated=int(estimate.last_truncated),
            truncated_total=estimate.truncated,
            dimension=belief.factor.dimension,
            information_gain=belief.factor.information_gain,
            seconds=seconds,
        )
