"""All experiments and benchmarks, by name."""

from difflib import get_close_matches

from surefoot import InvalidInput
from surefoot_experiments.benchmarks import (
    ask_time,
    botorch_models,
    calibration,
    comparing,
    confirming,
    constraints,
    contexts,
    coverage,
    decisions,
    drift,
    estimands,
    fidelities,
    front_search,
    fronts,
    gpu_arms,
    guarantees,
    judging,
    long_boxes,
    nuisance_effects,
    recommendation_coverage,
    repeats,
    risk_ask_time,
    risk_coverage,
    round_cost,
    safe_search,
    sketch_cost,
    sketch_regret,
    sklearn_search,
    statements,
    stopping,
    stored_arms,
)
from surefoot_experiments.benchmarks import heavy_tails as heavy_tails_benchmark
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.papers import (
    ablation,
    ata_steps,
    heavy_tails,
    lower_bound,
    noise_families,
    regret_against_time,
    truncation_effect,
    unknown_moments,
    value_at_risk,
    variance_starvation,
)

_PAPERS = (
    heavy_tails,
    truncation_effect,
    variance_starvation,
    regret_against_time,
    value_at_risk,
    ablation,
    ata_steps,
    noise_families,
    unknown_moments,
    lower_bound,
)
_BENCHMARKS = (
    ask_time,
    botorch_models,
    calibration,
    heavy_tails_benchmark,
    comparing,
    confirming,
    coverage,
    constraints,
    contexts,
    decisions,
    drift,
    estimands,
    fidelities,
    front_search,
    fronts,
    gpu_arms,
    guarantees,
    judging,
    long_boxes,
    nuisance_effects,
    round_cost,
    sketch_cost,
    sketch_regret,
    sklearn_search,
    statements,
    stopping,
    stored_arms,
    recommendation_coverage,
    repeats,
    risk_ask_time,
    risk_coverage,
    safe_search,
)

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one for module in _PAPERS for one in module.EXPERIMENTS
}
BENCHMARKS: dict[str, Experiment] = {
    one.name: one for module in _BENCHMARKS for one in module.EXPERIMENTS
}
GROUPS = {"all": EXPERIMENTS, "benchmarks": BENCHMARKS}


def find(name: str) -> Experiment:
    """The experiment or benchmark of a name.

    Raises:
        InvalidInput: There is none; the message names the nearest.

    Example:
        >>> find("heavy-tails-1a").figure
        'Figure 1a'
    """
    known = EXPERIMENTS | BENCHMARKS
    if name not in known:
        near = get_close_matches(name.lower(), [*GROUPS, *known], n=6, cutoff=0.5)
        hint = f"nearest are {', '.join(sorted(near))}" if near else "see the command `list`"
        raise InvalidInput(f"no experiment is named {name!r}: {hint}")
    return known[name]
