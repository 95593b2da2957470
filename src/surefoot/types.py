"""Queries, diagnostics and recommendations of an optimizer, and the errors of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from surefoot._internal.html import as_html, at_least, at_most, value_text

if TYPE_CHECKING:
    from torch import Tensor


class SurefootError(Exception):
    """Base class of all errors that surefoot raises.

    Example:
        >>> import surefoot as sf
        >>> try:
        ...     sf.Box([1.0], [0.0])
        ... except sf.SurefootError as error:
        ...     print(type(error).__name__)
        InvalidInput
    """


class InvalidInput(SurefootError, ValueError):
    """Invalid argument; the message states what was given and what is expected.

    It is a `ValueError` as well.
    """


class NotReady(SurefootError, RuntimeError):
    """Call that requires observations, before there are any.

    It is a `RuntimeError` as well.
    """


class NotInstalled(SurefootError, ImportError):
    """Package that is not installed; the message names the extra that installs it.

    It is an `ImportError` as well.
    """


class NumericalError(SurefootError, ArithmeticError):
    """Numerical failure in float64, such as a covariance that is not positive definite.

    It is an `ArithmeticError` as well.
    """


@dataclass(frozen=True, eq=False)
class Query:
    """Requested measurement; pass it to `Optimizer.tell` with the reward.

    Args:
        id: Number of the query, unique in its optimizer.
        point: Point (d,) to measure at, in the units of the space; the design x of a `Joint`.
        arm: Index of the point in `Arms`, None in a `Box`.
        repeats: How often to take the measurement.
        environment: Environment z (dz,) to measure under, in a `Joint` whose environment is chosen
            by the optimizer; None otherwise.
        owner: Token of the optimizer that made the query. Any other optimizer treats the query as
            its point.
        params: Configuration to measure, as values by parameter name, on a `parameters.Space`;
            empty otherwise.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
        >>> query = optimizer.ask()
        >>> info = optimizer.tell(query, float(query.point.sin()))
        >>> query.arm is None, query.repeats, info.round
        (True, 1, 1)
    """

    id: int
    point: Tensor
    arm: int | None = None
    repeats: int = 1
    environment: Tensor | None = None
    owner: str = field(default="", repr=False)
    params: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        repeats = self.repeats if self.repeats > 1 else None
        where = {"configuration": self.params or self.point, "arm": self.arm}
        return as_html(
            f"Query {self.id}", {**where, "environment": self.environment, "repeats": repeats}
        )


OBJECTIVE = "objective"
"""Name of the objective among the values of a measurement."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Values that were measured at one point, and under which conditions.

    Args:
        where: A query, the index of an arm or a point.
        values: Values by outcome: the reward as `OBJECTIVE`, constraints by their names; some may
            be missing.
        environment: The z (dz,) that it was measured under, on a `Joint` space.
        sem: Standard error of the reward, in reward units.
        worker: Name of who or what measured it, None where it is unknown.
        time: When it was measured, in any unit, None where it is unknown.
        failed: Whether measuring failed because of the point, which the search then avoids.
        sems: Standard errors of the other outcomes by name, of those where they are known.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
        >>> rows = [Measurement([0.2], {OBJECTIVE: 1.0}), Measurement([0.7], {OBJECTIVE: 3.0})]
        >>> optimizer.record(rows).round
        2
    """

    where: Query | int | Tensor | Sequence[float] | Mapping[str, Any]
    values: Mapping[str, float] = field(default_factory=dict)
    environment: Tensor | Sequence[float] | float | None = None
    sem: float = 0.0
    worker: str | int | None = None
    time: float | None = None
    failed: bool = False
    sems: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of an estimate, see `Info`."""

    width: float
    threshold: float | None
    truncated: int
    truncated_total: int
    dimension: int
    information_gain: float


