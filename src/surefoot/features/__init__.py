"""Feature maps: points to the coordinates in which everything is ridge regression."""

from surefoot.features.dictionary import Dictionary
from surefoot.features.exact import Exact
from surefoot.features.fourier import QuadratureFourier, RandomFourier
from surefoot.features.nystrom import NystromEmbedding, Sketch
from surefoot.features.random_dictionary import Nystrom, oversampling
from surefoot.features.rule import Features
from surefoot.regression.embedding import Embedding

__all__ = [
    "Dictionary",
    "Embedding",
    "Exact",
    "Features",
    "Nystrom",
    "NystromEmbedding",
    "QuadratureFourier",
    "RandomFourier",
    "Sketch",
    "oversampling",
]
