"""The stage of ``agentguard demo --agent``: real tools, two of whose answers are interfered with, and a scripted model.

What was interfered with is known here alone; neither the guard nor the model is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

from pydantic import Field
from rich.console import Console
from rich.text import Text

from agentguard.errors import ConfigurationError
from agentguard.guard import Guard
from agentguard.integrations._extras import needs

try:
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
except ImportError as error:
    raise needs("langchain", error) from error

from agentguard.demo._tools import PROFILES, Toolbox, stamp
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import receipt_signer
from agentguard.verification import VerificationEngine

MORNING = 20  # minutes that the guard has watched the tools for before the agent begins
CITY, ORDER, TICKER = "Lisbon", 1080, "ALDR"
QUESTION = f"Can order {ORDER} go out today, how is the weather in {CITY}, and where does {TICKER} stand?"
PLAN: Sequence[tuple[str, dict[str, Any]]] = (
    ("get_order", {"order_id": ORDER}),
    ("get_weather", {"city": CITY}),
    ("get_quote", {"ticker": TICKER}),
)
MAX_TRIES = 3
# What the demo's user declares; of a quote also how long one can be, so that one with more to say is noticed.
DECLARED: Mapping[str, Mapping[str, Any]] = {
    **PROFILES,
    "get_quote": {**PROFILES["get_quote"], "max_response_length": 125},
}


class Answer(NamedTuple):
    """A tool's answer to the agent; ``wrong`` names the fault in it, None for a genuine one."""

    tool: str
    text: str
    wrong: str | None


class Stage:
    """The demo's tools, behind the scenes of an agent. A context manager.

    ``get_weather`` first answers what nobody measured, ``get_quote`` first a price of the past: once each, then truly.

    Args:
        seed: of all that the tools report.
        delay_scale: factor on the HTTP service's delays, >= 0.

    Attributes:
        given: the answers that the agent was given, in order.
    """

    def __init__(self, seed: int, delay_scale: float = 1.0) -> None:
        self.given: list[Answer] = []
        self._toolbox = Toolbox(seed, delay_scale=delay_scale)
        # The shop's database belongs to the thread that opened it, and an agent calls its tools from threads of a pool.
        self._thread = ThreadPoolExecutor(1, "demo-tools")
        self._first_quote = ""
        self._to_spoil = {"get_weather", "get_quote"}

    def __enter__(self) -> Stage:
        try:
            self._thread.submit(self._toolbox.__enter__).result()
        except BaseException:
            self._thread.shutdown()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.submit(self._toolbox.__exit__, kind, error, trace).result()
        self._thread.shutdown()

    def ask(self, tool: str, args: dict[str, Any]) -> str:
        """A tool's own answer, as JSON text."""
        answer = self._thread.submit(self._toolbox.call, tool, args).result()
        if tool == "get_quote" and not self._first_quote:
            self._first_quote = answer
        return answer

    def advance(self, minute: int) -> None:
        """Set the time of the shop and of the feeds, in minutes since the day began."""
        self._thread.submit(self._toolbox.advance, minute).result()

    def tools(self) -> list[BaseTool]:
        """The tools as an agent is given them."""

        def get_order(order_id: int) -> str:
            """One order of the shop, with its items."""
            return self._give("get_order", {"order_id": order_id})

        def get_weather(city: str) -> str:
            """The weather of a city, as it was last observed."""
            if "get_weather" in self._to_spoil:
                made_up = {"city": city, "temperature_c": 21.0, "humidity_pct": 50, "observed_at": stamp(MORNING)}
                return self._spoilt("get_weather", json.dumps(made_up), "fabricated, the service was never asked")
            return self._give("get_weather", {"city": city})

        def get_quote(ticker: str) -> str:
            """The price of a stock."""
            if "get_quote" in self._to_spoil:
                now, then = json.loads(self.ask("get_quote", {"ticker": ticker})), json.loads(self._first_quote)
                old = {**now, "price": then["price"], "currency": f"USD, delayed by {MORNING} minutes"}
                return self._spoilt("get_quote", json.dumps(old), "an old price under the present time")
            return self._give("get_quote", {"ticker": ticker})

        return [StructuredTool.from_function(function) for function in (get_order, get_weather, get_quote)]

    def _give(self, tool: str, args: dict[str, Any]) -> str:
        answer = self.ask(tool, args)
        self.given.append(Answer(tool, answer, None))
        return answer

    def _spoilt(self, tool: str, answer: str, wrong: str) -> str:
        self._to_spoil.discard(tool)
        self.given.append(Answer(tool, answer, wrong))
        return answer


