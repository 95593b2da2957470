"""What a round on arms costs: by algorithm, by estimator, by rounds and by arms.

Times are of the processor, medians over blocks of rounds, and what is compared runs in turns, so
that a busy machine slows both. Everything runs on one thread but the trials (two processes) and
the many arms (all cores). All sizes are shares of the rounds of a trial: a million in the published
table.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed

import surefoot as sf
from surefoot_experiments.baselines import MedianOfMeans, as_published
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.harness.variants import variant

ARMS, NODES, LENGTHSCALE = 100, 32, 0.2
MOMENT = sf.Moment(1.0, 4.0)
HORIZON = 20_000
MANY = 10_000  # arms

ABOUT = """100 arms of [0, 1], squared exponential kernel of lengthscale 0.2, quadrature Fourier
features with 32 nodes unless said otherwise, Student-t(3) noise; a round is `ask` and `tell`. Times
are of the processor, medians (of the runs over many rounds: means), and what is compared ran in
turns. The orders are [counted](../../../../docs/arms.md#what-a-round-costs) by the tests."""

Row = dict[str, str]

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "LeastSquares": sf.LeastSquares,
    "Truncation": lambda: sf.Truncation(MOMENT),
    "AdaptiveTruncation": lambda: sf.AdaptiveTruncation(MOMENT, HORIZON),
    "AdaptiveTruncation, symmetric": lambda: sf.AdaptiveTruncation(
        MOMENT, HORIZON, root="symmetric"
    ),
    "Huber": sf.Huber,
    "Huber, growing": lambda: sf.Huber(growing=True),
    "StudentT": sf.StudentT,
    "MedianOfMeans": MedianOfMeans,
}


@dataclass
class Session:
    """An optimizer on arms and the function it measures, with Student-t(3) noise."""

    optimizer: sf.Optimizer
    points: torch.Tensor  # (A, d)
    values: np.ndarray  # (A,)
    random: np.random.Generator

    @classmethod
    def of(cls, optimizer: sf.Optimizer, points: torch.Tensor, seed: int = 0) -> Session:
        values = np.sin(6.0 * points[:, 0].numpy())
        return cls(optimizer, points, values, np.random.default_rng(seed))

    def rounds(self, number: int) -> float:
        """Seconds a round."""
        noise = self.random.standard_t(3.0, number).tolist()
        started = time.process_time()
        for error in noise:
            query = self.optimizer.ask()
            z = 0.0 if query.environment is None else float(query.environment.sum())
            self.optimizer.tell(query, float(self.values[query.arm]) + z + error)
        return (time.process_time() - started) / number

    def tell(self) -> sf.Info:
        """One round; what its `tell` says."""
        query = self.optimizer.ask()
        reward = float(self.values[query.arm] + self.random.standard_t(3.0))
        return self.optimizer.tell(query, reward)

    def skip_to(self, rounds: int) -> Session:
        """Pulls told at once: half on the ten best arms, half on any."""
        number = rounds - len(self.optimizer.history)
        best = np.argsort(self.values)[-10:]
        some, any_ = self.random.choice(best, number), self.random.integers(0, ARMS, number)
        arms, space = np.where(self.random.random(number) < 0.5, some, any_), self.optimizer.space
        rewards, z = self.values[arms] + self.random.standard_t(3.0, number), None
        if space.has_environment:
            z = space.environment.sample(number, torch.Generator().manual_seed(number))
            rewards += z.sum(-1).numpy()
        self.optimizer.tell_all(arms.tolist(), rewards.tolist(), z)
        return self


def on_arms(estimator: Any) -> Session:
    points = torch.linspace(0.0, 1.0, ARMS, dtype=torch.float64).unsqueeze(-1)
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    features = sf.QuadratureFourier(NODES)
    optimizer = sf.Optimizer(
        sf.Arms(points), sf.Method(kernel, features=features, estimator=estimator)
    )
    return Session.of(optimizer, points)


KNOWN: dict[str, Any] = {"moment": MOMENT, "norm_bound": 1.0}
SKETCH: dict[str, Any] = {"noise": 0.3, "norm_bound": 2.0, "ridge": 0.1, "oversampling": 2.0}
ENVIRONMENT = sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])
ALGORITHMS: dict[str, Callable[[sf.Arms, Any], sf.Optimizer]] = {
    "gp_ucb": sf.algorithms.gp_ucb,
    "tgp_ucb": partial(sf.algorithms.tgp_ucb, **KNOWN),
    "ata_gp_ucb": lambda arms, kernel: variant(
        sf.algorithms.ata_gp_ucb(
            arms,
            kernel,
            horizon=HORIZON,
            features=sf.QuadratureFourier(folded=True),
            **KNOWN,
        ),
        estimator=sf.AdaptiveTruncation(MOMENT, HORIZON),
    ),
    "bbkb": partial(sf.algorithms.bbkb, **SKETCH),
    "bkb": partial(sf.algorithms.bkb, **SKETCH),
    "v_ucb": lambda arms, kernel: sf.algorithms.v_ucb(
        sf.Joint(arms, ENVIRONMENT), sf.kernels.squared_exponential(0.4), level=0.3, ridge=0.1
    ),
}


