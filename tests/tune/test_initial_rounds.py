"""`study.initial`: how many configurations are spread evenly before the model chooses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from support.study_doubles import Scripted, measurement
from surefoot import Box
from surefoot.algorithms._defaults import size_in_few_rounds
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.opened_study import create_study, initial_size
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune

optuna.logging.set_verbosity(optuna.logging.WARNING)

CONFIRM = "[confirm]\nshare = 0\nevery = 0\n\n[parameters]"


class Valley(Scripted):
    """The best share is 0.3."""

    def measure(self, params: dict, stop: Stop) -> Measurement:
        self.asked.append(dict(params))
        return measurement(1.0 + (params["share"] - 0.3) ** 2, 0.1)


@pytest.mark.long
@pytest.mark.parametrize(("line", "all_spread"), [("initial = 16", True), ("", False)])
def test_the_initial_design_has_as_many_configurations_as_the_study_file_says(
    write_study: Callable[..., Path], line: str, all_spread: bool
) -> None:
    path = write_study(("rounds = 8", f"rounds = 16\n{line}"), ("[parameters]", CONFIRM))
    study_file, objective = StudyFile.load(path), Valley()
    opened = create_study(study_file)

    trials = StudyTrials(opened, 16, "a run", "here/w0")
    tune(trials, objective, Stop())

    cells = [int(params["share"] * 16) for params in objective.asked]
    assert len(cells) == 16
    spread = 16 if all_spread else 5
    assert len(set(cells[:spread])) == spread  # of Sobol points, each in a sixteenth of its own
    assert (len(set(cells)) == 16) is all_spread


@pytest.mark.parametrize(
    ("rounds", "lines", "expected"),
    [
        (1, "", 5),
        (8, "", 5),
        (15, "", 6),  # five columns of parameters and choices
        (23, "", 6),
        (24, "", None),  # the usual number
        (300, "", None),
        (8, "initial = 3\n", 3),
        (8, "safe = true\n", None),  # the search begins around the defaults
    ],
)
def test_few_rounds_begin_with_few_configurations(
    write_study: Callable[..., Path], rounds: int, lines: str, expected: int | None
) -> None:
    path = write_study(("rounds = 8", f"rounds = {rounds}\n{lines}"))
    assert initial_size(StudyFile.load(path)) == expected


@pytest.mark.parametrize(("number", "expected"), [(1, 5), (4, 5), (6, 7), (9, 7), (30, 7)])
def test_of_few_rounds_at_most_half_are_spread(number: int, expected: int) -> None:
    box = Box([0.0] * number, [1.0] * number)
    assert size_in_few_rounds(box, 15) == expected
