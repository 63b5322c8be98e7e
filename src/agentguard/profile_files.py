"""Where profile files lie: the file or folder that is named, or those shipped with agentguard."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from agentguard.errors import ConfigurationError, Problem
from agentguard.yaml_files import RawFile, Subject, read_yaml

if TYPE_CHECKING:
    from os import PathLike

    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

__all__ = ["PROFILE", "read_profile_files"]

PROFILE = Subject("profile", "name: my_tool")
SHIPPED = "agentguard.profiles"
_SUFFIXES = frozenset({".yaml", ".yml"})


def read_profile_files(path: str | PathLike[str] | None = None) -> tuple[list[RawFile], list[Problem]]:
    """Read profile files, and report what in them cannot be read.

    Args:
        path: a file, or a folder whose ``*.yaml`` and ``*.yml`` files are read in the order of their names
            (subfolders and names that begin with a dot are left out). None: the profiles shipped with agentguard.

    Returns:
        What could be read, and one ``Problem`` for each fault. A file with a fault that leaves its other fields
        readable (a key given twice, an alias) is in both, so that all its faults can be reported together.

    Raises:
        ConfigurationError: where there is no such path, or nothing in it to read.
    """
    profiles: list[RawFile] = []
    problems: list[Problem] = []
    for source, file in _shipped() if path is None else _chosen(path):
        profile, found = read_yaml(source, file, PROFILE)
        problems += found
        if profile is not None:
            profiles.append(profile)
    return profiles, problems


def _shipped() -> list[tuple[str, Traversable]]:
    try:
        found = [(f"{SHIPPED}/{entry.name}", entry) for entry in _profiles_in(files(SHIPPED))]
    except (ModuleNotFoundError, OSError):
        found = []
    if not found:
        raise ConfigurationError("the profiles shipped with agentguard are missing: install agentguard again")
    return found


def _chosen(path: str | PathLike[str]) -> list[tuple[str, Traversable]]:
    chosen = Path(path)
    try:
        if str(path) and chosen.is_dir():
            found = [(_shown(chosen / entry.name), entry) for entry in _profiles_in(chosen)]
            if not found:
                raise ConfigurationError(f"no profiles in the folder {_shown(chosen)}: it has no *.yaml or *.yml file")
            return found
        if chosen.is_file():
            return [(_shown(chosen), chosen)]
        exists = bool(str(path)) and chosen.exists()
    except OSError as error:
        raise ConfigurationError(f"cannot read profiles from {_shown(path)}: {error.strerror or error}") from None
    if exists:
        raise ConfigurationError(f"cannot read profiles from {_shown(path)}: it is neither a file nor a folder")
    raise ConfigurationError(f"no such file or folder of profiles: {_shown(path) or 'an empty path was given'}")


def _shown(path: str | PathLike[str]) -> str:
    """The path as text that can be printed; a name that is not UTF-8 has lone surrogates in Python."""
    return str(path).encode("utf-8", "replace").decode()


def _profiles_in(folder: Traversable) -> list[Traversable]:
    found = (entry for entry in folder.iterdir() if PurePath(entry.name).suffix.lower() in _SUFFIXES)
    visible = (entry for entry in found if not entry.name.startswith(".") and entry.is_file())
    return sorted(visible, key=lambda entry: entry.name)
