"""Damage the storage of a study at random: it is read, or refused in one line."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna

from surefoot import SurefootError, tune
from surefoot.tune.report import write_report
from surefoot_experiments.storms.damage import damaged

STUDY = """
[study]
name = "storm"
direction = "minimize"
rounds = {rounds}
storage = "{storage}"

[objective]
command = "sh -c 'echo 1$1' {{mode}} {{x}}"

[parameters]
x = {{ type = "int", low = 0, high = 9 }}
mode = {{ type = "categorical", choices = ["a", "b"] }}
"""
_ROUNDS, _CONTINUED = 6, 5  # rounds of the study; one storage in so many is also continued


def damage(count: int, seed: int = 0) -> list[str]:
    """Open, summarise and export studies whose storage is damaged, and continue some of them.

    Args:
        count: Number of damaged storages: SQLite databases and journals in turn.
        seed: Seed of the damage.

    Returns:
        Descriptions of the errors that are not surefoot's.
    """
    random, wrong = np.random.default_rng(seed), []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="storm-") as name:
        folder = Path(name)
        storages = [
            new_study(folder / "a", "sqlite:///storm.db"),
            new_study(folder / "b", "journal:///storm.db"),
        ]
        for index in range(count):
            study, content = storages[index % 2]
            kind, changed = damaged(content, random)
            what = f"{study.parent.name} {kind} ({seed} {index})"
            wrong += raw_errors(study, changed, what, continued=index % _CONTINUED == 0)
    return wrong


def raw_errors(study: Path, changed: bytes, what: str, *, continued: bool) -> list[str]:
    """Errors that are not surefoot's, when a study is opened, summarised, exported and continued.

    Args:
        study: The study file.
        changed: The content of its storage.
        what: What was changed, for the descriptions.
        continued: Whether to measure another round, and write a report, too.

    Returns:
        Their descriptions.
    """
    found = []
    for step, action in _steps(study, continued).items():
        (study.parent / "storm.db").write_bytes(changed)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                action()
        except SurefootError:
            continue
        except Exception as error:
            found.append(f"{step} {what}: {type(error).__name__}: {error}"[:300])
    return found


def new_study(folder: Path, storage: str, text: str = STUDY) -> tuple[Path, bytes]:
    """A study file, and the content of its storage after some rounds.

    Args:
        folder: A new folder for it.
        storage: URL of the storage, with `storm.db`.
        text: The study file, with places for `rounds` and `storage`.
    """
    folder.mkdir()
    path = folder / "study.toml"
    path.write_text(text.format(rounds=_ROUNDS, storage=storage))
    tune.run(path, quiet=True)
    return path, (folder / "storm.db").read_bytes()


def _steps(study: Path, continued: bool) -> dict[str, Callable[[], object]]:
    tried: dict[str, Callable[[], object]] = {
        "summarise": lambda: tune.summarise(tune.open_study(study)),
        "export": lambda: tune.export(tune.open_study(study), study.with_name("out.csv")),
    }
    if continued:
        tried["continue"] = lambda: _continue(study)
        tried["report"] = lambda: write_report(study, study.with_name("out.html"))
    return tried


def _continue(study: Path) -> None:
    """One more round, unless a trial seems to run on another machine, which would be waited for."""
    trials = tune.open_study(study).study.get_trials(deepcopy=False)
    if all(trial.state.is_finished() for trial in trials):
        tune.run(study, rounds=_ROUNDS + 1, quiet=True)
