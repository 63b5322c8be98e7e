"""Objects that installed packages offer by name, as entry points: the one way in which a profile names code.

A profile is data that may come from anyone, and so no path in it is ever imported. What it names must have been
installed, by somebody who installs code, under the group ``agentguard.signals``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NamedTuple

SIGNALS: Final = "agentguard.signals"
NEAREST: Final = 3  # names that are proposed for one that is unknown
MOST_SHOWN: Final = 10  # names that are offered, where none is near


class Offered(NamedTuple):
    """The entry points of one group, by name."""

    group: str
    by_name: dict[str, list[EntryPoint]]

    def fault(self, name: str) -> str | None:
        """Say why nothing can be loaded by this name; None where it is offered, once.

        >>> Offered("agentguard.signals", {}).fault("negative_total")
        "no installed package offers 'negative_total' in its entry points 'agentguard.signals'; none offers any"
        """
        offered = self.by_name.get(name)
        if offered is None:
            near = difflib.get_close_matches(name, self.by_name, n=NEAREST)
            known = ", ".join([*self.by_name][:MOST_SHOWN])
            hint = f"offered: {known}" if known else "none offers any"
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else hint
            return f"no installed package offers {name!r} in its entry points {self.group!r}; {hint}"
        if len(offered) > 1:
            packages = " and ".join(sorted(_package(each) for each in offered))
            return f"{packages} both offer {name!r} in their entry points {self.group!r}; uninstall all but one"
        return None

    def load(self, name: str) -> Any:
        """Import the object of this name; a class is called without arguments.

        Raises:
            ValueError: in words, where there is no such object or it cannot be had.
        """
        fault = self.fault(name)
        if fault is not None:
            raise ValueError(fault)
        (point,) = self.by_name[name]
        try:
            loaded = point.load()
            return loaded() if isinstance(loaded, type) else loaded
        except Exception as error:
            raise ValueError(f"{point.value} of {_package(point)} cannot be loaded: {error!r}") from None


def offered(group: str = SIGNALS) -> Offered:
    """Look up what installed packages offer in a group; nothing is imported."""
    by_name: dict[str, list[EntryPoint]] = {}
    for point in _distinct(entry_points(group=group)):
        by_name.setdefault(point.name, []).append(point)
    return Offered(group, dict(sorted(by_name.items())))


def _distinct(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    """The entry points, each once: a package may be found in two folders."""
    return list({(point.name, point.value, _package(point)): point for point in points}.values())


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else point.dist.name
