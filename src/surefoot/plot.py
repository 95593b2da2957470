"""Figures for notebooks, by Plotly: those of a study's report, some beside it, Pareto fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from surefoot._internal import checks
from surefoot._internal.extras import extra
from surefoot.parameters import Choice
from surefoot.tune.report.plotting import GRID
from surefoot.tune.study.opened_study import OpenedStudy, open_study
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import trial_constraints
from surefoot.types import InvalidInput

with extra("tune"):
    import plotly.graph_objects as go
    from optuna.trial import FrozenTrial
    from optuna.visualization import plot_parallel_coordinate

    from surefoot.integrations.optuna import Front
    from surefoot.tune.report import figures
    from surefoot.tune.report.collect import collect
    from surefoot.tune.report.contents import Report, Trial
    from surefoot.tune.report.figure_file import tiled
    from surefoot.tune.report.front_figure import front_figure, fronts
    from surefoot.tune.report.plotting import BLUE, add_markers
    from surefoot.tune.study.best_by_given import values_along

__all__ = ["StudyFigures", "front", "study"]

FIGURES = {  # by name, why a study may have none
    **dict.fromkeys(("convergence", "measurements", "slices", "parallel", "tails", "effects"), ""),
    "limits": "nothing that [constraints] limit was measured",
    "pairs": "`surefoot compare` measures the defaults and the recommendation",
    "front": "it has one objective, and [objectives] declares several",
}


@dataclass(frozen=True, eq=False)
class StudyFigures:
    """Figures of a study as it was at one time.

    Args:
        state: The study.
    """

    state: StudyState

    @cached_property
    def report(self) -> Report:
        """The contents of the figures.

        Raises:
            NotReady: If the study has no measurement yet.
        """
        return collect(self.state)

    def convergence(self) -> go.Figure:
        """The recommendation's value over time, by the model of that time and by the final one."""
        return figures.convergence(self.report)

    def measurements(self) -> go.Figure:
        """All measurements in their order, coloured by their weights, with their predictions."""
        return figures.measurements(self.report)

    def slices(self) -> dict[str, go.Figure]:
        """The model along each parameter with its intervals, the most important one first."""
        along = self.report.slices
        return {one.parameter.name: figures.slice_figure(self.report, one) for one in along}

    def limits(self) -> dict[str, go.Figure]:
        """Each limited quantity by trial, and along the parameters that move it most."""
        report = self.report
        found = {}
        for name in filter(report.readings, report.bounds):
            found[f"{name} by trial"] = figures.limited(report, name)
            for one in report.limit_slices.get(name, ()):
                along = f"{name} along {one.parameter.name}"
                found[along] = figures.slice_figure(report, one, name)
        return found

    def pairs(self) -> dict[str, go.Figure]:
        """The runs of `surefoot compare` of the defaults and the recommendation, by quantity."""
        rows = self.report.decision.rows
        return {one.name: figures.paired(self.report, one) for one in rows if one.pairs}

    def front(self) -> dict[str, go.Figure]:
        """The Pareto front over every two objectives."""
        return fronts(self.report)

    def named(self, name: str) -> go.Figure:
        """A figure by the name of its method; several of them side by side.

        Raises:
            InvalidInput: If there is no figure of that name, or the study has nothing for it.
        """
        if name not in FIGURES:
            known = ", ".join(FIGURES)
            raise InvalidInput(f"got the figure {checks.shown(name)}, expected one of {known}.")
        found = getattr(self, name)()
        if found == {}:
            raise InvalidInput(f"the study has no {name}: {FIGURES[name]}.")
        return tiled(found) if isinstance(found, dict) else found

    def tails(self) -> go.Figure:
        """Quantiles of the residuals against those of the fitted noise."""
        return figures.quantiles(self.report)

    def effects(self) -> go.Figure:
        """The recommended configuration over time, where a drift was found.

        Raises:
            InvalidInput: If none was found.
        """
        if not self.report.effects.trials:
            raise InvalidInput("no drift was found in the study, so that there is none to draw.")
        return figures.drift(self.report)

    def parallel(self) -> go.Figure:
        """The measured configurations in parallel coordinates, by Optuna, coloured by their values.

        Parameters that only some configurations have are left out.
        """
        shared = set.intersection(*({*one.params} for one in self.state.measured))
        return plot_parallel_coordinate(self.state.opened.study, params=sorted(shared))

    def surface(self, x: str, y: str) -> go.Figure:
        """The predicted value over two parameters, all others as recommended.

        Args:
            x: A numeric parameter.
            y: Another one.

        Returns:
            The figure, with the measurements; those of small weight are open.

        Raises:
            InvalidInput: If they are not two numeric parameters of the study.
        """
        known = self.state.study_file.space.parameters
        numeric = [name for name, one in known.items() if not isinstance(one, Choice)]
        if x == y or not {x, y} <= {*numeric}:
            raise InvalidInput(f"got {x!r} and {y!r}, expected two of {', '.join(numeric)}.")
        best, space = self.report.findings.state.recommendation.params, self.state.study_file.space
        grid = np.linspace(0.0, 1.0, GRID)
        across, up = (
            [one for one in values_along(known[name], grid) if one not in known[name].special]
            for name in (x, y)
        )
        cells = [space.restricted({**best, x: one, y: other}) for other in up for one in across]
        mean = np.asarray(self.state.belief.predict(cells)[0]).reshape(len(up), len(across))
        contour = go.Contour(x=across, y=up, z=mean, colorscale="Viridis", name="predicted")
        shown = [one for one in self.report.measured if x in one.params and y in one.params]
        figure = go.Figure(contour)
        add_markers(
            figure,
            [one.params[x] for one in shown],
            [one.params[y] for one in shown],
            [f"trial {one.number}: {one.value:.5g}" for one in shown],
            "measured",
            color=BLUE,
            line={"width": 1, "color": "white"},
            symbol=["circle-open" if one.outlier else "circle" for one in shown],
        )
        types = ["log" if getattr(known[name], "log", False) else "linear" for name in (x, y)]
        figure.update_xaxes(title=x, type=types[0])
        figure.update_yaxes(title=y, type=types[1])
        return figure.update_layout(
            height=420, showlegend=False, margin={"l": 64, "r": 16, "t": 40, "b": 52}
        )


