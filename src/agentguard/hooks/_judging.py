"""Events of a coding agent judged: each result by the guard, each session's calls kept until it stops."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from agentguard.errors import AgentGuardError
from agentguard.guard import Judgement, Outcome, Policy, ToolGuard
from agentguard.hooks._answers import (
    NOTHING,
    RESULTS,
    Reply,
    judged,
    noted,
    replaced,
    restored,
    sent_back,
    shapes,
    shown,
    told,
    unverified,
    withheld,
)
from agentguard.hooks._claims import correction_of, last_words, message_of, saw_results, unsupported
from agentguard.hooks._ledger import Call, Ledger
from agentguard.hooks._record import Record, Suspect
from agentguard.hooks._settings import HookSettings
from agentguard.stores import Store
from agentguard.verification import VerificationEngine, load_profiles
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.profile import ProfileIndex, profiles_in

if TYPE_CHECKING:
    from agentguard.content.actions import ActionClaim

_log = logging.getLogger("agentguard")

#: Signals that look at what a profile declares; the others look at what was learned.
DECLARED: Final = frozenset(
    {"schema_mismatch", "pattern_mismatch", "echo_mismatch", "confirm_mismatch", "against_mismatch"}
    | {"injection_found", "secret_found", "pii_found"}
)
MOST_NAMED: Final = 5  # calls that a message names


class Judge:
    """Answers the events of one installation.

    The built-in tools of an agent say whatever a machine holds: the text of any file, the output of any command. What
    was learned of earlier results tells nothing about the next one, so those signals are given a ratio of 1 there, and
    profiles alone say what is wrong. The tools of MCP servers are judged by everything.

    Args:
        settings: the policy, and the profiles.
        store: what was learned.
        record: where verdicts are counted.

    Raises:
        ConfigurationError, ProfileError, StoreError: for settings that cannot be used.
    """

    def __init__(self, settings: HookSettings, store: Store, record: Record) -> None:
        self._settings, self._record, self._ledger = settings, record, Ledger()
        self._warned: set[str] = set()
        self._sent_back: set[str] = set()
        profiles = load_profiles() if settings.profiles == "shipped" else profiles_in(settings.profiles)
        self._profiles = ProfileIndex(profiles)
        self.engine = VerificationEngine(profiles=profiles, store=store)
        learned = dict.fromkeys(DEFAULT_RATIOS.keys() - DECLARED, 1.0)
        for tool in shapes():
            self.engine.calibrate(tool, likelihood_ratios=learned)
        policy = Policy(on_guard_error=settings.on_guard_error, shadow=not settings.enforce)
        self._guard = ToolGuard(self.engine, policy)

    @property
    def ledger(self) -> Ledger:
        """The calls of each session."""
        return self._ledger

    async def answer(self, payload: bytes) -> Reply:
        """Answer an event; never raises.

        What is no event is let pass without a word, or answered with exit code 2 where the policy is closed.
        """
        try:
            event = _read(payload)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            _log.error("what came in is no event: %s", type(error).__name__)
            self._record.count("unjudged")
            return NOTHING if self._settings.on_guard_error == "open" else self._unverified(payload)
        try:
            self._begin(event)
            if event["hook_event_name"] in RESULTS:
                return await self._judged(event)
            return await self._stopped(event) if event["hook_event_name"] == "Stop" else NOTHING
        except Exception as error:
            _log.error("an event could not be judged: %s", type(error).__name__)
            self._record.count("unjudged")
            return self._warned_of(event) if self._settings.on_guard_error == "open" else self._unverified(payload)

    def _begin(self, event: dict[str, Any]) -> None:
        session = _text(event, "session_id") or ""
        if self._settings.claims != "off" and not self._ledger.knows(session):
            self._ledger.begin(session, whole=not saw_results(event))

    async def _judged(self, event: dict[str, Any]) -> Reply:
        tool, failed = event["tool_name"], event["hook_event_name"] == "PostToolUseFailure"
        result = event.get("error") if failed else judged(tool, event.get("tool_response"))
        took = event.get("duration_ms")
        outcome = Outcome(
            tool, event.get("tool_input"), result,
            float(took) if isinstance(took, (int, float)) and not isinstance(took, bool) and took >= 0 else None,
            _text(event, "session_id"), _text(event, "tool_use_id"), failed,
        )  # fmt: skip
        judgement = await self._guard.judge_async(outcome)
        self._enter(event, outcome, judgement)
        if judgement.result is None and self._settings.on_guard_error == "open":
            return self._warned_of(event)
        return await self._reply(event, judgement)

    def _enter(self, event: dict[str, Any], outcome: Outcome, judgement: Judgement) -> None:
        result, session, now = judgement.result, outcome.session_id or "", time.time()
        kind = None if result is None else result.verdict
        posterior = None if result is None else result.posterior
        self._ledger.add(
            session,
            Call(
                outcome.tool, outcome.call_id, outcome.args, outcome.result, outcome.is_error,
                _text(event, "agent_id"), kind, posterior, judgement.hazard, now,
            ),
        )  # fmt: skip
        self._record.count("unjudged" if kind is None else kind)
        if kind in ("flag", "block") and posterior is not None:
            hazard = judgement.hazard
            self._record.suspect(
                Suspect(now, session, outcome.tool, outcome.call_id, kind, round(posterior, 4), hazard)
            )

    async def _reply(self, event: dict[str, Any], judgement: Judgement) -> Reply:
        """The reply to an event whose result was judged."""
        if judgement.action == "replace":
            return withheld(self._settings.agent, event, judgement.notice)
        if judgement.redact and event["hook_event_name"] == "PostToolUse":
            response = event.get("tool_response")
            visible = restored(await judgement.shown_async(response), response)
            if visible != response:
                made = _in_shape(event, visible)
                if self._settings.agent == "claude" and made is not None:
                    return shown(event, made, judgement.line)
                kinds = " and ".join(judgement.redact)
                notice = f"agentguard withholds the result of this call: it holds {kinds} that cannot be removed here."
                return withheld(self._settings.agent, event, notice)
        return noted(event, judgement.line) if judgement.line else NOTHING

    def _unverified(self, payload: bytes) -> Reply:
        return unverified(self._settings.agent, payload)

    def _warned_of(self, event: dict[str, Any]) -> Reply:
        """Tell the user, once in a session, that results pass that were not judged."""
        session = _text(event, "session_id") or ""
        if session in self._warned:
            return NOTHING
        self._warned.add(session)
        return told("agentguard could not judge a result; it was let pass. Its log says why.")

    async def _stopped(self, event: dict[str, Any]) -> Reply:
        """Keep what was learned, and name what was not accepted since the last stop, and what no call supports.

        The agent is sent back for what it says once at most: never by a stop after one that did so.
        """
        try:
            self.engine.flush()
            self._record.save()
        except (AgentGuardError, OSError) as error:
            _log.error("what was learned could not be kept: %s", type(error).__name__)
        session, is_active = _text(event, "session_id") or "", event.get("stop_hook_active") is True
        message = closing(self._ledger.since_last_stop(session))
        messages = [message] if message and self._settings.enforce and not is_active else []
        claims = await self._unsupported(event, session)
        may_send_back = self._settings.claims == "correct" and not is_active and session not in self._sent_back
        self._sent_back.discard(session)
        if claims and may_send_back:
            self._sent_back.add(session)
            return sent_back(correction_of(claims), "\n\n".join(messages))
        messages += [message_of(claims)] if claims else []
        return told("\n\n".join(messages)) if messages else NOTHING

    async def _unsupported(self, event: dict[str, Any], session: str) -> Sequence[tuple[ActionClaim, Call | None]]:
        """What the agent says that no call of its session supports; nothing where that cannot be told."""
        if self._settings.claims == "off":
            return ()
        try:
            words = last_words(event)
            if not words.strip():
                return ()
            calls, whole = self._ledger.calls(session), self._ledger.is_whole(session)
            return await asyncio.to_thread(unsupported, words, calls, self._profiles, whole=whole)
        except Exception as error:  # to hold words against calls is no reason to lose what else is told
            _log.error("the last message could not be held against the calls: %s", type(error).__name__)
            return ()


class NoJudge:
    """Answers the events of an installation whose settings cannot be used: by the policy, and aloud.

    Args:
        settings: the policy; None where it cannot be read either: then it is open.
        message: what is wrong, for the user.
    """

    def __init__(self, settings: HookSettings | None, message: str) -> None:
        self._settings, self._message = settings, message
        self._warned: set[str] = set()

    async def answer(self, payload: bytes) -> Reply:
        """Withhold the result, or let it pass and tell the user so, once in a session; never raises."""
        if self._settings is not None and self._settings.on_guard_error == "closed":
            return unverified(self._settings.agent, payload)
        try:
            event = _read(payload)
            session = _text(event, "session_id") or ""
        except (ValueError, TypeError, LookupError, RecursionError):
            return NOTHING
        if session in self._warned:
            return NOTHING
        self._warned.add(session)
        return told(f"agentguard judges nothing: {self._message}")


def closing(calls: Sequence[Call]) -> str:
    """Write the message to the user about calls that were not accepted, when the agent stops; "" where all were."""
    suspects = [call for call in calls if call.verdict in ("flag", "block")]
    if not suspects:
        return ""
    lines = [
        f"{call.tool} ({'blocked' if call.verdict == 'block' else 'flagged'}, P = {call.posterior:.2f}): {call.hazard}"
        for call in suspects[:MOST_NAMED]
    ]
    more = [f"and {len(suspects) - MOST_NAMED} more"] if len(suspects) > MOST_NAMED else []
    count = f"{len(suspects)} of {len(calls)} results" if len(calls) > 1 else "the result"
    return "\n".join([f"agentguard does not vouch for {count} since the last stop:", *lines, *more])


def _read(payload: bytes) -> dict[str, Any]:
    """Read an event.

    Raises:
        ValueError, TypeError, LookupError, RecursionError: for what is none.
    """
    try:
        event = orjson.loads(payload)
    except orjson.JSONDecodeError:
        event = json.loads(payload)  # takes half a surrogate pair, which JavaScript writes, and long numbers
    names = ("hook_event_name", "tool_name") if event["hook_event_name"] in RESULTS else ("hook_event_name",)
    if not all(isinstance(event[name], str) for name in names):
        raise TypeError("a name is a text")
    return dict(event)


def _text(event: dict[str, Any], name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) else None


def _in_shape(event: dict[str, Any], visible: Any) -> Any:
    """A redacted result in the shape of its tool's results; None where it has none any more.

    Of a built-in tool the agent takes nothing else, even where it gave the result as a text. A result that could not be
    redacted has become a sentence.
    """
    response = event.get("tool_response")
    if isinstance(response, str) and event["tool_name"] in shapes():
        return replaced(event["tool_name"], event.get("tool_input"), response, visible)
    return visible if type(visible) is type(response) else None
