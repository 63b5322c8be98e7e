"""Texts about a verdict for the model: a line after a flagged result, a notice in place of a blocked one.

The words are the guard's own. A result must not be able to speak through them, for the model trusts the guard more than
it trusts a tool: so names of fields may be said, phrases of the result are not, and everything stays on one line that
no bracket of the result's can end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any, Final

import orjson

from agentguard.errors import ConfigurationError
from agentguard.verification import Reading, ToolProfile, VerificationResult
from agentguard.verification._canonical import plain

#: The line after a flagged result, as a format string.
FLAG_TEXT: Final = "[agentguard: this result of '{tool}' may be wrong: {hazard}. Check it before you rely on it.]"
FIELDS: Final = ("tool", "hazard", "posterior")

ENOUGH: Final = 2  # the same answer so often before, and another try would bring it once more
LONGEST: Final = 400  # characters of a hazard
LONGEST_WORD: Final = 40  # characters; names of fields are shorter
PHRASE: Final = 3  # words in a row are a phrase; paths such as ``rows[].price`` have no blanks in them

_BETWEEN_WORDS: Final = str.maketrans(dict.fromkeys("'\"`,;:(){}<>\\[]", " "))  # beside white space


def check_flag_text(text: object) -> None:
    """Refuse a text that could not be formatted when a result is flagged.

    Raises:
        ConfigurationError: for what is no text, is empty, or has other fields than ``{tool}``, ``{hazard}`` and
            ``{posterior}``.
    """
    if not isinstance(text, str):
        raise ConfigurationError(f"flag_text must be a text, not a {type(text).__name__}")
    if not text.strip():
        raise ConfigurationError("flag_text must not be empty; on_flag='observe' adds no line")
    try:
        unknown = [field for field in _fields_of(text) if field not in FIELDS]
        if not unknown:
            flag_line(text, "tool", "hazard", 0.5)
    except ValueError as error:
        raise ConfigurationError(f"flag_text is no format string that can be used: {error}") from None
    if unknown:
        wrong, known = ", ".join(map("'{{{}}}'".format, unknown)), ", ".join(map("{{{}}}".format, FIELDS))
        raise ConfigurationError(f"flag_text has the unknown fields {wrong}; there are {known}")


def _fields_of(text: str) -> Iterator[str]:
    """The fields of a format string, those in the format of another one too."""
    for _, field, form, _ in Formatter().parse(text):
        if field is not None:
            yield field
            yield from _fields_of(form or "")


def flag_line(text: str, tool: str, hazard: str, posterior: float) -> str:
    """The line for a flagged result; ``text`` is a format string with the fields tool, hazard and posterior."""
    return text.format(tool=_one_line(tool), hazard=hazard, posterior=round(posterior, 2))


def appended(text: str, line: str) -> str:
    """A text with the line after it, once: a text that ends with the line already has it.

    >>> print(appended("18 degrees", "[may be wrong]"))
    18 degrees
    <BLANKLINE>
    [may be wrong]
    """
    if not text or text.endswith(line):
        return text or line
    return f"{text}\n\n{line}"


def lined(content: Any, line: str) -> Any:
    """A message's content with the line after it, once: appended to a text, as one more block after blocks."""
    if isinstance(content, str):
        return appended(content, line)
    block = {"type": "text", "text": line}
    return content if content[-1:] == [block] else [*content, block]


def unlined(content: Any, line: str) -> Any:
    """The content as it was before ``lined``."""
    if isinstance(content, str):
        return content.removesuffix(line).removesuffix("\n\n") if content.endswith(line) else content
    return content[:-1] if content[-1:] == [{"type": "text", "text": line}] else content


def blocked(tool: str, hazard: str, posterior: float) -> str:
    """A sentence that a result was blocked, with the reason."""
    return (
        f"The result of {tool!r} was blocked: it is probably not what the tool really returned "
        f"(P = {posterior:.2f}). Why: {hazard}."
    )


def may_ask(asked: int) -> bool:
    """Another try of the same call may bring another answer than it did so often before."""
    return asked < ENOUGH


