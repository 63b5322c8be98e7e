"""Open chat models and embeddings by LangChain, as a configuration names them. Nowhere else is it imported.

Requests are sent once, whole and every time: no retry unless asked for, no streaming, no cache. Keys come from the
environment, where each provider's client looks for them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any, Final, Literal, TypeVar, cast

from pydantic import ValidationError

from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError, GateError
from agentguard.gate._config import EmbeddingsConfig, ModelConfig, provider_key
from agentguard.gate.evidence._index import Embeddings
from agentguard.gate.models._asking import (
    ChatModel,
    Unanswered,
    check_concurrency,
    describe_failure,
    may_pass,
    presentable,
    wished_pause,
)

PORTION = 32


class ModelEmbeddings:
    """Embeddings of LangChain's, whose failures are named and whose vectors are checked.

    Args:
        model: Any ``langchain_core.embeddings.Embeddings``.
        name: What messages call it.
        max_concurrency: How many portions of texts are under way at once.
    """

    def __init__(self, model: Embeddings, name: str, max_concurrency: int = 8) -> None:
        self._model = model
        self.name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, in their order, all of one length.

        Raises:
            GateError: If one of them could not be had, or is no vector.
        """
        portions = [texts[start : start + PORTION] for start in range(0, len(texts), PORTION)]
        if len(portions) < 2:
            return self._checked([vector for portion in portions for vector in self._embed(portion)])
        with ThreadPoolExecutor(min(self._max_concurrency, len(portions))) as pool:
            return self._checked([vector for vectors in pool.map(self._embed, portions) for vector in vectors])

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for.

        Raises:
            GateError: If it could not be had, or is no vector.
        """
        try:
            vector = self._model.embed_query(encodable(text))
        except Exception as error:  # each provider's client fails in its own way
            raise self._failed(error, [text]) from None
        return self._checked([vector])[0]

    def _embed(self, texts: list[str]) -> list[list[float]]:
        try:
            vectors = self._model.embed_documents([encodable(text) for text in texts])
        except Exception as error:  # each provider's client fails in its own way
            raise self._failed(error, texts) from None
        if len(vectors) != len(texts):
            raise GateError(f"{self.name} gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _checked(self, vectors: list[list[float]]) -> list[list[float]]:
        lengths = {len(vector) for vector in vectors}
        if len(lengths) > 1 or 0 in lengths:
            raise GateError(f"{self.name} gave vectors of differing or no length: {sorted(lengths)}")
        if not all(isinstance(value, (int, float)) and isfinite(value) for vector in vectors for value in vector):
            raise GateError(f"{self.name} gave a vector with values that are no finite numbers")
        return vectors

    def _failed(self, error: Exception, texts: Sequence[str]) -> GateError:
        number = f"{len(texts)} text{'s' if len(texts) != 1 else ''}"
        return GateError(f"{self.name} did not embed {number}: {describe_failure(error, texts)}")


# --- Opening ---

EMBEDDING_TIMEOUT_SECONDS = 60.0
LONGEST_PAUSE = 16.0
EXTRAS: Final = frozenset({"bedrock", "ollama", "openai"})

_HINTS: Final = {
    "bedrock": "AWS_DEFAULT_REGION must name a region, and credentials be in the environment or a role",
    "openai": "OPENAI_API_KEY must be set; where the server asks for no key, to any text",
}

T = TypeVar("T")


def open_chat_model(
    config: ModelConfig, role: Literal["model", "judge"] = "model", *, max_concurrency: int = 8
) -> ChatModel:
    """Open the chat model that a configuration names.

    Args:
        config: Provider, model and limits. ``bedrock`` is spoken to by the Converse API; any provider that
            ``init_chat_model`` knows is taken.
        role: The section of the configuration, for messages.
        max_concurrency: How many requests will be under way at once.

    Raises:
        ConfigurationError: If the provider is unknown, its library is missing, or the model cannot be opened as
            configured, for want of a key for example.
    """
    where = f"{role} ({config.name})"
    provider = provider_key(config.provider)
    settings: dict[str, Any] = {
        "model_provider": "bedrock_converse" if provider == "bedrock" else provider,
        "temperature": config.temperature,
        "disable_streaming": True,
        "cache": False,
    }
    if config.base_url is not None:
        settings["base_url"] = config.base_url

    def opened() -> ChatModel:
        from langchain.chat_models import init_chat_model

        if provider == "ollama":
            client = {**config.options.get("client_kwargs", {}), "timeout": config.timeout_seconds}
            own = {**config.options, "client_kwargs": client}
            model = init_chat_model(config.model_id, **settings, num_predict=config.max_tokens, **own)
            # The client streams even where a whole answer is asked for; bound to False, it asks for one object.
            return _counted(model.bind(stream=False), config.max_retries)
        settings["max_tokens"] = config.max_tokens
        if provider == "bedrock":
            settings["config"] = _botocore(config.timeout_seconds, max_concurrency)
        else:
            settings.update(timeout=config.timeout_seconds, max_retries=0)
        return _counted(init_chat_model(config.model_id, **settings, **config.options), config.max_retries)

    return _opened(opened, provider, where)


def open_embeddings(config: EmbeddingsConfig, *, max_concurrency: int = 8) -> Embeddings:
    """Open the embeddings that a configuration names.

    Args:
        config: Provider and model: ``bedrock`` (Titan and others), ``ollama``, ``openai``, or what else LangChain's
            ``init_embeddings`` knows.
        max_concurrency: How many requests are under way at once.

    Raises:
        ConfigurationError: If the provider is unknown, its library is missing, or the model cannot be opened.
    """
    provider = provider_key(config.provider)
    settings: dict[str, Any] = {}
    if config.base_url is not None:
        settings["endpoint_url" if provider == "bedrock" else "base_url"] = config.base_url

    def opened() -> Embeddings:
        from langchain.embeddings import init_embeddings

        if provider == "bedrock":
            settings["config"] = _botocore(EMBEDDING_TIMEOUT_SECONDS, max_concurrency)
        elif provider == "ollama":
            settings["client_kwargs"] = {"timeout": EMBEDDING_TIMEOUT_SECONDS}
        elif provider == "openai":
            # Counting tokens would fetch their table from elsewhere, and other servers of this protocol take text only.
            settings.update(timeout=EMBEDDING_TIMEOUT_SECONDS, max_retries=0, check_embedding_ctx_length=False)
        return cast(Embeddings, init_embeddings(config.model_id, provider=provider, **settings))

    model = _opened(opened, provider, f"embeddings ({config.name})")
    return ModelEmbeddings(model, config.name, max_concurrency)


def _botocore(timeout_seconds: float, max_concurrency: int) -> Any:
    from botocore.config import Config

    return Config(
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        # Of all numbers of attempts that botocore reads, this one counts the first.
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=max(10, max_concurrency),
    )


def _counted(model: Any, max_retries: int) -> ChatModel:
    """Send a request again where it failed and may pass, in place of the client, and count.

    Raises, when it is asked, ``Unanswered`` from the last failure.
    """
    from langchain_core.runnables import RunnableLambda

    def ask(messages: Any) -> Any:
        number = 0
        while True:
            number += 1
            try:
                return model.invoke(messages)
            except Exception as error:  # each provider's client fails in its own way
                if number > max_retries or not may_pass(error):
                    raise Unanswered(number) from error
                pause = wished_pause(error) or min(LONGEST_PAUSE, 2.0 ** (number - 1))
            time.sleep(pause)

    return cast(ChatModel, RunnableLambda(ask))


def _opened(opener: Callable[[], T], provider: str, where: str) -> T:
    try:
        return opener()
    except ImportError as error:
        raise ConfigurationError(
            f"{where} needs a library that is not installed: {_install(provider, error)}"
        ) from None
    except Exception as error:  # each provider's client refuses its settings in its own way
        hint = f"; {_HINTS[provider]}" if provider in _HINTS else ""
        raise ConfigurationError(f"{where} cannot be opened: {_refusal(error)}{hint}") from None


def _install(provider: str, error: ImportError) -> str:
    if provider in EXTRAS:
        return f"pip install 'agentguard[{provider}]'"
    # langchain names the package of a provider that it knows.
    named = re.search(r"pip install ([\w-]+)", str(error))
    return f"pip install langchain {named[1]}" if named else f"pip install langchain ({presentable(str(error))})"


def _refusal(error: Exception) -> str:
    if isinstance(error, ValidationError):  # its own text would quote the settings
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        message = "; ".join(f"{'.'.join(map(str, fault['loc']))} {fault['msg']}".strip() for fault in faults)
    else:
        message = next(iter(str(error).strip().splitlines()), "")
    return presentable(f"{type(error).__name__}: {message}" if message else type(error).__name__)
