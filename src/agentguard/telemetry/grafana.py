"""The dashboard that comes with the metrics."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["dashboard"]


def dashboard() -> str:
    """The JSON of a Grafana dashboard over what ``PrometheusObserver`` exports, to be imported or provisioned.

    >>> '"title": "agentguard"' in dashboard()
    True
    """
    return files("agentguard.telemetry").joinpath("grafana.json").read_text(encoding="utf-8")
