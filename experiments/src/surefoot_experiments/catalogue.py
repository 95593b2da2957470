"""All experiments, by name."""

from difflib import get_close_matches

from surefoot.types import InvalidInput
from surefoot_experiments import (
    ablation,
    heavy_tails,
    noise_families,
    sketch_time,
    starvation,
    truncation_effect,
    value_at_risk,
)
from surefoot_experiments.experiment import Experiment

_MODULES = (
    heavy_tails,
    truncation_effect,
    starvation,
    sketch_time,
    value_at_risk,
    ablation,
    noise_families,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for module in _MODULES for experiment in module.EXPERIMENTS
}


ALL = "all"  # what the command line calls them together


def find(name: str) -> Experiment:
    """The experiment of this name; `InvalidInput` with the nearest names if there is none."""
    if name not in EXPERIMENTS:
        known = [ALL, *EXPERIMENTS]
        near = sorted(get_close_matches(name.lower(), known, n=6, cutoff=0.5))
        hint = f"nearest are {', '.join(near)}" if near else "see `surefoot reproduce --list`"
        raise InvalidInput(f"there is no experiment {name!r}: {hint}")
    return EXPERIMENTS[name]
