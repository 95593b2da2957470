"""The pair of design and environment whose measurement should do most for the best risk."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.acquisition.fantasies import Draws, Fantasies
from surefoot.acquisition.joint_situation import JointSituation
from surefoot.acquisition.pairs import Pairs
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint

_ANCHORS = 8  # measured designs of largest expected risk, to look around
_TURNS = 3  # times in a climb that the best designs after each fantasy are found
_CAREFULLY = 64  # listed pairs that all fantasies are spent on
_ENDS = 1e-6  # of the unit interval, where normals are cut off


@dataclass(frozen=True)
class RiskKnowledgeGradient:
    """rho-KG^apx (Cakmak et al. 2020, "Bayesian optimization of risk measures"), for any risk.

    (x, z) maximises E max over x' of E[risk(f(x', Z))] once f has been measured there, x' among
    the designs measured so far and x: over `fantasies` K outcomes and `samples` M functions of
    each posterior, of quasi-random normals that are drawn anew in each round (`Fantasies`). A
    continuous Z stands for `values` of it, and z is chosen between its bounds.

    On a box, `raw` pairs and the surroundings of the best designs are judged by `screening`
    fantasies; the best `starts` climb by L-BFGS, `steps` iterations in all, under their z where Z
    is finite. Meanwhile the best x' of each fantasy stays, which bounds the value from below, and
    is found anew twice. Then every value of a finite Z is tried at the best x. Listed levels and
    choices of a box stay as they were drawn. Designs that are listed (arms, or those allowed in a
    round) are screened with every value of a finite Z, and the best 64 pairs judged in full.

    K = 10, M = 40 (later 10), 4 fantasies for screening and the best x' found anew now and then
    are of the authors' code, which takes 250 d to 500 d raw points and 10 d starts. They recommend
    argmax of E[risk(f(x, Z))]; `Optimizer.recommend` goes by the risk of the mean, as for every
    policy. The chance that a measurement fails is not looked at, measurements under way count as
    having given their means, and where the world draws z, x is that of the best pair.
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
            checks.count(name, getattr(self, name))
        checks.count("values", self.values, least=2)

    def check(self, joint: Joint, risk: Risk) -> None:
        """It works on all."""

    def choose(
        self, situation: JointSituation, among: Tensor | None
    ) -> tuple[Tensor, int | None, Tensor]:
        with one_thread(), torch.no_grad():
            z, weights = situation.values(self.values)
            gain = Fantasies(situation, self._draws(z, weights, situation.generator))
            pairs = Pairs(situation.joint, z, among)
            if pairs.all is not None:
                screened = gain.best(*pairs(pairs.all), self.screening)[0]
                found = pairs.all[screened.topk(min(_CAREFULLY, len(screened))).indices]
            else:
                found = self._search(gain, pairs, situation.generator)
            best = found[int(gain.best(*pairs(found))[0].argmax())]
            x, environment = pairs(best.unsqueeze(0))
            whole = among is None and isinstance(situation.joint.design, Arms)
            return x[0], round(float(best[0])) if whole else None, environment[0]

    def _draws(self, z: Tensor, weights: Tensor, generator: torch.Generator) -> Draws:
        outcomes = _normals(self.fantasies, 1, generator)[:, 0].to(z)
        return Draws(z, weights, outcomes, _normals(self.samples, len(z), generator).to(z))

    def _search(self, gain: Fantasies, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """The points (n, e) that may be best."""
        candidates = pairs.box.sample(self.raw, generator)
        if pairs.designs is None:
            anchors = gain.designs[gain.today.argsort(descending=True)[:_ANCHORS]]
            candidates = torch.cat([candidates, pairs.around(anchors, generator)])
        screened = gain.best(*pairs(candidates), self.screening)[0]
        starts = _apart(candidates, screened, pairs.box, self.starts)
        climbed = starts
        for _ in range(_TURNS if pairs.box.continuous else 0):
            climbed = _climb(gain, pairs, climbed, -(-self.steps // _TURNS))
        found = torch.cat([starts, climbed])
        best = found[int(gain.best(*pairs(found))[0].argmax())]
        return torch.cat([best.unsqueeze(0), pairs.under_all(best)])


def _normals(number: int, dimension: int, generator: torch.Generator) -> Tensor:
    """Quasi-random standard normals (number, dimension)."""
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    sobol = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    unit = sobol.draw(number, dtype=torch.float64)
    return torch.special.ndtri(unit.clamp(_ENDS, 1.0 - _ENDS))


def _apart(points: Tensor, values: Tensor, box: Box, number: int) -> Tensor:
    """The best points, none of them close to a better one."""
    unit, left = (points - box.lower) / box.span, values.clone()
    chosen: list[int] = []
    while len(chosen) < number and bool((left > -torch.inf).any()):
        chosen.append(int(left.argmax()))
        near = (unit - unit[chosen[-1]]).square().sum(-1) < 1e-3 * box.dimension
        left[near] = -torch.inf
    return points[chosen]


def _climb(gain: Fantasies, pairs: Pairs, starts: Tensor, steps: int) -> Tensor:
    """All starts by L-BFGS in the coordinates that are continuous, each with its best designs."""
    from botorch.generation.gen import gen_candidates_scipy

    box, number = pairs.box, len(starts)
    best = gain.best(*pairs(starts))[1]
    # Starts that are done drop out of the batch, so that each carries its number, from 0 to 1.
    numbered = torch.arange(number).to(starts).unsqueeze(-1) / number
    unit = torch.cat([(starts - box.lower) / box.span, numbered], -1)
    held = [c for c in range(unit.shape[1]) if c not in box.continuous]
    with torch.enable_grad(), warnings.catch_warnings(record=True):  # of line searches that stop
        climbed, _ = gen_candidates_scipy(
            unit.unsqueeze(-2),
            _Acquisition(gain, pairs, best),
            0.0,
            1.0,
            options={"maxiter": steps},
            fixed_features={c: unit[:, c : c + 1] for c in held},
        )
    return box.snap(box.lower + box.span * climbed.detach()[:, 0, :-1])


class _Acquisition(torch.nn.Module):
    """The value in the form that BoTorch maximises: (b, 1, e + 1) -> (b,), on the unit cube."""

    def __init__(self, gain: Fantasies, pairs: Pairs, best: Tensor) -> None:
        super().__init__()
        self._gain = gain
        self._pairs = pairs
        self._best = best

    def forward(self, X: Tensor) -> Tensor:
        box, start = self._pairs.box, (X[:, 0, -1] * len(self._best)).round().long()
        points = box.lower + box.span * X[:, 0, :-1]
        return self._gain.value(*self._pairs(points), self._best[start])
