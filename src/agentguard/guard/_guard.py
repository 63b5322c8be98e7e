"""The guard: rules, what they make of a verdict, and calls that are made again.

Whoever sees a call gathers what it knows of it (``Outcome``), asks ``Guard.judge`` and acts on the ``Judgement``.
No framework is imported here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, TypeVar, cast, get_args

from agentguard.content._findings import Kind
from agentguard.content._results import redacted
from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.guard._exceptions import is_signal, put_into, texts_of
from agentguard.guard._read_back import FindCall, Interrupted, calls_of, read_back, read_back_async
from agentguard.guard._wording import (
    FLAG_TEXT,
    asked_often,
    blocked,
    check_flag_text,
    flag_line,
    hazard_of,
    instead_of_again,
    may_ask,
    notice_of,
    untrue,
)
from agentguard.verification import Reading, VerificationEngine, VerificationResult
from agentguard.verification._document import read
from agentguard.verification.types import ToolCall, Verdict

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger("agentguard")

# --- Large results are worked on in a thread ---


LARGE: Final = 1 << 17  # characters: some milliseconds' work
MOST_LOOKED: Final = 2_000  # values that are looked at to know; what has more of them is large

T = TypeVar("T")


async def apart(work: Callable[..., T], *args: Any, about: Any) -> T:
    """Do some work: at once, or in a thread where what it is about is large.

    Args:
        work: a function; it must not call back into the loop.
        args: what it is called with.
        about: the value whose size decides.
    """
    return await asyncio.to_thread(work, *args) if is_large(about) else work(*args)


def is_large(value: Any) -> bool:
    """A value holds more than 128 KiB of text, or 2,000 values.

    >>> is_large({"rows": [1, 2, 3]}), is_large(["x" * 100_000, "y" * 100_000]), is_large([[]] * 3_000)
    (False, True, True)
    """
    characters, looked = 0, 0
    pending = [value]
    while pending:
        item = pending.pop()
        looked += 1
        if isinstance(item, (str, bytes, bytearray)):
            characters += len(item)
        elif isinstance(item, dict):
            looked += len(item)
            if looked <= MOST_LOOKED:
                pending += item.values()
        elif isinstance(item, (list, tuple)):
            if looked + len(item) > MOST_LOOKED:
                return True
            pending += item
        elif item is not None and not isinstance(item, (bool, int, float)):
            pending += _fields_of(item)
        if characters > LARGE or looked > MOST_LOOKED:
            return True
    return False


def _fields_of(value: Any) -> list[Any]:
    """Return the values that an object of a foreign class holds; none where it does not say."""
    try:
        return [each for each in vars(value).values() if isinstance(each, (str, bytes, dict, list, tuple))]
    except Exception:  # a foreign object's own code may fail at any question
        return []


# --- Rules, judgement and guard ---


#: What to do with a result: hand it on; hand it on with its verdict beside it, where no model reads it; with a line for
#: the model too; ask a person; or put a notice in its place. The later ones are the graver.
Action = Literal["pass", "observe", "annotate", "review", "replace"]
ACTIONS: Final = get_args(Action)
VERDICTS: Final = ("unguarded", "accept", "error", "flag", "block")  # the graver one last
#: What to do with a flagged result.
OnFlag = Literal["annotate", "observe", "review", "block"]
#: What to do with a blocked result.
OnBlock = Literal["replace", "raise", "end"]
#: What to do with a result where the guard itself fails.
OnGuardError = Literal["open", "closed"]
#: Whether a result's artifact, which the application gets and no model reads, is judged beside the result.
Artifacts = Literal["ignore", "judge"]


class Outcome(NamedTuple):
    """One executed call as an integration saw it.

    Attributes:
        tool, args: the call.
        result: what the tool returned, or what it said where it failed.
        execution_time_ms: the tool's own time; None where it is unknown.
        session_id, call_id: the framework's.
        is_error: the framework's own flag that the tool ran and failed. What a framework makes up itself (an unknown
            tool, bad arguments) is no answer of the tool, and no outcome.
        learn: False judges the call and leaves everything that was learned as it is.
        readings: what other calls have said of this one, as its profile asks for (see ``Guard.read_back``).
        beside: further parts of the answer that the framework may show the model. They are judged by the profile's
            content rules alone, and the graver verdict stands; None where there are none.
        content_alone: the result is no result of the tool but a text that stands in its place, such as an exception's:
            it, too, is judged by the content rules alone, and nothing is learned.
    """

    tool: str
    args: Any
    result: Any
    execution_time_ms: float | None = None
    session_id: str | None = None
    call_id: str | None = None
    is_error: bool = False
    learn: bool = True
    readings: tuple[Reading, ...] = ()
    beside: Any = None
    content_alone: bool = False


class Judgement(NamedTuple):
    """The action on a result, with the verdict and the texts that go with it.

    Attributes:
        action: see ``Action``; always ``pass`` in shadow mode.
        result: the engine's result; None where the guard failed, or does not cover the tool (then without a notice).
        notice: what to show in the result's place (action ``replace``), or that it could not be verified; never empty
            there, quotes no result.
        redact: the kinds of content that the result must be shown without; none in shadow mode.
        line: what to show after the result (action ``annotate``); "" for any other action.
        hazard: what speaks against the result, in one line that repeats no phrase of it; "" where it is accepted.
        artifact: whether the result's artifact was judged; None where it has none.
        of_artifact: the result is the artifact's, because it is the worse of the two.
        redact_artifact: the kinds of content that the artifact must be shown without.
        readings: what the guard's own calls have said of this one.
    """

    action: Action
    result: VerificationResult | None
    notice: str
    redact: tuple[str, ...] = ()
    line: str = ""
    hazard: str = ""
    artifact: Literal["judged", "not judged"] | None = None
    of_artifact: bool = False
    redact_artifact: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()

    @property
    def verdict(self) -> Verdict | Literal["error", "unguarded"]:
        """The verdict, in one word: ``error`` where the guard failed, ``unguarded`` where it does not cover the tool.

        >>> Judgement("pass", None, "").verdict
        'unguarded'
        """
        if self.result is None:
            return "error" if self.notice else "unguarded"
        return self.result.verdict

    @property
    def asked(self) -> int:
        """Earlier identical calls with the identical result, where that was not accepted."""
        return 0 if self.result is None else self.result.asked

    def shown(self, value: Any, without: Callable[[Any, Collection[Kind]], Any] = redacted) -> Any:
        """The result, or a part of it, as it may be shown: with placeholders for what is to be redacted.

        Never raises: what cannot be redacted is withheld.

        Args:
            value: the result, or the part.
            without: puts the placeholders; another one for what is no plain value.
        """
        if not self.redact:
            return value
        try:
            return without(value, cast("tuple[Kind, ...]", self.redact))
        except Exception as error:
            tool = "the tool" if self.result is None else repr(self.result.tool)
            _log.error("redacting a result of %s failed, it is withheld: %s", tool, type(error).__name__)
            return f"The result of {tool} is withheld: it holds {' and '.join(self.redact)} that could not be removed."

    async def shown_async(self, value: Any) -> Any:
        """``shown``, of a large value in a thread."""
        return await apart(self.shown, value, about=value) if self.redact else value

    def shown_artifact(self, artifact: Any) -> Any:
        """The artifact as it may be handed on."""
        return self._replace(redact=self.redact_artifact).shown(artifact)

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain JSON, for metadata that must survive a checkpoint."""
        about: dict[str, Any] = {} if self.artifact is None else {"artifact": self.artifact}
        if self.of_artifact:
            about["of"] = "artifact"
        if self.readings:
            about["read_back"] = [reading.as_dict() for reading in self.readings]
        result = self.result
        if result is None:
            return {"verdict": self.verdict, "action": self.action, "reason": self.notice, **about}
        fired = sorted([name for name, signal in result.signals.items() if signal.fired])
        return {
            "verdict": result.verdict,
            "posterior": round(result.posterior, 6),
            "action": self.action,
            "fired": fired,
            "reason": result.explanation,
            "tool": result.tool,
            "call_id": result.call_id,
            **({"hazard": self.hazard} if self.hazard else {}),
            **({"line": self.line} if self.line else {}),
            **({"asked": result.asked} if result.asked else {}),
            **({"change": result.change} if result.change else {}),
            **({"redacted": list(self.redact)} if self.redact else {}),
            **({"redacted_artifact": list(self.redact_artifact)} if self.redact_artifact else {}),
            **about,
        }


