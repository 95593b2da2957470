"""Maximisers of a score over boxes."""

from __future__ import annotations

import pytest
import torch

import surefoot as sf
from surefoot.acquisition.argmax import _measured_or, maximise


def test_a_maximum_at_a_measured_point_is_that_point() -> None:
    """An ascent reaches it to within rounding only: it would be measured once more beside it."""
    generator = torch.Generator().manual_seed(0)
    box = sf.Box([-5.0, 0.1], [5.0, 0.7])
    optimizer = sf.algorithms.robust_ucb(box)
    points = box.sample(20, generator)
    optimizer.tell_all(points, -(points[:, 0].square()))
    candidates = optimizer.belief().candidates
    designs = candidates.designs
    target = designs[candidates.mean(designs).argmin()]  # no start of the search

    found = maximise(lambda x: -((x - target) / box.span).abs().sum(-1), candidates, generator)

    assert torch.equal(found.design, target)


@pytest.mark.long
def test_a_maximum_beside_a_measured_point_is_kept() -> None:
    generator = torch.Generator().manual_seed(0)
    box = sf.Box([-5.0], [5.0])
    optimizer = sf.algorithms.robust_ucb(box)
    points = box.sample(20, generator)
    optimizer.tell_all(points, -(points[:, 0].square()))
    target = optimizer.belief().candidates.designs[0] + 1e-5

    found = maximise(
        lambda x: -(x - target).square().sum(-1), optimizer.belief().candidates, generator
    )

    assert not torch.equal(found.design, optimizer.belief().candidates.designs[0])
    torch.testing.assert_close(found.design, target, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("value", [-torch.inf, torch.inf])
@pytest.mark.parametrize(
    "box",
    [
        sf.Box([0.0] * 5, [1.0] * 5),
        sf.Box([0.0] * 3, [1.0] * 3, levels={0: [0.0, 0.5, 1.0]}),
        sf.parameters.Space(
            {"a": sf.parameters.Float(0.0, 1.0), "b": sf.parameters.Float(0.0, 1.0)},
            constraints=["a + b <= 1"],
        ).encoding.box,
    ],
    ids=["continuous", "mixed", "rules"],
)
def test_a_score_that_is_infinite_everywhere_has_a_maximum(box: sf.Box, value: float) -> None:
    run = sf.Optimizer(box, sf.Method(sf.kernels.squared_exponential(0.3)))
    run.tell(box.sample(1, torch.Generator().manual_seed(0))[0], 1.0)
    found = maximise(
        lambda points: torch.full((len(points),), value, dtype=torch.float64),
        run.belief().candidates,
        torch.Generator().manual_seed(0),
    )
    assert bool(box.contains(found.design))


@pytest.mark.parametrize("space", ["rules", "levels"])
def test_a_measured_point_that_is_forbidden_now_is_not_taken_for_the_maximum(space: str) -> None:
    """It may be of a time before the rule, or lie off the grid."""
    if space == "rules":
        each = {name: sf.parameters.Float(0.0, 1.0) for name in "ab"}
        box = sf.parameters.Space(each, constraints=["a + b <= 1"]).encoding.box
    else:
        box = sf.Box([0.0] * 2, [1.0] * 2, levels={0: [0.0, 0.5, 1.0]})
    point, beyond = torch.tensor([[0.5, 0.5], [0.5004, 0.5]], dtype=torch.float64)

    def score(points: torch.Tensor) -> torch.Tensor:
        return points[:, 0]

    assert torch.equal(_measured_or(point, beyond.unsqueeze(0), box, score), point)
    inside = torch.stack([beyond, torch.tensor([0.5, 0.4995], dtype=torch.float64)])
    assert torch.equal(_measured_or(point, inside, box, score), inside[1])
