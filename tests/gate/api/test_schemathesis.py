"""What the API's description allows, and what it does not, sent to it by schemathesis: no answer breaks a promise.

For longer, with other examples every time:

    AGENTGUARD_API_EXAMPLES=1000 python -m pytest tests/gate/api/test_schemathesis.py
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from agentguard.gate.api import create_app
from agentguard.serving import _app as keys

schemathesis = pytest.importorskip("schemathesis", reason="it is one of the development tools")

from schemathesis.config import SchemathesisConfig  # noqa: E402 - it may be missing
from schemathesis.engine import Status, events, from_schema  # noqa: E402 - likewise

EXAMPLES = os.environ.get("AGENTGUARD_API_EXAMPLES")


def find_failures(app: FastAPI, key: str) -> tuple[list[str], Counter[tuple[str, int]]]:
    """Run all phases with all checks; gives what failed, and how often each operation answered with which status."""
    config = SchemathesisConfig.from_dict(
        {
            "auth": {"openapi": {"ApiKey": {"api_key": key}}},
            "generation": {"max-examples": int(EXAMPLES or 10), "deterministic": EXAMPLES is None, "database": "none"},
            **({} if EXAMPLES else {"seed": 8321}),
        }
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config, headers={"X-API-Key": key})
    failures: list[str] = []
    answered: Counter[tuple[str, int]] = Counter()
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            failures.append(str(event))
        elif isinstance(event, events.ScenarioFinished):
            recorder: Any = event.recorder
            for case_id, checks in recorder.checks.items():
                operation = recorder.cases[case_id].value.operation.label
                failures += [f"{operation}: {check.name}" for check in checks if check.status == Status.FAILURE]
            for case_id, interaction in recorder.interactions.items():
                if interaction.response is not None and case_id in recorder.cases:
                    operation = recorder.cases[case_id].value.operation.label
                    answered[operation, interaction.response.status_code] += 1
    return failures, answered


def test_schemathesis_finds_nothing(root: Path, key: str) -> None:
    failures, answered = find_failures(create_app(root, api_key=key), key)

    assert failures == []
    # … and it has been everywhere, so that this says something.
    operations = {"POST /evaluate", "GET /runs/{run_id}", "GET /history"}
    assert {operation for operation, status in answered if status == 200} == {*operations, "GET /healthz"}
    for status in (401, 404, 405, 422):
        assert {operation for operation, answer in answered if answer == status} >= operations


def test_schemathesis_would_find_an_open_door(root: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(root, api_key=key)
    monkeypatch.setattr(keys.ServiceKey, "opens", lambda *_: True)

    failures, _ = find_failures(app, key)

    assert "GET /history: ignored_auth" in failures
