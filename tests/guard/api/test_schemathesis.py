"""What the description of the guard's operations allows, and what it does not, sent to them by schemathesis.

For longer, with other examples every time:

    AGENTGUARD_API_EXAMPLES=1000 python -m pytest tests/guard/api/test_schemathesis.py
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from agentguard.guard.api import create_app
from agentguard.verification import VerificationEngine

schemathesis = pytest.importorskip("schemathesis", reason="it is one of the development tools")

from schemathesis.config import SchemathesisConfig  # noqa: E402 - it may be missing
from schemathesis.engine import Status, events, from_schema  # noqa: E402 - likewise

EXAMPLES = os.environ.get("AGENTGUARD_API_EXAMPLES")


def test_schemathesis_finds_nothing(engine: VerificationEngine, key: str) -> None:
    config = SchemathesisConfig.from_dict(
        {
            "auth": {"openapi": {"ApiKey": {"api_key": key}}},
            "generation": {"max-examples": int(EXAMPLES or 8), "deterministic": EXAMPLES is None, "database": "none"},
            **({} if EXAMPLES else {"seed": 8321}),
        }
    )
    schema = schemathesis.openapi.from_asgi(
        "/openapi.json", create_app(engine, api_key=key), config=config, headers={"X-API-Key": key}
    )
    failures: list[str] = []
    answered: Counter[tuple[str, int]] = Counter()
    for happened in from_schema(schema).execute():
        if isinstance(happened, events.NonFatalError | events.FatalError):
            failures.append(str(happened))
        elif isinstance(happened, events.ScenarioFinished):
            recorder: Any = happened.recorder
            for case_id, checks in recorder.checks.items():
                operation = recorder.cases[case_id].value.operation.label
                failures += [
                    f"{operation}: {check.name} {getattr(check.failure_info, 'failure', check.failure_info)}"[:900]
                    for check in checks
                    if check.status == Status.FAILURE
                ]
            for case_id, interaction in recorder.interactions.items():
                if interaction.response is not None and case_id in recorder.cases:
                    operation = recorder.cases[case_id].value.operation.label
                    answered[operation, interaction.response.status_code] += 1

    assert failures == []
    # … and it has been everywhere, so that this says something.
    taken = {
        "POST /v1/verify", "POST /v1/scan", "POST /v1/ground", "POST /v1/check", "POST /v1/feedback", "GET /v1/changes",
        "POST /beta/litellm_basic_guardrail_api",
    }  # fmt: skip
    operations = {*taken, "POST /v1/changes/{id}"}
    assert {operation for operation, status in answered if status == 200} >= taken
    for status in (401, 405, 422):
        assert {operation for operation, answer in answered if answer == status} >= operations
