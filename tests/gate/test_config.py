"""The configuration: the documented file as it is, and every fault of a bad one in one error."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, FileProblems, Problem
from agentguard.gate._config import (
    EntailmentConfig,
    GateConfig,
    HttpSource,
    JudgeConfig,
    LocalSource,
    S3Source,
    load_config,
    parse_config,
)

from ..rows import over

# The file that the gate's architecture document shows, section 5.7; comments in our own words.
DOCUMENTED = """\
use_case: "customer support chatbot for Acme Corp"
risk_tolerance:
  deploy_threshold: 0.10   # up to here: deploy
  warn_threshold: 0.25     # up to here: warn
evaluation:
  num_prompts: 20
  prompt_categories:
    - factual_recall
    - edge_cases
    - policy_boundaries
    - ambiguous_queries
doc_sources:
  - type: s3
    bucket: acme-support-docs
    prefix: knowledge-base/
  - type: local
    path: ./docs/policies/
model:
  provider: bedrock
  model_id: "anthropic.claude-3-sonnet-20240229-v1:0"
elasticsearch:
  host: "https://my-cluster.es.amazonaws.com"
  index: "acme_trusted_docs"
"""
SMALL = {"use_case": "help desk", "doc_sources": [{"type": "local", "path": "docs"}]}


def load(folder: Path, text: str) -> GateConfig:
    path = folder / ".llm-reliability.yaml"
    path.write_text(text)
    return load_config(path)


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(FileProblems) as caught:
        load(folder, text)
    return [f"{problem.line}: {problem.field}: {problem.message}" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("section", "meant"),
    [
        ("doc_source: []", "doc_source: is unknown here; did you mean doc_sources?"),
        ("num_promts: 3", "num_promts: is unknown here; did you mean evaluation.num_prompts?"),
        ("evaluation: {pasages: 3}", "evaluation.pasages: is unknown here; did you mean passages?"),
        ("risk_tolerance: {min_answer: 0.4}", "risk_tolerance.min_answer: is unknown here; did you mean min_answered?"),
        ("evaluation: {zzz: 3}", "evaluation.zzz: is unknown"),
    ],
)
def test_an_unknown_field_is_told_with_the_one_that_was_meant(tmp_path: Path, section: str, meant: str) -> None:
    text = f"use_case: help desk\ndoc_sources: [{{type: local, path: docs}}]\n{section}\n"

    assert faults(tmp_path, text) == [f"3: {meant}"]


def test_every_fault_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = """\
use_case: ""
passages: 5
risk_tolerance: {deploy_threshold: 1.5, warn_threshold: true}
doc_sources:
  - {type: ftp, path: x}
  - {path: x}
  - type: local
  - type: http
    url: file:///etc/passwd
  - {type: s3, bucket: b, url: x}