class ScriptedModel(BaseChatModel):
    """Stands for a real model: makes the planned calls one by one, asks again where a result is refused, and answers.

    What it does follows from the messages alone. ``shown`` keeps all tool results that it was ever shown.
    """

    plan: Sequence[tuple[str, dict[str, Any]]] = PLAN
    shown: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Itself: a script needs no description of tools."""
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        self.shown.extend(str(message.content) for message in answers)
        return ChatResult(generations=[ChatGeneration(message=self._next(answers))])

    def _next(self, answers: Sequence[ToolMessage]) -> AIMessage:
        """The next call of the plan, or the answer to the user once all are made."""
        answers_given: list[str] = []
        refused = 0
        for answer in answers:
            refused = refused + 1 if answer.status == "error" else 0
            if refused in (0, MAX_TRIES):
                answers_given.append("missing" if refused else str(answer.content))
                refused = 0
        if len(answers_given) == len(self.plan):
            return AIMessage(_summary(answers_given))
        tool, args = self.plan[len(answers_given)]
        again = f"The result of {tool} was refused; I call it again." if refused else ""
        return AIMessage(again, tool_calls=[ToolCall(name=tool, args=args, id=f"call-{len(answers) + 1}")])


def _summary(found: Sequence[str]) -> str:
    order, weather, quote = (json.loads(text) if text.startswith("{") else {} for text in found)
    return (
        f"Order {ORDER} is {order.get('status', 'unknown')}; {CITY} has {weather.get('temperature_c', 'unknown')} °C, "
        f"{weather.get('condition', 'sky unknown')}; {TICKER} stands at {quote.get('price', 'unknown')}."
    )


# --- What is shown on a terminal ---


_STYLES = {"accept": "green", "flag": "yellow", "block": "bold red"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One executed call of the agent and what became of its result.

    Attributes:
        tool: the tool's name.
        call_id: the model's name for the call.
        verdict: as the guard gave it, before any review.
        posterior: P(fabricated or corrupted).
        fired: the signals that fired.
        action: what the rules made of the verdict.
        wrong: what was really wrong with the result, None for a genuine one; known to the demo alone.
        review: the reviewer's decision; None where nobody was asked.
        shown: the model was shown the result itself.
    """

    tool: str
    call_id: str
    verdict: str
    posterior: float
    fired: tuple[str, ...]
    action: str
    wrong: str | None
    review: str | None = None
    shown: bool = False


