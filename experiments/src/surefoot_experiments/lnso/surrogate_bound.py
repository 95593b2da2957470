"""V-UCB on a continuous environment by local neural surrogate optimisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from surefoot.acquisition import Lacing, PolicyState, ScorePolicy
from surefoot.beliefs import Belief, Candidates
from surefoot.risks import Risk, VaR
from surefoot.spaces import Arms, Box, ContinuousEnvironment, Joint, Location
from surefoot.types import InvalidInput
from surefoot_experiments.baselines.arguments import count
from surefoot_experiments.lnso import lacing_search
from surefoot_experiments.lnso.neural_surrogate import Surrogate, maximise_var
from surefoot_experiments.lnso.pinball import quantile_by_pinball

_LACING_STARTS = 128
_POOL = 2**16


@dataclass(frozen=True)
class SurrogateBound:
    """V-UCB with local neural surrogate optimisation, as in the paper.

    The design is found from `starts` designs by neural networks fitted to VaR(u(x, Z)) around
    them, the best end by the minimiser of the pinball loss; z by descent on the loss that is least
    at a lacing value. For `VaR` on a `Box` with a continuous environment. `UpperConfidenceBound`
    takes about a ninth of the time.

    Args:
        lacing: "prob" for the lacing value of largest density, "unif" for a random one.
        starts: Number of designs to start from.
        surrogate: How networks are fitted and ascended.

    Raises:
        InvalidInput: If `lacing` is neither, `starts` is not positive, or `surrogate` is none.

    References:
        Nguyen et al. 2021, "Value-at-Risk optimization with Gaussian processes", Section 3.5.

    Example:
        >>> import surefoot as sf
        >>> z = sf.ContinuousEnvironment(sf.environments.truncated_normal([0.5], 0.2, 0.0, 1.0))
        >>> space, kernel = sf.Joint(sf.Box([0.0], [1.0]), z), sf.kernels.matern(2.5, [0.2, 0.5])
        >>> policy = SurrogateBound(lacing="unif", starts=4)
        >>> problem, method = sf.Problem(space, risk=sf.VaR(0.1)), sf.Method(kernel, policy=policy)
        >>> optimizer = sf.Optimizer(problem, method)
    """

    lacing: Lacing = "prob"
    starts: int = 8
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        ScorePolicy(lacing=self.lacing)  # which refuses other names
        count("starts", self.starts)
        if not isinstance(self.surrogate, Surrogate):
            raise InvalidInput(f"`surrogate` is {self.surrogate!r}, expected a `Surrogate()`.")

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse all but `VaR` on a `Box` with a `ContinuousEnvironment`."""
        if not isinstance(risk, VaR) or space.design.finite or space.environment.finite:
            raise InvalidInput(
                "a surrogate is for `VaR` on a `Box` beside a `ContinuousEnvironment`: use "
                "`UpperConfidenceBound`."
            )
        ScorePolicy(lacing=self.lacing).check(space, risk)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The best end of the ascents, under a lacing value."""
        if among is not None:
            raise InvalidInput("a surrogate is for a `Box` of designs: use `UpperConfidenceBound`.")
        space: Joint = belief.space  # type: ignore[assignment]
        level: float = belief.risk.level  # type: ignore[attr-defined]
        environment: ContinuousEnvironment = space.environment  # type: ignore[assignment]
        design: Box = space.design  # type: ignore[assignment]
        generator = state.generator

        pool = environment.sample(_POOL, generator).to(design.lower)  # one call for thousands

        def draw(number: int) -> Tensor:
            return pool[torch.randint(_POOL, (number,), generator=generator)]

        def upper(x: Tensor, z: Tensor) -> Tensor:  # (b, n, dx), (k, dz) -> (b, n, k)
            return known.bounds(x.flatten(0, 1), z).upper.reshape(*x.shape[:2], len(z))

        z = draw(256)
        known = Candidates(belief, z, torch.full_like(z[:, 0], 1.0 / len(z)))
        measured = known.designs
        if len(measured):
            with torch.no_grad():
                order = known.mean(measured).argsort(descending=True)
            measured = measured[order[: self.starts // 2]]
        starts = torch.cat([measured, design.sample(self.starts - len(measured), generator)])
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
            values = quantile_by_pinball(lambda k: known.bounds(candidates, draw(k)).upper, level)
            x = design.on_boundary(candidates[int(values.argmax())])
            low, high = quantile_by_pinball(
                lambda k: torch.cat(known.bounds(x.unsqueeze(0), draw(k))[1:]), level
            ).tolist()
        density = self.lacing != "unif" and not space.observed
        found = lacing_search.search(
            lambda z: known.bounds(x.unsqueeze(0), z).lower[0],
            lambda z: known.bounds(x.unsqueeze(0), z).upper[0],
            low,
            high,
            (lambda z: environment.log_prob(z.cpu()).to(z)) if density else None,
            environment.quasi(_LACING_STARTS, generator).to(x),
            environment.lower.to(x),
            environment.upper.to(x),
            generator,
            lacing="prob" if density else "unif",
        )
        return space.location(x, None, found.point)
