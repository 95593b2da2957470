"""`[environment]` and `[risk]` of a study file: what they become, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import surefoot as sf
from surefoot.tune.definition.environment import DiscreteVariable, UniformVariable
from surefoot.tune.definition.schema import RiskSection
from surefoot.tune.definition.study_file import StudyFile, StudyFileError

# As the documentation of the file's tables has it.
LOAD = """
[environment]
load = { distribution = "normal", mean = 0.5, std = 0.125, low = 0.25, high = 0.75 }   # or values = [...], weights = [...]
[risk]
measure = "var"      # mean, var, cvar, worst-case
level = 0.1
"""  # noqa: E501
COMMAND = "bench {size} {share} {mode} {load}"


@pytest.fixture
def write(write_study) -> Callable[..., Path]:
    """A study file with these tables at its end."""

    def write(tables: str = LOAD, *changes: tuple[str, str], command: str = COMMAND) -> Path:
        path = write_study(command=command)
        text = path.read_text() + tables
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        return path

    return write


def test_a_normal_load(write):
    study_file = StudyFile.load(write())
    environment = study_file.scheme.environment
    assert environment.names == ("load",)
    assert not environment.observed
    z = environment.distribution
    assert isinstance(z, sf.ContinuousEnvironment)
    assert (float(z.lower), float(z.upper)) == (0.25, 0.75)
    drawn = z.quasi(256, torch.Generator().manual_seed(0)).flatten().numpy()
    wanted = stats.truncnorm(-2, 2, loc=0.5, scale=0.125)
    np.testing.assert_allclose(
        np.quantile(drawn, [0.1, 0.5, 0.9]), wanted.ppf([0.1, 0.5, 0.9]), atol=0.005
    )
    assert study_file.scheme.arguments(study_file.scheme)["risk"] == sf.VaR(0.1)
    assert "load" not in study_file.distributions


def test_no_environment_is_none(write_study):
    study_file = StudyFile.load(write_study())
    assert study_file.scheme.environment is None
    assert study_file.scheme.risk is None


def tables(*lines: str, risk: str = 'measure = "mean"') -> str:
    return "\n".join(["\n[environment]", *lines, "[risk]", risk, ""])


LISTED = "n = { values = [1, 2, 4], weights = [0.5, 0.3, 0.2] }"
OTHER = "share_of_reads = { values = [0.25, 1] }"
FLAT = 'heat = { distribution = "uniform", low = 10, high = 30 }'
BELL = 'load = { distribution = "normal", mean = 0.5, std = 0.125, low = 0.25, high = 0.75 }'


def environment_of(write, *lines: str, names: str):
    path = write(tables(*lines), command="bench {size} {share} {mode} " + names)
    return StudyFile.load(path).scheme.environment


def test_lists_are_crossed_with_the_products_of_their_weights(write):
    environment = environment_of(write, LISTED, OTHER, names="{n} {share_of_reads}")
    z = environment.distribution
    assert z.points.tolist() == [[n, s] for n in (1, 2, 4) for s in (0.25, 1)]
    assert z.weights.tolist() == pytest.approx([0.25, 0.25, 0.15, 0.15, 0.1, 0.1])
    values = environment.decode(z.points[2])
    assert values == {"n": 2, "share_of_reads": 0.25}
    assert [type(value) for value in values.values()] == [int, float]  # as the file has them
    assert torch.equal(environment.encode(values), z.points[2])


def test_distributions_of_several_kinds_stay_continuous(write):
    z = environment_of(write, FLAT, BELL, names="{heat} {load}").distribution
    assert isinstance(z, sf.ContinuousEnvironment)
    assert (z.lower.tolist(), z.upper.tolist()) == ([10, 0.25], [30, 0.75])
    assert isinstance(z.distribution, torch.distributions.Independent)
    filled = z.quasi(1024, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(filled.mean(0), [20.0, 0.5], rtol=0.002)
    assert abs(float(torch.corrcoef(filled.T)[0, 1])) < 0.05
    points = torch.tensor([[12.0, 0.3], [25.0, 0.5]], dtype=torch.float64)
    wanted = np.log(1 / 20) + stats.truncnorm(-2, 2, loc=0.5, scale=0.125).logpdf([0.3, 0.5])
    np.testing.assert_allclose(z.log_prob(points), wanted, atol=1e-9)
    assert bool((z.sample(50, torch.Generator().manual_seed(0)) >= z.lower).all())


def test_a_distribution_beside_a_list_stands_for_its_cells_and_its_ends(write):
    environment = environment_of(write, BELL, LISTED, names="{n} {load}")
    z = environment.distribution
    assert len(z) == 32 * 3
    loads, weights = z.points[::3, 0], z.weights.reshape(32, 3).sum(-1)
    assert (float(loads[0]), float(loads[-1])) == (0.25, 0.75)
    assert float(weights[0]) == float(weights[-1]) == pytest.approx(1e-9)
    assert weights[1:5].tolist() == pytest.approx([0.005, 0.005, 0.01, 0.015])
    assert bool((loads.diff() > 0.0).all())
    # An observed load is none of them, and is taken for the nearest.
    near = environment.encode({"load": 0.25, "n": 4})
    assert near.tolist() == [0.25, 4.0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("low", "high"), [(0.25, 0.75), (-5.0, 6.0), (0.45, 3.0)], ids=["near", "far", "skewed"]
)
def test_a_distribution_beside_a_list_keeps_its_mean_and_its_tails(write, low, high):
    bell = BELL.replace("0.25", str(low)).replace("0.75", str(high))
    z = environment_of(write, bell, LISTED, names="{n} {load}").distribution
    loads = z.points[:, 0]
    std = 0.125
    exact = stats.truncnorm((low - 0.5) / std, (high - 0.5) / std, loc=0.5, scale=std)
    assert float(sf.Mean()(loads, z.weights)) == pytest.approx(exact.mean(), abs=0.002 * std)
    for level in (0.01, 0.05, 0.1, 0.2, 0.3):
        within = exact.ppf((np.arange(20_000) + 0.5) / 20_000 * level).mean()
        assert float(sf.CVaR(level)(loads, z.weights)) == pytest.approx(within, abs=0.01 * std)
        edge = exact.ppf(level)
        assert float(sf.VaR(level)(loads, z.weights)) == pytest.approx(edge, abs=0.15 * std)
    assert float(sf.WorstCase()(loads, z.weights)) == low


@pytest.mark.parametrize(
    ("value", "wrong"),
    [(0.333333, False), (1 / 3 + 1e-9, False), (0.3333, True), (1e-300, True), (2e-7, False)],
)
def test_a_listed_value_may_be_printed_with_six_digits(value, wrong):
    variable = DiscreteVariable(values=[1 / 3, 0.5, 2e-7])
    assert (variable.mismatch(value) is not None) is wrong


WRONG = [
    (("level = 0.1", ""), "risk.level: missing; expected a number strictly between 0 and 1"),
    (("level = 0.1", "level = 0"), "risk.level: got 0, expected a number strictly between 0 and 1"),
    (("level = 0.1", "level = 1.0"), "risk.level: got 1.0, expected a number strictly between"),
    (("level = 0.1", "level = nan"), "risk.level: got nan, expected a number strictly between"),
    (('"var"', '"mean"'), "risk.level: given with measure = 'mean', expected for 'var' and"),
    (('"var"', '"worst-case"'), "risk.level: given with measure = 'worst-case'"),
    (('"var"', '"vra"'), "risk.measure: got 'vra', expected 'mean', 'var', 'cvar' or 'worst-case'"),
    (('measure = "var"', ""), "risk.measure: missing; expected 'mean', 'var'"),
    (("level =", "levle ="), "risk.levle: unknown key; did you mean `level`?"),
    (("[risk]", "[rsik]"), "rsik: unknown key; did you mean `risk`?"),
    (
        (LOAD[LOAD.index("[risk]") :], ""),
        "risk: missing beside [environment]; expected a table [risk",
    ),
    (("[environment]", "[environmnet]"), "environmnet: unknown key; did you mean `environment`?"),
    (("load =", "size ="), "environment.size: is a parameter, too; expected a name of its own"),
    (("load =", '"a b" ='), "environment.a b: got this name, expected ASCII letters"),
    (("load =", "control ="), "environment.control: got {'distribution': 'normal'"),
    (
        ("load =", 'control = "obsreved"\nload ='),
        "environment.control: got 'obsreved', expected 'c",
    ),
    (("std = 0.125", "std = 0"), "environment.load.std: got 0, expected a number above 0"),
    (("std = 0.125, ", ""), "environment.load.std: missing; expected a number above 0"),
    (("std = 0.125", "sdt = 0.125"), "environment.load.sdt: unknown key; did you mean `std`?"),
    (("mean = 0.5", "mean = 50"), "environment.load.mean: got 50.0 with std = 0.125, which is pr"),
    (
        ("low = 0.25", "low = 0.85"),
        "environment.load.low: got 0.85, expected less than high = 0.75",
    ),
    (
        ("low = 0.25, high = 0.75", "low = -1e308, high = 1e308"),
        "environment.load.low: got -1e+308, too far from high = 1e+308 for float64",
    ),
    (("low = 0.25", "low = nan"), "environment.load.low: got nan, expected a finite number"),
    (("high = 0.75 }", 'high = "b" }'), "environment.load.high: got 'b', expected a finite number"),
    (
        ('"normal"', '"nromal"'),
        "environment.load.distribution: got 'nromal'; expected one of 'norm",
    ),
    (('distribution = "normal",', ""), "environment.load.distribution: missing; expected one of"),
    (('"normal", mean', '"uniform", mean'), "environment.load.mean: unknown key"),
    (("load = {", "load = 3 # {"), "environment.load: got 3, expected a table such as { distribut"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_is_wrong_is_said_in_one_line(write, change, message):
    path = write(LOAD, change)
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert message in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 250


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("[1]", "environment.load.values: got [1], expected a list of at least 2 different"),
        ("[1, 1.0]", "environment.load.values: got [1, 1.0], expected a list of at least 2 differ"),
        ("[1, inf]", "environment.load.values: got [1, inf], expected a list of at least 2"),
        ('[1, "a"]', "environment.load.values: got 'a' in the list, expected a list"),
        ("[1, true]", "environment.load.values: got True in the list, expected a list"),
        ("3", "environment.load.values: got 3, expected a list of at least 2 different"),
        ("[1, 2], weights = [1]", "environment.load.weights: got 1 of them for 2 values, expect"),
        ("[1, 2], weights = [1.5, -0.5]", "environment.load.weights: got [1.5, -0.5], expected nu"),
        ("[1, 2], weights = [0.5, nan]", "environment.load.weights: got [0.5, nan], expected num"),
        ("[1, 2], weights = [0.5, 0.4]", "environment.load.weights: they sum to 0.9, expected a s"),
        ("[1, 2], wieghts = [0.5, 0.5]", "environment.load.wieghts: unknown key; did you mean `we"),
    ],
)
def test_wrong_lists(write, values, message):
    path = write(tables(f"load = {{ values = {values} }}"))
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(path)
    assert message in str(caught.value)


def test_weights_may_be_rounded(write):
    path = write(
        tables("load = { values = [1, 2, 3], weights = [0.3333333, 0.3333333, 0.3333333] }")
    )
    weights = StudyFile.load(path).scheme.environment.distribution.weights
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "environment: got no variable, expected at least one"),
        (['control = "observed"'], "environment: got no variable, expected at least one"),
        (
            [f"{name} = {{ values = {list(range(101))} }}" for name in "ab"],
            "environment: got 10201 combinations of values, expected at most 10000",
        ),
        (
            [LISTED, FLAT, FLAT.replace("heat", "a"), FLAT.replace("heat", "b")],
            "environment: got 98304 combinations",
        ),
    ],
)
def test_too_much_or_too_little(write, lines, message):
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(write(tables(*lines)))
    assert message in str(caught.value)


def test_a_risk_without_an_environment(write):
    with pytest.raises(StudyFileError, match=r"environment: missing beside \[risk\]; expected a"):
        StudyFile.load(write('[risk]\nmeasure = "mean"\n'))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "x {size} {share} {mode}",
            "environment.load: not used in objective.command; expected {lo",
        ),
        (
            "x {size} {share} {mode} {laod}",
            "objective.command: {laod} is not a parameter or of the",
        ),
        ("x {size} {share} {mode} {load:d}", "objective.command: the format 'd' does not fit 0.25"),
    ],
)
def test_the_command_takes_what_is_chosen(write, command, message):
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(write(command=command))
    assert message in str(caught.value)


def test_the_command_does_not_take_what_is_observed(write):
    observed = ("[environment]", '[environment]\ncontrol = "observed"')
    with pytest.raises(StudyFileError) as caught:
        StudyFile.load(write(LOAD, observed))
    assert "objective.command: {load} is observed; expected a line load=NUMBER" in str(caught.value)
    path = write(LOAD, observed, command="x {size} {share} {mode}")
    assert StudyFile.load(path).scheme.environment.observed


def test_a_function_takes_keywords(write):
    change = (f'command = "{COMMAND}"', 'function = "rig:measure"')
    with pytest.raises(StudyFileError, match=r"environment.a-b: .* keyword argument"):
        StudyFile.load(write(LOAD, change, ("load =", "a-b =")))


@pytest.mark.parametrize(
    ("risk", "functional", "meaning", "tail"),
    [
        ({"measure": "mean"}, sf.Mean(), "its mean over the environment", None),
        (
            {"measure": "var", "level": 0.07},
            sf.VaR(0.07),
            "in at least 7 % of environments it is this bad or worse, in at least 93 % this good "
            "or better",
            "upper",
        ),
        (
            {"measure": "cvar", "level": 0.25},
            sf.CVaR(0.25),
            "its mean over the worst 25 % of environments",
            "upper",
        ),
        ({"measure": "worst-case"}, sf.WorstCase(), "in no environment is it worse", "upper"),
    ],
)
def test_risks_in_words(risk, functional, meaning, tail):
    section = RiskSection.model_validate(risk)
    assert section.functional() == functional
    stated = section.describe("minimize")
    assert stated.meaning == meaning
    assert stated.tail == tail
    assert section.describe("maximize").tail == (tail and "lower")
    assert stated.measure == risk["measure"]


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 5.0]])
def test_what_is_said_of_the_value_at_risk_is_true_of_every_list(values):
    """Of the upper tail, as a study that minimises takes it."""
    f = torch.tensor(values, dtype=torch.float64)
    weights = torch.full((4,), 0.25, dtype=torch.float64)
    for level in (0.1, 0.25, 0.3, 0.75, 0.9):
        at_risk = -float(sf.VaR(level)(-f, weights))
        assert float((f >= at_risk).double().mean()) >= level
        assert float((f <= at_risk).double().mean()) >= 1 - level


def test_a_uniform_variable_has_its_ends_in_float64():
    for low, high in ((0.1, 0.7), (0.0, 1e-300), (1.0, 1.0 + 1e-12)):
        variable = UniformVariable(distribution="uniform", low=low, high=high)
        density = variable.density()
        assert (float(density.low), float(density.high)) == (low, high)
