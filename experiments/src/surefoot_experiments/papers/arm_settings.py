"""Settings of the heavy-tails paper's algorithms, which build them and are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from surefoot import Method, Moment, Nystrom, Optimizer, QuadratureFourier, widths
from surefoot.estimators import AdaptiveTruncation, Truncation
from surefoot.features import Exact, Features, LeverageSampling
from surefoot.widths import Width
from surefoot_experiments.baselines import as_published
from surefoot_experiments.harness.departures import setting, stated
from surefoot_experiments.problems import ArmProblem

_DELTA = 0.1
_SO_FAR: Literal["rewards so far"] = "rewards so far"
_NEXT, _ONE_MORE = stated("round to come"), stated("ln((m + 1) T)")


class Oversampling(Protocol):
    """The q of a Nyström dictionary, for a number of rounds."""

    def __call__(self, rounds: int) -> float: ...


@dataclass(frozen=True)
class Published:
    """q = ln T / ε², of the authors' code."""

    accuracy: float = 0.1

    def __call__(self, rounds: int) -> float:
        return as_published.oversampling(max(rounds, 3), self.accuracy)

    def __str__(self) -> str:
        return f"ln T / ε², ε = {self.accuracy:g}"


@dataclass(frozen=True)
class Fixed:
    """The same q for any number of rounds."""

    value: float

    def __call__(self, rounds: int) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Union:
    """The events of the union bound in a threshold: L = ln(unions m T / δ)."""

    unions: int
    delta: float

    def __str__(self) -> str:
        unions = "" if self.unions == 1 else f"{self.unions} "
        delta = "" if self.delta == 1.0 else f" / δ), δ = {self.delta:g}"
        return f"ln({unions}m T{delta or ')'}"


@dataclass(frozen=True)
class TGP:
    """TGP-UCB; the defaults are those of the authors' code."""

    width: Literal["as published"] = setting("width β", default="as published")
    counted: Literal["rewards so far"] = setting("t in the width", default=_SO_FAR)
    bound: str = setting("B", default="max|f|")
    ridge: float = setting("ridge λ", default=1.0)

    @property
    def in_authors_code(self) -> TGP:
        """The settings with what the authors' code has otherwise."""
        return replace(self, counted=_NEXT)

    def __call__(
        self, problem: ArmProblem, rounds: int, seed: int, *, moment: Moment | None = None
    ) -> Optimizer:
        """The optimizer for a problem, with the moment of the problem unless given."""
        moment = moment or problem.moment
        bound = {"max|f|": problem.largest}[self.bound]
        method = Method(
            problem.kernel,
            self.ridge,
            estimator=Truncation(moment),
            width=as_published.Truncated(moment, bound),
        )
        return Optimizer(problem.space, method, seed=seed)


@dataclass(frozen=True)
class ATA:
    """ATA-GP-UCB; the defaults are those of the authors' code."""

    features: Literal["fourier", "nystrom", "exact"] = setting("features")
    nodes: int = setting("quadrature nodes on each axis", default=32)
    folded: bool = setting("pairs of quadrature nodes are folded", default=False)
    dictionary: Literal["symmetric", "cholesky"] = setting(
        "root of the dictionary's kernel matrix", default="symmetric"
    )
    oversampling: Oversampling = setting("oversampling q", default=Published())
    inclusion: Literal["once", "per-pull"] = setting(
        "chances of an arm to be in the dictionary", default="once"
    )
    resample: Literal["every-round", "adaptive"] = setting(
        "dictionary drawn", default="every-round"
    )
    threshold: Union = setting("logarithm L in the threshold b", default=Union(1, 1.0))
    root: Literal["symmetric", "cholesky"] = setting(
        "root of V in the truncation", default="symmetric"
    )
    width: Literal["as published", "theorem's"] = setting("width β", default="as published")
    counted: Literal["rewards so far"] = setting("t in the width", default=_SO_FAR)
    bound: Literal["max|f|", "norm of f"] = setting("B", default="max|f|")
    ridge: float = setting("ridge λ", default=1.0)

    @property
    def in_authors_code(self) -> ATA:
        """The settings with what the authors' code has otherwise."""
        if self.features != "nystrom":
            return replace(self, counted=_NEXT)
        width = stated(f"{self.width}, L = {_ONE_MORE}")
        return replace(self, threshold=_ONE_MORE, width=width)

    def __call__(
        self, problem: ArmProblem, rounds: int, seed: int, *, moment: Moment | None = None
    ) -> Optimizer:
        """The optimizer for a problem, with the moment of the problem unless given."""
        moment = moment or problem.moment
        bound = {"max|f|": problem.largest, "norm of f": problem.norm_bound}[self.bound]
        maps: dict[str, Features] = {
            "fourier": QuadratureFourier(self.nodes, self.folded),
            "nystrom": Nystrom(
                LeverageSampling(
                    self.oversampling(rounds),
                    self.resample,
                    inclusion=self.inclusion,
                    feedback="immediate",
                    root=self.dictionary,
                )
            ),
            "exact": Exact(),
        }
        chosen: dict[str, Width] = {
            "as published": as_published.Adaptive(moment, bound, rounds),
            "theorem's": widths.adaptive_fourier(moment, bound, _DELTA, horizon=rounds),
        }
        return Optimizer(
            problem.space,
            Method(
                problem.kernel,
                features=maps[self.features],
                estimator=AdaptiveTruncation(
                    moment, rounds, self.threshold.delta, self.root, self.threshold.unions
                ),
                width=chosen[self.width],
                ridge=self.ridge,
            ),
            seed=seed,
        )


PUBLISHED_TGP = TGP()
PUBLISHED_QFF = ATA("fourier")
PUBLISHED_NYSTROM = ATA("nystrom")
OWN_QFF = replace(PUBLISHED_QFF, folded=True, threshold=Union(2, _DELTA), root="cholesky")
ALGORITHM_3 = replace(PUBLISHED_NYSTROM, inclusion="per-pull")  # of the paper, not of its code
OWN_NYSTROM = replace(
    ALGORITHM_3,
    dictionary="cholesky",
    oversampling=Fixed(4.0),
    resample="adaptive",
    threshold=Union(4, _DELTA),
    root="cholesky",
)
OWN_EXACT = replace(OWN_QFF, features="exact", folded=False)
