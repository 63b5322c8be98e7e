"""What a store holds, tool by tool, and how a tool is forgotten."""

from collections.abc import Iterator

import pytest

from agentguard.admin._overview import overview
from agentguard.admin._portrait import feedback_of, portrait
from agentguard.errors import DataError
from agentguard.stores import Delta, DiskStore, MemoryStore, Store
from agentguard.verification import VerificationEngine
from agentguard.verification._state import LabelTally, documents_of, place_of, reset

SECRETS = ("Stockholm", "umbrella", "1234.5")


def teach(store: Store, *, calls: int = 20, mode: str = "calibrated") -> None:
    """Calls of a tool with records and of one with prose; two thirds of the records have a ``wind``."""
    with VerificationEngine(mode=mode, store=store) as engine:  # type: ignore[arg-type]  # one of the two
        for n in range(calls):
            record = {"city": SECRETS[0], "degrees": 1234.5, **({"wind": n} if n % 3 else {})}
            engine.verify("weather", args={"city": SECRETS[0]}, result=record, execution_time_ms=100.0 + n)
            engine.verify("advice", args={"about": n}, result=f"Take an {SECRETS[1]} with you, and a coat, number {n}")


@pytest.fixture
def store(tmp_path: object) -> Iterator[DiskStore]:
    made = DiskStore(f"{tmp_path}/store", flush_seconds=3_600.0)
    yield made
    made.close()


def test_an_empty_store_has_nothing_in_it() -> None:
    assert overview(MemoryStore()) == ((), (), (), (), 0)


def test_the_overview_sums_what_is_known_of_each_tool(store: DiskStore) -> None:
    teach(store)
    store.merge(Delta("w", 1, {"weather": {'["calls"]': 5, '["errors"]': 2}}))
    store.append("feedback", {"tool": "weather", "was_hallucination": True})
    store.append("feedback", {"tool": "weather", "was_hallucination": False})
    store.append("feedback", {"tool": "unheard", "was_hallucination": False})
    store.append("feedback", {"tool": "weather"})
    store.append("audit", {"tool": "unheard"})
    store.save({"damaged:calibrated:weather": {}, "notes": {}})

    found = overview(store)

    by_name = {tool.tool: tool for tool in found.tools}
    weather, unheard = by_name["weather"], by_name["unheard"]
    assert sorted(by_name) == ["advice", "unheard", "weather"]
    assert (weather.counted.calls, weather.counted.errors) == (25, 2)  # 20 learned and 5 merged
    assert weather.labels == LabelTally(fabricated=1, genuine=1)
    assert (unheard.learned, unheard.labels.genuine, unheard.audit.records) == ((), 1, 1)
    assert [(learned.mode, learned.results) for learned in weather.learned] == [("calibrated", 20)]
    assert [learned.mode for learned in found.shared] == ["calibrated"]
    assert (found.damaged, found.others, found.unreadable) == (("damaged:calibrated:weather",), ("notes",), 1)


def test_counts_alone_make_a_tool_known() -> None:
    store = MemoryStore()
    store.merge(Delta("w", 1, {f"tool {n}": {'["calls"]': n + 1} for n in range(45)}))

    found = overview(store).tools

    assert {tool.tool: tool.counted.calls for tool in found} == {f"tool {n}": n + 1 for n in range(45)}


def test_names_of_tools_may_hold_anything() -> None:
    assert place_of("calibrated:a:b") == ("calibrated", "a:b")
    assert place_of("calibrated:") == ("calibrated", "")
    assert place_of("calibrated") == ("calibrated", None)
    assert place_of("other:a") is None


def test_a_portrait_says_what_was_learned_and_none_of_its_content(store: DiskStore) -> None:
    teach(store)
    weather = portrait("calibrated", documents_of(store, "weather")["calibrated"])
    advice = portrait("calibrated", documents_of(store, "advice")["calibrated"])

    [records], [texts] = weather.kinds, advice.kinds
    shares = {(field.path, field.type): round(field.share, 3) for field in records.fields}
    # 13 of the numbers 0 to 19 are no multiple of 3; the seven answers without a wind are one answer that came again.
    assert shares == {("city", "string"): 1.0, ("degrees", "number"): 1.0, ("wind", "number"): round(13 / 14, 3)}
    # Times of 100 to 119 ms: half of the 20 are at most 109, 19 at most 118.
    assert [round(weather.latency_ms[share]) for share in (0.5, 0.95, 0.99)] == [109, 118, 119]
    assert (weather.results, weather.errors, weather.argument_sets) == (20, 0.0, 1)
    assert "city is not the argument city" in {one.broken for one in weather.relations if one.held == one.tried}
    assert (records.kind, texts.kind, texts.fields) == ("object", "prose", ())
    assert texts.words > 0
    said = repr((weather, advice))
    assert not [secret for secret in (*SECRETS, SECRETS[1].lower()) if secret in said]


