"""The shapes of built-in tools' results, as JSON Schemas of our own, after the published types of the agent SDK."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
FLAG = {"type": "boolean"}
LIST = {"type": "array"}
NAMES = {"type": "array", "items": TEXT}
TEXT_OR_NONE = {"type": ["string", "null"]}
HUNKS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["oldStart", "oldLines", "newStart", "newLines", "lines"],
        "properties": {"oldStart": NUMBER, "oldLines": NUMBER, "newStart": NUMBER, "newLines": NUMBER, "lines": NAMES},
        "additionalProperties": False,
    },
}
BLOCKS = {
    "type": "array",
    "items": {"type": "object", "required": ["type", "text"], "properties": {"type": {"const": "text"}, "text": TEXT}},
}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


USAGE = {"type": "object", "required": ["input_tokens", "output_tokens"]}
AGENT = {
    "anyOf": [
        record(
            {
                "agentId": TEXT, "content": BLOCKS, "totalToolUseCount": NUMBER, "totalDurationMs": NUMBER,
                "totalTokens": NUMBER, "usage": USAGE, "status": {"const": "completed"}, "prompt": TEXT,
            },
            {"agentType": TEXT},
        ),
        record(
            {
                "status": {"const": "async_launched"}, "agentId": TEXT, "description": TEXT, "prompt": TEXT,
                "outputFile": TEXT,
            },
            {"isAsync": {"const": True}},
        ),
    ]
}  # fmt: skip
PATCHED = {"gitDiff": {"type": "object"}, "staged": FLAG}

SHAPES: dict[str, dict[str, Any]] = {
    "Agent": AGENT,
    "Bash": record(
        {"stdout": TEXT, "stderr": TEXT, "interrupted": FLAG},
        {
            "isImage": FLAG, "noOutputExpected": FLAG, "returnCodeInterpretation": TEXT, "structuredContent": LIST,
            "persistedOutputPath": TEXT, "persistedOutputSize": NUMBER, "gitOperation": {"type": "object"},
        },
    ),
    "Edit": record(
        {
            "filePath": TEXT, "oldString": TEXT, "newString": TEXT, "originalFile": TEXT_OR_NONE,
            "structuredPatch": HUNKS, "userModified": FLAG, "replaceAll": FLAG,
        },
        PATCHED,
    ),
    "ExitPlanMode": record({"plan": TEXT_OR_NONE, "isAgent": FLAG}, {"filePath": TEXT}),
    "Glob": record(
        {"durationMs": NUMBER, "numFiles": NUMBER, "filenames": NAMES, "truncated": FLAG},
        {"totalMatches": NUMBER, "countIsComplete": FLAG},
    ),
    "Grep": record(
        {"numFiles": NUMBER, "filenames": NAMES},
        {
            "mode": {"enum": ["content", "files_with_matches", "count"]}, "content": TEXT, "numLines": NUMBER,
            "numMatches": NUMBER, "appliedLimit": NUMBER,
        },
    ),
    "ListMcpResourcesTool": {"type": "array", "items": record({"uri": TEXT, "name": TEXT, "server": TEXT})},
    "NotebookEdit": record(
        {
            "new_source": TEXT, "cell_type": {"enum": ["code", "markdown"]}, "language": TEXT, "edit_mode": TEXT,
            "notebook_path": TEXT, "original_file": TEXT, "updated_file": TEXT,
        },
        {"old_source": TEXT, "cell_id": TEXT, "error": TEXT},
    ),
    "Read": {
        "anyOf": [
            record(
                {
                    "type": {"const": "text"},
                    "file": record(
                        {
                            "filePath": TEXT, "content": TEXT, "numLines": NUMBER, "startLine": NUMBER,
                            "totalLines": NUMBER,
                        }
                    ),
                }
            ),
            record(
                {
                    "type": {"const": "image"},
                    "file": record({"base64": TEXT, "type": {"enum": ["image/png"]}, "originalSize": NUMBER}),
                }
            ),
            record({"type": {"const": "notebook"}, "file": record({"filePath": TEXT, "cells": {"type": "array"}})}),
            record(
                {"type": {"const": "pdf"}, "file": record({"filePath": TEXT, "base64": TEXT, "originalSize": NUMBER})}
            ),
        ]
    },
    "ReadMcpResourceDirTool": record(
        {"resources": {"type": "array", "items": record({"uri": TEXT, "name": TEXT})}}, {"error": TEXT}
    ),
    "ReadMcpResourceTool": record(
        {"contents": {"type": "array", "items": record({"uri": TEXT}, {"text": TEXT, "mimeType": TEXT})}},
        {"error": TEXT},
    ),
    "TaskStop": record({"message": TEXT, "task_id": TEXT, "task_type": TEXT}, {"command": TEXT}),
    "TodoWrite": record({"oldTodos": {"type": "array"}, "newTodos": {"type": "array"}}),
    "WebFetch": record(
        {"bytes": NUMBER, "code": NUMBER, "codeText": TEXT, "result": TEXT, "durationMs": NUMBER, "url": TEXT}
    ),
    "WebSearch": record(
        {
            "query": TEXT, "durationSeconds": NUMBER,
            "results": {"type": "array", "items": {"anyOf": [TEXT, record({"tool_use_id": TEXT, "content": LIST})]}},
        },
        {"searchCount": NUMBER},
    ),
    "Write": record(
        {
            "type": {"enum": ["create", "update"]}, "filePath": TEXT, "content": TEXT, "structuredPatch": HUNKS,
            "originalFile": TEXT_OR_NONE,
        },
        {"userModified": FLAG, **PATCHED},
    ),
}  # fmt: skip
SHAPES["Task"] = AGENT

#: Results with everything that they need not have, and with words that must not be seen once they are blocked.
RARE: list[tuple[str, dict[str, Any], Any]] = [
    ("Bash", {"command": "make"}, {
        "stdout": "SECRET", "stderr": "SECRET", "interrupted": False, "isImage": True, "structuredContent": ["SECRET"],
        "persistedOutputPath": "/var/SECRET", "persistedOutputSize": 9, "returnCodeInterpretation": "SECRET",
        "gitOperation": {"push": {"branch": "SECRET"}}, "noOutputExpected": True,
    }),
    ("Agent", {"prompt": "go"}, {
        "status": "async_launched", "isAsync": True, "agentId": "a1", "description": "SECRET", "prompt": "SECRET",
        "outputFile": "/var/a1",
    }),
    ("Task", {"prompt": "go"}, {
        "status": "completed", "agentId": "a1", "content": [{"type": "text", "text": "SECRET"}] * 2, "prompt": "SECRET",
        "totalToolUseCount": 1, "totalDurationMs": 2, "totalTokens": 3,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }),
    ("Edit", {"file_path": "/a"}, {
        "filePath": "/a", "oldString": "SECRET", "newString": "SECRET", "originalFile": None, "structuredPatch": [],
        "userModified": False, "replaceAll": False, "gitDiff": {"patch": "SECRET"},
    }),
    ("Grep", {"pattern": "x"}, {"numFiles": 2, "filenames": ["SECRET", "b"]}),
    ("ExitPlanMode", {}, {"plan": None, "isAgent": False}),
    ("ListMcpResourcesTool", {}, [{"uri": "a://SECRET", "name": "SECRET", "server": "s"}]),
    ("NotebookEdit", {"notebook_path": "/n"}, {
        "new_source": "SECRET", "old_source": "SECRET", "cell_type": "code", "language": "python",
        "edit_mode": "replace", "notebook_path": "/n", "original_file": "SECRET", "updated_file": "SECRET",
    }),
    ("Read", {"file_path": "/p.png"}, {
        "type": "image", "file": {"base64": "SECRET", "type": "image/png", "originalSize": 4},
    }),
    ("Read", {"file_path": "/p.pdf"}, {
        "type": "pdf", "file": {"filePath": "/p.pdf", "base64": "SECRET", "originalSize": 4},
    }),
    ("Read", {"file_path": "/n.ipynb"}, {"type": "notebook", "file": {"filePath": "/n.ipynb", "cells": ["SECRET"]}}),
    ("ReadMcpResourceTool", {"server": "s", "uri": "a://b"}, {"contents": [{"uri": "a://b", "text": "SECRET"}]}),
    ("ReadMcpResourceDirTool", {"server": "s", "uri": "a://b"}, {
        "resources": [{"uri": "a://SECRET", "name": "SECRET"}],
    }),
    ("TaskStop", {"task_id": "t"}, {"message": "SECRET", "task_id": "t", "task_type": "shell", "command": "SECRET"}),
    ("TodoWrite", {"todos": []}, {"oldTodos": [{"content": "SECRET"}], "newTodos": []}),
]  # fmt: skip
