"""Fits in files: the same belief as from a fit, and never that of other data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot.hyperparameters.student_t_fit import HyperparameterFit
from surefoot.optimizer import fit_files
from surefoot.optimizer.fit_files import FitFiles

POINTS = torch.rand(16, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
REWARDS = torch.sin(5 * POINTS[:, 0]) + 40.0 * (torch.arange(16) == 7)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rewards of the fits that are made."""
    made, fit = list[int](), HyperparameterFit.fit

    def counting(self: Any, data: Any) -> Any:
        if len(data.rewards):
            made.append(len(data.rewards))
        return fit(self, data)

    monkeypatch.setattr(HyperparameterFit, "fit", counting)
    return made


def told(
    folder: Path, rewards: torch.Tensor = REWARDS, upper: float = 1.0, **arguments: Any
) -> sf.Optimizer:
    space = sf.Box([0.0, 0.0], [1.0, upper])
    optimizer = sf.algorithms.robust_ucb(space, seed=0, **arguments)
    optimizer.keep_fits(FitFiles(folder))
    optimizer.tell_all(POINTS, rewards)
    return optimizer


def predicted(optimizer: sf.Optimizer) -> list[Any]:
    return [end.tolist() for end in optimizer.belief().predict(POINTS[:5] + 0.01)]


def test_what_is_read_is_what_was_fitted(tmp_path: Path, fits: list[int]) -> None:
    first, number = predicted(told(tmp_path)), len(fits)
    assert number > 0
    assert predicted(told(tmp_path)) == first
    assert len(fits) == number


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {"rewards": REWARDS + 1e-9 * (torch.arange(16) == 3)},
        {"upper": 2.0},
        {"effects": ("drift",)},
    ],
    ids=["reward", "bounds", "rule"],
)
def test_nothing_is_read_of_anything_else(
    tmp_path: Path, fits: list[int], changes: dict[str, Any]
) -> None:
    told(tmp_path).belief()
    number = len(fits)
    told(tmp_path, **changes).belief()
    assert len(fits) > number


@pytest.mark.long
def test_nothing_is_read_of_other_code(
    tmp_path: Path, fits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(tmp_path).belief()
    number = len(fits)
    monkeypatch.setattr(fit_files, "_code", lambda: "another")
    told(tmp_path).belief()
    assert len(fits) > number


@pytest.mark.long
@pytest.mark.parametrize("damage", [b"", b"no file of ours", None])
def test_a_damaged_file_is_passed_over(tmp_path: Path, damage: bytes | None) -> None:
    expected = predicted(told(tmp_path))
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        file.write_bytes(content[:-9] + bytes(9) if damage is None else damage)
    assert predicted(told(tmp_path)) == expected


@pytest.mark.long
def test_a_folder_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    expected = predicted(told(tmp_path / "fits"))
    (tmp_path / "file").write_text("")
    assert predicted(told(tmp_path / "file")) == expected
    assert predicted(told(tmp_path / "no" / "folder")) == expected


@pytest.mark.long
def test_the_latest_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_files, "_MOST_FILES", 3)
    for number in (10, 12, 14, 16, 18):
        optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0)
        optimizer.keep_fits(FitFiles(tmp_path))
        optimizer.tell_all(POINTS[:number], REWARDS[:number])
        optimizer.belief()
    assert len(list(tmp_path.iterdir())) == 3


class Known:
    def variances(self, points: torch.Tensor) -> torch.Tensor:
        return torch.full((len(points),), 0.01, dtype=torch.float64)


def test_a_rule_with_a_part_of_the_user_is_fitted_each_time(
    tmp_path: Path, fits: list[int]
) -> None:
    made = []
    for _ in range(2):
        rule = HyperparameterFit(known_noise=Known())
        optimizer = sf.Optimizer(sf.Box([0.0, 0.0], [1.0, 1.0]), sf.Method(rule), seed=0)
        optimizer.keep_fits(FitFiles(tmp_path))
        optimizer.tell_all(POINTS, REWARDS)
        optimizer.belief()
        made.append(len(fits))
    assert made[1] == 2 * made[0] > 0
    assert not list(tmp_path.iterdir())
