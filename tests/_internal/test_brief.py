"""Texts of values that hold tensors."""

import numpy as np
import pytest
import torch

import surefoot as sf

POINTS = torch.from_numpy(np.random.default_rng(0).random((60, 2)))
KERNEL = sf.kernels.squared_exponential(0.2)
BOX = sf.Box([0.0] * 40, [1.0] * 40)
SPACES = [sf.Arms(POINTS), sf.Box([0.0] * 2, [1.0] * 2)]


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES, ids=["arms", "box"])
def test_what_follows_from_many_measurements_has_a_short_text(space: sf.Box | sf.Arms) -> None:
    optimizer = sf.algorithms.robust_ucb(space, KERNEL)
    optimizer.tell_all(POINTS, POINTS.sum(-1))
    belief = optimizer.belief()
    outcome, posterior = belief.outcome, belief.posterior
    values = [belief, outcome, outcome.sample, outcome.inferred, outcome.fitted, outcome.noise]
    values += [posterior, posterior.factor, posterior.embedding, optimizer.history]
    for value in values:
        assert repr(value).startswith(type(value).__name__), value
        assert len(repr(value)) < 3000, type(value)


@pytest.mark.parametrize(
    "value", [BOX, sf.FiniteEnvironment(POINTS), sf.Joint(BOX, sf.FiniteEnvironment(POINTS))]
)
def test_large_spaces_have_a_short_text(value: object) -> None:
    assert len(repr(value)) < 700


def test_small_spaces_show_their_numbers() -> None:
    assert "lower=[0.0], upper=[1.0]" in repr(sf.Box([0.0], [1.0]))
    assert "[[0.0], [0.5]]" in repr(sf.FiniteEnvironment([[0.0], [0.5]]))
