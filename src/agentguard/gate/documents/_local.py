"""List and read documents in folders of this machine: below the gate's own, and below others if they are named.

A file is opened one folder inside the other, without following links: what was checked is what is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import LocalSource
from agentguard.gate.documents._text import ENDINGS, MAX_BYTES, Found, LeftOut, Listing, Raw, kind_of

#: Folders are opened one inside the other, and no link is followed on the way: what was checked is what is read.
BY_FOLDERS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")


def read_safely(root: Path, parts: Sequence[str], limit: int) -> bytes:
    """The bytes of a regular file below a folder; no part of the way may be a link.

    Args:
        root: The folder, free of links itself.
        parts: The way from there, one name each.
        limit: The most bytes that are read.

    Raises:
        DataError: If it is no regular file, is longer, or if a link was found on the way.
        OSError: If the system refuses.
    """
    # Without O_NONBLOCK, opening a FIFO would wait for somebody who writes to it.
    descriptor = _safe_open(root, parts, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise DataError("is no regular file")
        if status.st_size > limit:
            raise DataError(f"has {status.st_size:,} bytes, and at most {limit:,} are read")
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew, or its size is not known beforehand
        raise DataError(f"has more than the {limit:,} bytes that are read")
    return data


def _safe_open(root: Path, parts: Sequence[str], flags: int) -> int:
    if not parts or any(part in ("", ".", "..") or "/" in part or os.sep in part for part in parts):
        raise DataError("is no path below its folder")
    if not BY_FOLDERS:
        return _safe_open_by_path(root, parts, flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parts[:-1]:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _safe_open_by_path(root: Path, parts: Sequence[str], flags: int) -> int:
    """Open by the whole path, on systems that cannot open below a folder, and check that no link was followed."""
    path = root.joinpath(*parts)
    descriptor = os.open(path, flags)
    try:
        if os.path.realpath(path) != os.fspath(path) or not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            raise DataError("was replaced by a link while it was read")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


# --- Listing ---


def list_local(source: LocalSource, folder: Path, roots: Sequence[Path] = ()) -> Iterator[Listing]:
    """The documents of a folder and all folders below it, in the order of their names.

    Hidden files and folders (their names begin with a dot) and links to folders are skipped. A link to a file is
    followed where the file lies inside the roots and is not hidden there. Every file is opened by its true path,
    one folder inside the other without following links, so that none can be exchanged for a link in between.

    Args:
        source: The path, and patterns: ``*.md`` is held against names, ``guides/**/*.md`` against paths below it.
        folder: The configuration's, where relative paths begin; it is a root.
        roots: Further folders that documents may lie in.

    Raises:
        ConfigurationError: If the path leads out of all roots.
    """
    allowed = [Path(os.path.realpath(root)) for root in (folder, *roots)]
    try:
        true = Path(os.path.realpath(folder / source.path))
    except ValueError as error:  # a null character
        raise ConfigurationError(f"doc_sources: path {source.path!r} is no path: {error}") from None
    uri = local_uri(folder / source.path, folder)
    root = _root_of(true, allowed)
    if root is None:
        raise ConfigurationError(
            f"doc_sources: path {source.path!r} leads to {true}, which is outside of {allowed[0]}: "
            "move the documents there, or name a root that holds them"
        )
    try:
        mode = true.stat().st_mode
        if not stat.S_ISDIR(mode):
            yield _file(true, uri, allowed, hidden_from=true, chosen=True)
            return
    except OSError as error:
        yield LeftOut(uri, _reason(error), "unlisted")
        return
    yield from _below(true, "", uri, source.include, allowed)


def local_uri(path: Path, folder: Path) -> str:
    """The uri of a file: its path from the configuration's folder on, with ``/``."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on Windows, another drive
        return Path(os.path.abspath(path)).as_posix()


def _below(base: Path, inner: str, uri: str, include: Sequence[str], allowed: list[Path]) -> Iterator[Listing]:
    """List ``base/inner`` and all below; a folder is read when its turn comes, so that one is held at a time."""
    folders = [inner]
    while folders:
        inner = folders.pop()
        try:
            with os.scandir(base / inner) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield LeftOut(_join(uri, inner), _reason(error), "unlisted")
            continue
        deeper = []
        for entry in ordered:
            way = f"{inner}/{entry.name}" if inner else entry.name
            entry_uri = _join(uri, way)
            if encodable(entry.name) != entry.name:
                yield LeftOut(ascii(entry_uri)[1:-1], "its name is no text", "refused")
            elif entry.name.startswith("."):
                yield LeftOut(entry_uri, "is hidden: its name begins with a dot", "skipped")
            elif entry.is_dir(follow_symlinks=False):
                deeper.append(way)
            elif _leads_to_folder(entry):
                yield LeftOut(entry_uri, "is a link to a folder, which is not followed", "skipped")
            elif include and not any(_matches(way, pattern) for pattern in include):
                continue  # not asked for
            elif not include and kind_of(entry.name) is None:
                yield LeftOut(entry_uri, f"is of no kind that is read ({', '.join(ENDINGS)})", "skipped")
            else:
                yield _file(base / way, entry_uri, allowed, hidden_from=base, chosen=bool(include))
        folders.extend(reversed(deeper))


def _file(path: Path, uri: str, allowed: list[Path], hidden_from: Path, chosen: bool) -> Listing:
    true = Path(os.path.realpath(path))
    root = _root_of(true, allowed)
    if root is None:
        return LeftOut(uri, "is a link that leads outside of the roots", "refused")
    start = hidden_from if true.is_relative_to(hidden_from) else root
    if any(part.startswith(".") for part in true.relative_to(start).parts):
        return LeftOut(uri, "is a link to a hidden file", "refused")
    return Found(uri, path.name, partial(_read, root, true.relative_to(root).parts), chosen)


def _read(root: Path, parts: tuple[str, ...]) -> Raw:
    try:
        # Looked at before it is opened too: opening a device can set it off.
        if not stat.S_ISREG(root.joinpath(*parts).lstat().st_mode):
            raise DataError("is no regular file")
        return Raw(read_safely(root, parts, MAX_BYTES))
    except OSError as error:
        raise DataError(_reason(error)) from None


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, for one
        return False


def _root_of(true: Path, allowed: list[Path]) -> Path | None:
    return next((root for root in allowed if true.is_relative_to(root)), None)


def _join(uri: str, way: str) -> str:
    return way if uri == "." else uri if not way else f"{uri}/{way}"


def _reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


def _matches(way: str, pattern: str) -> bool:
    """A pattern without a slash is held against the name, one with slashes against the path; ``**`` is any folders."""
    parts = way.split("/")
    if "/" not in pattern:
        return fnmatchcase(parts[-1], pattern)
    return _parts_match(parts, [part for part in pattern.split("/") if part not in ("", ".")])


def _parts_match(parts: list[str], patterns: list[str]) -> bool:
    reached = _past_any({0}, patterns)  # how many of the patterns may have been used up so far
    for part in parts:
        used = {
            at if patterns[at] == "**" else at + 1
            for at in reached
            if at < len(patterns) and (patterns[at] == "**" or fnmatchcase(part, patterns[at]))
        }
        reached = _past_any(used, patterns)
    return len(patterns) in reached


def _past_any(reached: set[int], patterns: list[str]) -> set[int]:
    """With those that are reached by taking ``**`` for no folder at all."""
    for at, pattern in enumerate(patterns):
        if pattern == "**" and at in reached:
            reached.add(at + 1)
    return reached
