"""What BKB and BBKB cost on many arms: a round, against the exact process, over time, at scale.

What is compared runs in one process of one thread in turns, so that a busy machine slows all of
it. All sizes are multiples of the rounds of a trial: 1,000 in the published table.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot.widths import Width
from surefoot_experiments.benchmarks.exact_gp import ExactGP
from surefoot_experiments.benchmarks.fresh_process import in_fresh_process, peak_memory
from surefoot_experiments.benchmarks.plain_bkb import PlainBKB
from surefoot_experiments.benchmarks.sketch_cost_table import report
from surefoot_experiments.benchmarks.sketch_runs import (
    NOISE,
    RIDGE,
    Asking,
    Inclusion,
    Player,
    Track,
    budgeted,
    in_turns,
    many_arms,
    published,
    theorem,
)
from surefoot_experiments.harness.tables import TableOutput, benchmark
from surefoot_experiments.harness.trial import Case, Rows, Scale, Trial
from surefoot_experiments.problems import KernelFunction

LENGTHSCALE = 0.2
OVERSAMPLING = 2.0
RATIO = 2.0
LONG = 10  # rounds of BBKB alone, as a multiple of the rounds of a trial
GROWTH = 100  # the same of the run over time
OBSERVATIONS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0)  # of the exact process, also as multiples
REPEATS = 5
WINDOWS = 9  # of rounds over which growth is averaged, from t / 1.25 to 1.25 t

Row = dict[str, Any]


def sketch(
    name: str,
    problem: KernelFunction,
    width: Width,
    seed: int,
    inclusion: Inclusion = "per-arm",
) -> Asking:
    """BKB or BBKB as the library has them; "per-arm" is how the authors' code draws."""
    make: Any = sf.algorithms.bkb if name == "bkb" else partial(sf.algorithms.bbkb, ratio=RATIO)
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


def rounds(base: int, arms: int, seed: int) -> list[Row]:
    """Every method over BKB's rounds in turns, then BBKB alone over its own."""
    problem = many_arms(seed, arms)
    tracks = {
        name: track(player, problem, seed, LONG * base)
        for name, player in players(problem, seed).items()
    }
    in_turns(list(tracks.values()), base, max(1, base // 20))
    rows = [_row(name, each, problem, base) for name, each in tracks.items()]
    for name in ("bbkb", "bbkb, per pull", "bbkb, theorem"):
        tracks[name].run(LONG * base - base)
        rows.append(_row(name, tracks[name], problem, LONG * base))
    return rows


def _row(name: str, done: Track, problem: KernelFunction, number: int) -> Row:
    values = problem.values
    return {
        "method": name,
        "rounds": number,
        "milliseconds": done.milliseconds(number),
        "regret": done.regret(number),
        "uniform": float(values.max() - values.mean()),
        "dimension": done.dimension(number),
        "largest": max(done.dimensions[:number]),
        "batches": done.player.batches,
        "distinct": len(set(done.arms[:number])),
    }


def exact(base: int, arms: int, seed: int) -> list[Row]:
    """BBKB's rounds in blocks; between them, rounds of the exact process after t observations."""
    problem = many_arms(seed, arms)
    width = published(problem.norm)
    ours = track(sketch("bbkb", problem, width, seed), problem, seed, LONG * base)
    observations = [round(share * base) for share in OBSERVATIONS]
    ours.run(observations[-1])
    first, rewards = list(ours.arms), problem.values.numpy()[ours.arms]
    rewards = rewards + NOISE * np.random.default_rng([seed, 1]).standard_normal(len(first))
    times: dict[tuple[str, int], list[float]] = {}
    _exact_round(problem, width, first[:10], rewards[:10])  # what loads on first use
    left = LONG * base - len(first)
    for repeat in range(REPEATS):
        for t in observations:
            for way, seconds in _exact_round(problem, width, first[:t], rewards[:t]).items():
                times.setdefault((way, t), []).append(seconds)
        ours.run(left // REPEATS if repeat < REPEATS - 1 else LONG * base - ours.rounds)
    return [
        {"way": way, "t": t, "seconds": statistics.median(seconds)}
        for (way, t), seconds in times.items()
    ] + [{"way": "bbkb", "t": LONG * base, "seconds": float(np.sum(ours.seconds))}]


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


def growth(base: int, arms: int, seed: int) -> list[Row]:
    """BBKB's time a round, and its dictionary, over windows of rounds."""
    problem = many_arms(seed, arms)
    windows = [
        (round(t), int(t / 1.25), int(t * 1.25))
        for t in np.geomspace(base, GROWTH * base, WINDOWS).tolist()
    ]
    last = windows[-1][-1]
    player = sketch("bbkb", problem, published(problem.norm), seed)
    done = track(player, problem, seed, last)
    done.run(last)
    return [
        {
            "t": t,
            "milliseconds": 1e3 * float(np.mean(done.seconds[start:end])),
            "dimension": float(np.mean(done.dimensions[start:end])),
            "regret": done.regret(end),
        }
        for t, start, end in windows
    ]


def big(base: int, arms: int, seed: int) -> list[Row]:
    """BBKB on as many arms as rounds: seconds in all, and the most memory this process had."""
    problem = many_arms(seed, arms)
    before = peak_memory()
    started = time.perf_counter()
    player = sketch("bbkb", problem, published(problem.norm), seed)
    done = track(player, problem, seed, GROWTH * base)
    done.run(GROWTH * base)
    seconds = time.perf_counter() - started
    row = _row("bbkb", done, problem, GROWTH * base)
    return [
        row | {"seconds": seconds, "peak_gib": peak_memory() / 2**10, "before_gib": before / 2**10}
    ]


PARTS: dict[str, Callable[[int, int, int], list[Row]]] = {
    "rounds": rounds,
    "exact": exact,
    "growth": growth,
    "big": big,
}


def run(trial: Trial) -> Rows:
    """A part on one problem; the number of arms is a multiple of the rounds."""
    part, multiple = trial.case.split()
    arms = int(multiple) * trial.rounds
    if part == "big":
        rows = in_fresh_process(big, trial.rounds, arms, trial.index)  # its memory is measured
    else:
        rows = PARTS[part](trial.rounds, arms, trial.index)
    return {part: [{**row, "arms": arms, "threads": torch.get_num_threads()} for row in rows]}


EXPERIMENTS = [
    benchmark(
        "sketch-cost",
        "What BKB and BBKB cost",
        published=Scale(5, 1_000),
        quick=Scale(1, 40),
        run=run,
        output=TableOutput(report),
        cases=[
            Case("rounds 1"),
            Case("rounds 10"),
            Case("exact 10", trials=0.2),
            Case("growth 10", trials=0.6),
            Case("big 100", trials=0.2),
        ],
        timed=True,
    )
]
