"""Optional numbers and special values as coordinates of a box."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefoot import kernels
from surefoot.spaces import Arc, Box

NUMBERS = torch.linspace(0.0, 1.0, 5, dtype=torch.float64)
PLAIN = Arc(0, 1, NUMBERS)
SPECIAL = Arc(0, 1, NUMBERS, kinds=(2, 3, 4))


def test_any_number_is_as_far_from_its_absence_as_from_a_number_one_range_away():
    kernel = kernels.matern(2.5, 0.7)
    points = torch.cat([PLAIN.at(NUMBERS), torch.zeros(1, 2, dtype=torch.float64)])
    values = kernels.block(kernel, points, points)
    assert torch.allclose(values[:5, 5], values[0, 5].expand(5))
    assert values[5, 5] == 1.0
    assert abs(values[0, 4] - values[0, 5]) < 0.03


@pytest.mark.long
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12, unique=True), st.floats(0.1, 3.0))
def test_the_kernel_is_positive_definite_over_numbers_special_values_and_absence(numbers, scale):
    points = torch.cat(
        [
            SPECIAL.at(torch.tensor(numbers, dtype=torch.float64)),
            SPECIAL.at_special(torch.tensor([0, 1])),
            torch.zeros(1, 5, dtype=torch.float64),
        ]
    )
    values = torch.linalg.eigvalsh(kernels.block(kernels.matern(2.5, scale), points, points))
    assert values.min() > -1e-9


@given(st.lists(st.floats(-0.5, 1.5), min_size=5, max_size=5))
def test_the_nearest_value_is_its_own_nearest_one(point):
    nearest = SPECIAL.nearest(torch.tensor([point], dtype=torch.float64))
    assert torch.allclose(SPECIAL.nearest(nearest), nearest)
    assert bool(SPECIAL.special(nearest) >= 0) is bool((nearest[:, :2] == 0).all())


def test_a_fifth_of_random_values_is_special_and_the_rest_uniform():
    box = Box(torch.zeros(5), torch.ones(5), arcs=[SPECIAL])
    points = box.sample(1024, torch.Generator().manual_seed(0))
    special = SPECIAL.special(points)
    assert abs((special >= 0).double().mean() - 0.2) < 0.03
    numbers = SPECIAL.number(points[special < 0])
    assert abs(numbers.mean() - 0.5) < 0.03
    assert abs((numbers < 0.1).double().mean() - 0.1) < 0.03


def test_coordinates_of_one_variable_share_a_lengthscale_and_are_searched_together():
    box = Box(torch.zeros(6), torch.ones(6), arcs=[SPECIAL])
    assert box.shared == [(0, 1), (2, 3, 4)]
    assert box.variables == [[5], [0, 1, 2, 3, 4]]
    assert box.continuous == [5]
    assert [len(options) for _, options in box.discrete] == [7]