@dataclass(frozen=True, slots=True)
class AgentDemoReport:
    """The outcome of a run. ``watched`` genuine calls came before the agent's; ``answer`` is what it told its user."""

    seed: int
    watched: int
    calls: tuple[Judged, ...]
    answer: str

    @property
    def sentence(self) -> str:
        """The outcome in one line, counted."""
        wrong = [call for call in self.calls if call.wrong]
        genuine = [call for call in self.calls if not call.wrong]
        blocked = sum(call.action == "replace" for call in wrong)
        rejected = sum(call.review == "reject" for call in wrong)
        return (
            f"Of {len(wrong)} wrong results the guard blocked {blocked} and the reviewer rejected {rejected} that it "
            f"flagged; {sum(call.shown for call in wrong)} reached the model. Of {len(genuine)} genuine results "
            f"{sum(call.shown for call in genuine)} reached it, {sum(call.review is not None for call in genuine)} of "
            f"them after a review."
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {**asdict(self), "sentence": self.sentence}


class Screen:
    """Prints the steps of the graph as they happen; ``hidden`` prints nothing."""

    def __init__(self, console: Console, *, hidden: bool) -> None:
        self._console = console
        self._hidden = hidden

    def opening(self, calls: int) -> None:
        """Say what is about to happen, and what of it is arranged."""
        self._print(
            "A LangGraph agent with ToolGuardMiddleware, on a SQLite shop and an HTTP service on 127.0.0.1. Agent, "
            "guard and tools are real; the model is a script, and so is the reviewer, who knows the truth. get_weather "
            "will first answer what nobody measured, get_quote first an old price; neither guard nor model is told.\n"
            f"First the guard watches {calls} genuine calls (a few seconds) ...\n"
        )

    def question(self, text: str) -> None:
        """The user's question."""
        self._line("user", text)

    def model(self, node: str, message: AIMessage) -> None:
        """A turn of the model."""
        if message.content:
            self._line(node, str(message.content))
        for call in message.tool_calls:
            self._line(node, f"calls {call['name']}({', '.join(f'{k}={v!r}' for k, v in call['args'].items())})")

    def verdict(self, node: str, call: Judged, shown: str) -> None:
        """The guard's verdict on a result, with the truth, and what the message holds now."""
        self._line(
            node,
            f"{call.tool}: ",
            (call.verdict, _STYLES.get(call.verdict, "")),
            f" P(fabricated) {call.posterior:.2f}",
            (f"  <- {', '.join(call.fired)}" if call.fired else "", "dim"),
            (f"  [{call.wrong}]" if call.wrong else "  [genuine]", "cyan" if call.wrong else "dim"),
        )
        if call.action == "replace":
            self._line("", (f"the model is told: {shown}", "dim"))

    def review(self, node: str, decided: Sequence[Judged]) -> None:
        """The graph waits at an interrupt and is resumed."""
        self._line(node, f"the graph waits: {len(decided)} flagged, a person is asked")
        for call in decided:
            self._line(
                node, f"{call.tool}: ", (f"{call.review}", "bold"), "; the graph is resumed, no tool is run again"
            )

    def closing(self, report: AgentDemoReport) -> None:
        """The outcome."""
        self._print()
        self._print(Text(report.sentence, style="bold"))

    def _line(self, node: str, *parts: str | tuple[str, str]) -> None:
        self._print(Text.assemble((f"{node:<7} ", "magenta"), *parts))

    def _print(self, *what: object) -> None:
        if not self._hidden:
            self._console.print(*what, soft_wrap=True, markup=False, highlight=False)


# --- The run ---


def run_agent_demo(
    console: Console, *, seed: int = 7, as_json: bool = False, delay_scale: float = 1.0
) -> AgentDemoReport:
    """Let an agent work with real tools, two of whose answers are wrong, and show every step of its graph.

    Args:
        console: where to print.
        seed: of all that the tools report; times are measured.
        as_json: print the report as JSON and nothing else.
        delay_scale: factor on the HTTP service's delays, >= 0.

    Raises:
        ConfigurationError: for a negative ``delay_scale``.
    """
    if delay_scale < 0:
        raise ConfigurationError(f"delay_scale must be at least 0, not {delay_scale}")
    engine = VerificationEngine()
    for name, fields in DECLARED.items():
        engine.register_tool_profile(name, **fields)
    engine.calibrate("get_quote", block_at=0.7)  # where a price is in doubt, a person is asked rather than none shown
    screen = Screen(console, hidden=as_json)
    with Stage(seed, delay_scale) as stage:
        screen.opening(MORNING * len(PLAN))
        watched = _watch(engine, stage)
        screen.question(QUESTION)
        calls, answer = _perform(engine, stage, screen)
    report = AgentDemoReport(seed, watched, tuple(calls), answer)
    if as_json:
        console.print(json.dumps(report.as_dict(), indent=2), soft_wrap=True, markup=False, highlight=False)
    screen.closing(report)
    return report


def _watch(engine: VerificationEngine, stage: Stage) -> int:
    """Let the guard see the morning's calls of other agents to the same tools, all of them genuine."""
    calls = 0
    for minute in range(MORNING):
        stage.advance(minute)
        for tool, args in PLAN:
            start = perf_counter()
            answer = stage.ask(tool, args)
            elapsed_ms = 1e3 * (perf_counter() - start)
            engine.verify(tool, args=args, result=answer, execution_time_ms=elapsed_ms, session_id=f"morning-{minute}")
            calls += 1
    stage.advance(MORNING)
    return calls


def _perform(engine: VerificationEngine, stage: Stage, screen: Screen) -> tuple[list[Judged], str]:
    """Run the agent to its answer; whatever is flagged is decided by a reviewer who knows the truth."""
    model = ScriptedModel()
    # Signed, each result carries its verdict, which the screen shows, and the engine learns what the reviewer decides.
    guard = ToolGuardMiddleware(Guard(engine, on_flag="review"), signer=receipt_signer())
    agent: Any = create_agent(model, stage.tools(), middleware=[guard], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "demo"}}
    judged: dict[str, Judged] = {}
    answer = ""
    given: Any = {"messages": [HumanMessage(QUESTION)]}
    while given is not None:
        steps, given = agent.stream(given, config, stream_mode="updates"), None
        for node, message in _messages(steps):
            if isinstance(message, ToolMessage):
                stamp = message.response_metadata["agentguard"]
                if message.tool_call_id in judged:
                    continue  # as the review left it; what was decided is known
                call = _judged(stamp, stage.given[len(judged)])
                judged[call.call_id] = call
                screen.verdict(node, call, str(message.content))
            elif isinstance(message, AIMessage):
                answer = str(message.content)
                screen.model(node, message)
            else:
                flagged = [call for call in judged.values() if call.action == "review" and call.review is None]
                decided = [replace(call, review="reject" if call.wrong else "approve") for call in flagged]
                judged.update((call.call_id, call) for call in decided)
                screen.review(node, decided)
                given = Command(resume={"decisions": [{"type": call.review} for call in decided]})
    shown = set(model.shown)
    seen = zip(judged.values(), stage.given, strict=True)
    return [replace(call, shown=result.text in shown) for call, result in seen], answer


def _messages(steps: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Every message that a step of the graph brought, with the node's name; an interrupt as it is."""
    for step in steps:
        for node, update in step.items():
            if node == "__interrupt__":
                yield "review", update
            else:
                for message in (update or {}).get("messages", ()):
                    yield node, message


def _judged(stamp: Mapping[str, Any], result: Answer) -> Judged:
    return Judged(
        result.tool,
        str(stamp["call_id"]),
        str(stamp["verdict"]),
        float(stamp["posterior"]),
        tuple(stamp["fired"]),
        str(stamp["action"]),
        result.wrong,
    )
