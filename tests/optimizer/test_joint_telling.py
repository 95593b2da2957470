"""Rewards of a design under an environment."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal

import surefoot as sf
from support.joint_cases import DENSITY, LINE, build, either, every, inform, noisy, of_the_space


class TestTelling:
    """Rewards late, out of order, uncalled for, of several environments, and by whatever name."""

    @every
    def test_several_environments_for_one_design(self, name: str) -> None:
        optimizer = build(name, observed=True)
        query = optimizer.ask()
        z = optimizer.space.environment.sample(5, torch.Generator().manual_seed(1))
        for step, value in enumerate(z):
            optimizer.tell(query, noisy(query.point, value, step), value)
            assert optimizer.pending == []
        assert len(optimizer.history) == 5
        assert optimizer.recommend().arm == query.arm

    def test_a_query_may_be_told_under_another_environment(self) -> None:
        optimizer = build("arms")
        query = optimizer.expect(3, 0.4)
        optimizer.tell(query, 1.0, environment=[1.0])
        assert optimizer.pending == []
        assert torch.equal(optimizer.history.sites[0], torch.stack([LINE[3, 0], torch.tensor(1.0)]))

    @pytest.mark.parametrize("where", [5, np.int64(5), torch.tensor(5), LINE[5]], ids=repr)
    def test_a_design_by_its_index_or_its_point(self, where: object) -> None:
        optimizer = build("arms")
        optimizer.tell(where, 1.0, 0.4)
        found = optimizer.recommend()
        assert found.arm == 5
        assert torch.equal(found.point, LINE[5])

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        "z",
        [
            0.5,
            1,
            [0.5],
            (1,),
            np.float32(0.5),
            np.int64(1),
            np.array(0.5),
            np.array([0.5]),
            torch.tensor(0.5),
            torch.tensor([0.5]),
            torch.tensor(1),
        ],
        ids=repr,
    )
    def test_an_environment_of_one_coordinate_by_any_kind_of_number(self, z: object) -> None:
        for environment in (sf.FiniteEnvironment([0.0, 0.5, 1.0]), DENSITY):
            joint = sf.Joint(sf.Arms(LINE), environment)
            optimizer = sf.Optimizer(
                sf.Problem(joint, risk=sf.VaR(0.3)), sf.Method(sf.kernels.linear())
            )
            optimizer.tell(0, 1.0, z)
            assert float(optimizer.history.sites[0, 1]) in (0.5, 1.0)

    def test_values_of_very_different_sizes_are_told_apart(self) -> None:
        values = [1e-9, 1e-6, 1e-3, 1.0, 1e3]
        joint = sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment(values))
        optimizer = sf.Optimizer(
            sf.Problem(joint, risk=sf.VaR(0.3)), sf.Method(sf.kernels.linear())
        )
        for z in values:
            optimizer.tell(0, 1.0, z)
        assert optimizer.history.sites[:, 1].tolist() == values

    @either
    def test_all_that_the_world_may_draw_can_be_told(self, observed: bool) -> None:
        """Of 20,000 values of a normal, one in three thousand lies beyond those looked at first."""
        environment = sf.ContinuousEnvironment(Normal(0.0, 1.0))
        drawn = environment.sample(20_000, torch.Generator().manual_seed(5))
        joint = sf.Joint(sf.Arms(LINE), environment, observed=observed)
        optimizer = sf.Optimizer(
            sf.Problem(joint, risk=sf.VaR(0.3)), sf.Method(sf.kernels.squared_exponential(1.0))
        )
        for z in (drawn.min(), drawn.max()):
            optimizer.tell(0, 1.0, z)
        assert len(optimizer.history) == 2

    def test_the_pair_of_a_query_settles_it_and_another_environment_does_not(self) -> None:
        optimizer = build("arms")
        query = optimizer.expect(3, 0.4)
        optimizer.tell(3, 1.0, environment=1.0)
        assert [other.id for other in optimizer.pending] == [query.id]
        optimizer.tell(3, 1.0, environment=0.4)
        assert optimizer.pending == []

    def test_the_design_of_a_query_settles_it_where_the_world_draws_the_environment(self) -> None:
        optimizer = build("arms", observed=True)
        query = optimizer.ask()
        optimizer.tell((query.arm + 1) % 8, 1.0, environment=0.4)
        assert len(optimizer.pending) == 1
        optimizer.tell(query.arm, 1.0, environment=1.0)
        assert optimizer.pending == []

    def test_one_expected_is_pending(self) -> None:
        optimizer = inform(build("arms"))
        expected = optimizer.expect(3, 0.4)
        assert of_the_space(optimizer.space, expected)
        asked = optimizer.ask()
        assert [query.id for query in optimizer.pending] == [expected.id, asked.id]
        optimizer.tell(expected, 1.0)
        assert [query.id for query in optimizer.pending] == [asked.id]

    def test_many_queries_at_once(self) -> None:
        optimizer = build("arms")
        optimizer.tell_all(optimizer.ask_batch(3), [1.0, 2.0, 3.0])
        assert optimizer.pending == []
        observed = build("arms", observed=True)
        observed.tell_all(observed.ask_batch(3), [1.0, 2.0, 3.0], [[0.0], [0.4], [1.0]])
        assert observed.pending == []
        assert observed.history.sites[:, 1].tolist() == [0.0, 0.4, 1.0]

    @either
    def test_one_query_told_twice_at_once(self, observed: bool) -> None:
        optimizer = build("arms", observed=observed)
        query = optimizer.ask()
        z = [0.4] if observed else query.environment
        optimizer.tell_all([query, query], [1.0, 2.0], [z, z])
        assert optimizer.pending == []
        second = optimizer.ask()
        z = [0.4] if observed else second.environment
        optimizer.tell_all([second.arm, second.arm], [1.0, 2.0], [z, z])
        assert optimizer.pending == []
        assert len(optimizer.history) == 4


def test_telling_all_settles_every_query_that_is_pending_there() -> None:
    """As telling them one by one does, on plain spaces too."""
    plain = sf.algorithms.gp_ucb(sf.Arms(4), sf.kernels.precomputed(np.eye(4)))
    for _ in range(2):
        plain.expect(1)
    plain.tell_all([1, 1], [0.5, 0.6])
    assert plain.pending == []
