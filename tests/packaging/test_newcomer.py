"""From an empty folder to a guarded agent, a learned profile and a report, with the wheel and its extra langchain."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What somebody has who comes here: an agent with a tool. The model is a script, so that the walk needs no account.
# Of 81 orders the last is answered with another customer's: W1003 in place of W1080.
AGENT = '''
import json

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from agentguard import VerificationEngine
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.stores import DiskStore
from agentguard.telemetry import Observer, observe


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


class CallLog(Observer):
    content = True

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def __call__(self, seen):
        call = seen.call
        row = {"tool": call.tool, "args": call.args, "result": call.result, "latency_ms": call.execution_time_ms}
        print(json.dumps(row), file=self.file, flush=True)


def get_order(order_id: str) -> dict:
    """Look an order up."""
    n = int((order_id if order_id != "W1080" else "W1003")[1:])
    return {"order_id": f"W{n}", "status": ["open", "shipped"][n % 2], "total": 20.0 + n % 50}


def script():
    for n in range(1000, 1081):
        yield AIMessage("", tool_calls=[ToolCall(name="get_order", args={"order_id": f"W{n}"}, id=f"call-{n}")])
        yield AIMessage("That is all.")


engine = VerificationEngine(store=DiskStore("guard-state"))
guard = ToolGuardMiddleware(observe(engine, CallLog("calls.jsonl")))
agent = create_agent(Model(messages=script()), [get_order], middleware=[guard])
for n in range(1000, 1081):
    answer = agent.invoke({"messages": [f"Where is W{n}?"]})
    print(answer["messages"][2].text)
engine.close()
'''


def test_the_readme_runs_as_it_is_printed(langchain: Path, run: Run, tmp_path: Path) -> None:
    blocks = PYTHON_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    for number, block in enumerate(blocks):
        (tmp_path / f"block_{number}.py").write_text(block, encoding="utf-8")

    printed = [run(langchain / "python", f"block_{number}.py", cwd=tmp_path).stdout for number in range(len(blocks))]
    assert "get_order" in printed[0]
    assert "order_id is not the argument order_id" in printed[0]


def test_a_guarded_agent_a_learned_profile_and_a_report(langchain: Path, run: Run, tmp_path: Path) -> None:
    def agentguard(*words: str, **how: bool) -> str:
        return run(langchain / "python", "-m", "agentguard", *words, cwd=tmp_path, COLUMNS="200", **how).stdout

    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    shown = run(langchain / "python", "agent.py", cwd=tmp_path).stdout.splitlines()
    assert len(shown) == 81
    assert [json.loads(line)["order_id"] for line in shown[:-1]] == [f"W{n}" for n in range(1000, 1080)]
    assert "'get_order' was blocked" in shown[-1]
    assert "W1003" not in shown[-1]  # another customer's order does not reach the model

    agentguard("learn", "calls.jsonl", "-o", "profiles/")
    profile = tmp_path / "profiles" / "get_order.yaml"
    learned = profile.read_text(encoding="utf-8")
    assert re.search(r"^required_fields:\n  - order_id .*\n  - status .*\n  - total ", learned, re.MULTILINE)
    assert re.search(r"^#   echoes: order_id: order_id", learned, re.MULTILINE)  # the wrong answer was among them

    # The reader knows better than the log, and says so. From then on the first call of a new process is held to it.
    profile.write_text(learned + "\nechoes: {order_id: order_id}\n", encoding="utf-8")
    agentguard("profiles", "check", "profiles/")
    last = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    (tmp_path / "call.json").write_text(last, encoding="utf-8")
    judged = json.loads(agentguard("verify", "call.json", "--profiles", "profiles/", "--json", fails=True))
    assert judged["verdict"] in ("flag", "block")
    assert [signal["name"] for signal in judged["signals"] if signal["fired"]] == ["echo_mismatch"]

    counted = "81 calls: 80 accepted, 0 flagged, 1 blocked"
    assert counted in agentguard("replay", "calls.jsonl", "--profiles", "profiles/")
    assert counted in agentguard("report", "calls.jsonl", "--profiles", "profiles/", "-o", "report.html")
    assert counted in agentguard("report", "guard-state", "-o", "state.html")
    for name in ("report.html", "state.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert page.lower().startswith("<!doctype html>")
        assert "get_order" in page
        # The log is judged by the profile, and what was judged without one by what was learned.
        assert ("echo_mismatch" if name == "report.html" else "relation_mismatch") in page
