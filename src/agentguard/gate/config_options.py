"""What the ``options`` of a model must not say: what a setting says already, what is left out for good, secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["faults_of_options"]

_SETTINGS: Final = {
    "model": "model_id",
    "model_id": "model_id",
    "model_name": "model_id",
    "model_provider": "provider",
    "base_url": "base_url",
    "endpoint_url": "base_url",
    "openai_api_base": "base_url",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "timeout": "timeout_seconds",
    "request_timeout": "timeout_seconds",
    "max_retries": "max_retries",
}
_LEFT_OUT: Final = frozenset(
    {"cache", "config_prefix", "configurable_fields", "disable_streaming", "stream", "streaming"}
)
_SECRET: Final = re.compile(
    r"api[_-]?key|access[_-]?key|secret|password|credentials?$|(access|session|auth|bearer)[_-]?token|authorization",
    re.IGNORECASE,
)


def faults_of_options(options: Mapping[str, Any]) -> list[str]:
    """All of them, in the order of the options.

    >>> faults_of_options({"top_p": 0.5, "stream": True, "headers": {"X-Api-Key": "…"}})
    ['stream cannot be set: answers are neither streamed nor cached', \
'headers.X-Api-Key looks like a secret: secrets come from the environment']
    """
    faults = []
    for name, value in options.items():
        if name in _SETTINGS:
            faults.append(f"{name} is what {_SETTINGS[name]} says: set that")
        elif name in _LEFT_OUT:
            faults.append(f"{name} cannot be set: answers are neither streamed nor cached")
        elif name == "client_kwargs" and (not isinstance(value, Mapping) or "timeout" in value):
            faults.append("client_kwargs must be a mapping without timeout, which timeout_seconds says")
        faults += [f"{path} looks like a secret: secrets come from the environment" for path in _secrets(name, value)]
    return faults


def _secrets(name: str, value: Any) -> list[str]:
    """The paths of all that is named as secrets are."""
    if _SECRET.search(name):
        return [name]
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    return [f"{name}.{path}" for key, below in items for path in _secrets(str(key), below)]
