"""Rules for a dictionary, by what they do."""

from typing import Any

import surefoot as sf


def greedy(size: int) -> Any:
    """At most `size` inducing points, chosen by a pivoted Cholesky factorisation."""
    return sf.Nystrom(sf.PivotedCholesky(size))


def sampled(oversampling: float | None = 5.0, resample: str = "every-round", **options: Any) -> Any:
    """A dictionary sampled by ridge leverage scores."""
    return sf.Nystrom(sf.LeverageSampling(oversampling, resample, **options))
