"""The probe: the tool's own value and time, one record per attempt, under load too."""

from __future__ import annotations

import asyncio
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock, Thread
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, Tool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel, PrivateAttr

from agentguard.guard import Guard
from agentguard.integrations._tool_calls import GuardedCalls, Probe

from .scripted import Run, ScriptedEngine

CALL: Any = {"name": "probe", "args": {"x": 1}, "id": "c1", "type": "tool_call"}


class Clock:
    """Reads 0.0, 1.0, 2.0, ..."""

    def __init__(self) -> None:
        self.time = -1.0

    def __call__(self) -> float:
        self.time += 1.0
        return self.time


@tool
def probe(x: int) -> dict[str, int]:
    """Answer."""
    return {"x": x}


async def invoke(tool: BaseTool, how: str, **args: Any) -> Any:
    call: Any = {**CALL, "args": {**CALL["args"], **args}}
    return tool.invoke(call) if how == "sync" else await tool.ainvoke(call)


HOWS = pytest.mark.parametrize("how", ["sync", "async"])


@HOWS
async def test_value_time_and_arguments_are_the_tools_own(how: str) -> None:
    watched = Probe(probe, Clock())
    message = await invoke(watched.tool, how)

    (attempt,) = watched.attempts
    assert message.content == '{"x": 1}'
    assert attempt.returned
    assert attempt.value == {"x": 1}
    assert attempt.milliseconds == 1000.0
    assert attempt.arguments["x"] == 1


@HOWS
async def test_the_tool_itself_is_left_as_it_is(how: str) -> None:
    watched = Probe(probe)
    await invoke(probe, how)

    assert watched.attempts == []
    assert watched.last is None
    assert watched.tool.name == probe.name
    assert watched.tool.args == probe.args
    assert watched.tool.model_dump().keys() == probe.model_dump().keys()


class Delegating(BaseTool):
    """``_arun`` goes through ``_run``, as many tools do."""

    name: str = "probe"
    description: str = "Answer."

    def _run(self, x: int) -> int:
        return x

    async def _arun(self, x: int) -> int:
        return self._run(x) + 1


async def test_a_run_inside_a_run_is_one_attempt_with_the_outer_value_and_the_inner_time() -> None:
    watched = Probe(Delegating(), Clock())  # reads 0 outside, 1 and 2 inside, 3 outside
    await watched.tool.ainvoke(CALL)

    assert [(attempt.value, attempt.milliseconds) for attempt in watched.attempts] == [(2, 1000.0)]


