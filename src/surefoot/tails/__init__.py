"""Tail diagnosis of repeated measurements, and the moment that heavy-tailed algorithms assume."""

from surefoot._internal.numbers import MAD_TO_SD
from surefoot.tails.diagnosis import TailDiagnosis, diagnose, normality
from surefoot.tails.exceedances import TailIndex, tail_index
from surefoot.tails.moment import Moment

__all__ = [
    "MAD_TO_SD",
    "Moment",
    "TailDiagnosis",
    "TailIndex",
    "diagnose",
    "normality",
    "tail_index",
]
