"""A damaged file is refused, whatever is damaged in it, and a run is saved as the same bytes."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

import surefoot as sf
from surefoot.algorithms import robust_ucb
from surefoot.optimizer import serialization


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    optimizer = robust_ucb(
        sf.Arms(torch.linspace(0.0, 1.0, 11).unsqueeze(-1)), sf.kernels.squared_exponential(0.2)
    )
    for step in range(20):
        optimizer.tell(optimizer.ask(), float(np.sin(step)))
    path = tmp_path_factory.mktemp("saved") / "run"
    optimizer.save(path)
    return path


def test_a_file_is_the_same_when_it_is_saved_again(saved: Path, tmp_path: Path) -> None:
    sf.Optimizer.load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


@pytest.mark.daily(1)
@pytest.mark.parametrize("kind", ["bit", "byte", "cut", "removed", "repeated"])
def test_a_damaged_file_is_refused(saved: Path, kind: str, tmp_path: Path) -> None:
    content, generator = saved.read_bytes(), np.random.default_rng(0)
    for _ in range(80):
        damaged, at = bytearray(content), int(generator.integers(len(content)))
        if kind == "bit":
            damaged[at] ^= 1 << int(generator.integers(8))
        elif kind == "byte":
            damaged[at] ^= int(generator.integers(1, 256))
        elif kind == "cut":
            del damaged[at:]
        elif kind == "removed":
            del damaged[at : at + int(generator.integers(1, 40))]
        else:
            damaged[at:at] = damaged[at : at + int(generator.integers(1, 40))]
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        with pytest.raises(sf.InvalidInput):
            sf.Optimizer.load(path)


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every value within JSON."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


STRANGE = [
    None,
    True,
    -1,
    1e308,
    "x",
    [],
    {},
    {"tensor": "99"},
    {"type": "os:system", "fields": {}},
]


@pytest.mark.long
def test_other_content_with_a_right_checksum_is_read_or_refused(
    saved: Path, tmp_path: Path
) -> None:
    tensors, values = serialization.read(saved)
    generator, every = np.random.default_rng(0), list(places(values))
    refused = 0
    for _ in range(120):
        changed: Any = copy.deepcopy(values)
        *above, last = every[generator.integers(len(every))]
        parent = changed
        for key in above:
            parent = parent[key]
        parent[last] = copy.deepcopy(STRANGE[generator.integers(len(STRANGE))])
        header = json.dumps(changed)
        entry = f"{serialization._checksum(header, tensors)} {header}"
        (tmp_path / "other").write_bytes(save(tensors, {"surefoot": entry}))
        try:
            sf.Optimizer.load(tmp_path / "other")
        except sf.InvalidInput:
            refused += 1
    assert refused > 40


def test_files_of_older_formats_say_so(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(save({}, {"surefoot": json.dumps({"format": 7})}))
    with pytest.raises(sf.InvalidInput, match=f"format before {serialization.FORMAT}"):
        sf.Optimizer.load(tmp_path / "old")
