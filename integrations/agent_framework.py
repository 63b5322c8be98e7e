"""Guarding the tools of a Microsoft Agent Framework agent: ``Agent(..., middleware=[..., GuardMiddleware(engine)])``.

Two traps. Only the innermost function middleware sees what the tool itself returned, so list the guard last. And what
a middleware raises becomes a failed call that the model reads, but for ``MiddlewareFailure``: a block replaces the
result, and where it is to be raised, that is what is raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import Attempt, CallGuard, apart
from agentguard.guard._wording import appended
from agentguard.integrations._extras import needs
from agentguard.integrations._latency import stopwatch
from agentguard.verification import VerificationEngine

try:
    from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, MiddlewareFailure
except ImportError as error:
    raise needs("agent_framework", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardMiddleware"]


class GuardMiddleware(FunctionMiddleware):
    """Judges what the function tools of an agent return, before the model sees it.

    A flagged result has one more text after its content, a blocked one is a notice as text. Of a tool that raised,
    the text of the exception is judged by the profile's content rules alone; a request for an approval is not judged.
    For a flagged, blocked or redacted result, outer middlewares find the verdict in
    ``context.metadata["agentguard"]``. Tools that run at the provider never come here.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: gives the session of a call; None: the id of the agent's session, where there is one.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        session: Callable[[FunctionInvocationContext], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        self._guard = CallGuard.of(guard, "Agent Framework", rules)
        self._session = _session_of if session is None else session

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Let the tool run, and judge what it returned.

        Raises:
            MiddlewareFailure: for a blocked result, where ``on_block`` is ``raise``.
        """
        tool = context.function.name
        if not self._guard.covers(tool):
            return await call_next()
        session, call_id = self._session(context), context.metadata.get("call_id")

        async def attempt() -> Attempt[Any]:
            stop = stopwatch(context.function.func)
            await call_next()
            took, result, args = stop(), context.result, context.arguments
            if isinstance(result, Content) and result.type == "function_approval_request":
                return result, None
            plain = dict(args) if isinstance(args, Mapping) else args.model_dump(exclude_unset=True)
            return result, Outcome(tool, plain, _value_of(result), took, session, call_id)

        result, judgement = await self._guard.settle_async(attempt, Outcome(tool, None, None, None, session, call_id))
        if judgement is None:
            return None
        if judgement.verdict != "accept" or judgement.redact:
            context.metadata["agentguard"] = judgement.as_dict()
        if judgement.action == "replace":
            if self._guard.on_block == "raise":
                raise MiddlewareFailure(f"the result of {tool!r} was blocked") from self._guard.error(judgement, tool)
            context.result = judgement.notice
        elif judgement.line or judgement.redact:
            context.result = await apart(_shown, result, judgement, about=_value_of(result))
        return None


def _is_content(result: Any) -> bool:
    return isinstance(result, list) and bool(result) and all(isinstance(item, Content) for item in result)


def _value_of(result: Any) -> Any:
    """Take the tool's value out of the list of contents that the framework makes of it, for most tools."""
    if not _is_content(result):
        return result
    values = [item.text if item.type == "text" else item.to_dict() for item in result]
    return values[0] if len(values) == 1 else values


def _shown(result: Any, judgement: Judgement) -> Any:
    """The result with placeholders for what is to be redacted, and with the line after it."""
    if _is_content(result):
        contents = [_redacted(item, judgement) for item in result] if judgement.redact else result
        return [*contents, Content.from_text(judgement.line)] if judgement.line else contents
    shown = judgement.shown(result)
    return appended(str(shown), judgement.line) if judgement.line else shown


def _redacted(item: Content, judgement: Judgement) -> Content:
    """A content with placeholders, as text where it was something else; one with nothing to redact as it is."""
    value = item.text if item.type == "text" else item.to_dict()
    shown = judgement.shown(value)
    if shown == value:
        return item
    return Content.from_text(shown if isinstance(shown, str) else orjson.dumps(shown).decode())


def _session_of(context: FunctionInvocationContext) -> str | None:
    return None if context.session is None else context.session.session_id
