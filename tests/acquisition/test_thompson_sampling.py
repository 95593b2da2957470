"""Thompson sampling against a literal transcription, and what its users rely on."""

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import surefoot as sf
from reference import covariance, gaussian_process
from support.optimizers import optimizer_of
from support.variants import variant
from surefoot.acquisition import ScorePolicy, ThompsonSampling
from surefoot.algorithms import bbkb, bkb, cvar_ts, gp_ts, robust_ucb
from surefoot.beliefs import Candidates

LINE = np.linspace(0.0, 1.0, 40)[:, None]
KERNEL = sf.kernels.squared_exponential(0.2)
FORMULA = covariance.squared_exponential(np.array([0.2]))
RIDGE, NOISE, NORM, DELTA = 0.3, 0.5, 1.5, 0.2
WORLD = sf.FiniteEnvironment([0.1, 0.5, 0.9], [0.2, 0.5, 0.3])
DENSITY = sf.ContinuousEnvironment(sf.environments.truncated_normal([0.5], 0.2, 0.0, 1.0))


def f(x: float) -> float:
    return math.sin(7.0 * x) - x


class LiteralGPTS:
    """Algorithm 2 of Chowdhury and Gopalan 2017 on arms, for normal numbers that are given.

    With R / sqrt(lambda) for R, which is the same at their lambda of about 1.
    A root of the posterior covariance turns the numbers into a draw. Any root does; this one is
    sqrt(lambda) Phi V^{-T/2}, with Phi Phi' = K from a Cholesky factor of K at `dictionary`.
    """

    def __init__(self, dictionary: np.ndarray) -> None:
        K_S = covariance.gram(FORMULA, dictionary, dictionary)
        root = np.linalg.cholesky(K_S)
        self.prior = covariance.gram(FORMULA, LINE, LINE)
        self.features = np.linalg.solve(root, covariance.gram(FORMULA, dictionary, LINE)).T

    def choose(self, arms: list[int], rewards: list[float], normals: np.ndarray) -> int:
        K_t, k_t = self.prior[np.ix_(arms, arms)], self.prior[:, arms]
        noisy = K_t + RIDGE * np.eye(len(arms))
        mean = k_t @ np.linalg.solve(noisy, rewards)
        posterior = self.prior - k_t @ np.linalg.solve(noisy, k_t.T)
        gain = gaussian_process.information_gain(FORMULA, LINE[arms], RIDGE)
        exponent = gain + 1.0 + math.log(2.0 / DELTA)
        v_t = NORM + NOISE / math.sqrt(RIDGE) * math.sqrt(2.0 * exponent)
        V = RIDGE * np.eye(self.features.shape[1])
        V += self.features[arms].T @ self.features[arms]
        root = math.sqrt(RIDGE) * np.linalg.solve(np.linalg.cholesky(V), self.features.T).T
        np.testing.assert_allclose(root @ root.T, posterior, atol=1e-7)
        return int((mean + v_t * root @ normals).argmax())


@pytest.mark.long
def test_gp_ts_is_the_published_algorithm() -> None:
    arms = sf.Arms(LINE)
    width = sf.widths.chowdhury_gopalan(NORM, NOISE, DELTA / 2.0)
    optimizer = variant(gp_ts(arms, KERNEL, noise=NOISE, ridge=RIDGE), width=width)
    dictionary = sf.features.NystromEmbedding.of(KERNEL, arms.points).dictionary
    literal, random = LiteralGPTS(dictionary.numpy()), np.random.default_rng(0)
    chosen: list[int] = []
    rewards: list[float] = []
    for turn in range(40):
        numbers = torch.Generator()
        numbers.set_state(optimizer._generator.get_state())
        normals = torch.randn(1, len(dictionary), dtype=torch.float64, generator=numbers)
        query = optimizer.ask()
        if turn > 0:
            assert query.arm == literal.choose(chosen, rewards, normals[0].numpy())
        chosen.append(query.arm)
        rewards.append(f(float(query.point)) + NOISE * random.standard_normal())
        optimizer.tell(query, rewards[-1])
    assert len(set(chosen)) > 5


def joint(design: Any, environment: Any = WORLD, observed: bool = False) -> sf.Joint:
    return sf.Joint(design, environment, observed)