@HOWS
async def test_what_the_framework_injects_still_arrives(how: str) -> None:
    seen: list[Any] = []

    def function(x: int, call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> int:
        """Answer."""
        seen.append((call_id, config["configurable"]["thread_id"]))
        return x

    watched = Probe(StructuredTool.from_function(function, name="probe"))
    config: Any = {"configurable": {"thread_id": "t"}}
    if how == "sync":
        watched.tool.invoke(CALL, config)
    else:
        await watched.tool.ainvoke(CALL, config)

    assert seen == [("c1", "t")]


@HOWS
async def test_a_tool_of_one_text_is_watched(how: str) -> None:
    watched = Probe(Tool(name="probe", description="Answer.", func=lambda x: f"{x}!"))
    await invoke(watched.tool, how)

    assert watched.attempts[0].value == "1!"


@HOWS
async def test_a_tool_that_raises_is_an_attempt_without_a_value(how: str) -> None:
    @tool("probe")
    def failing(x: int) -> int:
        """Fail."""
        raise KeyError("no such city")

    watched = Probe(failing)
    with pytest.raises(KeyError):
        await invoke(watched.tool, how)

    assert [(attempt.returned, attempt.value) for attempt in watched.attempts] == [(False, None)]


@HOWS
async def test_bad_arguments_are_no_attempt(how: str) -> None:
    watched = Probe(probe)
    with pytest.raises(ValueError, match="valid integer"):
        await invoke(watched.tool, how, x="many")

    assert watched.attempts == []


class Injected(BaseTool):
    """Its parameters of the framework's are known by their types, which are names here."""

    name: str = "probe"
    description: str = "Answer."

    def _run(self, x: int, settings: RunnableConfig, run_manager: CallbackManagerForToolRun | None = None) -> Any:
        return x, settings["configurable"]["thread_id"], run_manager is not None


class Unresolved(BaseTool):
    """An annotation of it names nothing."""

    name: str = "probe"
    description: str = "Answer."

    def _run(self, x: Nowhere, run_manager: Any = None) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x, run_manager is not None


@HOWS
@pytest.mark.parametrize(
    ("tool", "value"), [(Injected(), (1, "t", True)), (Unresolved(), (1, True))], ids=["types", "no such type"]
)
async def test_a_tool_gets_what_its_own_signature_asks_for(how: str, tool: BaseTool, value: Any) -> None:
    watched = Probe(tool)
    config: Any = {"configurable": {"thread_id": "t"}}
    if how == "sync":
        watched.tool.invoke(CALL, config)
    else:
        await watched.tool.ainvoke(CALL, config)

    assert [attempt.value for attempt in watched.attempts] == [value]


def asking(x: int, settings: RunnableConfig, callbacks: Any = None, more: list[dict[str, Any]] | None = None) -> Any:
    """Answer."""
    return x, settings["configurable"]["thread_id"], type(callbacks).__name__, more


async def asking_async(x: int, settings: RunnableConfig, callbacks: Any = None, more: Any = None) -> Any:
    """Answer."""
    return asking(x, settings, callbacks, more)


def asking_by_no_type(x: int, callbacks: Any = None, more: Nowhere = 3) -> Any:  # type: ignore[name-defined]  # noqa: F821
    """Answer."""
    return x, type(callbacks).__name__, more


def asking_nothing(*args: Any, **kwargs: Any) -> Any:
    """Answer."""
    return args, sorted(kwargs)


class X(BaseModel):
    x: int


@HOWS
@pytest.mark.parametrize(
    "tool",
    [
        StructuredTool.from_function(asking, name="probe"),
        StructuredTool.from_function(asking, asking_async, name="probe"),
        StructuredTool(name="probe", description="Answer.", args_schema=X, func=asking_by_no_type),
        StructuredTool(name="probe", description="Answer.", args_schema=X, func=asking_nothing),
        StructuredTool(name="probe", description="Answer.", args_schema=X, func=partial(asking, more=[])),
        Tool("probe", asking, "Answer."),
        Tool("probe", asking, "Answer.", coroutine=asking_async),
    ],
)
async def test_a_function_is_given_what_it_is_given_without_a_probe(how: str, tool: BaseTool) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    watched = Probe(tool).tool
    asked = [
        each.invoke(CALL, config) if how == "sync" else await each.ainvoke(CALL, config) for each in (tool, watched)
    ]

    assert asked[1].content == asked[0].content


def test_a_function_that_is_put_in_place_of_another_is_called() -> None:
    replaced = StructuredTool.from_function(lambda x: x, name="probe", description="Answer.")
    Probe(replaced).tool.invoke(CALL)
    replaced.func = lambda x: x + 1
    watched = Probe(replaced)
    watched.tool.invoke(CALL)

    assert [attempt.value for attempt in watched.attempts] == [2]


def test_a_function_that_was_made_for_one_call_goes_with_it() -> None:
    def made(x: int) -> int:
        """Answer."""
        return x

    function = weakref.ref(made)
    Probe(StructuredTool.from_function(made, name="probe")).tool.invoke(CALL)
    del made
    gc.collect()

    assert function() is None


class Counting(BaseTool):
    """Keeps something from call to call: a connection, say."""

    name: str = "probe"
    description: str = "Answer."
    runs: int = 0
    _opened: int = PrivateAttr(default=0)

    def _run(self, x: int) -> tuple[int, int]:
        self.runs += 1
        self._opened += 1
        return self.runs, self._opened


@HOWS
async def test_a_tool_keeps_what_it_keeps_from_call_to_call(how: str) -> None:
    counting = Counting()
    values = []
    for _ in range(3):
        watched = Probe(counting)
        await invoke(watched.tool, how)
        values += [attempt.value for attempt in watched.attempts]

    assert values == [(1, 1), (2, 2), (3, 3)]
    assert counting.runs == 3


def test_a_run_in_a_thread_of_somebody_elses_is_this_calls_attempt() -> None:
    """As under a wrapper with a time limit; such a thread has none of the caller's context variables."""
    watched, other = Probe(probe), Probe(probe)
    thread = Thread(target=watched.tool.invoke, args=(CALL,))
    thread.start()
    thread.join()

    assert [attempt.value for attempt in watched.attempts] == [{"x": 1}]
    assert other.attempts == []


@HOWS
@pytest.mark.parametrize("tool", [probe, Delegating()], ids=lambda tool: type(tool).__name__)
async def test_what_was_watched_goes_with_the_call_and_needs_no_collector(how: str, tool: BaseTool) -> None:
    watched = Probe(tool)
    await invoke(watched.tool, how)
    copied = weakref.ref(watched.tool)
    gc.disable()
    try:
        del watched
        assert copied() is None
    finally:
        gc.enable()


CALLS, WORKERS = 80, 4


class Crowd:
    """Tool bodies that run four abreast, and a clock that counts the bodies that have finished, all in all.

    By that clock a tool's own time is the number of bodies that finish while it runs: its own, the others of its row
    and at most the row that was still leaving. The time of its whole call would grow to that of the queue: 80.
    """

    def __init__(self) -> None:
        self.finished = 0
        self.may_start = Event()
        self._lock = Lock()
        self._abreast = Barrier(WORKERS)

    def clock(self) -> float:
        with self._lock:
            return float(self.finished)

    def body(self, x: int) -> int:
        """Work."""
        self.may_start.wait(timeout=60)
        self._abreast.wait(timeout=60)
        with self._lock:
            self.finished += 1
        return x


async def test_times_are_the_tools_own_when_80_of_them_wait_for_4_threads(run: Run) -> None:
    crowd, engine, around = Crowd(), ScriptedEngine(), list[float]()
    guarded = GuardedCalls(Guard(engine), clock=crowd.clock)
    begun: list[float] = []

    def wrap(request: Any, handler: Any) -> Any:
        crowd.may_start.set()
        return guarded.run(request, handler)

    async def awrap(request: Any, handler: Any) -> Any:
        begun.append(crowd.clock())
        if len(begun) == CALLS:  # all are under way before the first tool runs
            crowd.may_start.set()
        start = crowd.clock()
        result = await guarded.arun(request, handler)
        around.append(crowd.clock() - start)
        return result

    tool = StructuredTool.from_function(crowd.body, name="body")
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([tool], wrap_tool_call=wrap, awrap_tool_call=awrap))
    graph.add_edge(START, "tools")
    turn = AIMessage("", tool_calls=[{"name": "body", "args": {"x": n}, "id": f"c{n}"} for n in range(CALLS)])
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(WORKERS))
    await run(graph.compile(), {"messages": [turn]}, {"max_concurrency": WORKERS})

    times = [asked["execution_time_ms"] / 1000.0 for asked in engine.asked]
    assert len(times) == CALLS
    assert crowd.finished == CALLS
    assert min(times) >= 1
    assert max(times) <= 2 * WORKERS
    if around:  # what a clock around the handler would have said
        assert max(around) == CALLS
