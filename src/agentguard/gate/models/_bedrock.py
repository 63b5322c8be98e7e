"""Take judge and vectors from Bedrock, as the published document does, where a configuration names neither."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Final

from agentguard.gate._config import EmbeddingsConfig, GateConfig, JudgeConfig, provider_key
from agentguard.gate.models._asking import presentable

CLAUDE: Final = "anthropic.claude-3-sonnet-20240229-v1:0"
TITAN: Final = "amazon.titan-embed-text-v2:0"

_PACKAGES: Final = ("boto3", "langchain", "langchain_aws")
_PLACES: Final = ("region_name", "credentials_profile_name")


def with_bedrock(config: GateConfig) -> tuple[GateConfig, str]:
    """Add Claude as judge, and Titan's vectors where none are named, if the model under test is one of Bedrock's.

    Where ``judge`` is declared, the configuration stays as it is.

    Returns:
        The configuration, and a line that says who judges: of rules that nobody asked for, it says why they do.
    """
    model = config.model
    if config.judge is not None:
        names = " + ".join(judge.name for judge in (config.judge, *config.verifiers))
        return config, f"judged by {names}"
    why = _why_not(config)
    if model is None or why:
        return config, f"judged by rules: {why}"
    judge = JudgeConfig(
        provider="bedrock",
        model_id=CLAUDE,
        base_url=model.base_url,
        timeout_seconds=model.timeout_seconds,
        max_retries=model.max_retries,
    )
    vectors = config.embeddings or EmbeddingsConfig(provider="bedrock", model_id=TITAN, base_url=model.base_url)
    line = f"judged by {judge.name}, vectors by {vectors.name}"
    if judge.may_be(model):
        line += "; it is the model under test too, asked in requests of their own: judge names another"
    return config.model_copy(update={"judge": judge, "embeddings": vectors}), line


def _why_not(config: GateConfig) -> str:
    """Say why Bedrock cannot judge; "" where it can."""
    model = config.model
    if model is None or provider_key(model.provider) != "bedrock":
        return "no judge is declared, and the model under test is none of Bedrock's"
    if any(name in model.options for name in _PLACES):
        return "model.options names a region or a profile of its own, and no judge is declared"
    if any(find_spec(name) is None for name in _PACKAGES):
        return "a package is missing: pip install 'agentguard[bedrock]'"
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    session = get_session()
    try:
        if not os.environ.get("AWS_BEARER_TOKEN_BEDROCK") and session.get_credentials() is None:
            return "no AWS credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role)"
        if not os.environ.get("AWS_REGION") and not session.get_config_variable("region"):
            return "no AWS region (AWS_DEFAULT_REGION)"
    except BotoCoreError as error:
        return f"AWS credentials cannot be read: {presentable(str(error))}"
    return ""
