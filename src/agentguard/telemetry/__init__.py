"""Verdicts as traces, metrics and log lines, for the systems that watch over a service.

>>> from agentguard.telemetry import LogObserver, observe
>>> from agentguard.verification import VerificationEngine
>>> engine = observe(VerificationEngine(), LogObserver())
>>> engine.verify("add", args={"a": 1, "b": 2}, result=3).verdict
'accept'

An observed engine takes the place of the engine wherever one is asked for. OpenTelemetry and Prometheus are optional:
they are imported when their observer is built, and an engine without observers is not wrapped at all.
"""

from agentguard.telemetry._log import CallLog, LogObserver
from agentguard.telemetry._observer import Observation, ObservedEngine, Observer, observe
from agentguard.telemetry._opentelemetry import OpenTelemetryObserver
from agentguard.telemetry._prometheus import MetricsText, PrometheusObserver, dashboard, metrics_text
from agentguard.telemetry._webhook import WebhookObserver

__all__ = [
    "CallLog",
    "LogObserver",
    "MetricsText",
    "Observation",
    "ObservedEngine",
    "Observer",
    "OpenTelemetryObserver",
    "PrometheusObserver",
    "WebhookObserver",
    "dashboard",
    "metrics_text",
    "observe",
]
