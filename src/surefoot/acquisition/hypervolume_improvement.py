"""Expected improvement of the hypervolume that several objectives dominate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING, TINY
from surefoot._internal.pareto import non_dominated
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief, Candidates
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.beliefs.probability import Score
from surefoot.regression.embedding import Embedding
from surefoot.regression.posterior import Posterior
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

_LEAST = 1e-3  # of an objective in a direction; of the extent of one, in the unit of the rewards
_BEYOND = (0.1, 1.0)  # of the extent of the front, the least and most to the reference point
_WHOLE = 0.5  # share of the rounds whose reference point is beyond all that was measured
_SLIGHTLY, _CLEARLY = 0.05, 0.2  # differences, as shares of the extent of the front
_BOLD = 3.0  # times the improvement, from which on the deviation counts as it is
_MANY, _ALL = 40, 0.8  # measurements, from which on that share of rounds has all the deviation
_OTHER = 1.0 / 3.0  # share of the rounds with another prior: half find less of sparse functions
_SMOOTH = 1e-4  # improvement, in extents of the front, below which it is smoothed


@dataclass(frozen=True)
class HypervolumeImprovement:
    r"""Logarithm of the expected improvement of the hypervolume of several objectives.

    The objectives are the reward and the outcomes with the role objective. In each round functions
    of each are drawn from its posterior, jointly at the measured and the pending points, whose
    front in these functions is to be improved on. Hypervolume is integrated over directions,

    .. math:: \mathrm{HV} \propto
        E_\lambda \Bigl[\max_i \min_j \frac{(f_j(x_i) - r_j)_+^k}{\lambda_j^k}\Bigr],

    so that nothing is decomposed into boxes, whatever the number k of objectives. The reference
    point r is drawn in each round. In half of the rounds it is the worst value of each objective
    on the front of the posterior means, and beyond by a share of the front's extent, from a tenth
    to all of it: a close one is for the middle of the front, a far one for its ends. Points that
    are slightly better in one objective and clearly worse in all others do not count: else the
    search would be for the ends of the front. What is within the posterior's deviation is slight,
    and no extent: where points differ in one objective alone, the front is not theirs. In the other
    rounds the reference point is the worst of all means, and a tenth of their range beyond, so that
    a search whose front is short or a point so far leaves it.

    In a third of the rounds the lengthscales of each objective whose measurements allow it have a
    prior that prefers shorter ones, where there are at most 150 measurements and 30 lengthscales:
    fits to few measurements make a function nearly linear, whose best points are in corners of the
    box, and are certain of it.

    Constraints count with the probability that they hold; the front is that of points where it is
    likely that they do.

    Args:
        samples: Number of functions drawn of each objective in each round.
        directions: Number of directions.
        scale: Factor of the functions' deviation from the posterior mean up to 40 measurements, but
            where with the close reference point all of it promises three times as much. With 1
            throughout, the best of the functions at any point count most, and those are in the
            corners of a box of several variables, where least is known. With more measurements the
            model knows what it does not know, and all of the deviation counts in four rounds of
            five at random.

    References:
        Daulton, Balandat and Bakshy 2021, "Parallel Bayesian optimization of multiple noisy
        objectives with expected hypervolume improvement", for the expectation over the front; Zhang
        and Golovin 2020, "Random hypervolume scalarizations for provable multi-objective black box
        optimization", Lemma 5, for the hypervolume as an integral; Ishibuchi et al. 2018, "How to
        specify a reference point in hypervolume calculation for fair performance comparison";
        Letham et al. 2019, eq. 3-5, for the functions.

    Example:
        >>> import surefoot as sf
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), {"cost": sf.Objective(maximise=False)})
        >>> optimizer = sf.algorithms.robust_ucb(problem, policy=HypervolumeImprovement())
        >>> points = [[0.0], [0.2], [0.8], [1.0]]
        >>> costs = [{"cost": 0.0}, {"cost": 0.04}, {"cost": 0.64}, {"cost": 1.0}]
        >>> _ = optimizer.tell_all(points * 3, [0.0, 0.2, 0.8, 1.0] * 3, outcomes=costs * 3)
        >>> bool(0.2 < optimizer.ask().point < 0.8)
        True
    """

    samples: int = 48
    directions: int = 32
    scale: float = 0.3

    def __post_init__(self) -> None:
        checks.count("samples", self.samples)
        checks.count("directions", self.directions)
        checks.non_negative("scale", self.scale)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space with an environment."""
        if space.has_environment:
            raise InvalidInput(
                "`HypervolumeImprovement` is for spaces without an environment, and a `Joint` "
                "space came: leave the environment out, or optimise one objective."
            )

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The point of largest score."""
        candidates = belief.candidates
        if candidates.seeks_feasibility:
            return maximise(candidates.log_feasibility, candidates, state.generator, among)
        front = _Front.of(candidates, self.directions, state.generator)
        scale = self._scale_of_round(candidates, state.generator)
        cautious, least = self._best(front, candidates, scale, among, state.generator)
        if front.is_far or scale >= 1.0 or len(candidates.belief.weights) >= _MANY:
            return cautious
        bold, most = self._best(front, candidates, 1.0, among, state.generator)
        return bold if most - least > math.log(_BOLD) else cautious

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        """The score of one round, whose functions and directions are drawn here."""
        if candidates.seeks_feasibility:
            return candidates.log_feasibility
        front = _Front.of(candidates, self.directions, generator)
        scale = self._scale_of_round(candidates, generator)
        return self._score(front, candidates, scale, generator)

    def _scale_of_round(self, candidates: Candidates, generator: torch.Generator) -> float:
        """Factor of the deviation; after many measurements all of it in some rounds at random."""
        if len(candidates.belief.weights) < _MANY:
            return self.scale
        drawn = float(torch.rand((), dtype=torch.float64, generator=generator))
        return max(self.scale, 1.0) if drawn < _ALL else self.scale

    def _best(
        self,
        front: _Front,
        candidates: Candidates,
        scale: float,
        among: Sequence[Location] | None,
        generator: torch.Generator,
    ) -> tuple[Location, float]:
        """The point of largest score with a share of the deviation, and the score."""
        score = self._score(front, candidates, scale, generator)
        found = maximise(score, candidates, generator, among, front.closeness)
        with torch.no_grad():
            return found, float(score(found.design.unsqueeze(0)))

    def _score(
        self, front: _Front, candidates: Candidates, scale: float, generator: torch.Generator
    ) -> Score:
        drawn = [_Drawn.of(one, self.samples, scale, generator) for one in front.objectives]
        power, feasible = len(drawn), candidates.feasible

        def volumes(points: Tensor) -> Tensor:  # (s, n, directions)
            lengths = front.lengths(torch.stack([one(points) for one in drawn], -1))
            return lengths * lengths.abs().pow(power - 1)

        with torch.no_grad():
            best = volumes(front.sites).amax(1, keepdim=True)

        def score(points: Tensor) -> Tensor:
            value = _smooth_positive(volumes(points) - best).mean((0, 2)).log()
            return value if feasible.is_certain else value + feasible(points).clamp_min(TINY).log()

        return score


@dataclass(frozen=True, eq=False)
class _Front:
    """Front of the posterior means, and directions from its reference point.

    Args:
        objectives: Beliefs of the objectives.
        sites: Points (S, d), measured or pending, where constraints probably hold.
        means: Posterior means (S, k) there.
        weights: Directions (m, k), of unit length.
        reference: The reference point (k,).
        extent: Units (k,) of the objectives.
        is_far: Whether the reference point is beyond all means.
    """

    objectives: Sequence[OutcomeBelief]
    sites: Tensor
    means: Tensor
    weights: Tensor
    reference: Tensor
    extent: Tensor
    is_far: bool

    @classmethod
    def of(cls, candidates: Candidates, directions: int, generator: torch.Generator) -> _Front:
        """The front of candidates."""
        sites = candidates.likely_sites
        whole, beyond, other = torch.rand(3, dtype=torch.float64, generator=generator).tolist()
        objectives = [one.alternative if other < _OTHER else one for one in candidates.objectives]
        with torch.no_grad():
            moments = [one.posterior.of_rewards.mean_and_deviation(sites) for one in objectives]
            means, deviations = (torch.stack(each, -1) for each in zip(*moments, strict=True))
        floor = _LEAST * means.new_tensor([one.posterior.of_rewards.scale for one in objectives])
        weights = _directions(directions, len(objectives), generator)
        least, most = _BEYOND
        if is_far := whole < _WHOLE:
            worst, extent = means.amin(0), _extent(means)
            share = least
        else:
            worst, extent = _ends(means, deviations.maximum(floor))
            share = least * (most / least) ** beyond
        extent = extent.maximum(floor)
        reference = worst - share * extent
        return cls(objectives, sites, means, weights.to(means), reference, extent, is_far)

    def lengths(self, values: Tensor) -> Tensor:
        """Distances (..., m) from the reference point that values (..., k) dominate."""
        return (((values - self.reference) / self.extent).unsqueeze(-2) / self.weights).amin(-1)

    def closeness(self, points: Tensor) -> Tensor:
        """How far points (n, d) are from the front of the means: 0 on it, else negative."""
        means = torch.stack([one.posterior.mean(points) for one in self.objectives], -1)
        return (self.lengths(means) - self._longest).amax(-1)

    @cached_property
    def _longest(self) -> Tensor:
        return self.lengths(self.means).amax(0)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Functions drawn from a posterior, jointly at the sites; what is left elsewhere is shared.

    Args:
        posterior: The posterior of the rewards.
        embedding: Its features.
        coefficients: Coefficients (s, m) of each function.
        residuals: Normal numbers (s,), by which each differs from what the features represent.
    """

    posterior: Posterior
    embedding: Embedding
    coefficients: Tensor
    residuals: Tensor

    @classmethod
    def of(
        cls, outcome: OutcomeBelief, number: int, scale: float, generator: torch.Generator
    ) -> _Drawn:
        """So many functions of an objective."""
        posterior = outcome.posterior.of_rewards
        size = posterior.embedding.dimension
        normals = torch.randn(number, size + 1, dtype=torch.float64, generator=generator)
        normals = normals.to(posterior.coefficients)
        with torch.no_grad():
            drawn = posterior.sample_coefficients(normals[:, :size])
        coefficients = torch.lerp(posterior.coefficients, drawn, scale)
        return cls(posterior, posterior.embedding, coefficients, scale * normals[:, size])

    def __call__(self, points: Tensor) -> Tensor:
        """Values (s, n) at points (n, d)."""
        features = self.embedding(points)
        left = (self.embedding.residual(points, features) + ROUNDING).sqrt()
        values = features @ self.coefficients.T + left[:, None] * self.residuals
        return self.posterior.center + self.posterior.scale * values.T  # type: ignore[attr-defined]


