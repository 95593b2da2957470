"""The default for measurements that jump about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.algorithms._defaults import first_points
from surefoot.estimators import Huber, StudentT
from surefoot.features import Sketch
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import Risk
from surefoot.spaces import Joint, Space
from surefoot.types import InvalidInput
from surefoot.widths import srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def robust_ucb(
    space: Space | Joint,
    kernel: Kernel | None = None,
    *,
    risk: Risk | None = None,
    ridge: float | None = None,
    scale: float = 0.5,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """The default for measurements that jump about; needs no constants from its user.

    Without a kernel, lengthscales, noise scale and tail are learnt with Student-t noise, and
    outliers lose their weight. With one, the estimate is Huber's, the prior's mean and width are
    those under which the rewards are likeliest, and `ridge` (1 by default) is the noise variance as
    a share of the prior's. `scale` is that of the width
    sqrt(2 ln(t^2 pi^2 / 0.6)). The first `initial` points are spread evenly. A `Joint` space, of
    designs beside a random environment, needs the `risk` to maximise.
    """
    if kernel is None:
        if ridge is not None:
            raise InvalidInput("`ridge` came without a `kernel`: a learnt kernel learns the noise.")
        seen = space.seen if isinstance(space, Joint) else space
        return Optimizer(
            space,
            risk=risk,
            features=Sketch(),
            estimator=StudentT(),
            width=srinivas(scale=scale),
            hyperparameters=HyperparameterFit(lengthscales="long" if risk is None else "short"),
            initial=first_points(seen) if initial is None else initial,
            seed=seed,
            device=device,
        )
    return Optimizer(
        space,
        kernel,
        risk=risk,
        estimator=Huber(),
        width=srinivas(scale=scale),
        standardise=True,
        ridge=1.0 if ridge is None else ridge,
        initial=initial or 0,
        seed=seed,
        device=device,
    )