model: {provider: openai, model_id: gpt, options: {api_key: sk-1}}
elasticsearch: {host: "http://user:pass@host", index: UPPER}
folder: /
judge: {provider: openai, model_id: gpt, max_tokens: many, base_url: "https://u:p@host/v1"}
"""
    assert faults(tmp_path, text) == [
        "1: use_case: string should have at least 1 character",
        "2: passages: is unknown here; did you mean evaluation.passages?",
        "3: risk_tolerance.deploy_threshold: input should be less than or equal to 1",
        "3: risk_tolerance.warn_threshold: input should be a valid number",
        "5: doc_sources.0: type 'ftp' is not known; known are local, http and s3",
        "6: doc_sources.1: needs a type: local, http or s3",
        "7: doc_sources.2.path: is missing",
        "8: doc_sources.3: 'file:///etc/passwd' is no http:// or https:// address",
        "10: doc_sources.4.url: is unknown",
        "11: model.options: api_key looks like a secret: secrets come from the environment",
        "12: elasticsearch.host: an address must not carry a password: credentials come from the environment",
        "12: elasticsearch.index: string should match pattern '^[a-z0-9][a-z0-9._-]{0,199}$'",
        "13: folder: is no field of the file",
        "14: judge.base_url: an address must not carry a password: credentials come from the environment",
        "14: judge.max_tokens: input should be a valid integer",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1: : is empty; a gate configuration is a mapping of fields, like `use_case: customer support`"),
        ("use_case: x\n", "1: doc_sources: is missing"),
        (
            "use_case: x\ndoc_sources: []\n",
            "1: : doc_sources must name at least one source of trusted documents",
        ),
        (
            "use_case: &a x\ndoc_sources: [{type: local, path: *a}]\n",
            "1: use_case: anchor &a is not allowed in a gate configuration; write the value out",
        ),
    ],
)
def test_one_fault(tmp_path: Path, text: str, fault: str) -> None:
    assert fault in faults(tmp_path, text)


def test_thresholds_in_the_wrong_order() -> None:
    with pytest.raises(FileProblems, match=r"deploy_threshold \(0\.3\) must not be above warn_threshold \(0\.2\)"):
        parse_config({**SMALL, "risk_tolerance": {"deploy_threshold": 0.3, "warn_threshold": 0.2}})


@over(
    ("fields", "fault"),
    [
        ("thresholds: {deploy: 0.1, block: 1}", "3: thresholds: takes deploy and warn, unless risk_tolerance says"),
        ("thresholds: 3", "3: thresholds: takes deploy and warn"),
        ("thresholds: {deploy: 2}", "3: risk_tolerance.deploy_threshold: input should be less than or equal to 1"),
        ("num_prompts: many", "3: evaluation.num_prompts: input should be a valid integer"),
        ("num_prompts: 3\nevaluation: {num_prompts: 3}", "3: num_prompts: says what evaluation.num_prompts says"),
        ("risk_tolerance: 0.15", "3: risk_tolerance: one number decides nothing: give deploy_threshold and"),
        ("notes: []", "3: notes: is no field of the file"),
    ],
)
def test_faults_of_fields_that_stand_elsewhere_are_told_by_their_lines(fields: str, fault: str) -> None:
    with TemporaryDirectory() as folder:
        (told,) = faults(Path(folder), f"use_case: help desk\ndoc_sources: [docs]\n{fields}\n")

    assert told.startswith(fault)


def test_a_source_by_its_address_alone() -> None:
    given = ["s3://docs/a/b", "https://example.com/returns", "handbook/returns.md"]

    config = parse_config({**SMALL, "doc_sources": given})

    assert config.doc_sources == (
        S3Source(type="s3", bucket="docs", prefix="a/b"),
        HttpSource(type="http", url="https://example.com/returns"),
        LocalSource(type="local", path="handbook/returns.md"),
    )
    assert config.notes[0] == "doc_sources: s3://docs/a/b is read as {type: s3, bucket: docs, prefix: a/b}"
    assert parse_config(SMALL).notes == ()


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no gate configuration at"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigurationError, match="is a folder; name the gate configuration in it"):
        load_config(tmp_path)


def test_a_judge_is_a_chat_model_or_a_model_of_entailment(tmp_path: Path) -> None:
    chat = {"provider": "openai", "model_id": "gpt-x"}
    entailment = {"type": "onnx", "model": "models/nli"}
    config = parse_config({**SMALL, "judge": entailment, "verifiers": [chat]}, tmp_path)

    assert config.judge == EntailmentConfig(type="onnx", model="models/nli")
    assert config.judge.name == "onnx:models/nli"
    assert config.verifiers == (JudgeConfig(provider="openai", model_id="gpt-x"),)
    assert parse_config(config.model_dump(mode="json"), tmp_path) == config
    with pytest.raises(FileProblems, match="would agree with itself"):
        parse_config({**SMALL, "judge": entailment, "verifiers": [entailment]})


def test_faults_of_judges_are_told_where_they_stand(tmp_path: Path) -> None:
    text = """\
use_case: help desk
doc_sources: [{type: local, path: docs}]
judge: {type: onnx, provider: openai}
verifiers:
  - {type: torch, model: m}
  - {provider: openai, model_id: m, max_tokens: many}
  - {type: onnx, model: m, modle: n}
  - m
