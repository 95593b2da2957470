"""What BKB and BBKB cost on many arms: a round, against the exact process, over time, at scale.

    python benchmarks/sketch_cost.py              # plays what is missing, then writes
    python benchmarks/sketch_cost.py --only big   # 10⁵ arms x 10⁵ rounds, alone in its process
    python benchmarks/sketch_cost.py --quick      # seconds, written to the terminal only
    python benchmarks/sketch_cost.py --table      # sketch_cost.md from the runs there are

What is compared runs in one process in turns, so that a busy machine slows all of it. Threads are
those of torch and NumPy: set OMP_NUM_THREADS. Each finished run is a file of its own; delete
`results/raw/sketch_cost` to begin anew.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import surefoot as sf
from exact_gp import ExactGP
from plain_bkb import PlainBKB
from result_files import write_json
from sketch_cost_table import report
from sketch_play import Asking, Inclusion, Player, Track, budgeted, in_turns
from sketch_problem import NOISE, RIDGE, many_arms, published, theorem
from surefoot.widths import Width
from surefoot_experiments.problems import KernelFunction

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "sketch_cost"
LENGTHSCALE = 0.2
OVERSAMPLING = 2.0
RATIO = 2.0
WINDOWS = 9  # of rounds over which growth is averaged, from t / 1.25 to 1.25 t


class Sizes(NamedTuple):
    """How much of everything is played."""

    arms: tuple[int, ...] = (1_000, 10_000)
    rounds: int = 1_000  # of BKB, and of what it is compared with
    long: int = 10_000  # of BBKB
    seeds: int = 5
    observations: tuple[int, ...] = (100, 200, 400, 700, 1_000, 1_400, 2_000)  # of the exact one
    exact_arms: int = 10_000
    repeats: int = 5
    growth_arms: int = 10_000
    growth_rounds: tuple[int, int] = (1_000, 100_000)  # first and last
    growth_seeds: int = 3
    big_arms: int = 100_000
    big_rounds: int = 100_000


QUICK = Sizes(
    arms=(200, 400),
    rounds=60,
    long=120,
    seeds=2,
    observations=(10, 20, 40),
    exact_arms=400,
    repeats=2,
    growth_arms=400,
    growth_rounds=(30, 300),
    growth_seeds=2,
    big_arms=2_000,
    big_rounds=200,
)

Rows = list[dict[str, Any]]


def sketch(
    name: str,
    problem: KernelFunction,
    width: Width,
    seed: int,
    inclusion: Inclusion = "per-arm",
) -> Asking:
    """BKB or BBKB as the library has them; "per-arm" is how the authors' code draws."""
    make = {"bkb": sf.algorithms.bkb, "bbkb": partial(sf.algorithms.bbkb, ratio=RATIO)}[name]
    return budgeted(make, problem, OVERSAMPLING, inclusion, width, seed)


def plain(problem: KernelFunction, seed: int, ratio: float) -> PlainBKB:
    """The same as the papers write them."""
    points = problem.space.points.numpy()
    return PlainBKB(points, LENGTHSCALE, problem.norm, OVERSAMPLING, seed, ratio)


def players(problem: KernelFunction, seed: int) -> dict[str, Player]:
    """What `rounds` compares: by method and width."""
    narrow, theory = published(problem.norm), theorem(problem.norm)
    methods: dict[str, Player] = {}
    for name, ratio in (("bkb", 1.0), ("bbkb", RATIO)):
        methods[name] = sketch(name, problem, narrow, seed)
        methods[f"plain {name}"] = plain(problem, seed, ratio)
        methods[f"{name}, per pull"] = sketch(name, problem, narrow, seed, "per-pull")
        methods[f"{name}, theorem"] = sketch(name, problem, theory, seed)
    return methods


def track(player: Player, problem: KernelFunction, seed: int, rounds: int) -> Track:
    noise = NOISE * np.random.default_rng([seed, 1]).standard_normal(rounds)
    return Track(player, problem.values.numpy(), noise)


