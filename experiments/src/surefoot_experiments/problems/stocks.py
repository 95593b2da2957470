"""Daily prices of stocks from January 4th, 2016 to April 10th, 2019."""

from pathlib import Path

import numpy as np
import pandas as pd

from surefoot_experiments.problems.normality import report
from surefoot_experiments.recorded_data import Data, read_columns, require_spread

FILE = "dow29_2016_2019.csv"
FIRST, LAST = "2016-01-04", "2019-04-10"


def load(folder: Path | None) -> Data:
    """Prices (days, stocks).

    Args:
        folder: The folder with the paper's file; None for the prices that skfolio ships.

    Raises:
        InvalidInput: The file is missing or malformed.
    """
    if folder is None:
        prices, source = _shipped()
    else:
        path = folder / FILE
        prices = read_columns(path, header=True, skip=1, positive=True)
        require_spread(path, prices)
        source = (
            f"{FILE}: adjusted closing prices of {prices.shape[1]} stocks on {len(prices)} days"
        )
    array = np.array(prices, dtype=np.float64, order="C")
    tests = report([str(name) for name in prices.columns], array, "stock")
    return Data(source, {"prices": array}, tests.line, tests.notes)


def _shipped() -> tuple[pd.DataFrame, str]:
    from skfolio.datasets import load_sp500_dataset  # takes seconds to import

    prices = load_sp500_dataset().loc[FIRST:LAST]
    source = (
        f"the {prices.shape[1]} S&P 500 stocks that skfolio ships, {len(prices)} days from {FIRST} "
        f"to {LAST}; not the paper's 29 stocks, for which pass --data a folder with {FILE}"
    )
    return prices, source
