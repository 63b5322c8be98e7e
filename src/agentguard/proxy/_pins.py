"""The tools of a server as it listed them at first: kept in a file, and held against what it lists later."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.verification._incidents import incident_id
from agentguard.verification.types import Trait

Tool = Mapping[str, Any]

#: What is pinned of a tool: all of it that a model or a client goes by.
FIELDS: Final = ("title", "description", "inputSchema", "outputSchema", "annotations")
_SAID: Final = {"inputSchema": "input schema", "outputSchema": "output schema"}
MOST_TOOLS: Final = 10_000  # of one list
MOST_BEGUN: Final = 100  # lists of which further pages are to come; the oldest is forgotten first
_LISTING: Final = "#listing"
_PREFACE: Final = (
    "Tools of an MCP server as they were when this was written. `agentguard proxy --accept` puts what the server lists "
    "now in their place."
)


class Pages:
    """Puts the pages of ``tools/list`` together, however the client asks for them.

    >>> pages = Pages()
    >>> pages.add(None, {"tools": [{"name": "a"}], "nextCursor": "2"})
    ({'a': {'name': 'a'}}, False)
    >>> pages.add("2", {"tools": [{"name": "b"}]})
    ({'a': {'name': 'a'}, 'b': {'name': 'b'}}, True)
    """

    def __init__(self) -> None:
        self._before: dict[str, dict[str, Tool]] = {}

    def add(self, cursor: str | None, result: Mapping[str, Any]) -> tuple[dict[str, Tool], bool]:
        """The tools of this page and of those before it, and whether they are all that there are."""
        begun = cursor is None or cursor in self._before
        tools = {} if cursor is None else self._before.pop(cursor, {})
        listed = result.get("tools")
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, Mapping) and isinstance(tool.get("name"), str) and len(tools) < MOST_TOOLS:
                tools[tool["name"]] = tool
        following = result.get("nextCursor")
        if not isinstance(following, str):
            return tools, begun
        if begun:
            self._before[following] = dict(tools)
            if len(self._before) > MOST_BEGUN:
                self._before.pop(next(iter(self._before)))
        return tools, False


class Difference(NamedTuple):
    """What is other about a tool than it was.

    Attributes:
        tool: its name.
        kind: it is listed with other words, for the first time, or no more.
        what: a sentence without a word of the server's.
        id: twelve hexadecimal digits, the same for the same difference.
    """

    tool: str
    kind: Literal["changed", "new", "missing"]
    what: str
    id: str

    @property
    def listing(self) -> str:
        """The name under which the store has the difference among the changes; no call is judged under it."""
        return f"{self.tool}{_LISTING}"


def tool_of(listing: str) -> str | None:
    """The tool that a change in the store is about; None where it is about what a tool answers.

    >>> tool_of("search#listing"), tool_of("search")
    ('search', None)
    """
    return listing.removesuffix(_LISTING) if listing.endswith(_LISTING) else None


def entry_of(tool: Tool) -> dict[str, Any]:
    """What is pinned of a tool."""
    return {field: tool[field] for field in FIELDS if tool.get(field) is not None}


def _digest(entry: Any) -> str:
    return blake2b(json.dumps(entry, sort_keys=True).encode(), digest_size=8).hexdigest()


def differences(
    pinned: Mapping[str, Tool], listed: Mapping[str, Tool], *, complete: bool = True
) -> Iterator[Difference]:
    """What is other in a list than in the pinned one; of a list that is not complete no tool counts as missing.

    >>> [each.what for each in differences({"a": {"description": "x"}}, {"a": {"description": "y"}, "b": {}})]
    ['its description is not what was pinned', 'it is listed for the first time']
    """
    for name, tool in listed.items():
        entry = entry_of(tool)
        if name not in pinned:
            yield _difference(name, "new", "it is listed for the first time", entry)
        elif entry != pinned[name]:
            fields = [field for field in FIELDS if entry.get(field) != pinned[name].get(field)]
            said = " and ".join(_SAID.get(field, field) for field in fields) or "entry"
            verb = "are" if len(fields) > 1 or fields == ["annotations"] else "is"
            yield _difference(name, "changed", f"its {said} {verb} not what was pinned", entry)
    for name in pinned if complete else ():
        if name not in listed:
            yield _difference(name, "missing", "it is listed no more", None)


def _difference(name: str, kind: Literal["changed", "new", "missing"], what: str, entry: Any) -> Difference:
    return Difference(name, kind, what, incident_id(f"{name}{_LISTING}", Trait("declared", kind, _digest(entry))))


class Pin:
    """The file with the pinned tools, and one beside it (``….new``) with what the server lists since, where it differs.

    Raises:
        ConfigurationError: where the file cannot be read, or is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offered = path.with_name(f"{path.name}.new")
        self.tools: dict[str, Tool] | None = _read(path)

    def first(self, listed: Mapping[str, Tool]) -> bool:
        """Pin this list where none is pinned; whether it was.

        Raises:
            OSError: where the file cannot be written.
        """
        if self.tools is not None:
            return False
        entries: dict[str, Tool] = {name: entry_of(tool) for name, tool in listed.items()}
        if _write(self.path, entries, replace=False):
            self.tools = entries
            return True
        self.tools = _read(self.path)  # another proxy was first
        return False

    def offer(self, listed: Mapping[str, Tool]) -> None:
        """Keep what is listed now beside the pinned list, to be looked at and accepted; none where it is the same.

        Raises:
            OSError: where the file cannot be written.
        """
        entries = {name: entry_of(tool) for name, tool in listed.items()}
        if entries == self.tools:
            self.offered.unlink(missing_ok=True)
        else:
            _write(self.offered, entries)

    def accept(self, tool: str | None = None) -> list[Difference]:
        """Put what is listed now in the place of what was pinned, of one tool or of all; what differed.

        Raises:
            ConfigurationError: where one of the files cannot be read.
            OSError: where the file cannot be written.
        """
        listed = _read(self.offered)
        pinned = _read(self.path) or {}
        if listed is None:
            self.tools = _read(self.path)
            return []
        accepted = [each for each in differences(pinned, listed) if tool in (None, each.tool)]
        for each in accepted:
            if each.kind == "missing":
                del pinned[each.tool]
            else:
                pinned[each.tool] = listed[each.tool]
        _write(self.path, pinned)
        self.tools = pinned
        self.offer(listed)
        return accepted


def _read(path: Path) -> dict[str, Tool] | None:
    try:
        data = json.loads(path.read_bytes())
        tools = data["tools"]
        if isinstance(tools, dict) and all(isinstance(tool, dict) for tool in tools.values()):
            return tools
        raise TypeError
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"cannot read the pinned tools in {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigurationError(
            f"{path} holds no pinned tools; name another file, or remove it to pin what the server lists next"
        ) from None


def _write(path: Path, tools: Mapping[str, Tool], *, replace: bool = True) -> bool:
    """Write the file at one blow, for its owner alone; without ``replace`` only where there is none."""
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    text = json.dumps({"about": _PREFACE, "written": at, "tools": tools}, indent=2, ensure_ascii=False)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{text}\n")
        if replace:
            os.replace(name, path)
            return True
        try:
            os.link(name, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if path.exists():
                return False
            os.replace(name, path)
        return True
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