SPACES: dict[str, Any] = {
    "arms": sf.Arms(LINE),
    "box": sf.Box([0.0], [1.0]),
    "mixed box": sf.Box([0.0] * 4, [1.0] * 4, levels={0: [0, 0.5, 1]}, choices=[(1, 2)]),
    "arms beside a list": joint(sf.Arms(LINE)),
    "arms beside a list, observed": joint(sf.Arms(LINE), observed=True),
    "box beside a list": joint(sf.Box([0.0], [1.0])),
    "box beside a density": joint(sf.Box([0.0], [1.0]), DENSITY),
}
RISKS = (sf.VaR(0.3), sf.CVaR(0.3), sf.WorstCase(), sf.Mean())


def build(space: Any, policy: Any = None, risk: Any = None, **parts: Any) -> sf.Optimizer:
    risk = risk or (sf.VaR(0.3) if isinstance(space, sf.Joint) else None)
    policy = policy or ScorePolicy(ThompsonSampling(), values=16)
    given = {"ridge": 0.05, "plan": sf.acquisition.Plan(3), **parts}
    return optimizer_of(space, sf.kernels.matern(2.5, 0.3), risk=risk, policy=policy, **given)


def reward(query: sf.Query, z: Tensor | None) -> float:
    return f(float(query.point[0])) * (1.0 if z is None else float(z))


