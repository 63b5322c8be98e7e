"""How a call came out, by what its framework, its arguments and its result say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from agentguard._linear_patterns import LinearPattern
from agentguard.content._patterns import compiled, joined, read_table
from agentguard.content._results import text_of
from agentguard.content.actions._english import base
from agentguard.content.actions._tools import pieces_of

Outcome = Literal["done", "failed", "partly", "pending", "nothing", "trial"]
"""``nothing``: it ran and changed nothing; ``trial``: it only showed what would be done."""

SHORT: Final = 400  # characters of a result that says no more than how a call came out
LINE: Final = 150  # characters at the beginning and end of a longer one that may
MOST_FIELDS: Final = 100
DEEPEST: Final = 5
BEGINS: Final = 12  # characters of a text within which it begins with what it says
SHORTEST_VERB: Final = 5  # letters of a verb that a noun may begin with
LONGEST_STATE: Final = 30  # characters of a text that names a state
_DENIED: Final = re.compile(r"\bnot (?:yet )?(?:been )?(\w+(?:ed|ent|aid|wn|ld|en))\b", re.IGNORECASE)
#: A line that only says with which code a program ended.
_CODE: Final = re.compile(r"\W*(exit\w*|return ?code)\b.{0,20}$", re.IGNORECASE)
#: It ended with a code that says so.
_ENDED: Final = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]*[1-9]\d*\W*$", re.IGNORECASE)
_PARTS: Final = re.compile(r"(?<![\w./-])(\d{1,6}) ?(?:of|out of|/) ?(\d{1,6})(?![\w./-]*\d)")  # "3 of 5", "3/5"


class Ending(NamedTuple):
    """How a call came out.

    Attributes:
        outcome: in a word.
        why: the words that say so; "" where it was done.
        sure: a field, a code or the framework says so, not a word somewhere in the result.
        left: of what was done in part, the words that say what was not.
    """

    outcome: Outcome
    why: str
    sure: bool
    left: str = ""


def ending_of(failed: bool, args: str, result: Any, text: str, does: frozenset[str] = frozenset()) -> Ending:
    """How a call came out.

    Args:
        failed: its framework says that it failed.
        args: its arguments, as text.
        result: its result.
        text: the same as text.
        does: the bases of the words that say what its tool does; "merged: false" is a failure of what merges.

    >>> ending_of(False, "", "FAILED tests/test_a.py", "FAILED tests/test_a.py").outcome
    'failed'
    >>> ending_of(False, "", {"ok": False}, '{"ok":false}').outcome
    'failed'
    >>> ending_of(False, "", {"sent": ["ada"], "unmatched": ["tom"]}, "").left
    'tom'
    """
    if failed:
        return Ending("failed", text[:80], True)
    told = _of_entries(result, does, 0) if isinstance(result, list) else _of_fields(result, does, 0)
    if told is not None:
        return told
    trial = _pattern("trial").search(args) or _pattern("trial").search(text[:2_000])
    if trial is not None and "false" not in trial[0]:
        return Ending("trial", trial[0].strip(), False)
    if isinstance(result, (Mapping, list)):
        text = "\n".join(_texts(result, 0))
    # A long text is what was asked for; how the call came out stands at its ends.
    text = _pattern("fine").sub(" ", text if len(text) <= SHORT else f"{text[:LINE]}\n{text[-LINE:]}")
    well = _pattern("well").search(text) is not None
    outcome: Outcome
    for outcome in ("failed", "pending", "nothing"):
        match = _pattern(outcome).search(text)
        if match is not None and base(match[0].casefold()) in does:
            continue  # "rejected", of a tool that rejects
        if match is not None:
            partly = well and outcome != "pending"
            sure = outcome == "failed" and not partly and (match.start() < BEGINS or _ENDED.search(text) is not None)
            state = _state_in(text, match.start())
            why, sure = state or match[0].strip(), sure or bool(state)
            return Ending("partly" if partly else outcome, why, sure, _left(text, outcome))
    parts = {(int(part), int(whole)) for part, whole in _PARTS.findall(text)}
    for part, whole in sorted(parts):
        if part < whole and (whole, whole) not in parts:  # "1 of 2 …, 2 of 2 …"
            return Ending("partly", f"{part} of {whole}", False)
    return Ending("done", "", False)


def denied(text: str) -> list[str]:
    """The participles that a text denies, in small letters.

    >>> denied("Letter saved. It has not been sent, NOT TICKETED")
    ['sent', 'ticketed']
    """
    return [word.casefold() for word in _DENIED.findall(text)]


def _state_in(text: str, at: int) -> str:
    """The state of a field that a text names at a place: "draft" of "pending: draft"."""
    line = text[at:].split("\n", 1)[0]
    return line.removeprefix("pending: ") if line.startswith("pending: ") else ""


def is_under_way(ending: Ending, text: str) -> bool:
    """Tell whether what a look at something returned says that it is not through, or did not come out well.

    >>> is_under_way(Ending("done", "", False), '{"run": "r-7", "state": "running"}')
    True
    """
    if ending.outcome == "failed":
        return ending.sure
    under_way = ending.outcome == "pending" or _pattern("running").search(text[:SHORT]) is not None
    return under_way and _pattern("through").search(text[:SHORT]) is None


def is_empty(result: Any) -> bool:
    """Tell whether a result has nothing in it.

    >>> is_empty([]), is_empty({"items": [], "count": 0}), is_empty({"id": 7})
    (True, True, False)
    """
    if isinstance(result, Mapping):
        return all(held in (None, False, 0, "", [], {}) for held in result.values())
    return result in (None, "", [])


def counts_done(name: str) -> bool:
    """Tell whether a field's name, in small letters, says how many something was done to."""
    return name in _fields("count")


