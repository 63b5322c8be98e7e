"""The settings of one installation of the hooks, in the folder that its helper and its clients share.

The folder holds ``settings.json`` (this record), ``socket`` and ``lock`` of the helper, its ``log``, and
``record.json``, the verdicts. It is the user's alone (0700): whoever may write there decides what the model is shown.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from agentguard.errors import ConfigurationError

Agent = Literal["claude", "codex"]
AGENTS: Final = get_args(Agent)
Claims = Literal["off", "tell", "correct"]
CLAIMS: Final = get_args(Claims)

SETTINGS: Final = "settings.json"
IDLE_SECONDS: Final = 1_800.0  # a judgement: longer than a coffee, shorter than a night


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The policy by which the results of a coding agent are judged.

    Attributes:
        agent: whose hooks they are.
        store: the address of the store of what is learned.
        profiles: a folder or file of tool profiles, ``shipped`` for those of the package, or None.
        enforce: say to the model what was flagged, and replace what was blocked. Else only record.
        on_guard_error: ``open`` lets a result pass that could not be judged, ``closed`` withholds it.
        idle_seconds: how long the helper lives after its last event.
        claims: what happens where the agent says, when it stops, what no call of its session supports: ``off`` nothing,
            ``tell`` the user is told, ``correct`` the agent is sent back once, then the user is told.

    Raises:
        ConfigurationError: for a value that is not one of these, or ``closed`` or ``correct`` without ``enforce``.
    """

    agent: Agent
    store: str
    profiles: str | None = "shipped"
    enforce: bool = False
    on_guard_error: Literal["open", "closed"] = "open"
    idle_seconds: float = IDLE_SECONDS
    claims: Claims = "tell"

    def __post_init__(self) -> None:
        if self.agent not in AGENTS:
            raise ConfigurationError(f"the agent must be {' or '.join(AGENTS)}, not {self.agent!r}")
        if self.on_guard_error not in ("open", "closed"):
            raise ConfigurationError(f"on_guard_error must be open or closed, not {self.on_guard_error!r}")
        if self.on_guard_error == "closed" and not self.enforce:
            raise ConfigurationError("on_guard_error=closed withholds results, so it needs enforce (--enforce)")
        if self.claims not in CLAIMS:
            raise ConfigurationError(f"claims must be one of {', '.join(CLAIMS)}, not {self.claims!r}")
        if self.claims == "correct" and not self.enforce:
            raise ConfigurationError("claims=correct sends the agent back, so it needs enforce (--enforce)")
        if not isinstance(self.idle_seconds, (int, float)) or not 0.0 < self.idle_seconds <= 86_400.0:
            raise ConfigurationError(f"idle_seconds must be in (0, 86400], not {self.idle_seconds!r}")
        if "@" in self.store and "://" in self.store:
            raise ConfigurationError(
                "the address of the store holds a password, which would be written to a file; give one without"
            )


def read_settings(folder: Path) -> HookSettings:
    """Read the settings of an installation.

    Raises:
        ConfigurationError: where there are none, or none that can be used.
    """
    try:
        fields = json.loads((folder / SETTINGS).read_bytes())
        return HookSettings(**fields)
    except (OSError, ValueError, TypeError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"{folder / SETTINGS} cannot be used ({type(error).__name__}); 'agentguard hook install' writes it anew"
        ) from None


def as_json(settings: HookSettings) -> bytes:
    """The settings as the text of their file."""
    return f"{json.dumps(dataclasses.asdict(settings), indent=2)}\n".encode()


def make_private(folder: Path) -> None:
    """Make a folder that only this user may enter, or see to it that an existing one is so.

    Raises:
        ConfigurationError: where it cannot be.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if os.name == "posix" and status.st_uid != os.getuid():
            raise ConfigurationError(f"{folder} belongs to another user; move it out of the way")
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be used: {error.strerror or type(error).__name__}") from None


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file as a whole: whoever reads it meets the old one or the new one, never a part.

    Raises:
        OSError: where it cannot be written; the old one stands then.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def fingerprint(folder: Path, profiles: str | None) -> tuple[Any, ...]:
    """Tell one state of an installation's code, settings and profiles from another: by size and time of its files."""
    files = [Path(__file__).with_name("_client.py"), folder / SETTINGS]
    if profiles not in (None, "shipped"):
        source = Path(profiles)
        files += [source, *(sorted(source.glob("*.y*ml")) if source.is_dir() else ())]
    return tuple(map(_state_of, files))


def _state_of(path: Path) -> tuple[str, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino
