"""All suites and rivals, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from surefoot import InvalidInput
from surefoot_experiments.scoreboard.environments import HERE
from surefoot_experiments.scoreboard.rival import Rival
from surefoot_experiments.scoreboard.suites import bbob_noisy, cloud, multimodal, own, simopt, steps
from surefoot_experiments.scoreboard.task import Task

SUREFOOT, RANDOM = "surefoot", "random"
_LABEL = re.compile(r"[A-Za-z0-9._-]+")  # part of a case and of the name of a folder
SUITES: dict[str, Callable[[Sequence[str]], list[Task]]] = {
    bbob_noisy.SUITE: bbob_noisy.tasks,
    cloud.SUITE: cloud.tasks,
    simopt.SUITE: simopt.tasks,
    multimodal.SUITE: multimodal.tasks,
    own.SUITE: own.tasks,
    steps.SUITE: steps.tasks,
}
RIVALS = {
    one.name: one
    for one in (
        Rival(SUREFOOT, "surefoot_default"),
        Rival(RANDOM, "random_search", refit=True),
        Rival("optuna-tpe", "optuna_samplers", HERE, {"sampler": "tpe"}, refit=True),
        Rival("optuna-gp", "optuna_samplers", HERE, {"sampler": "gp"}, refit=True),
        Rival("optuna-cma", "optuna_samplers", "cmaes", {"sampler": "cma"}, refit=True),
        Rival("botorch-lognei", "botorch_loops", HERE, {"acquisition": "lognei"}),
        Rival("botorch-ucb", "botorch_loops", HERE, {"acquisition": "ucb"}),
        Rival("botorch-robust", "botorch_loops", HERE, {"robust": True}),
        Rival("rcgp-ucb", "rcgp_ucb"),
        Rival("ax", "ax_client", "ax"),
        Rival("smac", "smac_facade", "smac", refit=True),
        Rival("vizier", "vizier_designer", "vizier", refit=True),
        Rival("pybads", "pybads_search", "pybads", boxes_only=True),
        Rival("hebo", "hebo_optimizer", "hebo", refit=True),
    )
}


def rival(name: str) -> Rival:
    """The rival of a name; "surefoot:LABEL" is surefoot under a label.

    Raises:
        InvalidInput: There is none, or the label has other characters than letters, digits, ".",
            "_" and "-".
    """
    family, colon, label = name.partition(":")
    if family not in RIVALS or (":" in name and family != SUREFOOT):
        raise InvalidInput(f"no rival is named {name!r}, expected some of {', '.join(RIVALS)}.")
    if colon and not _LABEL.fullmatch(label):
        raise InvalidInput(
            f"the label of {name!r} is {label!r}, expected letters, digits, '.', '_' and '-' only."
        )
    return RIVALS[family]
