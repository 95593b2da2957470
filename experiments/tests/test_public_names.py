"""Experiments are built on the public names of surefoot, and every case has a file of its own."""

import ast
from pathlib import Path

import pytest

import surefoot as sf
import surefoot_experiments
from surefoot_experiments import BENCHMARKS, EXPERIMENTS
from surefoot_experiments.harness.store import TrialStore

PACKAGE = Path(surefoot_experiments.__file__).parent
INTEGRATIONS = ("integrations.botorch", "integrations.optuna", "integrations.sklearn")
PUBLIC = {
    f"surefoot.{name}"
    for name in (*sf.__all__, "types", "tails", *INTEGRATIONS, "tune", "tune.report")
}


# What checks and measures single rules of `surefoot.tune`, and messages to workers, looks at it
# from within.
WITHIN = [
    PACKAGE / "storms" / "study_files.py",
    *(
        PACKAGE / "benchmarks" / f"{name}.py"
        for name in ("comparing", "confirming", "judging", "statements", "stopping", "stored_arms")
    ),
]
BUILT_ON_IT = sorted({*PACKAGE.rglob("*.py")} - {*WITHIN})


@pytest.mark.parametrize("path", BUILT_ON_IT, ids=lambda path: path.stem)
def test_only_public_names_of_surefoot_are_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
            assert not [name for name in names if name.startswith("surefoot.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "surefoot":
            assert node.module == "surefoot" or node.module in PUBLIC
            assert not [each.name for each in node.names if each.name.startswith("_")]


@pytest.mark.parametrize("name", [*EXPERIMENTS, *BENCHMARKS])
def test_every_trial_is_stored_in_a_file_of_its_own(name):
    experiment = (EXPERIMENTS | BENCHMARKS)[name]
    trials = experiment.trials(experiment.published)
    store = TrialStore(Path())
    paths = {str(store._path((trial.case, trial.number))).lower() for trial in trials}
    assert len(paths) == len(trials)
