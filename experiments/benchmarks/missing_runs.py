"""Playing the runs of a benchmark that have no result yet, so that a killed one goes on."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from joblib import Parallel, delayed

Run = TypeVar("Run")


def play_missing(
    runs: Sequence[Run],
    path_of: Callable[[Run], Path],  # where the result of a finished run lies
    play: Callable[[Run], None],  # which writes it
    jobs: int,
) -> None:
    """Play them in `jobs` processes, and say how far they are."""
    todo = [run for run in runs if not path_of(run).exists()]
    print(f"{len(todo)} runs to do", flush=True)
    playing = Parallel(jobs, return_as="generator_unordered", verbose=5)
    for _ in playing(delayed(play)(run) for run in todo):
        pass
