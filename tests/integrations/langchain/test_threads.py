"""One guard under many threads loses no call: every one is judged, signed and learned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool

from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.integrations.receipts import ReceiptStatus, receipt_signer, verify_transcript
from agentguard.verification import VerificationEngine

from .scripted import ASK, agent, answers

THREADS, RUNS, CALLS = 12, 2, 3


def echo(text: str) -> dict[str, str]:
    """Repeat."""
    return {"text": text, "kind": "echo"}


def test_twelve_threads_on_one_guard_lose_no_update() -> None:
    engine = VerificationEngine()
    engine.trust("echo", THREADS * RUNS * CALLS)  # every call is to be learned, however it is timed
    middleware = ToolGuardMiddleware(engine, signer=receipt_signer())
    tool = StructuredTool.from_function(echo)
    start = Barrier(THREADS)

    def work(thread: int) -> list[tuple[list[ToolMessage], list[Any]]]:
        start.wait(timeout=60)
        done = []
        for run in range(RUNS):
            turn = AIMessage(
                "",
                tool_calls=[
                    {"name": "echo", "args": {"text": f"{thread} {run} {n}"}, "id": f"{thread}-{run}-{n}"}
                    for n in range(CALLS)
                ],
            )
            out = agent([tool], turn, middleware=[middleware]).invoke(
                ASK, {"configurable": {"thread_id": f"{thread}-{run}"}}
            )
            done.append((answers(out), verify_transcript(out["messages"], session_id=f"{thread}-{run}")))
        return done

    with ThreadPoolExecutor(THREADS) as pool:
        done = [pair for worked in pool.map(work, range(THREADS)) for pair in worked]

    messages = [message for found, _ in done for message in found]
    assert len(messages) == THREADS * RUNS * CALLS
    assert all(
        message.response_metadata["agentguard"]["call_id"] == message.tool_call_id
        and message.content == f'{{"text": "{message.tool_call_id.replace("-", " ")}", "kind": "echo"}}'
        for message in messages
    )
    assert {finding.status for _, findings in done for finding in findings} == {ReceiptStatus.EXECUTED}
    learned = engine._tools.find("echo", keep=True)
    assert (learned.memory.count, learned.trusted_left) == (THREADS * RUNS * CALLS, 0)
