"""The Markdown report of what sketches cost."""

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from surefoot_experiments.harness.tables import markdown, ran_on, ratio, table_from
from surefoot_experiments.harness.trial import Tables

PACKAGES = ["surefoot", "torch", "gpytorch", "numpy", "scipy"]
ORDER = [
    *("bkb", "plain bkb", "bkb, per pull", "bkb, theorem"),
    *("bbkb", "plain bbkb", "bbkb, per pull", "bbkb, theorem"),
]
PLAIN = {name: f"plain {name}" for name in ("bkb", "bbkb")}
ELSEWHERE = {  # the authors' code on such a problem, 2 cores: ms a round, R_t / t
    ("bkb", 1_000): (49.0, None),
    ("bkb", 10_000): (80.0, 0.30),
    ("bbkb", 1_000): (12.0, None),
    ("bbkb", 10_000): (21.0, 0.33),
}
MOST = {  # ms a round that must not be passed, and over how many rounds
    ("bkb", 1_000): (5.0, 1_000),
    ("bkb", 10_000): (20.0, 1_000),
    ("bbkb", 1_000): (1.0, 10_000),
    ("bbkb", 10_000): (2.0, 10_000),
}
LEAST_GAIN = 100.0  # on the exact process
MOST_MINUTES, MOST_GIB = 30.0, 4.0

INTRODUCTION = """# What BKB and BBKB cost

Random functions of max|f| = 1 on uniform arms of [0, 1]², squared exponential kernel of lengthscale
0.2; Gaussian noise of standard deviation 0.1, ridge 0.01, oversampling q̄ = 2, batches up to C = 2.
A round is `ask` and `tell`. The width is that of the authors' published code,
F + ξ √((D ln t + ln(1/δ)) / λ) with the function's norm F, δ = 0.1 and D the effective dimension;
"theorem" is that of Theorem 2 at scale 1, whose constants make it three to four times as wide.

Run {date} on {cores} cores, CPU, {threads}; what is compared ran in one process in turns.
{versions}.
"""

ROUNDS = """## A round

Means over {seeds} problems, times medians. "plain" is the same algorithm as its paper writes it, in
NumPy, everything computed again for each dictionary (`plain_bkb.py`). An arm of n pulls is drawn
once with n times the probability, as the authors' code does; "per pull", as their paper has it, n
times. "plain / this" is the ratio of the times, "this / plain" that of the regrets. Regret is
R_t / t ± its standard error. Dictionary: mean over the later half of the rounds.
"""

ANCHORS = """
Targets set before the run, and the authors' code (measured elsewhere on 2 cores, q̄ = 2, on other
functions; github.com/luigicarratino/batch-bkb):
"""

EXACT = """## Against exact GP-UCB

{arms:,} arms. The exact process is GPyTorch's `ExactGP` with all t observations, exact inverse root
(Cholesky), arms predicted 512 at a time, which is its quickest use here: refactorised each round,
or brought up to date with `get_fantasy_model`. Milliseconds of a round after t observations:
"""

GROWTH = """## Growth

BBKB on {arms:,} arms, means over {seeds} problems of the rounds from t / 1.25 to 1.25 t.
"""

BIG = """## {arms:,} arms and {rounds:,} rounds of BBKB
"""


def report(tables: Tables) -> str:
    """The report of all finished runs, by part."""
    threads = sorted({int(n) for table in tables.values() for n in table["threads"]})
    parts = [
        INTRODUCTION.format(
            threads=" or ".join(f"{n} thread{'s' * (n > 1)}" for n in threads), **ran_on(PACKAGES)
        )
    ]
    parts += [SECTIONS[name](table) for name, table in tables.items()]
    return "\n".join(parts)


def rounds(rows: pd.DataFrame) -> str:
    """What a round costs and brings, and whether the target is reached."""
    parts = [ROUNDS.format(seeds=rows["trial"].nunique())]
    for arms, chosen in rows.groupby("arms"):
        lines = {}
        for (number, name), mine in chosen.groupby(["rounds", "method"]):
            regret = mine["regret"]
            lines[number, ORDER.index(name)] = {
                f"{arms:,} arms": name,
                "rounds": f"{number:,}",
                "ms a round": f"{mine['milliseconds'].median():.2f}",
                "plain / this": _times(chosen, name, number),
                "regret": f"{regret.mean():.3f}" + _error(regret.sem()),
                "this / plain": _share(chosen, name, number),
                "chance": f"{mine['uniform'].mean():.2f}",
                "dictionary": f"{mine['dimension'].mean():.0f}",
                "batches": f"{mine['batches'].mean():.0f}",
                "arms pulled": f"{mine['distinct'].mean():.0f}",
            }
        parts.append(table_from([lines[key] for key in sorted(lines)]))
    return "\n".join([*parts, *_reached(rows)])


def exact(rows: pd.DataFrame) -> str:
    """Total time of the exact process, from a prefix, against BBKB's."""
    ours = rows[rows["way"] == "bbkb"].iloc[0]
    times = rows[rows["way"] != "bbkb"].pivot_table("seconds", "t", "way")
    parts = [EXACT.format(arms=int(ours["arms"]))]
    table = (1e3 * times).map("{:.0f}".format)
    table.index.name = "t"
    parts.append(markdown(table))
    whole = int(ours["t"])
    totals = {way: total(times[way], whole) for way in times}
    best = min(totals, key=lambda way: totals[way][0])
    seconds, fit, least = totals[best]
    gain = seconds / ours["seconds"]
    parts.append(
        f"A + B t + C t² fitted to the quicker way ({best}, least squares of relative errors): "
        f"{1e3 * fit[0]:.1f} + {1e3 * fit[1]:.2e} t + {1e3 * fit[2]:.2e} t² ms, which makes "
        f"{_hours(seconds)} for {whole:,} rounds, extrapolated from t ≤ {times.index[-1]:,}. BBKB "
        f"took {ours['seconds']:.1f} s, measured: {gain:,.0f} times less (at least "
        f"{LEAST_GAIN:.0f}: {_yes(gain >= LEAST_GAIN)}). Did no later round cost more than that "
        f"after {times.index[-1]:,}, it would be {_hours(least)} and "
        f"{least / ours['seconds']:,.0f} times.\n"
    )
    return "\n".join(parts)


