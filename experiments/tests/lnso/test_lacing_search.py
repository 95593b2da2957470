"""The search for lacing values, against sets of them that are known."""

from __future__ import annotations

import pytest
import torch

from surefoot.types import InvalidInput
from surefoot_experiments.lnso.lacing_search import search

LOW = torch.zeros(2, dtype=torch.float64)
HIGH = torch.ones(2, dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def spread(number, seed=0, dimension=2):
    return torch.rand(number, dimension, dtype=torch.float64, generator=generator(seed))


def normal(mode, deviation=0.2):
    return lambda z: -0.5 * ((z - mode) / deviation).square().sum(-1)


def first(z):
    return z[:, 0]


def second(z):
    return z[:, 1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ((0.2, 0.8), (0.2, 0.8)),  # laces itself
        ((0.1, 0.2), (0.1, 0.6)),
        ((0.9, 0.9), (0.3, 0.9)),
        ((0.8, 0.2), (0.3, 0.6)),  # the corner is nearest
        ((-3.0, 5.0), (0.0, 1.0)),  # outside of the box
    ],
)
def test_it_finds_the_likeliest_lacing_value(mode, expected):
    """lower = z_0 <= 0.3 and upper = z_1 >= 0.6 is a rectangle."""
    density = normal(tensor(*mode))
    found = search(first, second, 0.3, 0.6, density, spread(8), LOW, HIGH, generator(0))
    assert found.found
    assert found.violation == 0.0
    assert float(found.point[0]) <= 0.3
    assert float(found.point[1]) >= 0.6
    assert found.point.tolist() == pytest.approx(expected, abs=2e-3)


def test_it_slides_along_a_curved_edge():
    """Lacing values fill a disc, on which the one nearest to the mode is wanted."""
    centre, mode = tensor(0.3, 0.3), tensor(0.9, 0.5)
    expected = centre + 0.2 * (mode - centre) / (mode - centre).norm()

    def lower(z):
        return (z - centre).square().sum(-1)

    def anything(z):
        return 1.0 + z[:, 0]

    found = search(
        lower, anything, 0.04, 0.0, normal(mode, 0.05), spread(6), LOW, HIGH, generator(0)
    )
    assert found.found
    assert found.point.tolist() == pytest.approx(expected.tolist(), abs=1e-2)


def wavy(z):
    return torch.sin(6 * z[:, 0]) * torch.cos(4 * z[:, 1])


def wavy_upper(z):
    return wavy(z) + 0.4 + 0.8 * (z[:, 0] - 0.3).square()


