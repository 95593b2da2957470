"""Contents of reports, without a study."""

import math
from types import SimpleNamespace

from surefoot.integrations.optuna.predictions import StudyRecommendation
from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.report.contents import (
    Checkpoint,
    Decision,
    Effects,
    EnvironmentView,
    Interval,
    Parameter,
    Report,
    Slice,
    Trial,
)

NUMBER = Parameter("cache_mb", log=True)
CHOICE = Parameter("sync", choices=("OFF", "FULL"))


def trial(number: int, value: float | None, **changes) -> Trial:
    """A measured trial, or a failed one if `value` is None."""
    params = {"cache_mb": 1.0 + number, "sync": CHOICE.choices[number % 2]}
    if value is None:
        given = {"state": "failed", "failure": "exit status 3"}
    else:
        given = {
            "state": "complete",
            "predicted": Interval(10.0, 9.0, 11.0),
            "weight": 0.01 if value > 100 else 1.0,
            "outlier": value > 100,
        }
    return Trial(number, **({"params": params, "value": value, "seconds": 0.5} | given | changes))


def slice_of(parameter: Parameter) -> Slice:
    values = parameter.choices or tuple(math.exp(step / 4) for step in range(10))
    predicted = tuple(Interval(9.0 + place, 8.0, 20.0) for place in range(len(values)))
    return Slice(parameter, values, predicted, values[0])


def environment_view(*points: tuple[float, ...], names=("load",), **changes) -> EnvironmentView:
    """Equally likely environments, with a mean of 10 plus the first variable."""
    given = {
        "names": names,
        "discrete": True,
        "points": points,
        "predicted": tuple(Interval(10 + z[0], 9 + z[0], 11.5 + z[0]) for z in points),
        "weights": (1 / len(points),) * len(points),
    }
    risk = {
        "measure": "var",
        "level": 0.25,
        "tail": "upper",
        "name": "value at risk 0.25",
        "meaning": "in at least 25 % of environments it is this bad or worse",
    }
    of_risk = {name: changes.pop(name) for name in risk.keys() & changes.keys()}
    return EnvironmentView(**(given | changes), risk=RiskDescription(**(risk | of_risk)))


def report_of(
    trials: tuple[Trial, ...] = tuple(trial(n, 10.0 + n % 3) for n in range(20)),
    parameters: tuple[Parameter, ...] = (NUMBER, CHOICE),
    **changes,
) -> Report:
    """A report on `trials`, every field of it replaceable."""
    slices = tuple(slice_of(parameter) for parameter in parameters)
    value = Interval(10.0, 9.5, 10.5)
    given = {
        "name": "sqlite",
        "direction": "minimize",
        "parameters": parameters,
        "trials": trials,
        "value": value,
        "history": (Checkpoint(1, Interval(12.0, 5.0, 19.0), value), Checkpoint(9, value, value)),
        "slices": slices,
        "noise_facts": (("tail index", "2.1"),),
        "noise_verdict": "Heavy.",
        "noise_model": "Student-t noise",
        "study_text": "[study]\nname = 'sqlite'\n",
        "command": "surefoot tune sqlite.toml",
        "versions": (("surefoot", "0.1.0"),),
        "storage": "sqlite:///sqlite.db",
        "seed": 0,
        "written": "2026-01-01 00:00 UTC",
        "decision": Decision("", (), ""),
        "effects": Effects((), (), (), ()),
    }
    best = StudyRecommendation(
        {one.parameter.name: one.recommended for one in slices},
        value.mean,
        value.lower,
        value.upper,
    )
    found = {"warnings": changes.pop("warnings", ()), "failures": (), "together": "", "front": None}
    found["statements"] = ()
    findings = SimpleNamespace(state=SimpleNamespace(recommendation=best), **found)
    return Report(**({"findings": findings} | given | changes))
