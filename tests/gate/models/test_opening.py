import builtins
import sys
from typing import Any

import pytest

from agentguard.errors import ConfigurationError
from agentguard.gate._config import EmbeddingsConfig, ModelConfig
from agentguard.gate.models._opening import open_chat_model, open_embeddings


def config(provider: str, **settings: Any) -> ModelConfig:
    return ModelConfig(provider=provider, model_id="m", **settings)


@pytest.mark.parametrize(
    ("provider", "package", "extra"),
    [
        ("openai", "langchain_openai", "agentguard[openai]"),
        ("ollama", "langchain_ollama", "agentguard[ollama]"),
        ("bedrock", "langchain_aws", "agentguard[bedrock]"),
        ("Bedrock-Converse", "langchain_aws", "agentguard[bedrock]"),
        ("openai", "langchain.chat_models", "agentguard[openai]"),
        ("mistralai", "langchain_mistralai", "langchain-mistralai"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    model_server: Any, monkeypatch: pytest.MonkeyPatch, provider: str, package: str, extra: str
) -> None:
    if package == "langchain.chat_models":
        importing = builtins.__import__

        def without(name: str, *args: Any, **kwargs: Any) -> Any:
            if name == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return importing(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)
    else:
        from langchain.chat_models import base

        base._get_chat_model_creator.cache_clear()
        monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigurationError) as caught:
        open_chat_model(config(provider), "judge")
    assert str(caught.value).startswith(f"judge ({provider}:m) needs a library that is not installed: pip install ")
    assert extra in str(caught.value)


def test_a_missing_library_of_embeddings(model_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain.embeddings import base

    base._get_embeddings_class_creator.cache_clear()
    monkeypatch.setitem(sys.modules, "langchain_aws", None)

    with pytest.raises(ConfigurationError, match=r"embeddings \(bedrock:m\).* pip install 'agentguard\[bedrock\]'"):
        open_embeddings(EmbeddingsConfig(provider="bedrock", model_id="m"))


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^model \(mainframe:m\) cannot be opened: .*mainframe"):
        open_chat_model(config("mainframe"))
    with pytest.raises(ConfigurationError, match=r"^embeddings \(mainframe:m\) cannot be opened: .*mainframe"):
        open_embeddings(EmbeddingsConfig(provider="mainframe", model_id="m"))


def test_a_missing_key_is_asked_for(model_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY must be set"):
        open_chat_model(config("openai"))


def test_a_missing_region_is_asked_for(model_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.delenv("AWS_REGION", raising=False)

    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION must name a region"):
        open_chat_model(config("bedrock"))


def test_an_option_that_the_client_does_not_take(model_server: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^model \(openai:m\) cannot be opened: ") as caught:
        open_chat_model(config("openai", options={"n": "not a number 77"}))
    assert "77" not in str(caught.value)
