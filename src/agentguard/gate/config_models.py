"""The models that a run asks, as ``model``, ``judge`` and ``embeddings`` declare them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from agentguard.gate.config_options import faults_of_options
from agentguard.gate.config_section import Section, Text, check_url

__all__ = ["EmbeddingsConfig", "JudgeConfig", "ModelConfig", "provider_key"]


def provider_key(provider: str) -> str:
    """A provider's one name, as langchain spells it but for ``bedrock``, however it is written.

    >>> provider_key("Bedrock-Converse"), provider_key("OpenAI")
    ('bedrock', 'openai')
    """
    key = provider.strip().lower().replace("-", "_")
    return "bedrock" if key == "bedrock_converse" else key


class ModelConfig(Section):
    """A chat model, as ``langchain.chat_models.init_chat_model`` opens it.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``, or any provider that langchain knows.
        model_id: the provider's name of the model.
        base_url: where it is served, where that is not the provider's own address.
        temperature: 0 where nothing is said.
        max_tokens: the most tokens of an answer.
        timeout_seconds: after which a request has failed.
        max_retries: of a request that failed; none unless asked, since a retry hides what failed.
        options: further arguments of the model's class.
    """

    provider: Text
    model_id: Text
    base_url: Text | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0, strict=True)] = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 4096
    timeout_seconds: Annotated[float, Field(gt=0.0, le=3_600.0, strict=True)] = 60.0
    max_retries: Annotated[int, Field(ge=0, le=20, strict=True)] = 0
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _address(cls, base_url: str | None) -> str | None:
        return None if base_url is None else check_url(base_url)

    @field_validator("options")
    @classmethod
    def _further(cls, options: dict[str, Any]) -> dict[str, Any]:
        faults = faults_of_options(options)
        if faults:
            raise ValueError("; ".join(faults))
        return options

    @property
    def name(self) -> str:
        """``provider:model_id``."""
        return f"{self.provider}:{self.model_id}"

    def may_be(self, other: ModelConfig) -> bool:
        """Whether both may be the same model: of one name, unless they are served at different addresses."""
        ours, theirs = ((provider_key(each.provider), each.model_id.casefold()) for each in (self, other))
        addresses = {each.base_url.rstrip("/") for each in (self, other) if each.base_url is not None}
        return ours == theirs and len(addresses) < 2


class JudgeConfig(ModelConfig):
    """The model that writes prompts, splits answers into claims and verifies them; without one, rules do all three.

    Attributes:
        allow_same_model: an explicit yes to a judge that is the model under test.
    """

    allow_same_model: Annotated[bool, Field(strict=True)] = False


class EmbeddingsConfig(Section):
    """The model whose vectors the evidence is searched by; without one, hashed n-grams of characters.

    Attributes:
        provider: ``bedrock``, ``ollama``, ``openai``.
        model_id: ``amazon.titan-embed-text-v2:0``, for example.
        base_url: where it is served, where that is not the provider's own address.
    """

    provider: Text
    model_id: Text
    base_url: Text | None = None

    @field_validator("base_url")
    @classmethod
    def _address(cls, base_url: str | None) -> str | None:
        return None if base_url is None else check_url(base_url)

    @property
    def name(self) -> str:
        """``provider:model_id``."""
        return f"{self.provider}:{self.model_id}"
