"""Opening a file in such a way that it lies below a folder, whatever links are laid meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from agentguard.errors import DataError

__all__ = ["read_beneath"]

#: Folders are opened one inside the other, and no link is followed on the way: what was checked is what is read.
_BY_FOLDERS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")


def read_beneath(root: Path, parts: Sequence[str], limit: int) -> bytes:
    """The bytes of a regular file below a folder; no part of the way may be a link.

    Args:
        root: the folder, free of links itself.
        parts: the way from there, one name each.
        limit: the most bytes that are read.

    Raises:
        DataError: where it is no regular file, is longer, or where a link was found on the way.
        OSError: where the system refuses.
    """
    # Without O_NONBLOCK, opening a FIFO would wait for somebody who writes to it.
    descriptor = _open(root, parts, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise DataError("is no regular file")
        if found.st_size > limit:
            raise DataError(f"has {found.st_size:,} bytes, and at most {limit:,} are read")
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew, or its size is not known beforehand
        raise DataError(f"has more than the {limit:,} bytes that are read")
    return data


def _open(root: Path, parts: Sequence[str], flags: int) -> int:
    if not parts or any(part in ("", ".", "..") or "/" in part or os.sep in part for part in parts):
        raise DataError("is no path below its folder")
    if not _BY_FOLDERS:
        return _open_checked(root, parts, flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parts[:-1]:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _open_checked(root: Path, parts: Sequence[str], flags: int) -> int:
    """Where folders cannot be opened: the file that was opened must be the one that lies at the path itself."""
    path = root.joinpath(*parts)
    descriptor = os.open(path, flags)
    try:
        if os.path.realpath(path) != os.fspath(path) or not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            raise DataError("was replaced by a link while it was read")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