def algorithms(number: int) -> list[Row]:
    """Named algorithms, with the defaults of the library, after ever more rounds"""
    points = torch.linspace(0.0, 1.0, ARMS, dtype=torch.float64).unsqueeze(-1)
    kernel, sizes = sf.kernels.squared_exponential(LENGTHSCALE), [1_000]
    while 10 * sizes[-1] <= number:
        sizes.append(10 * sizes[-1])
    rows = []
    for name, make in ALGORITHMS.items():
        run, spent = Session.of(make(sf.Arms(points), kernel), points), []
        for size in sizes:
            run.skip_to(size).rounds(5)
            spent.append(_micro(statistics.median(run.rounds(20) for _ in range(9))))
        rows.append([name, *spent])
    return _rows(["algorithm", *(f"µs at t = {size:,}" for size in sizes)], rows)


def in_turns(runs: dict[str, Session], blocks: int, rounds: int) -> dict[str, list[float]]:
    """Seconds a round of each run in each block."""
    for run in runs.values():
        run.rounds(20)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(blocks):
        for name, run in runs.items():
            times[name].append(run.rounds(rounds))
    return times


def growth(number: int) -> list[Row]:
    """Cost of a late round against one after a thousand"""
    rows = []
    for name, make in ESTIMATORS.items():
        runs = {"early": on_arms(make()).skip_to(1_000), "late": on_arms(make()).skip_to(number)}
        times = in_turns(runs, 11, 50)
        early, after = (statistics.median(times[key]) for key in ("early", "late"))
        rows.append([name, _micro(early), _micro(after), f"{after / early:.2f}"])
    return _rows(["estimator", "µs at t = 10³", f"µs at t = {number:,}", "ratio"], rows)


