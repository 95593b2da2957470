"""Pareto dominance and hypervolume of vectors of losses."""

from __future__ import annotations

import numpy as np

from surefoot._internal.numbers import rows_at_once


def non_dominated(losses: np.ndarray) -> np.ndarray:
    """Mask of the vectors that no other one of their set dominates.

    One dominates another if it is at most as large in every coordinate, and smaller in one.

    Args:
        losses: Sets (..., n, k) of n vectors of k losses.

    Returns:
        Masks (..., n); equal vectors do not dominate each other.

    Example:
        >>> non_dominated(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])).tolist()
        [True, True, False]
    """
    number, size = losses.shape[-2:]
    sets = losses.reshape(-1, number, size)
    chunk = rows_at_once(number * number)
    masks = [_non_dominated(sets[i : i + chunk]) for i in range(0, len(sets), chunk)]
    return np.concatenate([np.zeros((0, number), dtype=bool), *masks]).reshape(losses.shape[:-1])


def hypervolume(losses: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Volume that vectors of losses dominate, below a reference point.

    Args:
        losses: Sets (..., n, k) of n vectors of k losses.
        reference: The reference point (k,).

    Returns:
        Volumes (...).

    References:
        Zitzler and Thiele 1998, "Multiobjective optimization using evolutionary algorithms".

    Example:
        >>> float(hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])))
        3.0
    """
    gains = np.clip(reference - losses, 0.0, None)  # (..., n, k), of boxes at the origin
    return _union(gains) if gains.shape[-2] else np.zeros(losses.shape[:-2])


def _non_dominated(losses: np.ndarray) -> np.ndarray:  # (s, n, k) -> (s, n)
    at_most = np.ones((len(losses), losses.shape[1], losses.shape[1]), dtype=bool)
    smaller = np.zeros_like(at_most)
    for one in np.moveaxis(losses, -1, 0):
        at_most &= one[:, :, None] <= one[:, None, :]
        smaller |= one[:, :, None] < one[:, None, :]
    return np.asarray(~(at_most & smaller).any(1))


def _union(gains: np.ndarray) -> np.ndarray:  # (..., n, k) -> (...)
    """Volume of the union of boxes [0, gain], as slabs between the values of the last side."""
    if gains.shape[-1] == 1:
        return np.asarray(gains[..., 0].max(-1))
    gains = np.take_along_axis(gains, np.argsort(-gains[..., -1], axis=-1)[..., None], axis=-2)
    heights = gains[..., -1]
    below = np.concatenate([heights[..., 1:], np.zeros_like(heights[..., :1])], axis=-1)
    thickness = heights - below
    if gains.shape[-1] == 2:
        return np.asarray((np.maximum.accumulate(gains[..., 0], axis=-1) * thickness).sum(-1))
    areas = [_union(gains[..., : i + 1, :-1]) for i in range(gains.shape[-2])]
    return np.asarray((np.stack(areas, axis=-1) * thickness).sum(-1))