class Info:
    """Diagnostics of one `Optimizer.tell`; those of the estimate are found when they are read.

    Args:
        round: Number of rewards so far.
        seconds: Time that the call took.
        find: Finds the diagnostics of the estimate.
    """

    def __init__(self, round: int, seconds: float, find: Callable[[], Diagnostics]) -> None:
        self.round = round
        self.seconds = seconds
        self._find = find

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Diagnostics of the estimate from the rewards up to this one."""
        return self._find()

    @property
    def width(self) -> float:
        """Multiplier of the standard deviation in the next confidence bounds."""
        return self.diagnostics.width

    @property
    def threshold(self) -> float | None:
        """Threshold of the estimator; None for least squares.

        It is in reward units (of transformed rewards, if they are transformed): on |residual|,
        where `Huber` starts to reduce the weight and where that of `StudentT` is 1/2; on |y| in
        `Truncation`, and on |u_i y| in `AdaptiveTruncation`.
        """
        return self.diagnostics.threshold

    @property
    def truncated(self) -> int:
        """1 if the new reward was truncated or given less than half its weight, else 0."""
        return self.diagnostics.truncated

    @property
    def truncated_total(self) -> int:
        """Number of all such rewards in the current estimate."""
        return self.diagnostics.truncated_total

    @property
    def dimension(self) -> int:
        """Dimension m of the features."""
        return self.diagnostics.dimension

    @property
    def information_gain(self) -> float:
        """Half the log determinant of I + K / ridge, in nats."""
        return self.diagnostics.information_gain

    def __getstate__(self) -> dict[str, Any]:
        """The values: what finds them cannot be pickled, and a copy outlives it."""
        return {"round": self.round, "seconds": self.seconds, "diagnostics": self.diagnostics}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Info) and self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = {"round": self.round, **vars(self.diagnostics), "seconds": self.seconds}
        return f"Info({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proved statement about a design: how good it is, and how far from the best at most.

    All of it is true with probability 1 - `delta`, at all rounds of a run at once, if the
    assumptions hold. It is of the function, or of a risk of it, without noise.

    Args:
        design: The design (dx,).
        arm: Its index in `Arms`, None in a `Box`.
        lower: Lower bound of its value, in reward units.
        upper: Upper bound of the value of every design.
        within: Most that the best design is better by.
        delta: Probability that the statement is false, at most.
        assumptions: What it rests on.
        risk: The risk that it is of, empty without an environment.

    Example:
        >>> import surefoot as sf
        >>> arms, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> bounds = sf.widths.dual_mixture(norm_bound=2.0, noise=0.1)
        >>> optimizer = sf.algorithms.gp_ucb(arms, kernel, width=bounds, ridge=0.01)
        >>> info = optimizer.tell_all([0, 1, 2] * 20, [0.0, 1.0, 0.5] * 20)
        >>> print(optimizer.belief().certificate())
        f at [0.5] is at least 0.8742 and within 0 of the best, with probability 0.9, if the ...
    """

    design: Tensor
    arm: int | None
    lower: float
    upper: float
    within: float
    delta: float
    assumptions: tuple[str, ...]
    risk: str = ""

    def __str__(self) -> str:
        name = " of ".join(filter(None, [self.risk, "f"]))
        return self.text(f"{name} at {self.design.tolist()} is at least {at_least(self.lower)}")

    def text(self, bound: str, unit: str = "") -> str:
        """The certificate in words.

        Args:
            bound: The lower bound in words, in the units and the direction of whoever reads it.
            unit: Behind what the best is better by.
        """
        return (
            f"{bound} and within {at_most(self.within)}{unit} of the best, with probability "
            f"{1.0 - self.delta:g}, if {', '.join(self.assumptions)}"
        )


