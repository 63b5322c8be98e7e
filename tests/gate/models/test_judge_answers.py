"""What is read of a judging model's answers, and what is not."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage, Reason, Response
from agentguard.gate.models._judge import MAX_CLAIMS, MAX_KEPT_CHARS, read_claims, read_prompts, read_verdict

from ...rows import over

FIRST = "Devices are repaired free of charge for 24 months after purchase."
SECOND = "Returns are taken back within\n30 days, \u201cunopened\u201d."


def chunk(name: str, text: str) -> Chunk:
    return Chunk(name, "docs/a.md", "A", "", text, 0, len(text))


CASE = Case(
    Claim("p1.c1", "p1", "Repairs are free for 24 months."),
    (Passage(chunk("k1", FIRST), 2.0), Passage(chunk("k2", SECOND), 1.0)),
)


def verdict(answer: Any) -> ClaimVerdict:
    """What is made of an answer, which is kept in it word for word."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    read = read_verdict(text, CASE, "m")
    assert read.answer == text[:MAX_KEPT_CHARS]
    return replace(read, answer="")


def judged(label: str, passage: Any = 1, quote: Any = "free of charge for 24 months", **more: Any) -> dict[str, Any]:
    return {"label": label, "passage": passage, "quote": quote, "reason": "It says so.", **more}


@pytest.mark.parametrize("label", ["supported", "weakly_supported", "unsupported"])
def test_a_verdict(label: str) -> None:
    expected = ClaimVerdict(
        "p1.c1",
        label,
        (Reason("judge", "It says so."),),
        "k1",
        "free of charge for 24 months",
        "m",  # type: ignore[arg-type]  one of the three
    )

    assert verdict(judged(label)) == expected


def test_the_quotation_is_told_in_the_passage_s_own_words() -> None:
    told = verdict(judged("supported", 2, 'RETURNS are taken back within 30 days, "unopened"'))

    assert (told.label, told.chunk_id) == ("supported", "k2")
    assert told.quote == "Returns are taken back within\n30 days, \u201cunopened"


@over(
    ("passage", "quote", "why"),
    [
        (1, "free of charge for 36 months", "does not stand in the passage it names"),
        (1, "taken back within 30 days", "does not stand in the passage it names"),
        (1, "", "does not stand in the passage it names"),
        (1, None, "does not stand in the passage it names"),
        (1, "months", "less than two words"),
        (None, "free of charge for 24 months", "names no passage"),
        (3, "free of charge for 24 months", "names passage 3 of 2"),
        (0, "free of charge for 24 months", "names passage 0 of 2"),
        (-1, "Returns are taken back", "names passage -1 of 2"),
    ],
)
def test_support_that_is_not_shown_is_weak(passage: Any, quote: Any, why: str) -> None:
    told = verdict(judged("supported", passage, quote))

    assert (told.label, told.quote) == ("weakly_supported", "")
    assert why in told.reasons[0].detail
    assert told.reasons[0].detail.endswith("supported counts as weakly supported")
    assert told.reasons[1] == Reason("judge", "It says so.")
    assert told.chunk_id == ("k1" if passage == 1 else None)


@pytest.mark.parametrize("label", ["weakly_supported", "unsupported"])
def test_a_wrong_quotation_changes_no_other_label(label: str) -> None:
    told = verdict(judged(label, 1, "words that stand nowhere"))

    assert (told.label, told.quote, told.chunk_id) == (label, "", "k1")
    assert "does not stand in the passage" in told.reasons[1].detail


def test_without_a_passage_unsupported_is_whole() -> None:
    told = verdict({"label": "unsupported"})

    assert told == ClaimVerdict("p1.c1", "unsupported", (Reason("judge", "the judge gave no reason"),), None, "", "m")


@over("label", ["Supported", " **supported**", "Weakly supported.", "weakly-supported", "unsupported!"])
def test_a_label_in_another_spelling_is_the_label(label: str) -> None:
    assert verdict(judged(label)).label == label.strip(" *.!").lower().replace(" ", "_").replace("-", "_")


@over("label", ["true", "support", "not supported", "mostly supported", "", "supported or unsupported"])
def test_an_unknown_label_is_unsupported_and_says_so(label: str) -> None:
    told = verdict(judged(label))

    assert (told.label, told.chunk_id, told.quote) == ("unsupported", None, "")
    assert told.reasons == (Reason("unreadable", f"the judge gave no known label, but {label!r}"),)


SUPPORTED = json.dumps(judged("supported"))
UNSUPPORTED = json.dumps(judged("unsupported"))


@over(
    "answer",
    [
        "",
        "supported",
        '"supported"',
        "null",
        "[]",
        f"[{SUPPORTED}]",
        f"The document says {UNSUPPORTED}, but I say {SUPPORTED}",
        SUPPORTED[:-1],
        f"Sure! {SUPPORTED[:-20]}",
        '{"label": "unsupported", "label": "supported"}',
        json.dumps(judged("supported", "1")),
        json.dumps(judged("supported", 1.0)),
        json.dumps(judged("supported", True)),
        json.dumps(judged("supported", 1, ["free of charge for 24 months"])),
        json.dumps({"label": ["supported"]}),
        json.dumps({"verdict": "supported"}),
        '{"label": "supported", "passage": NaN}',
        '{"label": "supported", "passage": 1' + "0" * 5_000 + "}",
        '{"a":' * 20_000,
        f"<think>{SUPPORTED}</think>",
        "x" * 1_000_001,
    ],
)
def test_an_answer_that_cannot_be_read_is_unsupported_and_says_so(answer: str) -> None:
    told = verdict(answer)

    assert (told.label, told.chunk_id, told.quote, told.judge) == ("unsupported", None, "", "m")
    assert told.reasons[0].detail.startswith("the judge's answer could not be read: it")
    assert "free of charge" not in told.reasons[0].detail


