"""Neither library is loaded before its observer is built; where it is missing, the extra is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from agentguard.errors import ConfigurationError
from agentguard.telemetry import OpenTelemetryObserver, PrometheusObserver, metrics_text


def test_importing_telemetry_loads_neither_library() -> None:
    code = (
        "import json, sys, agentguard.telemetry; agentguard.telemetry.LogObserver(); print(json.dumps([*sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert not {"opentelemetry", "prometheus_client", "numpy", "scipy"} & set(json.loads(run.stdout))


@pytest.mark.parametrize(
    ("library", "build", "extra"),
    [
        ("opentelemetry", OpenTelemetryObserver, "otel"),
        ("prometheus_client", PrometheusObserver, "prometheus"),
        ("prometheus_client", metrics_text, "prometheus"),
    ],
)
def test_where_a_library_is_missing_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, library: str, build: Callable[[], object], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(ConfigurationError, match=rf"pip install 'agentguard\[{extra}\]'"):
        build()
