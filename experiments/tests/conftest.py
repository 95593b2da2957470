"""One thread: the matrices of the tests are small, and results must not depend on the machine."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"  # beside the repository
DATA = Path(os.environ.get("SUREFOOT_DATA", SHARED))

if (DATA / "cloud").is_dir():
    os.environ.setdefault("SUREFOOT_CLOUD_DATA", str(DATA / "cloud"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the papers' data files, which nobody ships."""
    if not DATA.is_dir():
        pytest.skip(f"needs {DATA}: set SUREFOOT_DATA to the folder of the papers' data files")
    return DATA


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
