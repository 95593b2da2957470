"""The dictionary that is extended by new points, and chosen again when it is full."""

from pathlib import Path

import pytest
import torch

import surefoot as sf
from surefoot.features import pivoted_cholesky


@pytest.mark.long
def test_a_run_that_is_saved_before_each_reward_has_the_same_dictionary(tmp_path: Path) -> None:
    """It follows from the one before, which was that of fewer rewards than the file has."""
    points = torch.rand(24, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = sf.kernels.squared_exponential(0.2)
    features = sf.Nystrom(sf.PivotedCholesky(8))
    plain, saved = (
        sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(kernel, features=features, ridge=0.1))
        for _ in range(2)
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


@pytest.mark.long
def test_while_few_points_are_new_the_older_half_of_those_that_joined_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pivoted_cholesky, "NEW_SHARE", 0.5)
    points = torch.rand(48, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = sf.kernels.squared_exponential(0.02)
    features = sf.Nystrom(sf.PivotedCholesky(20))
    plain, saved = (
        sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(kernel, features=features, ridge=0.1))
        for _ in range(2)
    )
    plain.tell_all(points[:24], points[:24, 0])
    saved.tell_all(points[:24], points[:24, 0])
    members, bases = [], []
    for number, point in enumerate(points[24:], 24):
        for one in (plain, saved):
            one.tell(point, float(point))
        saved.save(tmp_path / "run")
        saved = sf.Optimizer.load(tmp_path / "run")
        found = [one.belief().posterior.embedding for one in (plain, saved)]
        assert torch.equal(found[0].dictionary, found[1].dictionary)
        assert torch.equal(found[0].inverse_root, found[1].inverse_root)
        members.append(found[0].dictionary)
        bases.append(found[0].base)
        assert len(found[0].dictionary) == 16 or points[number] in found[0].dictionary
        assert len(found[0].dictionary) <= 20
    same = [torch.equal(one[:16], members[0][:16]) for one in members]
    again = same.index(False)  # chosen again
    assert set(bases) == {16}
    assert again > 8  # it was full twice before
    assert len(members[again - 1]) > 16
    assert torch.equal(plain.ask().point, saved.ask().point)
