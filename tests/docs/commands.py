"""The commands that console blocks show, and what holds them to what there is."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import typer

from agentguard.cli import app

from .blocks import ROOT, Block

_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_PLACEHOLDER = "…"


class Shown(NamedTuple):
    """A command as a reader would type it, and what the block says that it prints."""

    line: int
    text: str
    output: tuple[str, ...] = ()


def shown_in(block: Block) -> list[Shown]:
    """The commands of a console block; a backslash at the end continues one."""
    found: list[Shown] = []
    continued = False
    for number, line in enumerate(block.code.splitlines(), start=block.line + 1):
        if continued:
            found[-1] = found[-1]._replace(text=found[-1].text.removesuffix("\\") + line.strip())
        elif line.startswith("$ "):
            found.append(Shown(number, line[2:]))
        elif found:
            found[-1] = found[-1]._replace(output=(*found[-1].output, line))
        continued = bool(found) and not found[-1].output and line.endswith("\\")
    return found


def words_of(text: str) -> list[str]:
    """The words of a command, without a comment behind it and assignments before it."""
    words = shlex.split(text, comments=True)
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    return words


def faults(text: str) -> list[str]:
    """What is wrong with a command; nothing where it is none that is known here.

    A command line of several (``a && b``) is taken apart; ``a | b`` is too.
    """
    found = []
    for part in re.split(r" (?:&&|\|) ", text):
        words = words_of(part)
        if not words:
            continue
        match words[0]:
            case "agentguard":
                found += _of_agentguard(words[1:])
            case "make":
                found += [
                    f"make has no target {name}" for name in words[1:] if "=" not in name and name not in _targets()
                ]
            case "pip":
                found += [
                    f"no extra {name}" for word in words for name in _extras(word) if name not in declared_extras()
                ]
            case "python" if len(words) > 1 and words[1].endswith(".py") and "/" in words[1]:
                found += [] if (ROOT / words[1]).is_file() else [f"no file {words[1]}"]
    return found


def _of_agentguard(words: list[str]) -> list[str]:
    command: Any = typer.main.get_command(app)
    context = command.make_context("agentguard", [], resilient_parsing=True)
    while getattr(command, "commands", None) and words and not words[0].startswith("-"):
        name, *words = words
        if name not in command.commands:
            return [f"{context.command_path} has no command {name}"]
        command = command.commands[name]
        context = type(context)(command, info_name=name, parent=context)
    if getattr(command, "commands", None) and not words:
        return [f"{context.command_path} needs a command"]
    try:
        values, _, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises for wrong usage has it
            raise
        return [f"{context.command_path}: {error.format_message()}"]
    missing = [p.name for p in command.params if p.required and not values.get(p.name) and _PLACEHOLDER not in words]
    return [f"{context.command_path} needs {name}" for name in missing]


def _extras(word: str) -> list[str]:
    named = re.search(r"(?:agentguard|^\.)\[([^]]+)\]", word)
    return [name.strip() for name in named[1].split(",")] if named else []


def declared_extras() -> set[str]:
    """The names of all extras of the project."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")  # tomllib is of Python 3.11
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[project.")[0]
    return set(re.findall(r"^([a-z0-9-]+) = \[", section, re.MULTILINE))


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
