"""Rewards of which no moment is known, against the algorithms that are told one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from surefoot import Moment, Optimizer
from surefoot_experiments.harness.claims import by_task, decided, final
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import curves
from surefoot_experiments.harness.page import FigureOutput
from surefoot_experiments.harness.trial import Check, Scale, Tables
from surefoot_experiments.papers.ablation import OWN
from surefoot_experiments.papers.arm_methods import OURS_NYSTROM, PLAIN, ROBUST, robust
from surefoot_experiments.papers.arm_runs import Build, run_tasks
from surefoot_experiments.papers.arm_settings import ATA, OWN_NYSTROM, PUBLISHED_TGP, TGP
from surefoot_experiments.papers.noise_families import TASKS
from surefoot_experiments.problems import ArmProblem
from surefoot_experiments.tuning_free import tuning_free_gp_ucb

FREE, BOUND = "tuning-free, a tenth of the width", "tuning-free"
TENFOLD, TENTH = "TGP-UCB, told 10 v", "TGP-UCB, told v / 10"
ATA_TENFOLD = f"{OURS_NYSTROM}, told 10 v"


@dataclass(frozen=True)
class Told:
    """A method that is told a multiple of the bound on the moment."""

    settings: TGP | ATA
    factor: float

    def __call__(self, problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
        moment = problem.moment
        told = Moment(moment.alpha, self.factor * moment.bound)
        return self.settings(problem, rounds, seed, moment=told)


def tuning_free(problem: ArmProblem, rounds: int, seed: int, *, scale: float) -> Optimizer:
    """Without a moment, a norm or a horizon."""
    return tuning_free_gp_ucb(problem.space, problem.kernel, scale=scale, seed=seed)


METHODS: Mapping[str, Build] = {
    PLAIN: PUBLISHED_TGP,
    TENFOLD: Told(PUBLISHED_TGP, 10.0),
    TENTH: Told(PUBLISHED_TGP, 0.1),
    OURS_NYSTROM: OWN_NYSTROM,
    ATA_TENFOLD: Told(OWN_NYSTROM, 10.0),
    BOUND: partial(tuning_free, scale=1.0),
    FREE: partial(tuning_free, scale=0.1),
    ROBUST: robust,
}


def checks(tables: Tables) -> list[Check]:
    """In every task, what is told nothing ends at most at the regret of what is told the moment."""
    found = []
    for task, own in by_task(tables).items():
        trials = final(own)
        ends = trials.mean()
        for other in (PLAIN, OURS_NYSTROM, ATA_TENFOLD):
            found.append(
                Check(
                    f"{task}: {FREE} ends below {other}",
                    bool(ends[FREE] < ends[other]),
                    f"{ends[FREE]:.3g} against {ends[other]:.3g}",
                    decided(trials[FREE] - trials[other]),
                )
            )
    return found


EXPERIMENTS = [
    Experiment(
        name="own-unknown-moments",
        paper=OWN,
        figure="moments unknown",
        title="No moment known, against algorithms that are told one",
        published=Scale(10, 3_000),
        quick=Scale(1, 200),
        run=partial(run_tasks, tasks=TASKS, methods=dict.fromkeys(TASKS, METHODS)),
        says=(
            "The heavy-tails paper assumes that α and v are known. Genalti et al. 2024 show that "
            "without both no algorithm has the same regret on all distributions; under a condition "
            "on the tails one does."
        ),
        setting=(
            "Random functions on 100 arms as in figure 1a, and the noise of `own-noise`. TGP-UCB "
            "and ATA-GP-UCB are told α, v and B, or ten times or a tenth of v, and have the "
            "widths of the published experiments, which leave out the constants of the theorems; "
            "tuning-free truncation has that of its bound, and a tenth of it, and is told nothing. "
            "`robust_ucb` has no such guarantee."
        ),
        output=FigureOutput(checks, curves),
    )
]
