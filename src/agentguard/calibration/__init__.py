"""From labels to settings: how reliable the posteriors are, and what the labels say of priors, ratios, thresholds."""

from agentguard.calibration.fitting import Estimate, Fit, Fitted, cross_posteriors, fit
from agentguard.calibration.in_force import InForce
from agentguard.calibration.intervals import Share, attainable, needed, share_of, upper_bound
from agentguard.calibration.labels import BrokenLabel, Label, parse_label
from agentguard.calibration.outcome import Outcome, Tool, Wish, calibrate
from agentguard.calibration.picture import reliability_svg
from agentguard.calibration.proposal import proposal
from agentguard.calibration.reading import Labels, labels_in_file, labels_in_store
from agentguard.calibration.reliability import Bin, Reliability, reliability
from agentguard.calibration.thresholds import Threshold, lowest_threshold
from agentguard.calibration.writing import write_file, yaml_of

__all__ = [
    "Bin",
    "BrokenLabel",
    "Estimate",
    "Fit",
    "Fitted",
    "InForce",
    "Label",
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
    "write_file",
    "yaml_of",
]
