"""The settings of the value-at-risk figures: what the table compares is what is run."""

import pandas as pd
import pytest

from surefoot.acquisition import ScorePolicy
from surefoot.widths import constant, srinivas
from surefoot_experiments import EXPERIMENTS, Trial, find
from surefoot_experiments.baselines import ExpectedRisk, RiskKnowledgeGradient
from surefoot_experiments.harness.departures import departures_table
from surefoot_experiments.harness.trial import NUMBERS
from surefoot_experiments.lnso import SurrogateBound
from surefoot_experiments.papers.risk_runs import order
from surefoot_experiments.papers.risk_settings import (
    CODE,
    KG,
    OWN,
    OWN_KG,
    PROB,
    UNIF,
    rho_kg_rows,
    v_ucb_rows,
)

SYNTHETIC = [f"value-at-risk-{number}{letter}" for number in "34" for letter in "abcd"]


def test_beta_counts_rounds_from_the_first_chosen_query():
    problem = find("value-at-risk-3c").run.keywords["task"].problem(Trial(0, 1, 0))
    rows = v_ucb_rows(problem.initial, continuous=False)
    first = {name: rows[name].settings.build(problem, 0) for name in (PROB, CODE, OWN)}
    for optimizer in first.values():
        x = problem.joint.design.lower.repeat(problem.initial, 1)
        z = problem.joint.environment.points[: problem.initial]
        optimizer.tell_all(x, [0.1 * i for i in range(problem.initial)], z)
    assert first[PROB].width == pytest.approx(2.36655, abs=1e-4)  # sqrt(2 ln(pi^2 / 0.6))
    assert first[CODE].width == 3.0
    assert first[OWN].width > 3.8


def test_rows_are_built_from_the_settings_that_are_compared():
    experiment = find("value-at-risk-4a")
    task, rows = (experiment.run.keywords[name] for name in ("task", "rows"))
    problem = task.problem(Trial(0, 1, 0))
    built = {row.name: row.settings.build(problem, 0) for row in rows}
    assert built[PROB].policy == SurrogateBound("prob-random", starts=8)
    assert built[PROB].policy.surrogate.samples == 10
    assert built[PROB].policy.surrogate.points == 50
    assert built[OWN].policy == ScorePolicy()
    assert built[KG].policy == RiskKnowledgeGradient(10, 10, 10)
    assert built[KG].method.reporting.by == ExpectedRisk(10, 10)
    assert built[OWN_KG].policy == RiskKnowledgeGradient(10, 10, 40)
    assert built[PROB]._history.model.width == srinivas(initial=3)
    assert built[OWN]._history.model.width == srinivas()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_problem_is_what_its_settings_say(name):
    task = find(name).run.keywords["task"]
    problem = task.problem(Trial(0, 1, 0))
    assert problem.initial == task.initial
    assert problem.noise == task.noise
    assert problem.risk.level == task.level == 0.1
    if not task.continuous:
        assert len(problem.joint.environment) == task.values


def test_every_figure_lists_its_departures():
    for name, experiment in EXPERIMENTS.items():
        if name.startswith("value-at-risk"):
            table = departures_table(experiment.departures)
            assert "BoRisk" in table
            assert "surefoot's V-UCB" in table
        if name.startswith("own-risk"):
            assert experiment.departures is None


def test_v_ucb_prob_is_as_published_where_z_is_finite():
    rows = {one.row for one in find("value-at-risk-3a").departures}
    assert not {PROB, UNIF, CODE, "problem"} & rows


def test_the_searches_of_the_authors_code_are_listed():
    """Their numbers stand in the authors' code, so that they are no defaults of ours."""
    found = {
        (one.row, one.setting): (one.published, one.here)
        for one in find("value-at-risk-4d").departures
    }
    search, here = found[PROB, "search for x"]
    assert "50 starts" in search
    assert "8 starts" in here
    assert "12 balls of radius 0.1" in here
    assert found[KG, "random pairs that are screened"] == ("250 d to 500 d", "512")
    assert found[KG, "starts of the ascent"] == ("10 d", "6")
    assert found[KG, "functions of each posterior"] == ("40, later 10", "10")
    assert "Gamma(1.1, 0.5)" in found[KG, "prior of the hyperparameters"][0]


def test_v_ucb_prob_has_the_width_of_the_authors_script_in_a_row_of_its_own():
    assert constant(3.0) == v_ucb_rows(3, continuous=False)[CODE].published.width


def test_settings_that_are_not_stated_are_listed_as_such():
    table = departures_table(find("value-at-risk-5b").departures)
    assert "| problem | evaluations | not stated | 100 |" in table
    assert "pymunk" in table
    assert rho_kg_rows(10, continuous=True)[KG].published.values == 10


def ends(**values: list[float]) -> dict[str, pd.DataFrame]:
    rows = [
        {"algorithm": name, "round": 0, "trial": trial, "log10_regret": value}
        for name, column in values.items()
        for trial, value in enumerate(column)
    ]
    times = [{**row, "seconds": 1.0} for row in rows]
    return {NUMBERS: pd.DataFrame(rows), "times": pd.DataFrame(times)}


def test_on_par_is_a_difference_within_chance():
    even = ends(a=[-1.0, -2.0, -1.5, -2.5, -1.0, -2.0], b=[-1.5, -1.5, -2.0, -2.0, -1.2, -1.8])
    apart = ends(a=[-3.0, -3.1, -3.2, -3.0, -3.1], b=[-1.0, -1.1, -1.0, -1.2, -1.1])
    few = ends(a=[-3.0], b=[-1.0])
    verdicts = [order(one, claims=(), par=(("a", "b"),))[0].verdict for one in (even, apart, few)]
    assert verdicts == ["yes", "no", "undecided"]
