"""The guard under LiteLLM's own dispatch of callbacks, which swallows what they raise."""

from __future__ import annotations

import asyncio
import base64
from datetime import datetime, timedelta
from typing import Any

import litellm
import pytest
from litellm.litellm_core_utils.litellm_logging import Logging
from mcp.types import CallToolResult, ImageContent, TextContent

from agentguard import ConfigurationError, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations.litellm import GuardLogger

from ..engines import INJECTION, ScriptedEngine, engine_of

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}
START = datetime(2026, 1, 1)
IMAGE = ImageContent.model_validate({"type": "image", "data": "cG5n", "mimeType": "image/png"})


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


def answer(*blocks: Any, structured: Any = None, failed: bool = False) -> CallToolResult:
    """An answer of either of the SDK's generations."""
    return CallToolResult.model_validate({"content": list(blocks), "structuredContent": structured, "isError": failed})


async def dispatched(guard: GuardLogger, result: CallToolResult, call_id: str = "call-0", **details: Any) -> Any:
    """Have LiteLLM ask the guard, as its proxy does; the answer that its client gets, as JSON."""
    logging = Logging(
        model="MCP: lookup", messages=[], stream=False, call_type="call_mcp_tool", start_time=START,
        litellm_call_id=call_id, function_id="1", dynamic_success_callbacks=[guard],
    )  # fmt: skip
    named = {"name": "lookup", "arguments": {"key": 3}, "mcp_server_name": "desk", "mcp_session_id": "s-5"}
    logging.model_call_details["mcp_tool_call_metadata"] = {**named, **details}
    logging.post_call(original_response=result)
    sent = await logging.async_post_mcp_tool_call_hook(
        kwargs=logging.model_call_details, response_obj=result, start_time=START,
        end_time=START + timedelta(milliseconds=250),
    )  # fmt: skip
    return sent.model_dump(mode="json", by_alias=True, exclude_none=True)


def as_json(result: CallToolResult) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.fixture(autouse=True)
def no_other_callbacks() -> None:
    assert not litellm.success_callback


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (answer(text('{"id": 7}')), '{"id": 7}'),
        (answer(text("as of"), text("today")), ["as of", "today"]),
        (answer(text('{"id": 7}'), structured=GOOD), GOOD),
        (answer(text("18 degrees"), structured={"result": "18 degrees"}), "18 degrees"),
        (answer(), []),
    ],
)
async def test_an_accepted_answer_is_the_servers(given: CallToolResult, result: Any) -> None:
    seen, bare = Seen(), as_json(given)
    assert await dispatched(GuardLogger(Guard(VerificationEngine(), on_judgement=seen)), given) == bare
    assert list(seen) == [Outcome("lookup", {"key": 3}, result, 250.0, "s-5", "call-0")]


async def test_names_and_sessions_are_chosen(engine: VerificationEngine) -> None:
    seen = Seen()
    guard = GuardLogger(Guard(engine, on_judgement=seen), server_prefix=True, session=lambda call: "mine")
    await dispatched(guard, answer(text('{"id": 7}')))
    await dispatched(GuardLogger(Guard(engine, tools=["other"], on_judgement=seen)), answer(text("made up")))
    assert [(outcome.tool, outcome.session_id) for outcome in seen] == [("desk-lookup", "mine")]


async def test_a_made_up_answer_is_replaced(engine: VerificationEngine) -> None:
    for given in (answer(text('{"note": "I believe so"}'), IMAGE), answer(text("I believe so"), structured=MADE_UP)):
        structured = "structuredContent" in as_json(given)
        sent = await dispatched(GuardLogger(engine), given)
        (block,) = sent["content"]
        assert block["text"].startswith("The result of 'lookup' was blocked")
        assert "I believe so" not in str(sent)
        assert sent.get("isError", False) is structured  # LiteLLM's own doing, where it drops structured content


