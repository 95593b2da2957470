"""Feature maps: points to the coordinates in which everything is ridge regression."""

from surefoot.features.embedding import Embedding, Features
from surefoot.features.exact import Exact
from surefoot.features.fourier import QuadratureFourier, RandomFourier
from surefoot.features.nystrom import NystromEmbedding, Sketch

__all__ = [
    "Embedding",
    "Exact",
    "Features",
    "NystromEmbedding",
    "QuadratureFourier",
    "RandomFourier",
    "Sketch",
]
