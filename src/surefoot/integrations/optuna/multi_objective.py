"""Belief of every objective of an Optuna study, and the Pareto front of what it has measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal import checks
from surefoot._internal.html import as_html
from surefoot._internal.numbers import CONFIDENT, SAMPLES
from surefoot._internal.pareto import non_dominated
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.user_warnings import warn
from surefoot.beliefs.belief import rows
from surefoot.integrations.optuna.choosable import encoded
from surefoot.integrations.optuna.common_space import chosen_for, configuration_distributions
from surefoot.integrations.optuna.endings import trials_of
from surefoot.integrations.optuna.fitted_values import as_array
from surefoot.integrations.optuna.front import Front, ParetoPoint
from surefoot.integrations.optuna.objectives import column_names
from surefoot.integrations.optuna.predictions import StudyRecommendation, unmeasured_text
from surefoot.integrations.optuna.sampler import SurefootSampler
from surefoot.integrations.optuna.study_belief import StudyBelief
from surefoot.types import InvalidInput, NotReady


class _Candidates(NamedTuple):
    """Predictions at n configurations."""

    ends: np.ndarray  # (k, 3, n)
    draws: np.ndarray  # (k, n, s)
    holds: np.ndarray  # (n, s)
    log_feasibility: np.ndarray  # (n,)
    assured: np.ndarray  # (n,)


@dataclass(frozen=True, eq=False)
class MultiObjectiveBelief:
    """Belief of every objective of a study at one time; `belief` returns it.

    Args:
        objectives: Belief of each objective, by name.
        trials: The trials in all of them that have completed.

    Example:
        >>> import optuna
        >>> from surefoot.integrations.optuna import belief
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(
        ...     directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.set_metric_names(["latency", "throughput"])
        >>> def measure(trial):
        ...     x = trial.suggest_float("x", 0, 1)
        ...     return 10 + 20 * x, 100 * x
        >>> study.optimize(measure, n_trials=10)
        >>> front = belief(study).front()
        >>> len(front), front.prefer({"latency": 25}).params["x"] < 0.75
        (10, True)
    """

    objectives: Mapping[str, StudyBelief]
    trials: Sequence[FrozenTrial]

    def _repr_html_(self) -> str:
        tables = [
            as_html(f"Belief of {name}", rows(one.belief)) for name, one in self.objectives.items()
        ]
        return "".join(tables)

    def recommend(self, given: Mapping[str, Any] | None = None) -> StudyRecommendation:
        """The best parameters of a study with one objective; see `StudyBelief.recommend`.

        Args:
            given: Values of parameters that are known, by name.

        Returns:
            The parameters, and their value with an interval.

        Raises:
            InvalidInput: If there are several objectives.
        """
        if len(self.objectives) > 1:
            raise InvalidInput(
                f"the study has {len(self.objectives)} objectives ({', '.join(self.objectives)}), "
                "of which none alone says what is best: take `front().knee()`, a compromise, or "
                "`front().prefer(...)`, the best within limits."
            )
        (only,) = self.objectives.values()
        return only.recommend(given)

    @np.errstate(under="ignore")  # whatever the caller has set
    def front(self, seed: int = 0) -> Front:
        """The measured configurations whose predicted values are not dominated.

        Objectives are taken to be independent given the configuration. In a study with constraints
        only configurations count for which all of them hold with the confidence asked for. If none
        does, the one for which they most probably hold is the only one, and a warning says so.

        Args:
            seed: Seed of the functions that are drawn.

        Returns:
            The front.
        """
        checks.count("seed", seed, least=0)
        measured: dict[str, list[FrozenTrial]] = {}
        for trial in self.trials:
            measured.setdefault(repr(sorted(trial.params.items())), []).append(trial)
        groups = list(measured.values())
        at = self._predicted([group[0] for group in groups], seed)
        signs = np.array([-1.0 if one else 1.0 for one in self._maximised.values()])
        losses = np.where(at.holds, at.draws * signs[:, None, None], np.inf)  # (k, n, s)
        optimal = (non_dominated(losses.transpose(2, 1, 0)) & at.holds.T).mean(0)
        feasibility, kept = np.exp(at.log_feasibility), np.flatnonzero(at.assured)
        if not len(kept):
            kept = np.array([at.log_feasibility.argmax()])
            warn(
                f"no measured configuration is known whose constraints hold with a probability of "
                f"{CONFIDENT}: the only one of the front has {feasibility.max():.2g}.",
            )
        points = []
        for i in kept:
            value, lower, upper = (
                dict(zip(self.objectives, at.ends[:, end, i].tolist(), strict=True))
                for end in range(3)
            )
            numbers = tuple(trial.number for trial in groups[i])
            params, chances = dict(groups[i][0].params), (optimal[i], feasibility[i])
            points.append(ParetoPoint(numbers, params, value, lower, upper, *map(float, chances)))
        return Front(self._maximised, points, at.draws[:, kept].swapaxes(0, 1))

    @property
    def _maximised(self) -> dict[str, bool]:
        return {name: one.is_maximised for name, one in self.objectives.items()}

    @with_own_settings
    def _predicted(self, trials: Sequence[FrozenTrial], seed: int) -> _Candidates:
        """Predictions at the configurations of trials, each by the model of its branch."""
        size, number = len(self.objectives), len(trials)
        found = _Candidates(
            np.zeros((size, 3, number)),
            np.zeros((size, number, SAMPLES)),
            np.ones((number, SAMPLES), dtype=bool),
            np.zeros(number),
            np.ones(number, dtype=bool),
        )
        for k, one in enumerate(self.objectives.values()):
            for part, numbers in one.parts:
                at = [i for i, trial in enumerate(trials) if trial.number in numbers]
                settings = chosen_for(
                    [trials[i] for i in at], configuration_distributions(part.encoding.space)
                )
                if not settings:
                    continue
                own, others = np.random.SeedSequence([seed, k, at[0]]).generate_state(2).tolist()
                points, known = part.points(settings), part.belief
                found.ends[k][:, at] = part.predict(settings)
                drawn = as_array(known.draws(points, SAMPLES, own))
                found.draws[k][at] = drawn * part.fitted.values.any()  # zeros alone are zeros
                if k == 0:  # the constraints are the same for all
                    generator, limits = torch.Generator().manual_seed(others), known.constraints
                    found.holds[at] = as_array(limits.draws(points, SAMPLES, generator))
                    found.assured[at] = as_array(known.candidates.is_assured(points))
                    if len(limits):
                        found.log_feasibility[at] = as_array(limits.log_prospect(points))
        return found


@with_own_settings
def belief(study: Study, sampler: SurefootSampler | None = None) -> MultiObjectiveBelief:
    """Belief of every objective of a study, whichever sampler ran it.

    Objectives have the names of `study.set_metric_names`, or those of `trials_dataframe()`:
    "values_0", "values_1" and so on, and "value" if there is only one.

    A further objective that no trial has measured has no belief, and a warning says so.

    A trial that failed counts against its configuration; one that was pruned is left out where
    there are several objectives, none of which it says to be worse.

    Args:
        study: A study of Optuna, with one objective or several.
        sampler: Sampler whose `problem`, `search_space`, `effects`, `log` and `device` are used,
            for all objectives; by default that of the study if it is a `SurefootSampler`,
            otherwise `SurefootSampler()`.

    Returns:
        The beliefs, and the Pareto front by `front()`.

    Raises:
        NotReady: If no trial has finished with a value.
        InvalidInput: If `study` is no study, `sampler` no `SurefootSampler`, or one with an
            environment.
    """
    sampler = sampler_of(study, sampler)
    if sampler.environment is not None:
        raise InvalidInput(
            "the sampler has an environment or a fidelity, for which there is no front: pass the "
            "study to its own method instead, `sampler.belief(study)`."
        )
    trials = trials_of(study)
    names = column_names(study)
    if sampler.objectives and len(names) == 1:
        objectives = with_further(names[0], sampler.belief(study, trials))
        if unmeasured := [name for name in sampler.objectives if name not in objectives]:
            warn(f"{unmeasured_text(unmeasured)}: the front leaves it open.")
    else:
        objectives = {name: sampler.of_objective(study, i, trials) for i, name in enumerate(names)}
    modelled = set.intersection(*({*one.trials} for one in objectives.values()))
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.number in modelled]
    if not complete:
        raise NotReady(
            f"no trial of study {study.study_name!r} has a finite value of every objective."
        )
    first = objectives[names[0]]
    design, known = first.belief.space.design, configuration_distributions(first.encoding.space)
    allowed = design.allows(
        encoded(first.encoding, chosen_for(complete, known)).to(design.lower.device)
    )
    if not bool(allowed.any()):
        raise NotReady(
            f"no trial of study {study.study_name!r} satisfies the rules of the `sampler`: run "
            "some that do, or leave them out."
        )
    return MultiObjectiveBelief(
        objectives, [t for t, kept in zip(complete, allowed.tolist(), strict=True) if kept]
    )


def sampler_of(study: Study, sampler: SurefootSampler | None) -> SurefootSampler:
    """The sampler whose model is asked: by default that of the study if it is surefoot's.

    Raises:
        InvalidInput: If `study` is no study, or `sampler` no `SurefootSampler`.
    """
    if not isinstance(study, Study):
        raise InvalidInput(
            f"`study` is {checks.shown(study)}, expected a study: pass `optuna.load_study(...)`."
        )
    if sampler is None:
        own = study.sampler
        sampler = own if isinstance(own, SurefootSampler) else SurefootSampler()
    if not isinstance(sampler, SurefootSampler):
        raise InvalidInput(
            f"`sampler` is {checks.shown(sampler)}, expected a `SurefootSampler`, or None."
        )
    return sampler


def with_further(name: str, first: StudyBelief) -> dict[str, StudyBelief]:
    """Beliefs of the objectives that trials record beside their values, by name.

    Those that no trial has recorded are left out; all who show a front or a prediction say so.

    Args:
        name: Name of the value.
        first: Belief of the value.
    """
    known = first.belief.constraints.objectives
    further = {n: first.of_outcome(n, one) for n, one in first.declared.items() if n in known}
    return {name: first, **further}
