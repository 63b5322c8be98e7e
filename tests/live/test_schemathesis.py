"""What the description of the page's operations allows, and what it does not, sent to them by schemathesis."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="it is one of the development tools")

from schemathesis.config import SchemathesisConfig  # noqa: E402 - it may be missing
from schemathesis.engine import Status, events, from_schema  # noqa: E402 - likewise


def test_schemathesis_finds_nothing(shop: Any, key: str, make_app: Callable[..., Any]) -> None:
    config = SchemathesisConfig.from_dict(
        {
            "auth": {"openapi": {"ApiKey": {"api_key": key}}},
            "generation": {"max-examples": 10, "deterministic": True, "database": "none"},
            "seed": 8321,
        }
    )
    schema = schemathesis.openapi.from_asgi(
        "/openapi.json", make_app(shop.store), config=config, headers={"X-API-Key": key}
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
                failures += [f"{operation}: {check.name}" for check in checks if check.status == Status.FAILURE]
            for case_id, interaction in recorder.interactions.items():
                if interaction.response is not None and case_id in recorder.cases:
                    operation = recorder.cases[case_id].value.operation.label
                    answered[operation, interaction.response.status_code] += 1

    assert failures == []
    reads = {"GET /live/state", "GET /live/queue", "GET /live/changes"}
    writes = {"POST /live/reviews", "POST /live/decisions"}
    operations = {*reads, *writes, "GET /live/calls/{sequence}"}
    assert {operation for operation, status in answered if status == 200} >= reads
    for status in (401, 405):
        assert {operation for operation, answer in answered if answer == status} >= operations
    for write in writes:
        assert {status for operation, status in answered if operation == write} >= {404, 422}
