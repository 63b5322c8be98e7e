"""Models of three providers, opened as a configuration opens them and served by the loopback server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentguard.gate._config import EmbeddingsConfig, ModelConfig

MODELS = {
    "openai": ("gpt-4o-mini", "text-embedding-3-small"),
    "ollama": ("llama3.2", "nomic-embed-text"),
    "bedrock": ("anthropic.claude-3-sonnet-20240229-v1:0", "amazon.titan-embed-text-v2:0"),
}


@pytest.fixture(params=list(MODELS))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model_config(model_server: Any, provider: str) -> Callable[..., ModelConfig]:
    def build(**settings: Any) -> ModelConfig:
        address = model_server.base_url(provider)
        return ModelConfig(
            provider=provider,
            model_id=MODELS[provider][0],
            **{"base_url": address, "timeout_seconds": 20.0, "max_retries": 0, **settings},
        )

    return build


@pytest.fixture
def embeddings_config(model_server: Any, provider: str) -> EmbeddingsConfig:
    return EmbeddingsConfig(provider=provider, model_id=MODELS[provider][1], base_url=model_server.base_url(provider))
