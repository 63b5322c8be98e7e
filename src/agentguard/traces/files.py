"""The files that a path stands for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentguard.errors import DataError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["find_files", "reason_of"]


def find_files(source: str | PathLike[str], wanted: Callable[[str], bool], absent: str) -> tuple[Path, ...]:
    """The file itself, or the files of a folder whose names are wanted, sorted by path.

    Sub-folders are searched too (links to folders are not followed); names that begin with a dot are left out.

    Args:
        source: the path.
        wanted: of a file's name in lower case.
        absent: what to say of a folder without such a file, after its name.

    Raises:
        DataError: where there is no such path, no such file in the folder, or no permission.
    """
    path = Path(source)
    try:
        if not path.is_dir():
            path.stat()
            return (path,)
        found = sorted(_below(path, wanted))
    except FileNotFoundError:
        raise DataError(f"no such file or folder: {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {reason_of(error)}") from None
    if not found:
        raise DataError(absent.format(path))
    return tuple(found)


def _below(path: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    for folder, folders, names in os.walk(path, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and wanted(name.lower()):
                yield Path(folder, name)


def _refuse(error: OSError) -> None:
    raise error


def reason_of(error: Exception) -> str:
    """Why something could not be read, in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
