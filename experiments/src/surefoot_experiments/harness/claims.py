"""Claims about regret that several experiments check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pandas import DataFrame, Series

from surefoot_experiments.harness.trial import NUMBERS, Check, Tables

_ERRORS = 2.0  # standard errors by which a decided difference is away from 0
FEWEST = 5  # trials that such an error is estimated from


def final(tables: Tables, column: str = "regret") -> DataFrame:
    """The last value of each algorithm (columns) in each trial (rows)."""
    numbers = tables[NUMBERS]
    last = numbers[numbers["round"] == numbers["round"].max()]
    return last.pivot_table(column, "trial", "algorithm", sort=False)


def decided(differences: Series) -> bool:
    """Whether paired differences are more than what chance explains.

    Their mean is then at least two of its standard errors from 0, and there are at least five.
    """
    enough = len(differences) >= FEWEST
    return enough and bool(abs(differences.mean()) >= _ERRORS * differences.sem())


def below(tables: Tables, lower: Sequence[str], upper: str) -> list[Check]:
    """Each of `lower` ends with less regret than `upper`, in the mean over trials."""
    ends = final(tables)
    return [
        Check(
            f"{name} ends below {upper}",
            bool(ends[name].mean() < ends[upper].mean()),
            f"{ends[name].mean():.3g} against {ends[upper].mean():.3g}; in "
            f"{int((ends[name] < ends[upper]).sum())} of {len(ends)} trials",
            decided(ends[name] - ends[upper]),
        )
        for name in lower
    ]


def no_worse(tables: Tables, name: str, other: str, slack: float = 1.05) -> Check:
    """`name` ends with at most `slack` times the regret of `other`."""
    ends = final(tables).mean()
    return Check(
        f"{name} ends no worse than {other}",
        bool(ends[name] <= slack * ends[other]),
        f"{ends[name]:.3g} against {ends[other]:.3g}",
    )


def falling(tables: Tables, *only: str) -> Check:
    """Mean regret falls by milestones, for some algorithms or for all, in every task."""
    numbers = tables[NUMBERS]
    if only:
        numbers = numbers[numbers["algorithm"].isin(only)]
    rounds = milestones(int(numbers["round"].max()))
    curves = [name for name in ("task", "algorithm") if name in numbers]
    means = numbers.pivot_table("regret", curves, "round", sort=False)[rounds]
    fell = (means.diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    steps = "; ".join(
        f"{', '.join(name) if isinstance(name, tuple) else name} "
        f"{', '.join(f'{value:.3g}' for value in row)}"
        for name, row in means.T.items()
    )
    whose = f"{only[0]}: " if len(only) == 1 else ""
    return Check(
        f"{whose}mean regret falls (rounds {', '.join(f'{one:,}' for one in rounds)})",
        bool(fell.all()) and len(rounds) > 1,
        steps,
    )


def by_task(tables: Tables) -> dict[str, Tables]:
    """The tables of each task on its own."""
    tasks = tables[NUMBERS]["task"].unique()
    return {
        task: {name: table[table["task"] == task] for name, table in tables.items()}
        for task in tasks
    }


def named(values: object) -> str:
    """A series as `name value, name value`."""
    pairs = values.items()  # type: ignore[attr-defined]
    return ", ".join(f"{name} {value:.3g}" for name, value in pairs)


def as_published(tables: Tables, points: Mapping[str, Mapping[int, float]]) -> list[Check]:
    """Each of the algorithms ends where the published curve does, within two standard errors.

    The published value is a mean of other trials, with an error of its own that is taken to be as
    large: the difference has the root of 2 times the standard error. Where f is the same in all
    trials these errors are of the noise alone, and a curve may be far outside of them and close to
    the published one. How far the curves are from one another is told. Without the last published
    round there is no claim.

    Args:
        tables: Tables of the runs.
        points: Published values by algorithm and round.
    """
    numbers, found = tables[NUMBERS], []
    for name, published in points.items():
        curves = numbers[numbers["algorithm"] == name].pivot(
            index="round", columns="trial", values="regret"
        )
        last, rounds = int(curves.index[-1]), np.array(sorted(published))
        if last != rounds[-1]:
            continue
        end, enough = curves.loc[last], curves.shape[1] >= FEWEST
        mean, error = float(end.mean()), float(end.sem())
        values = np.array([published[int(at)] for at in rounds])
        away = np.abs(np.interp(rounds, curves.index, curves.mean(axis=1)) / values - 1.0)
        worst = int(away.argmax())
        spread = f" ± {error:.2g}" if curves.shape[1] > 1 else " in one trial"
        found.append(
            Check(
                f"{name} ends at the published {published[last]:.3g}",
                enough and abs(mean - published[last]) <= _ERRORS * 2.0**0.5 * error,
                f"{mean:.3g}{spread}, {100.0 * away[-1]:.2g} % away; of the {len(rounds)} "
                "published points at most "
                f"{100.0 * away[worst]:.2g} % away, in round {rounds[worst]:,}",
                enough,
            )
        )
    return found


def milestones(rounds: int) -> list[int]:
    """Rounds at which regrets are compared: a twentieth, a quarter and all of them."""
    return sorted({max(rounds // 20, 1), max(rounds // 4, 1), rounds})
