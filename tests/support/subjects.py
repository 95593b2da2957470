"""Every algorithm by family, on small spaces."""

from collections.abc import Callable
from typing import Any

import torch

import surefoot as sf
from support.feature_rules import greedy, sampled
from support.kernel_cases import table
from support.optimizer_machine import Subject
from support.optimizers import optimizer_of
from support.variants import default_on, variant
from surefoot import algorithms
from surefoot.acquisition import Plan

MOMENT = sf.Moment(0.9, 4.0)
AS_PUBLISHED = sf.AdaptiveTruncation(MOMENT, 100, 1.0, "symmetric", unions=1)
PLANE = torch.rand(15, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
MANY = torch.rand(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
LINE = torch.tensor([[0.0], [0.13], [0.3], [0.42], [0.61], [1.0]], dtype=torch.float64)
GRAM = table(4)
BUDGET: dict[str, Any] = {"noise": 0.3, "oversampling": 4.0, "ridge": 0.1}


def smooth() -> Any:
    return sf.kernels.squared_exponential(0.4)


def rough() -> Any:
    return sf.kernels.matern(1.5, 0.15)


def on_arms(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[[], sf.Optimizer]:
    return lambda: build(sf.Arms(PLANE), smooth(), **parts)


def on_many_arms(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[[], sf.Optimizer]:
    return lambda: build(sf.Arms(MANY), rough(), **{**BUDGET, **parts})


def bare(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[[], sf.Optimizer]:
    return lambda: build(sf.Arms(12), sf.kernels.precomputed(GRAM), **parts)


def in_box(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[[], sf.Optimizer]:
    return lambda: build(sf.Box([0.0, -1.0], [1.0, 1.0]), smooth(), **parts)


def on_joint(
    build: Callable[..., sf.Optimizer], observed: bool = False, box: bool = False, **parts: Any
) -> Callable[[], sf.Optimizer]:
    """Designs beside three values of an environment, which the world draws where it is observed."""

    def make() -> sf.Optimizer:
        environment = sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])
        design = sf.Box([0.0], [1.0]) if box else sf.Arms(LINE)
        return build(sf.Joint(design, environment, observed), smooth(), **parts)

    return make


def learnt(space: Callable[[], Any], **parts: Any) -> Callable[[], sf.Optimizer]:
    return lambda: algorithms.robust_ucb(space(), **parts)


def linear_arms(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[[], sf.Optimizer]:
    """Of a kernel of rank 2, of which a dictionary of any two arms leaves nothing unexplained."""
    return lambda: build(sf.Arms(PLANE), sf.kernels.linear(), ridge=0.1, **parts)


def other(build: Callable[..., sf.Optimizer], **parts: Any) -> Callable[..., sf.Optimizer]:
    return lambda *given, **named: variant(build(*given, **named), **parts)


def drawing(build: Callable[..., sf.Optimizer]) -> Callable[..., sf.Optimizer]:
    return other(build, policy=sf.acquisition.ThompsonSampling())


def per_arm() -> sf.Nystrom:
    rule = sf.LeverageSampling(BUDGET["oversampling"], "adaptive", inclusion="per-arm")
    return sf.Nystrom(rule)


def redrawn() -> sf.Nystrom:
    """ATA's dictionary, drawn when it is due."""
    rule = sf.LeverageSampling(
        None, "adaptive", accuracy=0.1, feedback="immediate", root="symmetric"
    )
    return sf.Nystrom(rule)


LASTING: dict[str, Subject] = {
    "gp_ucb": Subject(on_arms(algorithms.gp_ucb, ridge=0.1), fresh=1e-8),
    "gp_ucb-bare": Subject(bare(algorithms.gp_ucb, ridge=0.1), fresh=1e-8),
    "gp_ucb-waves": Subject(
        on_arms(algorithms.gp_ucb, features=sf.QuadratureFourier(8)), fresh=1e-8
    ),
    "gp_ucb-dictionary": Subject(
        on_arms(algorithms.gp_ucb, features=sf.Dictionary(PLANE[:6])), fresh=1e-8
    ),
    "tgp_ucb": Subject(on_arms(algorithms.tgp_ucb, moment=MOMENT), fresh=1e-8),
    "ata_gp_ucb": Subject(
        on_arms(
            algorithms.ata_gp_ucb,
            moment=MOMENT,
            features=sf.QuadratureFourier(8, folded=False),
        ),
        fresh=1e-7,
    ),
    "ata_gp_ucb-published": Subject(
        on_arms(
            optimizer_of,
            features=sf.QuadratureFourier(8, folded=False),
            estimator=AS_PUBLISHED,
        ),
        fresh=1e-7,
    ),
    "robust_ucb": Subject(on_arms(algorithms.robust_ucb), fresh=1e-5),
    "repeated": Subject(
        on_arms(optimizer_of, plan=Plan(repeat_until=2.0), ridge=0.1), fresh=1e-8, first=6
    ),
    "first-points": Subject(on_arms(optimizer_of, plan=Plan(4), ridge=0.1), fresh=1e-8),
}
DRAWN: dict[str, Subject] = {
    "gp_ts": Subject(on_arms(algorithms.gp_ts, noise=0.3, ridge=0.1), fresh=1e-8),
    "gp_ts-waves": Subject(
        on_arms(algorithms.gp_ts, noise=0.3, features=sf.QuadratureFourier(8)), fresh=1e-8
    ),
    "gp_ts-bare": Subject(
        bare(algorithms.gp_ts, noise=0.3, ridge=0.1, features=greedy(6)),
    ),
    "robust_ucb": Subject(
        on_arms(algorithms.robust_ucb, policy=sf.acquisition.ThompsonSampling()), fresh=1e-5
    ),
    "bkb": Subject(on_many_arms(drawing(algorithms.bkb))),
    "bbkb": Subject(on_many_arms(drawing(algorithms.bbkb))),
    "cvar_ts": Subject(on_joint(algorithms.cvar_ts, level=0.4), fresh=1e-8),
    "box": Subject(in_box(algorithms.gp_ts, noise=0.3, ridge=0.1), fresh=1e-7, searches=True),
    "cvar_ts-box": Subject(
        on_joint(algorithms.cvar_ts, box=True, level=0.4), fresh=1e-7, searches=True
    ),
}
BUDGETED: dict[str, Subject] = {
    "bkb": Subject(on_many_arms(algorithms.bkb), grows=24),
    "bbkb": Subject(on_many_arms(algorithms.bbkb), grows=48),
    "bbkb-huber": Subject(on_many_arms(other(algorithms.bbkb, estimator=sf.Huber())), grows=48),
    "bbkb-per-arm": Subject(on_many_arms(other(algorithms.bbkb, features=per_arm())), grows=48),
    "bbkb-linear": Subject(
        linear_arms(algorithms.bbkb, noise=0.3, oversampling=1e9),
        exact=linear_arms(algorithms.gp_ucb),
        first=4,
    ),
    "bbkb-repeated": Subject(
        linear_arms(optimizer_of, features=sampled(1e9, "adaptive"), plan=Plan(repeat_until=3.0)),
        exact=linear_arms(algorithms.gp_ucb),
        first=4,
    ),
    "ata_gp_ucb-nystrom": Subject(
        on_arms(algorithms.ata_gp_ucb, moment=MOMENT, features=redrawn())
    ),
    "ata_gp_ucb-every-arm": Subject(
        on_arms(
            optimizer_of,
            features=sf.Nystrom(sf.LeverageSampling(30.0, root="symmetric")),
            estimator=AS_PUBLISHED,
        )
    ),
}
BOXES: dict[str, Subject] = {
    "gp_ucb": Subject(in_box(algorithms.gp_ucb, ridge=0.1), fresh=1e-7, searches=True),
    "gp_ucb-greedy": Subject(in_box(algorithms.gp_ucb, features=greedy(6)), searches=True),
    "robust_ucb": Subject(in_box(algorithms.robust_ucb), fresh=1e-5, searches=True),
    "bkb": Subject(in_box(algorithms.bkb, **BUDGET), searches=True),
    "bbkb": Subject(in_box(algorithms.bbkb, **BUDGET), searches=True),
}
LEARNT: dict[str, Subject] = {
    "arms": Subject(learnt(lambda: sf.Arms(PLANE), initial=3)),
    "box": Subject(learnt(lambda: sf.Box([0.0], [1.0]), initial=3), searches=True),
}
JOINT: dict[str, Subject] = {
    "v_ucb": Subject(on_joint(algorithms.v_ucb, level=0.3, ridge=0.1), fresh=1e-8),
    "v_ucb-observed": Subject(
        on_joint(algorithms.v_ucb, observed=True, level=0.3, ridge=0.1), fresh=1e-8
    ),
    "cvar_ucb": Subject(on_joint(algorithms.cvar_ucb, level=0.4), fresh=1e-8),
    "stable_opt": Subject(on_joint(algorithms.stable_opt), fresh=1e-8),
    "robust_ucb": Subject(on_joint(default_on, risk=sf.VaR(0.3)), fresh=1e-5),
    "v_ucb-sampled": Subject(on_joint(other(algorithms.v_ucb, features=sampled(3.0)), level=0.3)),
    "v_ucb-box": Subject(
        on_joint(algorithms.v_ucb, box=True, level=0.3), fresh=1e-7, searches=True
    ),
}
