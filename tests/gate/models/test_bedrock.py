"""Bedrock as judge and for vectors where a configuration names neither; and why not, where it is not."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agentguard.errors import GateError
from agentguard.gate import GateConfig, evaluate, ingest, open_services, parse_config
from agentguard.gate.models._bedrock import with_bedrock

from ...rows import over

SONNET = "anthropic.claude-3-sonnet-20240229-v1:0"
CLAUDE, TITAN = f"bedrock:{SONNET}", "bedrock:amazon.titan-embed-text-v2:0"
NOVA = {"provider": "bedrock", "model_id": "amazon.nova-pro-v1:0"}
OTHER = {"provider": "openai", "model_id": "gpt-x"}


def config(folder: Path = Path(), **fields: Any) -> GateConfig:
    use = {"use_case": "help desk", "doc_sources": [{"type": "local", "path": "docs"}]}
    return parse_config({**use, "model": NOVA, **fields}, folder)


def names(found: GateConfig) -> tuple[str | None, str | None]:
    return (found.judge and found.judge.name, found.embeddings and found.embeddings.name)


def test_claude_judges_and_titan_makes_the_vectors(model_server: Any) -> None:
    found, line = with_bedrock(config())

    assert names(found) == (CLAUDE, TITAN)
    assert line == f"judged by {CLAUDE}, vectors by {TITAN}"


@pytest.mark.parametrize("name", [SONNET, f"us.{SONNET}", "anthropic.claude-3-sonnet-20240229-v1:0:28k"])
def test_the_line_says_that_claude_is_the_model_under_test_too(model_server: Any, name: str) -> None:
    _, line = with_bedrock(config(model={"provider": "bedrock", "model_id": name}))

    assert line.endswith("; it is the model under test too, asked in requests of their own: judge names another")


def test_the_judge_is_asked_where_and_as_patiently_as_the_model(model_server: Any) -> None:
    own = {"base_url": "https://vpce.example", "timeout_seconds": 7.0, "max_retries": 3, "temperature": 0.9}
    found, _ = with_bedrock(config(model={**NOVA, **own, "max_tokens": 5, "options": {"top_p": 0.1}}))

    assert found.judge is not None
    assert found.embeddings is not None
    declared = found.judge.model_dump()
    assert {name: declared[name] for name in own} == {**own, "temperature": 0.0}
    assert (declared["max_tokens"], declared["options"]) == (4096, {})
    assert found.embeddings.base_url == "https://vpce.example"


def test_vectors_that_are_declared_stay(model_server: Any) -> None:
    found, line = with_bedrock(config(embeddings={"provider": "ollama", "model_id": "nomic"}))

    assert names(found) == (CLAUDE, "ollama:nomic")
    assert line == f"judged by {CLAUDE}, vectors by ollama:nomic"


@over(
    ("fields", "line"),
    [
        ({"judge": OTHER}, "judged by openai:gpt-x"),
        ({"judge": {"type": "rules"}}, "judged by rules"),
        ({"judge": OTHER, "verifiers": [{"type": "rules"}]}, "judged by openai:gpt-x + rules"),
        ({"model": OTHER}, "judged by rules: no judge is declared, and the model under test is none of Bedrock's"),
        ({"model": None}, "judged by rules: no judge is declared, and the model under test is none of Bedrock's"),
        ({"model": {**NOVA, "options": {"region_name": "eu-west-1"}}},
         "judged by rules: model.options names a region or a profile of its own, and no judge is declared"),
    ],
)  # fmt: skip
def test_a_configuration_that_says_otherwise_stays_as_it_is(
    model_server: Any, fields: dict[str, Any], line: str
) -> None:
    declared = config(**fields)

    assert with_bedrock(declared) == (declared, line)


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
         "no AWS credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role)"),
        (["AWS_SECRET_ACCESS_KEY"],
         "AWS credentials cannot be read: Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY"),
        (["AWS_DEFAULT_REGION"], "no AWS region (AWS_DEFAULT_REGION)"),
    ],
)  # fmt: skip
def test_the_line_says_what_the_environment_lacks(
    model_server: Any, monkeypatch: pytest.MonkeyPatch, missing: list[str], why: str
) -> None:
    for name in (*missing, "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)

    assert with_bedrock(config()) == (config(), f"judged by rules: {why}")


@pytest.mark.parametrize("package", ["boto3", "langchain", "langchain_aws"])
def test_the_line_says_that_a_package_is_missing(
    model_server: Any, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    why = "a package is missing: pip install 'agentguard[bedrock]'"
    assert with_bedrock(config()) == (config(), f"judged by rules: {why}")


def test_every_way_to_credentials_is_taken(model_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with monkeypatch.context() as patch:
        patch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-key-of-bedrock")
        assert names(with_bedrock(config())[0]) == (CLAUDE, TITAN)
    assert names(with_bedrock(config())[0]) == (None, None)

    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = of-the-file\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    assert names(with_bedrock(config())[0]) == (CLAUDE, TITAN)


@pytest.fixture
def desk(tmp_path: Path, model_server: Any, monkeypatch: pytest.MonkeyPatch) -> GateConfig:
    """A gate with one document, whose Bedrock is the model server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", model_server.url)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "terms.md").write_text("# Terms\n\nRepairs are free for 24 months.\n")
    (tmp_path / "ask.txt").write_text("How long are repairs free?\n")
    return config(tmp_path, evaluation={"prompts": "ask.txt"})


def test_the_line_is_of_the_judge_that_judges(desk: GateConfig) -> None:
    from agentguard.gate.rules import RuleJudge

    with open_services(desk) as services:
        assert services.judge.name == CLAUDE
        assert services.first_line == f"judged by {CLAUDE}, vectors by {TITAN}"
    with open_services(desk, judge=RuleJudge()) as services:
        assert services.first_line == "judged by rules"
    with open_services(desk.model_copy(update={"judge": None, "model": None}), target=str.upper) as services:
        assert services.judge.name == "rules"
        assert services.first_line.startswith("judged by rules: no judge is declared")


def test_a_run_is_not_resumed_with_another_judge(
    desk: GateConfig, model_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        with open_services(desk, target=lambda prompt: 1 // 0) as services:
            ingest(desk, services)
            with pytest.raises(GateError, match="ZeroDivisionError") as caught:
                evaluate(desk, services)

    told = f"was begun with rules as judge, not {CLAUDE}; begin a new run"
    with open_services(desk) as services, pytest.raises(GateError, match=told):
        evaluate(desk, services, resume=caught.value.run_id)