def against_least_squares(number: int) -> list[Row]:
    """Adaptive truncation against least squares, over a whole run"""
    runs = {
        "LeastSquares": on_arms(sf.LeastSquares()),
        "AdaptiveTruncation": on_arms(sf.AdaptiveTruncation(MOMENT, HORIZON)),
        "AdaptiveTruncation, symmetric": on_arms(
            sf.AdaptiveTruncation(MOMENT, HORIZON, root="symmetric")
        ),
    }
    blocks = max(1, number // 10_000)
    times = in_turns(runs, blocks, 200)
    base = statistics.fmean(times["LeastSquares"])
    rows = [
        [name, _micro(statistics.fmean(t)), f"{statistics.fmean(t) / base:.2f}"]
        for name, t in times.items()
    ]
    return _rows(["estimator", f"µs a round over {200 * blocks:,} rounds", "ratio"], rows)


def against_literal(number: int) -> list[Row]:
    """`tell` against the literal update of theta from all rewards, O(m² t)"""
    t = number // 50
    run = on_arms(sf.AdaptiveTruncation(MOMENT, HORIZON)).skip_to(t)
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    features = sf.QuadratureFourier(NODES).embedding(kernel, sf.Arms(run.points))(run.points)
    ours, literal = [], []
    run.rounds(50)
    for _ in range(9):
        ours += [run.tell().seconds for _ in range(30)]
        history = run.optimizer.history
        arms = torch.tensor(history.arms)[history.site]
        literal.append(_literal(features[arms].numpy(), history.rewards.numpy()))
    a, b = statistics.median(ours), statistics.median(literal)
    rows = [["surefoot, tell", _micro(a)], ["literal update", _micro(b)], ["ratio", f"{b / a:.0f}"]]
    return _rows([f"t = {t:,}, m = {NODES}", "µs"], rows)


def _literal(phi: np.ndarray, y: np.ndarray) -> float:
    started = time.perf_counter()
    gram = np.eye(phi.shape[1]) + phi.T @ phi
    values, vectors = np.linalg.eigh(gram)
    inverse_root = vectors @ np.diag(values**-0.5) @ vectors.T
    terms = (phi @ inverse_root) * y[:, None]
    limit = 0.5
    inverse_root @ np.where(np.abs(terms) <= limit, terms, 0.0).sum(0)
    return time.perf_counter() - started


def trials(number: int) -> list[Row]:
    """A figure of the paper: trials of three algorithms on two processes"""
    count, rounds = max(2, number // 50_000), number // 50
    names = ("TGP", "ATA-QFF", "ATA-Nyström")
    started = time.perf_counter()
    spent = Parallel(n_jobs=2)(
        delayed(_trial)(name, seed, rounds) for seed in range(count) for name in names
    )
    whole = time.perf_counter() - started
    rows = []
    for place, name in enumerate(names):
        mine = spent[place::3]
        per_round = statistics.fmean(seconds for seconds, _ in mine) / rounds
        rows.append([name, _micro(per_round), f"{max(size for _, size in mine)}"])
    rows.append([f"{count} trials × {rounds:,} rounds, all three", f"{whole:.0f} s", ""])
    return _rows(["", "µs a round", "features"], rows)


def _trial(name: str, seed: int, rounds: int) -> tuple[float, int]:
    torch.set_num_threads(1)
    points = torch.linspace(0.0, 1.0, ARMS, dtype=torch.float64).unsqueeze(-1)
    space, kernel = sf.Arms(points), sf.kernels.squared_exponential(LENGTHSCALE)
    adaptive = as_published.Adaptive(MOMENT, 1.0, HORIZON)
    known: Any = {"moment": MOMENT, "norm_bound": 1.0, "seed": seed}
    if name == "TGP":
        width = as_published.Truncated(MOMENT, 1.0)
        optimizer = variant(sf.algorithms.tgp_ucb(space, kernel, **known), width=width)
    else:
        rule = sf.LeverageSampling(4.0, "adaptive", feedback="immediate")
        features = sf.QuadratureFourier(folded=True) if name == "ATA-QFF" else sf.Nystrom(rule)
        unions = 2 if name == "ATA-QFF" else 4
        optimizer = variant(
            sf.algorithms.ata_gp_ucb(space, kernel, horizon=HORIZON, features=features, **known),
            estimator=sf.AdaptiveTruncation(MOMENT, HORIZON, unions=unions),
            width=adaptive,
        )
    run = Session.of(optimizer, points, seed)
    started = time.perf_counter()
    run.rounds(rounds)
    info = optimizer.tell(0, 0.0)
    return time.perf_counter() - started, info.dimension


def many_arms(number: int) -> list[Row]:
    """Many arms with 16² quadrature nodes, against one reading of the feature matrix"""
    number = number // 10
    if number >= MANY:  # with fewer arms, a second thread costs more than it saves
        torch.set_num_threads(os.cpu_count() or 1)
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(number, 2, dtype=torch.float64, generator=generator)
    features = sf.QuadratureFourier(16)
    kernel = sf.kernels.squared_exponential(0.4)
    rows = []
    matrix = torch.randn(number, 256, dtype=torch.float64, generator=generator)
    vector = torch.randn(256, dtype=torch.float64, generator=generator)
    for name in ("LeastSquares", "AdaptiveTruncation", "Huber"):
        estimator = ESTIMATORS[name]()
        optimizer = sf.Optimizer(
            sf.Arms(points), sf.Method(kernel, features=features, estimator=estimator)
        )
        run = Session.of(optimizer, points)
        run.rounds(20)
        ours, read = [], []
        for _ in range(9):
            ours.append(run.rounds(20))
            started = time.perf_counter()
            for _ in range(20):
                matrix @ vector
            read.append((time.perf_counter() - started) / 20)
        a, b = statistics.median(ours), statistics.median(read)
        rows.append([name, f"{1e3 * a:.1f}", f"{1e3 * b:.1f}", f"{a / b:.2f}"])
    return _rows([f"{number:,} arms, m = 256", "ms a round", "ms to read Φ", "ratio"], rows)


def _rows(header: list[str], rows: list[list[str]]) -> list[Row]:
    return [dict(zip(header, row, strict=True)) for row in rows]


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:.0f}"


PARTS: dict[str, Callable[[int], list[Row]]] = {
    "algorithms": algorithms,
    "growth": growth,
    "least-squares": against_least_squares,
    "literal": against_literal,
    "trials": trials,
    "many-arms": many_arms,
}


def run(trial: Trial) -> Rows:
    """One part; a table for each, since their columns differ."""
    return {trial.case: PARTS[trial.case](trial.rounds)}


def report(tables: Tables) -> str:
    """A section for each part."""
    on = ran_on(["surefoot", "torch", "numpy"])
    ran = f"Run {on['date']} on {on['cores']} cores, CPU. {on['versions']}.\n\n{ABOUT}"
    parts = ["# What a round on arms costs", ran]
    for name, table in tables.items():
        rows = table.drop(columns=["experiment", "case", "trial"]).to_dict("records")
        parts.append(f"## {(PARTS[name].__doc__ or '').strip()}\n\n{table_from(rows)}".rstrip())
    return "\n\n".join(parts) + "\n"


EXPERIMENTS = [
    benchmark(
        "round-cost",
        "What a round on arms costs",
        published=Scale(1, 1_000_000),
        quick=Scale(1, 5_000),
        run=run,
        output=TableOutput(report),
        cases=[Case(part) for part in PARTS],
        timed=True,
    )
]
