"""Options that several commands share, and the engine they ask for."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from agentguard.verification import ToolProfile, VerificationEngine, load_profiles

__all__ = ["SHIPPED", "JsonOption", "Mode", "ModeOption", "ProfilesOption", "build_engine"]

SHIPPED = "shipped"


class Mode(str, Enum):
    """The two ways of judging."""

    calibrated = "calibrated"
    reference = "reference"


ProfilesOption = Annotated[
    str | None,
    typer.Option(
        "--profiles",
        metavar="DIR",
        help=f"Folder or file of YAML tool profiles; the word '{SHIPPED}' takes those that come with agentguard. "
        "Without it no tool has a profile.",
    ),
]
ModeOption = Annotated[Mode, typer.Option("--mode", help="Way of judging.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON object to stdout and nothing else.")]


def build_engine(profiles: str | None, mode: Mode) -> VerificationEngine:
    """A fresh engine.

    Raises:
        ConfigurationError, ProfileError: for profiles that cannot be used.
    """
    given: list[ToolProfile] | None = None
    if profiles is not None:
        given = load_profiles() if profiles == SHIPPED else load_profiles(profiles)
    return VerificationEngine(mode=mode.value, profiles=given)
