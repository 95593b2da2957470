"""Studies of Optuna in tests print nothing about their trials."""

from collections.abc import Iterator

import optuna
import pytest


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)
