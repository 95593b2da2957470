"""Published settings, what they are compared with, and what is claimed of the figures."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.collections import PathCollection

from surefoot import InvalidInput, Moment
from surefoot_experiments import find
from surefoot_experiments.harness.departures import NOT_STATED, departures
from surefoot_experiments.harness.figures import curves
from surefoot_experiments.harness.page import MEAN_REGRET
from surefoot_experiments.harness.trial import NUMBERS, Purpose, Trial
from surefoot_experiments.papers import ata_steps, heavy_tails
from surefoot_experiments.papers.arm_methods import (
    NYSTROM,
    OURS_NYSTROM,
    OURS_QFF,
    PER_PULL,
    PLAIN,
    QFF,
)
from surefoot_experiments.papers.arm_settings import (
    OWN_NYSTROM,
    OWN_QFF,
    PUBLISHED_NYSTROM,
    PUBLISHED_QFF,
    Fixed,
    Published,
    Union,
)
from surefoot_experiments.papers.arm_worlds import SENSORS, STUDENT_T
from surefoot_experiments.papers.published_points import PUBLISHED
from surefoot_experiments.problems import noisy_arms, pareto_arms, random_function, sensors

FIGURES = [f"heavy-tails-1{letter}" for letter in "abcde"]


def of_row(name: str, row: str) -> dict[str, tuple[str, str]]:
    return {
        one.setting: (one.published, one.here) for one in find(name).departures if one.row == row
    }


class TestDepartures:
    def test_a_row_departs_from_the_authors_code_and_surefoots_has_all_of_its_changes(self):
        counted = {"t in the width": ("round to come", "rewards so far")}
        logarithm = {
            "logarithm L in the threshold b": ("ln((m + 1) T)", "ln(m T)"),
            "width β": ("as published, L = ln((m + 1) T)", "as published"),
        }
        assert of_row("heavy-tails-1a", PLAIN) == of_row("heavy-tails-1e", QFF) == counted
        assert of_row("heavy-tails-1a", NYSTROM) == logarithm
        assert of_row("heavy-tails-1a", OURS_QFF) == {
            **counted,
            "pairs of quadrature nodes are folded": ("False", "True"),
            "logarithm L in the threshold b": ("ln(m T)", "ln(2 m T / δ), δ = 0.1"),
            "root of V in the truncation": ("symmetric", "cholesky"),
        }
        assert of_row("heavy-tails-1a", PER_PULL) == {
            "chances of an arm to be in the dictionary": ("once", "per-pull"),
            **logarithm,
        }
        assert of_row("heavy-tails-1e", OURS_NYSTROM) == {
            "chances of an arm to be in the dictionary": ("once", "per-pull"),
            "root of the dictionary's kernel matrix": ("symmetric", "cholesky"),
            "oversampling q": ("ln T / ε², ε = 0.1", "4"),
            "dictionary drawn": ("every-round", "adaptive"),
            **logarithm,
            "logarithm L in the threshold b": ("ln((m + 1) T)", "ln(4 m T / δ), δ = 0.1"),
            "root of V in the truncation": ("symmetric", "cholesky"),
        }

    def test_a_problem_departs_where_the_authors_code_has_another_or_the_text_none(self):
        scale = "max|f| = 1"
        assert of_row("heavy-tails-1c", "problem") == {
            "places of the arms": ("0.01, 0.02, ..., 1", "0, 1/(n - 1), ..., 1"),
            "support points are": ("uniform on [0, 1]", "arms, drawn with replacement"),
            "scale of f": (f"not stated; {scale} in the authors' code", scale),
        }
        stocks, sensors = (of_row(f"heavy-tails-1{letter}", "problem") for letter in "de")
        assert list(stocks) == ["a pull pays", "B of all algorithms", "rounds"]
        assert list(sensors) == ["a pull pays", "rounds", "locations of the arms"]
        assert all(
            there.startswith("not stated") for there, _ in [*stocks.values(), *sensors.values()]
        )

    def test_what_is_only_compared_with_is_not_built(self):
        published = dataclasses.replace(STUDENT_T, drawn="uniform on [0, 1]")
        with pytest.raises(InvalidInput, match="only compared"):
            published(Trial(0, 10, 0))

    @pytest.mark.parametrize("name", ["heavy-tails-1f", "bkb-1", "bkb-time"])
    def test_every_figure_says_what_its_paper_does_not_state(self, name):
        found = find(name).departures
        assert found
        assert any(one.published == NOT_STATED for one in found)

    def test_settings_that_build_the_run_are_those_compared(self):
        """A row that is changed departs, so that none can be played under another's name."""
        changed = dataclasses.replace(PUBLISHED_NYSTROM, oversampling=Fixed(4.0))
        found = departures(PUBLISHED_NYSTROM, {NYSTROM: changed})
        assert [(one.setting, one.here) for one in found] == [("oversampling q", "4")]
        assert find("heavy-tails-1a").run.keywords["methods"][NYSTROM] is PUBLISHED_NYSTROM
        assert find("heavy-tails-1a").run.keywords["make"] is STUDENT_T


