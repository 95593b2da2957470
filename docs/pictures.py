"""Draw the pictures of the documentation: `make pictures`.

With a folder of results as its argument, such as `experiments/results`, it also draws the regrets
of the value-at-risk experiments and the profiles of the scoreboard.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from torch import Tensor

import surefoot as sf
from surefoot_experiments.harness.figures import curves, style
from surefoot_experiments.papers.risk_runs import MEASURE
from surefoot_experiments.scoreboard import scores

IMAGES = Path(__file__).parent / "images"
TABLES = Path(__file__).parents[1] / "experiments/src/surefoot_experiments/benchmarks"
ROUNDS = 40
SEEDS = 10
NOISE = 0.2  # standard deviation of every measurement
SPIKES, SPIKE = 0.06, 30.0  # how often, and how far
EDGE = 5.0  # of the axis; spikes are drawn there
BLUE, ORANGE, GREY = "#3f86c8", "#d9541e", "#8a8f98"
EVALUATIONS = (6, 63, 215)
LENGTHSCALE = 200**-0.5  # of the kernel exp(-100 (x - x')^2)
PANELS = {
    "value-at-risk-3a": "Branin-(1,1)",
    "value-at-risk-3b": "Goldstein-Price-(1,1)",
    "value-at-risk-3c": "Hartmann-(1,2)",
    "value-at-risk-3d": "Hartmann-(2,1)",
    "value-at-risk-5a": "portfolio-(3,2)",
    "value-at-risk-5b": "robot pushing-(3,2)",
    "value-at-risk-4a": "Branin-(1,1), continuous Z",
    "value-at-risk-4b": "Goldstein-Price-(1,1), continuous Z",
    "value-at-risk-4c": "Hartmann-(1,2), continuous Z",
    "value-at-risk-4d": "Hartmann-(2,1), continuous Z",
}


METHODS = {
    "surefoot": ("surefoot", BLUE),
    "optuna-gp": ("Optuna GP", ORANGE),
    "optuna-tpe": ("Optuna TPE", "#0a7f5a"),
    "optuna-cma": ("Optuna CMA-ES", "#c99700"),
    "random": ("random search", GREY),
}


def truth(x: Tensor) -> Tensor:
    """Two hills, the lower one broader; standard deviation about 1 over [0, 1]."""
    high = 2.6 * torch.exp(-(((x - 0.72) / 0.09) ** 2))
    broad = 1.7 * torch.exp(-(((x - 0.25) / 0.16) ** 2))
    return high + broad - 1


GRID = torch.linspace(0, 1, 401, dtype=torch.float64).unsqueeze(-1)
BEST = float(truth(GRID).max())


@dataclass(frozen=True)
class Run:
    optimizer: sf.Optimizer
    points: list[float]
    values: list[float]
    regrets: list[float]  # of the recommendation after each round


def run(robust: bool, seed: int) -> Run:
    """`ROUNDS` rounds; the plain method is told the right kernel and the right noise."""
    space = sf.Box([0.0], [1.0])
    if robust:
        optimizer = sf.algorithms.robust_ucb(space, seed=seed)
    else:
        kernel = sf.kernels.matern(2.5, lengthscale=0.15)
        optimizer = sf.algorithms.gp_ucb(space, kernel, ridge=NOISE**2, seed=seed)
    world = np.random.default_rng(seed)
    done = Run(optimizer, [], [], [])
    for _ in range(ROUNDS):
        query = optimizer.ask()
        value = float(truth(query.point)) + NOISE * world.standard_normal()
        if world.random() < SPIKES:
            value += SPIKE * world.choice([-1, 1])
        optimizer.tell(query, value)
        done.points.append(float(query.point))
        done.values.append(value)
        done.regrets.append(BEST - float(truth(optimizer.recommend().point)))
    return done


def draw_fit(axes: Axes, done: Run, title: str) -> None:
    with torch.no_grad():
        mean, deviation = done.optimizer.belief().posterior.mean_and_deviation(GRID)
        reach = 2 * deviation
    x = GRID[:, 0].numpy()
    axes.fill_between(x, mean - reach, mean + reach, color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(x, mean, color=BLUE, label="posterior mean")
    axes.plot(
        x, truth(GRID)[:, 0], color="black", linewidth=1, linestyle="--", label="true function"
    )
    shown = np.clip(done.values, -EDGE, EDGE)
    spikes = np.abs(done.values) > EDGE
    points = np.array(done.points)
    axes.plot(points[~spikes], shown[~spikes], ".", color=GREY, markersize=5, label="measured")
    for sign, marker in ((1, "^"), (-1, "v")):
        beyond = spikes & (np.sign(done.values) == sign)
        label = "outliers (off by 30)" if sign == 1 else None
        axes.plot(points[beyond], shown[beyond], marker, color=ORANGE, markersize=6, label=label)
    chosen = float(done.optimizer.recommend().point)
    axes.axvline(chosen, color="black", linewidth=1.2, label="recommended")
    axes.set(title=title, ylim=(-1.07 * EDGE, 1.07 * EDGE), xlabel="parameter")


def draw_spikes() -> None:
    plain = [run(robust=False, seed=seed) for seed in range(SEEDS)]
    robust = [run(robust=True, seed=seed) for seed in range(SEEDS)]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.3))
    draw_fit(left, plain[0], "GP-UCB")
    draw_fit(middle, robust[0], "surefoot, robust_ucb")
    left.set_ylabel("value")
    rounds = range(1, ROUNDS + 1)
    for runs, colour, name in ((plain, GREY, "GP-UCB"), (robust, BLUE, "robust_ucb")):
        regrets = np.array([done.regrets for done in runs])
        right.plot(rounds, regrets.mean(0), color=colour, label=name)
    right.set(title=f"regret, mean of {SEEDS} runs", xlabel="measurements", ylim=(0, None))
    right.legend(frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    handles, labels = middle.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=5, loc="lower left", fontsize=8)
    figure.savefig(IMAGES / "spikes.png")


def draw_starvation() -> None:
    """Figure 1 of Calandriello et al. 2019: measured on [0, 1/2], three deviations everywhere."""
    space = sf.Arms(GRID)
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    world = np.random.default_rng(2)
    gram = np.exp(-0.5 * ((GRID - GRID.T) / LENGTHSCALE).square().numpy())
    drawn = world.multivariate_normal(np.zeros(len(GRID)), gram, method="eigh")
    figure, rows = plt.subplots(2, 3, figsize=(9.6, 5.2), sharex=True, sharey=True)
    for evaluations, (above, below) in zip(EVALUATIONS, rows.T, strict=True):
        bkb = sf.algorithms.bkb(space, kernel, noise=0.1, oversampling=4.0, ridge=0.1**2)
        arms = world.integers(len(GRID) // 2, size=evaluations)
        bkb.tell_all(arms, drawn[arms] + 0.1 * world.standard_normal(evaluations))
        posterior = bkb.belief().posterior
        factor = posterior.factor
        starved = factor.ridge * factor.leverage(posterior.embedding(GRID))
        draw_bounds(above, drawn, bkb, starved, ORANGE)
        draw_bounds(below, drawn, bkb, posterior.variance(GRID), BLUE)
        above.set_title(f"{evaluations} measurements")
    rows[0, 0].set_ylabel("subset of regressors")
    rows[1, 0].set_ylabel("BKB")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    handles, labels = rows[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=5, loc="lower left", fontsize=8)
    figure.savefig(IMAGES / "starvation.png")


def draw_bounds(
    axes: Axes,
    drawn: np.ndarray,  # (n,), the function on the grid
    bkb: sf.Optimizer,
    variance: Tensor,  # (n,)
    colour: str,
) -> None:
    posterior = bkb.belief().posterior
    x, mean, reach = GRID[:, 0].numpy(), posterior.mean(GRID), 3 * variance.sqrt()
    axes.fill_between(x, mean - reach, mean + reach, color=colour, alpha=0.25, linewidth=0)
    axes.plot(x, mean, color=colour, label="posterior mean ± 3 standard deviations")
    axes.plot(x, drawn, color="black", linewidth=1, linestyle="--", label="true function")
    measured = bkb.history.sites[bkb.history.site, 0]
    axes.plot(measured, bkb.history.rewards, ".", color=GREY, markersize=3, label="measured")
    dictionary = posterior.embedding.embedding.dictionary[:, 0]
    axes.plot(dictionary, np.full(len(dictionary), -4.2), "|", color="black", label="dictionary")
    axes.set(ylim=(-4.6, 4.6), xlim=(0, 1))


def draw_value_at_risk(results: Path) -> None:
    """The value-at-risk experiments of a folder of results, a panel each."""
    there = {name: title for name, title in PANELS.items() if (results / name).exists()}
    if not there:
        raise SystemExit(f"{results} holds no value-at-risk experiment")
    parts = [
        pd.read_parquet(results / name / "numbers.parquet").assign(task=title)
        for name, title in there.items()
    ]
    with style():
        figure = curves({"numbers": pd.concat(parts)}, MEASURE)
        figure.savefig(IMAGES / "value_at_risk.png", dpi=110, metadata={"Software": None})


def draw_scoreboard(results: Path) -> None:
    """Performance profiles on bbob-noisy, a panel for each kind of noise."""
    folder = results / "scoreboard" / "confirmation" / "60-measurements" / "bbob-noisy"
    rows = pd.read_parquet(folder / "checkpoints.parquet")
    rows = scores.compared(rows[rows["rival"].isin(METHODS)])
    factors = np.logspace(0.0, 3.0, 200)
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.3), sharey=True)
    for axes, kind in zip(panels, ("gaussian", "uniform", "cauchy"), strict=True):
        profiles = scores.profile(rows[rows["kind"] == kind], factors)
        for name, (label, colour) in METHODS.items():
            width = 2.2 if name == "surefoot" else 1.2
            axes.plot(factors, profiles[name], label=label, color=colour, linewidth=width)
        axes.set(title=f"{kind.title()} noise", xscale="log", xlabel="factor of the smallest gap")
    panels[0].set(ylabel="share of runs within it", ylim=(0, 1))
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=5, loc="lower left", fontsize=8)
    figure.savefig(IMAGES / "scoreboard.png")


def draw_cost() -> None:
    """Time of a round by the number of rewards and of arms, from the stored tables of costs."""
    text = (TABLES / "sketch_cost.md").read_text()
    by_rewards = {
        "exact process, GPyTorch": columns(text, "| t | fantasy |", (0, 2)),
        "surefoot, BBKB": columns(text, "| t | ms a round |", (0, 1)),
    }
    authors = columns(text, "|   | ms a round | target |", (0, 1, 4))
    methods = {"surefoot, BKB": ("bkb", 1), "surefoot, BBKB": ("bbkb", 1)}
    methods |= {"authors' code, BKB": ("bkb", 2), "authors' code, BBKB": ("bbkb", 2)}
    by_arms = {}
    for label, (name, column) in methods.items():
        rows = [row for row in authors if row[0].split(",")[0] == name]
        by_arms[label] = [[row[0].split()[1].replace(",", ""), row[column]] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), sharey=True)
    for axes, curves_of in ((left, by_rewards), (right, by_arms)):
        for label, points in curves_of.items():
            x, y = ([float(row[i].split()[0].replace(",", "")) for row in points] for i in (0, 1))
            color = BLUE if "surefoot" in label else ORANGE
            mark = "s--" if label.endswith(" BBKB") else "o-"
            axes.loglog(x, y, mark, color=color, label=label, markersize=4)
        axes.legend(frameon=False, fontsize=7)
    left.set(xlabel="rewards, 10,000 arms", ylabel="ms a round")
    right.set(xlabel="arms")
    right.set_xticks([1_000, 10_000], ["1,000", "10,000"], minor=False)
    right.minorticks_off()
    figure.tight_layout()
    figure.savefig(IMAGES / "cost.png")


def columns(text: str, header: str, chosen: tuple[int, ...]) -> list[list[str]]:
    """Cells of some columns of the table with this header, by row."""
    lines = text[text.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [[line.strip("|").split("|")[i].strip() for i in chosen] for line in lines]


def main() -> None:
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130}
    )
    IMAGES.mkdir(exist_ok=True)
    draw_spikes()
    draw_starvation()
    draw_cost()
    if len(sys.argv) > 1:
        draw_value_at_risk(Path(sys.argv[1]))
        draw_scoreboard(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