def drive(optimizer: sf.Optimizer, rounds: int) -> list[list[float]]:
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        z, told = query.environment, None
        if z is None and isinstance(optimizer.space, sf.Joint):
            z = told = optimizer.space.environment.points[len(optimizer.history) % 3]
        asked.append([*query.point.tolist(), *([] if z is None else z.tolist())])
        optimizer.tell(query, reward(query, z), told)
    return asked


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    SPACES,
)
def test_the_same_seed_gives_the_same_run_also_after_loading(name: str, tmp_path: Path) -> None:
    optimizer = build(SPACES[name])
    asked = drive(optimizer, 5)
    optimizer.save(tmp_path / "run")
    parts = {"space": SPACES[name]} if name == "box beside a density" else {}
    loaded = sf.Optimizer.load(tmp_path / "run", **parts)
    assert loaded.policy == optimizer.policy
    copies = [loaded, copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    asked += drive(optimizer, 2)
    assert all(drive(one, 2) == asked[-2:] for one in copies)
    assert drive(build(SPACES[name]), 7) == asked
    assert drive(build(SPACES[name], seed=1), 7) != asked


@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_the_design_maximises_the_risk_of_one_function(risk: Any) -> None:
    optimizer = build(joint(sf.Arms(LINE)), risk=risk)
    drive(optimizer, 6)
    generator = optimizer._generator
    belief = optimizer._searching()
    Candidates.sampled(belief, 16, generator)  # as the policy does first
    state = generator.get_state()
    query = optimizer.ask()
    generator.set_state(state)
    path = belief.posterior.of_rewards.path(generator, belief.outcome.prior)
    values = path(optimizer.space.seen.points).reshape(len(LINE), -1)
    assert query.arm == int(risk(values, WORLD.weights).argmax())
    # It is measured where the bounds lace the risk.
    _, lower, upper = belief.candidates.bounds(query.point.unsqueeze(0), WORLD.points)
    laces = risk.lacing(lower[0], upper[0], WORLD.weights)
    assert bool(laces[WORLD.index(query.environment)])


def test_parallel_queries_are_draws_of_their_own() -> None:
    """Pending queries do not change what is drawn from: it is the posterior of the rewards."""
    optimizer = gp_ts(sf.Arms(LINE), KERNEL, noise=0.1, ridge=0.1)
    optimizer.tell_all([5, 30], [1.0, 1.0])
    queries = optimizer.ask_batch(8)
    assert len({query.arm for query in queries}) > 3
    before = gp_ts(sf.Arms(LINE), KERNEL, noise=0.1, ridge=0.1)
    before.tell_all([5, 30], [1.0, 1.0])
    again = []
    for _ in range(8):
        again.append(before.ask())
        before.forget(again[-1], failed=False)
    assert [query.arm for query in queries] == [query.arm for query in again]


def test_it_chooses_among_listed_designs() -> None:
    for space, listed in ((SPACES["arms"], [2, 30]), (SPACES["box"], [[0.1], [0.7]])):
        optimizer = build(space)
        drive(optimizer, 4)
        allowed = [space.locate(one).design.tolist() for one in listed]
        chosen = [optimizer.ask(arms=listed).point.tolist() for _ in range(4)]
        assert all(point in allowed for point in chosen)


def test_failed_points_are_avoided() -> None:
    optimizer = build(SPACES["arms"], plan=sf.acquisition.Plan())
    optimizer.tell_all([0, 39], [0.0, 0.1])
    for arm in range(15, 25):
        optimizer.forget(arm)
    chosen = [optimizer.ask().arm for _ in range(60)]
    assert sum(15 <= arm < 25 for arm in chosen) <= 3
    assert len(set(chosen)) > 5


def test_scale_zero_is_greedy_and_the_width_is_a_factor() -> None:
    optimizer = build(SPACES["arms"], ThompsonSampling(scale=0.0))
    drive(optimizer, 6)
    greedy = int(optimizer.belief().posterior.mean(SPACES["arms"].points).argmax())
    assert {optimizer.ask().arm for _ in range(4)} == {greedy}
    constant = sf.widths.constant(3.0)
    by_width = build(SPACES["arms"], ThompsonSampling(0.5, by_width=True), width=constant)
    by_scale = build(SPACES["arms"], ThompsonSampling(1.5), width=constant)
    assert drive(by_width, 8) == drive(by_scale, 8)


# Regret -------------------------------------------------------------------------------------------


def regret(optimizer: sf.Optimizer, rounds: int, seed: int = 0) -> np.ndarray:
    """Regret of each query on f, with noise."""
    random, best = np.random.default_rng(seed), max(f(x) for x in np.linspace(0, 1, 2001))
    missed = []
    for _ in range(rounds):
        query = optimizer.ask()
        missed.append(best - f(float(query.point)))
        optimizer.tell(query, f(float(query.point)) + 0.2 * random.standard_normal())
    return np.array(missed)


UNIT = {"noise": 0.2, "norm_bound": 2.0, "ridge": 0.04}
ALGORITHMS: dict[str, Any] = {
    "gp_ts": lambda space: gp_ts(space, KERNEL, **UNIT, scale=0.3),
    "gp_ts, quadrature": lambda space: gp_ts(
        space, KERNEL, **UNIT, scale=0.3, features=sf.QuadratureFourier(32)
    ),
    "gp_ts, posterior": lambda space: sf.Optimizer(
        space, sf.Method(KERNEL, 0.04, policy=ThompsonSampling())
    ),
    "bkb": lambda space: variant(
        bkb(space, KERNEL, **UNIT, oversampling=5.0), policy=ThompsonSampling()
    ),
    "bbkb": lambda space: variant(
        bbkb(space, KERNEL, **UNIT, oversampling=5.0), policy=ThompsonSampling()
    ),
    "robust_ucb": lambda space: robust_ucb(space, KERNEL, policy=ThompsonSampling(), ridge=0.04),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ALGORITHMS,
)
def test_regret_falls_on_arms(name: str) -> None:
    missed = regret(ALGORITHMS[name](sf.Arms(LINE)), 200)
    assert missed[-50:].mean() < 0.05
    assert missed[-50:].mean() < 0.3 * missed[:10].mean()


@pytest.mark.long
@pytest.mark.parametrize("name", ["gp_ts, posterior", "bkb", "robust_ucb"])
def test_regret_falls_in_a_box(name: str) -> None:
    missed = regret(ALGORITHMS[name](sf.Box([0.0], [1.0])), 40)
    assert missed[-10:].mean() < 0.05


@pytest.mark.long
def test_regret_falls_under_outliers() -> None:
    optimizer = robust_ucb(sf.Arms(LINE), KERNEL, policy=ThompsonSampling(), ridge=0.1)
    random, best = np.random.default_rng(0), max(f(x) for x in LINE[:, 0])
    missed = []
    for turn in range(300):
        query = optimizer.ask()
        missed.append(best - f(float(query.point)))
        noise = 30.0 * (-1) ** turn if turn % 15 == 9 else 0.2 * random.standard_normal()
        optimizer.tell(query, f(float(query.point)) + noise)
    assert np.mean(missed[-50:]) < 0.1


@pytest.mark.long
@pytest.mark.parametrize(
    ("design", "environment"),
    [
        pytest.param(sf.Arms(LINE), WORLD, id="arms-list"),
        pytest.param(sf.Arms(LINE), DENSITY, id="arms-density"),
        pytest.param(sf.Box([0.0], [1.0]), WORLD, id="box-list"),
        pytest.param(sf.Box([0.0], [1.0]), DENSITY, id="box-density"),
    ],
)
def test_the_conditional_value_at_risk_is_found(design: Any, environment: Any) -> None:
    """Of f(x, z) = -(x - z)^2, worst at the ends of Z, the best design is in the middle."""
    kernel = sf.kernels.squared_exponential([0.5, 0.5])
    optimizer = cvar_ts(joint(design, environment), kernel, level=0.3, ridge=0.01)
    for _ in range(25 if isinstance(design, sf.Arms) else 8):
        query = optimizer.ask()
        assert query.environment is not None
        optimizer.tell(query, -float((query.point - query.environment).square()))
    z, weights = environment.values(512, torch.Generator().manual_seed(0))

    def value(x: float) -> float:
        return float(sf.CVaR(0.3)(-(x - z[:, 0]).square(), weights))

    best = max(value(x) for x in LINE[:, 0])
    assert best - value(float(optimizer.recommend().point)) < 0.02


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf, True, "1"])
def test_a_scale_that_is_none(scale: Any) -> None:
    with pytest.raises(sf.InvalidInput, match="scale"):
        ThompsonSampling(scale)