class TestPublishedSettings:
    def problem(self):
        return STUDENT_T(Trial(0, 50, 0))

    def test_the_number_of_features_is_that_of_the_authors_code(self):
        problem = self.problem()
        dimensions = {}
        for name, settings in (
            ("published", PUBLISHED_QFF),
            ("own", OWN_QFF),
            ("dictionary", PUBLISHED_NYSTROM),
            ("rank", OWN_NYSTROM),
        ):
            optimizer = settings(problem, 12_000, 0)
            dimensions[name] = optimizer.tell_all(range(60), np.zeros(60)).dimension
        assert dimensions["published"] == 64
        assert dimensions["own"] == 32
        assert dimensions["dictionary"] == 60
        assert dimensions["rank"] < 20

    def test_the_sensors_have_512_features(self):
        data = sensors.load(None)
        trial = Trial(0, 12_000, 0, data)
        settings = heavy_tails.SENSOR_ROWS[QFF]
        problem = SENSORS.on_locations(SENSORS(trial), trial, heavy_tails.LENGTHSCALE)
        optimizer = settings(problem, 12_000, 0, moment=SENSORS.moment_of(trial))
        assert optimizer.tell(0, 1.0).dimension == 512

    def test_threshold_and_oversampling_are_those_of_the_authors_code(self):
        optimizer = PUBLISHED_QFF(self.problem(), 12_000, 0, moment=Moment(1.0, 4.0))
        info = optimizer.tell(0, 1.0)
        assert info.threshold == pytest.approx((4.0 / np.log(64 * 12_000)) ** 0.5, rel=1e-12)
        assert round(Published()(12_000)) == 939
        assert str(Union(1, 1.0)) == "ln(m T)"

    def test_quadrature_and_dictionary_give_one_posterior_at_first(self):
        """The features differ, the kernel does not: least squares would be the same."""
        problem = self.problem()
        one, other = (settings(problem, 100, 0) for settings in (PUBLISHED_NYSTROM, OWN_NYSTROM))
        for optimizer in (one, other):
            optimizer.tell_all([3, 50, 80], [0.01, 0.02, -0.01])
        at = problem.space.points
        torch.testing.assert_close(
            one.belief().posterior.variance(at),
            other.belief().posterior.variance(at),
            rtol=0.0,
            atol=1e-8,
        )


class TestWorlds:
    def test_functions_are_those_of_the_problems(self):
        trial = Trial(3, 10, 1)
        for name, expected in (
            ("heavy-tails-1a", noisy_arms(trial.generator(Purpose.PROBLEM))),
            ("heavy-tails-1b", pareto_arms(trial.generator(Purpose.PROBLEM))),
        ):
            made = find(name).run.keywords["make"](trial)
            torch.testing.assert_close(made.values, expected.values, rtol=0.0, atol=0.0)
            assert made.moment == expected.moment

    def test_regret_is_in_units_of_the_largest_mean(self):
        problem = SENSORS(Trial(0, 10, 0, sensors.load(None)))
        expected = 1.0 - problem.values / problem.values.max()
        torch.testing.assert_close(problem.regrets, expected, rtol=1e-12, atol=1e-12)
        assert problem.regret(0) == pytest.approx(float(expected[0]), rel=1e-9)

    def test_a_function_in_the_range_from_0_to_1(self):
        generator = np.random.default_rng(0)
        plain = random_function(np.random.default_rng(0))
        mapped = random_function(generator, scaling="range")
        assert float(mapped.values.min()) == 0.0
        assert float(mapped.values.max()) == 1.0
        spread = plain.values.max() - plain.values.min()
        torch.testing.assert_close(mapped.values, (plain.values - plain.values.min()) / spread)
        assert mapped.norm == pytest.approx(plain.norm / float(spread), rel=1e-12)
        with pytest.raises(InvalidInput, match="`scaling`"):
            random_function(generator, scaling="unit")


