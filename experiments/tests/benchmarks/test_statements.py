"""The benchmark of false statements reads the sentences that a study prints."""

import numpy as np
import pytest

from surefoot.tune.comparison.paired_test import median_interval, medians_text
from surefoot_experiments.benchmarks.statements import NOISE, _is_false, _numbers

VALUES = 10.0 + 0.1 * np.arange(20)


@pytest.mark.long
@pytest.mark.parametrize("name", NOISE)
def test_noise_has_mean_0_variance_1_and_its_median(name: str) -> None:
    random = np.random.default_rng(0)
    drawn = np.array([NOISE[name].draw(random) for _ in range(100_000)])
    assert abs(drawn.mean()) < 0.02
    assert abs(np.median(drawn) - NOISE[name].median) < 0.02
    if name != "heavy tails":  # whose variance has no error to speak of
        assert abs(drawn.var() - 1.0) < 0.05


def test_a_sentence_is_false_outside_its_ends_and_where_less_is_gained() -> None:
    text = medians_text(("its median", VALUES), ("that of A", 2.0 * VALUES), True, "ms")
    low, high = median_interval(VALUES, 0.975)
    assert _numbers(text)[:2] == pytest.approx([low, high])
    share = _numbers(text)[2]
    assert not _is_false(text, 11.0, 22.0)
    assert _is_false(text, low - 0.01, 22.0)
    assert _is_false(text, high + 0.01, 30.0)
    assert _is_false(text, 11.0, 11.0 / (1.0 - share / 100.0) - 0.01)
    assert not _is_false("", 11.0, 22.0)
