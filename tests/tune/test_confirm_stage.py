"""The last runs go to the best configurations and the defaults, in turn."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from support.study_doubles import BENCH, COMMAND, STUDY, Scripted, measurement, trials_of
from surefoot.integrations.optuna import BLAMELESS, StudyRecommendation
from surefoot.integrations.optuna.attributes import INTERRUPTED
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.confirm_stage import CONFIRM, ConfirmStage, confirm_runs, recommended
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import OpenedStudy, open_study
from surefoot.tune.study.schedule import REMEASURED
from surefoot.tune.workers.worker_loop import tune

DEFAULTS = (
    ("log = true }", "log = true, default = 4096 }"),
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "FULL" }'),
)
DEFAULT = {"size": 4096, "share": 0.5, "mode": "FULL"}


def having(*tables: str) -> tuple[str, str]:
    return "[parameters]", "\n".join([*tables, "[parameters]"])


class Valley(Scripted):
    """(share - 0.3)^2 + noise, and 1 more in the mode FULL; `fails` says when it fails."""

    fails = staticmethod(lambda number, params: False)

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.before()
        self.asked.append(dict(params))
        if self.fails(len(self.asked), params):
            return Failure("exit status 1", "", 0.1)
        noise = 0.02 * np.random.default_rng(len(self.asked)).standard_normal()
        full = params["mode"] == "FULL"
        return measurement((params["share"] - 0.3) ** 2 + full + 1 + noise, 0.1)


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory) -> tuple[OpenedStudy, Valley]:
    """A finished study of 24 rounds, which tests only look at."""
    folder = tmp_path_factory.mktemp("confirmed")
    text = STUDY.format(command=COMMAND)
    for old, new in (*DEFAULTS, having("[confirm]", "share = 0.25")):
        text = text.replace(old, new)
    (folder / "STUDY.toml").write_text(text)
    (folder / "bench.py").write_text(BENCH)
    objective = Valley()
    tune(trials_of(folder / "STUDY.toml", rounds=24), objective, Stop())
    return open_study(folder / "STUDY.toml"), objective


@pytest.mark.long
def test_the_last_share_goes_to_a_few_known_configurations(confirmed):
    opened, objective = confirmed
    study = opened.study
    marked = [CONFIRM in trial.user_attrs for trial in finished(study)]
    assert marked == [False] * 18 + [True] * 6
    candidates = study.user_attrs[CONFIRM]["candidates"]
    assert 2 <= len(candidates) <= 4
    assert DEFAULT in candidates
    assert all(params in candidates for params in objective.asked[18:])


def test_a_short_stage_measures_each_of_its_candidates(write_study):
    path, objective = write_study(*DEFAULTS), Valley()
    tune(trials_of(path, rounds=20), objective, Stop())
    candidates = open_study(path).study.user_attrs[CONFIRM]["candidates"]
    assert len(candidates) == 3
    assert all(params in objective.asked[17:] for params in candidates)


@pytest.mark.long
def test_they_are_measured_in_turn_until_one_is_worse(confirmed):
    opened, objective = confirmed
    study = opened.study
    candidates = study.user_attrs[CONFIRM]["candidates"]
    first = objective.asked[18 : 18 + len(candidates)]
    assert all(first.count(params) == 1 for params in candidates)
    runs = Counter(str(params) for params in objective.asked[18:])
    assert max(runs.values()) <= 3


@pytest.mark.long
def test_the_recommendation_is_one_that_survived(confirmed):
    opened, objective = confirmed
    best = summarise(opened).recommended
    assert best is not None
    assert best.params in objective.asked[18:]
    assert best.params["mode"] != "FULL"
    assert best.lower <= (best.params["share"] - 0.3) ** 2 + 1 <= best.upper


@pytest.mark.long
def test_defaults_and_recommendation_are_measured_again_during_the_search(write_study):
    path = write_study(*DEFAULTS, having("[confirm]", "share = 0", "every = 6"))
    objective = Valley()
    tune(trials_of(path, rounds=14), objective, Stop())
    study = open_study(path).study
    marks = {
        trial.number: trial.user_attrs[REMEASURED]
        for trial in finished(study)
        if REMEASURED in trial.user_attrs
    }
    assert marks == {3: "recommended", 6: "default", 9: "recommended", 12: "default"}
    assert objective.asked.count(DEFAULT) == 3


@pytest.mark.long
def test_a_longer_study_goes_on_searching_and_confirms_again(write_study):
    path = write_study(having("[confirm]", "share = 0.25", "every = 0"))
    tune(trials_of(path, rounds=12), Valley(), Stop())
    first = open_study(path).study.user_attrs[CONFIRM]
    tune(trials_of(path, rounds=20, run="longer"), Valley(), Stop())
    opened = open_study(path)
    study = opened.study
    marks = [trial.user_attrs.get(CONFIRM) for trial in finished(study)]
    assert marks == [None] * 9 + [12] * 3 + [None] * 3 + [20] * 5
    assert study.user_attrs[CONFIRM] != first
    assert opened.state().confirm_stage is not None


@pytest.mark.long
def test_an_interrupted_stage_goes_on_with_the_same_candidates(write_study):
    path = write_study(having("[confirm]", "share = 0.5", "every = 0"))

    def cut_off() -> None:
        if len(objective.asked) == 8:
            raise KeyboardInterrupt

    objective = Valley(before=cut_off)
    with pytest.raises(KeyboardInterrupt):
        tune(trials_of(path, rounds=12), objective, Stop())
    before = open_study(path).study.user_attrs[CONFIRM]
    resumed = Valley()
    tune(trials_of(path, rounds=12, run="resumed"), resumed, Stop())
    study = open_study(path).study
    assert study.user_attrs[CONFIRM] == before
    assert len(resumed.asked) == 4
    assert all(params in before["candidates"] for params in resumed.asked)


@pytest.mark.long
def test_a_candidate_that_fails_is_not_recommended(write_study):
    path = write_study(having("[confirm]", "share = 0.5", "every = 0"))
    objective = Valley()
    bad: list[dict] = []

    def fails(number: int, params: dict) -> bool:
        if number == 11:
            bad.append(params)
        return number >= 11 and params == bad[0]

    objective.fails = fails
    tune(trials_of(path, rounds=20), objective, Stop())
    best = summarise(open_study(path)).recommended
    assert best is not None
    assert best.params != bad[0]


def test_short_studies_have_no_stage(write_study):
    study_file = StudyFile.load(write_study())
    assert [confirm_runs(study_file, rounds) for rounds in (8, 19, 20, 60)] == [0, 0, 3, 9]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[confirm]\nshare = 0.6", "confirm.share: got 0.6, expected a share of the rounds"),
        ("[confirm]\nevery = 1", "confirm.every: got 1, expected a whole number of at least 2"),
        ("[confirm]\ncandidate = 2", "confirm.candidate: unknown key; did you mean `candidates`?"),
        ("[stop]\ngain = 0", "stop.gain: got 0, expected a number strictly between 0 and 1"),
        ("[stop]", "stop.gain: missing; expected a number strictly between 0 and 1"),
        ("[stop]\nconfidence = 0.9", "stop.gain: missing; expected a number strictly"),
        (
            "[confirm]\nshare = 0\ncandidates = 5",
            "confirm.candidates: given beside share = 0, without which nothing is confirmed",
        ),
        (
            "[stop]\ngain = 0.1\nconfidence = 1.0",
            "stop.confidence: got 1.0, expected a number strictly",
        ),
    ],
)
def test_wrong_tables_are_refused_in_one_line(write_study, table, message):
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(having(table)))
    assert message in str(refused.value)


class Doubting:
    """A model for which the defaults are the only candidate that satisfies the constraints."""

    unstable = ()

    def recommend(self, given: object = None) -> StudyRecommendation:
        return StudyRecommendation({"share": 0.31}, 1.0, 0.9, 1.1)

    def assess(self, settings: list[dict]) -> list[StudyRecommendation]:
        return [self._assess(params) for params in settings]

    def _assess(self, params: dict) -> StudyRecommendation:
        chance = 1.0 if params == DEFAULT else 0.9
        value = 2.0 if params == DEFAULT else 1.0
        return StudyRecommendation(params, value, value, value, chance, feasible=chance == 1.0)

    def preference(self, one: StudyRecommendation) -> tuple[float, float]:
        return float("inf") if one.feasible else one.feasibility, -one.value

    is_maximised = False

    def difference(self, params: dict, other: dict) -> tuple[float, float, float]:
        return (1.0, 0.5, 1.5) if params == DEFAULT else (0.0, -1.0, 1.0)


def test_what_the_model_prefers_by_now_is_recommended_if_the_best_candidate_is_worse(confirmed):
    candidates = ({"share": 0.3}, DEFAULT)
    stage = ConfirmStage(confirmed[0].study_file, 24, candidates, ())
    assert stage.recommend(Doubting()).params == {"share": 0.31}
    defaults_alone = ConfirmStage(confirmed[0].study_file, 24, (DEFAULT,), ())
    assert defaults_alone.recommend(Doubting()).params == {"share": 0.31}


class Alike(Doubting):
    """A model for which all candidates are as good."""

    def _assess(self, params: dict) -> StudyRecommendation:
        return StudyRecommendation(params, 1.0, 0.9, 1.1, 1.0, feasible=True)

    def difference(self, params: dict, other: dict) -> tuple[float, float, float]:
        return 0.0, -1.0, 1.0


@pytest.mark.parametrize(
    ("failures", "others", "marks", "is_measured", "is_recommended"),
    [
        (1, 0, {}, True, False),  # one failure may be chance
        (3, 0, {}, True, False),
        (4, 0, {}, False, False),  # by now more than half with probability 31/32
        (1, 1, {}, True, True),
        (9, 8, {}, True, False),
        (8, 9, {}, True, True),
        (17, 17, {}, True, True),  # half of them, not most
        (9, 1, {BLAMELESS: True}, True, True),
        (9, 1, {INTERRUPTED: True}, True, True),
    ],
)
def test_a_candidate_is_measured_until_it_is_known_to_fail(
    write_study, failures: int, others: int, marks: dict, is_measured: bool, is_recommended: bool
) -> None:
    candidate, study_file = {"share": 0.3}, StudyFile.load(write_study(*DEFAULTS))
    runs = [
        *[ended(candidate, TrialState.FAIL, marks)] * failures,
        *[ended(candidate)] * others,
        *[ended(DEFAULT)] * 40,  # so that the candidate is next while it is measured at all
    ]
    stage = ConfirmStage(study_file, 24, (candidate, DEFAULT), tuple(runs))
    assert (stage.next(Alike()) == candidate) is is_measured
    assert (stage.recommend(Alike()).params == candidate) is is_recommended


def ended(
    params: dict, state: TrialState = TrialState.COMPLETE, marks: dict | None = None
) -> FrozenTrial:
    return create_trial(
        state=state,
        value=1.0 if state == TrialState.COMPLETE else None,
        params=params,
        distributions={name: CategoricalDistribution([one]) for name, one in params.items()},
        user_attrs=marks,
    )


class Hopeless(Doubting):
    """A model for which no candidate satisfies the constraints, and another is likelier to."""

    def recommend(self, given: object = None) -> StudyRecommendation:
        return StudyRecommendation({"share": 0.9}, 3.0, 3.0, 3.0, 0.45, feasible=False)

    def assess(self, settings: list[dict]) -> list[StudyRecommendation]:
        return [StudyRecommendation(one, 1.0, 1.0, 1.0, 0.07, feasible=False) for one in settings]


def test_where_nothing_is_feasible_what_comes_nearest_is_recommended(write_study):
    stage = ConfirmStage(StudyFile.load(write_study(*DEFAULTS)), 24, ({"share": 0.3}, DEFAULT), ())
    assert stage.recommend(Hopeless()).params == {"share": 0.9}


def test_the_stage_is_chosen_without_a_warning_where_nothing_is_feasible():
    class Model:
        def recommend(self, given=None):
            warnings.warn("no configuration is known", stacklevel=2)
            return given

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recommended(Model(), {"load": 1.0}) == {"load": 1.0}
