"""Rewards whose worker and time are told: what is predicted, saved and refused."""

import math

import numpy as np
import pytest
import torch

import surefoot as sf

SPACE = sf.Box([0.0], [1.0])


def told(effects=("worker", "drift"), number=40, step=1.5, **parts) -> sf.Optimizer:
    """Forty rewards of a sine by two workers, larger by a step in the second half."""
    optimizer = sf.algorithms.robust_ucb(SPACE, effects=effects, **parts)
    generator = np.random.default_rng(0)
    points = generator.random((number, 1))
    rounds = np.arange(number)
    noise = 0.1 * generator.standard_normal(number)
    rewards = np.sin(6.0 * points[:, 0]) + noise + step * (rounds >= number // 2)
    conditions = {}
    if "worker" in effects:
        conditions["workers"] = ["a" if one % 2 else "b" for one in rounds]
    if "drift" in effects:
        conditions["times"] = rounds.tolist()
    optimizer.tell_all(points, rewards, **conditions)
    return optimizer


@pytest.fixture(scope="module")
def drifted() -> sf.Optimizer:
    return told()


@pytest.mark.long
def test_predictions_are_for_the_latest_reward(drifted):
    belief = drifted.belief()
    assert list(belief.outcome.effects) == ["drift"]
    points = torch.tensor([[0.25], [0.8]], dtype=torch.float64)
    mean, lower, upper = belief.predict(points)
    truth = torch.sin(6.0 * points[:, 0]) + 1.5
    assert bool(((lower <= truth) & (truth <= upper)).all())
    assert float((mean - truth).abs().max()) < 0.4
    drift = belief.outcome.effects["drift"]
    assert float(drift.mean[:20].mean()) == pytest.approx(-1.5, abs=0.4)
    assert float(drift.mean[-1]) == pytest.approx(0.0, abs=1e-9)
    assert torch.equal(drifted.history.rewards[:1], told(("drift",)).history.rewards[:1])


@pytest.mark.long
def test_without_support_the_run_is_the_same_to_the_last_bit():
    plain, known = told((), step=0.0), told(step=0.0)
    assert known.belief().outcome.effects == {}
    assert known.recommend().value == plain.recommend().value
    assert torch.equal(known.ask().point, plain.ask().point)


def test_a_saved_run_goes_on_alike(drifted, tmp_path):
    drifted.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.recommend().value == drifted.recommend().value
    assert loaded.history.worker_names == ["b", "a"]
    torch.testing.assert_close(loaded.history.times, drifted.history.times, rtol=0, atol=0)
    queries = [one.ask() for one in (loaded, sf.Optimizer.load(tmp_path / "run"))]
    assert torch.equal(queries[0].point, queries[1].point)
    assert loaded.tell(queries[0], 2.0, worker="c", time=40.0).round == 41
    assert loaded.history.worker_names == ["b", "a", "c"]


def test_rewards_between_fits_are_corrected_too():
    fit = sf.hyperparameters.HyperparameterFit(every=1000, passes=1)
    optimizer = sf.Optimizer(SPACE, sf.Method(kernel=fit, estimator=sf.StudentT()))
    generator = np.random.default_rng(0)
    points = generator.random((40, 1))
    level = 2.0 * (np.arange(40) < 20)
    rewards = np.sin(6.0 * points[:, 0]) + level + 0.05 * generator.standard_normal(40)
    optimizer.tell_all(points, rewards, times=range(40))
    before = float(optimizer.belief().posterior.mean([[0.5]]))
    for _ in range(10):
        optimizer.tell([0.5], math.sin(3.0) + 2.0, time=5.0)  # as of the time before the step
    assert float(optimizer.belief().posterior.mean([[0.5]])) == pytest.approx(before, abs=0.4)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"worker": ""}, "`worker` is '', expected a name"),
        ({"worker": "  "}, "expected a name that is not empty"),
        ({"worker": True}, "`worker` is True"),
        ({"worker": 1.5}, "`worker` is 1.5"),
        ({"time": math.nan}, "`time` is nan, expected a finite number"),
        ({"time": math.inf}, "`time` is inf"),
        ({"time": "noon"}, "`time` is 'noon'"),
    ],
)
def test_wrong_conditions_are_refused_and_nothing_changes(conditions, message):
    optimizer = sf.algorithms.robust_ucb(SPACE)
    query = optimizer.ask()
    with pytest.raises(sf.InvalidInput, match=message):
        optimizer.tell(query, 1.0, **conditions)
    assert len(optimizer.history) == 0
    assert [one.id for one in optimizer.pending] == [query.id]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"workers": ["a"]}, "2 rewards came with 1 `workers`"),
        ({"workers": ["a", "b"], "times": [1.0]}, "2 rewards came with 1 `times`"),
        ({"workers": "ab"}, "`workers` is 'ab', expected one for each reward"),
        ({"workers": {"a": 1, "b": 2}}, "`workers` is {'a'.*expected one for each reward"),
        ({"workers": np.array("ab")}, "`workers` is array.*expected one for each reward"),
        ({"times": b"ab"}, "`times` is b'ab', expected one for each reward"),
        ({"times": 3.0}, "`times` is 3.0, expected one for each reward"),
        ({"times": [1.0, math.nan]}, "`time` is nan"),
    ],
)
def test_wrong_lists_of_conditions_are_refused(conditions, message):
    optimizer = sf.algorithms.robust_ucb(SPACE)
    with pytest.raises(sf.InvalidInput, match=message):
        optimizer.tell_all([[0.1], [0.2]], [1.0, 2.0], **conditions)
    assert len(optimizer.history) == 0


