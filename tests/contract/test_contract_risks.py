"""Risks: the bounds of a function bound its risk, and an optimiser reports that of its bounds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from support.contract_table import JOINT, LASTING, RISKS, Cell, cells, inform, table_of
from support.device import DEVICE

VALUE = st.floats(-10.0, 10.0)


@pytest.mark.parametrize("risk", RISKS)
@given(data=st.data(), number=st.integers(1, 8))
@settings(max_examples=30, deadline=None, database=None, derandomize=True)
def test_the_risk_of_bounds_brackets_the_risk(risk: str, data: st.DataObject, number: int) -> None:
    def drawn(elements: st.SearchStrategy[float]) -> torch.Tensor:
        rows = st.lists(elements, min_size=number, max_size=number)
        return torch.tensor(data.draw(rows), dtype=torch.float64)

    values, below, above = drawn(VALUE), drawn(st.floats(0.0, 5.0)), drawn(st.floats(0.0, 5.0))
    weights = drawn(st.floats(0.01, 1.0))
    weights = weights / weights.sum()
    measure = RISKS[risk]()
    lower, value, upper = (
        float(measure(each, weights)) for each in (values - below, values, values + above)
    )
    assert lower <= value + 1e-12
    assert value <= upper + 1e-12


@pytest.mark.daily(16)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("cell", cells(table_of(space=JOINT, features=LASTING)))
def test_an_optimiser_reports_the_risk_of_its_bounds(cell: Cell, risk: str) -> None:
    optimizer = Cell(cell.space, cell.features, risk=risk).build()
    inform(optimizer)
    design, environment = optimizer.space.design, optimizer.space.environment
    x = design.points if isinstance(design, sf.Arms) else design.sample(5, torch.Generator())
    value, lower, upper = optimizer.belief().predict(x)
    assert bool(((lower <= value) & (value <= upper)).all())
    if not isinstance(environment, sf.FiniteEnvironment):
        return
    for row, found in enumerate(zip(lower, value, upper, strict=True)):
        if cell.space == "joint-bare":
            seen = 3.0 * x[row] + torch.arange(3.0, device=DEVICE).unsqueeze(-1)
        else:
            seen = torch.cat([x[row].expand(3, -1), environment.points.to(x)], -1)
        with torch.no_grad():
            mean, deviation = optimizer.belief().posterior.mean_and_deviation(seen)
        for sign, ours in zip((-1.0, 0.0, 1.0), found, strict=True):
            bound = mean + sign * optimizer.width * deviation
            expected = optimizer.risk(bound, environment.weights.to(bound))
            torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.daily(7)
@pytest.mark.parametrize("cell", cells(table_of(space=JOINT, features=("exact",), risk=RISKS)))
def test_the_recommendation_is_the_best_of_the_designs_measured(cell: Cell) -> None:
    optimizer = cell.build()
    designs = inform(optimizer).x
    for by, place in (("mean", 0), ("lower", 1)):
        found = optimizer.recommend(by)
        best = optimizer.belief().predict(designs)[place].max()
        ours = (found.value, found.lower)[place]
        assert ours == pytest.approx(float(best), abs=1e-9)
