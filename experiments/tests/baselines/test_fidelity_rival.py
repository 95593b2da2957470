"""BoTorch's knowledge gradient with several fidelities, the rival of `bench-fidelities`."""

import pytest

from surefoot_experiments.benchmarks.fidelities import COST, KnowledgeGradient


@pytest.mark.long
def test_the_rival_chooses_after_its_design():
    rival = KnowledgeGradient(1, 0)
    levels = []
    for _ in range(15):
        point, level = rival.ask()
        levels.append(level)
        rival.tell(float(-(point - 0.3).square().sum()))
    assert levels[:14] == [0] * 8 + [1] * 3 + [2] * 3
    assert 0 <= levels[-1] < len(COST)
    assert 0.0 <= float(point) <= 1.0
    assert float((rival.best() - 0.3).abs()) < 0.05
