"""Search of hyperparameters in scikit-learn: its contract, and folds as replicates."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from surefoot.algorithms import robust_ucb
from surefoot.integrations import sklearn as module
from surefoot.integrations.sklearn import RobustSearchCV
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

X, Y = np.arange(60.0).reshape(30, 2), np.tile([0, 1], 15)
# Those that scikit-learn expects its own searches to fail.
EXPECTED = {
    "check_supervised_y_2d": "the estimator takes several outputs",
    "check_requires_y_none": "no graceful error",
}
BY_SEARCH = {"n_iter": 3, "cv": 2, "random_state": 0}


class Table(ClassifierMixin, BaseEstimator):
    """Scores are a function of the parameters and the fold, which the first test row tells."""

    def __init__(self, x: float = 0.5, fail: bool = False, kind: str = "a") -> None:
        self.x, self.fail, self.kind = x, fail, kind

    def fit(self, x, y):
        if self.fail:
            raise ValueError("no memory")
        self.classes_ = np.unique(y)
        return self

    def score(self, x, y):
        fold = int(x[0, 0]) // 12
        lucky = 5.0 * (abs(self.x - 0.9) < 0.03 and fold == 0)
        return 10.0 * fold - (self.x - 0.4) ** 2 + lucky


@pytest.mark.long
@parametrize_with_checks(
    [
        RobustSearchCV(LogisticRegression(), {"C": Float(0.1, 10.0, log=True)}, **BY_SEARCH),
        RobustSearchCV(Ridge(), {"alpha": Float(0.1, 10.0, log=True)}, **BY_SEARCH),
    ],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_contract_of_a_search():
    search = RobustSearchCV(Table(), {"x": Float(0.0, 1.0)}, n_iter=5, cv=KFold(5), random_state=0)
    assert search.fit(X, Y) is search
    assert len(search.cv_results_["params"]) == 5
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]
    assert search.best_estimator_.x == search.best_params_["x"]
    low, high = search.predicted_interval_
    assert low <= search.predicted_score_ <= high
    assert pickle.loads(pickle.dumps(search)).best_params_ == search.best_params_


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0), np.int64(3)])
def test_configurations_are_compared_on_the_same_folds(seed):
    seen = set()

    class Recording(Table):
        def fit(self, X, y=None):
            seen.add(X.tobytes())
            return super().fit(X, y)

    folds = KFold(3, shuffle=True, random_state=seed)
    RobustSearchCV(Recording(), {"x": Float(0.0, 1.0)}, n_iter=4, cv=folds, refit=False).fit(X, Y)
    assert len(seen) == 3
    assert folds.random_state is seed


def test_folds_whose_seed_cannot_be_set_are_taken_as_they_are():
    class Folds(KFold):
        @property
        def random_state(self):
            return None

        @random_state.setter
        def random_state(self, value):
            if value is not None:
                raise AttributeError(value)

    search = RobustSearchCV(Table(), {"x": Float(0.0, 1.0)}, n_iter=3, cv=Folds(3), random_state=0)
    assert search.fit(X, Y).best_params_


def test_the_folds_are_those_of_the_results():
    """Before scikit-learn 1.9 a search learned their number after its last candidate."""
    folds = np.arange(24.0).reshape(2, 12)
    results = {f"split{n}_test_score": fold for n, fold in enumerate(folds.T)}
    results |= {f"split{n}_test_other": fold + 1.0 for n, fold in enumerate(folds.T)}
    results |= {"mean_test_score": folds.mean(1), "params": [{}, {}]}
    search = RobustSearchCV(Table(), {"x": Float(0.0, 1.0)})
    assert (search._scores(results) == folds).all()
    assert (search.set_params(refit="other")._scores(results) == folds + 1.0).all()


def test_the_recommended_configuration_is_the_last_unless_it_was_evaluated(monkeypatch):
    search = RobustSearchCV(Table(), {"x": Float(0.0, 1.0)}, n_iter=5, random_state=0)
    first, *_ = search.fit(X, Y).cv_results_["params"]
    for best, expected in (({"x": 0.3}, {"x": 0.3}), (first, None)):
        monkeypatch.setattr(module, "_recommended", lambda _, best=best: best)
        found = search.fit(X, Y).cv_results_["params"]
        assert len(found) == 5
        assert (found[-1] == expected) if expected else (found[-1] != first)


@pytest.mark.long
def test_the_same_seed_gives_the_same_search_and_finds_the_optimum():
    found = [
        RobustSearchCV(Table(), {"x": Float(0.0, 1.0)}, n_iter=9, cv=KFold(5), random_state=3)
        .fit(X, Y)
        .cv_results_["param_x"]
        .tolist()
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert min(abs(x - 0.4) for x in found[0]) < 0.05


def test_what_folds_have_in_common_is_no_error():
    effects = np.array([0.0, 10.0, -5.0, 3.0])
    scores = np.array([1.0, 2.0, 1.5])[:, None] + effects
    assert module._standard_error(scores) == pytest.approx(0.0, abs=1e-12)
    assert module._standard_error(scores[:2]) == 0.0, "unknown"
    scores[-1, 0] += 4.0  # a lucky fold
    raw = scores[-1] - effects - 1.5
    assert module._standard_error(scores) == pytest.approx(raw.std(ddof=1) / 2.0)
    failed = np.vstack([[math.nan] * 4, scores])
    assert module._standard_error(failed) == module._standard_error(scores)


def test_failed_fits_are_avoided_and_conditions_hold():
    space = Space(
        {
            "kind": Choice(["a", "b"]),
            "fail": Choice([False, True]),
            "x": Float(0.0, 1.0, when="kind == 'a'"),
        }
    )
    search = RobustSearchCV(Table(), space, n_iter=6, cv=KFold(5), random_state=1)
    with pytest.warns(FitFailedWarning, match="of 6 configurations failed .*: no memory"):
        search.fit(X, Y)
    assert not search.best_params_["fail"]
    for params in search.cv_results_["params"]:
        assert ("x" in params) == (params["kind"] == "a")
    always = RobustSearchCV(
        Table(), {"fail": Choice([True, 2])}, n_iter=2, cv=KFold(5), random_state=0
    )
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        always.fit(X, Y)
    raised = RobustSearchCV(
        Table(fail=True), {"x": Float(0, 1)}, cv=KFold(5), random_state=0, error_score="raise"
    )
    with pytest.raises(ValueError, match=r"^no memory$"):
        raised.fit(X, Y)


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_has_no_score_is_not_chosen(value: float) -> None:
    def score(estimator: BaseEstimator, X: np.ndarray, y: np.ndarray) -> float:
        beyond = estimator.alpha > 0.6 and X[0, 0] > 5.0
        return value if beyond else estimator.alpha

    search = RobustSearchCV(
        Ridge(), {"alpha": Float(0.01, 1.0)}, n_iter=8, scoring=score, cv=KFold(5), random_state=0
    ).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert (~np.isfinite(scores)).sum() >= 2
    assert math.isfinite(search.best_score_)
    assert search.best_params_["alpha"] <= 0.6


def test_of_a_small_space_none_is_evaluated_again_before_all_others() -> None:
    space = {"solver": Choice(["svd", "cholesky", "lsqr"]), "fit_intercept": Choice([True, False])}
    search = RobustSearchCV(Ridge(), space, n_iter=7, cv=KFold(3), random_state=0).fit(X, Y)
    evaluated = [tuple(params.values()) for params in search.cv_results_["params"]]
    assert len({*evaluated[:6]}) == 6


@pytest.mark.daily(2)
@pytest.mark.parametrize(("score", "failures"), [(np.nan, 3), (-9.0, 0), (0, 0)])
def test_a_configuration_that_fails_on_every_fold_has_the_score_that_was_given(
    score, failures, monkeypatch
):
    kept = []

    def keep(*arguments, **options):
        kept.append(robust_ucb(*arguments, **options))
        return kept[-1]

    monkeypatch.setattr(module, "robust_ucb", keep)
    space = {"fail": Choice([True, False])}
    options = {"n_iter": 6, "cv": KFold(5), "random_state": 0, "error_score": score}
    with pytest.warns(FitFailedWarning, match="of 6 configurations failed on every fold"):
        search = RobustSearchCV(Table(), space, **options).fit(X, Y)
    number = 6 - len(search.cv_results_["params"])
    told = kept[0]._told
    assert len(told.failures.all) == (number if failures else 0)
    assert (told.rewards.rewards == score).sum() == (0 if failures else number)


def test_the_metric_to_maximise_is_named_by_refit():
    given = {"scoring": ["accuracy", "roc_auc"], "n_iter": 3, "cv": 3, "random_state": 0}
    space = {"C": Float(0.1, 10.0, log=True)}
    search = RobustSearchCV(LogisticRegression(), space, refit="roc_auc", **given).fit(X, Y)
    mean = search.cv_results_["mean_test_roc_auc"]
    assert search.best_score_ == mean[search.best_index_]
    with pytest.raises(InvalidInput, match="one of accuracy, roc_auc"):
        RobustSearchCV(LogisticRegression(), space, refit=False, **given).fit(X, Y)
    chosen = RobustSearchCV(
        Table(), {"x": Float(0, 1)}, refit=lambda _: 1, n_iter=3, cv=KFold(5), random_state=0
    )
    assert chosen.fit(X, Y).best_index_ == 1
    lower, upper = chosen.predicted_interval_
    assert lower <= chosen.cv_results_["mean_test_score"][1] <= upper
    assert chosen.predicted_score_ != pytest.approx(max(chosen.cv_results_["mean_test_score"]))


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"n_iter": 0}, "n_iter"),
        ({"n_iter": "3"}, "n_iter"),
        ({"space": {}}, "parameters"),
        ({"space": {"x": [1, 2]}}, "x"),
        ({"space": None}, "space|parameters"),
    ],
)
def test_wrong_arguments_are_refused(wrong, match):
    given = {"space": {"x": Int(0, 1)}, "n_iter": 2} | wrong
    with pytest.raises(InvalidInput, match=match):
        RobustSearchCV(Table(), cv=KFold(5), **given).fit(X, Y)
