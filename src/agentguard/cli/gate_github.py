"""A decision as an annotation of a GitHub workflow: shown above the log, and beside the change."""

from __future__ import annotations

import os
import sys

from agentguard.gate._types import Score

from .output import printable

__all__ = ["annotate"]

_COMMANDS = {"warn": "warning", "block": "error"}


def annotate(score: Score) -> None:
    """Tell GitHub of a warning or a block, where the command runs in a workflow of it; elsewhere does nothing."""
    command = _COMMANDS.get(score.decision)
    if command is None or os.environ.get("GITHUB_ACTIONS") != "true":
        return
    # On standard error, which the runner reads too: standard output may have to be one JSON object.
    said = printable(f"{score.decision}: {score.reason}").replace("%", "%25")
    print(f"::{command} title=Reliability gate::{said}", file=sys.stderr)
