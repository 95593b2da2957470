"""Docstrings as a reference: their examples run, and public names document their arguments."""

import doctest
import inspect
import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import surefoot
import surefoot_experiments

PUBLIC = [
    "acquisition",
    "algorithms",
    "bandits",
    "beliefs",
    "estimators",
    "features",
    "hyperparameters",
    "integrations.botorch",
    "integrations.optuna",
    "integrations.sklearn",
    "kernels",
    "models",
    "optimizer",
    "parameters",
    "plot",
    "problem",
    "risks",
    "spaces",
    "tails",
    "tune",
    "types",
    "widths",
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def having_examples() -> list[str]:
    """Names of all modules with examples, which are read and not loaded."""
    names = []
    for package in (surefoot, surefoot_experiments):
        found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        names += [package.__name__, *(each.name for each in found)]
    sources = {name: Path(find_spec(name).origin).read_text() for name in names}
    return [name for name, source in sources.items() if ">>>" in source]


def public_names() -> list:
    """Public classes and functions, each once, by module and name."""
    found: dict[str, object] = {}
    for name in ["", *PUBLIC]:
        module = import_module(f"surefoot.{name}".rstrip("."))
        for each in getattr(module, "__all__", ()):
            value = getattr(module, each)
            documented = inspect.isclass(value) or inspect.isfunction(value)
            if documented and value.__module__.startswith("surefoot."):
                found.setdefault(f"{value.__module__}.{each}", value)
    return [pytest.param(value, id=name) for name, value in sorted(found.items())]


def arguments(value: object) -> list[str]:
    """Names of the parameters that a caller passes; none for protocols and errors."""
    protocol = getattr(value, "_is_protocol", False)
    error = inspect.isclass(value) and issubclass(value, BaseException)
    if protocol or error:
        return []
    return [name for name in inspect.signature(value).parameters if not name.startswith("_")]


def section(docstring: str, title: str) -> str:
    """Text of a Google-style section of a cleaned docstring, empty if there is none."""
    lines = docstring.splitlines()
    if f"{title}:" not in lines:
        return ""
    body = lines[lines.index(f"{title}:") + 1 :]
    ends = [i for i, line in enumerate(body) if line and not line.startswith(" ")]
    return "\n".join(body[: ends[0]] if ends else body)


@pytest.mark.parametrize("name", having_examples())
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("value", public_names())
def test_public_names_document_every_argument(value: object) -> None:
    docstring = inspect.getdoc(value)
    assert docstring, "no docstring"
    documented = section(docstring, "Args")
    missing = [
        name
        for name in arguments(value)
        if not any(
            line.lstrip().lstrip("*").startswith(f"{name}:") for line in documented.split("\n")
        )
    ]
    assert not missing, f"not in the Args section: {missing}"


@pytest.mark.parametrize(
    "value", [each for each in public_names() if inspect.isclass(each.values[0])]
)
def test_public_methods_have_a_docstring(value: type) -> None:
    fields = getattr(value, "__dataclass_fields__", {})
    members = {n: m for n, m in vars(value).items() if not n.startswith("_") and n not in fields}
    described = (property, classmethod, staticmethod)
    methods = {
        n: m for n, m in members.items() if inspect.isfunction(m) or isinstance(m, described)
    }
    assert [name for name in methods if not inspect.getdoc(getattr(value, name))] == []


def test_every_public_package_is_checked() -> None:
    entries = {each.name for each in pkgutil.iter_modules(surefoot.__path__)}
    private = {name for name in entries if name.startswith("_")}
    unlisted = {"cli", "cli_words", "integrations", "regression"}
    assert entries - private - unlisted == {name.split(".")[0] for name in PUBLIC} - {
        "integrations"
    }
