"""Bounds that are proved are the default where what they need is known."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.acquisition import Guarded, ScorePolicy
from surefoot.widths import dual_mixture, sketch_determinant, srinivas

KERNEL = sf.kernels.squared_exponential(0.2)
PAIRS = sf.kernels.squared_exponential([0.2, 0.5])
ARMS = sf.Arms(np.linspace(0.0, 1.0, 30)[:, None])
JOINT = sf.Joint(sf.Arms(np.linspace(0.0, 1.0, 8)[:, None]), sf.FiniteEnvironment([0.0, 0.5, 1.0]))
BY_NOISE = {
    "gp_ucb": lambda **known: sf.algorithms.gp_ucb(ARMS, KERNEL, **known),
    "v_ucb": lambda **known: sf.algorithms.v_ucb(JOINT, PAIRS, level=0.3, **known),
    "cvar_ucb": lambda **known: sf.algorithms.cvar_ucb(JOINT, PAIRS, level=0.3, **known),
    "stable_opt": lambda **known: sf.algorithms.stable_opt(JOINT, PAIRS, **known),
}


def width_of(optimizer: sf.Optimizer) -> object:
    return optimizer._history.model.width


@pytest.mark.parametrize("name", BY_NOISE)
class TestByNoise:
    def test_the_bounds_are_proved_where_the_noise_is_known(self, name):
        make = BY_NOISE[name]
        assert width_of(make(noise=0.1, norm_bound=2.0)) == dual_mixture(2.0, 0.1)
        assert width_of(make(noise=0.1, delta=0.05)) == dual_mixture(None, 0.1, 0.05)
        assert width_of(make()) == srinivas()
        assert width_of(make(delta=0.05, scale=0.5)) == srinivas(0.05, 0.5)

    def test_they_guard_the_heuristic_of_the_same_level(self, name):
        policy = BY_NOISE[name](noise=0.1, delta=0.05).policy
        assert isinstance(policy, Guarded)
        assert policy.heuristic == srinivas(0.05)
        make = BY_NOISE[name]
        assert make(width=dual_mixture(2.0, 0.1)).policy == make().policy == ScorePolicy()

    def test_half_of_what_they_need_is_refused(self, name):
        with pytest.raises(sf.InvalidInput, match="`norm_bound` came without `noise`"):
            BY_NOISE[name](norm_bound=2.0)
        with pytest.raises(sf.InvalidInput, match="`noise` and `width`"):
            BY_NOISE[name](noise=0.1, width=srinivas())


def test_a_fitted_kernel_has_no_proof():
    with pytest.raises(sf.InvalidInput, match="`noise` came without a `kernel`"):
        sf.algorithms.v_ucb(JOINT, level=0.3, noise=0.1)


def test_bkb_has_the_narrowest_bounds_of_its_estimator():
    known = {"noise": 0.1, "norm_bound": 2.0, "oversampling": 5.0}
    assert width_of(sf.algorithms.bkb(ARMS, KERNEL, **known)) == dual_mixture(2.0, 0.1)
    robust = sf.algorithms.bkb(ARMS, KERNEL, estimator=sf.Huber(), **known)
    assert width_of(robust) == sketch_determinant(2.0, 0.1)
    batched = sf.algorithms.bbkb(ARMS, KERNEL, **known)
    assert width_of(batched) == sketch_determinant(2.0, 0.1, ratio=2.0)


def test_widening_bounds_guard_with_more_slack():
    """b_t grows as t^(1/4): with a slack of 4 the guard costs several times the heuristic."""
    tgp = sf.algorithms.tgp_ucb(ARMS, KERNEL, moment=sf.Moment(1.0, 4.0), delta=0.05)
    assert tgp.policy == Guarded(ScorePolicy(), slack=19.0, heuristic=srinivas(0.05))


def test_bkb_is_guarded_where_its_bounds_are_proved():
    known = {"noise": 0.1, "oversampling": 5.0}
    assert isinstance(sf.algorithms.bkb(ARMS, KERNEL, **known).policy, Guarded)
    alone = dual_mixture(2.0, 0.1)
    for given in ({"width": alone}, {"estimator": sf.Huber()}):
        assert sf.algorithms.bkb(ARMS, KERNEL, **known | given).policy == ScorePolicy()
    drawn = sf.acquisition.ThompsonSampling()
    assert sf.algorithms.bkb(ARMS, KERNEL, policy=drawn, **known).policy == ScorePolicy(drawn)
