"""Long variants carry a marker."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; left out by -m 'not slow'")
