"""BKB's Theorem 1: dictionaries are accurate and small."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from reference import budgeted
from reference.agreement import agree
from support.budgeted_runs import (
    ACCURACY,
    DELTA,
    ERROR,
    NOISE,
    NORM,
    bkb_on,
    dictionary,
    line,
    variance,
)


def admissible(runs: int, delta: float) -> int:
    """How many of the runs may fail, each with probability delta at most.

    More do with probability 1e-7 at most, by the binomial tail.
    """
    return int(stats.binom.isf(ERROR, runs, delta))


class TestTheorem1:
    """sigma^2 / a <= sigma~^2 <= a sigma^2 and |S| <= 3 (1 + kappa^2 / lambda) a q-bar d_eff.

    The theorem's q-bar is near 10^3, so a dictionary is smaller than the pulls only after
    thousands of them, or where lambda is thousands of kappa^2. The first test goes the first way:
    8,000 pulls of a few arms and one of each other arm, by one optimiser that seldom draws, whose
    dictionary is then accurate; 30 copies of it go on by themselves, and draw in each round. By the
    proof, which leads from one accurate dictionary to the next, such a copy fails with probability
    delta at most, independently of the others. The second runs 30 times from the first round, with
    bounds on the size below the number of pulls.
    """

    @pytest.mark.long
    def test_variances_are_within_a_factor_of_the_exact_ones(self, tmp_path: Path) -> None:
        case, ridge, horizon, runs, rounds = line(160, 1.0), 500.0, 10_000, 30, 16
        a, q = budgeted.alpha(ACCURACY), budgeted.oversampling(horizon, DELTA, ACCURACY)
        theory: dict[str, Any] = {"horizon": horizon, "delta": DELTA, "accuracy": ACCURACY}
        counts = np.ones(160)
        counts[10::20] = 1000.0
        pulls = np.random.default_rng(0).permutation(np.repeat(np.arange(160), counts.astype(int)))
        prefix = sf.Optimizer(
            case.space,
            sf.Method(
                case.kernel(),
                features=sf.Nystrom(
                    sf.LeverageSampling(None, "adaptive", feedback="immediate", **theory)
                ),
                width=sf.widths.bkb(NORM, NOISE, DELTA, accuracy=ACCURACY),
                ridge=ridge,
            ),
        )
        prefix.tell_all(pulls, np.zeros(len(pulls)))
        prefix.save(tmp_path / "run")
        every_round = sf.Optimizer.load(
            tmp_path / "run", features=sf.Nystrom(sf.LeverageSampling(None, **theory))
        )
        state = pickle.dumps(every_round)

        def exact(posterior: np.ndarray) -> np.ndarray:
            return posterior.diagonal() / ridge

        K, failures, smallest, largest, sizes = case.gram, 0, 1.0, 1.0, []
        start = budgeted.posterior_covariance(K, counts, ridge)
        ratio = variance(prefix) / ridge / exact(start)
        assert ratio.min() >= 1 / a
        assert ratio.max() <= a
        assert (exact(start) * ridge).max() < 1 / a  # the prior variance is none of the answers
        for seed in range(runs):
            optimizer = pickle.loads(state)
            optimizer.reseed(seed)
            now, n, failed = start, counts.copy(), False
            for _ in range(rounds):
                query = optimizer.ask()
                optimizer.tell(query, 0.0)
                n[query.arm] += 1
                row = now[query.arm]
                now = now - np.outer(row, row) / (ridge + row[query.arm])
                ratio = variance(optimizer) / ridge / exact(now)
                smallest, largest = min(smallest, ratio.min()), max(largest, ratio.max())
                sizes.append(len(dictionary(optimizer)))
                bound = budgeted.dictionary_bound(1.0, ridge, ACCURACY, q, float(n @ exact(now)))
                failed |= ratio.min() < 1 / a or ratio.max() > a or sizes[-1] > bound
            failures += failed
        agree(exact(now), exact(budgeted.posterior_covariance(K, n, ridge)))
        assert max(sizes) < 120  # of 160 arms pulled
        assert len(set(sizes)) > 10
        assert largest > 1.0 + 1e-5  # the dictionaries do leave something out
        assert failures <= admissible(runs, DELTA)

    @pytest.mark.long
    def test_dictionaries_are_within_the_bound_on_their_size(self) -> None:
        """From the first round on; lambda = 10^4 kappa^2, so that the bound is below t.

        The proof (Proposition 8) has each round fail with probability exp(-2 d), where the bound
        is 3 d: rounds count once this is delta / T at most. The first dictionary of all has one
        arm whatever the bound.
        """
        case, ridge, horizon, runs = line(100, 0.5), 1e4, 60, 30
        a, q = budgeted.alpha(0.4), budgeted.oversampling(horizon, DELTA, 0.4)
        theory: dict[str, Any] = {"horizon": horizon, "delta": DELTA, "accuracy": 0.4}
        failures, counted, sizes = 0, 0, []
        for seed in range(runs):
            optimizer = bkb_on(case, oversampling=None, ridge=ridge, seed=seed, **theory)
            choice, pulled, failed = np.random.default_rng(seed), [], False
            now = case.gram
            for t in range(1, horizon + 1):
                arm = int(choice.integers(100))
                optimizer.tell(arm, 0.0)
                pulled.append(arm)
                now = now - np.outer(now[arm], now[arm]) / (ridge + now[arm, arm])
                exact = now.diagonal() / ridge
                ratio = variance(optimizer) / ridge / exact
                failed |= ratio.min() < 1 / a or ratio.max() > a
                d_eff = float(exact[pulled].sum())
                bound = budgeted.dictionary_bound(1.0, ridge, 0.4, q, d_eff)
                if math.exp(-2 * bound / 3) <= DELTA / horizon:
                    size = len(dictionary(optimizer))
                    failed |= size > bound
                    counted += 1
                    if t == horizon:
                        assert bound < len(set(pulled))
                        sizes.append(size)
            failures += failed
            np.testing.assert_allclose(
                d_eff, budgeted.effective_dimension(case.gram, np.array(pulled), ridge), rtol=1e-7
            )
        assert counted > runs * horizon / 2
        assert failures <= admissible(runs, DELTA)
        assert 2 < np.mean(sizes) < 10
