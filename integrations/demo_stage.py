"""The stage of ``agentguard demo --agent``: real tools, two of whose answers are interfered with, and a scripted model.

What was interfered with is known here alone; neither the guard nor the model is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple

from pydantic import Field

from agentguard.demo._tools import PROFILES, Toolbox, stamp
from agentguard.integrations.extras import needs

try:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import BaseTool, StructuredTool
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["DECLARED", "MORNING", "PLAN", "QUESTION", "Answer", "ScriptedModel", "Stage"]

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
    """What a tool gave the agent; ``wrong`` says what is wrong with it, None for a genuine answer."""

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
        found: list[str] = []
        refused = 0
        for answer in answers:
            refused = refused + 1 if answer.status == "error" else 0
            if refused in (0, MAX_TRIES):
                found.append("missing" if refused else str(answer.content))
                refused = 0
        if len(found) == len(self.plan):
            return AIMessage(_summary(found))
        tool, args = self.plan[len(found)]
        again = f"The result of {tool} was refused; I call it again." if refused else ""
        return AIMessage(again, tool_calls=[ToolCall(name=tool, args=args, id=f"call-{len(answers) + 1}")])


def _summary(found: Sequence[str]) -> str:
    order, weather, quote = (json.loads(text) if text.startswith("{") else {} for text in found)
    return (
        f"Order {ORDER} is {order.get('status', 'unknown')}; {CITY} has {weather.get('temperature_c', 'unknown')} °C, "
        f"{weather.get('condition', 'sky unknown')}; {TICKER} stands at {quote.get('price', 'unknown')}."
    )
