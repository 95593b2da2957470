"""The table of the yardstick: against the recorded rivals, and paired with the last state.

A relative gap is the gap of a recommendation divided by that of random search on the same task, the
geometric mean over its seeds, and at least a thousandth: what is closer counts as solved.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from surefoot import InvalidInput
from surefoot_experiments.answers import conditions, given
from surefoot_experiments.answers.record import BASE, RIVALS, how
from surefoot_experiments.answers.tasks import FAMILY_NAMES
from surefoot_experiments.harness.tables import markdown
from surefoot_experiments.scoreboard.catalogue import RANDOM, SUREFOOT
from surefoot_experiments.scoreboard.scores import FLOOR, PAIR, RELATIVE, relative_to_random
from surefoot_experiments.scoreboard.task import COVERED, GAP
from surefoot_experiments.scoreboard.trials import CHECKPOINTS

Results = Mapping[str, pd.DataFrame]
SOLVED = 1e-3  # of random search's gap
_SET = ["task", "trial"]


def report(now: Results, base: Results | None, rivals: Results) -> str:
    """The tables in Markdown, and the line of a commit message.

    Args:
        now: Results of surefoot, tables `checkpoints`, `conditions` and `data-sets`.
        base: Those of the last recorded state, None where there are none yet.
        rivals: Those of the rivals.

    Raises:
        InvalidInput: A task has no recorded result of random search or of the last state, or a
            data set none of the informed model.
    """
    searches = relative(now[CHECKPOINTS], rivals[CHECKPOINTS])
    parts = [_against_rivals(searches)]
    ratios = pd.DataFrame()
    if base is not None:
        earlier = relative(base[CHECKPOINTS], rivals[CHECKPOINTS])
        ratios = log_ratios(_own(searches), _own(earlier), list(PAIR), RELATIVE, "evaluations")
    parts.append(_families(searches, ratios))
    errors = met = pd.DataFrame()
    if base is not None:
        first, second = (_logarithms(each[conditions.CONDITIONS], GAP) for each in (now, base))
        met = log_ratios(first, second, [*_SET, "evaluations"], GAP, "evaluations")
        first, second = (_logarithms(each[given.GIVEN], "error") for each in (now, base))
        errors = log_ratios(first, second, ["task", "rival", "trial"], "error", "rival")
    own, others = (each[conditions.CONDITIONS] for each in (now, rivals))
    others = others[others.set_index(_SET).index.isin(own.set_index(_SET).index)]
    parts.append(_under_conditions(pd.concat([own, others]), met))
    parts.append(_data_sets(now[given.GIVEN], rivals[given.GIVEN], errors))
    if base is not None:
        parts.append(line(pd.concat([ratios, met]), errors))
    return "\n".join(parts)


def relative(own: pd.DataFrame, rivals: pd.DataFrame) -> pd.DataFrame:
    """Rows of surefoot and of the rivals with the logarithm of the relative gap, and ranks.

    The rank is among the rivals that have every run of `own`.

    Raises:
        InvalidInput: A task has no result of random search.
    """
    rows = pd.concat([own, rivals[rivals["task"].isin(own["task"])]], ignore_index=True)
    rows = relative_to_random(rows.assign(log=np.log(rows[GAP].clip(lower=FLOOR))))
    lacking = sorted(set(rows.loc[rows[RELATIVE].isna(), "task"]))
    _require(not lacking, RANDOM, lacking, RIVALS)
    rows[RELATIVE] = rows[RELATIVE].clip(lower=np.log(SOLVED))
    runs = own.set_index(PAIR).index
    rows = rows[rows.set_index(PAIR).index.isin(runs)]
    complete = rows.groupby("rival").size() == len(runs)
    ranked = rows[rows["rival"].map(complete)]
    return rows.assign(rank=ranked.groupby(PAIR)[RELATIVE].rank(method="average"))


def log_ratios(
    now: pd.DataFrame, base: pd.DataFrame, key: list[str], column: str, by: str
) -> pd.DataFrame:
    """Mean paired difference of a logarithm, and its standard error, by family.

    Args:
        now: Rows with `key`, `kind` and the column.
        base: Rows of the recorded state.
        key: Columns that name a pair.
        column: The logarithm.
        by: A second column to group by.

    Returns:
        Columns `mean` and `error`, over the tasks of each family.

    Raises:
        InvalidInput: A run has no partner.
    """
    earlier = base.set_index(key)[column].rename("earlier")
    pairs = now.join(earlier, on=key)
    lacking = sorted(set(pairs.loc[pairs["earlier"].isna(), "task"]))
    _require(not lacking, "the last state", lacking, BASE)
    pairs["difference"] = pairs[column] - pairs["earlier"]
    tasks = pairs.groupby(["kind", by, "task"], sort=False)["difference"].mean()
    groups = tasks.groupby(level=["kind", by], sort=False)
    return pd.DataFrame({"mean": groups.mean(), "error": groups.sem()})


def line(ratios: pd.DataFrame, errors: pd.DataFrame) -> str:
    """The log ratios after all measurements, and those of errors, for a commit message."""
    last = ratios.sort_index().groupby(level="kind").tail(1).droplevel(1)
    own = errors.xs(given.SUREFOOT, level="rival")
    names = (*FAMILY_NAMES, *conditions.FAMILIES)
    families = [family for family in names if family in last.index]
    parts = [f"{family} {_ratio(last.loc[family])}" for family in families]
    parts += [f"error {family} {_ratio(row)}" for family, row in own.iterrows()]
    return "answers: " + ", ".join(parts)


def _require(holds: bool, whose: str, tasks: list[str], file: str) -> None:
    if not holds:
        raise InvalidInput(
            f"{len(tasks)} tasks have no recorded result of {whose}, such as {tasks[0]}: "
            f"{how(file)}"
        )


def _own(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["rival"] == SUREFOOT]


def _final(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["evaluations"] == rows["budget"]]


def _logarithms(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.assign(**{column: np.log(rows[column])})


def _against_rivals(searches: pd.DataFrame) -> str:
    """Geometric mean and median of the relative gap and mean rank, of each rival by family.

    Rivals that lack runs are named below, with how many they have.
    """
    final = _final(searches)
    rows = final.dropna(subset="rank")
    groups = rows.groupby(["kind", "rival"])
    texts = pd.DataFrame(
        {
            "mean": np.exp(groups[RELATIVE].mean()).map("{:.2g}".format),
            "median": np.exp(groups[RELATIVE].median()).map("{:.2g}".format),
            "rank": groups["rank"].mean().map("{:.2f}".format),
        }
    ).agg(" ".join, axis=1)
    table = texts.unstack("rival").reindex([f for f in FAMILY_NAMES if f in set(rows["kind"])])
    table.loc["rank of all"] = rows.groupby("rival")["rank"].mean().map("{:.2f}".format)
    table = table[sorted(table.columns, key=lambda name: (name != SUREFOOT, name))]
    table.index.name = "mean, median, rank"
    counts = final["rival"].value_counts().drop(table.columns)
    needed = len(_own(final))
    lacking = [f"\n{name} has {count} of {needed} tasks.\n" for name, count in counts.items()]
    return markdown(table) + "".join(lacking)


def _families(searches: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """The relative gap, coverage and log ratio after each number of measurements, by family."""
    own = _own(searches)
    gaps = np.exp(own.groupby(["kind", "evaluations"])[RELATIVE].mean()).map("{:.2g}".format)
    covered = own.groupby("kind")[COVERED].mean().map("{:.0%}".format)
    table = gaps.unstack("evaluations").add_prefix("gap at ")
    table["intervals at the choice"] = covered
    if len(ratios):
        texts = ratios.apply(_ratio, axis=1).unstack("evaluations").add_prefix("log ratio at ")
        table = table.join(texts)
    table = table.reindex([family for family in FAMILY_NAMES if family in table.index])
    table.insert(0, "tasks", own.groupby("kind")["task"].nunique().map(str))
    table.index.name = "family"
    return markdown(table.fillna("–"))


def _under_conditions(rows: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """Gaps, of random search in parentheses, what was measured on the way, and log ratios."""
    rows = _logarithms(rows, GAP)
    groups = rows.groupby(["kind", "evaluations", "rival"])
    gaps = np.exp(groups[GAP].mean()).map("{:.2g}".format).unstack("rival")
    costs = groups[conditions.COST].mean().map("{:.2g}".format, na_action="ignore").unstack("rival")
    table = pd.DataFrame()
    for title, each in (("gap", gaps), (conditions.COST, costs)):
        texts = each[conditions.SUREFOOT] + " (" + each[conditions.RANDOM] + ")"
        table = table.join(texts.unstack("evaluations").add_prefix(f"{title} at "), how="outer")
    if len(ratios):
        texts = ratios.apply(_ratio, axis=1).unstack("evaluations").add_prefix("log ratio at ")
        table = table.join(texts)
    table.index.name = "conditions"
    return markdown(table.reindex(conditions.FAMILIES).fillna("–"))


def _data_sets(now: pd.DataFrame, rivals: pd.DataFrame, errors: pd.DataFrame) -> str:
    """Error, intervals and dismissed rewards of the models of given data."""
    rows = pd.concat([now, rivals[rivals["task"].isin(now["task"])]], ignore_index=True)
    rows = rows[rows.set_index(_SET).index.isin(now.set_index(_SET).index)]
    informed = rows[rows["rival"] == given.INFORMED].set_index(_SET)["error"].rename("informed")
    rows = rows.join(informed, on=_SET)
    lacking = sorted(set(rows.loc[rows["informed"].isna(), "task"]))
    _require(not lacking, given.INFORMED, lacking, RIVALS)
    rows["times"] = np.log(rows["error"] / rows["informed"])
    groups = rows.groupby(["kind", "rival"], sort=False)
    means = groups[["error", "random", "chosen", "dismissed", "kept", GAP]].mean()
    table = pd.DataFrame(index=means.index)
    table["error"] = means["error"].map("{:.2f}".format)
    table["times the informed"] = np.exp(groups["times"].mean()).map("{:.2f}".format)
    table["intervals at random"] = means["random"].map("{:.0%}".format)
    table["where it is best"] = means["chosen"].map("{:.0%}".format)
    for column, title in (("dismissed", "good dismissed"), ("kept", "outliers kept"), (GAP, GAP)):
        table[title] = means[column].map(lambda x: "–" if np.isnan(x) else f"{x:.2f}")
    if len(errors):
        table["log ratio of error"] = errors.apply(_ratio, axis=1).reindex(table.index).fillna("–")
    table.index = [": ".join(each) for each in table.index]
    table.index.name = "data: model"
    return markdown(table)


def _ratio(row: pd.Series) -> str:
    """A mean with its standard error, which a single task has not."""
    error = "" if np.isnan(row["error"]) else f" ± {row['error']:.2f}"
    return f"{row['mean']:+.2f}{error}"
