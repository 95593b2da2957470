"""The process that owns a running trial, and whether it still exists to finish it."""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from typing import Any

from optuna.trial import FrozenTrial

from surefoot._internal import checks
from surefoot.tune import system
from surefoot.tune.plain_text import shown
from surefoot.tune.study.trial_attributes import OWNER

_ended_runs: set[str] = set()  # of this process, which may have been unable to say so
_KINDS: dict[str, Any] = {
    "run": str,
    "host": str,
    "pid": int,
    "born": str | None,
    "began": int | float,
}


def this_process(run: str) -> dict[str, Any]:
    """This process, as a trial's user attribute; `run` names its tuning run."""
    return {
        "run": run,
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": os.getpid(),
        "born": system.born(os.getpid()),
        "began": time.monotonic(),
    }


def worker_name(index: int) -> str:
    """The name of a worker of this machine."""
    return f"{socket.gethostname()}/w{index}"


def owner_of(trial: FrozenTrial) -> dict[str, Any] | None:
    """The process that owns a trial; None if surefoot has recorded none."""
    owner = trial.user_attrs.get(OWNER)
    return None if owner is None or mismatch(owner) else owner


def is_owned(trial: FrozenTrial) -> bool:
    """Whether a process of surefoot measures a trial."""
    return owner_of(trial) is not None


def mismatch(owner: object) -> str:
    """Fault of a trial's owner that something else has recorded, empty if there is none."""
    if not isinstance(owner, dict):
        return f"is {shown(owner)}, expected a table"
    for key, kinds in _KINDS.items():
        value = owner.get(key)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return f"has {key} = {shown(value)}, expected another type"
    if not 0 <= owner["began"] < checks.LARGEST:
        return f"has began = {shown(owner['began'])}, expected seconds"
    boot = owner.get("boot")
    if boot is not None and not (isinstance(boot, list) and len(boot) == 2):
        return f"has boot = {shown(boot)}, expected a list of two"
    return ""


def is_gone(process: dict[str, Any]) -> bool:
    """Whether a process of this machine has ended, or its run has in this process."""
    if process["pid"] == os.getpid() and process["run"] in _ended_runs:
        return True
    return system.born(int(process["pid"])) != process["born"]


def run_ended(run: str) -> None:
    """Note that a run of this process is over: no trial of it is measured any longer."""
    _ended_runs.add(run)


def is_elsewhere(process: dict[str, Any]) -> bool:
    """Whether the process is of another machine or container than this one, or of another boot.

    Machines may have the same name, so that of another boot is not known to be gone.
    """
    return process.get("host") != socket.gethostname() or process.get("boot") != _boot()


def is_lost(process: dict[str, Any]) -> bool:
    """Whether the process was of this machine and is gone."""
    return not is_elsewhere(process) and is_gone(process)


@cache
def _boot() -> list[str]:
    return system.boot()