async def test_a_flagged_answer_has_a_line_after_it() -> None:
    guard = GuardLogger(Guard(ScriptedEngine(lookup="flag"), flag_text="<{tool}>"))
    given = answer(text("18 degrees"), IMAGE)
    bare = as_json(given)
    sent = await dispatched(guard, given)
    assert sent == {**bare, "content": [*bare["content"], {"type": "text", "text": "<lookup>"}]}
    for options in ({"on_flag": "observe"}, {"shadow": True}):
        given = answer(text("18 degrees"), IMAGE)
        other = GuardLogger(Guard(ScriptedEngine(lookup="flag"), **options))  # type: ignore[arg-type]
        assert await dispatched(other, given) == bare
    given = answer(text("18 degrees"), structured=GOOD)
    bare = as_json(given)
    assert await dispatched(guard, given) == bare  # with a line, LiteLLM would make an error of it
    blocking = GuardLogger(Guard(ScriptedEngine(lookup="flag"), on_flag="block"))
    assert "was blocked" in str(await dispatched(blocking, answer(text("18 degrees"))))


async def test_a_failure_that_the_server_reports_is_judged_as_one() -> None:
    seen = Seen()
    given = answer(text("no such row"), failed=True)
    bare = as_json(given)
    assert await dispatched(GuardLogger(Guard(VerificationEngine(), on_judgement=seen)), given) == bare
    assert [outcome.is_error for outcome in seen] == [True]


async def test_what_is_to_be_redacted_is_nowhere_in_the_answer() -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    sent = await dispatched(
        GuardLogger(engine), answer(text("by ada@example.org"), IMAGE, structured={"by": "ada@example.org"})
    )
    assert [block["type"] for block in sent["content"]] == ["text", "image"]
    assert sent["content"][0]["text"].startswith("by ")
    assert "ada@example.org" not in str(sent)


async def test_what_structured_content_alone_holds_is_withheld() -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    sent = await dispatched(GuardLogger(engine), answer(text("one owner"), structured={"by": "ada@example.org"}))
    assert [block["text"] for block in sent["content"]] == ["one owner", "The structured content is withheld."]
    assert "ada@example.org" not in str(sent)


async def test_what_a_session_raises_is_not_swallowed(engine: VerificationEngine, caplog: Any) -> None:
    def session(call: Any) -> str:
        raise LookupError("no session")

    bare = as_json(answer(text("18 degrees")))
    assert await dispatched(GuardLogger(engine, session=session), answer(text("18 degrees"))) == bare
    closed = GuardLogger(Guard(engine, on_guard_error="closed"), session=session)
    assert "could not be verified" in str(await dispatched(closed, answer(text("18 degrees"))))
    assert caplog.text.count("guarding an answer of 'lookup' failed: LookupError") == 2


async def test_sixteen_calls_at_once_lose_no_update(engine: VerificationEngine) -> None:
    engine.trust("lookup", 17)
    guard = GuardLogger(engine)
    await asyncio.gather(*(dispatched(guard, answer(text('{"id": 7}')), f"call-{n}") for n in range(16)))
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"


def test_what_it_cannot_do_is_refused_at_once(engine: VerificationEngine) -> None:
    options: Any = {"on_flag": "review"}
    with pytest.raises(ConfigurationError, match="on_flag"):
        GuardLogger(Guard(engine, **options))


async def test_what_stands_beside_structured_content_is_judged_by_the_content_rules() -> None:
    engine = engine_of("lookup", injection="block", pii="redact")
    blob = base64.b64encode(INJECTION.encode()).decode()
    resource = {"type": "resource", "resource": {"uri": "file:///n7", "blob": blob}}
    for block in (text(INJECTION), resource):
        blocked = await dispatched(GuardLogger(engine), answer(text("a note"), block, structured=GOOD))
        (said,) = blocked["content"]
        assert said["text"].startswith("The result of 'lookup' was blocked")
        assert blob not in str(blocked)
        assert "mail the customer list" not in str(blocked)
    redacted = await dispatched(GuardLogger(engine), answer(text("by ada@example.org"), structured=GOOD))
    assert redacted["content"][0]["text"] == "by <EMAIL_1>"
    given = answer(text('{"id": 7}'), text("a note"), structured=GOOD)
    bare = as_json(given)
    assert await dispatched(GuardLogger(engine), given) == bare
