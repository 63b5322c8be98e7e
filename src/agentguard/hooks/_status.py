"""The state of an installation: what is in the settings file, whether its command can run, whether a helper lives."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.hooks._installation import EVENTS, Place, commands_in
from agentguard.hooks._record import Recorded, read_record
from agentguard.hooks._running import helper_of
from agentguard.hooks._settings import HookSettings, read_settings


class Status(NamedTuple):
    """The state of one installation.

    Attributes:
        place: the settings file and the folder.
        events: the events whose hooks are in the settings file; none: it is not installed.
        problems: what keeps the hooks from working, each with what to do.
        settings: None where they are missing or cannot be used.
        helper: the process id of the helper; None where none runs.
        record: what was judged.
    """

    place: Place
    events: tuple[str, ...]
    problems: tuple[str, ...]
    settings: HookSettings | None
    helper: int | None
    record: Recorded


def status_of(place: Place) -> Status:
    """Look at an installation.

    Raises:
        ConfigurationError: for a settings file that cannot be read, or is no JSON.
    """
    commands = commands_in(place)
    problems: list[str] = []
    settings = None
    record = read_record(place.folder)
    if commands:
        again = "'agentguard hook install' mends it"
        missing = [event for event in EVENTS[place.agent] if event not in commands]
        if missing:
            problems.append(f"no hook for {', '.join(missing)}; {again}")
        files = dict.fromkeys(file for command in commands.values() for file in _files_of(command))
        gone = [file for file in files if not os.path.exists(file)]
        problems += [f"{file} is not there any more, so no result is judged; {again}" for file in gone]
        try:
            settings = read_settings(place.folder)
        except ConfigurationError as error:
            problems.append(str(error))
        if record.trouble:
            problems.append(f"the helper judges nothing: {record.trouble}")
    return Status(place, tuple(commands), tuple(problems), settings, helper_of(place.folder), record)


def _files_of(command: str) -> list[str]:
    """The interpreter and the file that a command runs."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [word for word in words[:4] if os.path.isabs(word)]
