"""Daily prices of stocks from January 4th, 2016 to April 10th, 2019."""

from pathlib import Path

import numpy as np

from surefoot_experiments.csv_columns import Columns, read_columns, require_spread
from surefoot_experiments.data import Data
from surefoot_experiments.normality import report
from surefoot_experiments.optional import optional

FILE = "dow29_2016_2019.csv"
FIRST, LAST = "2016-01-04", "2019-04-10"


def load(folder: Path | None) -> Data:
    """Prices (days, stocks) of the file in the folder, or of those that skfolio ships.

    Raises `InvalidInput` for a file that is missing or malformed, and without a folder where
    skfolio is not installed.
    """
    if folder is None:
        columns, source = _shipped()
    else:
        path = folder / FILE
        columns = read_columns(path, header=True, skip=1, positive=True)
        require_spread(path, columns)
        source = (
            f"{FILE}: adjusted closing prices of {len(columns.names)} stocks on "
            f"{len(columns.numbers)} days"
        )
    tests = report(columns.names, columns.numbers, "stock")
    return Data(source, {"prices": columns.numbers}, tests.line, tests.notes)


def _shipped() -> tuple[Columns, str]:
    datasets = optional("skfolio.datasets", "the stock market without --data")
    frame = datasets.load_sp500_dataset().loc[FIRST:LAST]
    names = tuple(map(str, frame.columns))
    source = (
        f"the {len(names)} S&P 500 stocks that skfolio ships, {len(frame)} days from {FIRST} to "
        f"{LAST}; not the paper's 29 stocks, for which give --data a folder with {FILE}"
    )
    return Columns(names, frame.to_numpy(dtype=np.float64)), source
