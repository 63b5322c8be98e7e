"""What LangChain itself records of a tool, as LangSmith is sent it, is read back."""

from contextlib import suppress
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

from agentguard.traces import TraceRow, read_traces


@tool
def get_price(sku: str) -> dict[str, float]:
    """Look a price up."""
    if sku == "none":
        raise ValueError("no such sku")
    return {"price": 7.5}


def test_runs_of_a_tool_of_langchain_are_read_back(tmp_path: Path) -> None:
    collector = RunCollectorCallbackHandler()
    thread: RunnableConfig = {"callbacks": [collector], "metadata": {"thread_id": "t1"}}
    get_price.invoke({"type": "tool_call", "id": "call_1", "name": "get_price", "args": {"sku": "A1"}}, config=thread)
    get_price.invoke({"sku": "B2"}, config={"callbacks": [collector]})
    with suppress(ValueError):
        get_price.invoke({"sku": "none"}, config={"callbacks": [collector]})
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(run.model_dump_json() + "\n" for run in collector.traced_runs))

    calls = [row.call for row in read_traces(path) if isinstance(row, TraceRow)]

    assert [(call.tool, call.args, call.result, call.is_error) for call in calls] == [
        ("get_price", {"sku": "A1"}, '{"price": 7.5}', False),
        ("get_price", {"sku": "B2"}, {"price": 7.5}, False),
        ("get_price", {"sku": "none"}, "ValueError('no such sku')", True),
    ]
    assert (calls[0].session_id, calls[0].call_id) == ("t1", "call_1")
    assert calls[1].session_id == str(collector.traced_runs[1].trace_id)
    assert all(call.execution_time_ms is not None for call in calls)
