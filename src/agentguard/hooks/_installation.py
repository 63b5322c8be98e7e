"""The hooks put into an agent's settings file, and taken out again, with all else in the file as it was.

What the file held before is kept in the installation's folder: where nobody has touched the file since, taking the
hooks out gives it back to the byte. Else the hooks alone are taken out of it, and it is written with its own indent.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.hooks._running import end_helper
from agentguard.hooks._settings import SETTINGS, Agent, HookSettings, as_json, make_private, write_whole

#: The events that are asked for. Codex has no event for a call that failed: it tells of it as of any other.
EVENTS: Final[Mapping[Agent, tuple[str, ...]]] = {
    "claude": ("PostToolUse", "PostToolUseFailure", "Stop"),
    "codex": ("PostToolUse", "Stop"),
}
TIMEOUT: Final = 30  # seconds that the agent waits for an answer; a client gives up after ten
BACKUP: Final = "backup.json"  # what a settings file held before the hooks, and a digest of it with them

_OURS: Final = re.compile(r"agentguard[/\\]hooks[/\\]_client\.py|-m agentguard\.hooks\b")


class Place(NamedTuple):
    """A settings file of an agent, and the folder of the installation in it.

    Attributes:
        agent: whose settings these are.
        file: the settings file; it need not exist.
        folder: where the helper's socket, settings and record lie.
    """

    agent: Agent
    file: Path
    folder: Path


def place_of(agent: Agent, base: Path, state: Path, *, user: bool) -> Place:
    """Find the settings file of an agent: a project's own on this machine, or the user's.

    Args:
        agent: whose settings.
        base: the project's folder.
        state: where installations keep their folders.
        user: the user's settings, for all projects; else the project's.
    """
    if agent == "claude":
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        # Commands name this machine's interpreter: they do not belong into the file that a team shares.
        file = home / "settings.json" if user else base / ".claude" / "settings.local.json"
    else:
        home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
        file = home / "hooks.json" if user else base / ".codex" / "hooks.json"
    file = Path(os.path.realpath(file))  # a link stays one
    return Place(agent, file, state / hashlib.sha256(os.fsencode(file)).hexdigest()[:16])


def install(place: Place, settings: HookSettings) -> None:
    """Put the hooks into a settings file, in place of those of an earlier installation.

    Raises:
        ConfigurationError: for a settings file that cannot be read, is no JSON, or has other things where hooks go;
            nothing is changed then.
    """
    held = _cleared(place, _read(place.file))
    data = _parsed(place.file, held)
    hooks = data.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise ConfigurationError(f"{place.file}: 'hooks' must be an object; mend it first")
    for event in EVENTS[place.agent]:
        groups = hooks.setdefault(event, [])
        if not isinstance(groups, list):
            raise ConfigurationError(f"{place.file}: 'hooks.{event}' must be a list; mend it first")
        groups.append({"hooks": [_handler(place, settings, event)]})
    text = _written(place.file, data, held)
    kept = {"before": None if held is None else held.decode(), "after": _digest(text)}
    make_private(place.folder)
    _write(place.folder / SETTINGS, as_json(settings))
    _write(place.folder / BACKUP, json.dumps(kept).encode())
    _write(place.file, text)


def remove(place: Place) -> bool:
    """Take the hooks out of a settings file, and end their helper; returns whether there were any.

    The installation's folder goes too. What was learned stays in its store.

    Raises:
        ConfigurationError: for a settings file that cannot be read, or is no JSON, or where the helper does not end;
            nothing is changed then.
    """
    held = _read(place.file)
    cleared = _cleared(place, held)
    if not end_helper(place.folder):
        raise ConfigurationError(f"the helper of {place.file} does not end; try again when its work is done")
    if cleared != held:
        _write(place.file, cleared)
    shutil.rmtree(place.folder, ignore_errors=True)
    return cleared != held


def commands_in(place: Place) -> dict[str, str]:
    """The commands of the hooks in a settings file, by event; none where they are not installed.

    Raises:
        ConfigurationError: for a settings file that cannot be read, or is no JSON.
    """
    hooks = _parsed(place.file, _read(place.file)).get("hooks")
    return {
        event: _command_of(handler)
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for handler in _handlers(groups)
        if _is_ours(handler)
    }


# --- What is installed ---


def _handler(place: Place, settings: HookSettings, event: str) -> dict[str, Any]:
    # To block a stop would make the agent go on: there the policy is open.
    policy = "open" if event == "Stop" else settings.on_guard_error
    words = [*program(), str(place.folder), place.agent, policy]
    handler: dict[str, Any] = {"type": "command", "command": shlex.join(words), "timeout": TIMEOUT}
    if os.name == "nt":  # no shell can be told beforehand, so none is asked
        handler |= {"command": words[0], "args": words[1:]}
    if policy == "closed" and place.agent == "claude":
        handler["onFailure"] = "block"  # where not even the client can be started
    return handler


def program() -> list[str]:
    """The interpreter and the file that a hook runs; on Windows, which has no Unix sockets, a module."""
    if os.name == "nt":
        return [sys.executable, "-I", "-m", "agentguard.hooks"]
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve().with_name("_client.py"))]


def _handlers(groups: Any) -> list[Any]:
    lists = [group.get("hooks") for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    return [handler for each in lists if isinstance(each, list) for handler in each]


def _command_of(handler: Any) -> str:
    command, words = handler.get("command"), handler.get("args")
    return " ".join([str(command), *map(str, words)]) if isinstance(words, list) else str(command)


def _is_ours(handler: Any) -> bool:
    return isinstance(handler, dict) and _OURS.search(_command_of(handler)) is not None


def _has_ours(data: dict[str, Any]) -> bool:
    hooks = data.get("hooks")
    return isinstance(hooks, dict) and any(_is_ours(each) for groups in hooks.values() for each in _handlers(groups))


def _without_ours(data: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The settings without our hooks, nor what they leave empty where it was not there before."""
    known = before.get("hooks")
    hooks: dict[str, Any] = {}
    for event, groups in data["hooks"].items():
        rest = [each for group in groups for each in _group_without(group)] if isinstance(groups, list) else groups
        if rest or rest == groups or (isinstance(known, dict) and event in known):
            hooks[event] = rest
    if hooks or known is not None:
        return {name: hooks if name == "hooks" else value for name, value in data.items()}
    return {name: value for name, value in data.items() if name != "hooks"}


