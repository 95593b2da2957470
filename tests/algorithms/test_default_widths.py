"""Widths by default, and bounds that are proved where what they need is known."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.acquisition import Guarded, ScorePolicy
from surefoot.widths import bkb, dual_mixture, self_normalised, srinivas

KERNEL = sf.kernels.squared_exponential(0.2)
PAIRS = sf.kernels.squared_exponential([0.2, 0.5])
ARMS = sf.Arms(np.linspace(0.0, 1.0, 30)[:, None])
JOINT = sf.Joint(sf.Arms(np.linspace(0.0, 1.0, 8)[:, None]), sf.FiniteEnvironment([0.0, 0.5, 1.0]))
MAKERS = {
    "gp_ucb": lambda **parts: sf.algorithms.gp_ucb(ARMS, KERNEL, **parts),
    "v_ucb": lambda **parts: sf.algorithms.v_ucb(JOINT, PAIRS, level=0.3, **parts),
    "cvar_ucb": lambda **parts: sf.algorithms.cvar_ucb(JOINT, PAIRS, level=0.3, **parts),
    "stable_opt": lambda **parts: sf.algorithms.stable_opt(JOINT, PAIRS, **parts),
}


def width_of(optimizer: sf.Optimizer) -> object:
    return optimizer._history.model.width


@pytest.mark.parametrize("name", MAKERS)
class TestWidths:
    def test_the_width_is_that_of_the_heuristic_or_the_one_given(self, name):
        make = MAKERS[name]
        assert width_of(make()) == srinivas()
        for width in (dual_mixture(2.0, 0.1), dual_mixture(None, 0.1, 0.05), srinivas(0.05, 0.5)):
            made = make(width=width)
            assert width_of(made) == width
            assert made.policy == ScorePolicy()

    def test_bounds_guard_the_heuristic_of_the_same_level_where_that_is_asked_for(self, name):
        policy = MAKERS[name](width=dual_mixture(None, 0.1, 0.05), choose="guarded").policy
        assert isinstance(policy, Guarded)
        assert policy.heuristic == srinivas(0.05)
        assert policy.slack == 9.0

    @pytest.mark.parametrize("choose", ["guarded", "safely"])
    def test_no_guard_without_a_proof_and_no_other_word(self, name, choose):
        with pytest.raises(sf.InvalidInput, match="`choose`"):
            MAKERS[name](choose=choose)


@pytest.mark.parametrize("center", ["zero", "mean"])
def test_a_moment_gives_bounds_without_truncation(center):
    moment = sf.Moment(1.0, 4.0, center)
    optimizer = sf.algorithms.gp_ucb(
        ARMS, KERNEL, width=sf.widths.self_normalised(moment, norm_bound=2.0, delta=0.05)
    )
    assert width_of(optimizer) == self_normalised(moment, 2.0, 0.05)
    assert optimizer.policy == ScorePolicy()
    guarded = sf.algorithms.gp_ucb(
        ARMS, KERNEL, width=sf.widths.self_normalised(moment), choose="guarded"
    )
    assert guarded.policy == Guarded(ScorePolicy(), slack=4.0)
    low = sf.widths.self_normalised(sf.Moment(0.5, 4.0, center))
    with pytest.raises(sf.InvalidInput, match="`choose` is 'guarded'"):
        sf.algorithms.gp_ucb(ARMS, KERNEL, width=low, choose="guarded")


@pytest.mark.long
def test_a_choice_that_is_certified_is_that_of_the_heuristic():
    """Early, when the bounds separate nothing, and are no multiple of a deviation."""
    given = {"width": self_normalised(sf.Moment(1.0, 1.0, "mean"), norm_bound=2.0)}
    guarded = sf.algorithms.gp_ucb(ARMS, KERNEL, choose="guarded", **given)
    alone, points, differ = sf.algorithms.gp_ucb(ARMS, KERNEL, **given), ARMS.points, 0
    guarded.tell(15, 0.0), alone.tell(15, 0.0)
    for round_ in range(12):
        belief = guarded.belief()
        width = min(belief.band.width, srinivas()(belief.outcome.progress))
        arm = guarded.ask().arm
        assert arm == int(belief.band.of_width(width).bound(points, 1.0).argmax())
        query = alone.ask()
        differ += arm != query.arm
        alone.forget(query, failed=False)
        for one in (guarded, alone):
            one.tell(arm, float(np.sin(6.0 * arm / 29)) + 0.3 * (-1) ** round_)
    assert differ > 0


def test_noise_of_size_0_is_known():
    exact = {"width": dual_mixture(2.0, 0.0), "choose": "guarded"}
    assert isinstance(sf.algorithms.gp_ucb(ARMS, KERNEL, **exact).policy, Guarded)


def test_bkb_has_its_own_width_and_the_narrowest_bounds_where_they_guard():
    known = {"noise": 0.1, "norm_bound": 2.0, "oversampling": 5.0}
    literal = sf.algorithms.bkb(ARMS, KERNEL, **known)
    assert width_of(literal) == bkb(2.0, 0.1)
    assert literal.policy == ScorePolicy()
    guarded = sf.algorithms.bkb(ARMS, KERNEL, choose="guarded", **known)
    assert width_of(guarded) == dual_mixture(2.0, 0.1)
    assert guarded.policy == Guarded(ScorePolicy())
    batched = sf.algorithms.bbkb(ARMS, KERNEL, **known)
    assert width_of(batched) == bkb(2.0, 0.1, scale=2.0**0.5)
