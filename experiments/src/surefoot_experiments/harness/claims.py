"""Claims about regret that several experiments check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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


def falling(tables: Tables, only: str | None = None) -> Check:
    """Mean regret falls by milestones, for one algorithm or for all, in every task."""
    numbers = tables[NUMBERS]
    if only is not None:
        numbers = numbers[numbers["algorithm"] == only]
    rounds = milestones(int(numbers["round"].max()))
    curves = [name for name in ("task", "algorithm") if name in numbers]
    means = numbers.pivot_table("regret", curves, "round", sort=False)[rounds]
    fell = (means.diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    steps = "; ".join(
        f"{', '.join(name) if isinstance(name, tuple) else name} "
        f"{', '.join(f'{value:.3g}' for value in row)}"
        for name, row in means.T.items()
    )
    whose = "" if only is None else f"{only}: "
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


def published_order(tables: Tables, adaptive: Sequence[str], plain: str) -> list[Check]:
    """The claims of the heavy-tails paper about its figures 1a to 1e."""
    checks = [*below(tables, adaptive, plain), falling(tables)]
    if len(adaptive) == 2:
        checks.append(no_worse(tables, adaptive[1], adaptive[0]))
    return checks


def order_of(adaptive: Sequence[str], plain: str) -> Callable[[Tables], list[Check]]:
    """`published_order` of these algorithms."""
    return partial(published_order, adaptive=adaptive, plain=plain)


def milestones(rounds: int) -> list[int]:
    """Rounds at which regrets are compared: a twentieth, a quarter and all of them."""
    return sorted({max(rounds // 20, 1), max(rounds // 4, 1), rounds})
