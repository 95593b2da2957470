"""Statements about a design with a proof, and what they rest on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.beliefs.band import unexplained
from surefoot.beliefs.gains import candidates
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS
from surefoot.beliefs.self_normalised import SelfNormalised
from surefoot.features import QuadratureFourier, RandomFourier
from surefoot.risks import Mean
from surefoot.spaces import Arms
from surefoot.spaces.pending import PendingQueries
from surefoot.types import Certificate, InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief


def missing(belief: Belief) -> str:
    """What a certificate lacks, and what to pass; empty if it lacks nothing."""
    outcome, model = belief.outcome, belief.outcome.model
    if (theorem := model.theorem) is None:
        return (
            f"the width {model.width!r} has no theorem: pass `noise` or `moment` with a "
            "`norm_bound` to `gp_ucb`, or a `width` with a proof"
        )
    name, estimator = f"`widths.{type(theorem).__name__}`", type(model.estimator).__name__
    reasons = {
        f"the bounds of {name} are not proved: {theorem.unproved}": bool(theorem.unproved),
        "the norm of f is not known, and one that is found by doubling may be too small: pass "
        "`norm_bound`": theorem.norm_bound is None,
        f"no theorem holds for `scale` = {theorem.scale!r}: pass 1": theorem.scale < 1.0,
        "the kernel is fitted to the rewards, or these are standardised: pass a kernel": not (
            model.hyperparameters.lasting and outcome.fitted.units.is_identity
        ),
        f"{name} is for `LeastSquares`, not `{estimator}`": estimator != "LeastSquares",
        "the features approximate the kernel, with an error that no bound includes: pass "
        "`Exact()` or `Nystrom(...)`": isinstance(
            model.features, QuadratureFourier | RandomFourier
        ),
        f"{name} is for features that represent the kernel: pass `Exact()`": (
            theorem.exact and unexplained(outcome.sample, outcome.prior_variance) > 0.0
        ),
        "measurements failed or there are constraints": not belief.candidates.feasible.is_certain,
        "the table of the arms is `Sharded`": belief.space.seen.is_elsewhere,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def certificate(belief: Belief, delta: float | None, design: Tensor | None) -> Certificate:
    """The certificate of a design (dx,), by default that of largest lower bound.

    Args:
        belief: The belief.
        delta: Probability that it is false; None for that of the width.
        design: The design.

    Raises:
        InvalidInput: If an assumption is missing.
    """
    if reason := missing(belief):
        raise InvalidInput(f"there is no certificate: {reason}.")
    outcome = belief.outcome
    theorem: Any = outcome.model.theorem
    if delta is not None and checks.probability("delta", delta) != theorem.delta:
        theorem = replace(theorem, delta=delta)
        model, own = replace(outcome.model, width=theorem), torch.Generator().manual_seed(0)
        outcome = model.belief(outcome.observations, outcome.fitted, own)
    proved = replace(
        belief,
        outcome=outcome,
        band=outcome.band,
        reported=replace(belief.reported, interval=CONFIDENCE_BOUNDS),
        pending=PendingQueries(),
    )
    space = belief.space.design
    with torch.no_grad():
        if isinstance(space, Arms):
            x = space.points
        else:
            known = belief.candidates.designs
            filling = candidates(space, known[:1], torch.Generator().manual_seed(0))
            given = known[:0] if design is None else design.unsqueeze(0)
            x = torch.cat([filling.to(known), known, given.to(known)])
        _, lower, upper = proved.candidates.risks(x)
        given_arm = None if design is None else space.locate(design).arm
        row = int(lower.argmax()) if design is None else len(x) - 1
        row = row if given_arm is None else given_arm
        within = upper - lower[row]
        bands = getattr(proved.band.shape, "others", None)
        if isinstance(bands, SelfNormalised) and not belief.space.has_environment:
            within = torch.minimum(within, bands.excess(x, row))
        within[row] = 0.0
    assumptions = [*theorem.assumptions, f"that kernel is {_named(outcome.fitted.kernel)}"]
    if not isinstance(space, Arms):
        assumptions.append(f"no design is above the bounds of {len(x):,} that fill the space")
    risk = "" if isinstance(belief.risk, Mean) else repr(belief.risk)
    return Certificate(
        x[row].cpu(),
        space.locate(x[row]).arm,
        float(lower[row]),
        float(upper.max()),
        max(float(within.max()), 0.0),
        theorem.delta,
        tuple(assumptions),
        risk,
    )


def _named(kernel: Any) -> str:
    """Names and lengthscales of the parts of a kernel."""
    parts = [part for part in kernel.modules() if hasattr(part, "has_lengthscale")]
    lengths = [getattr(part, "lengthscale", None) for part in parts]
    return " of ".join(
        type(part).__name__ + ("" if length is None else f" with lengthscale {length.tolist()}")
        for part, length in zip(parts, lengths, strict=True)
    )
