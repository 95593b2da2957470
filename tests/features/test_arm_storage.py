"""Tables in a file or in single precision choose what tables in memory choose."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import surefoot as sf
from support.device import DEVICE
from support.optimizers import optimizer_of
from surefoot.features import exact
from surefoot.spaces.storage import Rows

NUMBER = 200
POINTS = np.random.default_rng(0).random((NUMBER, 2))
MOMENT = sf.Moment(alpha=1.0, bound=4.0)
STORED = {"in file": sf.spaces.InFile(), "single": sf.spaces.InMemory("float32")}
FEATURES = {
    "exact": sf.Exact,
    "dictionary": lambda: sf.Dictionary(POINTS[:20]),
    "quadrature": lambda: sf.QuadratureFourier(8),
    "every round": lambda: sf.Nystrom(sf.LeverageSampling(5.0)),
    "adaptive": lambda: sf.Nystrom(sf.LeverageSampling(5.0, "adaptive")),
    "symmetric": lambda: sf.Nystrom(sf.LeverageSampling(5.0, root="symmetric")),
    "pivoted": lambda: sf.Nystrom(sf.PivotedCholesky(16)),
}
ESTIMATORS = {
    "truncation": lambda: sf.Truncation(MOMENT),
    "adaptive": lambda: sf.AdaptiveTruncation(MOMENT, 100),
    "huber": sf.Huber,
    "student-t": sf.StudentT,
}


def optimizer(storage: Any, points: Any = POINTS, **parts: Any) -> sf.Optimizer:
    kernel = parts.pop("kernel", sf.kernels.squared_exponential(0.4))
    return optimizer_of(sf.Arms(points, storage=storage), kernel, ridge=0.05, **parts)


def played(run: sf.Optimizer, rounds: int = 10) -> list[int]:
    """Arms of rounds, of some asked together, and of the recommendation."""
    noise, asked = np.random.default_rng(1), []
    for step in range(rounds):
        for query in run.ask_batch(3 if step % 5 == 4 else 1):
            asked.append(query.arm)
            value = float(np.sin(5.0 * POINTS[query.arm]).sum())
            run.tell(query, value + noise.standard_t(3.0))
    return [*asked, run.recommend().arm]  # type: ignore[list-item]


@pytest.mark.long
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("features", FEATURES)
def test_the_storage_changes_no_choice(
    features: str, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "_LARGEST_TABLE", 10)
    make = FEATURES[features]
    plain = optimizer(sf.spaces.InMemory(), features=make())
    assert played(optimizer(STORED[stored], features=make())) == played(plain)


@pytest.mark.long
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_storage_changes_no_choice_of_an_estimator(estimator: str) -> None:
    make, features = ESTIMATORS[estimator], sf.Dictionary(POINTS[:20])
    plain = optimizer(sf.spaces.InMemory(), features=features, estimator=make())
    stored = optimizer(sf.spaces.InFile(), features=features, estimator=make())
    assert played(stored) == played(plain)


@pytest.mark.long
def test_a_belief_of_a_former_dictionary_remains_what_it_was() -> None:
    features = sf.Nystrom(sf.LeverageSampling(2.0))
    run, plain = (
        optimizer(one, features=features) for one in (sf.spaces.InFile(), sf.spaces.InMemory())
    )
    played(run, 10), played(plain, 10)
    before, expected = run.belief(), plain.belief()
    played(run, 10)
    for belief in (before, run.belief(), before):  # each overwrites the features of the other
        assert belief.posterior.best_arm(2.0) is not None
    among = POINTS[40:80]
    for found, known in zip(before.predict(among), expected.predict(among), strict=True):
        torch.testing.assert_close(found, known, atol=1e-9, rtol=0.0)
    ours = before.posterior.updated([_pull(run.space, 7)]).variance(run.space.points)
    theirs = expected.posterior.updated([_pull(plain.space, 7)]).variance(plain.space.points)
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=0.0)


def _pull(space: Any, arm: int) -> Any:
    from surefoot.regression.observations import Pull

    return Pull(space.points[arm], arm, 1)


def test_rows_that_grow_keep_what_is_in_them() -> None:
    for storage in (sf.spaces.InMemory(), sf.spaces.InFile()):
        rows = Rows(storage, 5, torch.device("cpu"))
        first = rows.first(1)
        first[0] = torch.arange(5.0, dtype=torch.float64)
        more = rows.first(30)
        more[0, 0] = 7.0
        assert first[0].tolist() == more[0].tolist() == [7.0, 1.0, 2.0, 3.0, 4.0]


class TestArmsInAFile:
    @pytest.fixture(params=["npy", "npy32", "safetensors", "map"])
    def source(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        path = tmp_path / f"arms.{'safetensors' if request.param == 'safetensors' else 'npy'}"
        if request.param == "safetensors":
            save_file({"points": torch.from_numpy(POINTS)}, path)
        else:
            np.save(path, POINTS.astype(np.float32) if request.param == "npy32" else POINTS)
        if request.param != "map":
            return path
        np.save(path, np.concatenate([POINTS[:7], POINTS]))
        return np.load(path, mmap_mode="r")[7:]

    @pytest.mark.long
    def test_are_those_in_memory(self, source: Any) -> None:
        arms = sf.Arms(source)
        assert arms.is_mapped
        torch.testing.assert_close(arms.points, torch.from_numpy(POINTS), atol=1e-7, rtol=0.0)
        plain = optimizer(sf.spaces.InMemory(), arms.points.clone())
        assert played(optimizer(sf.spaces.InFile(), source)) == played(plain)

    def test_are_not_written_to_a_run_file(self, source: Any, tmp_path: Path) -> None:
        run = optimizer(sf.spaces.InFile(), source, features=sf.Dictionary(POINTS[:9]))
        played(run, 3)
        run.save(tmp_path / "run")
        with pytest.raises(sf.InvalidInput, match=r"`Optimizer.load\(path, space=...\)`"):
            sf.Optimizer.load(tmp_path / "run")
        again = sf.Optimizer.load(tmp_path / "run", space=sf.Arms(source))
        assert played(again, 5) == played(run, 5)

    def test_are_refused_where_they_are_none(self, tmp_path: Path) -> None:
        for name, content in (
            ("flat.npy", POINTS[:, 0]),
            ("nan.npy", np.full((4, 2), np.nan)),
            ("text.npy", np.array([["a", "b"]])),
        ):
            np.save(tmp_path / name, content)
            with pytest.raises(sf.InvalidInput, match="`points`"):
                sf.Arms(tmp_path / name)
        two = {"a": torch.zeros(2, 2), "b": torch.zeros(2, 2)}
        save_file(two, tmp_path / "two.safetensors")
        (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
        (tmp_path / "cut.safetensors").write_bytes(b"\xff" * 12)
        for name in ("two.safetensors", "cut.npy", "cut.safetensors", "none.npy", "arms.csv"):
            with pytest.raises(sf.InvalidInput, match="`points`"):
                sf.Arms(tmp_path / name)


def test_what_is_no_storage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sf.InvalidInput, match="`storage`"):
        sf.Arms(POINTS, storage="file")  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="`precision`"):
        sf.spaces.InMemory("float16")  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="`folder`"):
        sf.spaces.InFile(str(tmp_path / "absent"))


_PEAK = """
import json, sys, threading, time
import numpy as np, torch
import surefoot as sf

