"""The files of a finished scoreboard: page, tables and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from surefoot_experiments.harness.figures import save, style
from surefoot_experiments.harness.store import write
from surefoot_experiments.scoreboard.report import MOST_LOSSES, pictures, report

PAGE = "page.md"


def write_page(tables: Mapping[str, pd.DataFrame], folder: Path) -> Path:
    """Write the page, the tables as Parquet files, and the profiles; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
    drawn = pictures(tables)
    with style():
        for name, figure in drawn.items():
            save(figure, folder, name)
    images = "".join(f"\n![{name}]({name}.svg)\n" for name in drawn)
    write(folder / PAGE, (report(tables) + images).encode())
    return folder / PAGE


def text(tables: Mapping[str, pd.DataFrame]) -> str:
    """The report for a terminal."""
    return report(tables, MOST_LOSSES)
