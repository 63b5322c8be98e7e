"""Payloads as a coding agent's hooks get them: an ordinary session of reads, searches, edits and commands.

Made here from this project's own sources, in the shapes of the published types; none was recorded from a product.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "src/agentguard"
#: How often each kind of call is made, out of the sum of all.
WEIGHTS = {
    "read": 30, "grep": 18, "glob": 8, "edit": 14, "write": 4, "bash": 26, "fetch": 3, "search": 2, "agent": 2,
    "mcp": 5, "todo": 4, "failure": 6,
}  # fmt: skip


def session(seed: int, calls: int, name: str = "session-1") -> Iterator[dict[str, Any]]:
    """The payloads of one session, as ``PostToolUse`` and ``PostToolUseFailure`` hooks get them."""
    draw = random.Random(seed)
    files = sorted(SOURCES.rglob("*.py"))
    for number in range(calls):
        kind = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        tool, given, response = _KINDS[kind](draw, draw.choice(files))
        event: dict[str, Any] = {"tool_response": response, "hook_event_name": "PostToolUse"}
        if kind == "failure":
            event = {"error": response, "is_interrupt": False, "hook_event_name": "PostToolUseFailure"}
        yield {
            "session_id": name,
            "transcript_path": f"/home/dev/.claude/projects/app/{name}.jsonl",
            "cwd": "/home/dev/app",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"toolu_{seed:03}{number:05}",
            "duration_ms": _duration(draw, tool),
            **event,
        }


def post(tool: str, response: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    """A ``PostToolUse`` event."""
    return {
        "session_id": "s1", "transcript_path": "/t", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": tool,
        "tool_input": {"number": number}, "tool_response": response, "tool_use_id": f"toolu_{number}",
        "duration_ms": 40, **fields,
    }  # fmt: skip


def _duration(draw: random.Random, tool: str) -> int:
    if tool in {"WebFetch", "WebSearch"} or tool.startswith("mcp__"):
        return int(draw.lognormvariate(6.5, 0.6))
    if tool in {"Bash", "Agent"}:
        return int(draw.lognormvariate(6.5, 1.6))
    return int(draw.lognormvariate(2.0, 1.0))


def _read(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    lines = path.read_text().splitlines()
    given: dict[str, Any] = {"file_path": f"/home/dev/app/{path.relative_to(SOURCES)}"}
    start = 1
    if draw.random() < 0.3:
        start, limit = draw.randint(1, max(1, len(lines) - 20)), draw.choice([20, 40, 60, 100, 200])
        given |= {"offset": start, "limit": limit}
    else:
        limit = 2000
    if draw.random() < 0.04:
        return "Read", given, {
            "type": "image",
            "file": {"base64": "iVBORw0KGgo" + "A" * draw.randint(50, 4000), "type": "image/png", "originalSize": 9133},
        }  # fmt: skip
    part = lines[start - 1 : start - 1 + limit]
    if draw.random() < 0.04:
        part, lines = [], []
    file = {
        "filePath": given["file_path"], "content": "\n".join(part), "numLines": len(part), "startLine": start,
        "totalLines": len(lines),
    }  # fmt: skip
    return "Read", given, {"type": "text", "file": file}


def _grep(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    word = draw.choice(["def ", "import", "Error", "class ", "TODO", "return None", "async def", "nothing_like_this"])
    hits = [(number, line) for number, line in enumerate(path.read_text().splitlines(), 1) if word in line]
    name = str(path.relative_to(SOURCES))
    mode = draw.choice(["content", "content", "files_with_matches", "count"])
    given = {"pattern": word, "path": "src", "output_mode": mode}
    if mode == "files_with_matches":
        names = draw.sample(NAMES, draw.randint(0, 12)) if hits else []
        return "Grep", given, {"mode": mode, "filenames": names, "numFiles": len(names)}
    if mode == "count":
        text = f"{name}:{len(hits)}" if hits else ""
        return "Grep", given, {
            "mode": mode, "numFiles": bool(hits) + 0, "filenames": [], "content": text, "numMatches": len(hits),
        }  # fmt: skip
    text = "\n".join(f"{name}:{number}:{line}" for number, line in hits)
    response = {"mode": mode, "numFiles": 0, "filenames": [], "content": text, "numLines": len(hits)}
    if draw.random() < 0.2:
        response["appliedLimit"] = 250
    return "Grep", given | {"-n": True}, response


def _glob(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    names = draw.sample(NAMES, draw.choice([0, 1, 2, 5, 9, 20]))
    response = {
        "filenames": names, "durationMs": draw.randint(2, 300), "numFiles": len(names), "truncated": len(names) > 15,
    }  # fmt: skip
    return "Glob", {"pattern": f"**/*{path.suffix}"}, response


def _edit(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    lines = path.read_text().splitlines() or [""]
    at = draw.randrange(len(lines))
    old, new = lines[at], lines[at] + draw.choice(["  # noqa", "", " or None", "\n    return result"])
    file = f"/home/dev/app/{path.relative_to(SOURCES)}"
    response = {
        "filePath": file, "oldString": old, "newString": new, "originalFile": "\n".join(lines),
        "structuredPatch": [
            {"oldStart": at + 1, "oldLines": 1, "newStart": at + 1, "newLines": 1 + new.count("\n"),
             "lines": [f"-{old}", *(f"+{line}" for line in new.splitlines())]}
        ],
        "userModified": False, "replaceAll": draw.random() < 0.1,
    }  # fmt: skip
    return "Edit", {"file_path": file, "old_string": old, "new_string": new}, response


def _write(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    text, file = path.read_text(), f"/home/dev/app/new/{path.name}"
    response = {
        "type": draw.choice(["create", "create", "update"]), "filePath": file, "content": text, "structuredPatch": [],
        "originalFile": None,
    }  # fmt: skip
    return "Write", {"file_path": file, "content": text}, response


def _bash(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    command, output = draw.choice(COMMANDS)
    name = str(path.relative_to(SOURCES))
    out = output(draw, path, name)
    errors = "" if draw.random() < 0.85 else f"warning: {name}: CRLF will be replaced by LF"
    response: dict[str, Any] = {
        "stdout": out, "stderr": errors, "interrupted": False, "isImage": False, "noOutputExpected": False,
    }  # fmt: skip
    if not out and command.startswith("grep"):
        response["returnCodeInterpretation"] = "No matches found"
    if command.startswith("git commit"):
        response["gitOperation"] = {"commit": {"sha": f"{draw.getrandbits(28):07x}", "kind": "committed"}}
    return "Bash", {"command": command.format(name), "description": "Look at it"}, response


def _passed(draw: random.Random, path: Path, name: str) -> str:
    count = draw.randint(1, 900)
    return f"{'.' * min(count, 70)} [100%]\n{count} passed in {draw.uniform(0.1, 90):.2f}s"


def _failed(draw: random.Random, path: Path, name: str) -> str:
    return (
        "F.. [100%]\n=== FAILURES ===\n___ test_it ___\n\n"
        f">       assert {draw.randint(1, 9)} == {draw.randint(10, 99)}\n"
        f"E       AssertionError\n\n{name}:{draw.randint(1, 400)}: AssertionError\n1 failed, 2 passed in 0.31s"
    )


def _log(draw: random.Random, path: Path, name: str) -> str:
    subjects = ["Fix the parser", "Read the store once", "Docs", "Merge branch 'main'", "Bump version", "Refactor"]
    return "\n".join(f"{draw.getrandbits(28):07x} {draw.choice(subjects)}" for _ in range(draw.randint(1, 25)))


def _listing(draw: random.Random, path: Path, name: str) -> str:
    rows = [
        f"-rw-r--r-- 1 dev dev {draw.randint(0, 90_000):>6} Nov {draw.randint(1, 28):>2} 09:15 {each}"
        for each in draw.sample(NAMES, draw.randint(0, 15))
    ]
    return "\n".join([f"total {draw.randint(0, 400)}", *rows])


def _json(draw: random.Random, path: Path, name: str) -> str:
    count = draw.randint(1, 4)
    items = [f'  "{key}": {draw.randint(0, 99)}' for key in draw.sample(["name", "size", "rev", "age", "ok"], count)]
    return "{\n" + ",\n".join(items) + "\n}"


def _part(draw: random.Random, path: Path, name: str) -> str:
    return "\n".join(path.read_text().splitlines()[: draw.randint(0, 60)])


COMMANDS: list[tuple[str, Callable[[random.Random, Path, str], str]]] = [
    ("pytest -q {}", _passed),
    ("pytest -q {} --tb=short || true", _failed),
    ("git log --oneline -20", _log),
    ("git status --short", lambda draw, path, name: "".join(f" M {each}\n" for each in draw.sample(NAMES, 3))),
    ("git diff --stat", lambda draw, path, name: f" {name} | {draw.randint(1, 90)} ++--\n 1 file changed"),
    ("git commit -qm 'Mend it'", lambda draw, path, name: ""),
    ("ls -la", _listing),
    ("sed -n 1,60p {}", _part),
    ("wc -l {}", lambda draw, path, name: f"{draw.randint(1, 900)} {name}"),
    ("grep -c nothing_like_this {}", lambda draw, path, name: ""),
    ("cat package.json", _json),
    ("mkdir -p build", lambda draw, path, name: ""),
    ("python -c 'print(1)'", lambda draw, path, name: str(draw.randint(0, 10**6))),
    ("npm run build", lambda draw, path, name: f"\u2713 {draw.randint(10, 999)} modules transformed.\nbuilt in 4.1s"),
    ("find . -name '*.py' | wc -l", lambda draw, path, name: str(draw.randint(1, 400))),
    ("ruff check .", lambda draw, path, name: "All checks passed!"),
    ("cat .env.example", lambda draw, path, name: "API_KEY=changeme\nDATABASE_URL=postgres://localhost/app"),
]


def _fetch(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    text = "\n\n".join(f"## Part {n}\n{draw.choice(NAMES)} is described here." for n in range(draw.randint(1, 9)))
    url = f"https://docs.example.com/{path.stem}"
    response = {
        "bytes": len(text) * 7, "code": 200, "codeText": "OK", "result": text, "durationMs": draw.randint(200, 9000),
        "url": url,
    }  # fmt: skip
    return "WebFetch", {"url": url, "prompt": "What does it say?"}, response


def _search(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    hits = [
        {"title": f"About {each}", "url": f"https://example.org/{each}"}
        for each in draw.sample(NAMES, draw.randint(1, 10))
    ]
    response = {
        "query": path.stem, "results": [{"tool_use_id": f"srvtoolu_{draw.random()}", "content": hits}, "Done."],
        "durationSeconds": draw.uniform(1, 12), "searchCount": 1,
    }  # fmt: skip
    return "WebSearch", {"query": path.stem}, response


def _agent(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    prompt = f"Find who calls {path.stem} and say where."
    usage = {
        "input_tokens": draw.randint(3, 90), "output_tokens": draw.randint(50, 4000), "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": draw.randint(0, 90_000), "server_tool_use": None, "service_tier": "standard",
        "cache_creation": None,
    }  # fmt: skip
    response = {
        "status": "completed", "prompt": prompt, "agentId": f"a{draw.getrandbits(28):07x}",
        "content": [{"type": "text", "text": "\n".join(draw.sample(NAMES, 4))}],
        "totalToolUseCount": draw.randint(1, 40), "totalDurationMs": draw.randint(2000, 200_000),
        "totalTokens": draw.randint(900, 90_000), "usage": usage,
    }  # fmt: skip
    return "Agent", {"prompt": prompt, "description": "Find callers", "subagent_type": "Explore"}, response


def _mcp(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    number = draw.randint(1, 4000)
    issue = (
        f'{{"number": {number}, "title": "About {path.stem}", "state": "{draw.choice(["open", "closed"])}", '
        f'"comments": {draw.randint(0, 20)}}}'
    )
    return "mcp__github__get_issue", {"issue_number": number}, [{"type": "text", "text": issue}]


def _todo(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    todos = [
        {"content": f"Do {each}", "status": draw.choice(["pending", "in_progress", "completed"]), "activeForm": "Doing"}
        for each in draw.sample(NAMES, draw.randint(1, 6))
    ]
    return "TodoWrite", {"todos": todos}, {"oldTodos": todos[:-1], "newTodos": todos}


def _failure(draw: random.Random, path: Path) -> tuple[str, dict[str, Any], Any]:
    name = str(path.relative_to(SOURCES))
    return draw.choice(
        [
            ("Bash", {"command": f"pytest {name}"}, f"Exit code 1\n{_failed(draw, path, name)}"),
            ("Bash", {"command": "make"}, "Exit code 2\nmake: *** No rule to make target 'all'.  Stop."),
            ("Read", {"file_path": f"/home/dev/app/{name}x"}, "File does not exist."),
            ("Edit", {"file_path": name, "old_string": "x", "new_string": "y"}, "String to replace not found in file."),
        ]
    )


NAMES = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py"))
_KINDS = {
    "read": _read, "grep": _grep, "glob": _glob, "edit": _edit, "write": _write, "bash": _bash, "fetch": _fetch,
    "search": _search, "agent": _agent, "mcp": _mcp, "todo": _todo, "failure": _failure,
}  # fmt: skip
