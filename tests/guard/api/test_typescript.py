"""examples/typescript: checked by the compiler, and run by Node with the Vercel AI SDK against a running server."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples" / "typescript"
KEY = "test-key-0123456789"
OPTIONS = {
    "target": "es2022", "module": "nodenext", "strict": True, "noUnusedLocals": True, "noUncheckedIndexedAccess": True,
    "skipLibCheck": True, "types": ["node"], "outDir": "out",
}  # fmt: skip


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs as JavaScript, beside the packages that they import; the test is skipped where there are none."""
    where = subprocess.run([HERE / "ensure_node.sh", "--where"], capture_output=True, text=True, check=False)
    if where.returncode:
        pytest.skip("there are no Node packages: tests/guard/api/ensure_node.sh fetches them")
    packages = Path(where.stdout.strip())
    folder = tmp_path_factory.mktemp("typescript")
    for file in (*EXAMPLES.glob("*.ts"), *(HERE / "typescript").glob("*.ts")):
        shutil.copy(file, folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS, "include": ["*.ts"]}))
    checked = subprocess.run(
        [folder / "node_modules" / ".bin" / "tsc", "-p", "."],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
    return folder / "out"


def run(program: Path, **environment: str) -> list[str]:
    done = subprocess.run(
        ["node", program],  # noqa: S607 - whichever is on the path
        env={**os.environ, "AGENTGUARD_API_KEY": KEY, **environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_agent_s_made_up_result_is_blocked_and_it_calls_again(compiled: Path, serve: Callable[..., Any]) -> None:
    server = serve("--profiles", EXAMPLES / "weather.yaml")

    blocked, accepted, answer = run(compiled / "agent.js", AGENTGUARD_URL=server.url)

    assert blocked.startswith("tool | \"The result of 'weather' was blocked")
    assert "required field 'degrees' is missing" in blocked
    assert "nice" not in blocked
    assert accepted == 'tool | {"city":"Oslo","degrees":18}'
    assert answer == "ai | It is 18 degrees in Oslo."


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_each_answer_of_the_guard_is_heeded_and_so_is_none(
    compiled: Path, serve: Callable[..., Any], profiles: Path, silent: str
) -> None:
    (profiles / "doubtful.yaml").write_text("name: doubtful\ncontent: {pii: flag}\n")
    server, raising = serve("--profiles", profiles), serve("--profiles", profiles, "--on-block", "raise")

    lines = run(
        compiled / "cases.js", AGENTGUARD_URL=server.url, RAISING_URL=raising.url, SILENT_URL=silent
    )  # fmt: skip

    cases = {case.pop("name"): case for case in map(json.loads, lines)}
    assert cases["genuine"] == {"same": True, "shown": None, "problems": []}
    assert cases["replaced"]["shown"].startswith("The result of 'weather' was blocked")
    assert cases["raised"]["shown"].startswith("thrown: The result of 'weather' was blocked")
    assert cases["redacted"]["shown"] == {"from": "<EMAIL_1>"}
    line = "\n\n[agentguard: this result of 'doubtful' may be wrong: 1 finding: email. "
    assert cases["annotated text"]["shown"].startswith(f"It is ada@example.org.{line}")
    assert cases["annotated value"]["shown"].startswith(f'{{"from":"grace@example.net"}}{line}')
    assert cases["silent, open"]["same"] is True
    assert cases["silent, open"]["problems"] == [
        "agentguard: a result of weather could not be verified (TimeoutError)"
    ]  # fmt: skip
    withheld = "The result of 'weather' could not be verified and was withheld."
    assert cases["silent, closed"]["shown"].startswith(withheld)
    assert cases["wrong key"]["shown"].startswith(withheld)
    assert cases["wrong key"]["problems"] == ["agentguard: a result of weather could not be verified (status 401)"]
    assert cases["no JSON"]["shown"].startswith(withheld)
    assert cases["thrown"] == {"shown": "Error: the tool's own", "problems": []}
