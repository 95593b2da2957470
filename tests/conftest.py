"""One thread, since the matrices are small and runs must not depend on the machine.

Imports are within functions: the process that hands tests to workers needs few of them.
"""

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of PyTorch, NumPy and SciPy, as `make` sets it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="torch device of the contract tests")


def pytest_configure(config: pytest.Config) -> None:
    """No Hypothesis test has a deadline: a busy machine is no failure."""
    from hypothesis import settings

    settings.register_profile("surefoot", deadline=None)
    settings.load_profile("surefoot")
    if config.getoption("device") != "cpu":  # before the tests are imported, which read it
        import torch

        from support import device

        device.DEVICE = torch.device(config.getoption("device"))


@pytest.fixture(scope="session", autouse=True)
def _migrations_are_read_once() -> Iterator[None]:
    """Optuna runs ten migration scripts through Python whenever it opens a database."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    read, known = ScriptDirectory.from_config, {}

    def from_config(config: Config) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        if place not in known:
            known[place] = read(config)
        return known[place]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", from_config)
        yield
