"""Experiments: the papers' figures and the project's own, played anew from one command.

An `Experiment` is a value: how a trial is played, what the paper says of it, and the claims that
are checked. `catalogue.EXPERIMENTS` holds them all by name; `runner.reproduce` plays one and leaves
a folder with figure, numbers, manifest and page; `gallery.write_gallery` shows many on one page.
"""

from surefoot_experiments.catalogue import EXPERIMENTS, find
from surefoot_experiments.experiment import Check, Experiment, Measure, Scale, Trial
from surefoot_experiments.gallery import write_gallery
from surefoot_experiments.runner import Outcome, Plan, reproduce

__all__ = [
    "EXPERIMENTS",
    "Check",
    "Experiment",
    "Measure",
    "Outcome",
    "Plan",
    "Scale",
    "Trial",
    "find",
    "reproduce",
    "write_gallery",
]
