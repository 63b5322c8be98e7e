"""What is said of evidence in a cluster beyond the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from elastic_transport import ConnectionError
from elasticsearch import Elasticsearch

from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate._types import Chunk, Document
from agentguard.gate.evidence import _elasticsearch as module
from agentguard.gate.evidence._elasticsearch import ElasticsearchEvidence

EAST, NORTH, WEST = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)
OLD = ("The warranty lasts two years.", "Returns take a week.")
NEW = ("The warranty lasts three years.", "Returns take a month.", "Shipping is free.")


class Killed(BaseException):
    """As if the process had ended here."""


@pytest.fixture
def place(elasticsearch_url: str, index_name: str) -> ElasticsearchConfig:
    return ElasticsearchConfig(host=elasticsearch_url, index=index_name)


@pytest.fixture
def evidence(place: ElasticsearchConfig) -> ElasticsearchEvidence:
    return ElasticsearchEvidence(place, "compass")


@pytest.fixture
def cluster(elasticsearch_url: str) -> Elasticsearch:
    return Elasticsearch(elasticsearch_url)


def put(
    index: ElasticsearchEvidence, uri: str, *texts: str, digest: str = "1f", title: str = "", heading: str = ""
) -> None:
    chunks = [Chunk(f"{uri}#{n}", uri, title, heading, text, 0, len(text)) for n, text in enumerate(texts)]
    index.replace(Document(uri, title, "", digest), chunks, [EAST] * len(chunks))


def found(index: ElasticsearchEvidence, words: str) -> list[str]:
    return [passage.chunk.text for passage in index.keyword(words, 10)]


def test_a_word_of_the_title_counts_more_than_one_of_the_text(evidence: ElasticsearchEvidence) -> None:
    put(evidence, "a.md", "It is about batteries, and nothing else matters.", title="Cameras")
    put(evidence, "b.md", "It is about cameras, and nothing else matters.", title="Batteries")

    assert [passage.chunk.document for passage in evidence.keyword("cameras", 5)] == ["a.md", "b.md"]


@pytest.mark.parametrize("query", ["costs 1,049.50 euros", "is it 1,049.50?", '"1,049.50"', "the E-7741 camera"])
def test_numbers_and_names_are_found_as_they_are_written(evidence: ElasticsearchEvidence, query: str) -> None:
    put(evidence, "a.md", "This one is sold for 1,049.50.", "It replaces the E-7741.", "Unlike 1,050 or 49.50 or 7742.")

    assert found(evidence, query)[0] == OF_NUMBERS[query]


OF_NUMBERS = {
    "costs 1,049.50 euros": "This one is sold for 1,049.50.",
    "is it 1,049.50?": "This one is sold for 1,049.50.",
    '"1,049.50"': "This one is sold for 1,049.50.",
    "the E-7741 camera": "It replaces the E-7741.",
}


def test_scores_of_vectors_are_cosines(evidence: ElasticsearchEvidence) -> None:
    texts = ("east", "north", "west", "north-east")
    chunks = [Chunk(text, "a.md", "", "", text, 0, 1) for text in texts]
    evidence.replace(Document("a.md", "", "", "1f"), chunks, [EAST, NORTH, WEST, (2.0, 2.0)])
    scores = {passage.chunk.id: passage.score for passage in evidence.vector((3.0, 0.0), 5)}

    assert scores == pytest.approx({"east": 1.0, "north-east": 0.5**0.5, "north": 0.0, "west": -1.0}, abs=1e-5)


def test_documents_are_listed_however_many_they_are(
    evidence: ElasticsearchEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    for number in range(7):
        put(evidence, f"{number}.md", "text", digest=str(number))

        assert evidence.documents() == {f"{n}.md": str(n) for n in range(number + 1)}


# --- Whoever dies when


def after_request(index: ElasticsearchEvidence, number: int, *, sent: bool, error: BaseException) -> list[str]:
    """Let the request of this number fail, before it is sent or when it has been answered; gives the paths asked."""
    transport = index._connection._client.transport
    perform, asked = transport.perform_request, []

    def failing(method: str, target: str, **options: Any) -> Any:
        asked.append(f"{method} {target}")
        if len(asked) != number + 1:
            return perform(method, target, **options)
        if sent:
            perform(method, target, **options)
        raise error

    transport.perform_request = failing  # type: ignore[method-assign]  # it is what fails
    return asked


@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
def test_whoever_dies_while_a_document_is_replaced_leaves_one_whole(place: ElasticsearchConfig, sent: bool) -> None:
    put(ElasticsearchEvidence(place, "compass"), "a.md", *OLD, digest="old")
    number, ended = 0, False
    while not ended:
        writer = ElasticsearchEvidence(place, "compass")
        after_request(writer, number, sent=sent, error=Killed())
        try:
            put(writer, "a.md", *NEW, digest="new")
            ended = True
        except Killed:
            number += 1
        reader = ElasticsearchEvidence(place, "compass")
        whole = {"old": OLD, "new": NEW}[reader.documents()["a.md"]]
        assert {passage.chunk.text for passage in reader.vector(EAST, 10)} == set(whole)
        assert set(found(reader, "warranty returns shipping")) == set(whole)

    assert number >= 2  # the index is looked at before it is written
    assert ElasticsearchEvidence(place, "compass").documents() == {"a.md": "new"}


@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
def test_whoever_dies_at_the_first_document_leaves_an_index_that_can_be_written(
    place: ElasticsearchConfig, cluster: Elasticsearch, sent: bool
) -> None:
    number, ended = 0, False
    while not ended:
        cluster.options(ignore_status=404).indices.delete(index=place.index)
        cluster.options(ignore_status=404).indices.delete_index_template(name=f"agentguard-{place.index}")
        writer = ElasticsearchEvidence(place, "compass")
        after_request(writer, number, sent=sent, error=Killed())
        try:
            put(writer, "a.md", *OLD)
            ended = True
        except Killed:
            number += 1
        again = ElasticsearchEvidence(place, "compass")
        put(again, "b.md", *NEW)
        assert set(again.documents()) in ({"b.md"}, {"a.md", "b.md"})
        assert found(again, "shipping") == ["Shipping is free."]

    assert number >= 5


def test_an_answer_that_is_lost_is_asked_for_again(evidence: ElasticsearchEvidence) -> None:
    put(evidence, "a.md", *OLD)
    asked = after_request(evidence, 1, sent=True, error=ConnectionError("reset"))
    put(evidence, "a.md", *NEW, digest="2e")

    assert [path.split("/")[2].partition("?")[0] for path in asked] == ["_search", "_doc", "_doc"]
    assert evidence.documents() == {"a.md": "2e"}
    assert len(evidence.vector(EAST, 10)) == len(NEW)


# --- What the cluster's owner does


def test_an_index_that_was_removed_is_made_again(
    evidence: ElasticsearchEvidence, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    put(evidence, "a.md", *OLD)
    assert len(evidence.vector(EAST, 10)) == len(OLD)
    cluster.indices.delete(index=place.index)
    assert evidence.vector(EAST, 10) == evidence.keyword("warranty", 10) == []
    assert evidence.documents() == {}
    put(evidence, "a.md", *NEW)

    assert len(evidence.vector(EAST, 10)) == len(NEW)


def test_another_embedder_takes_over_while_the_index_is_open(
    evidence: ElasticsearchEvidence, place: ElasticsearchConfig
) -> None:
    put(evidence, "a.md", *OLD)
    assert len(evidence.vector(EAST, 10)) == len(OLD)
    other = ElasticsearchEvidence(place, "sextant")
    other.remove(["a.md"])
    put(other, "a.md", *NEW)

    with pytest.raises(ConfigurationError, match=r"sextant.*compass"):
        evidence.vector(EAST, 10)
    with pytest.raises(ConfigurationError, match=r"sextant.*compass"):
        put(evidence, "b.md", *OLD)


def test_a_template_of_ones_own_is_kept(
    evidence: ElasticsearchEvidence, place: ElasticsearchConfig, cluster: Elasticsearch
) -> None:
    put(evidence, "a.md", "Über 30 days")
    name = f"agentguard-{place.index}"
    template = cluster.indices.get_index_template(name=name)["index_templates"][0]["index_template"]["template"]
    cluster.indices.delete(index=place.index)
    template["settings"]["index"]["mapping"]["nested_objects"]["limit"] = 2
    fields = template["mappings"]["properties"]["chunks"]["properties"]
    for field in ("title", "heading", "text"):
        fields[field]["analyzer"] = "simple"  # which drops digits
    cluster.indices.put_index_template(name=name, index_patterns=[place.index], priority=500, template=template)
    put(evidence, "a.md", "Within 30 days", "within 60 days")
    assert (found(evidence, "30"), len(found(evidence, "days"))) == ([], 2)

    with pytest.raises(StoreError) as refused:
        put(evidence, "a.md", *NEW, digest="2e")
    assert not any(word in str(refused.value) for word in "warranty shipping a.md".split())
    assert evidence.documents() == {"a.md": "1f"}


@pytest.mark.parametrize(
    "call",
    [lambda index: put(index, "a.md", *NEW), lambda index: index.remove(["a.md", "b.md", "c.md"])],
    ids=["replace", "remove"],
)
def test_an_index_that_may_not_be_written_says_so(
    evidence: ElasticsearchEvidence,
    place: ElasticsearchConfig,
    cluster: Elasticsearch,
    call: Callable[[ElasticsearchEvidence], None],
) -> None:
    put(evidence, "a.md", *OLD)
    cluster.indices.put_settings(index=place.index, settings={"index.blocks.write": True})
    with pytest.raises(StoreError, match="cluster_block_exception"):
        call(evidence)

    assert set(found(evidence, "warranty returns shipping")) == set(OLD)


# --- What cannot be indexed


def test_the_length_of_vectors_may_be_said_beforehand(place: ElasticsearchConfig) -> None:
    evidence = ElasticsearchEvidence(place, "compass", 3)
    with pytest.raises(ConfigurationError, match="3 components, not 2"):
        put(evidence, "a.md", *OLD)
    with pytest.raises(ConfigurationError, match="3 components, not 2"):
        evidence.vector(EAST, 1)

    assert evidence.documents() == {}


@pytest.mark.parametrize(
    ("uri", "text"), [("a" * 9_000, "text"), ("\udcff.md", "text"), ("a.md", "half of a pair: \ud83d")]
)
def test_what_the_cluster_could_not_give_back_is_refused(evidence: ElasticsearchEvidence, uri: str, text: str) -> None:
    with pytest.raises(DataError):
        put(evidence, uri, text)

    assert evidence.documents() == {}


def test_a_chunk_of_another_document_is_refused(evidence: ElasticsearchEvidence) -> None:
    with pytest.raises(DataError, match="another document"):
        evidence.replace(Document("a.md", "", "", "1f"), [Chunk("1", "b.md", "", "", "text", 0, 4)], [EAST])


def test_it_shows_where_it_is(evidence: ElasticsearchEvidence, place: ElasticsearchConfig) -> None:
    assert repr(evidence) == f"<ElasticsearchEvidence {place.index!r}, Elasticsearch at {place.host}>"
