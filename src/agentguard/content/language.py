"""The language of a text, where the package langdetect is installed to tell it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["language_of"]

SAMPLE = 20_000  # characters; langdetect itself reads the first 10,000 that are no address


def language_of(text: str) -> str | None:
    """The ISO 639-1 code (``zh-cn`` and ``zh-tw`` for Chinese), or None where it cannot be told.

    It cannot be told where langdetect is not installed, or where the text has nothing to detect. The same text gives
    the same answer: the detector's sampling is seeded.
    """
    factory = _factory()
    if factory is None:
        return None
    from langdetect import LangDetectException

    detector = factory.create()
    detector.seed = 0
    detector.append(text[:SAMPLE])
    try:
        found: str = detector.detect()
    except LangDetectException:
        return None
    return None if found == detector.UNKNOWN_LANG else found


@lru_cache(maxsize=1)
def _factory() -> Any:
    """A detector factory with its 55 languages (half a second to read), or None."""
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
    except ImportError:
        return None
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    return factory