#: Is told of every judgement, in shadow mode too.
OnJudgement = Callable[[Outcome, Judgement], None]
#: Functions that call tools, by the tools' names: what a profile has read back is read by them.
Readers = Mapping[str, Callable[..., Any]]


class Rules(TypedDict, total=False):
    """The rules of a ``Guard``, as integrations take them by name beside it, or beside an engine; see there."""

    tools: Collection[str] | None
    on_flag: OnFlag
    on_block: OnBlock | None
    on_guard_error: OnGuardError
    shadow: bool
    max_retries: int
    flag_text: str
    artifacts: Artifacts
    on_judgement: OnJudgement | None
    readers: Readers | None


@dataclass(frozen=True, eq=False)
class Guard:
    """An engine, and the rules by which what stands between an agent and its tools acts on its verdicts.

    Every integration takes a ``Guard``, or an engine and the rules by name: ``guarded(engine, on_block="replace")`` is
    short for ``guarded(Guard(engine, on_block="replace"))``. Rules by name beside a ``Guard`` stand over its own. One
    that an integration cannot act on is refused when the integration is made.

    Attributes:
        engine: judges the calls.
        tools: names of the tools to guard; None: all.
        on_flag: ``annotate`` hands a flagged result on with its verdict, and with a line after it for the model;
            ``observe`` hands it on as it is, with its verdict beside it; ``review`` asks a person first (where the
            framework can); ``block`` treats it as blocked.
        on_block: ``replace`` puts a notice in the result's place, ``raise`` raises ``ResultBlocked``, ``end`` also ends
            the agent's run (where the framework can). None: ``raise`` for plain functions, else ``replace``.
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` treats it as blocked.
        shadow: judge and record, change nothing.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``; one that
            gave the same answer three times is not. Where a profile has ``retry``, that stands instead.
        flag_text: the line of ``annotate``, a format string with the fields ``{tool}``, ``{hazard}`` (what speaks
            against the result) and ``{posterior}`` (P that it is fabricated or corrupted).
        artifacts: ``judge`` judges a result's artifact too, where the framework has such, as the result of a tool named
            ``<tool>#artifact``; the worse of the two verdicts stands. ``ignore`` leaves artifacts unjudged, and the
            verdict says so.
        on_judgement: is told of every judgement; what it raises is logged and changes nothing.
        readers: by the name of a tool, the function that calls it for ``confirm`` and ``against`` of profiles; tools
            that the integration can call itself need none.

    Raises:
        ConfigurationError: for a value that is not one of these.

    >>> guard = Guard(VerificationEngine(), on_flag="block")
    >>> guard.judge(Outcome("add", {"a": 1, "b": 2}, 3)).action
    'pass'
    """

    engine: VerificationEngine
    _: KW_ONLY
    tools: Collection[str] | None = None
    on_flag: OnFlag = "annotate"
    on_block: OnBlock | None = None
    on_guard_error: OnGuardError = "open"
    shadow: bool = False
    max_retries: int = 0
    flag_text: str = FLAG_TEXT
    artifacts: Artifacts = "ignore"
    on_judgement: OnJudgement | None = None
    readers: Readers | None = None
    find: FindCall = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.engine, type) or not callable(getattr(self.engine, "verify", None)):
            raise ConfigurationError(
                f"engine must be a VerificationEngine, or what has its method verify, not {self.engine!r}"
            )
        for name, allowed in (
            ("on_flag", get_args(OnFlag)),
            ("on_block", (None, *get_args(OnBlock))),
            ("on_guard_error", get_args(OnGuardError)),
            ("artifacts", get_args(Artifacts)),
        ):
            self._check(name, allowed)
        if not isinstance(self.max_retries, int) or isinstance(self.max_retries, bool) or self.max_retries < 0:
            raise ConfigurationError(f"max_retries must be a non-negative integer, not {self.max_retries!r}")
        if isinstance(self.tools, str):
            raise ConfigurationError(f"tools must be a collection of names, not the text {self.tools!r}")
        if self.tools is not None:
            object.__setattr__(self, "tools", frozenset(self.tools))
        check_flag_text(self.flag_text)
        object.__setattr__(self, "find", calls_of(self.readers))

    def _check(self, name: str, allowed: Collection[Any], why: str = "") -> None:
        value = getattr(self, name)
        if value not in allowed:
            said = " or ".join(repr(one) for one in allowed if one is not None)
            raise ConfigurationError(f"{name} must be {said}{why}, not {value!r}")

    @classmethod
    def of(
        cls,
        guard: Guard | VerificationEngine,
        where: str,
        rules: Rules | None = None,
        *,
        on_flag: Collection[OnFlag] = ("annotate", "observe", "block"),
        on_block: Collection[OnBlock] = ("replace", "raise"),
    ) -> Self:
        """The guard that an integration was given, or one for an engine.

        Args:
            guard: what the integration was given.
            where: the integration, for the message.
            rules: what it was given beside it; they stand over the guard's own.
            on_flag: what it can do with a flagged result.
            on_block: what it can do with a blocked one.

        Raises:
            ConfigurationError: for a rule that it cannot act on, and for one that there is not.
        """
        for name in rules or ():
            if name not in Rules.__annotations__:
                known = sorted(Rules.__annotations__)
                alike = get_close_matches(name, known, 1)
                said = f"did you mean {alike[0]!r}?" if alike else f"there are {', '.join(known)}"
                raise ConfigurationError(f"{where}: no rule of a guard is named {name!r}; {said}")
        given = guard if isinstance(guard, Guard) else Guard(guard)
        made = cls(**{**{one.name: getattr(given, one.name) for one in fields(Guard) if one.init}, **(rules or {})})
        made._check("on_flag", on_flag, f" for {where}")
        made._check("on_block", (None, *on_block), f" for {where}")
        return made

    def covers(self, tool: str) -> bool:
        """The tool is guarded."""
        return self.tools is None or tool in self.tools

    def searches(self, tool: str) -> bool:
        """The tool is guarded, and its profile has content rules, or cannot be read, which judging it will say."""
        try:
            return self.covers(tool) and bool(self.engine.profile_of(tool).content)
        except Exception:  # of an engine that is out of order
            return True

    def error_text(self, outcome: Outcome, text: Any) -> Outcome | None:
        """The outcome to be judged where the text of a tool's exception reaches the model in the result's place.

        Args:
            outcome: describes the call.
            text: what the model is to read, or a JSON-like value that holds it.

        Returns:
            None where the profile of the tool has no content rules: there is nothing to judge the text by.
        """
        if not self.searches(outcome.tool):
            return None
        return outcome._replace(result=text, execution_time_ms=None, is_error=True, content_alone=True)

    def exception(self, described: Outcome, error: Exception) -> Judgement | None:
        """Judge the text of an exception that goes on to whoever makes a message for the model of it. Never raises.

        Placeholders and the line for the model are put into the exception itself.

        Args:
            described: the call.
            error: what the tool raised.

        Returns:
            The judgement by which the text is withheld, with action ``replace``; None where the exception may go on.
        """
        outcome = None if is_signal(error) else self.error_text(described, texts_of(error))
        return None if outcome is None else self._on_exception(error, outcome, self._judged(outcome))

    async def exception_async(self, described: Outcome, error: Exception) -> Judgement | None:
        """``exception``, of large texts in a thread."""
        outcome = None if is_signal(error) else self.error_text(described, texts_of(error))
        if outcome is None:
            return None
        return self._on_exception(error, outcome, await apart(self._judged, outcome, about=outcome.result))

    def _on_exception(self, error: Exception, outcome: Outcome, judgement: Judgement) -> Judgement | None:
        tool = outcome.tool
        if judgement.action == "review":  # nobody can be asked about what is no message yet
            posterior = cast(VerificationResult, judgement.result).posterior
            judgement = judgement._replace(line=flag_line(self.flag_text, tool, judgement.hazard, posterior))
        if judgement.action != "replace" and not put_into(error, judgement):
            happened = f"What {tool!r} raised was withheld: it holds {' and '.join(judgement.redact)}"
            notice = notice_of(f"{happened} that could not be removed.")
            judgement = judgement._replace(action="replace", notice=notice, line="")
        self._tell(outcome, judgement)
        return judgement if judgement.action == "replace" else None

    def read_back(self, outcome: Outcome, find: FindCall) -> Outcome:
        """The outcome with what other calls say of it, where its profile declares ``confirm`` or ``against``.

        Made before the outcome is judged. Whatever a reader raises, the call has been made: the readings say that it
        could not be read back. Only ``KeyboardInterrupt`` is raised again, after the outcome was judged.

        Args:
            outcome: the call.
            find: finds what calls a tool, by its name.
        """
        if outcome.readings or outcome.content_alone or not self.covers(outcome.tool):
            return outcome
        try:
            readings = read_back(self.engine, ToolCall(*outcome[:7]), find)
        except Interrupted as interrupted:
            self.judge(outcome._replace(readings=interrupted.readings))
            raise interrupted.error from None
        return outcome._replace(readings=readings) if readings else outcome

    async def read_back_async(self, outcome: Outcome, find: FindCall) -> Outcome:
        """``read_back`` for calls that are awaited; that its task is cancelled is raised again, too."""
        if outcome.readings or outcome.content_alone or not self.covers(outcome.tool):
            return outcome
        try:
            readings = await read_back_async(self.engine, ToolCall(*outcome[:7]), find)
        except Interrupted as interrupted:
            self.judge(outcome._replace(readings=interrupted.readings))
            raise interrupted.error from None
        return outcome._replace(readings=readings) if readings else outcome

    def judge(self, outcome: Outcome) -> Judgement:
        """Judge a result and say what to do with it. Never raises; the guard's own failure follows its rules."""
        if not self.covers(outcome.tool):
            return Judgement("pass", None, "")
        return self._tell(outcome, self._with_beside(outcome))

    async def judge_async(self, outcome: Outcome) -> Judgement:
        """``judge``, of a large result in a thread: the event loop goes on meanwhile."""
        if not self.covers(outcome.tool):
            return Judgement("pass", None, "")
        about = outcome.args, outcome.result, outcome.beside
        return self._tell(outcome, await apart(self._with_beside, outcome, about=about))

    def _with_beside(self, outcome: Outcome) -> Judgement:
        judgement = self._judged(outcome)
        if outcome.beside is None or not self.searches(outcome.tool):
            return judgement
        # A name of its own: a label on the call is about its result.
        name = None if outcome.call_id is None else f"{outcome.call_id}#beside"
        text = outcome._replace(result=outcome.beside, call_id=name, readings=(), content_alone=True)
        own = self._judged(text, where="beside its result: ")
        return _graver(judgement._replace(redact=tuple(dict.fromkeys((*judgement.redact, *own.redact)))), own)

    def judge_with_artifact(self, outcome: Outcome, artifact: Any) -> Judgement:
        """Judge a result and, where the rules say so, its artifact; the worse of the two stands. Never raises."""
        if not self.covers(outcome.tool):
            return Judgement("pass", None, "")
        judgement = self._with_beside(outcome)
        return self._tell(outcome, judgement if artifact is None else self._with_artifact(judgement, outcome, artifact))

    def _with_artifact(self, judgement: Judgement, outcome: Outcome, artifact: Any) -> Judgement:
        if self.artifacts == "ignore":
            return judgement._replace(artifact="not judged")
        # A call of its own: what a tool hands to the application says nothing of what it tells the model, and a
        # profile that declares the result must not be held against the artifact. Its time is the result's.
        artifact_alone = outcome._replace(result=artifact, execution_time_ms=None, readings=())
        own = self._judged(artifact_alone, name=artifact_of(outcome.tool), where="in its artifact: ")
        judgement = judgement._replace(artifact="judged", redact_artifact=own.redact)
        return _graver(judgement, own._replace(of_artifact=True))

    def _tell(self, outcome: Outcome, judgement: Judgement) -> Judgement:
        if self.on_judgement is not None:
            try:
                self.on_judgement(outcome, judgement)
            except Exception as error:
                _log.error("on_judgement failed on a result of %r: %s", outcome.tool, type(error).__name__)
        return judgement

    def judge_content(self, outcome: Outcome) -> Judgement:
        """Judge text that is no result of the tool, by its profile's content rules alone. Never raises.

        Such is an error of a protocol, a resource, a prompt.

        Args:
            outcome: what was asked for; ``result`` is the text, or a JSON-like value that holds it.
        """
        if not self.covers(outcome.tool):
            return Judgement("pass", None, "")
        outcome = outcome._replace(content_alone=True)
        return self._tell(outcome, self._judged(outcome))

    def _judged(self, outcome: Outcome, name: str | None = None, where: str = "") -> Judgement:
        """Judge a result, and nothing beside it.

        Args:
            outcome: the call.
            name: the name under which it is judged; None: the tool's.
            where: what is judged, for a reader of the hazard; "" for the result.
        """
        tool = outcome.tool
        try:
            if outcome.content_alone:
                verdict = self.engine.judge_content(
                    name or tool, outcome.result, session_id=outcome.session_id, call_id=outcome.call_id
                )
            else:
                verdict = self.engine.verify(
                    name or tool,
                    args=outcome.args,
                    result=outcome.result,
                    execution_time_ms=outcome.execution_time_ms,
                    session_id=outcome.session_id,
                    call_id=outcome.call_id,
                    is_error=outcome.is_error,
                    learn=outcome.learn,
                    **({"readings": outcome.readings} if outcome.readings else {}),
                )
        except Exception as error:
            _log.error("judging a result of %r failed: %s", tool, type(error).__name__)
            if self.on_guard_error == "open" or self.shadow:
                return Judgement("pass", None, f"The result of {tool!r} could not be verified.")
            happened = f"The result of {tool!r} could not be verified and was withheld."
            return Judgement("replace", None, notice_of(happened, instead=self._instead(tool)))
        action = self.action_on(verdict.verdict)
        if _is_unread(outcome.readings) and self.on_guard_error == "closed" and not self.shadow:
            action = "replace"  # the guard could not look, which is its own failure
        redact = () if self.shadow else verdict.redact
        if verdict.verdict == "accept":
            return Judgement(action, verdict, "", redact, readings=outcome.readings)
        hazard = f"{where}{hazard_of(verdict, outcome.result)}"
        notice = self._notice(outcome, verdict, hazard) if action == "replace" else ""
        line = ""
        if action == "annotate":
            said = hazard if may_ask(verdict.asked) else f"{hazard}; {asked_often(verdict.asked)}"
            line = flag_line(self.flag_text, tool, said, verdict.posterior)
        return Judgement(action, verdict, notice, redact, line, hazard, readings=outcome.readings)

    def _notice(self, outcome: Outcome, verdict: VerificationResult, hazard: str) -> str:
        tool = outcome.tool
        spoken = [reading for reading in outcome.readings if reading.is_broken or reading.state == "unknown"]
        # What the tool returned may well be what it returned: it is what it says that is not so.
        happened = untrue(tool, spoken[0]) if spoken else blocked(tool, hazard, verdict.posterior)
        return notice_of(happened, verdict.asked, self._instead(tool))

    def _instead(self, tool: str) -> str:
        try:
            return instead_of_again(self.engine.profile_of(tool))
        except Exception as error:  # of an engine that is out of order
            _log.error("the profile of %r cannot be read: %s", tool, type(error).__name__)
            return ""

    def may_retry(self, tool: str, attempts: int, asked: int = 0) -> bool:
        """A call may be made again: its profile or the rules allow one more, and the profile calls it idempotent.

        Not where it gave the same answer again and again (``asked``, as in ``VerificationResult``).
        """
        profile = self.engine.profile_of(tool)
        most = self.max_retries if profile.retry is None else profile.retry.attempts - 1
        return attempts <= most and may_ask(asked) and profile.idempotent

    def is_to_repeat(self, outcome: Outcome, judgement: Judgement, attempts: int) -> bool:
        """A call that was made so often is to be made once more, because of this judgement on its last result.

        A blocked one is, and where its profile has ``retry`` one that reports an error. The guard's own failure is no
        reason, to judge or to read back: another call would not mend that.
        """
        if judgement.result is None or self.shadow or outcome.content_alone or _is_unread(judgement.readings):
            return False
        failed = judgement.action == "replace" or self._reports_error(outcome)
        return failed and self.may_retry(outcome.tool, attempts, judgement.asked)

    def _reports_error(self, outcome: Outcome) -> bool:
        if self.engine.profile_of(outcome.tool).retry is None:
            return False
        try:
            return outcome.is_error or read(outcome.result).is_error
        except Exception:  # of a foreign object; its verdict stands all the same
            return False

    def error(self, judgement: Judgement, tool: str) -> ResultBlocked:
        """The exception for a blocked result, where the rules are to raise one."""
        result = judgement.result
        if result is None:
            return ResultBlocked(tool, 1.0, judgement.notice)
        # What is accepted is withheld where it cannot be redacted, which the notice says.
        reason = judgement.notice if result.verdict == "accept" else result.explanation
        return ResultBlocked(tool, result.posterior, reason, result.call_id)

    def action_on(self, verdict: Verdict) -> Action:
        """The action on a verdict by the rules, also on another guard's."""
        if self.shadow or verdict == "accept":
            return "pass"
        if verdict == "block" or self.on_flag == "block":
            return "replace"
        return self.on_flag


