"""Knowledge gradient of a risk: the pair whose measurement is expected to raise the best most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.acquisition import PolicyState, ascend, diverse
from surefoot.beliefs import Belief, Candidates
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint, Location
from surefoot.types import InvalidInput
from surefoot_experiments.baselines.arguments import count
from surefoot_experiments.baselines.fantasies import Draws, Fantasies, quasi_normals
from surefoot_experiments.baselines.pairs import Pairs

_ANCHORS = 8  # measured designs of largest expected risk, to start from
_UPDATES = 3  # times in an ascent that the best designs after each fantasy are found
_SCREENED = 64  # listed pairs that are evaluated with all fantasies


@dataclass(frozen=True)
class RiskKnowledgeGradient:
    r"""Knowledge gradient of a risk, rho-KG^apx, for any risk on a `Joint` space.

    The pair (x, z) maximises

    .. math:: E\,\max_{x'} E[\mathrm{risk}(f(x', Z))]

    after a measurement there, with x' among the designs measured so far and x itself. The
    expectations are over `fantasies` outcomes of the measurement and `samples` functions from
    each posterior, from quasi-random normals drawn anew in each round (see `Fantasies`).

    On a box, `raw` random pairs and perturbed copies of the best designs are screened with
    `screening` fantasies. The best `starts` ascend by L-BFGS, `steps` iterations in all, with z
    fixed where Z is finite. The best x' of each fantasy is held fixed meanwhile, which bounds the
    value from below, and is updated twice. Then every value of a finite Z is tried at the best x.
    Levels and choices of a box stay as sampled. Designs that are listed (arms, or those allowed in
    a round) are screened with every value of a finite Z, and the best 64 pairs evaluated in full.

    The probability of failure is ignored, pending queries count as if their rewards were their
    means, and where z is observed, x is that of the best pair. The authors recommend the argmax of
    E[risk(f(x, Z))], which is `ExpectedRisk`; by default `Optimizer.recommend` uses the risk of the
    mean, as for every policy.

    Args:
        fantasies: Number K of fantasised outcomes; 10 in the authors' code.
        samples: Number M of functions from each posterior; 40, later 10, in the authors' code.
        values: Number of values that represent a continuous environment.
        screening: Number of fantasies that candidates are screened with.
        raw: Number of random candidates; 250 d to 500 d in the authors' code.
        starts: Number of starts of the ascent; 10 d in the authors' code.
        steps: Iterations of L-BFGS.

    Raises:
        InvalidInput: If a number is not a positive integer, or `values` is 1.

    References:
        Cakmak et al. 2020, "Bayesian optimization of risk measures".

    Example:
        >>> import surefoot as sf
        >>> space = sf.Joint(sf.Arms([[0.0], [1.0]]), sf.FiniteEnvironment([0.0, 1.0]))
        >>> kernel, policy = sf.kernels.squared_exponential([0.2, 0.2]), RiskKnowledgeGradient(2, 4)
        >>> problem, method = sf.Problem(space, risk=sf.Mean()), sf.Method(kernel, policy=policy)
        >>> optimizer = sf.Optimizer(problem, method)
        >>> _ = optimizer.tell(0, 0.0, environment=0.0)
        >>> optimizer.ask().point.shape
        torch.Size([1])
    """

    fantasies: int = 10
    samples: int = 40
    values: int = 40
    screening: int = 4
    raw: int = 512
    starts: int = 6
    steps: int = 60

    def __post_init__(self) -> None:
        for name in ("fantasies", "samples", "screening", "raw", "starts", "steps"):
            count(name, getattr(self, name))
        count("values", self.values, least=2)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space without an environment, or with weights that depend on the design."""
        if not space.has_environment:
            raise InvalidInput(
                "`RiskKnowledgeGradient` is for a `Joint` space: pass `Joint(design, environment)` "
                "as the space, or `NoisyExpectedImprovement()` as the policy."
            )
        if space.environment.weights_vary:
            raise InvalidInput(
                "`RiskKnowledgeGradient` needs weights of the environment that are the same for "
                "all designs: pass them as numbers, or use V-UCB."
            )

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The pair of largest value, of those considered."""
        space: Joint = belief.space  # type: ignore[assignment]
        listed = None if among is None else torch.stack([location.design for location in among])
        with torch.no_grad():
            candidates = Candidates.sampled(belief, self.values, state.generator)
            gain = Fantasies(candidates, self._draws(candidates, state.generator))
            pairs = Pairs(space, candidates.z, listed)
            if pairs.all is not None:
                screened = gain.best(*pairs(pairs.all), self.screening)[0]
                found = pairs.all[screened.topk(min(_SCREENED, len(screened))).indices]
            else:
                found = self._search(gain, pairs, state.generator)
            best = found[int(gain.best(*pairs(found))[0].argmax())]
            x, z = pairs(best.unsqueeze(0))
            row = round(float(best[0])) if pairs.designs is not None else None
            arm = row if among is None or row is None else among[row].design_arm
            return space.location(x[0], arm, z[0].cpu())

    def _draws(self, candidates: Candidates, generator: torch.Generator) -> Draws:
        z = candidates.z
        outcomes = quasi_normals(self.fantasies, 1, generator)[:, 0].to(z)
        functions = quasi_normals(self.samples, len(z), generator).to(z)
        return Draws(z, candidates.weights_at(candidates.designs), outcomes, functions)

    def _search(self, gain: Fantasies, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """The points (n, e) that may be best."""
        candidates = pairs.box.sample(self.raw, generator)
        if pairs.designs is None:
            anchors = gain.designs[gain.current.argsort(descending=True)[:_ANCHORS]]
            candidates = torch.cat([candidates, pairs.around(anchors, generator)])
        screened = gain.best(*pairs(candidates), self.screening)[0]
        starts = diverse(candidates, screened, pairs.box, self.starts)
        ascended = starts
        for _ in range(_UPDATES if pairs.box.continuous else 0):
            ascended = _ascend(gain, pairs, ascended, -(-self.steps // _UPDATES))
        found = torch.cat([starts, ascended])
        best = found[int(gain.best(*pairs(found))[0].argmax())]
        return torch.cat([best.unsqueeze(0), pairs.under_all(best)])


def _ascend(gain: Fantasies, pairs: Pairs, starts: Tensor, steps: int) -> Tensor:
    """All starts at once in the continuous coordinates, each with its best designs held fixed."""
    box, best = pairs.box, gain.best(*pairs(starts))[1]

    def value(points: Tensor, start: Tensor) -> Tensor:
        return gain.value(*pairs(box.lower + box.span * points), best[start])

    unit = ascend(value, (starts - box.lower) / box.span, box.continuous, steps)
    return box.snap(box.lower + box.span * unit)
