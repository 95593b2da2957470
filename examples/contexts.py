"""The load is known before each choice: the best configuration as a function of it."""

import random

import surefoot as sf

noise = random.Random(0)


def latency(load, cache, threads):
    spike = 20 if noise.random() < 0.05 else 0
    best = 0.2 + 0.6 * load
    return 5 + 10 * (cache - best) ** 2 + (threads - 8) ** 2 / 60 + noise.gauss(0, 0.1) + spike


space = sf.parameters.Space(
    {
        "load": sf.parameters.Float(0, 1),
        "cache": sf.parameters.Float(0, 1),
        "threads": sf.parameters.Int(1, 16),
    }
)
optimizer = sf.algorithms.robust_ucb(space, seed=0)
for _ in range(40):
    load = noise.choice([0.1, 0.5, 0.9])
    query = optimizer.ask(within={"load": load})
    optimizer.tell(query, -latency(**query.params))
best = {load: optimizer.recommend(within={"load": load}).params for load in (0.1, 0.5, 0.9)}
print(*best.values(), sep="\n")