def _group_without(group: Any) -> list[Any]:
    """A group of hooks without ours; none where it had no other."""
    if not any(map(_is_ours, _handlers([group]))):
        return [group]
    rest = [handler for handler in group["hooks"] if not _is_ours(handler)]
    return [{**group, "hooks": rest}] if rest else []


# --- The settings file ---


def _read(file: Path) -> bytes | None:
    """The bytes of a file; None where there is none."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or type(error).__name__}") from None


def _parsed(file: Path, held: bytes | None) -> dict[str, Any]:
    """The settings in a file, read strictly: what could not be written back as it was is refused."""
    if held is None:
        return {}
    try:
        data = json.loads(held.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refused)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise ConfigurationError(f"{file} is not JSON ({position}: {error.msg}); mend it first") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file} is not JSON that can be kept as it is ({error}); mend it first") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{file} holds no JSON object; mend it first")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the key {twice!r} twice in one object")
    return dict(pairs)


def _refused(name: str) -> Any:
    raise ValueError(f"it has {name}")


def _written(file: Path, data: dict[str, Any], like: bytes | None) -> bytes:
    """The settings as text, with the indent and the last line end of what the file held."""
    text = "{}\n" if like is None else like.decode("utf-8")
    match = re.search(r"\n([ \t]+)\S", text)
    on_one_line = "\n" not in text.strip() and text.strip() != "{}"
    indent = match[1] if match else None if on_one_line else "  "
    try:
        plain = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
        written = plain.replace("\n", "\r\n" if "\r\n" in text else "\n").encode("utf-8")
    except ValueError as error:  # a number beyond any float, half a surrogate pair
        raise ConfigurationError(f"{file} cannot be written back as it is ({error}); mend it first") from None
    return written + (b"\n" if text.endswith("\n") else b"")


def _write(file: Path, text: bytes | None) -> None:
    """Write a file as a whole, or remove it, and its folder with it where that is an agent's and holds nothing else."""
    try:
        if text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text, file.stat().st_mode & 0o777 if file.exists() else 0o600)
            return
        file.unlink()
        if file.parent.name in (".claude", ".codex") and not any(file.parent.iterdir()):
            file.parent.rmdir()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror or type(error).__name__}") from None


# --- What the file held before ---


def _cleared(place: Place, held: bytes | None) -> bytes | None:
    """Return the file without the hooks: what it held before, where nobody has touched it since."""
    data = _parsed(place.file, held)
    if held is None or not _has_ours(data):
        return held
    try:
        backup = json.loads((place.folder / BACKUP).read_bytes())
        before = None if backup["before"] is None else str(backup["before"]).encode()
        if backup["after"] == _digest(held):
            return before
        known = _parsed(place.file, before)
    except (OSError, ValueError, TypeError, LookupError):
        known = {}
    return _written(place.file, _without_ours(data, known), held)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
