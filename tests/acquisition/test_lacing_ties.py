"""Lacing values of equal probability."""

import pytest
import torch

import surefoot as sf

KERNEL = sf.kernels.squared_exponential([0.05, 0.3])  # designs tell nothing of each other
EQUAL = sf.FiniteEnvironment(torch.linspace(0, 1, 6))
TWO = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.4, 0.2, 0.4])


def asked(environment: sf.FiniteEnvironment, lacing: str) -> list[float]:
    """Environments asked for by different seeds; at the design asked, all are lacing values."""
    space = sf.Joint(sf.Arms([[0.0], [1.0]]), environment)
    found = []
    for seed in range(20):
        optimizer = sf.algorithms.v_ucb(
            space, KERNEL, level=0.5, lacing=lacing, ridge=0.01, seed=seed
        )
        optimizer.tell(0, -5.0, environment=0.0)
        found.append(float(optimizer.ask().environment))
    return found


@pytest.mark.long
def test_a_random_one_of_the_most_probable_is_taken():
    chosen = set(asked(EQUAL, "prob-random"))
    assert 1 < len(chosen) <= len(set(asked(EQUAL, "unif")))
    assert len(set(asked(EQUAL, "prob"))) == 1


def test_only_the_most_probable_are_taken():
    assert set(asked(TWO, "prob-random")) <= {0.0, 1.0}


@pytest.mark.parametrize("lacing", ["random", "", None])
def test_no_other_rule(lacing):
    with pytest.raises(sf.InvalidInput, match="lacing"):
        sf.algorithms.v_ucb(sf.Joint(sf.Arms([[0.0]]), EQUAL), level=0.5, lacing=lacing)
