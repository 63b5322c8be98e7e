"""Prompts written from documents: as many as asked, of every category, always the same."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from agentguard.errors import GateError
from agentguard.gate._config import CATEGORIES
from agentguard.gate._types import Chunk, Document, Passage
from agentguard.gate.rules import RuleJudge

from ...rows import over

CHUNKS = (
    Chunk("a", "docs/returns.md", "Returns", "Returns > Time limits", "Items can be returned within 30 days.", 0, 37),
    Chunk("b", "docs/shipping.md", "Shipping", "Shipping", "Standard shipping is free for orders over $50.", 0, 46),
    Chunk("c", "docs/faq.md", "FAQ", "", "The support team answers within 24 hours.", 0, 41),
)


class Index:
    """An index that finds the chunks that share a word with the query."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def documents(self) -> Mapping[str, str]:
        return {chunk.document: "0" for chunk in self._chunks}

    def keyword(self, query: str, limit: int) -> list[Passage]:
        wanted = set(query.casefold().split())
        found = [
            chunk
            for chunk in self._chunks
            if wanted & set(f"{chunk.title} {chunk.heading} {chunk.text}".casefold().replace(".", "").split())
        ]
        return [Passage(chunk, 1.0) for chunk in found[:limit]]

    def replace(self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Sequence[float]]) -> None:
        raise NotImplementedError

    def remove(self, uris: Iterable[str]) -> None:
        raise NotImplementedError

    def vector(self, query: Sequence[float], limit: int) -> list[Passage]:
        raise NotImplementedError

    def chunk(self, chunk_id: str) -> Chunk | None:
        raise NotImplementedError

    def digest(self) -> str:
        return "0"

    def close(self) -> None:
        return None


def test_the_number_asked_for_spread_over_the_categories() -> None:
    prompts = RuleJudge(Index(CHUNKS)).write_prompts("shop support", CATEGORIES, 10)
    assert [prompt.id for prompt in prompts] == [f"p{number}" for number in range(1, 11)]
    assert [prompt.category for prompt in prompts[:4]] == list(CATEGORIES)
    counts = [sum(prompt.category == category for prompt in prompts) for category in CATEGORIES]
    assert sorted(counts) == [2, 2, 3, 3]
    assert len({prompt.text for prompt in prompts}) == 10


def test_prompts_speak_of_what_the_documents_speak_of() -> None:
    prompts = RuleJudge(Index(CHUNKS)).write_prompts("shop support", ("factual_recall",), 9)
    text = " ".join(prompt.text for prompt in prompts)
    assert "time limits" in text
    assert "standard shipping" in text
    assert "the support team" in text


def test_the_same_documents_give_the_same_prompts() -> None:
    first, second = (RuleJudge(Index(CHUNKS)).write_prompts("shop", CATEGORIES, 12) for _ in range(2))
    assert first == second


def test_a_category_of_ones_own_is_named_in_its_prompts() -> None:
    prompts = RuleJudge(Index(CHUNKS)).write_prompts("shop", ("legal_risks",), 3)
    assert all(prompt.category == "legal_risks" and "legal risks" in prompt.text for prompt in prompts)


def test_a_use_case_that_shares_no_word_with_the_documents_still_finds_them() -> None:
    assert len(RuleJudge(Index(CHUNKS)).write_prompts("zzz", CATEGORIES, 5)) == 5


def test_documents_that_are_named_by_numbers_are_asked_about_too() -> None:
    numbered = Chunk("d", "s3://bucket/0017", "0017", "", "The warranty of a kettle lasts two years.", 0, 41)
    alone = RuleJudge(Index([numbered])).write_prompts("help desk", ("factual_recall",), 2)
    beside = RuleJudge(Index([*CHUNKS, numbered])).write_prompts("shipping", ("factual_recall",), 9)
    for prompts in (alone, beside):
        assert "the warranty of a kettle" in " ".join(prompt.text for prompt in prompts)


@pytest.mark.parametrize("judge", [RuleJudge(), RuleJudge(Index(()))])
def test_without_documents_the_error_says_what_to_do(judge: RuleJudge) -> None:
    with pytest.raises(GateError, match="ingest"):
        judge.write_prompts("shop", CATEGORIES, 5)


def test_more_prompts_than_the_documents_give_rise_to_is_an_error_with_the_number() -> None:
    with pytest.raises(GateError, match=r"\d+ different questions, not 10000"):
        RuleJudge(Index(CHUNKS)).write_prompts("shop", CATEGORIES, 10_000)


def asked(text: str, number: int, category: str = "policy_boundaries", title: str = "Rules") -> list[str]:
    """Questions of one category about one passage."""
    chunk = Chunk("x", "docs/x.md", title, title, text, 0, len(text))
    return [prompt.text for prompt in RuleJudge(Index([chunk])).write_prompts(title, (category,), number)]


def test_a_sentence_is_asked_about_as_it_stands_and_with_another_figure() -> None:
    text = "Orders are shipped within 3 days."

    assert "Is it true that orders are shipped within 3 days?" in asked(text, 4, "factual_recall")
    assert any("orders are shipped within 6 days" in question for question in asked(text, 4))


@over(
    ("text", "never"),
    [
        ("We repair lamps within 30 days.", "we repair"),  # who speaks there is not who asks
        ("It can be returned within 30 days.", "that it can"),  # what "it" is stands elsewhere
        ("Rinse the lamp twice before you use the shade again.", "that rinse"),
        ("The shop has existed since 1950 in Oslo.", "3900"),
        ("A lamp can be returned within 1 day only.", "2 day"),
        ("Of all the lamps, 80% are returned late.", "160%"),
    ],
)
def test_what_cannot_be_repeated_in_a_question_is_not(text: str, never: str) -> None:
    questions = [
        question for category in CATEGORIES for question in asked(f"{text} Lamps are made of glass.", 3, category)
    ]

    assert questions
    assert not any(never in question for question in questions)


def test_names_keep_their_capital_and_words_that_begin_a_sentence_do_not() -> None:
    text = "Brass lamps are cleaned with vinegar. Ask Brass and Sons first. Wool is never washed at 60 degrees."
    questions = " ".join(asked(text, 4, "factual_recall"))

    assert "that Brass lamps" in questions
    assert "that wool is never" in questions
