"""Which profile a tool's name belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentguard import forks

from .profile import ToolProfile

__all__ = ["ProfileIndex"]

MAX_CACHED = 10_000
MAX_CACHED_LENGTH = 256  # characters; a longer name is looked up afresh each time, so the cache stays small

_Pattern = tuple[tuple[str, ...], ToolProfile]  # the text between the stars, and whose it is


class ProfileIndex:
    """Finds the profile of a tool by name: exact name first, then alias, then the patterns.

    A name or alias with ``*`` is a pattern, in which ``*`` stands for any run of characters, also an empty one, and
    every other character for itself. Where several patterns match, the one with the most characters besides ``*``
    wins; between equals the one added last. Case counts. Safe to share between threads.

    >>> index = ProfileIndex([ToolProfile(name="search", aliases=["search_*", "*_news"])])
    >>> index.add(ToolProfile(name="search_new*"))
    >>> [found.name if (found := index.find(tool)) else None for tool in ("search", "search_news", "Search")]
    ['search', 'search_new*', None]
    """

    def __init__(self, profiles: Iterable[ToolProfile] = ()) -> None:
        """Start from these profiles; more can be added."""
        self._lock = forks.lock(forks.Rank.LEAF)
        self._profiles: dict[str, ToolProfile] = {}
        self._aliases: dict[str, ToolProfile] = {}
        self._patterns: tuple[_Pattern, ...] = ()
        self._cache: dict[str, ToolProfile | None] = {}
        for profile in profiles:
            self.add(profile)

    def add(self, profile: ToolProfile) -> None:
        """Add a profile; it replaces one of the same name, and takes over the aliases that it shares with others."""
        with self._lock:
            if profile.name in self._profiles:
                kept = [other for other in self._profiles.values() if other.name != profile.name]
                rebuilt = ProfileIndex([*kept, profile])
                self._profiles, self._aliases = rebuilt._profiles, rebuilt._aliases
                self._patterns = rebuilt._patterns
            else:
                self._profiles[profile.name] = profile
                self._aliases.update((alias, profile) for alias in profile.aliases if "*" not in alias)
                # Sorting is stable: of patterns equally long, the ones put in front stay in front.
                self._patterns = tuple(sorted((*_patterns_of(profile), *self._patterns), key=_specificity))
            # A new object, last of all: a lookup that began before this line writes into the old one.
            self._cache = {}

    def find(self, tool: str) -> ToolProfile | None:
        """The profile of a tool, or None where none matches. Costs one dictionary lookup for a name seen before."""
        cache = self._cache
        try:
            return cache[tool]
        except KeyError:
            found = self._profiles.get(tool) or self._aliases.get(tool)
        if found is None:
            found = next((profile for pieces, profile in self._patterns if _matches(tool, pieces)), None)
        if len(tool) <= MAX_CACHED_LENGTH:
            if len(cache) >= MAX_CACHED:
                cache.clear()
            cache[tool] = found
        return found

    def __iter__(self) -> Iterator[ToolProfile]:
        """The profiles, in the order of their addition."""
        return iter(tuple(self._profiles.values()))

    def __len__(self) -> int:
        """The number of profiles."""
        return len(self._profiles)


def _patterns_of(profile: ToolProfile) -> list[_Pattern]:
    return [(tuple(name.split("*")), profile) for name in (profile.name, *profile.aliases) if "*" in name]


def _specificity(pattern: _Pattern) -> int:
    """Minus the number of characters besides ``*``: the most specific pattern sorts first."""
    return -sum(map(len, pattern[0]))


def _matches(tool: str, pieces: tuple[str, ...]) -> bool:
    """The text between the stars occurs in order; the first piece at the start, the last at the end.

    Taking the earliest place for each piece is enough, so nothing is ever tried twice.

    >>> _matches("get_weather_now", tuple("get_*_n*".split("*")))
    True
    """
    first, *middle, last = pieces
    if len(tool) < len(first) + len(last) or not tool.startswith(first) or not tool.endswith(last):
        return False
    position, end = len(first), len(tool) - len(last)
    for piece in middle:
        found = tool.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
