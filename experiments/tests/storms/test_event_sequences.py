"""A copy that is looked at, saved and loaded asks what an undisturbed one does."""

import pytest

from surefoot_experiments.storms import event_sequences


@pytest.mark.slow
def test_two_copies_ask_the_same() -> None:
    figures = event_sequences.play(12, seed=5, events=20)
    assert figures.clean, figures
    assert figures.sequences > 6