def anonymous():
    text = open("/proc/self/status").read().split("RssAnon:")[1]
    shared = open("/proc/self/status").read().split("RssShmem:")[1]
    return (int(text.split()[0]) + int(shared.split()[0])) * 1024

number, features, precision = int(sys.argv[1]), sys.argv[2], sys.argv[3]
points = np.random.default_rng(0).random((number, 2))
kernel, most = sf.kernels.squared_exponential(0.2), [0]
if features == "fixed":
    rule = sf.Dictionary(np.random.default_rng(1).random((64, 2)))
else:
    rule = sf.Nystrom(sf.LeverageSampling(5.0, "adaptive"))
storage = sf.spaces.InFile(sys.argv[4]) if precision == "file" else sf.spaces.InMemory(precision)
method = sf.Method(kernel, features=rule, ridge=0.01)
warm = sf.Optimizer(sf.Arms(points[:99]), method)
warm.tell(warm.ask(), 0.0), warm.ask()
before = anonymous()
def watch():
    while True:
        most[0] = max(most[0], anonymous())
        time.sleep(0.001)
threading.Thread(target=watch, daemon=True).start()
run = sf.Optimizer(sf.Arms(points, storage=storage), method)
run.tell_all(list(range(0, number, number // 90)), [0.0] * len(range(0, number, number // 90)))
for _ in range(3):
    info = run.tell(run.ask(), 0.0)
run.recommend(), run.ask_batch(2)
print(json.dumps([most[0] - before, info.dimension]))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@pytest.mark.parametrize("features", ["fixed", "sketched"])
@pytest.mark.parametrize(("precision", "tables"), [("float64", 1.0), ("float32", 0.5), ("file", 0)])
def test_memory_is_that_of_one_table(
    features: str, precision: str, tables: float, tmp_path: Path
) -> None:
    number = 400_000
    command = [sys.executable, "-c", _PEAK, str(number), features, precision, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most, dimension = json.loads(done.stdout)
    assert dimension > 40
    per_arm = 8 * 24  # points, bounds and their like
    assert most < tables * number * dimension * 8 * 1.06 + number * per_arm


@pytest.mark.skipif(DEVICE.type != "cuda", reason="needs `--device cuda`")
def test_a_million_arms_take_the_memory_of_one_table_on_a_gpu() -> None:
    points = torch.rand(10**6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    before, table = torch.cuda.memory_allocated(), len(points) * 256 * 8
    torch.cuda.reset_peak_memory_stats()
    optimizer = sf.Optimizer(
        sf.Arms(points).to(DEVICE),
        sf.Method(sf.kernels.squared_exponential(0.2), features=sf.RandomFourier(256), ridge=0.01),
    )
    for turn in range(4):
        optimizer.tell(optimizer.ask(), float(turn % 2))
    assert torch.cuda.max_memory_allocated() - before < 1.3 * table
