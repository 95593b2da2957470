"""Moments of the rewards of problems on a box."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot import InvalidInput, Moment
from surefoot_experiments.problems.noise import Noise

_LOOKED_AT = 2**10
_CORNERS = 10  # dimensions up to which all of them are looked at
_REFINED = 4  # of these points


class Bounded:
    """A problem of which max|f| and the noise are known."""

    noise: Noise
    largest: float

    def moment(self, alpha: float = 1.0) -> Moment:
        """A bound on E|y|^(1 + alpha) that holds everywhere, alpha in (0, 1].

        Raises `InvalidInput` where the noise has no such moment, or is not symmetric.
        """
        if not hasattr(self.noise, "absolute_moment"):
            raise InvalidInput(
                f"the moments of {self.noise!r} are not known, expected noise with "
                "`absolute_moment`: give `Moment.estimate` measurements."
            )
        order = 1.0 + Moment(alpha, 1.0).alpha  # which checks it
        bound = self.largest**order + self.noise.absolute_moment(order)  # Clarkson's inequality
        return Moment(alpha, bound)


def largest_magnitude(
    function: Callable[[Tensor], Tensor],  # (n, d) -> (n,)
    lower: Tensor,  # (d,)
    upper: Tensor,  # (d,)
) -> float:
    """The largest |f| that a search of the box finds.

    Of 2^10 Sobol points and, in up to 10 dimensions, the corners, the best 4 are refined by Nelder
    and Mead's simplex. A narrow peak between the points can be missed.
    """
    dimension, span = len(lower), upper - lower

    def magnitude(unit: Tensor) -> Tensor:
        return function(lower + span * unit.to(lower)).abs()

    unit = SobolEngine(dimension).draw(_LOOKED_AT, dtype=torch.float64)
    if dimension <= _CORNERS:
        corners = torch.tensor(list(product((0.0, 1.0), repeat=dimension)), dtype=torch.float64)
        unit = torch.cat([unit, corners])
    values = magnitude(unit)
    best = [float(values.max())]
    for start in unit[values.argsort(descending=True)[:_REFINED]].numpy():
        found = minimize(
            lambda point: -float(magnitude(torch.from_numpy(np.atleast_2d(point)))[0]),
            start,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * dimension,
        )
        best.append(-float(found.fun))
    return max(best)
