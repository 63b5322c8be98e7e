"""What is learned of a model as a document of a store: figures alone, nothing of any response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentguard.errors import DataError

from .baseline import Level, Levels, Sample
from .types import Fingerprint, usable

__all__ = ["VERSION", "decode", "encode", "name_of"]

VERSION: Final = 1
_LEVELS: Final = tuple(name for name in Levels._fields if name not in ("calls", "errors"))
_WIDTHS: Final = {"fingerprint": len(Fingerprint._fields)}


def name_of(model: str) -> str:
    """The name of a model's document.

    >>> name_of("llama3.2:3b")
    'health:llama3.2:3b'
    """
    return "health:" + model.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is no text to a store


def encode(model: str, levels: Levels) -> dict[str, Any]:
    """The document of a model.

    >>> encode("m", Levels(calls=3))["learned"]["calls"]
    3
    """
    learned: dict[str, Any] = {"calls": levels.calls, "errors": levels.errors}
    for name in _LEVELS:
        level: Level = getattr(levels, name)
        learned[name] = {
            "samples": level.samples,
            "usual": list(level.usual),
            "run": level.run,
            "recent": list(level.recent),
            "since": level.since,
        }
    return {"version": VERSION, "model": model.encode("utf-8", "backslashreplace").decode(), "learned": learned}


def decode(document: Mapping[str, Any]) -> Levels:
    """What was encoded.

    Raises:
        DataError: for anything that ``encode`` does not write.

    >>> decode(encode("m", Levels(errors=2))).errors
    2
    """
    version = document.get("version")
    if version != VERSION:
        raise DataError(f"it has version {version!r}, and this is agentguard with version {VERSION}")
    learned = document.get("learned")
    if not isinstance(learned, Mapping):
        raise DataError("what was learned is missing in it")
    levels = {name: _level(name, learned.get(name)) for name in _LEVELS}
    return Levels(calls=_times("calls", learned), errors=_times("errors", learned), **levels)


def _level(name: str, written: Any) -> Level:
    if not isinstance(written, Mapping):
        raise DataError(f"{name} is missing in it")
    samples, run, since = (_times(part, written, name) for part in ("samples", "run", "since"))
    width = _WIDTHS.get(name, 1)
    usual = _sample(f"{name}.usual", written.get("usual"), width if samples else 0)
    return Level(samples, usual, run, _sample(f"{name}.recent", written.get("recent"), width if since else 0), since)


def _times(name: str, written: Mapping[str, Any], of: str = "") -> int:
    value = written.get(name)
    if type(value) is not int or value < 0:
        raise DataError(f"{of + '.' if of else ''}{name} is not a number of calls in it")
    return value


def _sample(name: str, written: Any, width: int) -> Sample:
    figures = written if isinstance(written, (list, tuple)) else None
    if figures is None or len(figures) != width:
        raise DataError(f"{name} should have {width} figures in it")
    measured = tuple(figure for figure in map(usable, figures) if figure is not None)
    if len(measured) != width:
        raise DataError(f"{name} has a figure in it that was never measured")
    return measured