def names_left() -> frozenset[str]:
    """The names of fields that say what was left undone."""
    return _fields("left")


def is_trial(text: str) -> bool:
    """Tell whether a command names itself a trial: "npm publish --dry-run"."""
    return _pattern("trial").search(text) is not None


def tells_well(line: str) -> bool:
    """Tell whether a line tells of nothing that failed, is pending or was not done."""
    line = _pattern("fine").sub(" ", line)
    return not denied(line) and not any(
        _pattern(name).search(line) for name in ("failed", "pending", "nothing", "trial")
    )


def _left(text: str, outcome: str) -> str:
    """The lines of a text that tell of a failure, or what is pending, where others do not.

    A line that only says with which code a program ended is about all of them.
    """
    lines = [line for line in text.splitlines() if _CODE.match(line) is None]
    told = [line for line in lines if _pattern(outcome).search(line) is not None]
    return "\n".join(told) if len(told) < len(lines) else ""


def _of_fields(value: Any, does: frozenset[str], depth: int) -> Ending | None:
    """Read from the fields of a result how the call came out."""
    if depth >= DEEPEST or not isinstance(value, Mapping):
        return None
    for name, held in list(value.items())[:MOST_FIELDS]:
        key, number = str(name).casefold(), isinstance(held, int) and not isinstance(held, bool)
        if key in _fields("left") and isinstance(held, list) and held:
            return Ending("partly", f"{name}: {text_of(held)[:60]}", True, text_of(held)[:SHORT])
        if key in _fields("left") and number and held > 0:
            return Ending("partly", f"{name}: {held}", True)
        if key in _fields("error") and held not in (None, False, 0, "", [], {}, "0", "none", "None"):
            well = _pattern("well").search(text_of(value)[:4_000]) is not None or _has_done(value)
            return Ending("partly" if well else "failed", f"{name}: {text_of(held)[:60]}", True, text_of(held)[:SHORT])
        if (key in _fields("success") or base(key) in does) and (held is False or held == "false"):
            return Ending("failed", f"{name}: false", True)
        if key in _fields("success") | _fields("count") and held == []:
            return Ending("failed", f"{name}: none", True)
        if key in _fields("code") and number and held != 0 and not 100 <= held < 400:
            return Ending("failed", f"{name}: {held}", True)
        if key in _fields("http") and (number or _is_status(held)) and int(held) >= 400:
            return Ending("failed", f"{name}: {held}", True)
        if number and held == 0 and (_last(str(name)) in _fields("count") or _is_of(key, does)):
            return Ending("nothing", f"{name}: 0", True)
        if held is True and _is_to_come(str(name), does):
            return Ending("pending", f"{name}: true", True)
        if key in _fields("trial") and held is True:
            return Ending("trial", f"{name}: true", True)
        if key in _fields("state") | _fields("inner"):
            inner = _of_fields(held, does, depth + 1)
            if inner is not None:
                return inner
        entries = _of_entries(held, does, depth + 1)
        if entries is not None:
            return entries
    return None


