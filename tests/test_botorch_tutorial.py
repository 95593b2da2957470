"""The intervals of the BoTorch tutorial hold as much of the truth as they say.

Its first two blocks are run as a function of the seed.
"""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "tutorials" / "botorch.md"
SEED = "seed = 0\n"


def run_with(seed: int) -> dict[str, Any]:
    """The names that the tutorial's data and model define."""
    data, model = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[
        :2
    ]
    assert data.count(SEED) == 1
    names: dict[str, Any] = {}
    exec(data.replace(SEED, f"seed = {seed}\n"), names)
    exec(model, names)
    return names


@pytest.mark.long
def test_intervals_hold_95_percent_of_the_truth():
    runs = [run_with(seed) for seed in range(10)]
    medians = [float(names["weights"][names["outlier"]].median()) for names in runs]
    assert sum(median < 0.1 for median in medians) >= 7, medians
    covered = [names["covered"] for names in runs]
    assert 0.93 <= sum(covered) / len(covered) <= 0.97, covered