def test_effects_need_a_fit():
    given = sf.algorithms.gp_ucb(SPACE, sf.kernels.squared_exponential(0.2))
    with pytest.raises(sf.InvalidInput, match="`worker` requires a fitted effect"):
        given.tell([0.1], 1.0, worker="a")
    off = sf.algorithms.robust_ucb(SPACE, effects=["worker"])
    with pytest.raises(sf.InvalidInput, match="`time` requires a fitted effect"):
        off.tell([0.1], 1.0, time=1.0)
    assert off.tell([0.1], 1.0, worker=3).round == 1
    assert off.history.worker_names == ["3"]


def test_workers_of_some_rewards_may_be_unknown():
    optimizer = sf.algorithms.robust_ucb(SPACE)
    optimizer.tell_all([[0.1], [0.2], [0.3]], [1.0, 2.0, 3.0], workers=["a", None, 7])
    assert optimizer.history.workers.tolist() == [0, -1, 1]
    assert optimizer.history.times.isnan().all()


def square(
    rewards: np.ndarray, points: np.ndarray, **conditions
) -> tuple[sf.beliefs.Belief, list[str]]:
    """Belief of 4 (x - .4)² that is subtracted from the rewards, and the effects that it has."""
    optimizer = sf.algorithms.robust_ucb(SPACE, effects=[*EFFECT_OF.values()])
    optimizer.tell_all(points, rewards - 4.0 * (points[:, 0] - 0.4) ** 2, **conditions)
    belief = optimizer.belief()
    return belief, list(belief.outcome.effects)


EFFECT_OF = {"workers": "worker", "times": "drift"}


@pytest.mark.long
@pytest.mark.parametrize("offset", [-2.0, 2.0])
@pytest.mark.parametrize("spike", [0.0, 1e3])
@pytest.mark.parametrize(
    ("condition", "number"), [("workers", 8), ("workers", 12), ("times", 12), ("times", 16)]
)
def test_what_follows_from_a_condition_is_no_skewed_scale_and_no_crowd_of_outliers(
    condition, number, spike, offset
):
    """A part of the rewards is larger or smaller by twenty deviations of the noise."""
    generator = np.random.default_rng(0)
    points, noise = generator.random((40, 1)), 0.1 * generator.standard_normal(40)
    apart = np.arange(40) >= 40 - number
    if condition == "workers":
        apart = generator.permutation(apart)
        told = {"workers": ["b" if one else "a" for one in apart]}
        level = offset / 2.0
    else:
        told, level = {"times": np.arange(40.0)}, offset
    noise[7] += spike
    belief, effects = square(noise + offset * apart, points, **told)
    assert effects == [EFFECT_OF[condition]]
    assert belief.outcome.transform.is_affine or spike
    assert float(belief.weights[apart].median()) > 0.7
    (_,), (lower,), (upper,) = belief.predict([[0.4]])
    assert lower <= level <= upper
    difference, lower, upper = belief.difference([0.4], [0.9])
    assert lower <= 1.0 <= upper
    assert float(difference) == pytest.approx(1.0, abs=0.25)


@pytest.mark.long
@pytest.mark.parametrize("spikes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_outliers_of_many_sizes_are_no_drift(spikes, seed):
    """Half of 300 points are where a search has converged."""
    generator = np.random.default_rng(seed * 100 + 300)
    points = generator.random((300, 2))
    points[150:] = 0.4 + 0.1 * generator.standard_normal((150, 2)).clip(-3.0, 3.0)
    if spikes:
        noise = 0.1 * generator.standard_normal(300)
        noise += (generator.random(300) < 0.15) * generator.exponential(3.0, 300)
    else:
        noise = 0.1 * generator.standard_t(1.5, 300)
    rewards = noise - 4.0 * (points[:, 0] - 0.4) ** 2 - 2.0 * (points[:, 1] - 0.6) ** 2
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]))
    workers = [str(one % 3) for one in range(300)]
    optimizer.tell_all(points, rewards, times=np.arange(300.0), workers=workers)
    assert optimizer.belief().outcome.effects == {}
