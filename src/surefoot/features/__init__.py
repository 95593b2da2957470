"""Feature maps of a kernel, in which the posterior is a ridge regression."""

from surefoot.features.dictionary import Dictionary
from surefoot.features.exact import Exact
from surefoot.features.features import Features, fixed_features
from surefoot.features.fourier import QuadratureFourier, RandomFourier
from surefoot.features.leverage_sampling import (
    LeverageSampling,
    oversampling,
)
from surefoot.features.nystrom import Nystrom
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.features.pivoted_cholesky import PivotedCholesky
from surefoot.features.prior_paths import PriorPaths
from surefoot.regression.embedding import Embedding

__all__ = [
    "Dictionary",
    "Embedding",
    "Exact",
    "Features",
    "LeverageSampling",
    "Nystrom",
    "NystromEmbedding",
    "PivotedCholesky",
    "PriorPaths",
    "QuadratureFourier",
    "RandomFourier",
    "fixed_features",
    "oversampling",
]
