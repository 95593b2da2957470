"""The upper confidence bound on a box that is discretised adaptively."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.partition import Partition
from surefoot.acquisition.policy import UpperConfidenceBound
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_CELLS = "cells"  # of the policy's memory: those that are not split, (n, d + 1)
_MOST_CELLS = 100_000
_LIKELY = 0.5  # probability of success from which the center of a cell is measured


@dataclass(frozen=True)
class AdaptivePartition:
    r"""The upper confidence bound over the cells of an adaptively refined partition.

    A function of norm B varies by at most :math:`V_h = B\,d_k(r_h)` between the center and any
    other point of a cell of depth h, :math:`r_h` being half its diagonal and :math:`d_k` the metric
    of the kernel. So its largest value in a cell with center x, whose parent has center p, is at
    most the index

    .. math:: \min\{\mu(x) + \beta\sigma(x),\; \mu(p) + \beta\sigma(p) + V_{h-1}\} + V_h.

    The cell of largest index is split along its longest side (in lengthscales) while
    :math:`\beta\sigma(x) \leq V_h`; otherwise its center is measured. A cell is also split where a
    measurement of its center would probably fail. The partition is kept with the run.

    Args:
        kernel: The kernel of the optimizer, squared exponential or Matérn.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units.
        branching: Number N of cells that a cell is split into, at least 2. With an odd number the
            center of a cell stays the center of one of them.
        max_depth: Depth h_max of the smallest cells, which are never split. They measure
            N^(-h_max / d) of the box along a coordinate if all are split as often.

    Raises:
        InvalidInput: If an argument is out of range, and for a space other than a `Box` of
            continuous coordinates.

    References:
        Rando, Carratino, Villa and Rosasco 2022, "Ada-BKB: scalable Gaussian process optimization
        on continuous domains by adaptive discretization", Algorithm 1; Shekhar and Javidi 2018,
        "Gaussian process bandits with adaptive discretization".

    Example:
        >>> import surefoot as sf
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> policy = sf.acquisition.AdaptivePartition(kernel, norm_bound=1.0)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), kernel, policy=policy)
        >>> info = optimizer.tell([0.9], 0.3)
        >>> optimizer.ask().point.tolist()
        [0.5]
    """

    kernel: Kernel
    norm_bound: float
    branching: int = 3
    max_depth: int = 20

    def __post_init__(self) -> None:
        kernels.check(self.kernel)
        own = copy.deepcopy(self.kernel).cpu().double().requires_grad_(False)
        object.__setattr__(self, "kernel", own)
        checks.positive("norm_bound", self.norm_bound)
        checks.count("branching", self.branching, least=2)
        checks.count("max_depth", self.max_depth)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse any space but a box of continuous coordinates, and cells too small for floats."""
        restricted = isinstance(space, Box) and bool(space.region.rules)
        if not isinstance(space, Box) or restricted or len(space.continuous) < space.dimension:
            raise InvalidInput(
                f"the space is {checks.shown(space)}, expected a `Box` of continuous coordinates, "
                "without constraints between them, which an adaptive partition can split: pass "
                "another policy, or `algorithms.bkb`."
            )
        self._partition(space, self.max_depth)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The center of the cell of largest index; of points that are listed, the largest bound."""
        if among is not None:
            return maximise(
                UpperConfidenceBound()(belief, state.generator), belief, state.generator, among
            )
        box: Box = belief.space  # type: ignore[assignment]
        cells: Tensor = state.memory.get(_CELLS, Partition.root(box)).cpu()
        partition = self._partition(box, max(self.max_depth, int(cells[:, 0].max())))
        variation = self.norm_bound * kernels.variation(self.kernel, partition.half_sides)
        upper, settled = _bounds(belief, partition, variation, cells)
        index = torch.minimum(upper, _caps(belief, partition, variation, cells))
        index += variation[cells[:, 0]]
        while True:
            best = int(index.argmax())
            depth = int(cells[best, 0])
            if depth >= self.max_depth or not bool(settled[best]):
                break
            self._check_number(len(cells) + self.branching - 1)
            children = partition.children(cells[best])
            child_upper, child_settled = _bounds(belief, partition, variation, children)
            cap = upper[best] + variation[depth]
            child_index = torch.minimum(child_upper, cap) + variation[depth + 1]
            others = torch.arange(len(cells)) != best
            cells = torch.cat([cells[others], children])
            upper = torch.cat([upper[others], child_upper])
            settled = torch.cat([settled[others], child_settled])
            index = torch.cat([index[others], child_index])
        state.memory[_CELLS] = cells
        return box.location(partition.centroids(cells[best].unsqueeze(0))[0])

    def _partition(self, box: Box, depth: int) -> Partition:
        scales = kernels.radial_lengthscales(self.kernel, box.dimension)
        return Partition.of(box, scales, self.branching, depth)

    def _check_number(self, cells: int) -> None:
        if cells > _MOST_CELLS:
            raise InvalidInput(
                f"the partition has more than {_MOST_CELLS:,} cells: `norm_bound` = "
                f"{self.norm_bound} is too large beside the width, or `branching` = "
                f"{self.branching} or `max_depth` = {self.max_depth} too large."
            )


def _bounds(
    belief: Belief, partition: Partition, variation: Tensor, cells: Tensor
) -> tuple[Tensor, Tensor]:
    """Upper bounds (n,) at the centers of cells, and whether nothing is left to measure there."""
    points = partition.centroids(cells)
    with torch.no_grad():
        mean, _, upper = belief.ends(points)
        settled = (upper - mean).cpu() <= variation[cells[:, 0]]
        if belief.feasible.is_certain:
            return upper.cpu(), settled
        failing = belief.feasible(points).cpu() < _LIKELY
        return belief.bound(points, belief.width).cpu(), settled | failing


def _caps(belief: Belief, partition: Partition, variation: Tensor, cells: Tensor) -> Tensor:
    """Upper bounds (n,) at the centers of cells that follow from those of their parents."""
    caps = torch.full((len(cells),), torch.inf, dtype=torch.float64)
    below = cells[:, 0] > 0
    if bool(below.any()):
        # Siblings have the same cap to the last bit, so that the first of them is split first.
        parents, which = partition.parents(cells[below]).unique(dim=0, return_inverse=True)
        upper, _ = _bounds(belief, partition, variation, parents)
        caps[below] = (upper + variation[parents[:, 0]])[which]
    return caps