def study(source: OpenedStudy | Path | str) -> StudyFigures:
    """Figures of a study.

    Args:
        source: An opened study or its study file.

    Returns:
        Its figures at present.

    Raises:
        StudyFileError: If the study file is invalid, or there is no study yet.
        StorageFailed: If the storage cannot be read.
    """
    return StudyFigures((source if isinstance(source, OpenedStudy) else open_study(source)).state())


def front(
    front: Front, x: str = "", y: str = "", *, trials: Sequence[FrozenTrial] = ()
) -> go.Figure:
    """A Pareto front with its 95 % intervals, over two objectives.

    Args:
        front: The front, `surefoot.integrations.optuna.belief(study).front()`.
        x: Objective of the horizontal axis; may be left out where there are only two.
        y: Objective of the vertical axis.
        trials: Trials whose measurements are drawn beside it, such as `study.trials`.

    Returns:
        The figure. Points are coloured by their probability to be optimal.

    Raises:
        InvalidInput: If `front` is none, or `x` and `y` are not two objectives of it.

    Example:
        >>> import optuna
        >>> import surefoot as sf
        >>> from surefoot.integrations.optuna import belief
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.optimize(lambda t: ((x := t.suggest_float("x", 0, 1)), 1 - x), n_trials=8)
        >>> figure = sf.plot.front(belief(study).front(), trials=study.trials)
        >>> figure.layout.xaxis.title.text
        'values_0'
    """
    if not isinstance(front, Front):
        raise InvalidInput(
            f"`front` is {checks.shown(front)}, expected a front: pass `belief(study).front()`, "
            "with `belief` from `surefoot.integrations.optuna`."
        )
    names = front.names
    if not x and not y and len(names) == 2:
        x, y = names
    if not x and not y:
        raise InvalidInput(
            f"the front has {len(names)} objectives: pass two of {', '.join(names)} as `x` and `y`."
        )
    if x == y or x not in names or y not in names:
        raise InvalidInput(
            f"got the objectives {checks.shown(x)} and {checks.shown(y)}, expected two of "
            f"{', '.join(names)}."
        )
    measured = [
        Trial(
            one.number,
            one.params,
            "complete",
            constraints={**dict(zip(names, one.values, strict=False)), **trial_constraints(one)},
        )
        for one in trials
        if one.values
    ]
    return front_figure(front, x, y, measured)
