"""How close numbers must come to the formulas."""

import numpy as np
from numpy.typing import ArrayLike


def agree(ours: ArrayLike, expected: ArrayLike) -> None:
    """To 1e-7 of the largest value: points that the rest explain to 1e-10 are left out."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
