"""Points of Figure 1 of Chowdhury and Gopalan 2019, from the vector graphics of its authors."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot_experiments.papers.arm_methods import NYSTROM, PLAIN, QFF

Points = Mapping[str, Mapping[int, float]]  # by algorithm and round: time-average regret

_SYNTHETIC = (100, *range(2_500, 20_001, 2_500))
_RECORDED = tuple(range(1_000, 10_001, 1_000))


def _points(rounds: tuple[int, ...], curves: Mapping[str, tuple[float, ...]]) -> Points:
    return {name: dict(zip(rounds, curve, strict=True)) for name, curve in curves.items()}


PUBLISHED: Mapping[str, Points] = {  # by figure
    "a": _points(
        _SYNTHETIC,
        {
            PLAIN: (0.4747, 0.399, 0.3858, 0.3757, 0.3688, 0.3623, 0.3582, 0.3552, 0.3511),
            QFF: (0.5405, 0.4471, 0.4116, 0.3852, 0.3651, 0.3495, 0.3347, 0.3221, 0.3116),
            NYSTROM: (0.5277, 0.4617, 0.4297, 0.4009, 0.3741, 0.3499, 0.33, 0.3124, 0.2965),
        },
    ),
    "b": _points(
        _SYNTHETIC,
        {
            PLAIN: (0.2285, 0.2166, 0.2138, 0.2118, 0.2105, 0.2093, 0.2085, 0.2076, 0.2068),
            QFF: (0.2457, 0.2253, 0.2187, 0.2145, 0.2112, 0.2082, 0.2056, 0.203, 0.2005),
            NYSTROM: (0.2444, 0.226, 0.221, 0.2168, 0.2114, 0.2052, 0.199, 0.193, 0.1876),
        },
    ),
    "c": _points(
        _SYNTHETIC,
        {
            PLAIN: (0.5036, 0.4688, 0.4575, 0.4507, 0.4446, 0.4401, 0.4371, 0.4342, 0.4313),
            NYSTROM: (0.5873, 0.5274, 0.5016, 0.4845, 0.4701, 0.4567, 0.4393, 0.4197, 0.4011),
        },
    ),
    "d": _points(
        _RECORDED,
        {
            PLAIN: (0.467, 0.4351, 0.421, 0.4117, 0.4053, 0.3999, 0.3955, 0.392, 0.3889, 0.3858),
            NYSTROM: (
                0.4945,
                0.4407,
                0.3961,
                0.3668,
                0.3454,
                0.3285,
                0.3095,
                0.2929,
                0.2773,
                0.2635,
            ),
        },
    ),
    "e": _points(
        _RECORDED,
        {
            PLAIN: (0.5469, 0.4976, 0.4725, 0.4555, 0.4431, 0.4347, 0.4272, 0.4205, 0.4155, 0.41),
            QFF: (0.3595, 0.3634, 0.3633, 0.3623, 0.3607, 0.3592, 0.3574, 0.3559, 0.3544, 0.3531),
            NYSTROM: (0.5653, 0.5204, 0.4818, 0.447, 0.4198, 0.3993, 0.3785, 0.3582, 0.3377, 0.318),
        },
    ),
}