@over(
    "answer",
    [
        f"\n {SUPPORTED}\n",
        f"```json\n{SUPPORTED}\n```",
        f"```\n{SUPPORTED}\n```\n",
        f"<think>unsupported? {{}}</think>\n{SUPPORTED}",
        f"<thinking>hm</thinking>\n```json\n{SUPPORTED}\n```",
        json.dumps(judged("supported", confidence=0.9)),
        f"Sure! Here is the JSON: {SUPPORTED}",
        f"{SUPPORTED}\nI hope that helps {{and so on}}.",
        f"First ```json\n{SUPPORTED}\n``` and once more {SUPPORTED}",
        SUPPORTED.replace('"', "'").replace("'It says so.'", '"It says so.", // done\n'),
    ],
)
def test_wrappings_that_leave_no_doubt_are_let_pass(answer: str) -> None:
    assert verdict(answer).label == "supported"


def test_a_long_reason_is_cut_and_on_one_line() -> None:
    reason = verdict(judged("supported", reason="so\n\n" + "long " * 1_000)).reasons[0].detail

    assert reason.startswith("so long long")
    assert len(reason) == 1_000
    assert reason.endswith("\u2026")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["label", "quote"]), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "label": st.sampled_from(["supported", "weakly_supported", "unsupported"]) | json_values,
            "passage": st.integers(-1, 3) | json_values,
            "quote": st.sampled_from(["free of charge", "within 30 days", "charge"]) | json_values,
            "reason": json_values,
        },
    )
)
def test_supported_always_shows_its_words(answer: dict[str, Any]) -> None:
    told = verdict(answer)

    assert told.reasons
    assert all(reason.detail for reason in told.reasons)
    if told.label == "supported":
        passage = {"k1": FIRST, "k2": SECOND}[str(told.chunk_id)]
        assert told.quote in passage
        assert len(told.quote.split()) >= 2


@given(st.text(max_size=300))
def test_any_text_is_a_verdict(answer: str) -> None:
    assert verdict(answer).label == "unsupported"


RESPONSE = Response("p7", "Repairs are free for 24 months. Shipping costs 5 euros; they say it is fast.")


def claimed(*claims: dict[str, Any]) -> list[Claim]:
    return read_claims(json.dumps({"claims": claims}), RESPONSE)


def test_claims_with_the_words_that_say_them() -> None:
    claims = claimed(
        {"text": "Repairs are free of charge for 24 months.", "quote": "repairs are free for 24  months"},
        {"text": "Shipping costs 5 euros.", "quote": "Shipping costs 5 euros"},
        {"text": "Shipping is fast.", "quote": "it is quick"},
        {"text": "they say it is fast"},
    )

    assert [(claim.id, claim.prompt_id, claim.text) for claim in claims] == [
        ("p7.c1", "p7", "Repairs are free of charge for 24 months."),
        ("p7.c2", "p7", "Shipping costs 5 euros."),
        ("p7.c3", "p7", "Shipping is fast."),
        ("p7.c4", "p7", "they say it is fast"),
    ]
    assert [RESPONSE.text[claim.start : claim.end] for claim in claims if claim.start >= 0] == [
        "Repairs are free for 24 months",
        "Shipping costs 5 euros",
        "they say it is fast",
    ]
    assert (claims[2].start, claims[2].end) == (-1, -1)


def test_claims_come_in_the_order_of_the_text() -> None:
    claims = claimed(
        {"text": "Shipping costs 5 euros."}, {"text": "It is not free."}, {"text": "Repairs are free for 24 months."}
    )

    assert [claim.text for claim in claims] == [
        "Repairs are free for 24 months.",
        "Shipping costs 5 euros.",
        "It is not free.",
    ]
    assert [claim.id for claim in claims] == ["p7.c1", "p7.c2", "p7.c3"]


def test_a_claim_is_made_once() -> None:
    assert [claim.text for claim in claimed({"text": "It  is free."}, {"text": "it is FREE."})] == ["It is free."]


def test_an_answer_may_claim_nothing() -> None:
    assert claimed() == []


@over(
    ("answer", "fault"),
    [
        ("There are no claims.", "it is not one JSON object"),
        ("{}", "not in the form asked for: claims: Field required"),
        ('{"claims": "none"}', "claims: Input should be a valid list"),
        ('{"claims": ["a claim"]}', "claims.0: "),
        ('{"claims": [{"text": ""}]}', "claims.0.text: "),
        ('{"claims": [{"text": "  \\n"}]}', "claims.0.text: "),
        ('{"claims": [{"quote": "a"}]}', "claims.0.text: Field required"),
        (json.dumps({"claims": [{"text": "x" * 10_001}]}), "claims.0.text: "),
        (json.dumps({"claims": [{"text": f"claim {n}"} for n in range(MAX_CLAIMS + 1)]}), "claims: List should have"),
    ],
)
def test_claims_that_cannot_be_read(answer: str, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        read_claims(answer, RESPONSE)
    assert fault in str(caught.value)


def test_prompts() -> None:
    assert read_prompts('{"prompts": ["  Which\\n one? ", "", "Why?"]}') == ["Which one?", "Why?"]
    with pytest.raises(DataError, match=r"prompts\.0"):
        read_prompts('{"prompts": [1]}')