def _is_unread(readings: Collection[Reading]) -> bool:
    """What was to be read back could not be."""
    return any(reading.state == "unknown" for reading in readings)


def gravity(judgement: Judgement) -> tuple[int, int]:
    """The gravity of a judgement: by its action, then, since shadow mode takes none, by its verdict.

    A failure of the guard is graver than an acceptance, which would deny it.
    """
    return ACTIONS.index(judgement.action), VERDICTS.index(judgement.verdict)


def _graver(judgement: Judgement, own: Judgement) -> Judgement:
    """The judgement on an answer, where one of its parts has one of its own: the graver of the two stands."""
    if gravity(own) <= gravity(judgement):
        return judgement
    return judgement._replace(
        action=own.action, result=own.result, notice=own.notice, line=own.line, hazard=own.hazard,
        of_artifact=own.of_artifact,
    )  # fmt: skip


def artifact_of(tool: str) -> str:
    """The name under which artifacts of a tool are judged."""
    return f"{tool}#artifact"


# --- Guards that make the calls themselves ---


Shown = TypeVar("Shown")
#: What an attempt gives the caller, with what the engine is to judge of it; None: there is nothing to judge.
Attempt = tuple[Shown, Outcome | None]


class CallGuard(Guard):
    """A guard that makes the calls itself, so that it can make a blocked one again."""

    def judge(self, outcome: Outcome) -> Judgement:
        """Judge a result, with what ``readers`` say of it, and say what to do with it. Never raises."""
        return super().judge(self.read_back(outcome, self.find))

    async def judge_async(self, outcome: Outcome) -> Judgement:
        """``judge``, of a large result in a thread; ``on_judgement`` is called in the caller's own."""
        return await super().judge_async(await self.read_back_async(outcome, self.find))

    def settle(self, attempt: Callable[[], Attempt[Shown]], described: Outcome) -> tuple[Shown, Judgement | None]:
        """Make a call, again where the rules allow it, and judge each result; the last one counts.

        What the call raises goes through, unless its text is to be withheld: then None is shown, and the action of the
        judgement is ``replace``.

        Args:
            attempt: makes the call.
            described: the call, for the judgement on what it raises.
        """
        attempts = 0
        while True:
            try:
                shown, outcome = attempt()
            except Exception as error:
                withheld = self.exception(described, error)
                if withheld is None:
                    raise
                return cast(Shown, None), withheld
            attempts += 1
            judgement = None if outcome is None else self.judge(outcome)
            if not self.again(outcome, judgement, attempts):
                return shown, judgement

    async def settle_async(
        self, attempt: Callable[[], Awaitable[Attempt[Shown]]], described: Outcome
    ) -> tuple[Shown, Judgement | None]:
        """As ``settle``, for calls that are awaited."""
        attempts = 0
        while True:
            try:
                shown, outcome = await attempt()
            except Exception as error:
                withheld = await self.exception_async(described, error)
                if withheld is None:
                    raise
                return cast(Shown, None), withheld
            attempts += 1
            judgement = None if outcome is None else await self.judge_async(outcome)
            if not self.again(outcome, judgement, attempts):
                return shown, judgement

    def again(self, outcome: Outcome | None, judgement: Judgement | None, attempts: int) -> bool:
        """A call that was made so often is made once more, because of this judgement on its last result."""
        return outcome is not None and judgement is not None and self.is_to_repeat(outcome, judgement, attempts)