"""
    assert faults(tmp_path, text) == [
        "3: judge.model: is missing",
        "3: judge.provider: is unknown",
        "5: verifiers.0: type 'torch' is not known; known are onnx and rules; a chat model has no type",
        "6: verifiers.1.max_tokens: input should be a valid integer",
        "7: verifiers.2.modle: is unknown here; did you mean model?",
        "8: verifiers.3: input should be a valid dictionary or instance of JudgeConfig",
    ]


def both_roles(**judge: object) -> GateConfig:
    model = {"provider": "openai", "model_id": "gpt-x"}
    return parse_config({**SMALL, "model": model, "judge": {**model, **judge}})


def test_a_model_that_would_verify_its_own_claims_needs_an_explicit_yes() -> None:
    with pytest.raises(FileProblems, match=r"judge is the model under test \(openai:gpt-x\)"):
        both_roles()
    with pytest.raises(FileProblems, match="judge is the model under test"):
        both_roles(provider="OpenAI", temperature=0.5)  # the same model, however it is spelled or set

    with pytest.raises(FileProblems, match="judge is the model under test"):
        both_roles(base_url="https://api.openai.com/v1")  # where the other is served too, if nothing is said

    assert both_roles(allow_same_model=True).judge is not None
    assert both_roles(model_id="gpt-y").judge is not None


def test_models_of_one_name_at_two_addresses_are_two() -> None:
    model, judge = ({"provider": "openai", "model_id": "local", "base_url": f"http://{host}/v1"} for host in "ab")

    assert parse_config({**SMALL, "model": model, "judge": judge}).judge is not None


def test_bedrock_is_one_provider_under_both_names() -> None:
    model, judge = ({"provider": name, "model_id": "claude"} for name in ("bedrock", "Bedrock-Converse"))

    with pytest.raises(FileProblems, match="judge is the model under test"):
        parse_config({**SMALL, "model": model, "judge": judge})


def test_prompts_and_recorded_responses_exclude_each_other() -> None:
    with pytest.raises(FileProblems, match="recorded responses bring their own prompts"):
        parse_config({**SMALL, "evaluation": {"prompts": "p.yaml", "responses": "r.jsonl"}})


def test_an_http_source_needs_an_address() -> None:
    with pytest.raises(FileProblems, match="needs a url, or urls"):
        parse_config({**SMALL, "doc_sources": [{"type": "http"}]})

    config = parse_config({**SMALL, "doc_sources": [{"type": "http", "url": "http://a/", "urls": ["https://b/"]}]})
    source = config.doc_sources[0]
    assert isinstance(source, HttpSource)
    assert source.addresses == ("http://a/", "https://b/")


def test_chunks_that_cannot_be() -> None:
    with pytest.raises(FileProblems, match="chunking: must be: overlap_least <= overlap_most < least <= most"):
        parse_config({**SMALL, "chunking": {"least": 50, "overlap_most": 50}})


def test_the_digest_is_of_what_is_declared_and_not_of_where(tmp_path: Path) -> None:
    here, there = tmp_path / "a", tmp_path / "b"
    here.mkdir()
    there.mkdir()

    assert load(here, DOCUMENTED).digest == load(there, DOCUMENTED + "# a comment\n").digest
    assert load(here, DOCUMENTED).digest != load(here, DOCUMENTED.replace("0.25", "0.26")).digest


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


SECTIONS = ["use_case", "risk_tolerance", "evaluation", "doc_sources", "model", "judge", "elasticsearch", "unknown"]


@given(st.dictionaries(st.sampled_from(SECTIONS), json_values))
def test_any_mapping_gives_a_configuration_or_its_problems(data: dict[str, object]) -> None:
    problems: tuple[Problem, ...] = ()
    config = None
    try:
        config = parse_config(data)
    except FileProblems as error:
        problems = error.problems

    assert (config is None) == bool(problems)


@over(
    ("options", "fault"),
    [
        ({"temperature": 1}, "temperature is what temperature says"),
        ({"num_predict": 1}, "num_predict is what max_tokens says"),
        ({"max_retries": 3}, "max_retries is what max_retries says"),
        ({"request_timeout": 3}, "request_timeout is what timeout_seconds says"),
        ({"streaming": True}, "streaming cannot be set"),
        ({"cache": True}, "cache cannot be set"),
        ({"configurable_fields": "any"}, "configurable_fields cannot be set"),
        ({"client_kwargs": {"timeout": 3}}, "client_kwargs must be a mapping without timeout"),
        ({"client_kwargs": []}, "client_kwargs must be a mapping without timeout"),
        ({"default_headers": {"X-Api-Key": "sk-1"}}, "default_headers.X-Api-Key looks like a secret"),
        ({"extra_body": [{"password": "sk-1"}]}, "extra_body.0.password looks like a secret"),
    ],
)
def test_options_that_say_what_is_said_elsewhere_or_nowhere(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(FileProblems) as caught:
        parse_config({**SMALL, "model": {"provider": "openai", "model_id": "m", "options": options}})
    assert f"model.options: {fault}" in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_all_faults_of_options_are_told_at_once() -> None:
    options = {"temperature": 1, "cache": True, "headers": {"Authorization": "x"}}
    with pytest.raises(FileProblems, match=r"temperature is .*; cache cannot .*; headers.Authorization looks"):
        parse_config({**SMALL, "judge": {"provider": "openai", "model_id": "m", "options": options}})


def test_the_name_of_a_profile_is_no_secret() -> None:
    options = {"credentials_profile_name": "gate"}
    config = parse_config({**SMALL, "judge": {"provider": "bedrock", "model_id": "m", "options": options}})
    assert isinstance(config.judge, JudgeConfig)
    assert config.judge.options == options


@over(
    ("model", "judge", "refused"),
    [
        (("bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0"), ("anthropic", "claude-3-5-sonnet-20240620"), True),
        (("bedrock", "us.anthropic.claude-3-5-sonnet-20240620-v1:0"), ("openai", "claude-3.5-sonnet"), True),
        (("bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0"),
         ("bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0"), False),
        (("openai", "gpt-4o"), ("azure_openai", "GPT-4o-2024-08-06"), True),
        (("openai", "gpt-4o"), ("openai", "gpt-4o-mini"), False),
    ],
)  # fmt: skip
def test_a_judge_is_known_by_its_model_however_it_is_spelled(
    model: tuple[str, str], judge: tuple[str, str], refused: bool
) -> None:
    roles = {
        role: dict(zip(("provider", "model_id"), named, strict=True))
        for role, named in {"model": model, "judge": judge}.items()
    }
    verifiers = {"judge": {"type": "rules"}, "verifiers": [roles["judge"]]}
    for declared in (roles, {**roles, **verifiers}):
        if not refused:
            assert parse_config({**SMALL, **declared}).judge is not None
            continue
        with pytest.raises(FileProblems) as caught:
            parse_config({**SMALL, **declared})
        assert f"judge is the model under test ({':'.join(judge)} and {':'.join(model)})" in str(caught.value)


def test_a_name_of_bedrock_is_one_model_at_every_address() -> None:
    model, judge = (
        {"provider": "bedrock", "model_id": "amazon.nova-pro-v1:0", "base_url": f"https://{host}"} for host in "ab"
    )

    with pytest.raises(FileProblems, match="judge is the model under test"):
        parse_config({**SMALL, "model": model, "judge": judge})


def test_the_model_behind_a_profile_of_an_application_may_be_named() -> None:
    profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/k3x9"
    model = {"provider": "bedrock", "model_id": profile}
    judge = {"provider": "bedrock", "model_id": "anthropic.claude-3-haiku-20240307-v1:0"}

    assert parse_config({**SMALL, "model": model, "judge": judge}).judge is not None
    named = {**model, "options": {"base_model": "anthropic.claude-3-haiku-20240307-v1:0"}}
    with pytest.raises(FileProblems, match="judge is the model under test"):
        parse_config({**SMALL, "model": named, "judge": judge})


def test_judges_of_one_model_are_one_however_they_are_spelled() -> None:
    judges = {
        "judge": {"provider": "bedrock", "model_id": "anthropic.claude-3-haiku-20240307-v1:0"},
        "verifiers": [{"provider": "anthropic", "model_id": "claude-3-haiku-20240307"}],
    }

    with pytest.raises(FileProblems, match="must be different models"):
        parse_config({**SMALL, **judges})
    with pytest.raises(FileProblems, match="must be different models"):
        parse_config({**SMALL, "judge": {"type": "rules"}, "verifiers": [{"type": "rules"}]})
