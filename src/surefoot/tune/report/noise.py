"""How heavy the tails of the noise are, told for the page."""

import numpy as np
from numpy.typing import NDArray

from surefoot.tails import diagnose
from surefoot.tune.report.data import Tails
from surefoot.types import InvalidInput


def tails(residuals: NDArray[np.float64]) -> Tails:
    """The diagnosis of residuals (n,), or why there is none: too few of them, or all alike."""
    try:
        diagnosis = diagnose(residuals)
    except InvalidInput as error:
        return Tails((), f"No diagnosis: {error}")
    return Tails(tuple(diagnosis.facts()), diagnosis.reason)
