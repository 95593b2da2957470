"""Tests of `surefoot.tune.definition.schemes`."""

import pytest

from surefoot.problem import CONFLICTS
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.study.confirm_stage import confirm_runs

GIVEN = "environment.control = 'given'"
TABLES = {  # of each scheme
    "[environment]": '[environment]\nload = { values = [1, 2] }\n[risk]\nmeasure = "mean"',
    GIVEN: '[environment]\ncontrol = "given"\nload = { type = "int", low = 1, high = 9 }',
    "[fidelity]": "[fidelity]\nseconds = { levels = [5, 120], cost = [5, 120] }",
    "[objectives]": '[objectives]\nlatency = { direction = "minimize" }\n'
    'memory = { direction = "minimize" }',
}
LINES = {  # that write an option as a table
    "confirm": "[confirm]\nshare = 0.1",
    "repeats": "[repeats]\nmost = 2",
    "stop": "[stop]\ngain = 0.1",
    "prior": '[prior]\nfrom = "old.db"',
    "environment": '[environment]\nload = { values = [1, 2] }\n[risk]\nmeasure = "mean"',
    "fidelity": TABLES["[fidelity]"],
    "given": TABLES[GIVEN],
    "risk": '[risk]\nmeasure = "mean"',
    "assume": "[assume]\nnorm = 1\nlengthscale = 0.2\nnoise = 1",
    "constraints": "[constraints]\np99 = { max = 20 }",
}
WITHIN = {  # options and keys of tables that every file has
    "safe": ("study.safe", "safe = true"),
    "initial": ("study.initial", "initial = 5"),
    "log": ("objective.log", "log = true"),
    "study.direction": ("study.direction", 'direction = "minimize"'),
    "objective.value": ("objective.value", 'value = "p95"'),
    "objective.unit": ("objective.unit", 'unit = "ms"'),
}
SCHEMES = dict(zip(("environment", "given", "fidelity", "objectives"), TABLES, strict=True))
PAIRS = [(one, other) for one, other, _ in CONFLICTS if {one, other} <= {*LINES, *WITHIN, *SCHEMES}]


def _text(scheme, *keys):
    study, objective = ["[study]", 'name = "s"', "rounds = 9"], ["[objective]"]
    variables = {
        "[environment]": " {load}",
        "environment.control = 'given'": " {load}",
        "[fidelity]": " {seconds}",
    }
    objective.append(f'command = "b {{x}}{variables.get(scheme, "")}"')
    if scheme != "[objectives]":
        study.append('direction = "minimize"')
    for one in keys:
        if one in WITHIN:
            key, line = WITHIN[one]
            (study if key.startswith("study.") else objective).append(line)
    parameters = ["[parameters]", 'x = { type = "float", low = 0, high = 1 }']
    tables = [LINES[one] for one in keys if one in LINES]
    return "\n".join([*study, *objective, *parameters, TABLES.get(scheme, ""), *tables])


@pytest.mark.parametrize("scheme", ["", *TABLES])
def test_a_file_has_the_scheme_of_its_tables(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    found = StudyFile.load(path).scheme
    assert found.table == scheme
    assert (found.environment is not None) is bool(found.variables)


@pytest.mark.parametrize(("option", "other"), PAIRS)
def test_what_does_not_go_together_is_refused_by_its_key(tmp_path, option, other):
    scheme = SCHEMES.get(other, "")
    (path := tmp_path / "study.toml").write_text(_text(scheme, option, *[other] * (not scheme)))
    (why,) = (why for one, two, why in CONFLICTS if (one, two) == (option, other))
    with pytest.raises(StudyFileError) as error:
        StudyFile.load(path)
    key = WITHIN[option][0] if option in WITHIN else {"given": "environment"}.get(option, option)
    assert str(error.value).startswith(f"{path}: {key}: ")
    beside = scheme or (f"{WITHIN[other][0]} = true" if other in WITHIN else other)
    assert f" beside {beside}, {why}" in str(error.value)


FREE = [  # by no table, and by no rule of a single objective
    (option, scheme)
    for scheme in SCHEMES
    for option in ("assume", "confirm", "constraints", "initial", "log", "prior", "repeats")
    if {(option, scheme), (scheme, option)}.isdisjoint((a, b) for a, b, _ in CONFLICTS)
    and (option, scheme) != ("log", "objectives")
]


@pytest.mark.parametrize(("option", "scheme"), FREE)
def test_what_the_table_does_not_name_goes_together(tmp_path, option, scheme):
    (path := tmp_path / "study.toml").write_text(_text(SCHEMES[scheme], option))
    assert StudyFile.load(path).scheme.option == scheme


def test_a_safe_limit_counts_as_safe(tmp_path):
    text = _text("[fidelity]") + "\n[constraints]\np99 = { max = 20, safe = true }"
    (path := tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyFileError, match=r"constraints\.p99\.safe: true beside \[fidelity\]"):
        StudyFile.load(path)


@pytest.mark.parametrize("key", ["study.direction", "objective.value", "objective.unit", "log"])
def test_what_is_of_one_objective_is_refused_beside_several(tmp_path, key):
    (path := tmp_path / "study.toml").write_text(_text("[objectives]", key))
    with pytest.raises(
        StudyFileError, match=f"{WITHIN[key][0]}: (given|true) beside \\[objectives"
    ):
        StudyFile.load(path)


@pytest.mark.parametrize("scheme", ["", *TABLES])
def test_nothing_is_measured_again_where_that_cannot_be_asked_for(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    study_file = StudyFile.load(path)
    beside = [one.other for one in CONFLICTS if one.option == "confirm"]
    assert study_file.scheme.is_replayed is (study_file.scheme.option not in beside)
    assert (confirm_runs(study_file, 60) > 0) is study_file.scheme.is_replayed


@pytest.mark.parametrize("other", SCHEMES)
def test_all_that_does_not_go_together_is_named_at_once(tmp_path, other):
    tables = [one for one, two, _ in CONFLICTS if two == other and one in LINES]
    first, *others = [one for one in tables if one in ("confirm", "repeats", "stop")]
    (path := tmp_path / "study.toml").write_text(_text(SCHEMES[other], first, *others))
    with pytest.raises(StudyFileError) as error:
        StudyFile.load(path)
    assert str(error.value).startswith(f"{path}: {first}")
    verb = "are" if others[1:] else "is"
    assert str(error.value).endswith(f"(and so {verb} {', '.join(others)})")


@pytest.mark.parametrize(
    "key", ["confirm", "repeats", "stop", "prior", "safe", "initial", "log", "constraints"]
)
def test_what_some_schemes_exclude_goes_with_a_single_value(tmp_path, key):
    (path := tmp_path / "study.toml").write_text(_text("", key))
    assert StudyFile.load(path).scheme.table == ""
