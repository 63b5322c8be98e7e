"""YAML files read into plain data, with the line of every key.

A file is one mapping. What declarations have no use for is refused rather than obeyed: anchors and aliases (which let
a small file grow without bound), tags, merge keys, a second document. The file is read from the parser's events,
because a composed document no longer shows its anchors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from agentguard.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from os import PathLike

    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable


MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_VALUES = 50_000
MAX_PROBLEMS = 100  # of one file; it is none of ours, and the report stays readable
MAX_NUMBER = 64  # characters; YAML's base-60 integers take quadratic time

_Place = tuple[str | int, ...]
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(_CORE + name for name in ("null", "bool", "int", "float", "str"))
_OMITTED: Any = object()
_LINE_BREAK = re.compile(r"\r\n?|\n")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Subject(NamedTuple):
    """The kind of a file, as messages call it, with one line of it as an example."""

    noun: str
    example: str


class RawFile(NamedTuple):
    """One file's mapping as plain data: strings, numbers, booleans, None, lists and dicts with string keys.

    ``source`` is the file as messages name it; ``lines`` gives the line (1-based) of each key path, of ``()`` the
    line where the mapping begins.
    """

    source: str
    data: dict[str, Any]
    lines: dict[_Place, int]

    @property
    def stem(self) -> str:
        """The file's name without its ending.

        >>> RawFile("profiles/weather.yaml", {}, {}).stem
        'weather'
        """
        return PurePath(self.source).stem


def read_yaml_file(path: str | PathLike[str], subject: Subject) -> tuple[RawFile | None, list[Problem]]:
    """Read the file at a path, as ``read_yaml``.

    Raises:
        ConfigurationError: where there is no such file.
    """
    shown = str(path).encode("utf-8", "replace").decode()
    file = Path(path)
    try:
        exists, is_folder = bool(shown) and file.is_file(), bool(shown) and file.is_dir()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {shown!r}: {error}") from None
    if is_folder:
        raise ConfigurationError(f"{shown} is a folder; name the {subject.noun} in it")
    if not exists:
        raise ConfigurationError(f"no {subject.noun} at {shown or 'an empty path'}")
    return read_yaml(shown, file, subject)


def read_yaml(source: str, file: Traversable, subject: Subject) -> tuple[RawFile | None, list[Problem]]:
    """Read one file, and report what in it cannot be read.

    Args:
        source: the file, as messages name it.
        file: the file.
        subject: what the file ought to be.

    Returns:
        What could be read, and one ``Problem`` for each fault. A file with a fault that leaves its other fields
        readable (a key given twice, an alias) gives both, so that all its faults can be reported together.
    """

    def refused(line: int | None, message: str) -> tuple[None, list[Problem]]:
        return None, [Problem(source, line, "", message)]

    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return refused(None, f"cannot be read: {error.strerror or error}")
    if len(raw) > MAX_BYTES:
        return refused(1, f"is larger than {MAX_BYTES:,} bytes, too large for a {subject.noun}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _line_at(raw[: error.start].decode("utf-8", "replace"))
        return refused(line, "is not UTF-8 text; save the file as UTF-8")
    unprintable = _UNPRINTABLE.search(text)
    if unprintable is not None:
        line = _line_at(text[: unprintable.start()])
        return refused(line, f"has the unprintable character U+{ord(unprintable[0]):04X}, which YAML does not allow")
    reader = _EventReader(source, text, subject)
    data = reader.read()
    return (None if data is None else RawFile(source, data, reader.lines)), reader.problems


def _line_at(before: str) -> int:
    return len(_LINE_BREAK.findall(before)) + 1


class _Unreadable(Exception):
    """The rest of the file cannot be read; its problem has been noted."""


class _EventReader:
    """Builds one file's data from YAML events and notes a ``Problem`` for whatever such a file may not have."""

    def __init__(self, source: str, text: str, subject: Subject) -> None:
        self.lines: dict[_Place, int] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._subject = subject
        self._values = 0
        self._loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)

    @property
    def _form(self) -> str:
        return f"a {self._subject.noun} is a mapping of fields, like `{self._subject.example}`"

    def read(self) -> dict[str, Any] | None:
        """The file's one mapping, or None where it has none or is not YAML."""
        try:
            return self._stream()
        except _Unreadable:
            return None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            reason = error.problem or error.context or "cannot be parsed"
            self._note(None if mark is None else mark.line + 1, (), f"is not valid YAML: {reason}")
        except yaml.YAMLError as error:
            self._note(None, (), f"is not valid YAML: {str(error).splitlines()[0]}")
        finally:
            self._loader.dispose()
        return None

    def _stream(self) -> dict[str, Any] | None:
        loader = self._loader
        loader.get_event()  # the stream's start
        if loader.check_event(yaml.StreamEndEvent):
            self._note(1, (), f"is empty; {self._form}")
            return None
        loader.get_event()  # the document's start
        first = loader.peek_event()
        if not isinstance(first, yaml.MappingStartEvent):
            blank = isinstance(first, yaml.ScalarEvent) and first.value == ""
            fault = "is empty" if blank else "is not a mapping"
            self._note(_line(first), (), f"{fault}; {self._form}")
            return None
        self.lines[()] = _line(first)
        data = self._node(())
        loader.get_event()  # the document's end
        if loader.check_event(yaml.DocumentStartEvent):
            self._note(_line(loader.peek_event()), (), "holds a second document; leave one")
        return data if isinstance(data, dict) else None

    def _node(self, path: _Place) -> Any:
        """The next value, or ``_OMITTED`` where it had to be refused."""
        event = self._loader.get_event()
        self._values += 1
        if len(self.problems) >= MAX_PROBLEMS:
            self._note(_line(event), (), f"has {MAX_PROBLEMS} problems to here; stopped reading")
            raise _Unreadable
        if self._values > MAX_VALUES:
            self._note(_line(event), path, f"has more than {MAX_VALUES:,} values, too many for a {self._subject.noun}")
            raise _Unreadable
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, path, f"alias *{event.anchor} is not allowed", "the value out")
            return _OMITTED
        if event.anchor is not None:
            self._refuse(event, path, f"anchor &{event.anchor} is not allowed", "the value out")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        if len(path) >= MAX_DEPTH:
            self._note(_line(event), path[:3], f"is nested more than {MAX_DEPTH} levels deep")
            raise _Unreadable
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        value: Any = self._mapping(path) if is_mapping else self._sequence(path)
        if event.tag in (None, "!", _CORE + ("map" if is_mapping else "seq")):
            return value
        return self._refused_tag(event, path)

    def _mapping(self, path: _Place) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for event in self._until(yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._note(_line(event), path, "a key must be plain text")
                self._node((*path, "?"))
                self._node((*path, "?"))
                continue
            # Keys name fields: `on`, `no` and `404` are text here, whatever YAML makes of them as values.
            key, at = event.value, (*path, event.value)
            merges = event.implicit[0] and key == "<<"
            if merges:
                self._refuse(event, path, "merge keys (<<) are not allowed", "the fields out")
            elif key in first_lines:
                self._note(_line(event), at, f"is given twice, first on line {first_lines[key]}")
            if event.anchor is not None or event.tag not in (None, "!", _CORE + "str"):
                self._note(_line(event), at, f"a key has no anchor and no tag in a {self._subject.noun}")
            first_lines.setdefault(key, _line(event))
            self._loader.get_event()
            self.lines[at] = _line(event)
            value = self._node(at)
            if value is not _OMITTED and not merges:
                data[key] = value
        return data

    def _sequence(self, path: _Place) -> list[Any]:
        data: list[Any] = []
        for event in self._until(yaml.SequenceEndEvent):
            at = (*path, len(data))
            self.lines[at] = _line(event)
            value = self._node(at)
            if value is not _OMITTED:
                data.append(value)
        return data

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        """The event at which each member begins, not yet taken, up to the collection's end."""
        while not self._loader.check_event(end):
            yield self._loader.peek_event()
        self._loader.get_event()

    def _scalar(self, event: yaml.ScalarEvent, path: _Place) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        elif tag not in _SCALAR_TAGS:
            return self._refused_tag(event, path)
        kind = tag.removeprefix(_CORE)
        if kind not in ("null", "bool", "int", "float"):
            return event.value  # dates too: no field is one
        try:
            if len(event.value) > MAX_NUMBER:
                raise ValueError
            return getattr(self._loader, f"construct_yaml_{kind}")(yaml.ScalarNode(tag, event.value))
        except (ValueError, KeyError, IndexError, OverflowError):
            self._note(_line(event), path, f"{event.value[:MAX_NUMBER]!r} is not a value of YAML's type {kind}")
            return _OMITTED

    def _refused_tag(self, event: Any, path: _Place) -> Any:
        self._refuse(event, path, f"tag {event.tag} is not allowed", "a plain value")
        return _OMITTED

    def _refuse(self, event: Any, path: _Place, what: str, instead: str) -> None:
        self._note(_line(event), path, f"{what} in a {self._subject.noun}; write {instead}")

    def _note(self, line: int | None, path: _Place, message: str) -> None:
        self.problems.append(Problem(self._source, line, ".".join(map(str, path)), message))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


# --- profile_files ---
# Where profile files lie: the file or folder that is named, or those shipped with agentguard.


if TYPE_CHECKING:
    from os import PathLike

    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable


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
        profile, faults = read_yaml(source, file, PROFILE)
        problems += faults
        if profile is not None:
            profiles.append(profile)
    return profiles, problems


def _shipped() -> list[tuple[str, Traversable]]:
    try:
        entries = [(f"{SHIPPED}/{entry.name}", entry) for entry in _profiles_in(files(SHIPPED))]
    except (ModuleNotFoundError, OSError):
        entries = []
    if not entries:
        raise ConfigurationError("the profiles shipped with agentguard are missing: install agentguard again")
    return entries


def _chosen(path: str | PathLike[str]) -> list[tuple[str, Traversable]]:
    chosen = Path(path)
    try:
        if str(path) and chosen.is_dir():
            entries = [(_shown(chosen / entry.name), entry) for entry in _profiles_in(chosen)]
            if not entries:
                raise ConfigurationError(f"no profiles in the folder {_shown(chosen)}: it has no *.yaml or *.yml file")
            return entries
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
    profiles = (entry for entry in folder.iterdir() if PurePath(entry.name).suffix.lower() in _SUFFIXES)
    visible = (entry for entry in profiles if not entry.name.startswith(".") and entry.is_file())
    return sorted(visible, key=lambda entry: entry.name)
