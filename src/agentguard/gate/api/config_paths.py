"""Which configuration a request names: a YAML file inside the configured root, and nothing else.

A path is refused by its form before any file is looked at. What is left is resolved, links and all; a file outside, a
link that leads outside, a folder, a device, a file that is not there: each gets the same answer.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Annotated, Final

from pydantic import StringConstraints

from agentguard.errors import ConfigurationError

__all__ = ["CONFIG_PATH_PATTERN", "ConfigPath", "find_config", "is_config_path", "open_root"]

# A part has no separator, no drive, no control character, and does not begin with two dots (nor is it one dot).
_PART: Final = r"\.?[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*"
CONFIG_PATH_PATTERN: Final = rf"^({_PART}/)*{_PART}\.ya?ml$"

MAX_LENGTH: Final = 512
_FORM: Final = re.compile(CONFIG_PATH_PATTERN)

ConfigPath = Annotated[str, StringConstraints(max_length=MAX_LENGTH, pattern=CONFIG_PATH_PATTERN)]
"""Parts apart by ``/``, the last ending in ``.yaml`` or ``.yml``; never absolute, never with ``..``."""


def open_root(root: Path) -> Path:
    """The folder that configurations lie in, links resolved.

    Raises:
        ConfigurationError: where it is none.
    """
    try:
        resolved = root.resolve(strict=True)
        if stat.S_ISDIR(resolved.stat().st_mode):
            return resolved
    except (OSError, ValueError, RuntimeError):
        pass
    raise ConfigurationError(f"the root of the gate's API must be a folder: {str(root)!r} is none")


def is_config_path(text: str) -> bool:
    """Whether a text is of the form of a ``ConfigPath``."""
    return len(text) <= MAX_LENGTH and _FORM.fullmatch(text) is not None


def find_config(root: Path, config_path: str) -> Path | None:
    """The file that a path names, links resolved; None where the root holds no such file.

    Args:
        root: what ``open_root`` gave.
        config_path: any text; what is not of the form of a ``ConfigPath`` finds nothing.
    """
    if not is_config_path(config_path):
        return None
    try:
        file = (root / config_path).resolve(strict=True)
        return file if file.is_relative_to(root) and stat.S_ISREG(file.stat().st_mode) else None
    except (OSError, ValueError, RuntimeError):  # not there, not readable, a lone surrogate, a circle of links
        return None
