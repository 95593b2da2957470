"""Kernels given by a Gram matrix of the arms, or by a Python function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot._internal import checks
from surefoot.types import InvalidInput

_SYMMETRY = 1e-10  # relative to the largest entry
_PSD = 1e-8  # relative to the largest entry
_CHUNK = 64  # points of which a block is evaluated where only the diagonal is needed

Block = Callable[[Tensor, Tensor], Tensor]  # (n, d), (m, d) -> (n, m)


class PrecomputedKernel(Kernel):
    """Kernel of arms without coordinates, by their Gram matrix.

    A point is the index of its arm, as one float coordinate.

    Args:
        gram: Symmetric positive semidefinite matrix (A, A) of the values between arms.

    Example:
        >>> import torch
        >>> kernel = PrecomputedKernel(torch.tensor([[1.0, 0.2], [0.2, 1.0]]))
        >>> kernel(torch.tensor([[0.0]]), torch.tensor([[1.0]])).to_dense().round(decimals=4)
        tensor([[0.2000]])
    """

    gram: Tensor

    def __init__(self, gram: Tensor) -> None:
        super().__init__()
        self.register_buffer("gram", gram)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Values between arms, in GPyTorch's conventions.

        Args:
            x1: Arm indices (..., n, 1).
            x2: Arm indices (..., m, 1).
            diag: Whether to evaluate pairs, n = m.
            **params: Ignored.

        Returns:
            (..., n, m), or (..., n) with `diag`.
        """
        rows, columns = x1[..., 0].long(), x2[..., 0].long()
        if diag:
            return self.gram[rows, columns]
        return self.gram[rows[..., :, None], columns[..., None, :]]


class CustomKernel(Kernel):
    """Kernel evaluated by a Python function.

    Args:
        block: Function of points (n, d) and (m, d) that returns the values (n, m).

    Raises:
        InvalidInput: On evaluation, if the values have another shape or are not finite.

    Example:
        >>> import torch
        >>> kernel = CustomKernel(lambda left, right: left @ right.T)
        >>> kernel(torch.tensor([[1.0, 2.0]])).to_dense()
        tensor([[5.]])
    """

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Values between points, in GPyTorch's conventions.

        Args:
            x1: Points (n, d).
            x2: Points (m, d).
            diag: Whether to evaluate pairs, n = m.
            **params: Ignored.

        Returns:
            (n, m), or (n,) with `diag`.
        """
        if diag:
            pairs = zip(x1.split(_CHUNK), x2.split(_CHUNK), strict=True)
            return torch.cat([self._values(*pair).diagonal() for pair in pairs])
        return self._values(x1, x2)

    def _values(self, left: Tensor, right: Tensor) -> Tensor:
        values = torch.as_tensor(self.block(left, right))
        if values.shape != (len(left), len(right)):
            raise InvalidInput(
                f"the kernel gave a block of shape {tuple(values.shape)} for {len(left)} and "
                f"{len(right)} points, expected ({len(left)}, {len(right)})."
            )
        if not bool(torch.isfinite(values).all()):
            raise InvalidInput("the kernel gave values that are NaN or infinite.")
        if values.dtype != left.dtype:
            raise InvalidInput(
                f"the kernel gave values of type {values.dtype} for points of type {left.dtype}: "
                "compute them in the type of the points."
            )
        return values.to(left.device)


def precomputed(K: Tensor | Sequence) -> Kernel:
    """Kernel of arms without coordinates, `Arms(len(K))`, by their Gram matrix.

    Args:
        K: Values (A, A) between arms, symmetric and positive semidefinite; a covariance or
            correlation matrix, for instance.

    Returns:
        A `PrecomputedKernel`.

    Raises:
        InvalidInput: If `K` is not square, symmetric, positive semidefinite and finite.

    Example:
        >>> import surefoot as sf
        >>> kernel = precomputed([[1.0, 0.8, 0.1], [0.8, 1.0, 0.1], [0.1, 0.1, 1.0]])
        >>> optimizer = sf.algorithms.gp_ucb(sf.Arms(3), kernel)
        >>> optimizer.ask().arm in range(3)
        True
    """
    gram = checks.matrix("K", K)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(f"`K` has shape {tuple(gram.shape)}, expected a square matrix.")
    scale = max(float(gram.abs().max()), torch.finfo(torch.float64).tiny)
    skew = float((gram - gram.T).abs().max())
    if skew > _SYMMETRY * scale:
        raise InvalidInput(
            f"`K` is not symmetric (K and its transpose differ by {skew:.3g}): pass (K + K.T) / 2."
        )
    smallest = float(torch.linalg.eigvalsh(gram)[0])
    if smallest < -_PSD * scale:
        raise InvalidInput(
            f"`K` is not positive semidefinite (smallest eigenvalue {smallest:.3g}): "
            "pass a Gram or correlation matrix, or clip its eigenvalues at 0."
        )
    return PrecomputedKernel(gram)


def custom(block: Block) -> Kernel:
    """Kernel from a Python function, for points of any kind that can be indexed.

    On `Arms` without coordinates the function receives arm indices as (n, 1) and (m, 1), so that
    arms can be strings, graphs or images in a list. The function is not saved with an optimizer:
    pass the kernel again to `Optimizer.load`.

    Args:
        block: Positive definite function of points (n, d) and (m, d) that returns the values
            (n, m).

    Returns:
        A `CustomKernel`.

    Raises:
        InvalidInput: If `block` is not callable.

    Example:
        >>> import torch
        >>> words = ["cat", "cart", "dog"]
        >>> letters = torch.tensor([[float(c in word) for c in "acdgort"] for word in words])
        >>> kernel = custom(lambda i, j: letters[i[:, 0].long()] @ letters[j[:, 0].long()].T)
        >>> arms = torch.tensor([[0.0], [1.0], [2.0]])
        >>> kernel(arms).to_dense()
        tensor([[3., 3., 0.],
                [3., 4., 0.],
                [0., 0., 3.]])
    """
    if not callable(block):
        raise InvalidInput(f"`block` is {block!r}, expected a function of two sets of points.")
    return CustomKernel(block)
