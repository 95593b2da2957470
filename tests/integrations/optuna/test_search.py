"""Tests of `surefoot.integrations.optuna.search`."""

import optuna
import pytest

import surefoot as sf
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler
from surefoot.integrations.optuna.search import (
    _FOR_ONE_VALUE,
    AtLevel,
    InEnvironment,
    Search,
)

SUBJECTS = {
    InEnvironment: {
        "environment": StudyEnvironment("z", sf.FiniteEnvironment([0.0, 1.0])),
        "risk": sf.Mean(),
    },
    AtLevel: {"fidelity": {"seconds": sf.Fidelity([5, 30], cost=[5, 30])}},
}


def _older():
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.COMPLETE, value=1.0))
    return study


ARGUMENTS = {
    "log": lambda: {"log": True},
    "prior": lambda: {"prior": _older()},
    "repeats": lambda: {"repeats": 3},
    "unstable": lambda: {"unstable": 0.2},
    "safe": lambda: {"safe": True},
    "guess": lambda: {"guess": {"x": 0.1}},
    "constraints['p99'].safe": lambda: {"constraints": {"p99": sf.Constraint(2.0, safe=True)}},
    "environment": lambda: SUBJECTS[InEnvironment],
    "fidelity": lambda: SUBJECTS[AtLevel],
}
EXCLUDED = [
    (subject, name)
    for subject in SUBJECTS
    for name in [*subject.excluded, "constraints['p99'].safe"]
]


@pytest.mark.parametrize(("subject", "name"), EXCLUDED, ids=str)
def test_what_does_not_go_together_is_refused_by_its_name(subject, name):
    why = subject.excluded["safe" if name.endswith("safe") else name]
    with pytest.raises(sf.InvalidInput) as error:
        SurefootSampler(**SUBJECTS[subject], **ARGUMENTS[name]())
    told = f"`{name}` came with an `{subject.name}`, {why}: leave one of them out."
    assert str(error.value) == told
    assert isinstance(SurefootSampler(**ARGUMENTS[name]())._search, Search)


@pytest.mark.parametrize("name", _FOR_ONE_VALUE)
def test_a_study_of_several_objectives_is_refused_before_it_is_sampled(name):
    sampler = SurefootSampler(**ARGUMENTS[name]())
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    with pytest.raises(sf.InvalidInput, match=f"`{name}` came with a study of 2 objectives"):
        study.ask()
    assert study.trials[0].state == optuna.trial.TrialState.FAIL


def test_an_environment_and_a_fidelity_are_refused_together():
    with pytest.raises(sf.InvalidInput, match="`fidelity` came with an `environment`"):
        SurefootSampler(**SUBJECTS[InEnvironment], **SUBJECTS[AtLevel])
