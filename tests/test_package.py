"""The package's description: one version, and every direct dependency is declared."""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

import surefoot
import surefoot_experiments

ROOT = Path(__file__).parents[1]
# Distributions whose name is not that of the module.
NAMES = {"sklearn": "scikit-learn"}


def test_there_is_one_version() -> None:
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert surefoot.__version__ == surefoot_experiments.__version__ == citation[1]


def imported(folder: Path) -> set[str]:
    """Top-level names of the modules outside the standard library that a package imports."""
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(str(node.module).split(".")[0])
    return found - set(sys.stdlib_module_names) - {"__future__"}


@pytest.mark.long
def test_every_direct_dependency_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    used_by = ("optuna", "tune", "parquet", "mcp", "botorch", "sklearn")
    listed = [*project["dependencies"], *(each for name in used_by for each in extras[name])]
    declared = {re.split(r"[<>=\[]", each)[0] for each in listed}
    used = imported(ROOT / "src" / "surefoot") - {"surefoot"}
    assert {NAMES.get(name, name) for name in used} <= declared


@pytest.mark.parametrize(("number", "cases"), [(4, 12), (5, 19), (24, 97), (1, 2), (3, 2), (2, 6)])
def test_the_cases_of_each_day_are_spread_over_a_table(request, number, cases):
    of_each_day = request.config.pluginmanager.getplugin(str(ROOT / "conftest.py")).of_each_day
    chosen = of_each_day(number, cases)
    assert len(chosen) == min(number, cases)
    assert max(chosen) < cases
    for columns in (2, 3):  # of a product of tables, whose cases come column by column
        if cases % columns == 0 and number >= columns:
            assert {index % columns for index in chosen} == set(range(columns))


def test_what_a_package_exports_hides_no_module_of_its_own() -> None:
    """Else `import` and the reference find one or the other, by what came first."""
    hidden = []
    for found in pkgutil.walk_packages(surefoot.__path__, "surefoot."):
        if found.ispkg:
            package = importlib.import_module(found.name)
            modules = {one.name for one in pkgutil.iter_modules(package.__path__)}
            exported = modules & set(getattr(package, "__all__", ()))
            hidden += [one for one in exported if not inspect.ismodule(getattr(package, one))]
    assert not hidden
