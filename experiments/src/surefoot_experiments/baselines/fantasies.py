"""The expected best risk after a measurement, by fantasised outcomes of it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from surefoot.acquisition import Evaluation
from surefoot.beliefs import Candidates
from surefoot.spaces import Joint
from surefoot_experiments.baselines.many_rows import (
    batched,
    differentiable,
    translation_equivariant,
)

_ROOM = 2**27  # numbers in the largest array kept, 1 GiB
_STRIP = 2**20  # numbers in temporary arrays, which fit the cache
_JITTER = 1e-9  # of the prior variance, so that values at neighbouring z have a Cholesky factor
_ENDS = 1e-6  # of the unit interval, where normals are cut off


def quasi_normals(number: int, dimension: int, generator: torch.Generator) -> Tensor:
    """Quasi-random standard normals (number, dimension)."""
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    sobol = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    unit = sobol.draw(number, dtype=torch.float64)
    return torch.special.ndtri(unit.clamp(_ENDS, 1.0 - _ENDS))


class Draws(NamedTuple):
    """What is drawn once for a search: values of Z, and standard normals for all expectations."""

    z: Tensor  # (n, dz)
    weights: Tensor  # (n,)
    outcomes: Tensor  # (K,), of the fantasised observations
    functions: Tensor  # (M, n), of the functions from each posterior


class _Update(NamedTuple):
    """How b measurements change the values of g designs."""

    covariance: Tensor  # (b, g, n), of values and what is measured
    reduction: Tensor  # (b, g, M), by what multiple of it each draw is reduced

    def of(self, row: Tensor, design: Tensor | int) -> _Update:
        """Of some designs for each measurement."""
        return _Update(self.covariance[row, design], self.reduction[row, design])


class _Measurement(NamedTuple):
    """Pairs (x, z) that may be measured."""

    at: Evaluation  # b points
    variance: Tensor  # (b,), of the observations

    @property
    def deviation(self) -> Tensor:
        """Standard deviation (b,) of the observations."""
        return self.variance.sqrt()

    def rows(self, chosen: Tensor) -> _Measurement:
        """Some of the pairs."""
        return _Measurement(self.at.rows(chosen), self.variance[chosen])


class Fantasies:
    """E max over x' of E[risk(f(x', Z))] after a measurement of f at a pair (x, z).

    x' ranges over the measured designs and x itself. The current maximum, which does not depend on
    (x, z), is omitted. With c the posterior covariance of f(x', Z) and f(x, z), and s the variance
    of the observation, fantasy k moves the mean by c n_k / sqrt(s), and every fantasy subtracts
    c c^T / s from the covariance C = L L^T. With w = L^{-1} c, a root of the new covariance is
    L (I - g w w^T), g = 1 / (s + sqrt(s (s - w^T w))). So draw m of f(x', Z) becomes the draw
    before the measurement plus c (n_k / sqrt(s) - g w^T xi_m), and C is factorised once for a
    search.

    The covariance is that of the full posterior: residuals of the features and pending queries
    (as if their rewards were their means) included. All designs and pairs share the draws, so that
    values are deterministic and have gradients. If an array for all designs would exceed 1 GiB,
    those of largest risk of the mean are kept.

    Args:
        belief: The belief, on a `Joint` space.
        draws: Values of Z and standard normals.

    Attributes:
        designs: The designs (D, dx) that x' ranges over.
        current: E[risk(f(x', Z))] (D,) before the measurement.

    References:
        Cakmak et al. 2020, "Bayesian optimization of risk measures", rho-KG^apx.
    """

    def __init__(self, candidates: Candidates, draws: Draws) -> None:
        belief = candidates.belief
        self._joint: Joint = belief.space  # type: ignore[assignment]
        self._posterior = belief.posterior
        self._risk, self._draws = belief.risk, draws
        self._many = batched(belief.risk, draws.weights)
        self._differentiable = differentiable(belief.risk, draws.weights)
        self._noise = self._posterior.factor.ridge * self._posterior.scale**2
        number = len(draws.z)
        self.designs = self._best_of_many(candidates.designs)  # (D, dx)
        points = self._joint.points(self.designs, draws.z)  # (D, n, d)
        self._evaluated = self._posterior.evaluate(points.flatten(0, 1))
        first = self._evaluated.features[:number]
        prior = self._posterior.embedding.residual(points[0], first) + first.square().sum(-1)
        self._jitter = _JITTER * self._posterior.scale**2 * float(prior.mean())
        groups = self._evaluated.groups(number)
        few = max(1, _STRIP // number**2)
        parts = [groups.rows(slice(i, i + few)) for i in range(0, len(self.designs), few)]
        covariances = [belief.posterior.covariance(part, part) for part in parts]
        self._roots = self._root(torch.cat(covariances))
        means = self._posterior.evaluated_mean(self._evaluated).reshape(-1, number)
        self._values = means.unsqueeze(1) + draws.functions @ self._roots.mT  # (D, M, n)
        self.current = torch.stack([self._many(v.clone()).mean() for v in self._values])  # (D,)

    def best(self, x: Tensor, z: Tensor, outcomes: int | None = None) -> tuple[Tensor, Tensor]:
        """Values of pairs, and which x' is best after each fantasy.

        Args:
            x: Designs (b, dx).
            z: Environments (b, dz).
            outcomes: Number of fantasies to use, None for all of them.

        Returns:
            Values (b,), and indices (b, K) into `designs`, the number of designs meaning x itself.
        """
        normals = self._draws.outcomes[:outcomes]
        each = max(len(normals) * len(self._draws.functions), len(self._draws.z))
        few = max(1, _STRIP // (each * max(len(self.designs), len(self._draws.z))))
        with torch.no_grad():
            pairs = zip(x.split(few), z.split(few), strict=True)
            found = [self._best(*pair, normals) for pair in pairs]
        return torch.cat([value for value, _ in found]), torch.cat([best for _, best in found])

    def value(self, x: Tensor, z: Tensor, best: Tensor) -> Tensor:
        """Values (b,) with x' fixed to `best` (b, K), differentiable in x and z.

        A lower bound of the value, which it equals, with its gradient, where `best` is optimal.
        """
        number = len(self.designs)
        measurement = self._measurement(x, z)
        chosen, index = best.clamp_max(number - 1).unique(return_inverse=True)
        row = torch.arange(len(x), device=x.device).unsqueeze(-1)
        update = self._update_of_designs(measurement, chosen)
        after = self._after(
            self._values[chosen[index]], update.of(row, index), self._draws.outcomes, measurement
        )
        is_own = best == number
        if bool(is_own.any()):  # the root of their covariance, and its gradient, are expensive
            own = is_own.any(-1).nonzero().squeeze(-1)
            subset = measurement.rows(own)
            values, update = self._update_of_own(x[own], subset)
            update = update.of(torch.arange(len(own), device=x.device).unsqueeze(-1), 0)
            own_after = self._after(values.unsqueeze(1), update, self._draws.outcomes, subset)
            own_after = torch.zeros_like(after).index_copy(0, own, own_after)
            after = torch.where(is_own[..., None, None], own_after, after)
        return self._differentiable(after).mean((-1, -2))

    def _best(self, x: Tensor, z: Tensor, normals: Tensor) -> tuple[Tensor, Tensor]:
        """The values of few pairs, in arrays that stay small."""
        measurement = self._measurement(x, z)
        update = self._update_of_designs(measurement, None)
        values, own_update = self._update_of_own(x, measurement)
        step = normals / measurement.deviation.unsqueeze(-1)  # (b, K)
        after = self._after(values.unsqueeze(1), own_update, normals, measurement)
        best = self._many(after).mean(-1)  # (b, K), of x itself
        winner = torch.full_like(best, len(self.designs), dtype=torch.int64)
        upper = self._upper(update, step)  # (b, K, D)
        leader = torch.zeros_like(upper, dtype=torch.bool)
        leader.scatter_(-1, upper.argmax(-1, keepdim=True), True)
        few = max(1, _STRIP // self._values[0].numel())
        for among in (leader, ~leader):  # the leader alone excludes most of the others
            asked = (among & (upper > best.unsqueeze(-1))).nonzero()
            found = torch.full_like(upper, -torch.inf)
            for part in asked.split(few):
                b, k, d = part.unbind(-1)
                shift = step[b, k].unsqueeze(-1) - update.reduction[b, d]
                after = self._values[d].addcmul_(
                    shift.unsqueeze(-1), update.covariance[b, d].unsqueeze(1)
                )
                found[b, k, d] = self._many(after).mean(-1)
            risk, index = found.max(-1)
            winner = torch.where(risk > best, index, winner)
            best = torch.maximum(best, risk)
        return best.mean(-1), winner

    def _upper(self, update: _Update, step: Tensor) -> Tensor:
        """An upper bound of the risk (b, K, D) of each measured design.

        A multiple of c adds at most its largest component to a translation-equivariant risk.
        """
        if not translation_equivariant(self._risk):
            return step.new_full((*step.shape, len(self.designs)), torch.inf)
        most, least = update.covariance.amax(-1), update.covariance.amin(-1)  # (b, D)
        shift = step[:, :, None, None] - update.reduction.unsqueeze(1)  # (b, K, D, M)
        middle = shift.mean(-1)
        up = shift.clamp_min_(0.0).mean(-1)
        upper = self.current + up * most.unsqueeze(1) - (up - middle) * least.unsqueeze(1)
        return upper + 1e-12 * self.current.abs().max()  # of rounding

    def _measurement(self, x: Tensor, z: Tensor) -> _Measurement:
        at = self._posterior.evaluate(self._joint.pairs(x, z))
        single = at.groups(1)
        variance = self._posterior.covariance(single, single)[:, 0, 0]
        return _Measurement(at, variance.clamp_min(0.0) + self._noise)

    def _update_of_designs(self, measurement: _Measurement, chosen: Tensor | None) -> _Update:
        """Of the measured designs, or of those chosen."""
        number = len(self._draws.z)
        seen, roots = self._evaluated, self._roots
        if chosen is not None:
            roots = roots[chosen]
            rows = chosen.unsqueeze(-1) * number + torch.arange(number, device=roots.device)
            seen = seen.rows(rows.flatten())
        covariance = self._posterior.covariance(seen, measurement.at)
        covariance = covariance.reshape(-1, number, len(measurement.variance))
        return self._update(roots, covariance, measurement.variance, paired=False)

    def _update_of_own(self, x: Tensor, measurement: _Measurement) -> tuple[Tensor, _Update]:
        """Of the designs x (b, dx) that are measured: their values (b, M, n), and the update."""
        number, pairs = len(self._draws.z), len(x)
        evaluated = self._posterior.evaluate(self._joint.inputs(x, self._draws.z))
        own, at = evaluated.groups(number), measurement.at.groups(1)
        root = self._root(self._posterior.covariance(own, own))
        mean = self._posterior.evaluated_mean(evaluated).reshape(pairs, number)
        values = mean.unsqueeze(1) + self._draws.functions @ root.mT
        covariance = self._posterior.covariance(own, at)
        variance = measurement.variance.unsqueeze(-1)
        return values, self._update(root, covariance, variance, paired=True)

    def _after(
        self, values: Tensor, update: _Update, normals: Tensor, measurement: _Measurement
    ) -> Tensor:  # (b, K, M, n)
        """Values (b, K or 1, M, n) after each outcome (K,) of the measurements."""
        step = normals / measurement.deviation.unsqueeze(-1)
        shift = step.unsqueeze(-1) - update.reduction  # (b, K, M)
        return values + shift.unsqueeze(-1) * update.covariance.unsqueeze(-2)

    def _update(self, roots: Tensor, covariance: Tensor, s: Tensor, *, paired: bool) -> _Update:
        """From roots (g, n, n) and covariances (g, n, b); `paired` makes g measurements of g."""
        w = torch.linalg.solve_triangular(roots, covariance, upper=False)
        rest = (s - w.square().sum(1)).clamp_min(0.0)
        gain = 1.0 / (s + (s * rest.clamp_min(1e-300)).sqrt())  # (g, b)
        reduction = (self._draws.functions @ w) * gain.unsqueeze(1)  # (g, M, b)
        order = (0, 2, 1) if paired else (2, 0, 1)
        return _Update(covariance.permute(order), reduction.permute(order))

    def _root(self, covariance: Tensor) -> Tensor:
        eye = torch.eye(covariance.shape[-1], dtype=covariance.dtype, device=covariance.device)
        return torch.linalg.cholesky(covariance + self._jitter * eye)

    def _best_of_many(self, designs: Tensor) -> Tensor:
        """All designs, or those of largest risk of the mean of more than memory has room for."""
        number, features = len(self._draws.z), self._posterior.embedding.dimension
        most = max(1, _ROOM // (number * max(number, features, len(self._draws.functions))))
        if len(designs) <= most:
            return designs
        parts = [self._joint.points(part, self._draws.z) for part in designs.split(most)]
        means = [self._posterior.mean(p.flatten(0, 1)).reshape(-1, number) for p in parts]
        risks = self._risk(torch.cat(means), self._draws.weights)
        return designs[risks.topk(most).indices.sort().values]
