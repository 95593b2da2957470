"""Programs of users of the library, run by the interpreter of an environment; they print JSON."""

import json
import random
import sys
import warnings

import optuna
import torch

import surefoot as sf
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler
from surefoot.types import Measurement

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("error")
warnings.filterwarnings("ignore", message="the bounds cannot separate")
warnings.filterwarnings("ignore", message="no configuration is known whose constraints")
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
NOISE = random.Random(7)
UNIT = optuna.distributions.FloatDistribution(0.0, 1.0)
LOADS = [0.0, 0.5, 1.0]


def bowl(x, y):
    value = 8 * (x - 0.3) ** 2 + 4 * (y - 0.6) ** 2 + NOISE.gauss(0, 0.1)
    return value + 20 * (NOISE.random() < 0.05)


def plain(trial, sampler):
    return bowl(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))


def constraint(trial, sampler):
    value = plain(trial, sampler)
    trial.set_user_attr("constraints", {"memory": 0.5 + 0.9 * trial.params["x"]})
    return value


def environment(trial, sampler):
    value = plain(trial, sampler)
    return value + sampler.environment_of(trial)["load"]


def objectives(trial, sampler):
    return plain(trial, sampler), 2 + trial.params["x"] + NOISE.gauss(0, 0.02)


def conditional(trial, sampler):
    value = plain(trial, sampler)
    if trial.suggest_categorical("mode", ["plain", "cached"]) == "plain":
        return value + 1.0
    return value + 2 * (trial.suggest_float("size", 0, 1) - 0.5) ** 2


def failures(trial, sampler):
    value = plain(trial, sampler)
    if trial.params["x"] > 0.85 or NOISE.random() < 0.06:
        raise RuntimeError("it ended early")
    return value


def environment_of_loads():
    points = torch.tensor(LOADS, dtype=torch.float64)[:, None]
    return StudyEnvironment(["load"], sf.FiniteEnvironment(points))


KINDS = {
    "plain": (plain, sf.Problem),
    "constraint": (constraint, lambda: sf.Problem(outcomes={"memory": sf.Constraint(maximum=1.0)})),
    "environment": (
        environment,
        lambda: sf.Problem(environment=environment_of_loads(), risk=sf.WorstCase()),
    ),
    "objectives": (objectives, sf.Problem),
    "conditional": (conditional, sf.Problem),
    "failures": (failures, sf.Problem),
}


def recommended(study):
    """Parameters and value of the recommendation, of several objectives those of a compromise."""
    if len(study.directions) > 1:
        point = sf.integrations.optuna.belief(study).front().knee()
        return {"params": point.params, "value": None, "feasible": True}
    best = study.sampler.belief(study).recommend()
    assert best.lower <= best.value <= best.upper
    return {"params": best.params, "value": best.value, "feasible": best.feasible}


def sample(name, sizes, chosen):
    """Trials of a kind up to each size, few before it by the sampler and the others at random."""
    objective, problem = KINDS[name]
    sampler = SurefootSampler(problem(), seed=0)
    directions = ["minimize", "maximize"] if name == "objectives" else ["minimize"]
    study = optuna.create_study(directions=directions, sampler=sampler)
    at_random = optuna.samplers.RandomSampler(seed=1)
    found = []
    for size in sizes:
        left = size - len(study.trials)
        for number in range(left):
            study.sampler = sampler if left - number <= chosen else at_random
            study.optimize(lambda t: objective(t, sampler), n_trials=1, catch=(RuntimeError,))
        study.sampler = sampler
        if any(t.state == optuna.trial.TrialState.COMPLETE for t in study.trials):
            found.append({"size": len(study.trials), **recommended(study)})
    return found


def beliefs(name, most):
    """Beliefs of a study at every number of trials."""
    objective, problem = KINDS[name]
    sampler = SurefootSampler(problem(), seed=0)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    found = []
    for _ in range(most):
        study.optimize(lambda t: objective(t, sampler), n_trials=1)
        found.append(len(sampler.belief(study).trials))
    return found


def answers(storage, name):
    """The recommendation for the measurements of a study, by its sampler and by the class."""
    sampler = SurefootSampler(seed=0, search_space={"x": UNIT, "y": UNIT})
    study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
    best = recommended(study)
    done = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    space = sf.parameters.Space({"x": sf.parameters.Float(0, 1), "y": sf.parameters.Float(0, 1)})
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    optimizer.tell_all([t.params for t in done], [-t.value for t in done])
    own = optimizer.recommend()
    return {"sampler": best, "class": {"params": dict(own.params), "value": -float(own.value)}}


def ask_and_tell(sizes, chosen):
    """Rounds up to each size, few before it by `ask` and the others at random."""
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0)
    rng, found, known = torch.Generator().manual_seed(0), [], 0
    for size in sizes:
        extra = torch.rand(max(size - known - chosen, 0), 2, generator=rng, dtype=torch.float64)
        if len(extra):
            optimizer.tell_all(extra, [-bowl(*point) for point in extra.tolist()])
        for _ in range(size - known - len(extra)):
            query = optimizer.ask()
            optimizer.tell(query, -bowl(*query.point.tolist()))
        known = size
        further = Measurement(torch.rand(2, generator=rng).double(), {"objective": 0.0})
        assert len(optimizer.belief([further]).outcome.observations) == size + 1
        found.append([size, optimizer.recommend().point.tolist()])
    return found


def arms(rounds):
    """The arm that each algorithm recommends after many rounds, and the best one."""
    x = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
    f, space, kernel = torch.sin(6 * x[:, 0]), sf.Arms(x), sf.kernels.squared_exponential(0.2)
    moment, made = sf.Moment(1.0, 2.0), sf.algorithms
    known = {
        "gp_ucb": made.gp_ucb(space, kernel, seed=0),
        "bkb": made.bkb(space, kernel, norm_bound=1.0, noise=0.3, ridge=0.1, seed=0),
        "bbkb": made.bbkb(space, kernel, norm_bound=1.0, noise=0.3, ridge=0.1, seed=0),
        "tgp_ucb": made.tgp_ucb(space, kernel, moment=moment, norm_bound=1.0, seed=0),
        "robust_ucb": made.robust_ucb(space, kernel, seed=0),
    }
    found = {}
    for name, optimizer in known.items():
        for number in range(rounds // 4 if name in ("bkb", "robust_ucb") else rounds):  # the dear
            query = optimizer.ask()
            optimizer.tell(query, float(f[query.arm]) + NOISE.gauss(0, 0.3))
            if number % 200 == 199:
                optimizer.recommend(), optimizer.belief()
        found[name] = float(f.max() - f[optimizer.recommend().arm])
    return found


print(json.dumps(globals()[sys.argv[1]](*map(json.loads, sys.argv[2:]))))
