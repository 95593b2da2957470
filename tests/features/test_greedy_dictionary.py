"""The dictionary that is extended by new points, and chosen again when it is full."""

from pathlib import Path

import torch

import surefoot as sf


def test_a_run_that_is_saved_before_each_reward_has_the_same_dictionary(tmp_path: Path) -> None:
    """It follows from the one before, which was that of fewer rewards than the file has."""
    points = torch.rand(24, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = sf.kernels.squared_exponential(0.2)
    features = sf.Nystrom(sf.PivotedCholesky(8))
    plain, saved = (
        sf.Optimizer(sf.Box([0.0], [1.0]), kernel, features=features, ridge=0.1) for _ in range(2)
    )
    dimensions = []
    for point in points:
        saved.save(tmp_path / "run")
        saved = sf.Optimizer.load(tmp_path / "run")
        dimensions.append(plain.tell(point, 1.0).dimension)
        assert saved.tell(point, 1.0).dimension == dimensions[-1]
    assert dimensions[-1] <= 8 < len(points)
    assert len({*dimensions[8:]}) > 1  # it was full and chosen again
    assert torch.equal(plain.ask().point, saved.ask().point)
