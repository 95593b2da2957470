"""The table of `rounds.md`: how much of the possible gain is found, by parameters and rounds.

    python docs/rounds_table.py [SEEDS]

Functions are drawn from a Gaussian process (Matérn-5/2, lengthscale 0.5 for every parameter, on
the unit cube) and measured with Gaussian noise of a tenth of their standard deviation and 5 % of
outliers that are off by 10 standard deviations. 0 % is the median of random configurations, 100 %
the maximum.
"""

import sys

import torch

import surefoot as sf

DIMENSIONS = (1, 2, 4)
ROUNDS = (10, 15, 20, 30, 40, 60, 80)
WAVES = 2_000


def drawn(dimension: int, seed: int) -> tuple:
    """A function of points (n, d) with values of standard deviation 1, its median and maximum."""
    generator = torch.Generator().manual_seed(seed)
    normal = {"generator": generator, "dtype": torch.float64}
    # Matérn-5/2 has a Student-t spectrum with 5 degrees of freedom.
    chi = torch.randn(WAVES, 5, **normal).square().sum(-1, keepdim=True)
    frequencies = torch.randn(WAVES, dimension, **normal) / 0.5 * (5 / chi).sqrt()
    phases = 2 * torch.pi * torch.rand(WAVES, **normal)
    amplitudes = torch.randn(WAVES, **normal) * (2 / WAVES) ** 0.5

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x @ frequencies.T + phases) @ amplitudes

    some = torch.rand(5_000, dimension, **normal)
    values = f(some)
    start = some[values.topk(20).indices].clone().requires_grad_()
    ascent = torch.optim.Adam([start], lr=0.01)
    for _ in range(300):
        ascent.zero_grad()
        (-f(start).sum()).backward()
        ascent.step()
        start.data.clamp_(0, 1)
    spread = float(values.std())
    best = max(float(f(start.detach()).max()), float(values.max()))
    return (lambda x: f(x) / spread), float(values.median()) / spread, best / spread


def gains(dimension: int, seed: int) -> list[float]:
    """Gain of the recommendation after each number of rounds."""
    f, median, best = drawn(dimension, seed)
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0] * dimension, [1.0] * dimension), seed=seed)
    noise, found = torch.Generator().manual_seed(seed), []
    for number in range(1, max(ROUNDS) + 1):
        query = optimizer.ask()
        outlier = 10.0 if torch.rand((), generator=noise) < 0.05 else 0.0
        sign = 1.0 if torch.rand((), generator=noise) < 0.5 else -1.0
        error = 0.1 * float(torch.randn((), generator=noise)) + sign * outlier
        optimizer.tell(query, float(f(query.point.unsqueeze(0))) + error)
        if number in ROUNDS:
            point = optimizer.recommend().point.unsqueeze(0)
            found.append((float(f(point)) - median) / (best - median))
    return found


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| parameters | " + " | ".join(f"{n} rounds" for n in ROUNDS) + " |")
    print("|---" + "|---:" * len(ROUNDS) + "|")
    for dimension in DIMENSIONS:
        table = torch.tensor([gains(dimension, seed) for seed in range(seeds)])
        cells = [f"{100 * value:.0f} %" for value in table.median(0).values.tolist()]
        print(f"| {dimension} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
