"""Systems whose objective and constraints have closed forms or are found by a Markov chain."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize, stats

from surefoot_experiments.scoreboard.space import Integer, Point, Space

VALUE = "value"
_LONGEST = 10.0  # seconds, the longest p99 that is observed of a queue


def queue(point: Point) -> dict[str, float]:
    """Profit and 99th percentile of the sojourn time of an M/M/c queue.

    Servers slow each other down. A queue that is overloaded serves as much as it can, and its p99
    is the longest that is observed.
    """
    rate, servers = float(point["rate"]), int(point["servers"])
    service = 5.0 / (1.0 + 0.05 * (servers - 1))
    profit = 1.0 + min(rate, servers * service) - 1.5 * servers
    return {VALUE: -max(profit, 0.1), "p99": min(_sojourn_p99(rate, servers, service), _LONGEST)}


def _sojourn_p99(rate: float, servers: int, service: float) -> float:
    """Erlang's formula for the probability of waiting, and the quantile of waiting plus service."""
    load = rate / service
    if load >= servers:
        return math.inf
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    waits = last / (sum(terms) + last)
    drain = servers * service - rate

    def survival(t: float) -> float:
        """P(sojourn > t): service alone, and for those who wait, the sum of two exponentials."""
        if abs(drain - service) < 1e-9:
            both = (1.0 + service * t) * math.exp(-service * t)
        else:
            both = drain * math.exp(-service * t) - service * math.exp(-drain * t)
            both /= drain - service
        return (1.0 - waits) * math.exp(-service * t) + waits * both

    return float(optimize.brentq(lambda t: survival(t) - 0.01, 0.0, 1e6))


def server(point: Point) -> dict[str, float]:
    """A server of five knobs: negative throughput (requests/s), p99 (ms) and memory (MB)."""
    threads, cache, batch = float(point["threads"]), float(point["cache_mb"]), float(point["batch"])
    cpu, ratio = {"none": (1.0, 1.0), "lz4": (1.1, 0.6), "zstd": (1.5, 0.4)}[
        str(point["compression"])
    ]
    hits = 1.0 - math.exp(-cache / (900.0 * ratio))
    parallel = threads / (1.0 + 0.03 * (threads - 1.0) + 0.0008 * threads * (threads - 1.0))
    cost = cpu * (0.4 + 1.2 / batch + 2.0 * (1.0 - hits))
    idle = 1.0 - 0.15 * math.exp(-float(point["keepalive"]) / 10.0)
    p99 = 2.0 + 0.35 * batch * cpu + 0.012 * threads**1.6 + 9.0 * (1.0 - hits)
    memory = 100.0 + cache + 12.0 * threads + 4.0 * batch + 3.0 * float(point["keepalive"])
    return {VALUE: -1000.0 * parallel * idle / (10.0 * cost), "p99": p99, "memory_mb": memory}


def pipeline(point: Point) -> dict[str, float]:
    """A message pipeline of four knobs: negative throughput (MB/s), p99 (ms) and busy cores."""
    batch, workers = float(point["batch"]), float(point["workers"])
    linger = float(point["linger_ms"])
    cpu, size = {"none": (0.7, 1.0), "lz4": (1.0, 0.6), "zstd": (1.8, 0.45)}[str(point["codec"])]
    filled = batch * (1.0 - math.exp(-(2.0 + linger) * 6.0 / batch))
    per_core = filled / (1.0 + 0.06 * filled * cpu)
    cores = workers * (0.35 + 0.65 * filled / (filled + 10.0)) * (0.7 + 0.3 * cpu)
    network = 160.0 / size
    throughput = 1.0 / (1.0 / (workers**0.9 * per_core) + 1.0 / network)
    p99 = 4.0 + 1.3 * linger + 0.25 * filled * cpu + 25.0 * (throughput / network) ** 2
    return {VALUE: -throughput, "p99": p99, "cores": cores}


class Inventory:
    """An (s, S) policy: at level s or below, order up to S; demand is Poisson, unmet demand lost.

    Orders arrive before the demand of the day. Truth is the stationary distribution of the level.

    Args:
        demand: Mean demand of a day.
        days: Days of a simulated measurement.
        ordering: Cost of an order.
        holding: Cost of an item in stock at the end of a day.
    """

    def __init__(
        self, demand: float = 8.0, days: int = 200, ordering: float = 30.0, holding: float = 1.0
    ) -> None:
        self._demand, self._days = demand, days
        self._ordering, self._holding = ordering, holding

    def truth(self, point: Point) -> dict[str, float]:
        """Mean cost of a day, and the share of days with unmet demand."""
        return dict(_stationary(self._demand, self._ordering, self._holding, *_policy(point))[0])

    def measure(self, point: Point, generator: np.random.Generator) -> dict[str, float]:
        """The same of simulated days that begin in the stationary distribution."""
        reorder, up_to = _policy(point)
        levels = _stationary(self._demand, self._ordering, self._holding, reorder, up_to)[1]
        level = int(generator.choice(len(levels), p=levels))
        demands = generator.poisson(self._demand, self._days)
        cost, short = 0.0, 0
        for demand in demands:
            if level <= reorder:
                level, cost = up_to, cost + self._ordering
            short += demand > level
            level = max(level - int(demand), 0)
            cost += self._holding * level
        return {VALUE: cost / self._days, "stockouts": short / self._days}


def _policy(point: Point) -> tuple[int, int]:
    reorder = int(point["reorder"])
    return reorder, reorder + int(point["quantity"])


@cache
def _stationary(
    demand: float, ordering: float, holding: float, reorder: int, up_to: int
) -> tuple[dict[str, float], np.ndarray]:
    """True responses, and the distribution (up_to + 1,) of the level at the end of a day."""
    after = np.arange(up_to + 1)
    served = np.where(after <= reorder, up_to, after)  # the level once an order has arrived
    chances = stats.poisson.pmf(np.arange(up_to + 1), demand)
    move = np.zeros((up_to + 1, up_to + 1))
    for level, start in enumerate(served):
        move[level, start - np.arange(start)] = chances[:start]
        move[level, 0] = 1.0 - chances[:start].sum()
    system: Any = np.vstack([move.T - np.eye(up_to + 1), np.ones(up_to + 1)])
    levels = np.linalg.lstsq(system, np.r_[np.zeros(up_to + 1), 1.0], rcond=None)[0]
    levels = levels.clip(0.0) / levels.clip(0.0).sum()
    cost = ordering * levels[after <= reorder].sum() + holding * (levels @ after)
    short = levels @ stats.poisson.sf(served, demand)
    return {VALUE: float(cost), "stockouts": float(short)}, levels


INVENTORY = Inventory()
INVENTORY_SPACE = Space((Integer("reorder", 0, 40), Integer("quantity", 1, 60)))
