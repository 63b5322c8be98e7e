"""Calibration from labels: the reliability of posteriors, and priors, ratios and thresholds that follow.

This package fits settings to reviewed calls; needs scipy. ``agentguard.verification`` applies such settings in an
engine.
"""

from agentguard.calibration._fit import Estimate, Fit, Fitted, LabelSettings, cross_posteriors, fit
from agentguard.calibration._labels import BrokenLabel, Label, Labels, labels_in_file, labels_in_store, parse_label
from agentguard.calibration._outcome import Outcome, Tool, Wish, calibrate
from agentguard.calibration._picture import reliability_svg
from agentguard.calibration._proposal import proposal, yaml_of
from agentguard.calibration._statistics import (
    Bin,
    Reliability,
    Share,
    Threshold,
    attainable,
    lowest_threshold,
    needed,
    reliability,
    share_of,
    upper_bound,
)

__all__ = [
    "Bin",
    "BrokenLabel",
    "Estimate",
    "Fit",
    "Fitted",
    "Label",
    "LabelSettings",
    "Labels",
    "Outcome",
    "Reliability",
    "Share",
    "Threshold",
    "Tool",
    "Wish",
    "attainable",
    "calibrate",
    "cross_posteriors",
    "fit",
    "labels_in_file",
    "labels_in_store",
    "lowest_threshold",
    "needed",
    "parse_label",
    "proposal",
    "reliability",
    "reliability_svg",
    "share_of",
    "upper_bound",
    "yaml_of",
]