def test_arguments_out_of_range() -> None:
    arms = SPACES["arms"]
    with pytest.raises(sf.InvalidInput, match="by_width"):
        ThompsonSampling(by_width=1)  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="noise"):
        gp_ts(arms, KERNEL, noise=-1.0)
    with pytest.raises(sf.InvalidInput, match=r"`delta` is 1\.5"):
        gp_ts(arms, KERNEL, noise=1.0, delta=1.5)
    with pytest.raises(sf.InvalidInput, match="Joint"):
        cvar_ts(arms, KERNEL, level=0.1)  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="scale"):
        cvar_ts(SPACES["box beside a list"], KERNEL, level=0.1, scale=-0.5)
    with pytest.raises(sf.InvalidInput, match="policy"):
        sf.Method(KERNEL, policy="thompson")  # type: ignore[arg-type]


@pytest.mark.long
def test_a_kernel_that_cannot_be_drawn_is_refused_with_nothing_changed(tmp_path: Path) -> None:
    rough = sf.kernels.custom(lambda left, right: torch.exp(-100.0 * torch.cdist(left, right)))
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    optimizer = sf.Optimizer(box, sf.Method(rough, policy=ThompsonSampling()))
    optimizer.tell([0.5, 0.5], 1.0)
    for name in ("estimated", "before", "after"):  # the first ask makes the estimate
        with pytest.raises(sf.InvalidInput, match="UpperConfidenceBound"):
            optimizer.ask()
        optimizer.save(tmp_path / name)
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


class Rest:
    """A map of the user's own, of one feature, that leaves most of the kernel unexplained."""

    dimension = 1

    def __call__(self, points: Tensor) -> Tensor:
        return 0.1 * points

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        return 1.0 - features.square().sum(-1)

    def cross_residual(self, left: Tensor, phi: Tensor, right: Tensor, psi: Tensor) -> Tensor:
        return left.new_zeros(len(left), len(right))


@pytest.mark.parametrize("space", [SPACES["arms"], SPACES["box"]], ids=["arms", "box"])
def test_features_whose_residual_cannot_be_drawn_are_refused(space: Any) -> None:
    class Rule:
        def init(self, kernel: Any, space: Any, ridge: float, generator: Any, **kind: Any) -> Any:
            return sf.features.fixed_features(Rest(), kernel, space, ridge, **kind)

    optimizer = sf.Optimizer(space, sf.Method(KERNEL, features=Rule(), policy=ThompsonSampling()))
    optimizer.tell(3 if isinstance(space, sf.Arms) else [0.3], 1.0)
    with pytest.raises(sf.InvalidInput, match=r"Rest leaves.*residual_draw"):
        optimizer.ask()
    assert optimizer.pending == []
