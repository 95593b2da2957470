"""A function with a paper's name chooses by the paper's index in all rounds, by default."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from reference import budgeted, heavy_tails, mixture, width
from support.budgeted_runs import dictionary
from support.variants import variant
from surefoot import algorithms

ROUNDS, HORIZON, DELTA, NORM, NOISE = 149, 500, 0.1, 2.0, 0.5
LENGTHSCALE = 0.25
LINE = np.sort(np.random.default_rng(7).uniform(size=24))[:, None]  # no two arms tie
MOMENT = sf.Moment(0.7, 3.0)
GRAM = np.exp(-((LINE - LINE.T) ** 2) / (2 * LENGTHSCALE**2))
Index = Callable[[sf.Optimizer, "Told"], np.ndarray]


@dataclass
class Told:
    """Arms and rewards of a run."""

    arms: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    batch: int = 1  # rewards before the present one

    @property
    def x(self) -> np.ndarray:
        return np.array(self.arms)

    @property
    def y(self) -> np.ndarray:
        return np.array(self.rewards)


def literal_tgp(_: sf.Optimizer, told: Told) -> np.ndarray:
    """Algorithm 1 and Theorem 1."""
    K_t, k_t, v, alpha = GRAM[np.ix_(told.x, told.x)], GRAM[:, told.x], MOMENT.bound, MOMENT.alpha
    Y_hat = heavy_tails.truncated_rewards(told.y, v, alpha)
    mean, variance = heavy_tails.truncated_posterior(K_t, k_t, GRAM.diagonal(), Y_hat, 1.0)
    log_det = heavy_tails.log_determinant(K_t, 1.0)
    beta = heavy_tails.truncation_width(NORM, v, alpha, DELTA, 1.0, len(told.y), log_det)
    return mean + beta * np.sqrt(variance.clip(0.0))


def literal_ata(features: np.ndarray, left: np.ndarray, told: Told, b: float, beta: float) -> Any:
    """Algorithm 2 in features (A, m) that leave so much of the prior variance (A,)."""
    Phi = features[told.x]
    found = heavy_tails.adaptive_truncation(Phi, told.y, 1.0, b, "symmetric")
    variance = left + heavy_tails.fourier_variance(Phi, features, 1.0)
    return features @ found.theta + beta * np.sqrt(variance)


QUADRATURE = heavy_tails.quadrature_features(LINE, 32, LENGTHSCALE)


def literal_fourier(_: sf.Optimizer, told: Told) -> np.ndarray:
    """Lemma 1."""
    v, alpha, t, m = MOMENT.bound, MOMENT.alpha, len(told.y), QUADRATURE.shape[1]
    b = heavy_tails.fourier_threshold(v, alpha, DELTA, t, m, HORIZON)
    beta = heavy_tails.fourier_width(NORM, v, alpha, DELTA, 1.0, t, m, HORIZON)
    return literal_ata(QUADRATURE, np.zeros(len(LINE)), told, b, beta)


def literal_experiments(_: sf.Optimizer, told: Told) -> np.ndarray:
    """The threshold of section 6, with the width of Lemma 1."""
    v, alpha, t, m = MOMENT.bound, MOMENT.alpha, len(told.y), QUADRATURE.shape[1]
    b = heavy_tails.published_threshold(v, alpha, t, m, HORIZON)
    beta = heavy_tails.fourier_width(NORM, v, alpha, DELTA, 1.0, t, m, HORIZON)
    return literal_ata(QUADRATURE, np.zeros(len(LINE)), told, b, beta)


def literal_nystrom(optimizer: sf.Optimizer, told: Told) -> np.ndarray:
    """Theorem 4, given the dictionary."""
    S = dictionary(optimizer)
    phi = heavy_tails.nystrom_features(GRAM[np.ix_(S, S)], GRAM[:, S])
    left = np.maximum(GRAM.diagonal() - (phi**2).sum(1), 0.0)
    v, alpha, t, m = MOMENT.bound, MOMENT.alpha, len(told.y), len(S)
    b = heavy_tails.nystrom_threshold(v, alpha, DELTA, t, m, HORIZON)
    beta = heavy_tails.nystrom_width(NORM, v, alpha, DELTA, 1.0, t, m, HORIZON, 0.1)
    return literal_ata(phi, left, told, b, beta)


def literal_bkb(optimizer: sf.Optimizer, told: Told) -> np.ndarray:
    """Algorithm 1 of BKB and Theorem 2, given the dictionary."""
    sketch = budgeted.Sketched(GRAM, told.x, dictionary(optimizer), 1.0)
    v = sketch.variance()
    beta = budgeted.width(v[told.x], NOISE, NORM, DELTA, 0.5, 1.0, 1.0)
    return sketch.mean(told.y) + beta * np.sqrt(v.clip(0.0))


def literal_bbkb(optimizer: sf.Optimizer, told: Told) -> np.ndarray:
    """Mean and sqrt(2) times the width of the start of the batch, with the variance of now."""
    if optimizer._history.regressor.regression.is_due:
        told.batch = len(told.y)
    S, before = dictionary_in_use(optimizer), told.x[: told.batch]
    start = budgeted.Sketched(GRAM, before, S, 1.0)
    beta = budgeted.width(start.variance()[before], NOISE, NORM, DELTA, 0.5, 1.0, 1.0)
    now = budgeted.Sketched(GRAM, told.x, S, 1.0).variance()
    return start.mean(told.y[: told.batch]) + math.sqrt(2.0) * beta * np.sqrt(now.clip(0.0))


def dictionary_in_use(optimizer: sf.Optimizer) -> np.ndarray:
    """Arms (m,) of the dictionary that the next arm is chosen with."""
    embedding = optimizer._history.selection().embedding
    kept = getattr(embedding, "embedding", embedding).dictionary
    return (kept[:, None, :] == optimizer.space.points).all(-1).int().argmax(1).numpy()


def literal_gp(_: sf.Optimizer, told: Told) -> np.ndarray:
    """Algorithm 1 of Srinivas et al."""
    mean = budgeted.exact_mean(GRAM, told.x, told.y, 1.0)
    variance = budgeted.exact_variance(GRAM, told.x, 1.0)
    return mean + width.srinivas(len(told.y) + 1, DELTA) * np.sqrt(variance.clip(0.0))


def literal_dmm(_: sf.Optimizer, told: Told) -> np.ndarray:
    """DMM-UCB of Flynn and Reeb."""
    K, k = GRAM[np.ix_(told.x, told.x)], GRAM[told.x]
    radius = math.sqrt(mixture.squared_radius(K, told.y, 1.0, NOISE, DELTA))
    shifts = [1.0, *(NOISE**2 * np.array([1.0, 4.0, 16.0, 64.0]))]
    return mixture.narrowest(K, k, GRAM.diagonal(), told.y, radius, NORM, shifts)[1]


KERNEL = sf.kernels.squared_exponential(LENGTHSCALE)


def published(*given: Any, **parts: Any) -> sf.Optimizer:
    """ATA-GP-UCB with the thresholds of the paper's experiments."""
    estimator = sf.AdaptiveTruncation(MOMENT, HORIZON, 1.0, "symmetric", unions=1)
    return variant(algorithms.ata_gp_ucb(*given, **parts), estimator=estimator)


