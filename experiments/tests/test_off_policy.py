"""Values of policies from logged decisions, where weights have heavy tails."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.bandits import Decision
from surefoot_experiments.off_policy import doubly_robust, ips, replay


def test_weights_of_one_give_the_mean() -> None:
    rewards = np.random.default_rng(0).normal(size=4000)
    found = ips(rewards, np.ones(4000))
    assert found.value == pytest.approx(rewards.mean(), abs=2e-3)
    assert found.lower < found.value < found.upper
    assert found.effective == pytest.approx(4000)
    # Not by much more than the usual interval.
    assert found.upper - found.lower < 1.6 * 2 * 1.96 / 4000**0.5


def heavy(random: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and weights of mean 1 without a variance; a larger weight has a larger reward."""
    weights = random.pareto(1.6, number) * 0.6
    return 1.0 + np.minimum(weights, 3.0) + random.normal(size=number), weights


def test_intervals_hold_the_value_under_weights_without_a_variance() -> None:
    random = np.random.default_rng(0)
    # E w (1 + min(w, 3)), from the density of the weights in closed form.
    w = 0.6 * ((1 - (np.arange(500_000) + 0.5) / 500_000) ** (-1 / 1.6) - 1)
    tail = 1.0 - float(np.mean(np.where(w < 3.0, w, 0.0)))  # E w 1{w >= 3}
    value = 1.0 + float(np.mean(np.where(w < 3.0, w * w, 0.0))) + 3.0 * tail
    held = plain = 0
    for _ in range(200):
        rewards, weights = heavy(random, 2000)
        found = ips(rewards, weights)
        held += found.lower <= value <= found.upper
        terms = weights * rewards
        plain += abs(terms.mean() - value) <= 1.96 * terms.std() / 2000**0.5
    assert plain <= 0.87 * 200
    assert held >= 0.92 * 200


def test_predictions_take_out_what_they_explain() -> None:
    random = np.random.default_rng(0)
    rewards, weights = heavy(random, 2000)
    found = doubly_robust(rewards, weights, rewards - 0.01, np.full(2000, 5.0))
    assert found.value == pytest.approx(5.01, abs=0.01)
    assert found.upper - found.lower < 0.05


def test_a_replay_learns_from_decisions_that_agree() -> None:
    random = np.random.default_rng(0)
    options = np.eye(3)
    log = [
        (options, int(action), float(action == 2) + 0.1 * random.normal())
        for action in random.integers(3, size=600)
    ]
    bandit = sf.bandits.contextual(3, ridge=0.1, width=sf.widths.constant(1.0))
    found = replay(log, bandit)
    assert found.seen == 600
    assert 150 < len(found.rewards) < 250
    assert bandit.rewards == len(found.rewards)
    assert found.value > 0.8


@pytest.mark.parametrize(
    ("rewards", "weights", "said"),
    [
        ([1.0], [1.0, 2.0], "`weights` has 2 numbers and `rewards` 1"),
        ([1.0], [-1.0], "negative"),
        ([np.nan], [1.0], "`rewards` has values that are not finite"),
        ([], [], r"`rewards` has the shape \(0,\)"),
        ("ab", [1.0, 1.0], "`rewards` is 'ab', expected numbers"),
        ([1.0, 2.0], [1e308, 1.0], r"`weights` has 1e\+308"),
        ([1e200, 2.0], [1.0, 1.0], r"`rewards` has 1e\+200"),
    ],
)
def test_columns_that_are_none_are_refused(
    rewards: list[float], weights: list[float], said: str
) -> None:
    with pytest.raises(sf.InvalidInput, match=said):
        ips(rewards, weights)


def test_a_log_that_says_nothing_of_the_policy_has_an_infinite_interval() -> None:
    nothing = [
        ips([1.0, 5.0, 9.0] + [4.0] * 997, [300.0] * 3 + [0.0] * 997),
        doubly_robust([1.0, 5.0] + [4.0] * 98, [300.0] * 2 + [0.0] * 98, [4.0] * 100, [4.0] * 100),
        ips([1.0], [1.0]),
        ips([1.0] * 50, [0.0] * 50),
        ips([1.0, 5.0, 9.0] + [4.0] * 997, [300.0] * 3 + [1e-9] * 997),
        ips([1.0, 2.0, 3.0], [0.0, 0.0, 3.0], level=0.2),
    ]
    assert all(found.lower == -np.inf and found.upper == np.inf for found in nothing)


# Each misses with a probability of about 5 % or less: 60 or more of 200 have one below 1e-20.
FEW = {
    "values": lambda random, n: random.normal(10.0, 3.0, n),
    "clicks": lambda random, n: (random.random(n) < 0.3).astype(float),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("elsewhere", [0.0, 1e-9, 1e-2])
@pytest.mark.parametrize(("number", "share"), [(100, 0.02), (500, 0.02), (1000, 0.01)])
def test_intervals_hold_where_the_log_agrees_rarely(
    kind: str, number: int, share: float, elsewhere: float
) -> None:
    random, draw = np.random.default_rng(1), FEW[kind]
    mean = 10.0 if kind == "values" else 0.3
    missed = 0
    for _ in range(200):
        rewards = draw(random, number)
        weights = np.where(random.random(number) < share, 1.0 / share, elsewhere)
        found = ips(rewards, weights)
        missed += not found.lower <= mean <= found.upper
    assert missed < 60


def test_rare_rewards_are_not_left_out_of_the_interval() -> None:
    rewards = np.zeros(1000)
    rewards[[3, 500, 800]] = 1.0
    found = ips(rewards, np.ones(1000))
    assert found.truncated == 3
    assert found.lower <= 0.003 <= found.upper
    assert 0.005 < found.upper < 0.01


@pytest.mark.parametrize("action", [-1, 2, 0.5, "0", True])
def test_a_logged_action_is_the_index_of_an_option(action: object) -> None:
    bandit = sf.bandits.contextual(1)
    with pytest.raises(sf.InvalidInput, match=r"`log` has the action .* of 2 options"):
        replay([([[0.0], [1.0]], action, 1.0)], bandit)  # type: ignore[list-item]
    assert (
        bandit.decide([[0.0], [1.0]]).action
        == sf.bandits.contextual(1).decide(np.eye(2)[:, 1:]).action
    )


def test_a_replay_takes_indices_of_a_table_and_ones_own_learner() -> None:
    class First:
        def decide(self, options: object) -> Decision:
            return Decision(0, 1.0, np.zeros(1), "own")

        def tell(self, decision: Decision, reward: float) -> None: ...

        def forget(self, decision: Decision) -> None: ...

    log = [([[0.0], [1.0]], action, 2.0) for action in (0.0, np.float64(1.0), np.int64(0))]
    assert replay(log, First()).rewards.tolist() == [2.0, 2.0]


def test_a_replay_without_agreement_has_no_value() -> None:
    with pytest.raises(sf.NotReady, match="none of 0 decisions agreed"):
        _ = replay([], sf.bandits.contextual(1)).value
