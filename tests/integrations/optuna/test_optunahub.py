"""The package for OptunaHub loads from its layout, and its sampler finds an optimum."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "optunahub" / "package"
HOME = PACKAGE / "samplers" / "surefoot"


def test_the_layout_is_that_of_the_registry() -> None:
    readme = (HOME / "README.md").read_text()
    _, head, body = readme.split("---\n", 2)
    keys = [line.partition(":")[0] for line in head.splitlines()]
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    sections = re.findall(r"^## (.*)$", body, re.MULTILINE)
    assert {"Abstract", "APIs", "Example"} <= set(sections)
    assert (HOME / "LICENSE").read_text() == (PACKAGE.parents[1] / "LICENSE").read_text()


def test_the_local_module_runs() -> None:
    optuna = pytest.importorskip("optuna")
    optunahub = pytest.importorskip("optunahub", minversion="0.2")  # not the folder of that name
    module = optunahub.load_local_module("samplers/surefoot", registry_root=str(PACKAGE))
    sampler = module.SurefootSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", -1, 1) - 0.3) ** 2, n_trials=12)
    assert abs(sampler.belief(study).recommend().params["x"] - 0.3) < 0.1