HEAVY: dict[str, Any] = {"moment": MOMENT, "norm_bound": NORM, "delta": DELTA}
ATA = HEAVY | {"horizon": HORIZON}
LIGHT: dict[str, Any] = {"noise": NOISE, "norm_bound": NORM, "delta": DELTA}
NAMES: dict[str, tuple[Callable[..., sf.Optimizer], dict[str, Any], Index]] = {
    "tgp_ucb": (algorithms.tgp_ucb, HEAVY, literal_tgp),
    "ata_gp_ucb": (algorithms.ata_gp_ucb, ATA, literal_fourier),
    "ata_gp_ucb, experiments": (
        published,
        ATA,
        literal_experiments,
    ),
    "ata_gp_ucb, nystrom": (
        algorithms.ata_gp_ucb,
        ATA | {"features": "nystrom"},
        literal_nystrom,
    ),
    "bkb": (algorithms.bkb, LIGHT | {"oversampling": 2.0}, literal_bkb),
    "bkb, q of the theory": (
        algorithms.bkb,
        LIGHT | {"oversampling": sf.features.oversampling(HORIZON, DELTA)},
        literal_bkb,
    ),
    "bbkb": (algorithms.bbkb, LIGHT | {"oversampling": 2.0}, literal_bbkb),
    "gp_ucb": (algorithms.gp_ucb, {}, literal_gp),
    "gp_ucb, noise known": (
        algorithms.gp_ucb,
        {"width": sf.widths.dual_mixture(NORM, NOISE, DELTA)},
        literal_dmm,
    ),
}


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:the bounds cannot separate")
def test_the_choice_is_an_argmax_of_the_index_in_all_rounds(name: str) -> None:
    make, given, index = NAMES[name]
    optimizer, told = make(sf.Arms(LINE), KERNEL, seed=3, **given), Told()
    noise, literal = np.random.default_rng(1), 0
    for round_ in range(ROUNDS + 1):
        expected = index(optimizer, told) if round_ else np.zeros(len(LINE))
        query = optimizer.ask()
        assert query.arm is not None
        literal += bool(expected[query.arm] >= expected.max() - 1e-6) and round_ > 0
        told.arms.append(query.arm)
        told.rewards.append(float(np.sin(6.0 * LINE[query.arm, 0]) + noise.standard_t(3)))
        optimizer.tell(query, told.rewards[-1])
    assert literal == ROUNDS
    assert len(set(told.arms)) > 3
