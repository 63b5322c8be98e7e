"""What tests of several parts of the gate share: a model server on loopback, and a model to put behind it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator

import pytest

from .model_server import ModelServer
from .scripted_brain import ScriptedBrain


@pytest.fixture(scope="session", autouse=True)
def _service_descriptions_are_read_once() -> Iterator[None]:
    """Each client of AWS would read megabytes of them anew, which is most of the time that it takes to open one."""
    try:
        from botocore import session
    except ImportError:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_loader", functools.cache(session.create_loader))
        yield


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A running server of the three protocols, and an environment with keys that are none."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "OLLAMA_API_KEY", "OLLAMA_HOST", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING"):
        monkeypatch.setenv(name, "false")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTTESTTESTTEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-access-key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-of-the-environment")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ModelServer() as server:
        yield server


@pytest.fixture
def scripted_brain() -> type[ScriptedBrain]:
    """A model for ``model_server.answer``: plays the model under test and its judge."""
    return ScriptedBrain
