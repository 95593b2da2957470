"""Kernels of the user's own, on arms of any kind."""

from collections.abc import Callable

import pytest
import torch

import surefoot as sf


class TestKernelsOnAnything:
    def test_strings(self) -> None:
        words = ["heat", "heap", "leap", "reap", "read", "bead", "beam", "seam", "seat", "boat"]

        def shared(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            rows, columns = left[:, 0].long().tolist(), right[:, 0].long().tolist()
            same = [
                [sum(a == b for a, b in zip(words[i], words[j], strict=True)) for j in columns]
                for i in rows
            ]
            return torch.tensor(same, dtype=torch.float64) / 4

        kernel = sf.kernels.custom(shared)
        table = shared(*[torch.arange(10.0).unsqueeze(-1)] * 2)
        ours = sf.Optimizer(
            sf.Arms(10), sf.Method(kernel, features=sf.Nystrom(sf.LeverageSampling(3.0)), ridge=0.1)
        )
        known = sf.Optimizer(
            sf.Arms(10),
            sf.Method(
                sf.kernels.precomputed(table),
                features=sf.Nystrom(sf.LeverageSampling(3.0)),
                ridge=0.1,
            ),
        )
        for optimizer in (ours, known):
            for turn in range(25):
                query = optimizer.ask()
                optimizer.tell(query, words[query.arm].count("a") + 0.01 * turn)
        assert torch.equal(ours.history.site, known.history.site)
        assert ours.recommend().arm == known.recommend().arm

    @pytest.mark.parametrize(
        ("block", "said"),
        [
            (lambda left, right: torch.ones(2, 2), "shape"),
            (lambda left, right: torch.full((len(left), len(right)), torch.nan), "NaN"),
        ],
    )
    def test_a_function_that_gives_no_block(self, block: Callable, said: str) -> None:
        with pytest.raises(sf.InvalidInput, match=said):
            sf.Optimizer(sf.Arms(5), sf.Method(sf.kernels.custom(block)))

    def test_what_is_no_function(self) -> None:
        with pytest.raises(sf.InvalidInput, match="block"):
            sf.kernels.custom(torch.eye(3))
