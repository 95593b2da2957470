"""The page about all live runs in a folder."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surefoot import NotReady
from surefoot_experiments.harness.tables import ran_on, table_from

INTRODUCTION = """# Real systems beside a busy neighbour

SQLite (the study of the demo), PostgreSQL under pgbench and Redis under redis-benchmark were tuned
on one machine while a process kept one of its cores busy for 20 to 60 s at random times, and with
whatever else the machine did. Each system was tuned twice at the same time, with measurements that
took turns: **plain**, with neither repeats nor effects (`effects = []`), and **aided**, with the
table `[repeats]` and the effects of worker and time. Both have the defaults as first measurement
and a confirm stage. {rounds} measurements each, then {pairs} pairs of `surefoot compare` of the
recommendation against the defaults, again in turns.

- **compare**: change of the measurement from the defaults to the recommendation (less is better),
  with the 95 % confidence interval, and the decision;
- **predicted**: what the model said about the same change, with its 95 % interval;
- **interval**: the 95 % interval of the recommended configuration's value, at the end of the study;
- **measured again**: the median of the {pairs} runs of that configuration in the comparison, and
  whether it is inside the interval;
- **busy, quiet**: their medians while the neighbour was busy and while it was not;
- **drift**: whether there is a drift in the model, and **warned**: the number of warnings.

Run {date} on {cores} cores. {versions}. `surefoot-experiments live NAME --seed SEED` repeats it.

"""

PACKAGES = ["surefoot", "torch"]


def write_page(out: Path) -> str:
    """Write `page.md` into a folder of live runs, and return it.

    Raises:
        NotReady: If there is no finished run in it.
    """
    runs = [json.loads(file.read_text()) for file in sorted(out.glob("*/result.json"))]
    if not runs:
        raise NotReady(f"{out}: no finished run is there")
    log = out / "neighbour.jsonl"
    busy = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    rows = [_row(run, arm, busy) for run in runs for arm in run["arms"]]
    arms = [arm for run in runs for arm in run["arms"].values()]
    head = INTRODUCTION.format(
        rounds=_range(arm["recommended"]["trials"] for arm in arms),
        pairs=_range(arm["compared"]["pairs"] for arm in arms),
        **ran_on(PACKAGES),
    )
    page = f"{head}{table_from(rows)}\n{_totals(runs)}"
    (out / "page.md").write_text(page)
    return page


def _row(run: dict[str, Any], name: str, busy: list[list[float]]) -> dict[str, str]:
    arm = run["arms"][name]
    recommended, compared = arm["recommended"], arm["compared"]
    percent, shares = compared["percent"], _predicted(arm)
    better = {"A": "worse", "B": "better", None: "undecided"}[compared["better"]]
    change = _change(percent["estimate"], percent["lower"], percent["upper"])
    inside = "inside" if arm["inside"] else "outside"
    state = [any(began <= time <= end for began, end in busy) for time, _ in arm["again"]]
    groups = [
        [value for (_, value), one in zip(arm["again"], state, strict=True) if one is wanted]
        for wanted in (True, False)
    ]
    return {
        "system": f"{run['system']}, seed {run['seed']}",
        "study": name,
        "compare": f"{change}, {better}",
        "predicted": _change(*shares),
        "interval": f"{recommended['lower']:.3g} to {recommended['upper']:.3g}",
        "measured again": f"{arm['median']:.3g}, {inside}",
        "busy, quiet": ", ".join(f"{statistics.median(g):.3g}" if g else "–" for g in groups),
        "drift": "yes" if any("level" in one for one in recommended["effects"]) else "no",
        "warned": str(len(recommended["warnings"])),
    }


def _predicted(arm: dict[str, Any]) -> list[float]:
    """What the model said about the change from the defaults in per cent, and its interval."""
    defaults = arm["recommended"]["defaults"]
    return [100 * defaults[key] / defaults["value"] for key in ("change", "lower", "upper")]


def _change(estimate: float, lower: float | None, upper: float | None) -> str:
    ends = ["no bound" if one is None else f"{one:+.0f}" for one in (lower, upper)]
    return f"{estimate:+.0f} % ({' to '.join(ends)})"


def _totals(runs: list[dict[str, Any]]) -> str:
    lines = []
    for name in runs[0]["arms"]:
        arms = [run["arms"][name] for run in runs]
        better = sum(arm["compared"]["better"] == "B" for arm in arms)
        inside = sum(arm["inside"] for arm in arms)
        right = sum(
            lower <= arm["compared"]["percent"]["estimate"] <= upper
            for arm, (_, lower, upper) in zip(arms, map(_predicted, arms), strict=True)
        )
        lines.append(
            f"- {name}: better than the defaults in {better} of {len(arms)} runs; the change that "
            f"was measured is inside the predicted interval in {right}, and the median of the runs "
            f"afterwards inside the interval of the value in {inside}."
        )
    return "\n".join(lines) + "\n"


def _range(numbers: Iterable[int]) -> str:
    known = sorted(set(numbers))
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"
