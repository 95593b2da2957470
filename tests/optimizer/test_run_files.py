"""Files that hold no run, or an incomplete one, and what a file holds."""

from pathlib import Path

import gpytorch
import pytest
import torch
from safetensors.torch import save_file

import surefoot as sf
from surefoot.algorithms import gp_ucb, robust_ucb

BOX = sf.Box([0.0, 0.0], [1.0, 1.0])


class TestFiles:
    """Files that are no saved run, or an incomplete one."""

    def saved(self, folder: Path) -> Path:
        optimizer = robust_ucb(BOX)
        optimizer.tell([0.5, 0.5], 1.0)
        optimizer.save(folder / "run")
        return folder / "run"

    @pytest.mark.parametrize("content", [b"", b"not a run", b"\x00" * 64])
    def test_another_file(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(sf.InvalidInput, match="other"):
            sf.Optimizer.load(path)

    def test_tensors_of_another_program(self, tmp_path: Path) -> None:
        save_file({"x": torch.ones(2)}, tmp_path / "other")
        with pytest.raises(sf.InvalidInput, match="other"):
            sf.Optimizer.load(tmp_path / "other")

    def test_a_file_cut_short(self, tmp_path: Path) -> None:
        path = self.saved(tmp_path)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(sf.InvalidInput, match="run"):
            sf.Optimizer.load(path)

    def test_a_failed_save_leaves_the_old_file_and_no_other(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.saved(tmp_path)
        before = path.read_bytes()
        optimizer = robust_ucb(BOX)

        def disk_full(handle: int) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr("os.fsync", disk_full)
        with pytest.raises(OSError, match="no space"):
            optimizer.save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_a_precomputed_kernel_is_in_the_file_once(self, tmp_path: Path) -> None:
        optimizer = gp_ucb(sf.Arms(300), sf.kernels.precomputed(torch.ones(300, 300)))
        optimizer.tell(7, 1.0)
        optimizer.save(tmp_path / "run")
        assert 300 * 300 * 8 < (tmp_path / "run").stat().st_size < 1.2 * 300 * 300 * 8

    def test_another_kernel_is_refused(self, tmp_path: Path) -> None:
        arms = sf.Arms(torch.linspace(0.0, 1.0, 11, dtype=torch.float64)[:, None])
        for space in (arms, sf.Box([0.0], [1.0])):
            optimizer = gp_ucb(space, sf.kernels.squared_exponential(0.2))
            optimizer.tell([0.5] if space is not arms else 5, 1.0)
            optimizer.save(tmp_path / "run")
            with pytest.raises(sf.InvalidInput, match="another `kernel`"):
                sf.Optimizer.load(tmp_path / "run", kernel=sf.kernels.squared_exponential(0.6))
            same = sf.Optimizer.load(tmp_path / "run", kernel=sf.kernels.squared_exponential(0.2))
            assert same.recommend().value == optimizer.recommend().value

    @pytest.mark.parametrize(
        "part",
        [{"estimator": sf.Huber()}, {"features": sf.RandomFourier(8)}],
        ids=["estimator", "features"],
    )
    def test_a_part_of_another_kind_is_refused(self, tmp_path: Path, part: dict) -> None:
        optimizer = gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2))
        optimizer.tell([0.5], 1.0)
        optimizer.save(tmp_path / "run")
        with pytest.raises(sf.InvalidInput, match="was saved with"):
            sf.Optimizer.load(tmp_path / "run", **part)

    def test_a_kernel_of_the_users_own_must_come_again(self, tmp_path: Path) -> None:
        kernel = gpytorch.kernels.PeriodicKernel().double().requires_grad_(False)
        optimizer = gp_ucb(sf.Box([0.0], [1.0]), kernel)
        optimizer.tell([0.5], 1.0)
        optimizer.save(tmp_path / "run")
        with pytest.raises(sf.InvalidInput, match="kernel="):
            sf.Optimizer.load(tmp_path / "run")
        again = sf.Optimizer.load(tmp_path / "run", kernel=kernel)
        at = torch.tensor([[0.3]], dtype=torch.float64)
        torch.testing.assert_close(
            again.belief().posterior.mean(at), optimizer.belief().posterior.mean(at)
        )
