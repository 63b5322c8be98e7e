"""Of a large result the work is done in a thread: an event loop goes on meanwhile, and callbacks run where they did."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from mcp.types import CallToolResult, TextContent

from agentguard.content import _results as results
from agentguard.guard import Guard, Judgement, Outcome
from agentguard.guard._guard import CallGuard, apart, is_large
from agentguard.integrations import content
from agentguard.integrations.content import ContentGuardMiddleware
from agentguard.integrations.functions import guarded
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.mcp import MCPGuardInterceptor
from agentguard.verification import VerificationEngine, VerificationResult

from ..integrations.langchain.scripted import ASK, agent, answers, calls
from ..rows import over

MAIL = "ada@example.org"
SMALL, LARGE = f"write to {MAIL}", f"write to {MAIL}. " + "It is mild. " * 20_000


@dataclass
class Page:
    text: str
    links: list[str]


@over(
    ("value", "large"),
    [
        (None, False),
        (7, False),
        ("x" * 131_072, False),
        ("x" * 131_073, True),
        (b"x" * 131_073, True),
        ({"a": ["x" * 70_000, {"b": "x" * 70_000}]}, True),
        ([1] * 1_999, False),
        ([1] * 2_000, True),
        ({n: n for n in range(2_000)}, True),
        ([[1] * 100] * 30, True),
        (Page("x" * 131_073, []), True),
        (Page("x", ["y"]), False),
        (ToolMessage(LARGE, tool_call_id="c1"), True),
        ((None, object()), False),
    ],
)
def test_what_is_large(value: Any, large: bool) -> None:
    assert is_large(value) is large


def test_what_holds_itself_is_large() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert is_large(ring)


async def test_only_what_is_large_leaves_the_thread() -> None:
    assert await apart(get_ident, about=SMALL) == get_ident()
    assert await apart(get_ident, about=[LARGE]) != get_ident()


async def test_what_it_raises_comes_back() -> None:
    with pytest.raises(ZeroDivisionError):
        await apart(divmod, 1, 0, about=LARGE)


class NotingEngine(VerificationEngine):
    """Notes in which threads it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.register_tool_profile("lookup", content={"pii": "redact"}, has_network_io=False)

    def verify(self, tool: str, **call: Any) -> VerificationResult:
        self.threads.append(get_ident())
        return super().verify(tool, **call)


@pytest.fixture
def redacting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which something was redacted."""
    threads: list[int] = []
    scanner = results._scanner

    def noting(kinds: Any) -> Any:
        found = scanner(kinds)

        def scan(text: str, **options: Any) -> Any:
            if options.get("every"):
                threads.append(get_ident())
            return found.scan(text, **options)

        return SimpleNamespace(scan=scan)

    monkeypatch.setattr(results, "_scanner", noting)
    return threads


Guarded = Callable[[NotingEngine, str, list[int]], Awaitable[Any]]


async def by_function(engine: NotingEngine, text: str, told: list[int]) -> Any:
    @guarded(Guard(engine, on_judgement=lambda outcome, judgement: told.append(get_ident())))
    async def lookup(key: int) -> str:
        return text

    return await lookup(1)


async def by_mcp(engine: NotingEngine, text: str, told: list[int]) -> Any:
    guard = MCPGuardInterceptor(Guard(engine, on_judgement=lambda outcome, judgement: told.append(get_ident())))
    request: Any = SimpleNamespace(name="lookup", server_name="shop", args={}, runtime=None)

    async def handler(request: Any) -> Any:
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return (await guard(request, handler)).content[0].text


async def by_middleware(engine: NotingEngine, text: str, told: list[int]) -> Any:
    @tool
    async def lookup(key: int) -> str:
        """Look something up."""
        return text

    graph = agent([lookup], calls(("lookup", {"key": 1})), middleware=[ToolGuardMiddleware(engine, events=True)])
    out = None
    async for mode, chunk in graph.astream(ASK, stream_mode=["custom", "values"]):
        if mode == "custom":
            told.append(get_ident())
        out = chunk if mode == "values" else out
    return answers(out)[0].content


@pytest.mark.parametrize("call", [by_function, by_mcp, by_middleware])
@pytest.mark.parametrize("text", [SMALL, LARGE], ids=["small", "large"])
async def test_the_loop_goes_on(call: Guarded, text: str, redacting: list[int]) -> None:
    engine, told = NotingEngine(), []
    shown = await call(engine, text, told)

    assert shown.startswith("write to <EMAIL_1>")
    assert MAIL not in shown
    here = text == SMALL
    assert {thread == get_ident() for thread in engine.threads} == {here}
    assert {thread == get_ident() for thread in redacting} == {here}
    assert set(told) == {get_ident()}


@pytest.mark.parametrize("command", [False, True])
@pytest.mark.parametrize("text", [SMALL, LARGE], ids=["small", "large"])
async def test_content_is_looked_through_apart(
    text: str, command: bool, redacting: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    looking: list[int] = []
    look = content.look

    def noting(value: Any, *args: Any, **options: Any) -> Any:
        if value == text:  # and not what the model says
            looking.append(get_ident())
        return look(value, *args, **options)

    monkeypatch.setattr(content, "look", noting)

    @tool
    async def lookup(key: int) -> Any:
        """Look something up."""
        return Command(update={"messages": [ToolMessage(text, tool_call_id="c1")]}) if command else text

    told: list[int] = []
    guard = ContentGuardMiddleware(on_finding=lambda record: told.append(get_ident()))
    out = await agent([lookup], calls(("lookup", {"key": 1})), middleware=[guard]).ainvoke(ASK)

    assert answers(out)[0].content.startswith("write to <EMAIL_1>")
    assert len(looking) == 1
    assert {thread == get_ident() for thread in (*looking, *redacting)} == {text == SMALL}
    assert set(told) == {get_ident()}


async def test_a_failing_callback_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(outcome: Outcome, judgement: Judgement) -> None:
        raise RuntimeError(str(outcome))

    guard = CallGuard(NotingEngine(), on_judgement=fail)
    with caplog.at_level(logging.ERROR, "agentguard"):
        judgement = await guard.judge_async(Outcome("lookup", {}, LARGE))
    assert judgement.redact == ("pii",)
    assert "on_judgement failed" in caplog.text
    assert MAIL not in caplog.text
