"""The package as it is installed, once for each process of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ordinary.installed import Installed


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    found = Installed(tmp_path_factory.mktemp("installed"))
    yield found
    found.close()
