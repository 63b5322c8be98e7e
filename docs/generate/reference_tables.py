"""What pages have made for them, each where a page says so.

``<!-- generated: NAME -->`` is a table or a picture, ``<!-- example: examples/NAME.py -->`` or ``.ts`` a program of the
project, ``<!-- measured: LINE -->`` the table that follows the line of the measurements that begins so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from command_reference import commands
from mkdocs.exceptions import PluginError
from model_fields import gate_fields, profile_fields
from pictures import call_picture, waterfall_picture
from project_pages import LANGUAGES, ROOT
from promises import promises
from signal_reference import signal_details, signal_table
from statements import statements_table

__all__ = ["TABLES", "fill"]

TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "commands": commands,
        "gate-fields": gate_fields,
        "picture-call": call_picture,
        "picture-waterfall": waterfall_picture,
        "profile-fields": profile_fields,
        "promises": promises,
        "signal-details": signal_details,
        "signals": signal_table,
        "statements": statements_table,
    }
)
# The line behind a place is for readers of the page's source.
_PLACE = re.compile(r"^<!-- generated: ([a-z-]+) -->(?:\n\*Shown on the built site.*)?$", re.MULTILINE)
_MEASURED = re.compile(r"^<!-- measured: (.+) -->$", re.MULTILINE)
_EXAMPLE = re.compile(r"^<!-- example: (examples/[a-z_/]+\.(?:py|ts)) -->$", re.MULTILINE)


def fill(markdown: str, page: str) -> str:
    """The page with its tables, pictures and programs.

    Raises:
        PluginError: for a name that is none of them.
    """

    def made(place: re.Match[str]) -> str:
        if place[1] not in TABLES:
            raise PluginError(f"{page}: no generated table {place[1]!r}; there are {', '.join(TABLES)}")
        return TABLES[place[1]]()

    filled = _EXAMPLE.sub(lambda place: _program(place[1], page), _PLACE.sub(made, markdown))
    return _MEASURED.sub(lambda place: _measured(place[1], page), filled)


def _measured(line: str, page: str) -> str:
    text = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    section = re.search(rf"^{re.escape(line)}.*?^((?:\|[^\n]*\n)+)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise PluginError(f"{page}: measurements.md has no table behind a line that begins with {line!r}")
    return section[1].rstrip()


def _program(path: str, page: str) -> str:
    source = ROOT / path
    if not source.is_file():
        raise PluginError(f"{page}: no program {path}")
    return f"```{LANGUAGES[source.suffix]}\n{source.read_text(encoding='utf-8').rstrip()}\n```"
