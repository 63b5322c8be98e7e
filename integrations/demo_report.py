"""What ``agentguard demo --agent`` counts and how it looks on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from agentguard.integrations.extras import needs

try:
    from langchain_core.messages import AIMessage
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["AgentDemoReport", "Judged", "Screen"]

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
        action: what the policy made of the verdict.
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
    """What happened. ``watched`` genuine calls came before the agent's; ``answer`` is what it told its user."""

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
        """What the user asks."""
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