def _of_entries(value: Any, does: frozenset[str], depth: int) -> Ending | None:
    r"""Read how the entries of a list came out, or what is said of each by its name.

    >>> _of_entries([{"id": 1, "ok": True}, {"id": 2, "error": "locked"}], frozenset(), 1).left.split("\n")
    ['id: 2', 'error: locked']
    >>> _of_entries({"front": "locked", "back": "jammed"}, frozenset(), 1).left
    'back: jammed'
    """
    if isinstance(value, list) and len(value) > 1:
        entries = value[:MOST_FIELDS]
        ends = [_of_fields(entry, does, depth) for entry in entries]
        bad = [entry for entry, end in zip(entries, ends, strict=True) if end is not None and end.outcome == "failed"]
    elif isinstance(value, Mapping) and len(value) > 1 and all(_is_state(held) for held in value.values()):
        entries = [{name: held} for name, held in list(value.items())[:MOST_FIELDS]]
        bad = [entry for entry in entries for held in entry.values() if _pattern("failed").search(held) is not None]
    else:
        return None
    if not bad:
        return None
    left = "\n".join(text_of(entry) for entry in bad)[:SHORT]
    return Ending("partly" if len(bad) < len(entries) else "failed", left[:60], True, left)


def _is_state(held: Any) -> bool:
    return isinstance(held, str) and len(held) < LONGEST_STATE


def _is_of(name: str, does: frozenset[str]) -> bool:
    """Tell whether a name is a noun of what a tool does: "redactions" of ``redact``."""
    return any(len(verb) >= SHORTEST_VERB and name.startswith(verb) for verb in does)


def _last(name: str) -> str:
    """The last word of a name in small letters: "sent" of "invitesSent"."""
    return re.split(r"_|(?<=[a-z])(?=[A-Z])", name)[-1].casefold()


def _is_to_come(name: str, does: frozenset[str]) -> bool:
    """Tell whether a field that is true says that something is still to be done: "publish_required", "needsApproval".

    >>> _is_to_come("publish_required", frozenset()), _is_to_come("staged", frozenset({"stag"}))
    (True, False)
    """
    pieces = pieces_of(name)
    asked = _fields("asked") & set(pieces) and _fields("asking") & set(pieces)
    return bool(asked) or (name.casefold() in _fields("to_come") and base(name) not in does)


def _is_status(held: Any) -> bool:
    return isinstance(held, str) and len(held) == 3 and held.isascii() and held.isdigit()


def _has_done(value: Mapping[Any, Any]) -> bool:
    """Tell whether an object lists what was done beside what was not."""
    return any(str(name).casefold() in _fields("count") | _fields("success") and held for name, held in value.items())


def _texts(value: Any, depth: int) -> Iterator[str]:
    """The texts of a result that may say how the call came out."""
    if isinstance(value, str):
        yield value
    elif depth <= DEEPEST and isinstance(value, Mapping):
        for name, held in list(value.items())[:MOST_FIELDS]:
            if depth < 2 and isinstance(held, str) and len(held) < LONGEST_STATE and _is_pending(held):
                yield f"pending: {held}"
            if str(name).casefold() in _fields("state") | _fields("text") | _fields("inner"):
                yield from _texts(held, depth + 1)
    elif depth <= DEEPEST and isinstance(value, list):
        for held in value[:MOST_FIELDS]:
            yield from _texts(held, depth + 1)


def _is_pending(state: str) -> bool:
    state = state.casefold().replace("_", " ")
    return state in ("draft", "scheduled", "requested") or _pattern("pending").match(state) is not None


@cache
def _pattern(name: str) -> LinearPattern:
    return compiled(f"(?im){joined(read_table(__package__, 'endings.ini')[name]['pattern'])}")


@cache
def _fields(name: str) -> frozenset[str]:
    return frozenset(read_table(__package__, "endings.ini")["fields"][name].split())
