"""Statements about a design with a proof, and what they rest on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS
from surefoot.beliefs.self_normalised import SelfNormalised
from surefoot.risks import Mean
from surefoot.spaces import Arms
from surefoot.spaces.pending import PendingQueries
from surefoot.spaces.representatives import filling
from surefoot.types import Certificate

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief
    from surefoot.beliefs.outcome import OutcomeBelief


def _missing(belief: Belief) -> str:
    """What a certificate lacks, and what to pass; empty if it lacks nothing."""
    if belief.reported.assumed is None and (
        reason := belief.outcome.model.unproved(belief.outcome)
    ):
        return reason
    reasons = {
        "measurements failed or there are constraints": not belief.candidates.feasible.is_certain,
        "the table of the arms is `Sharded`": belief.space.seen.is_elsewhere,
        "the measurements differ between workers or drift, which is no noise": bool(
            belief.outcome.effects
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def certificate(belief: Belief, delta: float | None, design: Tensor | None) -> Certificate | str:
    """The certificate of a design (dx,), by default that of largest lower bound, or why none is.

    Args:
        belief: The belief.
        delta: Probability that it is false; None for that of the width, or of what is assumed.
        design: The design.
    """
    if reason := _missing(belief):
        return reason
    known, center = belief.reported.assumed, 0.0
    if known is None:
        tried = [_proved(belief, belief.outcome, delta)]
    else:
        center = float(belief.reported.units(torch.tensor(known.center, dtype=torch.float64)))
        with catch_warnings():
            simplefilter("ignore")  # that one is contradicted, which is said where all are
            model, observations = belief.outcome.model, belief.outcome.observations
            lengthscales: Any = known.lengthscale
            outcomes = [model.assuming(observations, known, one, center) for one in lengthscales]
            tried = [_proved(belief, outcome, delta) for outcome in outcomes]
    if not (proved := [one for one in tried if not one.band.shape.contradicted]):
        rest = " and ".join(tried[0].outcome.model.theorem.assumptions)  # type: ignore[union-attr]
        return (
            f"the measurements contradict what is assumed, that {rest}: no such function is close "
            "to them, so that one of these is too small"
        )
    space = belief.space.design
    with torch.no_grad():
        if isinstance(space, Arms):
            x = space.points
        else:
            designs = belief.candidates.designs
            others = filling(space, designs[:1], torch.Generator().manual_seed(0))
            given = designs[:0] if design is None else design.unsqueeze(0)
            x = torch.cat([others.to(designs), designs, given.to(designs)])
        ends = [one.candidates.risks(x)[1:] for one in proved]  # of each lengthscale
        lower = torch.stack([low for low, _ in ends]).amin(0)
        arm = int(lower.argmax()) if design is None else space.locate(design).arm
        row = len(x) - 1 if arm is None else arm
        within = [_within(one, *each, x, row) for one, each in zip(proved, ends, strict=True)]
    theorem: Any = proved[0].outcome.model.theorem
    named = " or ".join(_named(one.outcome.fitted.kernel) for one in proved)
    assumptions = [*theorem.assumptions, f"that kernel is {named}"]
    if known is not None and known.center:
        assumptions.append(f"f is the mean less {known.center:g} in these")
    if not isinstance(space, Arms):
        assumptions.append(f"no design is above the bounds of {len(x):,} that fill the space")
    return Certificate(
        x[row].cpu(),
        space.locate(x[row]).arm,
        float(lower[row]) + center,
        max(float(high.max()) for _, high in ends) + center,
        max(within),
        theorem.delta,
        tuple(assumptions),
        "" if isinstance(belief.risk, Mean) else repr(belief.risk),
    )


def _proved(belief: Belief, outcome: OutcomeBelief, delta: float | None) -> Belief:
    """The belief of an outcome whose bounds hold with probability 1 - delta."""
    theorem: Any = outcome.model.theorem
    if delta is not None and checks.probability("delta", delta) != theorem.delta:
        theorem = replace(theorem, delta=delta)
        model, own = outcome.model.with_theorem(theorem), torch.Generator().manual_seed(0)
        outcome = model.belief(outcome.observations, outcome.fitted, own)
    return replace(
        belief,
        outcome=outcome,
        band=outcome.band,
        reported=replace(belief.reported, interval=CONFIDENCE_BOUNDS),
        pending=PendingQueries(),
    )


def _within(proved: Belief, lower: Tensor, upper: Tensor, x: Tensor, row: int) -> float:
    """Most that a design (n, dx) is better by than one of them, given the bounds (n,) of all."""
    within = upper - lower[row]
    bands = getattr(proved.band.shape, "others", None)
    if isinstance(bands, SelfNormalised) and not proved.space.has_environment:
        within = torch.minimum(within, bands.excess(x, row))
    within[row] = 0.0
    return max(float(within.max()), 0.0)


def _named(kernel: Any) -> str:
    """Names and lengthscales of the parts of a kernel."""
    parts = [part for part in kernel.modules() if hasattr(part, "has_lengthscale")]
    lengths = [getattr(part, "lengthscale", None) for part in parts]
    shown = (
        "" if one is None else " with lengthscale " + ", ".join(map("{:.4g}".format, one.flatten()))
        for one in lengths
    )
    return " of ".join(type(part).__name__ + one for part, one in zip(parts, shown, strict=True))
