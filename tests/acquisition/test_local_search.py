"""Search among small changes, in spaces of many variables."""

import pytest
import torch

import surefoot as sf
from surefoot.acquisition.argmax import neighbors

VARIABLES = 30
ROUNDS = 45


def mixed_box() -> sf.Box:
    """Ten continuous variables, ten with levels, and ten categories of three values."""
    levels = {c: [0.0, 0.25, 0.5, 0.75, 1.0] for c in range(10, 20)}
    choices = [[20 + 3 * c, 21 + 3 * c, 22 + 3 * c] for c in range(10)]
    return sf.Box([0.0] * 50, [1.0] * 50, levels=levels, choices=choices)


def test_a_box_knows_its_variables() -> None:
    variables = mixed_box().variables
    assert len(variables) == VARIABLES
    assert sorted(c for columns in variables for c in columns) == list(range(50))


def test_neighbors_are_of_the_space_and_differ_in_few_variables() -> None:
    box, generator = mixed_box(), torch.Generator().manual_seed(0)
    anchors = box.sample(3, generator)
    near = neighbors(box, anchors, generator)
    assert torch.equal(near[:3], anchors)
    assert torch.equal(box.snap(near.clone()), near)
    different = torch.stack(
        [(near[:, None, c] != anchors[:, c]).any(-1) for c in box.variables], -1
    )  # (n, a, variables)
    changed = different.sum(-1).amin(-1)
    # Four of thirty on average, some of which end up where they were.
    assert 1.0 < float(changed[3:].double().mean()) < 5.0
    assert int(changed.max()) < VARIABLES // 2
    assert bool(different.any(0).any(0).all())  # every variable is changed in some


@pytest.mark.long
def test_a_function_of_few_of_many_variables_is_maximised() -> None:
    box = mixed_box()
    truth = lambda x: float(-((x[0] - 0.3) ** 2) - (x[12] - 0.75).abs() + 0.5 * x[20])  # noqa: E731
    generator = torch.Generator().manual_seed(1)
    optimizer = sf.algorithms.robust_ucb(box, seed=0)
    for _ in range(ROUNDS):
        query = optimizer.ask()
        noise = 0.02 * float(torch.randn((), generator=generator))
        optimizer.tell(query, truth(query.point) + noise)
    drawn = box.sample(ROUNDS, generator)
    best_random = max(truth(point) for point in drawn)
    assert truth(optimizer.recommend().point) > best_random
    assert truth(optimizer.recommend().point) > 0.4