def untrue(tool: str, reading: Reading) -> str:
    """A sentence that a call did not do what its result says, or that nobody could tell whether it did."""
    done = "blocked" if reading.is_broken else "withheld"
    return f"The result of {tool!r} was {done}: {_one_line(reading.detail)}."


def instead_of_again(profile: ToolProfile) -> str:
    """The advice in place of another call, for a tool whose second call may do harm; "" for any other.

    Of a tool whose profile says neither that it is idempotent nor that it does something, nothing is known.
    """
    if profile.idempotent or not profile.acts:
        return ""
    look = "" if profile.confirm is None else f" with {profile.confirm.tool!r}"
    return (
        f"It may have been done all the same, in part or later: look{look} before you call it again, and do not say "
        "that it is done."
    )


def asked_often(asked: int) -> str:
    """A clause for a flagged result that came again and again; the model is not to go on asking for it."""
    return f"this very call was already asked {asked} times with the same answer, and asking again brings no other"


def notice_of(happened: str, asked: int = 0, instead: str = "") -> str:
    """The notice that the model reads in place of a result: what happened, and what to do now.

    Args:
        happened: one sentence or several, which quote no result.
        asked: how often this very call had this very answer before. A model that was told to call again twice, and
            got the same, is told to stop: it would go on for ever.
        instead: the advice where another call may do harm (see ``instead_of_again``).
    """
    if instead:
        again = "" if may_ask(asked) else f" This very call was already asked {asked} times with the same answer."
        return f"{happened}{again} {instead}"
    if may_ask(asked):
        return f"{happened} Do not guess the result; call the tool again or say it is missing."
    return (
        f"{happened} This very call was already asked {asked} times with the same answer: do not call it again. Do not "
        "guess the result; say that it is missing or use another source."
    )


def hazard_of(found: VerificationResult, result: Any) -> str:
    """The evidence against a result, in one line that repeats no phrase of it.

    Args:
        found: the verdict; ``VerificationResult.hazard`` says which fields are odd and how.
        result: what was judged. Where a signal repeats a phrase of it, its name stands for what it says.
    """
    texts = _texts_in(result)
    fired = {name.replace("_", " "): signal.detail for name, signal in found.signals.items() if signal.fired}
    message = found.hazard
    for name, detail in fired.items():
        if _repeats(detail, texts):
            message = message.replace(detail, name)
    line = _one_line(message)
    return (", ".join(fired) if _repeats(line, texts) else line) or "its evidence taken together"


def _one_line(text: str) -> str:
    """Printable, of bounded length, and without a bracket that could end the line that it stands in."""
    visible = "".join(character if character.isprintable() else " " for character in text)
    words = [word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…" for word in visible.split()]
    line = re.sub(r"(?<!\[)\]", ")", re.sub(r"\[(?!\])", "(", " ".join(words)))
    return (line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…").rstrip(". ")


def _repeats(said: str, texts: str | None) -> bool:
    if texts is None:
        return True
    words = said.translate(_BETWEEN_WORDS).split()
    phrases = [words[at : at + PHRASE] for at in range(len(words) - PHRASE + 1)]
    # Words are cut nowhere: a phrase of which one is not there is not there either, and few are left to look for.
    there = {word for word in words if word in texts}
    left = [f" {' '.join(phrase)} " for phrase in phrases if there.issuperset(phrase)]
    if not left:
        return False
    cut = "\n".join([f" {' '.join(text.translate(_BETWEEN_WORDS).split())} " for text in texts.split("\n")])
    return any(phrase in cut for phrase in left)


def _texts_in(result: Any) -> str | None:
    """The texts of a result, its keys too, a line each.

    None for a result that cannot be looked through: nothing is known not to be in it.
    """
    texts: set[str] = set()  # of a list of records the keys come again and again
    try:
        pending = [_read(plain(result))]
        while pending:
            value = pending.pop()
            if isinstance(value, str):
                texts.add(value)
            elif isinstance(value, dict):
                texts.update(value)
                pending += value.values()
            elif isinstance(value, list):
                pending += value
    except Exception:  # of a foreign object; its verdict stands all the same
        return None
    return "\n".join([text.replace("\n", " ") for text in texts])


def _read(value: Any) -> Any:
    """Parse a text that is JSON, since its escapes hide words; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
