"""Tables of trials on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.types import InvalidInput
from surefoot_experiments.optional import optional

if TYPE_CHECKING:
    from pandas import DataFrame


def read_table(path: Path, remedy: str, columns: Sequence[str] | None = None) -> DataFrame:
    """A Parquet file, or some of its columns.

    Raises `InvalidInput`, with the file and the remedy, for one that is missing, cut off or no
    table, and one without those columns.
    """
    frames = optional("pandas", "an experiment")
    try:
        return frames.read_parquet(path, columns=None if columns is None else list(columns))
    except FileNotFoundError:
        raise InvalidInput(f"{path}: there is no such file: {remedy}") from None
    except (OSError, ValueError, KeyError) as error:  # Arrow's own are among these
        said = str(error).strip().partition("\n")[0]
        raise InvalidInput(f"{path}: cannot be read as a table ({said}): {remedy}") from None


def require_trials(path: Path, trials: int, remedy: str, *, first_alone: bool = False) -> None:
    """`InvalidInput` unless a table holds the trials 0, 1, ..., `trials` - 1, and no other.

    With `first_alone` it may hold trial 0 only, for a picture of one trial.
    """
    found = sorted(read_table(path, remedy, ["trial"])["trial"].unique().tolist())
    if found != list(range(trials)) and not (first_alone and found == [0]):
        raise InvalidInput(
            f"{path}: holds {_named(found)}, expected {_named(list(range(trials)))}: {remedy}"
        )


def _named(numbers: Sequence[int]) -> str:
    if len(numbers) > 1 and list(numbers) == list(range(len(numbers))):
        return f"trials 0 to {len(numbers) - 1}"
    many = "s" * (len(numbers) > 1)
    return f"trial{many} {', '.join(map(str, numbers))}" if numbers else "no trial"
