"""Hyperparameter search for scikit-learn estimators, with folds as noisy replicates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

from surefoot._internal import checks
from surefoot._internal.extras import extra
from surefoot._internal.numbers import FEWEST
from surefoot._internal.user_warnings import warn
from surefoot.algorithms import robust_ucb
from surefoot.optimizer import Optimizer
from surefoot.parameters import Parameter, Space
from surefoot.spaces.representatives import LISTED, every_point
from surefoot.types import InvalidInput, NotReady, Query

with extra("sklearn"):
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

__all__ = ["RobustSearchCV"]


class RobustSearchCV(BaseSearchCV):
    """Search of the hyperparameters of an estimator by cross-validation, robust to unlucky folds.

    It is used like `sklearn.model_selection.RandomizedSearchCV`. The score of a configuration is
    modelled as a function of its hyperparameters; its standard error is that of the mean over the
    folds, without what the folds have in common for all configurations. `best_params_` is the
    configuration of those evaluated with the best posterior mean, not the best score, which
    favours luck.

    Args:
        estimator: The estimator.
        space: `surefoot.parameters` by name of the hyperparameter, such as
            `{"C": Float(1e-3, 1e3, log=True)}`, or a `Space` of them, also with conditions
            and constraints.
        n_iter: Number of configurations to evaluate.
        scoring: As of `RandomizedSearchCV`; with several metrics, `refit` names that to maximise.
        n_jobs: Number of folds to fit in parallel.
        refit: As of `RandomizedSearchCV`.
        cv: As of `RandomizedSearchCV`.
        verbose: As of `RandomizedSearchCV`.
        random_state: Seed of the search.
        error_score: Score of a fold whose fit fails, and of a configuration that fails on every
            fold, which is not in `cv_results_`. With the default, the configuration counts as
            failed, and the search avoids its neighborhood.
        return_train_score: Whether `cv_results_` has training scores.

    Attributes:
        best_index_, best_params_, best_score_, best_estimator_, cv_results_, and so on: As of
            `RandomizedSearchCV`.
        predicted_score_: Posterior mean of the mean score of `best_params_`, NaN without a model.
        predicted_interval_: Ends of its 95 % credible interval.

    Raises:
        InvalidInput: In `fit`, if `space`, `n_iter` or the metric to maximise is invalid.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from surefoot.integrations.sklearn import RobustSearchCV
        >>> from surefoot.parameters import Float
        >>> space = {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-4, 1, log=True)}
        >>> search = RobustSearchCV(SVC(), space, n_iter=8, random_state=0)
        >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9)
        True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        space: Space | Mapping[str, Parameter],
        *,
        n_iter: int = 30,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.n_iter = n_iter
        self.random_state = random_state

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Evaluate configurations one after the other, each chosen by the model of those before.

        The last one is the recommended one, unless it has been evaluated. Of a small finite space
        none is evaluated again before all others were.
        """
        number = checks.count("n_iter", self.n_iter)
        space = self.space if isinstance(self.space, Space) else Space(self.space)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = None
        if not isinstance(getattr(self.cv, "random_state", seed), Integral):
            folds = copy(self.cv)
            with suppress(AttributeError):  # of one that cannot be set
                folds.random_state = seed  # all configurations are compared on the same folds
        optimizer = robust_ucb(space.box, seed=seed)
        every = every_point(space.box, LISTED)
        points: list[torch.Tensor] = []
        tried: list[Mapping[str, Any]] = []
        failed: list[ValueError] = []
        for done in range(number):
            query = optimizer.ask()
            if every is not None and query.params in tried:
                free = [one for one in every if space.encoding.decode(one) not in tried]
                if free:
                    optimizer.forget(query, failed=False)
                    query = optimizer.ask(arms=torch.stack(free))
            if (
                done == number - 1
                and (best := _recommended(optimizer)) is not None
                and best not in tried
            ):
                optimizer.forget(query, failed=False)
                query = optimizer.expect(best)
            tried.append(query.params)
            try:
                results = evaluate_candidates([query.params], cv=folds)
            except ValueError as error:  # what scikit-learn raises if every fold has failed
                if "fits failed" not in str(error):
                    raise
                self._fail(optimizer, query)
                failed.append(error)
                continue
            points.append(query.point)
            scores = self._scores(results)
            mean = float(scores[-1].mean())
            if math.isfinite(mean):
                optimizer.tell(query, mean, sem=_standard_error(scores))
            else:
                optimizer.forget(query)
        if not points:
            raise failed[0]
        if failed:
            warn(
                f"{len(failed)} of {number} configurations failed on every fold, and are left out "
                f"of `cv_results_`; the first: {str(failed[0]).strip().splitlines()[-1]}",
                FitFailedWarning,
            )
        self._predict(optimizer, torch.stack(points))

    def _fail(self, optimizer: Optimizer, query: Query) -> None:
        """Tell that every fold has failed, whose score may be given."""
        if isinstance(self.error_score, Real) and math.isfinite(self.error_score):
            optimizer.tell(query, float(self.error_score))
        else:
            optimizer.forget(query)

    def _predict(self, optimizer: Optimizer, candidates: torch.Tensor) -> None:  # (n, d)
        """Keep what the model predicts of the candidates, if any has a score."""
        self._predicted = np.full((3, len(candidates)), math.nan)
        with suppress(NotReady):
            self._predicted = torch.stack(optimizer.belief().predict(candidates)).numpy()

    def _scores(self, results: Mapping[str, Any]) -> np.ndarray:
        """Scores (n, k) of the candidates on the folds."""
        metric = self.refit if isinstance(self.refit, str) else "score"
        names = [f"split{fold}_test_{metric}" for fold in range(len(results))]
        folds = [name for name in names if name in results]
        if not folds:
            known = [n.removeprefix("mean_test_") for n in results if n.startswith("mean_test_")]
            raise InvalidInput(
                f"`refit` is {checks.shown(self.refit)}, expected the metric to maximise, one of "
                f"{', '.join(known)}."
            )
        return np.column_stack([results[name] for name in folds])

    # scikit-learn calls it on the instance; of its own ranking only the callable is left.
    def _select_best_index(self, refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        mean, lower, upper = self._predicted.tolist()
        if callable(refit) or math.isnan(mean[0]):
            best = BaseSearchCV._select_best_index(refit, refit_metric, results)
        else:
            known = np.isfinite(results[f"mean_test_{refit_metric}"])
            best = int(np.argmax(np.where(known, mean, -math.inf)))
        self.predicted_score_, self.predicted_interval_ = mean[best], (lower[best], upper[best])
        return best


def _recommended(optimizer: Optimizer) -> Mapping[str, Any] | None:
    """The recommended configuration; None before the first score."""
    try:
        return optimizer.recommend().params
    except NotReady:
        return None


def _standard_error(scores: np.ndarray) -> float:  # (n, k)
    """Standard error of the last candidate's mean, without the effects of the folds.

    A fold that is hard for every candidate changes no comparison between them. Its effect is the
    median deviation there, which a candidate that fails on one fold does not move.
    """
    known = scores[np.isfinite(scores).all(1)]
    if len(known) < FEWEST or scores.shape[1] < 2:
        return 0.0
    deviations = known - known.mean(1, keepdims=True)
    rest = deviations[-1] - np.median(deviations, 0)
    return float(rest.std(ddof=1) / math.sqrt(rest.size))
