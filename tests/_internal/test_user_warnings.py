"""A warning shows the line that called the library."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf

ARMS, KERNEL = sf.Arms(np.linspace(0.0, 1.0, 9)[:, None]), sf.kernels.squared_exponential(0.2)
HEAVY = {"moment": sf.Moment(alpha=0.4, bound=12.0), "norm_bound": 2.0}


def contradicted() -> None:
    optimizer = sf.algorithms.gp_ucb(
        ARMS, KERNEL, width=sf.widths.dual_mixture(norm_bound=1e-3, noise=0.1), ridge=1e-4
    )
    optimizer.tell_all([0, 4] * 20, [5.0, -5.0] * 20)
    optimizer.ask()


CALLS: dict[str, Callable[[], object]] = {
    "named algorithm": lambda: sf.algorithms.tgp_ucb(ARMS, KERNEL, **HEAVY),
    "optimizer": lambda: sf.Optimizer(ARMS, sf.Method(KERNEL, width=sf.widths.truncated(**HEAVY))),
    "reward": lambda: sf.algorithms.gp_ucb(ARMS, KERNEL).tell(0, 1e120),
    "bounds": contradicted,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_is_in_the_users_file(call: Callable[[], object]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert told
    assert {one.filename for one in told} == {__file__}


def test_no_module_warns_in_another_way() -> None:
    package = Path(sf.__file__).parent
    own = package / "_internal" / "user_warnings.py"
    direct = [
        one for one in package.rglob("*.py") if re.search(r"\bwarnings\.warn\(", one.read_text())
    ]
    assert direct == [own]