def tables(**ends: float) -> dict[str, pd.DataFrame]:
    rows = [
        {"algorithm": name, "trial": trial, "round": at, "regret": end + (20_000 - at) / 20_000}
        for name, end in ends.items()
        for trial in range(6)
        for at in (1_000, 5_000, 20_000)
    ]
    return {NUMBERS: pd.DataFrame(rows)}


class TestClaims:
    def test_claims_are_of_published_rows_and_of_surefoots_variants(self):
        rows = {PLAIN: 0.5, QFF: 0.4, NYSTROM: 0.4, OURS_QFF: 0.3, OURS_NYSTROM: 0.1}
        checks = {one.claim: one for one in find("heavy-tails-1a").output.checks(tables(**rows))}
        assert checks[f"{OURS_NYSTROM} ends below {NYSTROM}"].holds
        assert len(checks) == 9

    def test_ends_are_held_against_the_published_points(self):
        found = {PLAIN: 0.3511, QFF: 0.5, NYSTROM: 0.2965, OURS_QFF: 0.3, OURS_NYSTROM: 0.1}
        rows = tables(**found)
        rows[NUMBERS]["regret"] += 0.01 * (rows[NUMBERS]["trial"] - 2.5)
        checks = {one.claim: one for one in find("heavy-tails-1a").output.checks(rows)}
        assert checks[f"{PLAIN} ends at the published 0.351"].holds
        assert not checks[f"{QFF} ends at the published 0.312"].holds
        assert (
            "of the 9 published points" in checks[f"{PLAIN} ends at the published 0.351"].measured
        )

    def test_a_run_that_ends_before_the_last_published_round_is_not_held_against_it(self):
        rows = tables(**{PLAIN: 0.3, QFF: 0.5, NYSTROM: 0.2, OURS_QFF: 0.3, OURS_NYSTROM: 0.1})
        rows[NUMBERS]["round"] //= 2
        claims = [one.claim for one in find("heavy-tails-1a").output.checks(rows)]
        assert claims
        assert not any("published" in claim for claim in claims)

    def test_every_figure_has_its_published_points(self):
        for name in FIGURES:
            known = find(name).run.keywords
            rows = known.get("methods", known.get("rows"))
            assert set(PUBLISHED[name[-1]]) == set(rows) & {PLAIN, QFF, NYSTROM}

    def test_published_points_are_drawn_with_the_curve(self):
        measure = dataclasses.replace(MEAN_REGRET, points={"a": {1_000: 0.4, 20_000: 0.3}})
        axes = curves(tables(a=0.3, b=0.1), measure).axes[0]
        marks = [one for one in axes.collections if isinstance(one, PathCollection)]
        points = [one.get_offsets().tolist() for one in marks]
        assert points == [[[1_000.0, 0.4], [20_000.0, 0.3]], []]


class TestSteps:
    def test_each_step_changes_one_setting_and_the_last_all(self):
        for rows, own in ((ata_steps.NYSTROM, OWN_NYSTROM), (ata_steps.QUADRATURE, OWN_QFF)):
            published = rows[ata_steps.PUBLISHED]
            single = [name for name in rows if name not in (ata_steps.PUBLISHED, ata_steps.ALL)]
            assert all(len(departures(published, {"": rows[name]})) == 1 for name in single)
            assert len(single) == len(departures(published, {"": own}))
            assert rows[ata_steps.ALL] == own
