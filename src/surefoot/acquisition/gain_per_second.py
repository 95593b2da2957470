"""Gain of a measurement for the time that it takes, where durations differ."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from surefoot.acquisition.policy import UpperConfidenceBound
from surefoot.acquisition.scores import ScoreRule
from surefoot.beliefs import Belief
from surefoot.beliefs.probability import Score

_LEAST = 5  # durations, from which on they are modelled


@dataclass(frozen=True)
class GainPerSecond:
    r"""A score of designs, whose gain over the best design counts for the time that it takes.

    The gain of a score s at x over the largest posterior mean :math:`m` at a measured design is
    divided by the duration that is expected there,

    .. math:: m + (s(x) - m) / c(x),

    where c is 1 for the median of the durations measured. Durations are modelled by their
    logarithms, as an outcome that is `Watched`, robust to single ones that are far off. The best
    point is that of s where all take the same time.

    In every second round the score counts as it is: where what is good takes long, the search per
    second would stay with what is quick. The quick rounds between take little of the time.

    Args:
        duration: Name of the outcome that is the logarithm of the duration.
        score: Function of a belief and a generator that returns a score of designs.

    References:
        Snoek et al. 2012, "Practical Bayesian optimization of machine learning algorithms", Section
        3.2, for gain per second by a model of the logarithm of the duration; Lee et al. 2020,
        "Cost-aware Bayesian optimization", for its failure where the best design takes long.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.robust_ucb(
        ...     sf.Box([0.0], [1.0]),
        ...     policy=sf.acquisition.GainPerSecond("log seconds"),
        ...     outcomes={"log seconds": sf.Watched()},
        ... )
        >>> query = optimizer.ask()
        >>> info = optimizer.tell(query, 1.0, outcomes={"log seconds": 0.5})
        >>> list(optimizer.belief().outcomes)
        ['log seconds']
    """

    duration: str
    score: ScoreRule = field(default_factory=lambda: UpperConfidenceBound(integrated=True))

    def __call__(self, belief: Belief, generator: torch.Generator) -> Score:
        score, known = self.score(belief, generator), belief.outcomes.get(self.duration)
        if known is None or len(known.observations) < _LEAST:
            return score
        if belief.seeks_feasibility or belief.round % 2:
            return score
        with torch.no_grad():
            best = belief.mean(belief.designs).max()
        typical = known.observations.rewards.median()

        def per_second(x: Tensor) -> Tensor:
            logs = known.transform.inverse(known.posterior.mean(x)) - typical
            gain = score(x) - best
            return best + torch.where(gain > 0.0, gain * (-logs).exp(), gain)

        return per_second
