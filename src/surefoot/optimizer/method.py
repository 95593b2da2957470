"""A method: the parts by which a problem is solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot._internal import checks
from surefoot.acquisition import Policy, ScoreRule, UpperConfidenceBound
from surefoot.acquisition.plan import Plan
from surefoot.acquisition.policy import as_policy
from surefoot.acquisition.reporting import Reporting
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features
from surefoot.models.model import Hyperparameters, Model
from surefoot.optimizer import arguments
from surefoot.spaces import Joint, Space
from surefoot.types import InvalidInput
from surefoot.widths import Width, srinivas
from surefoot.widths.progress import check_width

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Method:
    """The parts by which a problem is solved: model, policy, plan and reporting.

    The named algorithms of `surefoot.algorithms` are compositions of them.

    Args:
        kernel: Prior covariance, a GPyTorch kernel (of x followed by z on a `Joint` space), or the
            rule by which it is fitted, `HyperparameterFit(...)`; by default one is fitted, on
            spaces with coordinates. `GivenHyperparameters(kernel, ridge, standardise=True)` centres
            rewards by their median and scales them by their MAD; with `Huber()`, by an
            empirical-Bayes prior mean and output scale.
        ridge: Regularisation lambda where a kernel is given: the noise variance in the units of the
            kernel, that is in squared reward units.
        features: Feature map; `Exact()` by default.
        estimator: Estimator of the coefficients; `LeastSquares()` by default.
        width: Multiplier of the standard deviation in the bounds; `widths.srinivas()` by default.
        policy: Where to measure next, a policy or an acquisition function; the upper confidence
            bound by default.
        plan: Initial design and replicates, see `Plan`.
        reporting: Rule of the recommendation, its intervals and its estimand, see `Reporting`.

    Raises:
        InvalidInput: If a part is none.

    Example:
        >>> import surefoot as sf
        >>> method = sf.Method(sf.kernels.squared_exponential(0.2), estimator=sf.Huber())
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), method)
    """

    kernel: Kernel | Hyperparameters | None = None
    ridge: float = 1.0
    features: Features = Exact()
    estimator: Estimator[Any] = LeastSquares()
    width: Width = srinivas()
    policy: Policy | ScoreRule = UpperConfidenceBound()
    plan: Plan = Plan()
    reporting: Reporting = Reporting()

    def __post_init__(self) -> None:
        checks.positive("ridge", self.ridge)
        check_width("width", self.width)
        if not hasattr(self.features, "init") or isinstance(self.features, type):
            raise InvalidInput(
                f"`features` must be a feature map such as `Exact()`, got {self.features!r}."
            )
        right = all(hasattr(self.estimator, name) for name in ("init", "update", "estimate"))
        if not right or isinstance(self.estimator, type):
            raise InvalidInput(
                f"`estimator` must be one such as `Huber()`, got {self.estimator!r}."
            )
        as_policy(self.policy)
        checks.instance("plan", self.plan, Plan)
        checks.instance("reporting", self.reporting, Reporting)

    def model(self, space: Space | Joint) -> Model:
        """The model of one measured quantity on a space."""
        rule = arguments.hyperparameters(self.kernel, self.ridge, space)
        return Model(space.seen, rule, self.features, self.estimator, self.width)
