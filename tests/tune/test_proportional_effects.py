"""Workers that change what is measured by a factor."""

from __future__ import annotations

import numpy as np
import pytest

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.workers.worker_loop import tune


@pytest.mark.long
@pytest.mark.parametrize(
    ("factor", "amount", "warns"),
    [(0.6, 0.0, True), (1.0, 60.0, False), (1.0, 0.0, False)],
    ids=["factor", "amount", "none"],
)
def test_a_worker_that_is_slower_by_a_factor_is_told_from_one_by_an_amount(
    write_study, factor, amount, warns
):
    """What the model has is an amount; a factor made its predictions wrong without a word."""

    class Workers(Scripted):
        def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
            self.asked.append(dict(params))
            random = np.random.default_rng([len(self.asked), 4])
            value = 10.0 + 200.0 * params["share"] ** 2 * np.exp(0.01 * random.standard_normal())
            worker = ("east", "west")[int(random.integers(2))]
            if worker == "west":
                value = factor * value + amount
            return measurement(value, 0.1, worker=worker)

    path = write_study(("timeout = 30", 'timeout = 30\neffects = ["worker"]'))
    tune(trials_of(path, rounds=40), Workers(), Stop())
    about = [one for one in summarise(open_study(path)).warnings if "log = true" in one]
    assert len(about) == warns
    if warns:  # and the advice can be followed
        path.write_text(path.read_text().replace("[objective]", "[objective]\nlog = true", 1))
        assert not any("by a factor" in one for one in summarise(open_study(path)).warnings)