@dataclass(frozen=True)
class Assumptions:
    """What a certificate rests on where the search itself assumes less, in reward units.

    The search fits its kernel, weighs outliers, and proves nothing; beside it, bounds of least
    squares are found under these assumptions, from the same rewards.

    Args:
        norm: Bound on the norm of f - `center` in the RKHS of the Matérn-5/2 kernel of variance 1,
            and so on its absolute value.
        lengthscale: Lengthscale of the kernel, as a share of the ranges of the coordinates. Of
            several, f has the norm with one of them, and it need not be known with which.
        noise: Sub-Gaussian constant of the noise, everywhere and given the past, such as half the
            range of noise that is bounded: the bounds are those of `widths.dual_mixture`.
        deviation: In its place, bound on the standard deviation of the noise, whatever its tails:
            those of `widths.self_normalised`, which need more rewards.
        order: That of the `deviation` (E|noise|^order)^(1 / order), in (1, 2]; below 2 for noise
            without a finite variance.
        center: A constant near f.
        misfit: How far f may be from a function of that norm, anywhere; with `deviation`.
        delta: Probability that a certificate is false.

    Raises:
        InvalidInput: If one is out of range, not exactly one of `noise` and `deviation` is given,
            or a `misfit` or an `order` with `noise`.

    References:
        notes/guarantees.md, Propositions 1, 3, 9, 10 and 11.

    Example:
        >>> import surefoot as sf
        >>> known = sf.Assumptions(norm=3.0, lengthscale=[0.2, 0.4], noise=0.1)
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), assume=known)
        >>> optimizer = sf.Optimizer(problem, sf.algorithms.robust(problem), seed=0)
        >>> x = [[0.1 * i] for i in range(11)]
        >>> info = optimizer.tell_all(4 * x, [1.0 - (one - 0.5) ** 2 for (one,) in 4 * x])
        >>> optimizer.belief().certificate().lower > 0.5
        True
    """

    norm: float
    lengthscale: float | Sequence[float]
    noise: float | None = None
    deviation: float | None = None
    order: float = 2.0
    center: float = 0.0
    misfit: float = 0.0
    delta: float = 0.05

    def __post_init__(self) -> None:
        from surefoot._internal import checks  # which imports the errors from here

        several = (given,) if isinstance(given := self.lengthscale, int | float) else (*given,)
        object.__setattr__(self, "lengthscale", several)
        if not several or (self.noise is None) is (self.deviation is None):
            raise InvalidInput(
                f"got `lengthscale` {list(several)}, `noise` {self.noise} and `deviation` "
                f"{self.deviation}, expected at least one lengthscale, and either of the others."
            )
        if self.noise is not None and (self.misfit or self.order != 2.0):
            raise InvalidInput(
                "nothing is proved for a `misfit`, or an `order` other than 2, with `noise`: pass "
                "the latter as `deviation`."
            )
        noise: Any = self.deviation if self.noise is None else self.noise
        if not 1.0 < checks.finite("order", self.order) <= 2.0:
            raise InvalidInput(
                f"`order` is {self.order}, expected a number above 1 and at most 2: that of the "
                "moment of the noise, 2 for a standard deviation."
            )
        checks.positive("norm", self.norm)
        checks.positive("noise` or `deviation", noise)
        for one in several:
            checks.positive("lengthscale", one)
        checks.finite("center", self.center)
        checks.non_negative("misfit", self.misfit)
        checks.probability("delta", self.delta)


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Recommended point, with the predicted value and an interval.

    Args:
        point: Point (d,), in the units of the space; the design x of a `Joint`.
        arm: Index of the point in `Arms`, None in a `Box`.
        value: Predicted value at `point`, in reward units: the posterior mean of the estimand, or
            the posterior median if rewards are transformed; on a `Joint` space the risk of it.
        lower: Lower end of an interval of that value, in reward units (see `Optimizer`).
        upper: Upper end.
        feasibility: Probability that all constraints with a value hold there, 1 without any.
        estimand: What the value is of the rewards at `point`: their "location", "median" or "mean".
        params: Configuration of `point`, as values by parameter name, on a `parameters.Space`;
            empty otherwise.
        unmeasured: Declared constraints without a value, of which nothing is known.
        certificate: What is proved of the point, if all that it needs is assumed.
    """

    point: Tensor
    arm: int | None
    value: float
    lower: float
    upper: float
    feasibility: float = 1.0
    estimand: str = "location"
    params: Mapping[str, Any] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    certificate: Certificate | None = None

    @property
    def rows(self) -> dict[str, Any]:
        """Rows of a table about the recommendation, by name."""
        value = "value" if self.estimand == "location" else self.estimand
        return {
            "configuration": self.params or self.point,
            "arm": self.arm,
            f"predicted {value}": value_text(self.value, self.lower, self.upper),
            "constraints hold": f"{self.feasibility:.0%}" if self.feasibility < 1.0 else None,
            "not measured yet": ", ".join(self.unmeasured) or None,
            "proved": None if self.certificate is None else str(self.certificate),
        }

    def _repr_html_(self) -> str:
        return as_html("Recommendation", self.rows)


@dataclass(frozen=True)
class Constraint:
    """Limit of a quantity that is measured together with the reward.

    It holds at a point where the quantity without its noise is within the limit.

    Args:
        maximum: Largest allowed value, in the units of the quantity.
        minimum: Smallest allowed value. Exactly one of `maximum` and `minimum` must be given.
        confidence: Posterior probability with which it must hold at a recommended point.
        safe: Whether no point is asked for at which it does not hold with that probability, from a
            point that was told first outward.

    Raises:
        InvalidInput: If an argument is out of range, or not exactly one limit is given.

    Example:
        >>> import surefoot as sf
        >>> sf.Constraint(maximum=20.0, confidence=0.9).excess(18.5)
        -1.5
    """

    maximum: float | None = None
    minimum: float | None = None
    confidence: float = 0.95
    safe: bool = False

    def __post_init__(self) -> None:
        limits = [limit for limit in (self.maximum, self.minimum) if limit is not None]
        if len(limits) != 1:
            raise InvalidInput("`Constraint` takes either `maximum` or `minimum`, a number.")
        from surefoot._internal import checks  # which imports the errors from here

        for name in ("maximum", "minimum"):
            if (limit := getattr(self, name)) is not None:
                object.__setattr__(self, name, checks.finite(name, limit))
        object.__setattr__(self, "confidence", checks.probability("confidence", self.confidence))
        checks.truth("safe", self.safe)

    @property
    def role(self) -> Role:
        """Role of a constraint."""
        return "constraint"

    @property
    def center(self) -> float:
        """The limit, where no margin is left."""
        return self.minimum if self.maximum is None else self.maximum  # type: ignore[return-value]

    @property
    def direction(self) -> float:
        """1.0 where larger values are better, else -1.0."""
        return 1.0 if self.maximum is None else -1.0

    def excess(self, value: float) -> float:
        """Distance of a value beyond the limit, negative within it."""
        return self.direction * (self.center - value)


@dataclass(frozen=True)
class Objective:
    """Further quantity to optimise, which is measured together with the reward.

    It has a model, which a policy may use (`Candidates.objectives`).

    Args:
        maximise: Whether larger values are better.

    Example:
        >>> import surefoot as sf
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), {"cost": sf.Objective(maximise=False)})
        >>> optimizer = sf.algorithms.robust_ucb(problem)
        >>> _ = optimizer.tell_all([[0.1], [0.9]], [1.0, 2.0], outcomes=[{"cost": 3.0}, None])
        >>> list(optimizer.belief().constraints.outcomes)
        ['cost']
    """

    maximise: bool = True

    center = 0.0

    @property
    def role(self) -> Role:
        """Role of an objective."""
        return "objective"

    @property
    def direction(self) -> float:
        """1.0 where larger values are better, else -1.0."""
        return 1.0 if self.maximise else -1.0


@dataclass(frozen=True)
class Watched:
    """Quantity that is measured together with the reward and modelled, without goal or limit.

    Example:
        >>> import surefoot as sf
        >>> sf.Watched().role
        'watched'
    """

    center, direction = 0.0, 1.0

    @property
    def role(self) -> Role:
        """Role of a watched outcome."""
        return "watched"


Role = Literal["objective", "constraint", "watched"]
Outcome = Constraint | Objective | Watched
"""Quantity that is measured together with the reward: a constraint, an objective, or neither."""
