"""Constraints of trials: a model of each, and a search and recommendation within them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from optuna.trial import FrozenTrial
from torch import Tensor

from surefoot.acquisition import Context, Policy, Score
from surefoot.acquisition.argmax import best_row
from surefoot.acquisition.intervals import ConfidenceBounds
from surefoot.acquisition.recommendation import recommend
from surefoot.estimators import StudentT
from surefoot.features import Nystrom, PivotedCholesky
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput, Query

if TYPE_CHECKING:
    from optuna.study import Study

CONFIDENT = 0.95
"""Probability that all constraints hold, from which a configuration is recommended."""

UNLIKELY = 0.05
"""Probability that all constraints hold, below which a point of the initial design is left out."""

_STEEPNESS = 500.0  # of the discount of configurations below a probability of `_SAFE`
_SAFE = 0.97
_VALUES = 1024  # that represent a continuous environment
_LEAST = 1e-9  # deviation of a constraint, relative to its values


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Values of a trial's constraints by name, each of which holds at zero or below."""
    try:
        given = trial.constraints
    except (TypeError, AttributeError):  # an attribute that is not Optuna's
        return {}
    values = {}
    for name, value in given.items():
        if isinstance(value, int | float) and value == value:  # not NaN
            beyond = math.inf if value > 0 else -math.inf
            values[name] = float(value) if abs(value) <= sys.float_info.max else beyond
    return values


def write_constraints(study: Study, trial: FrozenTrial, values: object) -> None:
    """Record constraints of a trial where Optuna's samplers record those of `constraints_func`.

    Args:
        study: The study.
        trial: The trial.
        values: Values of the constraints.

    Raises:
        InvalidInput: If they are not numbers.
    """
    try:
        numbers = [float(value) for value in values]  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        numbers = [math.nan]
    if any(map(math.isnan, numbers)):
        raise InvalidInput(f"`constraints_func` returned {values!r}, expected a list of numbers.")
    study._storage.set_trial_system_attr(trial._trial_id, "constraints", numbers)


class ConstraintModels:
    """A robust regression of each constraint on the inputs of the objective's model.

    Args:
        space: Space of the inputs.
        device: torch device.
    """

    def __init__(self, space: Arms | Box, device: str) -> None:
        self._space, self._device = space, device
        self._models: dict[str, Optimizer] = {}

    def __len__(self) -> int:
        return len(self._models)

    def tell(self, queries: Sequence[Query], values: Sequence[Mapping[str, float]]) -> None:
        """Record finite values of constraints.

        Args:
            queries: Queries for the n inputs.
            values: Values by name of the constraint, for each of them.
        """
        for name in sorted({name for each in values for name in each}):
            known = [
                (query, each[name])
                for query, each in zip(queries, values, strict=True)
                if math.isfinite(each.get(name, math.inf))
            ]
            if known:
                model = self._models.setdefault(name, _regression(self._space, self._device))
                model.tell_all([query for query, _ in known], [value for _, value in known])

    def rule_out(self, inputs: Tensor) -> bool:
        """Whether it is `UNLIKELY` that all constraints hold at inputs (d,).

        Only by those of which more values are known than the inputs have coordinates.
        """
        known = {
            name: model
            for name, model in self._models.items()
            if len(model.history) > self._space.dimension
        }
        chance = _probability(known)
        if chance is None:
            return False
        with torch.no_grad():
            return float(chance(inputs.unsqueeze(0))) < UNLIKELY

    def probability(self) -> Score | None:
        """Probability that all constraints hold, as a function of inputs; None without any.

        Constraints are taken to be independent, and to hold where their value without noise does.

        References:
            Gardner et al. 2014, "Bayesian optimization with inequality constraints".
        """
        return _probability(self._models)


@dataclass(frozen=True)
class WithinConstraints:
    """Chooses by another policy, with bounds discounted by the probability of infeasibility.

    Args:
        policy: The policy that chooses.
        models: Models of the constraints.
    """

    policy: Policy
    models: ConstraintModels

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse what the other policy refuses."""
        self.policy.check(space, risk)

    def choose(self, context: Context, among: list[Location] | None) -> Location:
        """The choice of the other policy."""
        feasible = _both(context.feasible, self.models.probability())
        return self.policy.choose(replace(context, feasible=feasible), among)


@dataclass(frozen=True, eq=False)
class FeasibleDesigns:
    """Probability that all constraints hold, and the best design for which it is large.

    Args:
        chance: Probability (n,) that all constraints hold at inputs of the model (n, d).
        context: State of the optimization of the objective.
    """

    chance: Score
    context: Context

    @classmethod
    def of(cls, optimizer: Optimizer, chance: Score) -> FeasibleDesigns:
        """Those of an optimizer after its rewards."""
        generator = torch.Generator().manual_seed(0)
        return cls(chance, optimizer.context.sampled(_VALUES, generator))

    def probability(self, designs: Tensor) -> Tensor:
        """Probability (n,) that all constraints hold at designs (n, dx), over the environment."""
        with torch.no_grad():
            if not isinstance(self.context.space, Joint):
                return self.chance(designs)
            points = self.context.space.points(designs, self.context.z)
            chances = self.chance(points.flatten(0, 1)).reshape(points.shape[:2])
            return (chances * self.context.weights_at(designs).to(chances)).sum(-1)

    def recommend(self) -> Tensor:
        """The design (dx,) of best posterior mean among those that are feasible with confidence.

        If none is found, it is the measured design that is feasible with the largest probability.
        """

        def safe(points: Tensor) -> Tensor:
            return torch.sigmoid(_STEEPNESS * (self.chance(points) - _SAFE))

        context = replace(self.context, feasible=_both(self.context.feasible, safe))
        best = recommend(context, "mean", ConfidenceBounds()).point
        if float(self.probability(best.unsqueeze(0))) >= CONFIDENT:
            return best
        designs = self.context.designs
        probability = self.probability(designs)
        confident = designs[probability >= CONFIDENT]
        if not len(confident):
            return designs[int(probability.argmax())]
        return confident[best_row(self.context.mean, confident)]


def _probability(models: Mapping[str, Optimizer]) -> Score | None:
    if not models:
        return None
    posteriors = [model.posterior for model in models.values()]

    def chance(points: Tensor) -> Tensor:
        chance = torch.ones(len(points), dtype=torch.float64, device=points.device)
        for posterior in posteriors:
            mean, deviation = posterior.mean_and_deviation(points)
            least = _LEAST * posterior.scale
            chance = chance * torch.special.ndtr(-mean / deviation.clamp_min(least))
        return chance

    return chance


def _regression(space: Arms | Box, device: str) -> Optimizer:
    """A model of one constraint, whose intervals are wide where little is known."""
    return Optimizer(
        space,
        features=Nystrom(PivotedCholesky()),
        estimator=StudentT(),
        hyperparameters=HyperparameterFit(lengthscales="short"),
        device=device,
    )


def _both(left: Score | None, right: Score | None) -> Score | None:
    """The product of two probabilities, either of which may be missing."""
    if left is None or right is None:
        return right if left is None else left
    return lambda points: left(points) * right(points)
