"""The interval of a quantity is of one belief with the probability of its limit, and its sign."""

from __future__ import annotations

import math

import pytest
import torch

import surefoot as sf

LINE = torch.linspace(0.0, 1.0, 33, dtype=torch.float64).unsqueeze(-1)
LIMITS = {"at most": sf.Constraint(maximum=90.0), "at least": sf.Constraint(minimum=170.0)}


def beliefs(
    limit: str, contrary: dict[float, float], number: int = 9
) -> sf.beliefs.ConstraintBelief:
    """Values about 130, which break both limits, and others that contradict them."""
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes={"memory": LIMITS[limit]}), seed=0
    )
    for index in range(number):
        x = index / (number - 1)
        value = contrary.get(x, 130.0 + 2.0 * math.sin(9.0 * x))
        optimizer.tell([x], 1.0, outcomes={"memory": value})
    return optimizer.belief().constraints.beliefs["memory"]


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("at", [0.0, 0.25, 1.0])
def test_the_interval_includes_the_limit_where_both_are_likely(limit: str, at: float) -> None:
    measured = 6.9 if limit == "at most" else 900.0
    found = beliefs(limit, {at: measured}).predict(LINE)
    bound = LIMITS[limit].maximum or LIMITS[limit].minimum
    undecided = (found.probability > 0.03) & (found.probability < 0.97)
    assert bool(undecided.any())
    assert bool(((found.lower <= bound) & (bound <= found.upper))[undecided].all())
    there = int((LINE[:, 0] - at).abs().argmin())
    assert float(found.contrary[there]) == pytest.approx(measured)
    assert float(found.probability[there]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
def test_nothing_contradicts_measurements_that_agree(limit: str) -> None:
    found = beliefs(limit, {}).predict(LINE)
    assert bool(found.contrary.isnan().all())
    assert float(found.upper.max() - found.lower.min()) < 20.0


# Of few measurements, at which the model alone would have intervals on either side of 0.
STEP = {0.0: 0.0, 0.2: 31.0, 0.4: 33.0, 0.6: 9.0, 0.8: 7.5, 1.0: 38.0}


@pytest.mark.long
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("limit", "is_of_one_sign"),
    [
        (sf.Constraint(maximum=90.0), True),
        (sf.Constraint(minimum=20.0), True),
        (sf.Constraint(maximum=0.0), True),
        (sf.Constraint(minimum=0.0), False),  # which would not be asked for if it always held
    ],
)
def test_a_limited_quantity_has_the_sign_of_its_measurements(
    limit: sf.Constraint, is_of_one_sign: bool, sign: float
) -> None:
    if sign < 0.0:
        ends = [None if end is None else -end for end in (limit.minimum, limit.maximum)]
        limit = sf.Constraint(maximum=ends[0], minimum=ends[1])
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes={"p99": limit}), seed=0
    )
    for x, value in STEP.items():
        optimizer.tell([x], 1.0, outcomes={"p99": sign * value})
    found = optimizer.belief().constraints.beliefs["p99"].predict(LINE)
    ends = torch.stack([found.value, found.lower, found.upper])
    assert bool((sign * ends >= 0.0).all()) == is_of_one_sign


@pytest.mark.parametrize("seed", [2, 5])
def test_one_value_that_contradicts_the_model_is_doubted_where_it_was_measured(seed: int) -> None:
    """Not far from it, over an environment at whose values nothing was measured."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(40, 3, dtype=torch.float64, generator=generator)
    noise = torch.randn(40, dtype=torch.float64, generator=generator)
    environment = sf.FiniteEnvironment(torch.linspace(0.0, 1.0, 11)[:, None].double())
    values = 14.0 + 8.0 * points[:, 0] + 2.0 * points[:, 2].mul(10.0).round() / 10.0
    wrong = int((values - 19.0).abs().argmin())
    measured = values + 0.3 * noise
    measured[wrong] = 20.4
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(
            sf.Joint(sf.Box([0.0, 0.0], [1.0, 1.0]), environment),
            {"p99": sf.Constraint(maximum=20.0)},
            risk=sf.risks.Mean(),
        ),
        seed=0,
    )
    for row, value in zip(points, measured.tolist(), strict=True):
        z = row[2:].mul(10.0).round() / 10.0
        optimizer.tell(row[:2], float(row[0]), z, outcomes={"p99": value})
    belief = optimizer.belief()
    limit = belief.constraints.beliefs["p99"]
    at = limit.margin.observations.sites[wrong : wrong + 1]
    assert float(limit.probability(at)) == pytest.approx(0.5, abs=0.1)
    within = torch.tensor([[0.0, 0.5], [0.1, 0.2], [0.2, 0.9], [0.3, 0.5]], dtype=torch.float64)
    assert float(belief.feasibility(within).min()) > 0.98  # 1 in truth, before 0.92 and 0.93
