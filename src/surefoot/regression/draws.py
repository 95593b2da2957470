"""Functions drawn from a posterior: the part that features span, and the residual they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.types import InvalidInput

Path = Callable[[Tensor], Tensor]  # points (n, d) -> (n,), differentiable

_NEGLIGIBLE = 1e-6  # of the kernel, that features may leave unexplained


class ResidualDraw(NamedTuple):
    """A draw h(x) - phi(x)^T p of the process with covariance k(x, x') - phi(x)^T phi(x').

    h is a draw of the prior, and p are the coefficients of its projection onto the features.

    Args:
        function: h, in the units of the model.
        projection: p (m,).
    """

    function: Path
    projection: Tensor


def no_residual(like: Tensor, dimension: int) -> ResidualDraw:
    """The residual, 0, of features that represent the kernel."""
    return ResidualDraw(lambda points: points.new_zeros(len(points)), like.new_zeros(dimension))


def residual_draw(embedding: Embedding, prior: Callable[[], Path], like: Tensor) -> ResidualDraw:
    """A draw of the residual process of a feature map.

    A map that leaves a residual has a method `residual_draw(prior)`, as `NystromEmbedding` has.
    One without that method must represent the kernel, as Fourier features do.

    Args:
        embedding: The feature map.
        prior: Draws a function of the prior; called only where there is a residual.
        like: A tensor of the type and the device of the features.

    Raises:
        InvalidInput: On evaluation, where a map without that method leaves a residual.
    """
    if hasattr(embedding, "residual_draw"):
        return embedding.residual_draw(prior)

    def nothing(points: Tensor) -> Tensor:
        with torch.no_grad():
            features = embedding(points)
            residual = embedding.residual(points, features)
            if bool((residual > _NEGLIGIBLE * (residual + features.square().sum(-1))).any()):
                raise InvalidInput(
                    f"{type(embedding).__name__} leaves a part of the kernel unexplained that it "
                    "cannot draw: give it a method `residual_draw(prior)`, as `NystromEmbedding` "
                    "has, for Thompson sampling."
                )
        return points.new_zeros(len(points))

    return ResidualDraw(nothing, like.new_zeros(embedding.dimension))
