"""A kernel is evaluated on the space before a run starts."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.algorithms import gp_ucb

SPACES = {
    "arms": sf.Arms(torch.linspace(0.0, 1.0, 11, dtype=torch.float64).unsqueeze(-1)),
    "box": sf.Box([0.0], [1.0]),
}
WRONG: dict[str, tuple[Callable[[Tensor, Tensor], object], str]] = {
    "nan": (lambda x, y: torch.full((len(x), len(y)), torch.nan, dtype=torch.float64), "NaN"),
    "infinite": (lambda x, y: torch.full((len(x), len(y)), torch.inf, dtype=torch.float64), "NaN"),
    "nan-somewhere": (
        lambda x, y: torch.where((x > 0.5) & (y.T > 0.5), torch.nan, torch.exp(-((x - y.T) ** 2))),
        "NaN",
    ),
    "shape": (lambda x, y: torch.ones(3, 2, dtype=torch.float64), "shape"),
    "single": (lambda x, y: torch.ones(len(x), len(y)), "float32"),
    "complex": (lambda x, y: torch.ones(len(x), len(y), dtype=torch.complex128), "complex128"),
    "negative": (lambda x, y: -torch.ones(len(x), len(y), dtype=torch.float64), "variance"),
    "skew": (lambda x, y: x + 2.0 * y.T + 5.0, "symmetric"),
    "none": (lambda x, y: None, "cannot be evaluated"),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(("block", "message"), WRONG.values(), ids=WRONG)
def test_a_function_that_is_no_kernel_is_refused(
    space: sf.Arms | sf.Box, block: Callable[[Tensor, Tensor], Tensor], message: str
) -> None:
    with pytest.raises(sf.InvalidInput, match=message):
        gp_ucb(space, sf.kernels.custom(block))


def test_a_constant_kernel_has_no_gradient_and_works_on_a_box() -> None:
    kernel = sf.kernels.custom(lambda x, y: torch.ones(len(x), len(y), dtype=torch.float64))
    optimizer = gp_ucb(SPACES["box"], kernel, ridge=1.0)
    for reward in (1.0, 2.0, 3.0):
        optimizer.tell(optimizer.ask(), reward)
    assert optimizer.recommend().value == pytest.approx(6.0 / 4.0)