def _directions(number: int, size: int, generator: torch.Generator) -> Tensor:
    """Directions (number, size) of unit length and positive sides, which fill the orthant."""
    if size == 2:
        offset = torch.rand((), dtype=torch.float64, generator=generator)
        angles = (torch.arange(number, dtype=torch.float64) + offset) / number * math.pi / 2.0
        weights = torch.stack([angles.cos(), angles.sin()], -1)
    else:
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        engine = torch.quasirandom.SobolEngine(size, scramble=True, seed=seed)
        uniform = engine.draw(number, dtype=torch.float64).clamp(1e-6, 1.0 - 1e-6)
        weights = torch.special.ndtri(0.5 + 0.5 * uniform)
        weights = weights / weights.norm(dim=-1, keepdim=True)
    return weights.clamp_min(_LEAST)


def _smooth_positive(gains: Tensor) -> Tensor:
    """Positive part of gains, with a tail where there is none.

    Else no point is better than another where no drawn function improves on the front, and the
    choice is arbitrary (Ament et al. 2023, "Unexpected improvements to expected improvement").
    """
    size = torch.where(gains < 0.0, -gains, gains)  # not `abs`, whose slope at 0 is 0
    lesser = 2.0 * _SMOOTH**2 / (size + (size.square() + 4.0 * _SMOOTH**2).sqrt())
    return lesser + gains.clamp_min(0.0)  # no difference, whose rounding would be below 0


