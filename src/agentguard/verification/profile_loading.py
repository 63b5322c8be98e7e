"""Profiles from files: every fault of every file is reported in one error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentguard.errors import ConfigurationError, Problem, ProfileError

from .profile import ToolProfile, parse_profile

if TYPE_CHECKING:
    from os import PathLike

    from agentguard.yaml_files import RawFile

__all__ = ["in_order", "line_of", "load_profiles", "profiles_in", "read_profiles"]


def load_profiles(path: str | PathLike[str] | None = None) -> list[ToolProfile]:
    """Read tool profiles from YAML files, one profile a file.

    A profile without a ``name`` takes its file's. No two profiles may claim the same name or alias, because only one
    of them could ever be found.

    Args:
        path: a file, or a folder whose ``*.yaml`` and ``*.yml`` files are read in the order of their names. None: the
            profiles shipped with agentguard.

    Raises:
        ConfigurationError: where there is no such path, or nothing in it to read.
        ProfileError: with every problem of every file, each with its file and line.

    >>> [profile.name for profile in load_profiles() if "tavily_search_results_json" in profile.aliases]
    ['tavily_search']
    """
    return [profile for profile, _ in read_profiles(path)]


def read_profiles(path: str | PathLike[str] | None = None) -> list[tuple[ToolProfile, RawFile]]:
    """Profiles as ``load_profiles`` reads them, each with the file that it stands in and the lines of its fields.

    Raises:
        ConfigurationError: as ``load_profiles``.
        ProfileError: as ``load_profiles``.
    """
    from agentguard.profile_files import read_profile_files  # with the YAML reader, which few imports need

    files, problems = read_profile_files(path)
    profiles: list[tuple[ToolProfile, RawFile]] = []
    claimed: dict[str, str] = {}
    for file in files:
        try:
            profile = parse_profile({"name": file.stem, **file.data}, file.source, file.lines)
        except ProfileError as error:
            problems += error.problems
            continue
        problems += _claim(profile, file, claimed)
        profiles.append((profile, file))
    if problems:
        raise ProfileError(in_order(problems))
    return profiles


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by file and line."""
    return sorted(problems, key=lambda problem: (problem.source, problem.line or 0))


def profiles_in(given: str | PathLike[str] | Iterable[ToolProfile] | None) -> list[ToolProfile]:
    """The profiles that an engine is given: themselves, or the path where they lie.

    Raises:
        ConfigurationError: for anything else, or a path with nothing to read.
        ProfileError: as ``load_profiles``.
    """
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        return load_profiles(given)
    profiles = list(given)
    for profile in profiles:
        if not isinstance(profile, ToolProfile):
            raise ConfigurationError(f"profiles must be a path or ToolProfiles, not {type(profile).__name__}s")
    return profiles


def line_of(file: RawFile, key: tuple[str | int, ...]) -> int | None:
    """The line of a key path, or of the nearest above it."""
    return next((file.lines[key[:k]] for k in range(len(key), -1, -1) if key[:k] in file.lines), None)


def _claim(profile: ToolProfile, file: RawFile, claimed: dict[str, str]) -> list[Problem]:
    """Enter the profile's names as claimed, and report those that another file claimed before."""
    problems = []
    for name, key in _names(profile):
        holder = claimed.setdefault(name, file.source)
        if holder != file.source:
            message = f"{name!r} is claimed by {holder} too; a tool name can have one profile"
            problems.append(Problem(file.source, line_of(file, key), ".".join(map(str, key)), message))
    return problems


def _names(profile: ToolProfile) -> list[tuple[str, tuple[str | int, ...]]]:
    """Each name that the profile claims, with the key path that it stands under."""
    return [(profile.name, ("name",)), *((alias, ("aliases", k)) for k, alias in enumerate(profile.aliases))]
