"""V-UCB on a continuous environment the paper's way: by nets, pinball losses and descent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition import lacing_search
from surefoot.acquisition.joint_situation import JointSituation
from surefoot.acquisition.neural_surrogate import Surrogate, maximise_var
from surefoot.acquisition.risk_bound import RiskBound, best_known
from surefoot.risks import Risk, VaR
from surefoot.risks.pinball import quantile_by_pinball
from surefoot.spaces import Arms, Box, ContinuousEnvironment, Joint
from surefoot.types import InvalidInput

_LACING_STARTS = 128
_POOL = 2**16


@dataclass(frozen=True)
class SurrogateBound:
    """V-UCB with local neural surrogate optimisation (Nguyen et al. 2021, Section 3.5).

    x from `starts` designs by nets that learn VaR(u(x, Z)) around them, the best end by the
    minimiser of the pinball loss; z by descent on the loss that is least at a lacing value. For
    `VaR` on a `Box` beside a continuous environment. `RiskBound` takes a tenth of the time
    (benchmarks/risk_ask_time.md): this is here as the paper has it.
    """

    lacing: Literal["prob", "unif"] = "prob"
    starts: int = 8
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.lacing not in ("prob", "unif"):
            raise InvalidInput(f"`lacing` is {self.lacing!r}, expected 'prob' or 'unif'.")
        checks.count("starts", self.starts)

    def check(self, joint: Joint, risk: Risk) -> None:
        continuous = isinstance(joint.environment, ContinuousEnvironment)
        if not isinstance(risk, VaR) or not continuous or isinstance(joint.design, Arms):
            raise InvalidInput(
                "a surrogate is for `VaR` on a `Box` beside a `ContinuousEnvironment`: use "
                '`RiskBound`, or `search="quantiles"`.'
            )
        RiskBound(self.lacing).check(joint, risk)

    def choose(
        self, situation: JointSituation, among: Tensor | None
    ) -> tuple[Tensor, int | None, Tensor]:
        if among is not None:
            raise InvalidInput("a surrogate is for a `Box` of designs: use `RiskBound`.")
        level: float = situation.risk.level  # type: ignore[attr-defined]
        environment: ContinuousEnvironment = situation.joint.environment  # type: ignore[assignment]
        design: Box = situation.joint.design  # type: ignore[assignment]
        generator = situation.generator

        pool = environment.sample(_POOL, generator).to(design.lower)  # one call for thousands

        def draw(number: int) -> Tensor:
            return pool[torch.randint(_POOL, (number,), generator=generator)]

        def upper(x: Tensor, z: Tensor) -> Tensor:  # (b, n, dx), (k, dz) -> (b, n, k)
            return situation.bounds(x.flatten(0, 1), z).upper.reshape(*x.shape[:2], len(z))

        known = best_known(situation, draw(256), self.starts // 2)
        starts = torch.cat([known, design.sample(self.starts - len(known), generator)])
        with torch.no_grad():
            ends, _ = maximise_var(
                upper,
                design.lower,
                design.upper,
                starts,
                level,
                draw,
                generator,
                self.surrogate,
            )
            candidates = design.snap(torch.cat([ends, starts]))
            values = quantile_by_pinball(
                lambda k: situation.bounds(candidates, draw(k)).upper, level
            )
            x = candidates[int(values.argmax())]
            low, high = quantile_by_pinball(
                lambda k: torch.cat(situation.bounds(x.unsqueeze(0), draw(k))[1:]), level
            ).tolist()
        density = self.lacing == "prob" and not situation.joint.observed
        found = lacing_search.search(
            lambda z: situation.bounds(x.unsqueeze(0), z).lower[0],
            lambda z: situation.bounds(x.unsqueeze(0), z).upper[0],
            low,
            high,
            (lambda z: environment.log_prob(z.cpu()).to(z)) if density else None,
            environment.quasi(_LACING_STARTS, generator).to(x),
            environment.lower.to(x),
            environment.upper.to(x),
            generator,
            lacing="prob" if density else "unif",
        )
        return x, None, found.point