def rounds(sizes: Sizes, arms: int, seed: int) -> Rows:
    """Every method over BKB's rounds in turns, then BBKB alone over its own."""
    problem = many_arms(seed, arms)
    tracks = {
        name: track(player, problem, seed, sizes.long)
        for name, player in players(problem, seed).items()
    }
    in_turns(list(tracks.values()), sizes.rounds, max(1, sizes.rounds // 20))
    rows = [_row(name, each, problem, sizes.rounds) for name, each in tracks.items()]
    for name in ("bbkb", "bbkb, per pull", "bbkb, theorem"):
        tracks[name].play(sizes.long - sizes.rounds)
        rows.append(_row(name, tracks[name], problem, sizes.long))
    return rows


def _row(name: str, played: Track, problem: KernelFunction, number: int) -> dict[str, Any]:
    values = problem.values
    return {
        "method": name,
        "rounds": number,
        "milliseconds": played.milliseconds(number),
        "regret": played.regret(number),
        "uniform": float(values.max() - values.mean()),
        "dimension": played.dimension(number),
        "largest": max(played.dimensions[:number]),
        "batches": played.player.batches,
        "distinct": len(set(played.arms[:number])),
    }


def exact(sizes: Sizes, arms: int, seed: int) -> Rows:
    """BBKB's rounds in blocks; between them, rounds of the exact process after t observations."""
    problem = many_arms(seed, arms)
    width = published(problem.norm)
    ours = track(sketch("bbkb", problem, width, seed), problem, seed, sizes.long)
    ours.play(sizes.observations[-1])
    first, rewards = list(ours.arms), problem.values.numpy()[ours.arms]
    rewards = rewards + NOISE * np.random.default_rng([seed, 1]).standard_normal(len(first))
    times: dict[tuple[str, int], list[float]] = {}
    _exact_round(problem, width, first[:10], rewards[:10])  # what loads on first use
    left = sizes.long - len(first)
    for repeat in range(sizes.repeats):
        for t in sizes.observations:
            for way, seconds in _exact_round(problem, width, first[:t], rewards[:t]).items():
                times.setdefault((way, t), []).append(seconds)
        ours.play(left // sizes.repeats if repeat < sizes.repeats - 1 else sizes.long - ours.rounds)
    return [
        {"way": way, "t": t, "seconds": statistics.median(seconds)}
        for (way, t), seconds in times.items()
    ] + [{"way": "bbkb", "t": sizes.long, "seconds": float(np.sum(ours.seconds))}]


def _exact_round(
    problem: KernelFunction, width: Width, arms: list[int], rewards: np.ndarray
) -> dict[str, float]:
    """Seconds of the round after the last of the pulls, in both of GPyTorch's ways."""
    player = ExactGP(problem.space.points, problem.kernel, RIDGE, width)
    for arm, reward in zip(arms[:-1], rewards[:-1].tolist(), strict=True):
        player.note(arm, reward)
    player.learn(arms[-1], float(rewards[-1]))
    started = time.perf_counter()
    chosen = player.choose()
    player.learn(chosen, 0.0)
    refactored = time.perf_counter() - started
    player.choose()
    started = time.perf_counter()
    player.learn_as_fantasy(chosen, 0.0)
    player.choose()
    return {"refactorised": refactored, "fantasy": time.perf_counter() - started}


def growth(sizes: Sizes, arms: int, seed: int) -> Rows:
    """BBKB's time a round, and its dictionary, over windows of rounds."""
    problem = many_arms(seed, arms)
    windows = [
        (round(t), int(t / 1.25), int(t * 1.25))
        for t in np.geomspace(*sizes.growth_rounds, WINDOWS).tolist()
    ]
    last = windows[-1][-1]
    player = sketch("bbkb", problem, published(problem.norm), seed)
    played = track(player, problem, seed, last)
    played.play(last)
    return [
        {
            "t": t,
            "milliseconds": 1e3 * float(np.mean(played.seconds[start:end])),
            "dimension": float(np.mean(played.dimensions[start:end])),
            "regret": played.regret(end),
        }
        for t, start, end in windows
    ]


def big(sizes: Sizes, arms: int, seed: int) -> Rows:
    """BBKB on as many arms as rounds: seconds in all, and the most memory this process had."""
    problem = many_arms(seed, arms)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    player = sketch("bbkb", problem, published(problem.norm), seed)
    played = track(player, problem, seed, sizes.big_rounds)
    played.play(sizes.big_rounds)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB
    row = _row("bbkb", played, problem, sizes.big_rounds)
    return [row | {"seconds": seconds, "peak_gib": peak / 2**20, "before_gib": before / 2**20}]


PARTS: dict[str, Callable[[Sizes, int, int], Rows]] = {
    "rounds": rounds,
    "exact": exact,
    "growth": growth,
    "big": big,
}


class Run(NamedTuple):
    """One part on one problem."""

    part: str
    arms: int
    seed: int


def runs_of(part: str, sizes: Sizes) -> Iterator[Run]:
    """All runs of a part."""
    arms, seeds = {
        "rounds": (sizes.arms, sizes.seeds),
        "exact": ((sizes.exact_arms,), 1),
        "growth": ((sizes.growth_arms,), sizes.growth_seeds),
        "big": ((sizes.big_arms,), 1),
    }[part]
    for seed in range(seeds):
        for number in arms:
            yield Run(part, number, seed)


def path_of(folder: Path, run: Run) -> Path:
    """Where a finished run lies."""
    return folder / run.part / f"{run.arms}_{run.seed}.json"


def play(folder: Path, run: Run, sizes: Sizes) -> None:
    """A run, written whole or not at all."""
    rows = PARTS[run.part](sizes, run.arms, run.seed)
    for row in rows:
        row |= {"arms": run.arms, "seed": run.seed, "threads": torch.get_num_threads()}
    write_json(path_of(folder, run), rows)


def main() -> None:
    """Read the command line, play what is missing, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=PARTS, help="one part; the others' runs stay")
    parser.add_argument("--quick", action="store_true", help="small sizes, no file")
    parser.add_argument("--table", action="store_true", help="write from the runs there are")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    parts = [options.only] if options.only else [part for part in PARTS if part != "big"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if options.quick else RAW
        for run in (run for part in parts for run in runs_of(part, sizes)):
            if not options.table and not path_of(folder, run).exists():
                print(*run, flush=True)
                play(folder, run, sizes)
        found = {
            part: [
                row
                for path in sorted((folder / part).glob("*.json"))
                for row in json.loads(path.read_text())
            ]
            for part in PARTS
        }
    if not any(found.values()):
        parser.error("there is no finished run: run without --table first")
    text = report(found)
    if not options.quick:
        (FOLDER / "sketch_cost.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
