"""Drafts as YAML files that a person reviews: one a tool, with the counts beside each line.

Names come from a log, that is, from outside: they are quoted wherever YAML could read anything else in them, comments
are free of control characters, and a file's name is made of letters, digits, ``_`` and ``-`` alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import ConfigurationError
from agentguard.traces._counts import rank_of
from agentguard.traces._inference import ECHO_FACTOR, ENOUGH, FIXED_FACTOR, Declaration, Draft, fields_of

if TYPE_CHECKING:
    from os import PathLike


LONGEST_NAME: Final = 60
_SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)  # devices, to Windows
_NO_TEXT: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))  # to YAML 1.1
_ORDER: Final = (
    "type", "const", "enum", "format", "pattern", "required", "properties", "items", "additionalProperties",
)  # fmt: skip

_Place = tuple[str, ...]


def file_name(tool: str) -> str:
    """A file name for a tool, which stays in its folder and differs from that of any other tool.

    >>> file_name("get_weather"), file_name("../etc/passwd")
    ('get_weather.yaml', 'etc_passwd-3cba4c3a.yaml')
    """
    name = _NO_NAME.sub("_", tool)[:LONGEST_NAME].strip("_-")
    # Capitals are one name on some file systems, so that a tool that has any is told apart too.
    if name != tool or name != name.lower() or _RESERVED.fullmatch(name):
        name = f"{name or 'tool'}-{rank_of(tool) >> 32:08x}"
    return f"{name}.yaml"


def profile_yaml(draft: Draft) -> str:
    """The text of a profile; ``load_profiles`` reads the very profile from it that ``draft.profile()`` is."""
    errors = draft.calls - draft.answers
    fields = fields_of(draft.declarations)
    comments = {(one.field, one.path): _comment(one) for one in draft.declarations}
    lines = [
        f"# Learned from {draft.calls:,} calls: {draft.answers:,} answers, {draft.distinct:,} of them distinct, and "
        f"{errors:,} error reports.",
        "# Review it before you use it. Each line is a contract: what breaks it is suspect, however often it comes.",
        "# Shares of all answers are lower bounds at 95% confidence, counted from distinct ones: after n without an",
        f"# exception, up to 3/n may be one. Form is declared from {ENOUGH} on, echoes from {ENOUGH * ECHO_FACTOR}, "
        f"fixed values from {ENOUGH * FIXED_FACTOR}.",
        *(f"# Note: {note}." for note in draft.notes),
        f"name: {_scalar(draft.tool)}",
    ]
    for field, value in fields.items():
        lines.append("")
        if field == "output_schema":
            lines.append("output_schema:")
            lines += _schema(value, (), 1, comments)
        elif field == "required_fields":
            lines.append("required_fields:")
            lines += _items(value, "  ", [comments[field, (name,)] for name in value])
        elif field == "echoes":
            lines.append("echoes:")
            lines += [
                _line(f"  {_scalar(name)}: {_flow(echo)}", comments[field, (name,)]) for name, echo in value.items()
            ]
        else:
            lines += [f"# {comments[field, ()]}", f"{field}: {_flow(value)}"]
    if draft.thin:
        lines += [
            "",
            "# Held in every answer, and in too few to declare it. Make it a line where you know it to be so:",
        ]
        lines += [f"#   {_quoted(one.name)[1:-1]}: {_flow(one.value)}  # {one.why}" for one in draft.thin]
    if draft.left_out:
        lines += ["", "# Left out, because held-out calls broke it:"]
        lines += [f"#   {_quoted(one.name)[1:-1]}: {_flow(one.value)}  # {_comment(one)}" for one in draft.left_out]
    return "\n".join(lines) + "\n"


def write_profiles(drafts: Iterable[Draft], folder: str | PathLike[str], *, force: bool = False) -> list[Path]:
    """Write each draft to a file of its own in a folder, which is made if need be; all of them, or none.

    Files that are there are replaced only with ``force``.

    Raises:
        ConfigurationError: where files are there and ``force`` is not set, or where they cannot be written.
    """
    target = Path(folder)
    texts = {target / file_name(draft.tool): profile_yaml(draft) for draft in drafts}
    there = [path.name for path in texts if os.path.lexists(path)]
    if there and not force:
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""
        raise ConfigurationError(
            f"{target} has {', '.join(there[:3])}{more} already: choose another folder, or --force to replace them"
        )
    written: list[tuple[Path, Path]] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with NamedTemporaryFile(
                "w", encoding="utf-8", newline="\n", dir=target, prefix=".learn-", delete=False
            ) as file:
                written.append((Path(file.name), path))
                file.write(text)
        for temporary, path in written:
            temporary.chmod(0o644)
            temporary.replace(path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigurationError(f"cannot write profiles to {target}: {reason}") from None
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
    return list(texts)


def _comment(one: Declaration) -> str:
    if not one.broken:
        return one.why
    return f"{one.why}; BROKEN by {one.broken:,} of {one.held_out:,} held-out calls"


def _schema(
    schema: Mapping[str, Any], path: _Place, depth: int, comments: Mapping[tuple[str, _Place], str]
) -> list[str]:
    """The lines of a schema that is written as a block, a keyword a line."""
    indent = "  " * depth
    lines = []
    for keyword in (word for word in _ORDER if word in schema):
        value, below = schema[keyword], (*path, keyword)
        if keyword == "required":
            whys = [comments["output_schema", (*below, name)] for name in value]
            if len(set(whys)) == 1:
                lines.append(_line(f"{indent}required: {_flow(value)}", f"each {whys[0]}"))
            else:
                lines += [f"{indent}required:", *_items(value, f"{indent}  ", whys)]
        elif keyword == "properties":
            lines.append(f"{indent}properties:")
            for name, item in value.items():
                lines += _named(_scalar(name), item, (*below, name), depth + 1, comments)
        elif isinstance(value, dict):
            lines += _named(keyword, value, below, depth, comments)
        else:
            lines.append(_line(f"{indent}{keyword}: {_flow(value)}", comments["output_schema", below]))
    return lines


def _named(name: str, schema: Mapping[str, Any], path: _Place, depth: int, comments: Mapping[Any, str]) -> list[str]:
    """A schema under its name: on one line where there is nothing below it."""
    indent = "  " * depth
    if not any(isinstance(value, dict) or word == "required" for word, value in schema.items()):
        whys = "; ".join(dict.fromkeys(comments["output_schema", (*path, word)] for word in schema))
        inside = ", ".join(f"{word}: {_flow(schema[word])}" for word in _ORDER if word in schema)
        return [_line(f"{indent}{name}: {{{inside}}}", whys)]
    return [f"{indent}{name}:", *_schema(schema, path, depth + 1, comments)]


def _items(values: Sequence[Any], indent: str, comments: Sequence[str]) -> list[str]:
    return [_line(f"{indent}- {_scalar(value)}", comment) for value, comment in zip(values, comments, strict=True)]


def _line(text: str, comment: str) -> str:
    return f"{text}  # {comment}"


def _flow(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_scalar(name)}: {_scalar(item)}' for name, item in value.items())}}}"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):  # 1e-05 is text to YAML 1.1
        return str(int(value)) if value.is_integer() else f"{value:.12f}".rstrip("0")
    text = str(value)
    return text if _SAFE.fullmatch(text) and text.lower() not in _NO_TEXT else _quoted(text)


def _quoted(text: str) -> str:
    r"""Text in double quotes, on one line.

    >>> print(_quoted('a"b\n\u202e#'))
    "a\"b\x0a\u202e#"
    """
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "?"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
