"""What the tests of the LangChain and LangGraph integrations share: a model that reads from a script, an engine too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from threading import Lock
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from agentguard.verification import SignalResult, VerificationEngine, VerificationResult, VerificationTier

POSTERIORS = {"accept": 0.05, "flag": 0.3, "block": 0.9}
THREAD: Any = {"configurable": {"thread_id": "thread-1"}}
Run = Callable[..., Awaitable[Any]]


class ScriptedModel(BaseChatModel):
    """Says the next line of its script, and keeps what it was shown."""

    script: list[AIMessage]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """The messages of each call."""
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._seen.append(list(messages))
        line = self.script[len(self._seen) - 1]
        return ChatResult(generations=[ChatGeneration(message=line.model_copy())])


class ScriptedEngine(VerificationEngine):
    """Gives the verdicts of a script, by tool, and keeps what it was asked and told.

    ``hazard`` is what speaks against the results that it does not accept; how often it was asked of the same call
    with the same result it counts, as the engine does.
    """

    def __init__(self, **verdicts: str | list[str]) -> None:
        super().__init__()
        self._verdicts = {name: [said] if isinstance(said, str) else list(said) for name, said in verdicts.items()}
        self._lock = Lock()
        self.asked: list[dict[str, Any]] = []
        self.hazard = ""
        self._times: Counter[str] = Counter()
        self.feedback: list[dict[str, Any]] = []

    def verify(self, tool: str, **call: Any) -> VerificationResult:
        with self._lock:
            self.asked.append({"tool": tool, **call})
            script = self._verdicts.get(tool, ["accept"])
            verdict: Any = script.pop(0) if len(script) > 1 else script[0]
            same = repr((tool, call.get("args"), call.get("result")))
            times = self._times[same]
            self._times[same] += verdict != "accept"
        tier, signals = VerificationTier.TIER_0, {}
        if verdict != "accept" and self.hazard:
            signals["value_anomaly"] = SignalResult("value_anomaly", True, True, 1.0, 9.0, 0.01, tier, self.hazard)
        return VerificationResult(
            verdict, POSTERIORS[verdict], 0.15, signals, dict.fromkeys(signals, 2.2), tier, None, tool,
            call.get("call_id"), "", asked=0 if verdict == "accept" else times,
        )  # fmt: skip

    def record_feedback(
        self, tool: str, confidence_score: float, was_hallucination: bool, call_id: str | None = None
    ) -> None:
        self.feedback.append(
            {"tool": tool, "score": confidence_score, "was_hallucination": was_hallucination, "call_id": call_id}
        )


class BrokenEngine(VerificationEngine):
    """Fails, with content in its message."""

    def verify(self, tool: str, **call: Any) -> VerificationResult:
        raise RuntimeError(f"cannot judge {call['result']}")


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """A model's turn that calls tools; the ids are c1, c2, ..."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": args, "id": f"c{place}", "type": "tool_call"}
            for place, (name, args) in enumerate(wanted, 1)
        ],
    )


def agent(tools: Iterable[Any], *turns: AIMessage, middleware: Iterable[Any], **options: Any) -> Any:
    """``create_agent`` with a scripted model, which says "done" at the end."""
    model = ScriptedModel(script=[*turns, AIMessage("done")])
    made: Any = create_agent(model, list(tools), middleware=list(middleware), **options)
    made.model = model
    return made


ASK: dict[str, Any] = {"messages": [HumanMessage("go")]}


def answers(out: Any) -> list[ToolMessage]:
    """The tool messages of a run."""
    return [message for message in out["messages"] if isinstance(message, ToolMessage)]
