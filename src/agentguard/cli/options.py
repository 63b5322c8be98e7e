"""Options that several commands share, and the engine they ask for."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from agentguard.stores import Store
from agentguard.verification import ToolProfile, VerificationEngine, load_profiles

__all__ = [
    "SHIPPED", "STORE_VARIABLE", "CalibrationOption", "JsonOption", "Mode", "ModeOption", "ProfilesOption",
    "StoreOption", "build_engine",
]  # fmt: skip

SHIPPED = "shipped"
STORE_VARIABLE = "AGENTGUARD_STORE"


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
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR|URL",
        envvar=STORE_VARIABLE,
        help="The store of what was learned: a folder, or redis://…, rediss://…, unix://….",
    ),
]


CalibrationOption = Annotated[
    str | None,
    typer.Option("--calibration", metavar="FILE", help="Judge by what 'agentguard calibrate -o FILE' found."),
]


def build_engine(
    profiles: str | None, mode: Mode, store: Store | None = None, calibration: str | None = None
) -> VerificationEngine:
    """An engine: a fresh one, or one that goes on from what is in a store.

    Raises:
        ConfigurationError, ProfileError: for profiles or a calibration that cannot be used.
    """
    given: list[ToolProfile] | None = None
    if profiles is not None:
        given = load_profiles() if profiles == SHIPPED else load_profiles(profiles)
    return VerificationEngine(mode=mode.value, profiles=given, store=store, calibration=calibration)
