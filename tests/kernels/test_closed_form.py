"""Kernels as formulas of tensors, against GPyTorch's own values."""

import gpytorch
import pytest
import torch

from surefoot import kernels
from surefoot.kernels.closed_form import closed_form, constant_diagonal
from surefoot.kernels.families import FAMILIES, differentiable

KERNELS = {
    "squared exponential": kernels.squared_exponential([0.3, 0.7]),
    "one lengthscale": kernels.squared_exponential(0.4),
    "scaled": kernels.scaled(kernels.squared_exponential([0.3, 0.7]), 3.0),
    **{f"Matérn {nu}": kernels.matern(nu, [0.3, 0.7]) for nu in (0.5, 1.5, 2.5)},
    "scaled Matérn": kernels.scaled(kernels.matern(2.5, 0.4), 0.2),
}
every = pytest.mark.parametrize("name", KERNELS)


def points(number: int, seed: int, offset: float = 0.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return offset + torch.rand(number, 2, dtype=torch.float64, generator=generator)


@every
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_values_and_gradients_are_those_of_gpytorch(name, offset):
    kernel = KERNELS[name]
    left, right = points(7, 0, offset).requires_grad_(), points(5, 1, offset)
    ours, theirs = kernels.block(kernel, left, right), kernel(left, right).to_dense()
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    slopes = [torch.autograd.grad(one.sin().sum(), left)[0] for one in (ours, theirs)]
    torch.testing.assert_close(*slopes, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        kernels.diagonal(kernel, right), kernel(right, right, diag=True), rtol=0, atol=1e-15
    )


@every
def test_a_kernel_matrix_has_the_variance_on_its_diagonal(name):
    kernel, x = KERNELS[name], points(6, 2)
    gram = kernels.block(kernel, x, x)
    torch.testing.assert_close(gram.diagonal(), kernels.diagonal(kernel, x), rtol=1e-14, atol=0)
    torch.testing.assert_close(gram, gram.T, rtol=0, atol=1e-15)


@every
def test_groups_are_evaluated_as_one_by_one(name):
    kernel = KERNELS[name]
    left, right = points(12, 3).reshape(3, 4, 2), points(6, 4).reshape(3, 2, 2)
    together = kernels.block(kernel, left, right)
    for index in range(3):
        alone = kernels.block(kernel, left[index], right[index])
        torch.testing.assert_close(together[index], alone, rtol=1e-12, atol=1e-13)


def test_parameters_have_gradients():
    base = gpytorch.kernels.RBFKernel(ard_num_dims=2).double()
    kernel, x = gpytorch.kernels.ScaleKernel(base).double(), points(5, 5)
    slopes = []
    for values in (kernels.block(kernel, x, x), kernel(x, x).to_dense()):
        slopes.append(torch.autograd.grad(values.cos().sum(), list(kernel.parameters())))
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_scale_kernel_of_gpytorch_is_known_as_well():
    """Ours differs from it in how its batch shape is computed."""
    base, x = kernels.matern(2.5, 0.4), points(5, 6)
    theirs = gpytorch.kernels.ScaleKernel(base).double().requires_grad_(False)
    theirs.outputscale = torch.tensor(0.2, dtype=torch.float64)
    ours = kernels.scaled(base, 0.2)
    assert kernels.to_recipe(theirs) == kernels.to_recipe(ours)
    assert closed_form(theirs) is not None
    assert torch.equal(kernels.block(theirs, x, x), kernels.block(ours, x, x))
    assert ours.batch_shape == theirs.batch_shape == torch.Size([])
    batch = gpytorch.kernels.RBFKernel(batch_shape=torch.Size([3])).double()
    scaled = kernels.scaled(batch, 2.0)
    assert scaled.batch_shape == torch.Size([3])
    assert scaled[1].batch_shape == torch.Size([])
    twice = ours.expand_batch(torch.Size([2]))
    torch.testing.assert_close(twice(x).to_dense()[1], ours(x).to_dense())


def test_no_points_have_no_values():
    kernel, x = KERNELS["scaled"], points(4, 6)
    assert kernels.block(kernel, x, x[:0]).shape == (4, 0)
    assert kernels.block(kernel, x[:0], x).shape == (0, 4)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.linear(),
        kernels.custom(lambda x, z: x @ z.T),
        gpytorch.kernels.RBFKernel(active_dims=[0]).double(),
        gpytorch.kernels.RBFKernel(batch_shape=torch.Size([2])).double(),
    ],
)
def test_other_kernels_have_no_closed_form(kernel):
    assert closed_form(kernel) is None
    assert constant_diagonal(kernel) is None


def test_groups_of_other_kernels_are_evaluated_too():
    kernel, x = kernels.linear(), points(6, 7).reshape(2, 3, 2)
    together = kernels.block(kernel, x, x)
    torch.testing.assert_close(together, x @ x.mT, rtol=1e-12, atol=0)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_slopes_of_correlations_are_their_derivatives(family):
    exponents = (-torch.linspace(0.01, 4.0, 9, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(lambda at: differentiable(family.formula, at), exponents)
    values = 3.0 * differentiable(family.formula, exponents)
    found = family.formula(exponents.detach(), 3.0)
    torch.testing.assert_close(found.values, values.detach())
    torch.testing.assert_close(found.slopes(), torch.autograd.grad(values.sum(), exponents)[0])


def test_a_second_derivative_is_refused():
    """It would be that of a constant slope."""
    exponents = (-torch.ones(2, dtype=torch.float64)).requires_grad_()
    values = differentiable(FAMILIES["matern-5/2"].formula, exponents)
    (slopes,) = torch.autograd.grad(values.square().sum(), exponents, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()
