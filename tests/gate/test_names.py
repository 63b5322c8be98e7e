"""Names of models: spellings of one model are the same, and names of two models are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._names import may_be_same

SPELLINGS = [
    [
        "claude-3-5-sonnet-20240620",
        "claude-3.5-sonnet",
        "Claude 3.5 Sonnet",
        "claude-3-5-sonnet-latest",
        "claude-3-5-sonnet@20240620",
        "anthropic/claude-3.5-sonnet",
        "openrouter/anthropic/claude-3.5-sonnet-20240620",
        "publishers/anthropic/models/claude-3-5-sonnet@20240620",
        "anthropic.claude-3-5-sonnet-20240620-v1:0",
        "anthropic.claude-3-5-sonnet-20240620-v1:0:51k",
        "us.anthropic.claude-3-5-sonnet-20240620-v1:0",
        "us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0",
        "bedrock/us-east-1/anthropic.claude-3-5-sonnet-20240620-v1:0",
        "bedrock/converse/us.anthropic.claude-3-5-sonnet-20240620-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-sonnet-20240620-v1:0",
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-3-5-sonnet-20240620-v1:0",
        "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/"
        "us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0",
    ],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet-20241022"],
    ["claude-sonnet-4-5", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-sonnet-4.5"],
    ["anthropic.claude-opus-4-6-v1", "claude-opus-4-6", "claude-opus-4.6"],
    ["gpt-4o", "gpt-4o-2024-08-06", "azure/GPT-4o", "openai/gpt-4o"],
    ["gpt-4", "gpt-4-0613"],
    ["openai.gpt-oss-120b-1:0", "openai/gpt-oss-120b", "gpt-oss:120b"],
    ["llama3.2", "llama3.2:latest", "Llama-3.2", "meta-llama/Llama-3.2"],
    ["us.meta.llama3-1-70b-instruct-v1:0", "meta-llama/Llama-3.1-70B-Instruct", "llama3.1:70b-instruct"],
    ["mistral.mistral-7b-instruct-v0:2", "mistralai/Mistral-7B-Instruct-v0.2"],
    ["amazon.nova-pro-v1:0", "apac.amazon.nova-pro-v1:0", "nova-pro"],
    ["gemini-1.5-pro", "gemini-1.5-pro-002", "models/gemini-1.5-pro-latest"],
    ["ai21.jamba-1-5-large-v1:0", "jamba-1.5-large"],
]

OTHERS = [
    ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"),
    ("anthropic.claude-3-5-sonnet-20240620-v1:0", "anthropic.claude-3-5-sonnet-20241022-v2:0"),
    ("anthropic.claude-3-sonnet-20240229-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"),
    ("claude-3-sonnet", "claude-3-5-sonnet"),
    ("claude-3-5-sonnet", "claude-3-7-sonnet"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4", "gpt-4.1"),
    ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("llama3.1", "llama3.2"),
    ("llama3.2:1b", "llama3.2:3b"),
    ("mistral-7b-instruct-v0:1", "mistral-7b-instruct-v0:2"),
    ("amazon.nova-pro-v1:0", "amazon.nova-lite-v1:0"),
    ("a-8b.gguf", "b-8b.gguf"),
    # Such a name says nothing of its model, which model.options.base_model does.
    ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/k3x9", "claude-3-5-sonnet"),
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda spellings: spellings[0])
def test_spellings_of_one_model_are_the_same(spellings: list[str]) -> None:
    assert [(a, b) for a in spellings for b in spellings if not may_be_same(a, b)] == []


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_names_of_two_models_are_not(one: str, other: str) -> None:
    assert not may_be_same(one, other)
    assert not may_be_same(other, one)


FAMILIES = ["claude", "nova", "granite", "palmyra", "command"]
KINDS = ["sonnet", "haiku", "opus", "pro", "lite", "7b", "70b-instruct"]
BASES = [f"{family}-{number}-{kind}" for family in FAMILIES for number in ("2", "3", "3-5", "4-1") for kind in KINDS]


@st.composite
def written(draw: st.DrawFn, base: str) -> str:
    """Write a model's name as some provider might."""
    name = base + draw(st.sampled_from(["", "-20240620", "@20240620", "-2024-06-20", "-latest"]))
    bare = name == base or name.endswith("0620")
    name += draw(st.sampled_from(["", "-v1:0", "-v1:0:28k"])) if bare else ""
    name = draw(st.sampled_from(["", "anthropic.", "us.anthropic.", "eu.amazon.", "us-gov.meta."])) + name
    before = ["", "bedrock/", "openrouter/x-ai/", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/"]
    name = draw(st.sampled_from(before)) + name
    return draw(st.sampled_from([name, name.upper(), name.title(), f" {name} "]))


@given(st.data(), st.sampled_from(BASES))
def test_what_providers_add_to_a_name_changes_nothing(data: st.DataObject, base: str) -> None:
    assert may_be_same(data.draw(written(base)), data.draw(written(base)))


@given(st.data(), st.lists(st.sampled_from(BASES), min_size=2, max_size=2, unique=True))
def test_what_providers_add_makes_no_two_models_one(data: st.DataObject, bases: list[str]) -> None:
    assert not may_be_same(*(data.draw(written(base)) for base in bases))


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_name_is_its_own_and_the_order_says_nothing(one: str, other: str) -> None:
    assert may_be_same(one, one)
    assert may_be_same(one, other) == may_be_same(other, one)
