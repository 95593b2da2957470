"""Short runs of a benchmark say something about long ones: a search that uses both."""

import random

import surefoot as sf

noise = random.Random(0)


def benchmark(threads, cache, seconds):
    """A latency; short runs are noisier, and are slowed by a cold cache."""
    spike = 30 if noise.random() < 0.05 else 0
    cold = 8 / seconds * (1 + cache)
    return 10 + (threads - 12) ** 2 / 40 + 6 * (cache - 0.6) ** 2 + cold + spike


space = sf.parameters.Space(
    {"threads": sf.parameters.Int(1, 32), "cache": sf.parameters.Float(0, 1)}
)
fidelity = sf.Fidelity([5, 30, 120], cost=[5, 30, 120])
optimizer = sf.algorithms.robust_ucb(sf.Problem(space, fidelity=fidelity), seed=0)
spent = 0.0
while spent < 1200:  # seconds: ten runs of full length
    query = optimizer.ask()
    seconds = float(query.environment)
    optimizer.tell(query, -benchmark(**query.params, seconds=seconds))
    spent += seconds
best = optimizer.recommend()
print(best.params, f"latency of a run of 120 s: {-best.value:.1f}")