def total(seconds: pd.Series, rounds: int) -> tuple[float, np.ndarray, float]:
    """Seconds of all rounds by a fitted quadratic; its coefficients; and if it stopped growing."""
    t, y = seconds.index.to_numpy(dtype=float), seconds.to_numpy()
    columns = np.stack([np.ones_like(t), t, t**2], -1)
    fit, _ = nnls(columns / y[:, None], np.ones_like(y))
    every = np.arange(1.0, rounds + 1.0)
    late = np.minimum(every, t[-1])
    all_rounds, bounded = (float(np.polyval(fit[::-1], each).sum()) for each in (every, late))
    return all_rounds, fit, bounded


def growth(rows: pd.DataFrame) -> str:
    """Time a round and dictionary over windows, with the exponents of both in t."""
    parts = [GROWTH.format(arms=int(rows["arms"].iloc[0]), seeds=rows["trial"].nunique())]
    means = rows.groupby("t")[["milliseconds", "dimension", "regret"]].mean()
    table = pd.DataFrame(
        {
            "ms a round": means["milliseconds"].map("{:.2f}".format),
            "dictionary": means["dimension"].map("{:.0f}".format),
            "R_t / t": means["regret"].map("{:.3f}".format),
        }
    )
    table.index = pd.Index([f"{t:,}" for t in means.index], name="t")
    time, size = _exponent(rows, "milliseconds"), _exponent(rows, "dimension")
    parts += [
        markdown(table),
        f"Fitted over these windows: time a round grows as t^{time:.2f}, the dictionary as "
        f"t^{size:.2f}. Time no faster than the dictionary squared: {_yes(time <= 2.0 * size)}.\n",
    ]
    return "\n".join(parts)


def big(rows: pd.DataFrame) -> str:
    """The run on as many arms as rounds."""
    row = rows.iloc[0]
    minutes = row["seconds"] / 60.0
    table = pd.DataFrame(
        {
            "": [
                f"{minutes:.1f} (at most {MOST_MINUTES:.0f}: {_yes(minutes <= MOST_MINUTES)})",
                f"{row['peak_gib']:.2f} (under {MOST_GIB:.0f}: {_yes(row['peak_gib'] < MOST_GIB)})",
                f"{row['before_gib']:.2f}",
                f"{row['milliseconds']:.2f}",
                f"{row['dimension']:.0f}, at most {row['largest']}",
                f"{row['batches']:,}",
                f"{row['distinct']:,}",
                f"{row['regret']:.3f} (chance {row['uniform']:.2f})",
            ]
        },
        index=pd.Index(
            [
                "minutes",
                "GiB, most of the process",
                "GiB of it before the first round",
                "ms a round",
                "dictionary",
                "batches",
                "arms pulled",
                "R_t / t",
            ],
            name="one process",
        ),
    )
    return BIG.format(arms=int(row["arms"]), rounds=int(row["rounds"])) + "\n" + markdown(table)


SECTIONS = {"rounds": rounds, "exact": exact, "growth": growth, "big": big}


def _reached(rows: pd.DataFrame) -> list[str]:
    """The targets, where such sizes were played."""
    lines = []
    for (name, arms), (most, number) in MOST.items():
        mine = rows[(rows["method"] == name) & (rows["arms"] == arms)]
        if number not in set(mine["rounds"]):
            continue
        regret = mine[mine["rounds"] == 1_000]["regret"]
        theirs, regret_theirs = ELSEWHERE[name, arms]
        time = mine[mine["rounds"] == number]["milliseconds"].median()
        lines.append(
            {
                "": f"{name}, {arms:,} arms",
                "ms a round": f"{time:.2f} over {number:,} rounds",
                "target": f"{most:.0f}",
                "reached": _yes(time <= most),
                "authors' ms": f"{theirs:.0f}",
                "R_t / t at 1,000": f"{regret.mean():.3f}" + _error(regret.sem()),
                "authors'": "–" if regret_theirs is None else f"{regret_theirs:.2f}",
            }
        )
    return [ANCHORS, table_from(lines)] if lines else []


def _times(rows: pd.DataFrame, name: str, number: int) -> str:
    """How many times as long the plain version takes, median over problems."""
    both = _beside_plain(rows, name, number, "milliseconds")
    return "" if both is None else f"{(both[PLAIN[name]] / both[name]).median():.1f}"


def _share(rows: pd.DataFrame, name: str, number: int) -> str:
    """Regret over that of the plain version on the same problems, with its standard error."""
    both = _beside_plain(rows, name, number, "regret")
    if both is None:
        return ""
    value, error = ratio(both[name], both[PLAIN[name]])
    return f"{value:.2f}" + _error(error)


def _beside_plain(rows: pd.DataFrame, name: str, number: int, column: str) -> pd.DataFrame | None:
    table = rows[rows["rounds"] == number].pivot_table(column, "trial", "method")
    return table if PLAIN.get(name) in table else None


def _exponent(rows: pd.DataFrame, column: str) -> float:
    return float(np.polyfit(np.log(rows["t"]), np.log(rows[column]), 1)[0])


def _error(value: float) -> str:
    return "" if pd.isna(value) else f" ± {value:.3f}"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.1f} min"


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"