def test_a_portrait_of_reference_mode() -> None:
    store = DiskStoreless()
    teach(store, mode="reference")

    found = portrait("reference", documents_of(store, "weather")["reference"])

    assert (found.results, found.argument_sets, found.errors) == (20, 1, None)
    assert {(field.path, field.share) for field in found.kinds[0].fields} == {
        ("city", 1.0),
        ("degrees", 1.0),
        ("wind", 0.65),
    }


class DiskStoreless(MemoryStore):
    """In memory, but engines hand over to it."""

    flush_seconds: float | None = 3_600.0


@pytest.mark.parametrize("learned", [None, {}, {"~Baseline": {}}, {"~ToolMemory": {"count": "many"}}])
def test_what_cannot_be_read_is_said_to_be_so(learned: object) -> None:
    with pytest.raises(DataError):
        portrait("calibrated", {"version": 1, "tool": "weather", "learned": learned})


def test_a_reset_forgets_a_tool_in_every_mode_and_nothing_of_others(store: DiskStore) -> None:
    teach(store)
    teach(store, mode="reference")
    store.append("feedback", {"tool": "weather", "was_hallucination": True})
    records = len(list(store.events("audit")))

    done = reset(store, "weather")

    found = {tool.tool: tool for tool in overview(store).tools}
    assert (done.documents, done.calls, done.labels) == (2, 40, 0)
    assert found["weather"].learned == ()
    assert found["weather"].counted.calls == 0
    assert found["weather"].labels.fabricated == 1
    assert sum(tool.audit.records for tool in found.values()) == records > 0
    assert [learned.results for learned in found["advice"].learned] == [20, 20]
    assert found["advice"].counted.calls == 40


def test_labels_that_were_reset_stay_so_for_engines_that_start_later() -> None:
    store = DiskStoreless()
    with VerificationEngine(store=store) as engine:
        engine.verify("weather", result={"degrees": 4})
        for _ in range(10):
            engine.record_feedback("weather", 0.9, True)

    raised, _ = feedback_of(store, "weather")
    done = reset(store, "weather", labels=True)
    with VerificationEngine(store=store) as later:
        prior = later.verify("weather", result={"degrees": 4}).prior

    assert raised > 0.15
    assert done.labels == 10
    assert prior == 0.15  # the default
    assert feedback_of(store, "weather")[0] == 0.15


def test_an_engine_drops_a_tool_that_was_reset_meanwhile() -> None:
    store = DiskStoreless()
    with VerificationEngine(store=store) as engine:
        for n in range(12):
            engine.verify("weather", result={"degrees": n})
        engine.flush()
        reset(store, "weather")
        engine.flush()
        engine.verify("weather", result={"degrees": 4})

    [learned] = next(tool for tool in overview(store).tools if tool.tool == "weather").learned
    assert learned.results == 1


def test_a_tool_named_as_a_document_takes_nothing_with_it() -> None:
    store = DiskStoreless()
    teach(store)
    store.merge(Delta("w", 1, {"calibrated": {'["calls"]': 1}}))

    reset(store, "calibrated")

    assert "calibrated" in store.names()
    assert "calibrated" not in {tool.tool for tool in overview(store).tools}


def test_a_tool_with_a_lone_surrogate_is_reset_by_the_name_it_is_shown_by() -> None:
    store = DiskStoreless()
    with VerificationEngine(store=store) as engine:
        engine.verify("a\ud800", result={"degrees": 4})
        engine.flush()
        [tool] = overview(store).tools
        reset(store, tool.tool)
        engine.flush()

    assert [name for name in store.names() if name != "calibrated"] == []
    assert [record.event for record in store.events("feedback")] == [{"reset": "a\ud800", "labels": False}]


def test_a_tool_that_nobody_knows_is_named_with_the_nearest() -> None:
    store = DiskStoreless()
    teach(store)

    with pytest.raises(DataError, match=r"a tool named 'wether'; near it: 'weather'"):
        reset(store, "wether")
    assert list(store.events("feedback")) == []
