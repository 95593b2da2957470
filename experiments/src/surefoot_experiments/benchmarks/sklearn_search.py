"""Hyperparameter search of scikit-learn estimators: score of the chosen ones on fresh splits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optuna
from optuna.samplers import TPESampler
from scipy.stats import loguniform, randint
from sklearn import datasets
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from surefoot.integrations.sklearn import RobustSearchCV
from surefoot.parameters import Float, Int
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Purpose, Rows, Scale, Tables, Trial

CONFIGURATIONS = 20
CANDIDATES = 60  # of successive halving, most of them on few samples
FOLDS = 5
SPLITS = 30
ROWS = 300  # at most, of a data set
METHODS = ("RobustSearchCV", "TPE", "HalvingRandomSearchCV", "RandomizedSearchCV")
PACKAGES = ["surefoot", "scikit-learn", "optuna"]
Data = tuple[np.ndarray, np.ndarray]
Parameters = Mapping[str, Float | Int]

INTRODUCTION = """# Hyperparameter search in scikit-learn

Mean score (accuracy, R² of regressions) on {splits} fresh random splits, a quarter of the rows
held out, of the configuration that each search chooses with {configurations} configurations and
{folds} folds; `HalvingRandomSearchCV` begins with {candidates} on few rows. TPE's choice is its
best trial. At most {rows} rows of a data set. Means over the runs; "better, worse" counts runs
against `RobustSearchCV` with a difference of more than 0.001.

Run {date} on {cores} cores, CPU, one thread, the machine shared with other work. {versions}.
"""


def _outliers(seed: int) -> Data:
    """Friedman's first problem with 5 % outliers."""
    x, y = datasets.make_friedman1(ROWS, noise=1.0, random_state=seed)
    generator = np.random.default_rng(seed)
    return x, y + 50.0 * (generator.random(ROWS) < 0.05) * generator.standard_normal(ROWS)


def _heavy(seed: int) -> Data:
    """A linear problem with Student-t noise of 1.5 degrees of freedom."""
    x, y = datasets.make_regression(ROWS, 10, n_informative=5, random_state=seed)
    return x, y / y.std() + 0.5 * np.random.default_rng(seed).standard_t(1.5, ROWS)


def _classes(seed: int) -> Data:
    return datasets.make_classification(ROWS, 20, flip_y=0.2, random_state=seed)


def _hastie(seed: int) -> Data:
    return datasets.make_hastie_10_2(ROWS, random_state=seed)


def _moons(seed: int) -> Data:
    return datasets.make_moons(ROWS, noise=0.35, random_state=seed)


def _loaded(load: Callable[..., Data]) -> Callable[[int], Data]:
    return lambda _: load(return_X_y=True)


SVM: Parameters = {"svc__C": Float(1e-2, 1e3, log=True), "svc__gamma": Float(1e-5, 1.0, log=True)}
SVM_R: Parameters = {
    "svr__C": Float(1e-2, 1e3, log=True),
    "svr__gamma": Float(1e-5, 1.0, log=True),
    "svr__epsilon": Float(1e-3, 1.0, log=True),
}
TREE: Parameters = {
    "max_depth": Int(1, 20),
    "min_samples_leaf": Int(1, 50, log=True),
    "ccp_alpha": Float(1e-5, 1e-1, log=True),
}
HUBER: Parameters = {
    "huberregressor__epsilon": Float(1.0, 10.0),
    "huberregressor__alpha": Float(1e-5, 1e3, log=True),
}
_svc = make_pipeline(StandardScaler(), SVC())
_svr = make_pipeline(StandardScaler(), SVR())
_tree = DecisionTreeClassifier(random_state=0)
_huber = make_pipeline(StandardScaler(), HuberRegressor(max_iter=500))
PROBLEMS: dict[str, tuple[Callable[[int], Data], BaseEstimator, Parameters]] = {
    "iris SVC": (_loaded(datasets.load_iris), _svc, SVM),
    "wine SVC": (_loaded(datasets.load_wine), _svc, SVM),
    "cancer SVC": (_loaded(datasets.load_breast_cancer), _svc, SVM),
    "digits SVC": (_loaded(datasets.load_digits), _svc, SVM),
    "cancer tree": (_loaded(datasets.load_breast_cancer), _tree, TREE),
    "hastie SVC": (_hastie, _svc, SVM),
    "moons tree": (_moons, _tree, TREE),
    "classes SVC": (_classes, _svc, SVM),
    "outliers SVR": (_outliers, _svr, SVM_R),
    "heavy Huber": (_heavy, _huber, HUBER),
}


