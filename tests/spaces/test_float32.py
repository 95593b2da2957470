"""Points that went through float32 on the way."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf

BOUNDS = st.floats(-1e6, 1e6).filter(lambda bound: abs(bound) > 1e-6)


@given(bound=BOUNDS, extent=st.floats(1e-3, 1e3), upper=st.booleans())
def test_a_bound_in_float32_is_the_bound(bound: float, extent: float, upper: bool) -> None:
    low, high = (bound - extent, bound) if upper else (bound, bound + extent)
    box = sf.Box([low], [high])
    located = box.locate(torch.tensor([bound], dtype=torch.float32))
    assert low <= float(located.point) <= high


def test_beyond_the_rounding_of_a_bound_a_point_is_outside() -> None:
    box = sf.Box([0.1], [0.3])
    assert float(box.locate([float(torch.tensor(0.3, dtype=torch.float32))]).point) == 0.3
    with pytest.raises(sf.InvalidInput, match="outside the box"):
        box.locate([0.30001])


@pytest.mark.long
def test_an_asked_point_in_float32_finds_its_query() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.1], [1.0, 0.3]), seed=0)
    for _ in range(13):
        query = optimizer.ask()
        optimizer.tell(query.point.to(torch.float32), float(query.point.sum()))
        assert optimizer.pending == []
        assert torch.equal(optimizer.history.sites[-1], query.point)
    optimizer.tell(torch.tensor([0.5, 0.3], dtype=torch.float32), 0.0)
    assert optimizer.history.sites[-1].tolist() == [0.5, 0.3]
