"""The papers' experiments, our own, and the benchmarks of surefoot, from one command.

An `Experiment` is a value: how a trial is run, what the paper says, and what is reported.
`EXPERIMENTS` and `BENCHMARKS` hold all of them by name; `run` runs one and leaves a folder with
figure, tables, manifest and page; `write_gallery` shows many on one page. Test problems are in
`surefoot_experiments.problems`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot_experiments.catalogue import BENCHMARKS as BENCHMARKS
    from surefoot_experiments.catalogue import EXPERIMENTS as EXPERIMENTS
    from surefoot_experiments.catalogue import find as find
    from surefoot_experiments.harness.experiment import Experiment as Experiment
    from surefoot_experiments.harness.gallery import write_gallery as write_gallery
    from surefoot_experiments.harness.runner import Outcome as Outcome
    from surefoot_experiments.harness.runner import Plan as Plan
    from surefoot_experiments.harness.runner import run as run
    from surefoot_experiments.harness.trial import Check as Check
    from surefoot_experiments.harness.trial import Scale as Scale
    from surefoot_experiments.harness.trial import Trial as Trial

__version__ = "0.1.0"

_NAMES = {
    "catalogue": ("BENCHMARKS", "EXPERIMENTS", "find"),
    "harness.experiment": ("Check", "Experiment", "Scale", "Trial"),
    "harness.gallery": ("write_gallery",),
    "harness.runner": ("Outcome", "Plan", "run"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use, so that test problems load without the harness."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
