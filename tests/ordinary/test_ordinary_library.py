"""The sampler for Optuna and the library itself for 300 rounds, as programs of their users."""

from __future__ import annotations

import pytest

from ordinary.installed import Installed, result
from ordinary.kinds import KINDS, bowl

SIZES = [1, 2, 10, 64, 65, 100, 129, 200, 300]
FEW = {"plain": [2, 65, 300], "objectives": [2, 65, 66]}  # each day
CHOSEN = 2  # rounds before each size; the others are at random


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["daily", "every"]
)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_sampler_on_each_kind(installed: Installed, name: str, every: bool) -> None:
    sizes = [*SIZES, 1000, 2000] if every else FEW.get(name, [2, 65, 130])
    found = result(installed, "sample", name, sizes, 40 if every else CHOSEN)
    assert found[-1]["size"] == sizes[-1]
    for one in found:
        if one["size"] >= 100:
            assert KINDS[name].regret(one["params"]) <= 0.3, one
            assert one["feasible"]


@pytest.mark.long
def test_a_belief_at_every_number_of_trials(installed: Installed) -> None:
    assert result(installed, "beliefs", "plain", 300) == [*range(1, 301)]


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [([10, 64, 65, 300], CHOSEN), pytest.param([300, 2000], 300, marks=pytest.mark.long)],
    ids=["daily", "every"],
)
def test_ask_and_tell(installed: Installed, sizes: list[int], chosen: int) -> None:
    found = result(installed, "ask_and_tell", sizes, chosen)
    assert [size for size, _ in found] == sizes
    for size, (x, y) in found:
        if size >= 100:
            assert bowl({"x": x, "y": y}) <= 0.1, size


def test_2000_rounds_on_arms(installed: Installed) -> None:
    for name, regret in result(installed, "arms", 2000).items():
        assert regret <= 0.2, name
