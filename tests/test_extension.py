"""An estimator, a feature map and a risk of one's own, each in one class, through a whole run.

Nothing here is known to the library. A part of one's own is not in a saved file: loading names it,
and goes on with the same run when it is passed again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot.estimators import Estimate
from surefoot.features import fixed_features

ARMS = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LINE = torch.linspace(0.0, 1.0, 6, dtype=torch.float64).unsqueeze(-1)
RIDGE = 0.1


@dataclass(frozen=True)
class Clipped:
    """Least squares of rewards that are clipped at a bound."""

    bound: float

    def init(self, constants: Any) -> "ClippedSums":
        return ClippedSums()

    def update(self, state: "ClippedSums", site: int, reward: float) -> "ClippedSums":
        kept = max(-self.bound, min(self.bound, reward))
        sums = [*state.sums, 0.0] if site == len(state.sums) else [*state.sums]
        sums[site] += kept
        return ClippedSums(tuple(sums), state.clipped + (kept != reward))

    def estimate(self, state: "ClippedSums", sample: Any) -> tuple[Estimate, "ClippedSums"]:
        sums = torch.tensor(state.sums, dtype=torch.float64)
        theta = sample.factor.solve(sample.features.T @ sums)
        return Estimate(theta, sample.counts, self.bound, state.clipped), state


@dataclass(frozen=True)
class ClippedSums:
    """Sums of the clipped rewards of each site."""

    sums: tuple[float, ...] = ()
    clipped: int = 0


@dataclass(frozen=True)
class Bumps:
    """Radial bumps at given centers: a map that does not depend on what is measured."""

    number: int = 9
    width: float = 0.3

    def init(
        self, kernel: Any, space: Any, ridge: float, generator: torch.Generator, **options: Any
    ) -> Any:
        steps = torch.linspace(0.0, 1.0, self.number, dtype=torch.float64).unsqueeze(-1)
        centers = space.lower + steps * (space.upper - space.lower)
        return fixed_features(BumpMap(centers, self.width), kernel, space, ridge, **options)


@dataclass(frozen=True, eq=False)
class BumpMap:
    centers: Tensor  # (m, d)
    width: float

    @property
    def dimension(self) -> int:
        return len(self.centers)

    def __call__(self, points: Tensor) -> Tensor:
        squares = ((points.unsqueeze(-2) - self.centers) / self.width).square().sum(-1)
        return torch.exp(-0.5 * squares) / self.dimension**0.5

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        return (1.0 - features.square().sum(-1)).clamp_min(0.0)

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        return left_features.new_zeros(len(left_features), len(right_features))


@dataclass(frozen=True)
class Median:
    """The weighted median over the environment, the least value of half the weight below it."""

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        ordered, order = values.sort(-1)
        reached = weights.expand(values.shape).gather(-1, order).cumsum(-1)
        first = (reached >= 0.5 - 1e-12).to(torch.int64).argmax(-1, keepdim=True)
        return ordered.gather(-1, first).squeeze(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        low, high = self(lower, weights).unsqueeze(-1), self(upper, weights).unsqueeze(-1)
        return (lower <= low) & (upper >= high) & (weights > 0.0)


def environment() -> sf.FiniteEnvironment:
    return sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])


SPACES: dict[str, Callable[[], Any]] = {
    "arms": lambda: sf.Arms(ARMS),
    "box": lambda: sf.Box([0.0, 0.0], [1.0, 1.0]),
    "joint-arms": lambda: sf.Joint(sf.Arms(LINE), environment()),
    "joint-box": lambda: sf.Joint(sf.Box([0.0], [1.0]), environment()),
}
PARTS: dict[str, Any] = {"estimator": Clipped(3.0), "features": Bumps(), "risk": Median()}


def build(space: str, **parts: Any) -> sf.Optimizer:
    risk = {"risk": sf.VaR(0.3)} if space.startswith("joint") else {}
    kernel = sf.kernels.squared_exponential(0.4)
    return optimizer_of(SPACES[space](), kernel, ridge=RIDGE, **{**risk, **parts})


def play(optimizer: sf.Optimizer, rounds: int, first: int = 0) -> list[list[float]]:
    """Ask and tell; every fifth reward is an outlier."""
    asked = []
    for step in range(first, first + rounds):
        query = optimizer.ask()
        z = [] if query.environment is None else query.environment.tolist()
        asked.append([*query.point.tolist(), *z])
        outlier = 50.0 if step % 5 == 4 else 0.0
        optimizer.tell(query, float(torch.sin(5.0 * query.point).sum()) + sum(z) + outlier)
    return asked


def fits(part: str, space: str) -> bool:
    return part != "risk" or space.startswith("joint")


CASES = [(part, space) for part in PARTS for space in SPACES if fits(part, space)]


@pytest.mark.long
@pytest.mark.parametrize(("part", "space"), CASES)
def test_a_part_of_ones_own_is_asked_told_saved_and_loaded(
    part: str, space: str, tmp_path: Path
) -> None:
    own = {part: PARTS[part]}
    optimizer = build(space, **own)
    asked = play(optimizer, 7)
    pending = optimizer.ask_batch(2)
    optimizer.forget(pending[0], failed=False)
    assert optimizer.recommend().lower <= optimizer.recommend().upper
    optimizer.save(tmp_path / "run")
    with pytest.raises(sf.InvalidInput, match=f"{part}.*pass it again"):
        sf.Optimizer.load(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", **own)
    assert [query.id for query in loaded.pending] == [pending[1].id]
    assert play(loaded, 4, first=7) == play(optimizer, 4, first=7)
    assert play(build(space, **own), 7) == asked


@pytest.mark.parametrize("space", SPACES)
def test_the_estimate_is_that_of_the_clipped_rewards(space: str) -> None:
    clipped, plain = build(space, estimator=PARTS["estimator"]), build(space)
    design = getattr(plain.space, "design", plain.space)
    generator = torch.Generator().manual_seed(1)
    x = design.points[:8] if isinstance(design, sf.Arms) else design.sample(8, generator)
    z = plain.space.environment.sample(len(x), generator) if "joint" in space else None
    rewards = 4.0 * torch.randn(len(x), dtype=torch.float64, generator=generator)
    info = clipped.tell_all(x, rewards, z)
    plain.tell_all(x, rewards.clamp(-3.0, 3.0), z)
    at = x if z is None else torch.cat([x, z], -1)
    torch.testing.assert_close(
        clipped.belief().posterior.mean(at), plain.belief().posterior.mean(at)
    )
    assert info.threshold == 3.0
    assert info.truncated_total == int((rewards.abs() > 3.0).sum())


@pytest.mark.parametrize("space", SPACES)
def test_the_posterior_is_that_of_the_feature_map(space: str) -> None:
    optimizer = build(space, features=Bumps())
    design = getattr(optimizer.space, "design", optimizer.space)
    generator = torch.Generator().manual_seed(1)
    x = design.points[:8] if isinstance(design, sf.Arms) else design.sample(8, generator)
    z = optimizer.space.environment.sample(len(x), generator) if "joint" in space else None
    rewards = torch.randn(len(x), dtype=torch.float64, generator=generator)
    for step, reward in enumerate(rewards.tolist()):
        optimizer.tell(x[step], reward, None if z is None else z[step])
    at = x if z is None else torch.cat([x, z], -1)
    steps = torch.linspace(0.0, 1.0, 9, dtype=torch.float64).unsqueeze(-1)
    seen = optimizer.space.design if z is None else None
    lower = seen.lower if seen is not None else torch.zeros(2, dtype=torch.float64)
    upper = seen.upper if seen is not None else torch.ones(2, dtype=torch.float64)
    phi = BumpMap(lower + steps * (upper - lower), 0.3)(at)
    V = phi.T @ phi + RIDGE * torch.eye(9, dtype=torch.float64)
    mean = phi @ torch.linalg.solve(V, phi.T @ rewards)
    explained = RIDGE * (phi * torch.linalg.solve(V, phi.T).T).sum(-1)
    variance = 1.0 - phi.square().sum(-1) + explained
    torch.testing.assert_close(optimizer.belief().posterior.mean(at), mean)
    torch.testing.assert_close(optimizer.belief().posterior.variance(at), variance)


def test_the_risk_is_that_of_the_bounds() -> None:
    optimizer = build("joint-arms", risk=Median())
    play(optimizer, 8)
    value, lower, upper = optimizer.belief().predict(LINE)
    assert bool(((lower <= value) & (value <= upper)).all())
    for row, x in enumerate(LINE):
        z = environment().points
        mean = optimizer.belief().posterior.mean(torch.cat([x.expand(3, -1), z], -1))
        expected = Median()(mean, environment().weights)
        torch.testing.assert_close(value[row], expected)
