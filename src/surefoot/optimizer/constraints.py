"""Constraints: a robust model of each, and the best design for which they hold with confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot.acquisition import ConfidenceBounds, Context, Score
from surefoot.acquisition.argmax import best_row
from surefoot.acquisition.context import both
from surefoot.acquisition.recommendation import By, recommend
from surefoot.estimators import StudentT
from surefoot.features import Nystrom, PivotedCholesky
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer.model import Model
from surefoot.regression.observations import Conditions
from surefoot.regression.posterior import joint_draws
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Space
from surefoot.spaces.locations import Location
from surefoot.types import Constraint
from surefoot.widths import srinivas

CONFIDENT = 0.95
"""Probability that all constraints hold, from which a configuration is recommended."""

UNLIKELY = 0.05
"""Probability that all constraints hold, below which a point of the initial design is left out."""

_STEEPNESS = 500.0  # of the discount of configurations below a probability of `_SAFE`
_SAFE = 0.97
_VALUES = 1024  # that represent a continuous environment
_LEAST = 1e-9  # deviation of a constraint, relative to its values
_TINY = 1e-300  # probability whose powers have finite derivatives
_OF_95 = 1.96  # standard deviations of a 95 % interval
_AT_ZERO = Constraint(maximum=0.0)  # of constraints that were not declared, as in Optuna


class PredictedLimit(NamedTuple):
    """A constraint at n inputs, in its own units: median, 95 % credible interval, probability."""

    value: Tensor  # (n,)
    lower: Tensor  # (n,)
    upper: Tensor  # (n,)
    probability: Tensor  # (n,), that it holds


class ConstraintModels:
    """A robust regression of each constraint on the inputs of the objective's model.

    Args:
        space: Space of the inputs.
        limits: The constraints by name. One that is not among them holds at zero or below.
    """

    def __init__(self, space: Space, limits: Mapping[str, Constraint] | None = None) -> None:
        self._space, self.limits = space, dict(limits or {})
        self._models: dict[str, Model] = {}

    def __len__(self) -> int:
        return len(self._models)

    def tell(
        self,
        locations: Sequence[Location],
        values: Sequence[Mapping[str, float]],
        conditions: Sequence[Conditions],
    ) -> None:
        """Record finite values of constraints.

        Args:
            locations: Where the n measurements were made.
            values: Values by name of the constraint, for each of them.
            conditions: Under which conditions each was made.
        """
        for name in sorted({name for each in values for name in each}):
            known = [
                (location, each[name], under)
                for location, each, under in zip(locations, values, conditions, strict=True)
                if math.isfinite(each.get(name, math.inf))
            ]
            if known:
                if name not in self._models:
                    self._models[name] = _regression(self._space)
                model = self._models[name]
                for location, value, under in known:
                    margin = -self._limit(name).excess(value)
                    model.observe(location.point, location.arm, margin, conditions=under)
                model.infer()

    def rule_out(self, inputs: Tensor) -> bool:
        """Whether it is `UNLIKELY` that all constraints hold, on average over inputs (n, d).

        Only by those of which more values are known than the inputs have coordinates.
        """
        known = {
            name: 1.0
            for name, model in self._models.items()
            if len(model.observations) > self._space.dimension
        }
        chance = self._product(known) if known else None
        if chance is None:
            return False
        with torch.no_grad():
            return float(chance(inputs).mean()) < UNLIKELY

    def probability(self) -> Score | None:
        """Probability that all constraints hold, as a function of inputs; None without any.

        Constraints are taken to be independent, and to hold where their value without noise does.

        References:
            Gardner et al. 2014, "Bayesian optimization with inequality constraints".
        """
        return self._product(dict.fromkeys(self._models, 1.0))

    def assurance(self) -> Score | None:
        """The probability, on a scale where 0.95 is as much as the constraints ask for.

        The probability p of a constraint of confidence c becomes p ** (log 0.95 / log c), so that a
        product of 0.95 implies p >= c for each, and with c = 0.95 for all, 0.95 for all of them.
        """
        return self._product(
            {
                name: math.log(CONFIDENT) / math.log(self._limit(name).confidence)
                for name in self._models
            }
        )

    def predict(self, points: Tensor) -> dict[str, PredictedLimit]:
        """Each constraint without noise at inputs (n, d), by name."""
        predicted = {}
        for name, model in self._models.items():
            mean, deviation = _at(model, points)
            inverse, value_of = model.fitted.warp.inverse, self._limit(name).value_of
            ends = [value_of(-inverse(mean + side * _OF_95 * deviation)) for side in (-1, 1)]
            predicted[name] = PredictedLimit(
                value_of(-inverse(mean)),
                torch.minimum(*ends),
                torch.maximum(*ends),
                _chance(model, points),
            )
        return predicted

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor | None:
        """Whether all constraints hold at inputs (n, d) in functions drawn from their posteriors.

        Args:
            points: Inputs (n, d).
            number: How many functions of each constraint.
            generator: Source of the draws.

        Returns:
            Truth values (n, number); None before any constraint was told.
        """
        if not self._models:
            return None
        holds = torch.ones(len(points), number, dtype=torch.bool, device=points.device)
        for model in self._models.values():
            drawn = joint_draws(model.latest.posterior, points, number, generator)
            holds &= drawn >= _at_limit(model)
        return holds

    def _product(self, powers: Mapping[str, float]) -> Score | None:
        if not self._models:
            return None
        models = [(self._models[name], power) for name, power in powers.items()]

        def chance(points: Tensor) -> Tensor:
            chance = torch.ones(len(points), dtype=torch.float64, device=points.device)
            for model, power in models:
                one = _chance(model, points)
                chance = chance * (one if power == 1.0 else one.clamp_min(_TINY).pow(power))
            return chance

        return chance

    def _limit(self, name: str) -> Constraint:
        return self.limits.get(name, _AT_ZERO)


@dataclass(frozen=True, eq=False)
class FeasibleDesigns:
    """Probability that all constraints hold, and the best design for which it is large.

    Args:
        chance: Probability (n,) that all constraints hold at inputs of the model (n, d).
        assured: The same on a scale where 0.95 is as much as the constraints ask for.
        context: State of the optimisation of the objective, without its constraints.
    """

    chance: Score
    assured: Score
    context: Context

    @classmethod
    def of(cls, models: ConstraintModels, context: Context) -> FeasibleDesigns | None:
        """Those of an optimization without its constraints; None before any constraint is told."""
        chance, assured = models.probability(), models.assurance()
        if chance is None or assured is None:
            return None
        generator = torch.Generator().manual_seed(0)
        return cls(chance, assured, context.sampled(_VALUES, generator))

    def under(self, risk: Risk) -> FeasibleDesigns:
        """The same for another risk of the objective."""
        return replace(self, context=self.context.under(risk))

    def probability(self, designs: Tensor) -> Tensor:
        """Probability (n,) that all constraints hold at designs (n, dx), over the environment."""
        with torch.no_grad():
            return self.context.over_environment(self.chance, designs)

    def is_assured(self, designs: Tensor) -> Tensor:
        """Whether the constraints hold with the confidence asked for (n,) at designs (n, dx)."""
        with torch.no_grad():
            return self.context.over_environment(self.assured, designs) >= CONFIDENT

    def recommend(self, by: By = "mean") -> Tensor:
        """The best design (dx,), by posterior mean unless told otherwise, of those assured.

        If none is found, it is the measured design that is feasible with the largest probability.
        """

        def safe(points: Tensor) -> Tensor:
            return torch.sigmoid(_STEEPNESS * (self.assured(points) - _SAFE))

        context = replace(self.context, success=both(self.context.success, safe))
        best = recommend(context, by, ConfidenceBounds()).point
        if bool(self.is_assured(best.unsqueeze(0))):
            return best
        designs = self.context.designs
        allowed = self.context.space.design.allows(designs)
        designs = designs[allowed] if bool(allowed.any()) else designs
        assured = designs[self.is_assured(designs)]
        if not len(assured):
            return designs[int(self.probability(designs).argmax())]
        return assured[best_row(self.context.mean, assured)]


def _chance(model: Model, points: Tensor) -> Tensor:
    """Probability (n,) that the constraint of a model holds at inputs (n, d)."""
    mean, deviation = _at(model, points)
    return torch.special.ndtr((mean - _at_limit(model)) / deviation)


def _at_limit(model: Model) -> float:
    """Value of a model where its constraint has no margin left."""
    return float(model.fitted.warp(torch.zeros((), dtype=torch.float64)))


def _at(model: Model, points: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation (n,) of the margin to the limit, as the model transforms it."""
    posterior = model.latest.posterior
    mean, deviation = posterior.mean_and_deviation(points)
    return mean, deviation.clamp_min(_LEAST * posterior.scale)


def _regression(space: Arms | Box) -> Model:
    """A model of the margin of one constraint, whose intervals are wide where little is known.

    A latency grows by orders of magnitude where a system is overloaded. Unless such values are
    compressed, they look like outliers of a function that is constant.
    """
    return Model(
        space,
        HyperparameterFit(lengthscales="short", warped=True),
        Nystrom(PivotedCholesky()),
        StudentT(),
        srinivas(),
        torch.Generator().manual_seed(0),
    )
