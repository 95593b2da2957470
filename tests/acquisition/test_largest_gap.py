"""V-UCB for several levels at once, against a literal transcription."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import risk as reference
from support.joint_cases import LINE, MASSES, build
from surefoot.acquisition import LargestGap
from surefoot.types import InvalidInput

LEVELS = (Fraction(1, 5), Fraction(3, 5))
RISK = sf.WeightedVaR([float(level) for level in LEVELS])


def optimizer(name: str, **parts) -> sf.Optimizer:
    return build(name, risk=RISK, policy=LargestGap("prob", values=16), **parts)


def objective(x: torch.Tensor, z: torch.Tensor) -> float:
    return float(torch.sin(5.0 * x.sum()) * (1.0 - z.sum()) + z.sum())


def run(opt: sf.Optimizer, rounds: int) -> sf.Optimizer:
    for _ in range(rounds):
        query = opt.ask()
        opt.tell(query, objective(query.point, query.environment))
    return opt


def bounds(opt: sf.Optimizer) -> tuple[np.ndarray, np.ndarray]:
    """l and u (8, 3) of every design with every z."""
    z = opt.space.environment.points
    points = torch.cat([LINE.repeat_interleave(len(z), 0), z.repeat(len(LINE), 1)], -1)
    mean, deviation = opt.belief().posterior.mean_and_deviation(points)
    reach = opt.width * deviation
    return (mean - reach).reshape(8, -1).numpy(), (mean + reach).reshape(8, -1).numpy()


def test_each_round_is_that_of_the_definition() -> None:
    opt = run(optimizer("arms"), 2)
    chosen = set()
    for _ in range(12):
        lower, upper = bounds(opt)
        known = {int(torch.cdist(x.unsqueeze(0), LINE).argmin()) for x in opt.belief().designs}
        gaps, designs = [], []
        for level in LEVELS:
            highest = reference.var(upper, MASSES, level)
            design = int(highest.argmax())
            least = reference.var(lower, MASSES, level)
            gaps.append(highest[design] - max(least[each] for each in {*known, design}))
            designs.append(design)
        first = int(np.argmax(gaps))
        query = opt.ask()
        design = int(torch.cdist(query.point.unsqueeze(0), LINE).argmin())
        assert design == designs[first]
        laces = reference.lacing(lower[design], upper[design], MASSES, LEVELS[first])
        index = int((opt.space.environment.points == query.environment).all(-1).nonzero()[0])
        assert laces[index]
        assert MASSES[index] == MASSES[laces].max()
        opt.tell(query, objective(query.point, query.environment))
        chosen.add(first)
    assert chosen == {0, 1}


def test_the_measurement_bounds_the_gaps_of_all_levels() -> None:
    """2 beta sigma at the measured pair, as in Lemma 3."""
    opt = run(optimizer("arms"), 2)
    for _ in range(12):
        lower, upper = bounds(opt)
        gaps = [
            reference.var(upper, MASSES, level).max() - reference.var(lower, MASSES, level).max()
            for level in LEVELS
        ]
        width = opt.width
        query = opt.ask()
        point = torch.cat([query.point, query.environment]).unsqueeze(0)
        # The pending query does not count yet: `posterior` is that of the rewards.
        deviation = float(opt.belief().posterior.mean_and_deviation(point)[1])
        assert max(gaps) <= 2.0 * width * deviation + 1e-9
        opt.tell(query, objective(query.point, query.environment))


@pytest.mark.long
@pytest.mark.parametrize("name", ["bare", "arms-density", "box", "box-density", "box-shifted"])
def test_a_saved_run_goes_on_alike(name: str, tmp_path) -> None:
    opt = run(optimizer(name), 3)
    opt.save(tmp_path / "run")
    finite = isinstance(opt.space.environment, sf.FiniteEnvironment)
    parts = {} if finite and opt.space.perturbation is None else {"space": opt.space}
    again = sf.Optimizer.load(tmp_path / "run", **parts)
    assert again.risk == RISK
    first, second = opt.ask(), again.ask()
    assert torch.equal(first.point, second.point)
    assert torch.equal(first.environment, second.environment)
    for level in RISK.parts:
        assert torch.equal(opt.recommend(risk=level).point, again.recommend(risk=level).point)


def test_one_run_finds_the_best_design_of_each_level() -> None:
    load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
    space = sf.Joint(sf.Arms(torch.linspace(0, 1, 5).unsqueeze(-1)), load)
    kernel = sf.kernels.squared_exponential([0.5, 0.5])
    opt = sf.algorithms.v_ucb(space, kernel, level=[0.2, 0.8], ridge=0.01)
    for _ in range(20):
        query = opt.ask()
        opt.tell(query, float(query.point - 2.0 * query.point * query.environment))
    for level, best in ((0.2, 0.0), (0.8, 1.0)):
        found = opt.recommend(risk=sf.VaR(level))
        assert found.point.tolist() == [best]
        value, lower, upper = opt.belief().predict(found.point.unsqueeze(0), risk=sf.VaR(level))
        assert [found.value, found.lower, found.upper] == [float(value), float(lower), float(upper)]


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="WeightedVaR"):
        build("arms", policy=LargestGap())
    for levels in ([], [0.2, 0.2], [0.5, 0.2], [0.0, 0.5], "0.1", [0.2, 1.0]):
        with pytest.raises(InvalidInput, match="level"):
            sf.WeightedVaR(levels)
    for weights in ([1.0], [1.0, 0.0], [1.0, float("nan")], 3.0):
        with pytest.raises(InvalidInput, match="weights"):
            sf.WeightedVaR([0.1, 0.2], weights)
    opt = run(optimizer("arms"), 1)
    with pytest.raises(InvalidInput, match="rounds"):
        opt.recommend("rounds", risk=sf.VaR(0.1))
    with pytest.raises(InvalidInput, match="risk"):
        opt.recommend(risk=sf.VaR)
    plain = sf.algorithms.gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2))
    plain.tell([0.5], 1.0)
    with pytest.raises(InvalidInput, match="no environment"):
        plain.recommend(risk=sf.VaR(0.1))
