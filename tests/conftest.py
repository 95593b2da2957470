"""One thread, since the matrices are small and runs must not depend on the machine."""

from collections.abc import Iterator

import pytest
import torch
from alembic.config import Config
from alembic.script import ScriptDirectory

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _migrations_are_read_once() -> Iterator[None]:
    """Optuna runs ten migration scripts through Python whenever it opens a database."""
    read, known = ScriptDirectory.from_config, {}

    def from_config(config: Config) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        if place not in known:
            known[place] = read(config)
        return known[place]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", from_config)
        yield
