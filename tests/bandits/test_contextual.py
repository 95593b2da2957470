"""Contextual bandits: the estimates of the optimizer, at a cost that does not grow."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import surefoot as sf
from surefoot import widths

Floats = NDArray[np.float64]
KERNEL = sf.kernels.squared_exponential(0.3)
EMBEDDING = sf.RandomFourier(16, seed=3).embedding(KERNEL, sf.Box([0.0], [1.0]))
POINTS = np.linspace(0.0, 1.0, 40)[:, None]
MOMENT = sf.Moment(alpha=1.0, bound=2.0)
ATA = sf.AdaptiveTruncation(MOMENT, horizon=500)


def rewards(number: int) -> Floats:
    random = np.random.default_rng(1)
    return np.sin(6.0 * POINTS[np.arange(number) % 40, 0]) + random.standard_t(1.5, number)


def of_the_optimizer(estimator: Any, number: int) -> Any:
    """The posterior of the optimizer in the same features."""

    class Fixed:
        def init(self, kernel: Any, space: Any, ridge: float, *rest: Any, **more: Any) -> Any:
            return sf.features.fixed_features(EMBEDDING, kernel, space, ridge)

    arms = sf.Arms(torch.from_numpy(POINTS))
    optimizer = sf.Optimizer(
        arms, sf.Method(KERNEL, features=Fixed(), estimator=estimator, ridge=0.5)
    )
    optimizer.tell_all([step % 40 for step in range(number)], rewards(number))
    return optimizer.belief().posterior


@pytest.mark.daily(3)
@pytest.mark.parametrize("number", [1, 7, 300])
@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.Truncation(MOMENT), ATA], ids=["ls", "tgp", "ata"]
)
def test_estimates_are_those_of_the_optimizer(estimator: Any, number: int) -> None:
    bandit = sf.bandits.contextual(EMBEDDING, estimator=estimator, ridge=0.5)
    for step, reward in enumerate(rewards(number)):
        bandit.learn(POINTS[step % 40], reward)
        if step % 3 == 0:
            _ = bandit.coefficients  # which looks at what may be truncated
    posterior = of_the_optimizer(estimator, number)
    expected = posterior.coefficients.numpy()
    np.testing.assert_allclose(bandit.coefficients, expected, rtol=1e-9, atol=1e-9)


def test_decisions_are_of_the_largest_bound() -> None:
    bandit = sf.bandits.contextual(EMBEDDING, ridge=0.5, width=widths.constant(1.5))
    for step, reward in enumerate(rewards(60)):
        bandit.learn(POINTS[step % 40], reward)
    mean, deviation = of_the_optimizer(sf.LeastSquares(), 60).mean_and_deviation(
        torch.from_numpy(POINTS)
    )
    best = int((mean + 1.5 * deviation).argmax())
    assert bandit.decide(POINTS).action == best


def test_late_rewards_in_any_order_give_the_same_estimate() -> None:
    random = np.random.default_rng(0)
    kept = [random.normal(size=(5, 3)) for _ in range(50)]
    late = sf.bandits.contextual(3)
    decisions = [late.decide(options) for options in kept]
    prompt = sf.bandits.contextual(3)
    for decision in decisions:
        prompt.learn(decision.feature, float(decision.feature.sum()))
    for position in random.permutation(50):
        late.tell(decisions[position], float(decisions[position].feature.sum()))
    np.testing.assert_allclose(late.coefficients, prompt.coefficients, rtol=1e-9)
    assert late.rewards == 50


def test_a_batch_spreads_and_what_is_forgotten_does_not_count() -> None:
    bandit = sf.bandits.contextual(2)
    options = np.array([[1.0, 0.0], [0.0, 0.99]])
    first, second = bandit.decide(options), bandit.decide(options)
    assert (first.action, second.action) == (0, 1)
    bandit.forget(first)
    bandit.forget(second)
    assert bandit.decide(options).action == 0


def test_actions_have_coefficients_of_their_own() -> None:
    random = np.random.default_rng(0)
    bandit = sf.bandits.contextual(2, actions=3, ridge=0.1, width=widths.constant(0.5))
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    for _ in range(200):
        context = random.normal(size=2)
        decision = bandit.decide(context)
        bandit.tell(decision, float(truth[decision.action] @ context) + 0.1 * random.normal())
    np.testing.assert_allclose(bandit.coefficients.reshape(3, 2), truth, atol=0.15)


@pytest.mark.parametrize("policy", ["ucb", "thompson"])
@pytest.mark.parametrize("size", [0.0, 1e-200])
def test_options_without_features_are_as_good_as_each_other(policy: str, size: float) -> None:
    bandit = sf.bandits.contextual(2, policy=policy)
    chosen = {bandit.decide([[size, 0.0], [0.0, size]]).action for _ in range(40)}
    assert chosen == ({0} if policy == "ucb" else {0, 1})


@pytest.mark.parametrize("policy", ["ucb", "thompson"])
def test_propensities_are_the_frequencies_of_decisions(policy: Any) -> None:
    options = np.array([[1.0, 0.2], [0.8, 0.4], [0.1, 1.0]])
    counts, inverse = np.zeros(3), np.zeros(3)
    for seed in range(600):
        bandit = sf.bandits.contextual(2, policy=policy, draws=16, floor=0.1, seed=seed)
        decision = bandit.decide(options)
        counts[decision.action] += 1
        inverse[decision.action] += 1.0 / decision.propensity
    np.testing.assert_allclose(inverse / 600, 1.0, atol=0.3)
    many = sf.bandits.contextual(2, policy=policy, draws=20_000, floor=0.1)
    np.testing.assert_allclose(counts / 600, many.probabilities(options), atol=0.07)


def test_hubers_estimate_stands_outliers() -> None:
    random = np.random.default_rng(4)
    robust = sf.bandits.contextual(2, estimator=sf.Huber())
    plain = sf.bandits.contextual(2)
    truth = np.array([1.0, -2.0])
    for step in range(600):
        row = random.normal(size=2)
        noise = 100.0 if step % 20 == 7 else 0.2 * random.normal()
        for bandit in (robust, plain):
            bandit.learn(row, float(row @ truth) + noise)
    np.testing.assert_allclose(robust.coefficients, truth, atol=0.1)
    assert float(np.abs(plain.coefficients - truth).max()) > 0.3


def test_rounding_does_not_add_up() -> None:
    random = np.random.default_rng(0)
    bandit = sf.bandits.contextual(4, ridge=0.01)
    rows, values = random.normal(size=(4500, 4)), random.normal(size=4500)
    for row, value in zip(rows, values, strict=True):
        bandit.learn(row, value)
    exact = np.linalg.solve(0.01 * np.eye(4) + rows.T @ rows, rows.T @ values)
    np.testing.assert_allclose(bandit.coefficients, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_rewards_that_can_no_longer_be_truncated_are_not_kept() -> None:
    random = np.random.default_rng(0)
    bandit = sf.bandits.contextual(2, estimator=sf.AdaptiveTruncation(MOMENT, horizon=3000))
    kept = []
    for step in range(3000):
        bandit.learn(random.normal(size=2), random.standard_t(3))
        if step % 7 == 6:  # looks between which several rewards come
            _ = bandit.coefficients
            kept.append(len(bandit._estimator._rewards))
    assert 0 < max(kept) < 100
    assert kept[-1] < 0.5 * max(kept)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (np.zeros((0, 2)), "shape"),
        (np.zeros(2), "shape"),
        (np.zeros((3, 4)), "columns"),
        (np.full((2, 2), np.nan), "finite"),
    ],
)
def test_options_that_are_none_are_refused(options: Floats, said: str) -> None:
    with pytest.raises(sf.InvalidInput, match=said):
        sf.bandits.contextual(2).decide(options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"features": 0}, "features"),
        ({"features": "linear"}, "embedding"),
        ({"estimator": sf.StudentT()}, "expected `LeastSquares"),
        ({"estimator": sf.AdaptiveTruncation(MOMENT)}, "horizon"),
        ({"policy": "greedy"}, "policy"),
        ({"floor": 1.5}, "floor"),
        ({"actions": 1}, "actions"),
    ],
)
def test_arguments_out_of_range_are_refused(given: Any, said: str) -> None:
    with pytest.raises(sf.InvalidInput, match=said):
        sf.bandits.contextual(**{"features": 2, **given})


def test_a_reward_that_is_no_number_changes_nothing() -> None:
    bandit = sf.bandits.contextual(2)
    decision = bandit.decide(np.eye(2))
    with pytest.raises(sf.InvalidInput):
        bandit.tell(decision, float("nan"))
    assert bandit.rewards == 0
    assert not bandit.coefficients.any()


def test_a_row_so_long_that_it_leaves_nothing_of_its_reward_is_taken_in() -> None:
    bandit = sf.bandits.contextual(2, estimator=sf.Huber())
    options = np.array([[1e200, 0.0], [1e200, 1.0]])
    with np.errstate(over="ignore"):
        for _ in range(3):
            bandit.tell(bandit.decide(options), 1.0)
        assert bandit.decide(np.eye(2)).action in (0, 1)
    assert np.isfinite(bandit.coefficients).all()


def test_a_decision_counts_once() -> None:
    bandit = sf.bandits.contextual(2)
    told, given_up = bandit.decide(np.eye(2)), bandit.decide(np.eye(2))
    bandit.tell(told, 1.0)
    bandit.forget(given_up)
    before = bandit.coefficients.copy(), bandit.decide(np.eye(2))
    bandit.forget(before[1])
    for decision in (told, given_up):
        for call in (lambda one: bandit.tell(one, 5.0), bandit.forget):
            with pytest.raises(sf.InvalidInput, match="told or forgotten before"):
                call(decision)
    np.testing.assert_array_equal(bandit.coefficients, before[0])
    assert bandit.rewards == 1
    assert bandit.decide(np.eye(2)).action == before[1].action


def test_a_reward_that_is_refused_leaves_its_decision_open() -> None:
    bandit = sf.bandits.contextual(2)
    decision = bandit.decide(np.eye(2))
    with pytest.raises(sf.InvalidInput, match="reward"):
        bandit.tell(decision, np.nan)
    bandit.tell(decision, 1.0)
    assert bandit.rewards == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda b: b.tell(3, 1.0), "`decision` is 3, expected one that `decide` returned"),
        (lambda b: b.forget(None), "`decision` is None"),
        (
            lambda b: b.tell(sf.bandits.contextual(3).decide(np.eye(3)), 1.0),
            "another bandit's",
        ),
        (lambda b: b.learn(np.eye(2), 1.0), r"`option` has the shape \(2, 2\), expected one row"),
        (lambda b: b.learn(["a", 1], 1.0), "`option` is"),
        (lambda b: b.decide([["a", 1.0]]), "`options` is"),
        (lambda b: b.decide([[1.0, 2.0], [3.0]]), "rows of one length"),
    ],
)
def test_what_is_no_decision_or_option_is_refused(call, said):
    bandit = sf.bandits.contextual(2)
    with pytest.raises(sf.InvalidInput, match=said):
        call(bandit)
    assert bandit.rewards == 0


@pytest.mark.parametrize(("unit", "much"), [(1e-6, "much"), (1e4, "little")])
def test_rewards_in_another_unit_than_the_ridge_are_said(unit: float, much: str) -> None:
    random = np.random.default_rng(0)

    def run(unit: float) -> int:
        bandit, best = sf.bandits.contextual(2), 0
        for _ in range(200):
            options = random.normal(size=(4, 2))
            values = options @ [1.0, -0.5]
            decision = bandit.decide(options)
            bandit.tell(decision, unit * float(values[decision.action] + 0.3 * random.normal()))
            best += decision.action == int(values.argmax())
        return best

    with pytest.warns(UserWarning, match=f"explores too {much}. Pass rewards in a unit"):
        run(unit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(1.0) > 160


@pytest.mark.parametrize("noise", [1e-3, "cauchy"])
def test_rewards_as_the_prior_has_them_are_not_said_to_be_in_another_unit(
    noise: float | str,
) -> None:
    random = np.random.default_rng(3)
    bandit = sf.bandits.contextual(4, ridge=1e-6 if noise == 1e-3 else 1.0)
    theta = random.normal(size=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            decision = bandit.decide(random.normal(size=(4, 4)))
            error = random.standard_cauchy() if noise == "cauchy" else 1e-3 * random.normal()
            bandit.tell(decision, float(decision.feature @ theta + error))


def test_a_copy_keeps_its_own_open_decision_when_another_one_is_told() -> None:
    bandit = sf.bandits.contextual(2)
    bandit.tell(bandit.decide([[3.0, 0.0]]), 1.0)
    other = copy.deepcopy(bandit)
    decided, _ = bandit.decide([[3.0, 0.0]]), other.decide([[0.0, 3.0]])
    other.tell(decided, 1.0)
    assert other.rewards == 2
    assert float(other._geometry.every.deviation(np.eye(2))[1]) == pytest.approx(0.1**0.5)
    assert other.decide([[0.0, 1.0], [1.0, 0.0]]).action == 1  # the other one has a mean above 0
    assert other.decide([[0.0, 3.0], [0.05, 0.0]]).action == 0


@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.Huber(), sf.Truncation(MOMENT), ATA], ids=repr
)
def test_a_decision_is_of_its_bandit_and_its_copies(estimator) -> None:
    first, second = (sf.bandits.contextual(2, estimator=estimator) for _ in range(2))
    decision = first.decide(np.eye(2))
    for call in (lambda: second.tell(decision, 1.0), lambda: second.forget(decision)):
        with pytest.raises(sf.InvalidInput, match="another bandit's"):
            call()
    assert (second.rewards, decision.is_open) == (0, True)
    copied, same = copy.deepcopy((first, decision))
    loaded = pickle.loads(pickle.dumps(first))
    for bandit, one in ((copied, same), (loaded, copy.copy(decision)), (first, decision)):
        bandit.tell(one, 1.0)
        assert bandit.rewards == 1
