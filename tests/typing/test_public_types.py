"""The public interface as a user's type checker sees it: mypy --strict reads this file, pytest runs it too.

``assert_type`` is exact: a wider or narrower type fails. What must be refused stands in functions that are only
read, with the error that mypy has to give; an ignore that is not needed is an error as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from typing_extensions import assert_type

from agentguard.stores import Delta, MemoryStore, Record, Standing, Store
from agentguard.verification import (
    Abstain,
    Broken,
    Change,
    DeclaredEcho,
    Feedback,
    Kept,
    Measured,
    Past,
    Settings,
    Signal,
    SignalResult,
    ToolCall,
    ToolProfile,
    VerificationEngine,
    VerificationResult,
    VerificationTier,
    load_profiles,
)


def test_verify_gives_a_verification_result() -> None:
    engine = VerificationEngine()
    result = engine.verify("search", args={"q": "x"}, result={"hits": []}, execution_time_ms=120.0)

    assert_type(engine, VerificationEngine)
    assert_type(result, VerificationResult)
    assert_type(result.verdict, Literal["accept", "flag", "block"])
    assert_type(result.posterior, float)
    assert_type(result.confidence, float)
    assert_type(result.prior, float)
    assert_type(result.signals, dict[str, SignalResult])
    assert_type(result.contributions, Mapping[str, float])
    assert_type(result.tier_reached, VerificationTier)
    assert_type(result.false_block_p, float | None)
    assert_type(result.tool, str)
    assert_type(result.call_id, str | None)
    assert_type(result.note, str)
    assert_type(result.explanation, str)
    assert_type(result.is_hallucinated, bool)
    assert isinstance(result, VerificationResult)


def test_a_signal_is_typed_throughout() -> None:
    signal = VerificationEngine().verify("search").signals["schema_mismatch"]

    assert_type(signal, SignalResult)
    assert_type(signal.name, str)
    assert_type(signal.applicable, bool)
    assert_type(signal.fired, bool)
    assert_type(signal.score, float)
    assert_type(signal.likelihood_ratio, float)
    assert_type(signal.p_value, float | None)
    assert_type(signal.tier, VerificationTier)
    assert_type(signal.detail, str)
    assert_type(signal.group, str)
    assert isinstance(signal, SignalResult)


def test_a_verdict_can_be_matched_exhaustively() -> None:
    def act(result: VerificationResult) -> int:
        match result.verdict:
            case "accept":
                return 0
            case "flag":
                return 1
            case "block":
                return 2

    assert_type(act(VerificationEngine().verify("search")), int)
    assert act(VerificationEngine().verify("search")) == 0


def test_what_the_other_methods_give() -> None:
    engine = VerificationEngine(mode="reference", prior=0.2, accept_below=0.3, block_at=0.6, max_false_block_rate=0.02)

    assert_type(engine.register_tool_profile("search", required_fields=["hits"]), ToolProfile)
    assert_type(engine.calibrate(prior=0.3), VerificationEngine)
    assert_type(engine.calibrate("search", likelihood_ratios={"schema_mismatch": 6}), VerificationEngine)
    assert_type(load_profiles(), list[ToolProfile])
    assert_type(ToolCall("search").args, Any)
    assert engine.trust("search", 3) is None  # type: ignore[func-returns-value]  # it gives nothing, and says so
    assert_type(engine.record_feedback("search", 0.3, True), Feedback)
    assert_type(engine.record_feedback("search", 0.3, True).counted, bool)
    assert_type(engine.record_feedback("search", 0.3, True).note, str)
    assert_type(engine.thresholds(), Settings)
    assert_type(engine.thresholds("search").likelihood_ratios, Mapping[str, float])
    assert_type(engine.unregister("search"), ToolProfile)
    assert_type(engine.changes(), list[Change])
    assert_type(DeclaredEcho(path="sku").path, str)
    engine.verify("search")
    assert engine.reset("search", labels=True) is None  # type: ignore[func-returns-value]  # it gives nothing either


class EmptyHits:
    """A user's check: the protocol is met by its shape too."""

    name = "empty_hits"
    tier = VerificationTier.TIER_0

    def __call__(self, call: ToolCall, past: Past, /) -> Broken | Kept | Measured | Abstain:
        assert_type(past.values, tuple[float, ...])
        assert_type(past.calls, int)
        assert_type(past.settings, Settings)
        assert_type(past.profile, ToolProfile)
        if call.execution_time_ms is None:
            return Abstain("no time")
        if call.args == "measure":
            return Measured(7, "a whole number is one too")
        return Broken("no hits", ratio=2.0) if call.result == {"hits": []} else Kept()


