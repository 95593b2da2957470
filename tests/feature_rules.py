"""Rules for a dictionary by what they do, under whichever name the library has for them."""

from typing import Any

import surefoot as sf


def greedy(size: int) -> Any:
    """At most `size` inducing points, chosen by a pivoted Cholesky factorisation."""
    if hasattr(sf, "PivotedCholesky"):
        return sf.Nystrom(sf.PivotedCholesky(size))
    return sf.Sketch(size)


def sampled(oversampling: float | None = 5.0, resample: str = "every-round", **options: Any) -> Any:
    """A dictionary sampled by ridge leverage scores."""
    if hasattr(sf, "LeverageSampling"):
        return sf.Nystrom(sf.LeverageSampling(oversampling, resample, **options))
    return sf.Nystrom(oversampling, resample, **options)
