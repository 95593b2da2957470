"""V-UCB with local neural surrogates, as a policy of an optimizer."""

from pathlib import Path

import pytest

import surefoot as sf
from surefoot.spaces.environments import truncated_normal
from surefoot_experiments.lnso import Surrogate, SurrogateBound

LINE = sf.Box([0.0], [1.0])
KERNEL = sf.kernels.squared_exponential([0.3, 0.3])
SPACE = sf.Joint(LINE, sf.ContinuousEnvironment(truncated_normal(0.5, 0.2, 0.0, 1.0)))
SMALL = Surrogate(fit_steps=10, climb_steps=5, balls=1)


def optimizer(lacing: str) -> sf.Optimizer:
    policy = SurrogateBound(lacing, starts=2, surrogate=SMALL)
    return sf.Optimizer(
        sf.Problem(SPACE, risk=sf.VaR(0.2)), sf.Method(KERNEL, policy=policy, ridge=0.01), seed=3
    )


def play(optimizer: sf.Optimizer, rounds: int) -> list[list[float]]:
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        x, z = query.point, query.environment
        asked.append([*x.tolist(), *z.tolist()])
        optimizer.tell(query, float(-4 * (x[0] - 0.3) ** 2 + z[0] * (0.6 - x[0])))
    return asked


@pytest.mark.long
@pytest.mark.parametrize("lacing", ["prob", "unif"])
def test_it_asks_within_the_space_and_the_same_again_also_when_loaded(lacing, tmp_path: Path):
    run = optimizer(lacing)
    asked = play(run, 1)
    run.save(tmp_path / "run")
    asked += play(run, 1)
    assert all(0.0 <= coordinate <= 1.0 for row in asked for coordinate in row)
    loaded = sf.Optimizer.load(tmp_path / "run", space=SPACE, policy=run.policy)
    assert play(loaded, 1) == asked[1:]
    assert play(optimizer(lacing), 2) == asked


def test_it_says_what_it_is_not_for():
    finite = sf.Joint(LINE, sf.FiniteEnvironment([0.0, 1.0]))
    arms = sf.Joint(sf.Arms([[0.0], [1.0]]), SPACE.environment)
    for space, risk in ((finite, sf.VaR(0.2)), (arms, sf.VaR(0.2)), (SPACE, sf.CVaR(0.2))):
        with pytest.raises(sf.InvalidInput, match="a surrogate is for `VaR` on a `Box`"):
            sf.Optimizer(sf.Problem(space, risk=risk), sf.Method(KERNEL, policy=SurrogateBound()))
    for bad in ({"lacing": "nets"}, {"starts": 0}, {"surrogate": Surrogate}):
        with pytest.raises(sf.InvalidInput, match=f"`{next(iter(bad))}` is"):
            SurrogateBound(**bad)