def run(trial: Trial) -> Rows:
    """All searches on one problem."""
    load, estimator, space = PROBLEMS[trial.case]
    seed = trial.integer(Purpose.METHOD) % 2**31
    x, y = load(trial.integer(Purpose.PROBLEM) % 2**31)
    kept = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    x, y = x[kept], y[kept]
    kind = StratifiedShuffleSplit if is_classifier(estimator) else ShuffleSplit
    fresh = kind(SPLITS, test_size=0.25, random_state=seed + 1)
    rows = []
    for method in METHODS:
        start = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            params = _search(method, estimator, space, x, y, seed)
            seconds = time.process_time() - start
            chosen = clone(estimator).set_params(**params)
            score = float(cross_val_score(chosen, x, y, cv=fresh).mean())
        rows.append({"problem": trial.case, "method": method, "score": score, "seconds": seconds})
    return {"runs": rows}


def _search(
    method: str,
    estimator: BaseEstimator,
    space: Parameters,
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
) -> dict[str, Any]:
    """The parameters that a search chooses."""
    common: dict[str, Any] = {"cv": FOLDS, "random_state": seed, "refit": False}
    if method == "RobustSearchCV":
        search = RobustSearchCV(estimator, space, n_iter=CONFIGURATIONS, **common)
        return search.fit(x, y).best_params_
    if method == "TPE":
        return _tpe(estimator, space, x, y, seed)
    distributions = {name: _distribution(one) for name, one in space.items()}
    if method == "RandomizedSearchCV":
        found = RandomizedSearchCV(estimator, distributions, n_iter=CONFIGURATIONS, **common)
    else:
        found = HalvingRandomSearchCV(estimator, distributions, n_candidates=CANDIDATES, **common)
    return found.fit(x, y).best_params_


def _tpe(
    estimator: BaseEstimator,
    space: Parameters,
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
) -> dict[str, Any]:
    def objective(one: optuna.Trial) -> float:
        params = {
            name: (one.suggest_float if isinstance(p, Float) else one.suggest_int)(
                name, p.low, p.high, log=p.log
            )
            for name, p in space.items()
        }
        chosen = clone(estimator).set_params(**params)
        return float(cross_val_score(chosen, x, y, cv=FOLDS).mean())

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=TPESampler(seed=seed))
    study.optimize(objective, n_trials=CONFIGURATIONS)
    return study.best_params


def _distribution(parameter: Float | Int) -> Any:
    if isinstance(parameter, Int):
        return randint(parameter.low, parameter.high + 1)
    if parameter.log:
        return loguniform(parameter.low, parameter.high)
    return list(np.linspace(parameter.low, parameter.high, 50))


def report(tables: Tables) -> str:
    """The table of finished runs."""
    rows = tables["runs"]
    by_run = rows.pivot_table(
        index=["problem", "replicate"], columns="method", values="score", sort=False
    )
    lines = []
    for name, scores in by_run.groupby(level="problem", sort=False):
        means = scores.mean()
        line = {"problem": str(name), "runs": str(len(scores))}
        lines.append({**line, **{method: f"{means[method]:.4f}" for method in METHODS}})
    ours = by_run[METHODS[0]]
    against = {
        method: f"{(by_run[method] < ours - 1e-3).sum()}, {(by_run[method] > ours + 1e-3).sum()}"
        for method in METHODS[1:]
    }
    lines.append({"problem": "better, worse", "runs": str(len(by_run)), METHODS[0]: "", **against})
    seconds = rows.groupby("method")["seconds"].mean()
    times = {method: f"{seconds[method]:.2g}" for method in METHODS}
    lines.append({"problem": "seconds", "runs": "", **times})
    introduction = INTRODUCTION.format(
        splits=SPLITS,
        configurations=CONFIGURATIONS,
        folds=FOLDS,
        candidates=CANDIDATES,
        rows=ROWS,
        **ran_on(PACKAGES),
    )
    return introduction + "\n" + table_from(lines)


EXPERIMENTS = [
    benchmark(
        "sklearn-search",
        "hyperparameter search in scikit-learn",
        published=Scale(2, 1),
        quick=Scale(1, 1),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in PROBLEMS],
    )
]
