"""All that the model reads is judged: what stands beside a tool's value, and the texts of its exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import BinaryContent, ModelRetry, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import DocumentUrl, TextContent

from agentguard import Guard, ResultBlocked, VerificationEngine
from agentguard.integrations.pydantic_ai import GuardCapability

from ..engines import INJECTION, SECRET, ScriptedEngine, engine_of
from .test_runs import agent_of, raiser

PICTURE = BinaryContent(b"\x89PNG\xff\xfe", media_type="image/png")
CALL = ("lookup", {"key": 1})


def as_text(said: str) -> Any:
    return said


def in_a_list(said: str) -> Any:
    return ["see", said, PICTURE]


def tagged(said: str) -> Any:
    return [TextContent(said), PICTURE]


def as_a_file(said: str) -> Any:
    return [BinaryContent(said.encode(), media_type="text/plain"), PICTURE]


def as_a_wide_file(said: str) -> Any:
    return [BinaryContent(said.encode("utf-16"), media_type="text/plain"), PICTURE]


def as_an_address(said: str) -> Any:
    return [DocumentUrl(url=f"https://example.org/?q={said}"), PICTURE]


FORMS = pytest.mark.parametrize("form", [as_text, in_a_list, tagged, as_a_file, as_a_wide_file, as_an_address])
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


def said_by(parts: Any) -> str:
    return str([getattr(part, "content", "") for part in parts])


@FORMS
@KINDS
async def test_content_beside_a_value_is_judged_and_redacted(kind: str, form: Any, read: Any) -> None:
    async def shown(said: str) -> list[Any]:
        made: Any = ToolReturn({"id": 7}, content=form(said))
        return list(await read(agent_of(lambda: made, kind, GuardCapability(engine_of("lookup"))), CALL))

    (blocked,) = await shown(INJECTION)
    assert blocked.outcome == "failed"
    assert "mail the customer list" not in said_by([blocked])
    part, prompt = await shown(SECRET)
    assert part.content == {"id": 7}
    assert "tea4two" not in said_by([part, prompt])
    assert "db.internal" in said_by([prompt])
    assert form is as_text or PICTURE in prompt.content
    clean = await shown("quiet")
    assert [each.content for each in clean] == [{"id": 7}, form("quiet")]


@KINDS
async def test_without_content_rules_it_is_as_it_was(kind: str, read: Any) -> None:
    made: Any = ToolReturn({"id": 7}, content=INJECTION)
    part, prompt = await read(agent_of(lambda: made, kind, GuardCapability(VerificationEngine())), CALL)
    assert (part.content, prompt.content) == ({"id": 7}, INJECTION)


@pytest.mark.parametrize("error", [RuntimeError, ToolFailed, ModelRetry])
@KINDS
async def test_the_text_of_an_exception_is_judged(kind: str, error: Any, read: Any) -> None:
    async def shown(said: str) -> Any:
        return await read(agent_of(raiser(error(said)), kind, GuardCapability(engine_of("lookup"))), CALL)

    (blocked,) = await shown(INJECTION)
    assert blocked.outcome == "failed"
    assert "mail the customer list" not in said_by([blocked])
    if error is RuntimeError:  # nobody handles it
        with pytest.raises(RuntimeError, match="<DATABASE_PASSWORD_1>"):
            await shown(SECRET)
        raising = GuardCapability(Guard(engine_of("lookup"), on_block="raise"))
        with pytest.raises(ResultBlocked):
            await read(agent_of(raiser(error(INJECTION)), kind, raising), CALL)
    else:
        (redacted,) = await shown(SECRET)
        assert "tea4two" not in said_by([redacted])
        assert "<DATABASE_PASSWORD_1>@db.internal" in said_by([redacted])


class Answers(AbstractCapability[Any]):
    """Makes an answer of its own of what the tool did."""

    def __init__(self, said: str) -> None:
        self.said = said

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        try:
            await handler(args)
        except KeyError:
            return f"handled: {self.said}"
        return f"instead: {self.said}"


@pytest.mark.parametrize("make", [lambda: {"id": 7}, raiser(KeyError("no"))], ids=["returned", "raised"])
@KINDS
async def test_what_another_capability_makes_of_it_is_judged(kind: str, make: Any, run: Any) -> None:
    async def shown(said: str) -> Any:
        engine = ScriptedEngine()
        engine.register_tool_profile("lookup", content={"injection": "block", "secrets": "redact"})
        (part,) = await run(agent_of(make, kind, GuardCapability(engine), Answers(said)), CALL)
        assert [asked["result"] for asked in engine.asked] in ([{"id": 7}], [])
        return part.content

    assert "mail the customer list" not in await shown(INJECTION)
    assert "<DATABASE_PASSWORD_1>@db.internal" in await shown(SECRET)
    assert (await shown("quiet")).endswith(": quiet")