def _ends(means: Tensor, deviations: Tensor) -> tuple[Tensor, Tensor]:
    """The worst values (k,) on the front of means (n, k), and its extent (k,).

    The extent of all means where that of the front is within the deviations (n, k).
    """
    on_front = torch.from_numpy(non_dominated(-means.cpu().numpy()))
    front, whole = means[on_front], _extent(means)
    resolved = deviations[on_front].mean(0)
    while (worst := _hardly_better(front, _LEAST * whole, resolved)) is not None:
        front = torch.cat([front[:worst], front[worst + 1 :]])
    extent = _extent(front)
    extent = torch.where(extent > torch.maximum(_LEAST * whole, resolved), extent, whole)
    return front.amin(0), extent


def _hardly_better(front: Tensor, least: Tensor, resolved: Tensor) -> int | None:
    """Index of the point with the worst trade against another one, None if no trade is bad.

    Of a bad trade, the gain is slight and the loss is clear, as shares of the extent (k,) of the
    front (n, k). One point is left out at a time, since the extent is also its own. Differences
    (k,) that are not resolved are slight.
    """
    scaled = front / torch.maximum(_extent(front), least).maximum(resolved / _SLIGHTLY)
    ahead = (scaled[:, None] - scaled).amax(-1)  # (i, j), by which i is better than j at most
    gain, loss = ahead.T, ahead
    ratio = torch.where((gain <= _SLIGHTLY) & (loss >= _CLEARLY), gain / loss, torch.inf).amin(0)
    return int(ratio.argmin()) if bool(ratio.isfinite().any()) else None


def _extent(values: Tensor) -> Tensor:
    """Range (k,) of values (n, k)."""
    return (values.amax(0) - values.amin(0)).clamp_min(TINY)
