"""Replicates of one run: a robust location with its standard error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_K = 1.345  # robust deviations at which residuals are clipped: 95 % efficiency for Gaussian noise
_MAD_TO_SD = 1.4826
_PASSES = 100
_TOLERANCE = 1e-10  # of the scale


@np.errstate(over="ignore", invalid="ignore")  # of the largest floats; the error is NaN then
def robust_location(values: Sequence[float]) -> tuple[float, float]:
    r"""Huber's M-estimate of location, and its standard error.

    With the scale s = 1.4826 MAD, the location m solves :math:`\sum_i \psi((y_i - m) / s) = 0` for
    :math:`\psi(u) = \max(-k, \min(k, u))`, and its variance is
    :math:`s^2 \sum_i \psi_i^2 / (n (n - 1) q^2)`, where q is the share of values that are not
    clipped. Without clipped values these are the mean and its usual standard error.

    Args:
        values: Finite replicates, at least one.

    Returns:
        Location and standard error; the latter is 0 for one value and for equal ones.

    References:
        Huber and Ronchetti 2009, "Robust statistics", Sections 3.2, 6.2 and 7.6.

    Example:
        >>> location, error = robust_location([12.1, 12.9, 48.0, 12.3])
        >>> round(location, 2), round(error, 2)
        (12.7, 0.42)
    """
    y = np.asarray(values, dtype=np.float64)
    location = float(np.median(y))
    deviations = np.abs(y - location)
    scale = _MAD_TO_SD * float(np.median(deviations))
    if scale == 0.0 and deviations.any():  # most are equal, as with a coarse clock
        scale = _MAD_TO_SD * float(np.median(deviations[deviations > 0.0]))
    if scale == 0.0:
        return location, 0.0
    for _ in range(_PASSES):
        clipped = np.clip(y - location, -_K * scale, _K * scale)
        step = float(clipped.mean())
        location += step
        if abs(step) <= _TOLERANCE * scale:
            break
    inside = np.abs(y - location) <= _K * scale
    clipped = np.clip(y - location, -_K * scale, _K * scale)
    variance = float(np.square(clipped).sum()) / (len(y) * (len(y) - 1) * float(inside.mean()) ** 2)
    return location, variance**0.5
