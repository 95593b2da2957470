"""Two objectives of recorded systems, on a small table of measurements."""

import numpy as np
import pandas as pd
import pytest

from surefoot import InvalidInput
from surefoot_experiments.problems.trade_offs import DATA, SYSTEMS, trade_off


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """The folder of a table whose rate grows with the shared buffers."""
    drawn = np.random.default_rng(0)
    knobs = pd.DataFrame(
        {name: drawn.integers(1, 1000, 40) for name in SYSTEMS["tpcc-azure"].knobs[:5]}
    )
    knobs["enable_indexscan"] = drawn.choice(["on", "off"], 40)
    every = knobs.loc[knobs.index.repeat(10)].reset_index(names="config")
    rate = 100.0 + every["shared_buffers"] + 500.0 * (every["enable_indexscan"] == "on")
    every["value"] = rate * (1.0 + 0.02 * drawn.standard_normal(len(every)))
    every.loc[::50, "value"] = np.nan  # crashed
    every.to_parquet(tmp_path / "tpcc-azure.parquet")
    monkeypatch.setenv(DATA, str(tmp_path))
    trade_off.cache_clear()
    yield tmp_path
    trade_off.cache_clear()


def test_more_memory_is_faster(recorded):
    system = trade_off("tpcc-azure")
    small, large = (system(np.array([share, 0.5, 0.5, 0.5, 0.5, 1.0])) for share in (0.1, 0.9))
    assert large[0] < small[0] < 0.0
    assert large[1] > small[1] > 0.0
    off = system(np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.4]))
    assert off[0] > large[0]
    assert off[1] == large[1]
    uniform = (np.arange(1000) + 0.5) / 1000
    for heavy in (False, True):
        assert system.errors(uniform, heavy).std() == pytest.approx(0.02, rel=0.3)


def test_a_folder_that_is_missing_is_named(monkeypatch, tmp_path):
    trade_off.cache_clear()
    monkeypatch.setenv(DATA, str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match=f"{DATA} is .*none.*nginx.parquet"):
        trade_off("nginx")