def test_a_signal_of_ones_own() -> None:
    signals: list[Signal] = [EmptyHits()]
    engine = VerificationEngine(signals=signals)
    assert engine.verify("search", result={"hits": []}, execution_time_ms=90).signals["empty_hits"].fired
    VerificationEngine().register_signal(EmptyHits())


class OwnStore:
    """A user's store: the protocol is met by its shape, without inheriting anything."""

    flush_seconds = None
    is_near = True

    def __init__(self) -> None:
        self.kept: list[tuple[str, Mapping[str, Any]]] = []

    def append(self, kind: str, event: Mapping[str, Any], /) -> int:
        self.kept.append((kind, event))
        return len(self.kept)

    def extend(self, kind: str, events: Sequence[Mapping[str, Any]], /) -> int:
        return [0, *(self.append(kind, event) for event in events)][-1]

    def standing(self, kinds: Iterable[str], /) -> Standing:
        return Standing("one", dict.fromkeys(kinds, len(self.kept)))

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        return iter([Record(n, 0.0, event) for n, (its, event) in enumerate(self.kept, 1) if its == kind and n > after])

    def claim(self, kind: str, key: str, /) -> bool:
        return True

    def merge(self, delta: Delta, /) -> int:
        return 0

    def counts(self, names: Iterable[str] | None = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        return {}

    def save(self, documents: Mapping[str, Mapping[str, Any]], /) -> None:
        return None

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Mapping[str, Any]]:
        return {}

    def names(self) -> Sequence[str]:
        return ()

    def forget(self, names: Iterable[str], /) -> None:
        return None

    def prune(self, max_age: float, /) -> int:
        return 0

    def close(self) -> None:
        return None


def test_what_the_constructor_takes(tmp_path: Path) -> None:
    stores: list[Store] = [MemoryStore(), OwnStore()]
    for store in stores:
        VerificationEngine(store=store)
    (tmp_path / "search.yaml").write_text("required_fields: [hits]\n", encoding="utf-8")
    for profiles in (str(tmp_path), tmp_path, None):
        VerificationEngine(profiles=profiles)
    VerificationEngine("calibrated", profiles=(ToolProfile(name=name) for name in ("one", "other")))
    VerificationEngine(profiles=[ToolProfile(name="one")], store=None)

    own = OwnStore()
    VerificationEngine(store=own).record_feedback("search", confidence_score=0.3, was_hallucination=True, call_id=None)
    assert len(own.kept) == 1


def refused(engine: VerificationEngine, result: VerificationResult) -> None:
    """Never called: each line is an error to the type checker."""
    VerificationEngine(mode="bayes")  # type: ignore[arg-type]  # only the two modes there are
    VerificationEngine(prior="0.15")  # type: ignore[arg-type]  # a number
    VerificationEngine(profiles=[{"name": "x"}])  # type: ignore[list-item]  # profiles, not dictionaries
    VerificationEngine(store=object())  # type: ignore[arg-type]  # something with append and events
    engine.verify("search", {"q": "x"})  # type: ignore[call-arg]  # all but the tool is given by name
    engine.verify("search", execution_time="1")  # type: ignore[call-arg]  # no such argument
    engine.verify("search", execution_time_ms="fast")  # type: ignore[arg-type]  # milliseconds
    engine.verify(7)  # type: ignore[arg-type]  # a tool has a name
    engine.record_feedback("search", 0.3, "yes")  # type: ignore[arg-type]  # True or False
    VerificationEngine(signals=[object()])  # type: ignore[list-item]  # signals
    engine.register_signal(len)  # type: ignore[arg-type]  # one has a name and a tier
    engine.reset("search", True)  # type: ignore[call-arg]  # labels are forgotten by name alone
    engine.calibrate(threshold=0.3)  # type: ignore[call-arg]  # no such setting
    result.verdict = "accept"  # type: ignore[misc]  # a verdict is given, not set
    result.signals["schema_mismatch"].score = 1.0  # type: ignore[misc]  # nor a signal
    assert result.verdict != "reject"  # type: ignore[comparison-overlap]  # not one of the three
