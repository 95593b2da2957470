"""Examples in docstrings run, and do what they say."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import surefoot_experiments

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def having_examples() -> list[str]:
    found = []
    for one in pkgutil.walk_packages(surefoot_experiments.__path__, "surefoot_experiments."):
        finder: pkgutil.FileFinder = one.module_finder  # type: ignore[assignment]
        source = finder.find_spec(one.name).loader.get_source(one.name)  # type: ignore[union-attr]
        if ">>>" in source:
            found.append(one.name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", having_examples())
def test_examples_run(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0