@pytest.mark.long
def test_on_narrow_strips_it_is_as_good_as_a_grid():
    axis = torch.linspace(0, 1, 401, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    density = normal(tensor(0.5, 0.5), 0.125)
    order = wavy(grid).argsort(), wavy_upper(grid).argsort()
    weights = torch.softmax(density(grid), 0)
    for level in (0.05, 0.1, 0.3):
        at = [o[torch.searchsorted(weights[o].cumsum(0), tensor(level))] for o in order]
        lower_var, upper_var = float(wavy(grid)[at[0]]), float(wavy_upper(grid)[at[1]])
        laces = (wavy(grid) <= lower_var) & (wavy_upper(grid) >= upper_var)
        best = float(density(grid)[laces].max())
        found = search(
            wavy, wavy_upper, lower_var, upper_var, density, spread(32), LOW, HIGH, generator(0)
        )
        assert found.found
        assert float(density(found.point.unsqueeze(0))) >= best - 0.1


@pytest.mark.long
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_units_make_no_difference(unit):
    """Of the bounds, of the environment, and of the density."""
    mode = tensor(0.8, 0.2)
    plain = search(wavy, second, -0.2, 0.6, normal(mode), spread(8), LOW, HIGH, generator(0))
    scaled = search(
        lambda z: unit * wavy(z / unit),
        lambda z: unit * second(z / unit),
        -0.2 * unit,
        0.6 * unit,
        lambda z: normal(mode)(z / unit) + 700.0,
        unit * spread(8),
        LOW,
        unit * HIGH,
        generator(0),
    )
    assert (scaled.point / unit).tolist() == pytest.approx(plain.point.tolist(), abs=1e-6)


@pytest.mark.long
def test_unif_picks_evenly_from_all_lacing_values():
    """Points in the left half of the rectangle, from 600 searches: within 6 standard deviations.

    The error probability is below 1e-8.
    """
    g, left = generator(1), 0
    for seed in range(600):
        found = search(first, second, 0.3, 0.6, None, spread(32, seed), LOW, HIGH, g, lacing="unif")
        assert found.found
        left += float(found.point[0]) < 0.15
    assert abs(left - 300) <= 6 * (600 * 0.25) ** 0.5


@pytest.mark.parametrize("lacing", ["prob", "unif"])
def test_it_finds_what_no_start_has(lacing):
    starts = 0.05 * spread(4) + tensor(0.9, 0.05)
    density = normal(tensor(0.5, 0.5))
    found = search(
        first, second, 0.01, 0.99, density, starts, LOW, HIGH, generator(0), lacing=lacing
    )
    assert found.found
    assert float(found.point[0]) <= 0.01
    assert float(found.point[1]) >= 0.99


@pytest.mark.parametrize("lacing", ["prob", "unif"])
def test_where_nothing_laces_it_gives_the_least_violation(lacing):
    """lower is at least 1 (at z = (0.25, 0.75)), 0.5 above its VaR; upper is everywhere enough."""

    def lower(z):
        return 1.0 + (z - tensor(0.25, 0.75)).square().sum(-1)

    density = normal(tensor(0.5, 0.5))
    found = search(
        lower, first, 0.5, -1.0, density, spread(6), LOW, HIGH, generator(0), lacing=lacing
    )
    assert not found.found
    assert found.violation == pytest.approx(0.5, abs=1e-6)
    assert found.point.tolist() == pytest.approx([0.25, 0.75], abs=1e-3)


def test_the_values_that_gave_the_var_lace_it():
    """Theorem 1: among the z of a sample one laces, if both VaR are those of the sample."""
    for seed in range(20):
        z = spread(25, seed)
        factor = torch.rand(4, dtype=torch.float64, generator=generator(seed))

        def lower(z, f=factor):
            return torch.sin(9 * z[:, 0] * f[0]) + torch.cos(7 * z[:, 1] * f[1])

        def upper(z, f=factor):
            return torch.sin(9 * z[:, 0] * f[0]) + torch.cos(7 * z[:, 1] * f[1]) + f[2] + z[:, 0]

        lower_var, upper_var = (float(bound(z).sort().values[2]) for bound in (lower, upper))
        found = search(
            lower,
            upper,
            lower_var,
            upper_var,
            normal(HIGH / 2),
            z,
            LOW,
            HIGH,
            generator(0),
            steps=3,
        )
        assert found.found


def test_a_value_that_never_comes_does_not_lace():
    """The density is 0 outside of a disc, which the likeliest lacing value may not leave."""

    def density(z):
        inside = (z - 0.5).square().sum(-1) < 0.09
        return torch.where(inside, normal(tensor(0.0, 1.0))(z), -torch.inf)

    found = search(first, second, 0.4, 0.6, density, spread(32), LOW, HIGH, generator(0))
    assert found.found
    assert float((found.point - 0.5).norm()) < 0.3


def test_gradients_switched_off_outside_do_not_matter_and_no_global_state_is_touched():
    before = torch.get_rng_state()
    with torch.no_grad():
        found = search(
            first, second, 0.3, 0.6, normal(HIGH / 2), spread(4), LOW, HIGH, generator(0)
        )
    assert found.point.tolist() == pytest.approx([0.3, 0.6], abs=2e-3)
    assert not found.point.requires_grad
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"lacing": "best"}, "`lacing` is 'best'"),
        ({"log_density": None}, "needs a `log_density`"),
        ({"steps": 0}, "`steps` is"),
        ({"reach": 0.0}, "`reach` is"),
    ],
)
def test_bad_input_is_refused(bad, message):
    given = {"log_density": normal(HIGH), "starts": spread(2), "low": LOW, "high": HIGH}
    with pytest.raises(InvalidInput, match=message):
        search(first, second, 0.3, 0.6, generator=generator(0), **(given | bad))
