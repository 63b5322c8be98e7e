"""A calibration file: what ``agentguard calibrate`` writes, and what an engine is set by.

::

    version: 1
    made_from: {labels: 812}
    all:                      # the arguments of VerificationEngine.calibrate
      prior: 0.04
      block_at: 0.62
      likelihood_ratios: {echo_mismatch: 11.3}
    tools:
      get_weather: {prior: 0.02}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentguard.errors import ConfigurationError, Problem, ProfileError

from .evidence import DEFAULT_RATIOS
from .settings import Settings, as_written, is_ratio

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["CALIBRATION_VERSION", "Calibration", "load_calibration", "parse_calibration"]

CALIBRATION_VERSION = 1

_Lines = Mapping[tuple[str | int, ...], int]
_Note = Callable[[tuple[str, ...], str], None]
_PARTS = ("version", "made_from", "all", "tools")
_SETTINGS = ("prior", "accept_below", "block_at", "max_false_block_rate", "likelihood_ratios")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The arguments of ``VerificationEngine.calibrate``, for all tools and for single ones.

    Attributes:
        everywhere: what is set for all tools.
        tools: what is set for one, by its name; it stands over what is set for all.
        made_from: what the file says of its own making; nothing depends on it.
    """

    everywhere: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)

    @property
    def feedback_until(self) -> int:
        """The number of the last label of the store's log that is in the file; 0 where it was made from others."""
        until = self.made_from.get("feedback_until", 0)
        return until if isinstance(until, int) and not isinstance(until, bool) and until > 0 else 0


def load_calibration(path: str | PathLike[str]) -> Calibration:
    """Read a calibration file.

    Raises:
        ConfigurationError: where there is no such file.
        ProfileError: with every problem of the file, each with its line.
    """
    from agentguard.yaml_files import Subject, read_yaml_file  # with the YAML reader, which few imports need

    try:
        given, problems = read_yaml_file(path, Subject("calibration file", f"version: {CALIBRATION_VERSION}"))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; 'agentguard calibrate -o FILE' writes one") from None
    if given is None:
        raise ProfileError(problems)
    found, more = _parsed(given.data, given.source, given.lines)
    if problems or more:
        raise ProfileError(sorted([*problems, *more], key=lambda problem: problem.line or 0))
    return found


def parse_calibration(data: Mapping[str, Any], source: str = "calibration", lines: _Lines | None = None) -> Calibration:
    """A calibration from plain data.

    Args:
        data: as in a file.
        source: what to call the data in messages, usually the file's name.
        lines: the line (1-based) of each key path, where the data came from a file.

    Raises:
        ProfileError: with every problem.

    >>> parse_calibration({"version": 1, "all": {"prior": 0.05}}).everywhere["prior"]
    0.05
    >>> parse_calibration({"version": 1, "all": {"prior": 5}})
    Traceback (most recent call last):
    agentguard.errors.ProfileError: calibration has 1 problem:
      calibration: all.prior: must be a number in (0, 1), not 5
    """
    found, problems = _parsed(data, source, lines or {})
    if problems:
        raise ProfileError(problems)
    return found


def _parsed(data: Mapping[str, Any], source: str, lines: _Lines) -> tuple[Calibration, list[Problem]]:
    problems: list[Problem] = []

    def note(where: tuple[str, ...], message: str) -> None:
        line = next((lines[where[:k]] for k in range(len(where), -1, -1) if where[:k] in lines), None)
        problems.append(Problem(source, line, ".".join(where), message))

    def mapping(value: Any, *where: str) -> Mapping[str, Any]:
        if value is None or isinstance(value, Mapping):
            return value or {}
        note(where, "must be a mapping")
        return {}

    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        note(("version",), f"must be given, and be the format's number, which is {CALIBRATION_VERSION}")
    elif version > CALIBRATION_VERSION:
        number = str(version) if version < 10**9 else "number of many digits"
        written = f"was written by a newer agentguard, in format {number}"
        note(("version",), f"{written}; this one reads up to {CALIBRATION_VERSION}: upgrade it, or calibrate again")
        return Calibration(), problems  # what else such a file may say is not known here
    for name in data:
        if name not in _PARTS:
            note((str(name),), f"unknown part; known are {', '.join(_PARTS)}")
    made_from = mapping(data.get("made_from"), "made_from")
    everywhere = _settings(mapping(data.get("all"), "all"), ("all",), note, {})
    tools = {
        tool: _settings(mapping(values, "tools", tool), ("tools", tool), note, everywhere)
        for tool, values in mapping(data.get("tools"), "tools").items()
    }
    proxies = MappingProxyType({tool: MappingProxyType(values) for tool, values in tools.items()})
    return Calibration(MappingProxyType(everywhere), proxies, MappingProxyType(dict(made_from))), problems


def _settings(
    given: Mapping[str, Any], where: tuple[str, ...], note: _Note, everywhere: Mapping[str, Any]
) -> dict[str, Any]:
    """The usable ones of these settings; the others are noted."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _SETTINGS:
            note((*where, str(name)), f"unknown setting; known are {', '.join(_SETTINGS)}")
        elif name == "likelihood_ratios":
            found[name] = MappingProxyType(_ratios(value, (*where, name), note))
        else:
            try:
                # The other threshold is put out of the way: here each is looked at for itself.
                found[name] = getattr(Settings(accept_below=1e-300, block_at=1.0).changed(**{name: value}), name)
            except ConfigurationError as error:
                note((*where, name), str(error).removeprefix(f"{name} "))
    both = {**everywhere, **found}
    low, high = both.get("accept_below", 0.0), both.get("block_at", 1.0)
    if low > high and ("accept_below" in found or "block_at" in found):
        name = "accept_below" if "accept_below" in found else "block_at"
        note((*where, name), f"accept_below ({low}) must not be above block_at ({high})")
    return found


def _ratios(given: Any, where: tuple[str, ...], note: _Note) -> dict[str, float]:
    if not isinstance(given, Mapping):
        note(where, "must be a mapping of signals to ratios")
        return {}
    found = {}
    for signal, ratio in given.items():
        if signal not in DEFAULT_RATIOS:
            note((*where, str(signal)), f"unknown signal; known are {', '.join(sorted(DEFAULT_RATIOS))}")
        elif not is_ratio(ratio):
            note((*where, signal), f"must be a positive number, not {as_written(ratio)}")
        else:
            found[signal] = float(ratio)
    return found
