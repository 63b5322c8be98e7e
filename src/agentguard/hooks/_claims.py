"""The agent's last words, held against the calls of its session when it stops."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from agentguard.content._results import cut, text_of
from agentguard.hooks._ledger import Call
from agentguard.verification.profile import ProfileIndex

if TYPE_CHECKING:
    from agentguard.content import actions
    from agentguard.content.actions import ActionClaim

TAIL: Final = 1 << 18  # bytes of a transcript in which the last words are looked for, a judgement
HEAD: Final = 1 << 24  # bytes of a transcript in which earlier results are looked for
LONGEST_WORDS: Final = 50_000  # characters of the last words that are read
#: Characters of a session's calls that are read in full, a judgement: that takes a second or two where all are numbers,
#: and an agent waits ten for a hook. Of older calls the beginnings are read.
MOST_READ: Final = 300_000
OLDER_TEXT, OLDER_VALUES = 200, 40
MOST_NAMED: Final = 5  # claims that a message names
#: Marks of a tool's result in a transcript: of Claude Code, and of Codex.
_RESULTS: Final = (b'"tool_result"', b'_call_output"')


def last_words(event: dict[str, Any]) -> str:
    """The agent's last words: of the event itself, or from the end of the transcript that it names; "" without any."""
    words = event.get("last_assistant_message")
    if not isinstance(words, str):
        words = _words_at_the_end(event.get("transcript_path"))
    return words[:LONGEST_WORDS]


def saw_results(event: dict[str, Any]) -> bool:
    """Tell whether the session had results of tools before this event; True where that cannot be told."""
    path = event.get("transcript_path")
    try:
        if not isinstance(path, str) or not _is_file(path):
            return True
        with open(path, "rb") as file:
            head = file.read(HEAD + 1)
    except FileNotFoundError:
        return False  # it is written with the first words
    except (OSError, ValueError):
        return True
    return len(head) > HEAD or any(mark in head for mark in _RESULTS)


def unsupported(
    words: str, calls: Sequence[Call], profiles: ProfileIndex, *, whole: bool
) -> tuple[tuple[ActionClaim, Call | None], ...]:
    """The claims in an agent's words that its calls do not support, each with the call that contradicts it.

    Args:
        words: the agent's.
        calls: of the session and its subagents, the oldest first.
        profiles: say what tools do.
        whole: the calls are all of the session's; else nothing was never called.
    """
    from agentguard.content.actions import Tool, check  # with all their patterns

    made = list(_readable(calls))
    tools = []
    for name in dict.fromkeys(call.tool for call in calls):
        profile = profiles.find(name)
        if profile is not None and profile.does:
            tools.append(Tool(name, "", (), profile.does))
    result = check(words, made, tools)
    return tuple(
        (claim, None if claim.call is None else calls[claim.call])
        for claim in result.unsupported
        if whole or claim.verdict == "contradicted"
    )


def message_of(claims: Sequence[tuple[ActionClaim, Call | None]]) -> str:
    """Write the message to the user about claims that no call supports; "" without any."""
    if not claims:
        return ""
    lines = [f"“{claim.text}”, {_why(claim, call)}" for claim, call in claims[:MOST_NAMED]]
    more = [f"and {len(claims) - MOST_NAMED} more"] if len(claims) > MOST_NAMED else []
    return "\n".join(["agentguard: no call of this session supports what the agent says:", *lines, *more])


def correction_of(claims: Sequence[tuple[ActionClaim, Call | None]]) -> str:
    """Write the reason for which the agent is sent back."""
    lines = [f"- “{claim.text}”, {_why(claim, call)}" for claim, call in claims[:MOST_NAMED]]
    return "\n".join(
        [
            "Your last message says that these things were done, and no call of this session did them:",
            *lines,
            "Do what is missing, or say what was done, what failed, and what was not done.",
        ]
    )


def _why(claim: ActionClaim, call: Call | None) -> str:
    tool = "" if call is None else f" by {call.tool}"
    return f"{claim.verdict}{tool}: {claim.reason}"


def _readable(calls: Sequence[Call]) -> Iterator[actions.Call]:
    """The calls as claims are held against them: the newest in full, of others the beginnings."""
    from agentguard.content import actions

    read, first = 0, len(calls)
    while first and read < MOST_READ:
        first -= 1
        read += len(text_of(calls[first].arguments)) + len(text_of(calls[first].result))
    for number, call in enumerate(calls):
        arguments, result = call.arguments, call.result
        if number < first:
            arguments, result = (cut(value, OLDER_TEXT, OLDER_VALUES) for value in (arguments, result))
        yield actions.Call(call.tool, arguments, result, call.failed)


def _is_file(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)


def _words_at_the_end(path: Any) -> str:
    """The agent's last words in a transcript, where they stand at its end."""
    from agentguard.traces._formats._words import words_in  # which few stops need

    try:
        if not isinstance(path, str) or not _is_file(path):
            return ""
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read(TAIL).splitlines()
    except (OSError, ValueError):
        return ""
    for line in reversed(lines):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if not isinstance(value, dict) or value.get("isSidechain") is True:
            continue
        for speaker, text in words_in(value.get("message") or value.get("payload")):
            if speaker != "system":
                return text if speaker == "agent" else ""
    return ""
