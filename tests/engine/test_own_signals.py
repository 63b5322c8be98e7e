"""Signals of one's own: rules and numbers, on every call or where a profile names them."""

from __future__ import annotations

import json
import logging
import math
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import pytest

from agentguard.errors import ConfigurationError, ProfileError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import (
    Abstain,
    Broken,
    Kept,
    Measured,
    Past,
    Settings,
    Signal,
    ToolCall,
    ToolProfile,
    VerificationEngine,
    VerificationTier,
    load_profiles,
)
from agentguard.verification.types import Trait

Mode = Literal["calibrated", "reference"]


def warm(engine: VerificationEngine, tool: str = "get_order", calls: int = 60) -> VerificationEngine:
    for number in range(calls):
        result = {"order_id": f"W{number}", "total": 20.0 + number % 9}
        engine.verify(tool, args={"order_id": f"W{number}"}, result=result, execution_time_ms=40.0 + number % 7)
    return engine


class NegativeTotal:
    """Broken by a negative total."""

    def __init__(self, tier: VerificationTier = VerificationTier.TIER_0, name: str = "negative_total", **fields: Any):
        self.name = name
        self.tier = tier
        self.fields = {"ratio": 15.0, **fields}
        self.seen: list[tuple[ToolCall, Past]] = []

    def __call__(self, call: ToolCall, past: Past, /) -> Broken | Kept | Abstain:
        self.seen.append((call, past))
        if not isinstance(call.result, dict) or "total" not in call.result:
            return Abstain("no total")
        if call.result["total"] < 0:
            return Broken("the total is negative", **self.fields)
        return Kept("not negative")


class Discount:
    """Measures by how much a total is below a hundred."""

    name = "discount"
    tier = VerificationTier.TIER_1

    def __init__(self, ratio: float = 4.5) -> None:
        self.ratio = ratio
        self.pasts: list[Past] = []

    def __call__(self, call: ToolCall, past: Past, /) -> Measured | Abstain:
        self.pasts.append(past)
        if not isinstance(call.result, dict) or "total" not in call.result:
            return Abstain("no total")
        return Measured(100.0 - call.result["total"], "the discount is unusual", self.ratio)


class Answers:
    """Says whatever it is told to."""

    name = "answers"
    tier = VerificationTier.TIER_1

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, call: ToolCall, past: Past, /) -> Any:
        return self.answer(call) if callable(self.answer) else self.answer


GOOD = {"order_id": "W99", "total": 23.0}
BAD = {"order_id": "W99", "total": -23.0}


def judge(engine: VerificationEngine, result: object, tool: str = "get_order") -> Any:
    return engine.verify(tool, args={"order_id": "W99"}, result=result, execution_time_ms=62.0, learn=False)


# --- A rule ---


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("tier", list(VerificationTier))
def test_a_signal_of_ones_own_is_one_among_the_others(mode: Mode, tier: VerificationTier, registered: bool) -> None:
    signal: Signal = NegativeTotal(tier=tier)
    engine = VerificationEngine(mode=mode, signals=() if registered else [signal])
    if registered:
        engine.register_signal(signal)

    good, bad, none = judge(engine, GOOD), judge(engine, BAD), judge(engine, {"order_id": "W99"})

    found = bad.signals["negative_total"]
    assert (found.fired, found.tier, found.group, found.traits, found.p_value) == (
        True, tier, "negative_total", (Trait("own", "", "negative_total"),), None,
    )  # fmt: skip
    assert bad.contributions["negative_total"] == pytest.approx(math.log(15.0))
    assert bad.verdict == "block"
    assert "the total is negative" in bad.explanation
    assert good.verdict == "accept"
    assert not none.signals["negative_total"].applicable
    assert none.signals["negative_total"].detail == "no total"
    assert list(judge(VerificationEngine(mode=mode), GOOD).signals) != list(good.signals)


def test_it_sees_the_call_as_plain_data_and_what_is_known_of_the_tool(mode: Mode) -> None:
    signal = NegativeTotal()
    engine = VerificationEngine(mode=mode, signals=[signal])
    engine.register_tool_profile("get_order", required_fields=["total"])
    engine.verify(
        "get_order", args={"order_id": 7}, result='{"total": 3}', execution_time_ms=42, session_id="s", call_id="c"
    )
    engine.verify("get_order", result="Traceback (most recent call last): boom", execution_time_ms=-1.0)

    (call, past), (failed, later) = signal.seen
    assert call == ToolCall("get_order", {"order_id": 7}, {"total": 3}, 42.0, "s", "c", False)
    assert past == Past(0, (), engine.profile_of("get_order"), Settings())
    assert (failed.is_error, failed.execution_time_ms) == (True, None)
    assert later.calls == 1


def test_it_is_not_given_what_could_fail(mode: Mode) -> None:
    signal = NegativeTotal()
    engine = VerificationEngine(mode=mode, signals=[signal])
    engine.verify("get_order", args={"ids": {7}, "raw": b"x", 1: float("nan")}, result={"ids": {7}})

    call, _ = signal.seen[0]
    assert (call.args, call.result) == ({"ids": [7], "raw": "x", "1": "NaN"}, {"ids": [7]})


@pytest.mark.parametrize(("given", "counted"), [(1e9, 20.0), (1.0, 1.0), (3.0, 3.0)])
def test_the_weight_of_a_broken_rule_is_bounded(given: float, counted: float) -> None:
    engine = VerificationEngine(signals=[NegativeTotal(ratio=given)])
    assert judge(engine, BAD).signals["negative_total"].likelihood_ratio == counted


@pytest.mark.parametrize(("given", "counted"), [(1e-9, 0.05), (1.0, 1.0), (0.25, 0.25)])
def test_so_is_that_of_a_kept_one(given: float, counted: float) -> None:
    signal = judge(VerificationEngine(signals=[Answers(Kept("the checksum holds", given))]), GOOD).signals["answers"]
    assert (signal.applicable, signal.fired, signal.likelihood_ratio) == (True, False, counted)


def test_calibrate_sets_its_ratio(mode: Mode) -> None:
    engine = VerificationEngine(mode=mode, signals=[NegativeTotal()])

    engine.calibrate("get_order", likelihood_ratios={"negative_total": 2.0})

    assert judge(engine, BAD).contributions["negative_total"] == pytest.approx(math.log(2.0))
    assert engine.thresholds("get_order").likelihood_ratios["negative_total"] == 2.0
    with pytest.raises(ConfigurationError, match=r"unknown signal 'negative_totals'; known are .*negative_total"):
        engine.calibrate(likelihood_ratios={"negative_totals": 2.0})


def test_a_broken_rule_is_blocked_on_the_posterior_alone_and_repetition_does_not_soften_it() -> None:
    engine = VerificationEngine(signals=[NegativeTotal()], max_false_block_rate=1e-12)
    engine.trust("get_order", 20)
    for number in range(20):
        engine.verify("get_order", args={"order_id": number}, result={"order_id": number, "total": -1.0 - number})

    verdict = judge(engine, BAD)
    assert verdict.verdict == "block"
    assert verdict.contributions["negative_total"] == pytest.approx(math.log(15.0))


# --- A number ---


def measured(engine: VerificationEngine, values: list[float], tool: str = "get_order") -> list[Any]:
    """Judge and learn calls of a tool with these totals; the signals of the discount."""
    signals = []
    for number, total in enumerate(values):
        verdict = engine.verify(
            tool, args={"n": number}, result={"id": f"W{number}", "total": total}, execution_time_ms=40.0 + number % 7
        )
        signals.append(verdict.signals["discount"])
    return signals


def totals(count: int, seed: int = 5) -> list[float]:
    rng = random.Random(seed)
    return [round(rng.uniform(70.0, 100.0), 2) for _ in range(count)]


def test_a_number_is_learned_before_it_says_anything() -> None:
    signals = measured(VerificationEngine(signals=[Discount()]), totals(9))

    assert [signal.applicable for signal in signals] == [False] * 8 + [True]
    assert signals[7].detail == "7 of 8 numbers are known"
    assert signals[0].likelihood_ratio == 1.0


@pytest.mark.parametrize("draw", ["uniform", "heavy", "mostly nothing"])
def test_its_p_value_is_the_share_of_genuine_calls_that_look_as_odd(draw: str) -> None:
    """Of 400 genuine calls about one in twenty has p <= .05, whatever the numbers' distribution and unit."""
    rng = random.Random(11)
    draws: dict[str, Callable[[], float]] = {
        "uniform": lambda: rng.uniform(-3e6, 5e6),
        "heavy": lambda: rng.paretovariate(1.1),
        "mostly nothing": lambda: float(rng.random() < 0.02),
    }
    numbers = iter([draws[draw]() for _ in range(450)])
    engine = VerificationEngine(signals=[Answers(lambda call: Measured(next(numbers), "odd"))])
    verdicts = [
        engine.verify("t", args={"n": n}, result={"n": n, "ok": True}, execution_time_ms=50.0 + n % 7)
        for n in range(450)
    ]
    signals = [verdict.signals["answers"] for verdict in verdicts]

    share = sum((signal.p_value or 0.0) <= 0.05 for signal in signals[50:]) / 400
    assert share <= 0.09  # three standard deviations above .05, and a little for the bins of the histogram


def test_what_no_call_was_like_counts_against_it_and_what_is_usual_says_nothing() -> None:
    engine = VerificationEngine(signals=[Discount()])
    measured(engine, totals(100))

    odd, usual = judge(engine, {"id": "W1", "total": -400.0}), judge(engine, {"id": "W1", "total": 95.0})

    signal = odd.signals["discount"]
    assert signal.fired
    assert signal.p_value == pytest.approx(8 * 0.01 / (92 + 8), rel=0.15)  # the prior's floor alone is left
    assert 1.0 < signal.likelihood_ratio <= 20.0
    assert odd.contributions["discount"] == pytest.approx(math.log(signal.likelihood_ratio))
    assert (signal.detail, signal.traits, signal.group) == (
        "the discount is unusual",
        (Trait("own", "", "discount"),),
        "discount",
    )
    assert usual.signals["discount"].likelihood_ratio == 1.0
    assert usual.signals["discount"].traits == ()
    assert "discount" not in usual.contributions


def test_it_is_under_the_bound_on_false_blocks() -> None:
    """Where a rule is blocked, a number is flagged: the bound cannot be kept."""
    verdicts = []
    for bound in (0.01, 1e-12):
        numbers = iter([*map(float, range(100)), 1e6])
        signal = Answers(lambda call, numbers=numbers: Measured(next(numbers), "odd", 20.0))
        engine = warm(VerificationEngine(signals=[signal], max_false_block_rate=bound, prior=0.4), calls=100)
        verdicts.append(judge(engine, GOOD))

    assert [verdict.posterior >= 0.5 for verdict in verdicts] == [True, True]
    assert [verdict.verdict for verdict in verdicts] == ["block", "flag"]
    assert verdicts[1].false_block_p > 1e-12


@pytest.mark.parametrize("ratio", [1e6, 20.0])
def test_its_weight_is_bounded_too(ratio: float) -> None:
    engine = VerificationEngine(signals=[Discount(ratio)])
    measured(engine, totals(300))
    assert judge(engine, {"id": "W1", "total": -1e6}).signals["discount"].likelihood_ratio <= 20.0


def test_in_reference_mode_it_abstains_aloud() -> None:
    signal = measured(VerificationEngine(mode="reference", signals=[Discount()]), totals(20))[-1]
    assert not signal.applicable
    assert signal.detail == "reference mode has no p-values"


def test_a_signal_sees_its_own_numbers_of_calls_that_were_learned() -> None:
    pasts: list[Past] = []

    class Row(Answers):
        def __call__(self, call: ToolCall, past: Past, /) -> Any:
            pasts.append(past)
            return Measured(float(call.execution_time_ms or 0.0), "odd")

    engine = VerificationEngine(signals=[Row(None)])
    engine.trust("get_order", 300)
    warm(engine, calls=300)
    judge(engine, GOOD)

    assert pasts[-1].values == tuple(40.0 + number % 7 for number in range(44, 300))
    assert pasts[-1].calls == 300
    judge(engine, GOOD, tool="another")
    assert pasts[-1].values == ()


def test_judging_without_learning_learns_nothing() -> None:
    signal = Discount()
    engine = VerificationEngine(signals=[signal])
    measured(engine, totals(20))
    for _ in range(3):
        judge(engine, GOOD)
    assert len(signal.pasts[-1].values) == 20


def test_what_was_learned_of_it_is_in_the_store_by_its_name_alone(tmp_path: Path) -> None:
    """An engine without the signal hands it on, and a signal of the same name goes on from there."""
    with VerificationEngine(store=DiskStore(tmp_path), signals=[Discount()]) as engine:
        measured(engine, totals(100))
        first = judge(engine, {"id": "W1", "total": -400.0})
    with VerificationEngine(store=DiskStore(tmp_path)) as without:
        warm(without, calls=1)
    with VerificationEngine(store=DiskStore(tmp_path), signals=[Discount()]) as again:
        signal = judge(again, {"id": "W1", "total": -400.0}).signals["discount"]
        assert signal == first.signals["discount"]

    with VerificationEngine(store=DiskStore(tmp_path), signals=[Discount()]) as last:
        last.reset("get_order")
        assert not judge(last, GOOD).signals["discount"].applicable


def test_workers_on_one_store_learn_its_numbers_together(tmp_path: Path) -> None:
    """The second worker has seen 20 calls of its own, and knows that the first's went farther."""
    seen = Discount()
    with (
        VerificationEngine(store=DiskStore(tmp_path), signals=[seen]) as second,
        VerificationEngine(store=DiskStore(tmp_path), signals=[Discount()]) as first,
    ):
        measured(second, [99.0] * 20)
        second.flush()
        measured(first, [50.0] * 40)
        first.flush()
        measured(second, [99.0])
        second.flush()
        judge(second, GOOD)

        values = seen.pasts[-1].values
        assert len(values) == 21 + 40
        assert values.count(1.0) == 21
        assert sorted(values)[-40:] == pytest.approx([50.0] * 40, rel=0.025)


def test_signals_of_many_names_are_bounded_in_a_tool(memory_of: Any) -> None:
    engine = VerificationEngine()
    for number in range(80):
        signal: Any = Answers(Measured(float(number), "odd"))
        signal.name = f"s{number}"
        engine.register_signal(signal)
    warm(engine, calls=20)
    assert len(memory_of(engine, "get_order").measured) == 64


# --- What goes wrong ---


@pytest.mark.parametrize(
    "answer",
    [
        Broken("x", math.nan), Broken("x", 0.0), Broken("x", -3.0), Broken("x", math.inf), Broken("x", 0.5),
        Broken("x", "much"),  # type: ignore[arg-type]
        Kept("x", 2.0), Kept("x", 0.0), Kept("x", math.nan),
        Measured(math.nan, "x"), Measured(math.inf, "x"), Measured("7", "x"), Measured(1.0, "x", 0.5),  # type: ignore[arg-type]
        None, True, 0.7, {"fired": True},
    ],
)  # fmt: skip
@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_an_impossible_answer_is_a_check_that_failed(on_error: Literal["open", "closed"], answer: Any) -> None:
    engine = VerificationEngine(signals=[Answers(answer)])
    engine.register_tool_profile("get_order", on_error=on_error)

    verdict = judge(engine, GOOD)

    assert not verdict.signals["answers"].applicable
    assert "the check failed" in verdict.signals["answers"].detail
    assert verdict.verdict == ("accept" if on_error == "open" else "block")


def test_and_so_is_one_that_raises_whose_words_are_not_logged(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    def fails(call: ToolCall) -> Any:
        raise RuntimeError(f"secret {call.result}")

    with caplog.at_level(logging.ERROR):
        verdict = judge(VerificationEngine(mode=mode, signals=[Answers(fails)]), GOOD)

    assert verdict.signals["answers"].detail == "the check failed: RuntimeError"
    assert verdict.verdict == "accept"
    assert "answers" in caplog.text
    assert "secret" not in caplog.text


def named(name: Any, tier: Any = VerificationTier.TIER_0) -> Any:
    return NegativeTotal(tier, name)


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        ([named("schema_mismatch")], "there is a signal 'schema_mismatch' already"),
        ([named("echo_mismatch")], "there is a signal 'echo_mismatch' already"),
        ([named("injection_found")], "there is a signal 'injection_found' already"),
        ([named("one"), named("one")], "there is a signal 'one' already"),
        ([named("")], "a signal has a name"),
        ([named(7)], "a signal has a name"),
        ([named("two\nlines")], "a signal has a name"),
        ([named("!rule")], "does not begin with '!'"),  # as broken rules are written in the log of labels
        ([object()], "a signal has a name"),
        ([named("one", 0)], "signal 'one' has a tier"),
        ([type("Mute", (), {"name": "mute", "tier": VerificationTier.TIER_1})()], "cannot be called"),
        ([Answers], "signal 'answers' is called with a call and its past"),  # the class, and not one of it
    ],
)
def test_what_is_no_signal_is_refused(mode: Mode, signals: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        VerificationEngine(mode=mode, signals=signals)
    engine = VerificationEngine(mode=mode, signals=signals[:-1])
    with pytest.raises(ConfigurationError, match=message):
        engine.register_signal(signals[-1])


def test_its_labels_and_its_verdicts_go_the_way_of_all_others(mode: Mode) -> None:
    store = MemoryStore()
    engine = warm(VerificationEngine(mode=mode, store=store, signals=[NegativeTotal()]))
    for number in range(4):
        result = {"order_id": f"X{number}", "total": -1.0 - number}
        engine.verify("get_order", args={"order_id": f"X{number}"}, result=result, call_id=f"c{number}")
    engine.record_feedback("get_order", 0.8, True, "c3")

    records = [record.event for record in store.events("audit")]
    assert any("!negative_total" in record["fired"] for record in records)
    json.dumps(records)
    second = VerificationEngine(mode=mode, store=store)
    assert second.thresholds("get_order").prior == engine.thresholds("get_order").prior


@pytest.mark.parametrize("label", [True, False])
def test_labels_move_its_weight_as_that_of_any_other(label: bool) -> None:
    """A signal that reviewers find wrong counts less, one that they find right more, and never beyond its bounds."""
    store = MemoryStore()
    engine = warm(VerificationEngine(store=store, signals=[NegativeTotal(ratio=6.0), Discount()]), calls=100)
    before = judge(engine, BAD)
    for number in range(30):
        result = {"order_id": f"X{number}", "total": -1.0 - number}
        engine.verify("get_order", args={"order_id": f"X{number}"}, result=result, call_id=f"c{number}")
        engine.record_feedback("get_order", 0.8, label, f"c{number}")

    later = VerificationEngine(store=store)  # the label is read before the signal is there
    later.register_signal(NegativeTotal(ratio=6.0))
    later.register_signal(Discount())
    for each in (engine, later):
        for name in ("negative_total", "discount"):
            ratio, first = (judged.signals[name].likelihood_ratio for judged in (judge(each, BAD), before))
            assert first > 1.0
            assert 1.0 <= ratio <= 20.0
            if name == "negative_total":
                assert ratio > first if label else 1.5 <= ratio < first


def test_signals_may_come_while_calls_are_judged() -> None:
    """Every verdict has the signals that there were at one moment; none is lost between two that come at once."""
    engine = VerificationEngine()
    begin, failures = threading.Barrier(6), []

    def register(thread: int) -> None:
        begin.wait(timeout=60)
        for number in range(20):
            engine.register_signal(named(f"own_{thread}_{number}"))

    def verify() -> None:
        begin.wait(timeout=60)
        before = 0
        for _ in range(60):
            own = sum(name.startswith("own_") for name in judge(engine, GOOD).signals)
            if own < before:
                failures.append((before, own))
            before = own

    threads = [threading.Thread(target=register, args=(n,)) for n in range(3)]
    threads += [threading.Thread(target=verify) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert not failures
    assert sum(name.startswith("own_") for name in judge(engine, GOOD).signals) == 60


# --- Those that a profile names ---


MODULE = """
    from agentguard.verification import Broken, Kept, VerificationTier

    class Positive:
        name = "positive"
        tier = VerificationTier.TIER_1

        def __call__(self, call, past):
            return Broken("not positive") if call.result["total"] <= 0 else Kept()

    positive = Positive()

    class Renamed(Positive):
        name = "another"

    class Taken(Positive):
        name = "schema_mismatch"
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with signals among its entry points."""
    (tmp_path / "shop_checks.py").write_text(dedent(MODULE), encoding="utf-8")
    (tmp_path / "shop_checks_broken.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    install(
        tmp_path,
        "shop-checks",
        positive="shop_checks:Positive",
        renamed="shop_checks:Renamed",
        schema_mismatch="shop_checks:Taken",
        broken="shop_checks_broken:anything",
        absent="shop_checks:Absent",
        instance="shop_checks:positive",
        number="math:pi",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("shop_checks", "shop_checks_broken"):
        sys.modules.pop(name, None)


def install(folder: Path, package: str, **signals: str) -> None:
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in signals.items()]
    (info / "entry_points.txt").write_text("\n".join(["[agentguard.signals]", *lines]), encoding="utf-8")


def test_a_profile_names_a_signal_of_an_installed_package(mode: Mode, package: Path) -> None:
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile("get_order", signals=["positive"])

    assert judge(engine, BAD).signals["positive"].detail == "not positive"
    assert judge(engine, GOOD).signals["positive"].applicable
    assert "positive" not in judge(engine, GOOD, tool="get_price").signals
    assert engine.calibrate(likelihood_ratios={"positive": 3.0}).thresholds().likelihood_ratios["positive"] == 3.0
    engine.unregister("get_order")
    assert "positive" not in judge(engine, GOOD).signals


def test_it_is_loaded_once_for_all_profiles_that_name_it(package: Path) -> None:
    profiles = [ToolProfile(name=name, signals=("positive",)) for name in ("one", "two")]
    engine = VerificationEngine(profiles=profiles)
    engine.register_tool_profile("three", signals=["positive"])
    assert all(judge(engine, BAD, tool=name).signals["positive"].fired for name in ("one", "two", "three"))
    with pytest.raises(ConfigurationError, match="there is a signal 'positive' already"):
        engine.register_signal(named("positive"))


def test_in_reference_mode_a_tier_that_is_not_reached_says_so(package: Path) -> None:
    engine = VerificationEngine(mode="reference")
    engine.register_tool_profile(
        "get_order", signals=["positive"], required_fields=["x", "y"], forbidden_fields=["total"]
    )
    signal = judge(engine, BAD).signals["positive"]
    assert (signal.applicable, signal.detail) == (False, "not looked at: tier 0 blocked")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("positve", r"no installed package offers 'positve' in its entry points .*; did you mean 'positive'"),
        ("os.system", r"no installed package offers 'os.system' .*; offered: absent, broken, instance"),
        ("shop_checks:Positive", r"no installed package offers 'shop_checks:Positive'"),
        ("renamed", r"the signal that is offered as 'renamed' calls itself 'another'"),
        ("instance", r"the signal that is offered as 'instance' calls itself 'positive'"),
        ("schema_mismatch", r"there is a signal 'schema_mismatch' already"),
        ("broken", r"shop_checks_broken:anything of shop-checks cannot be loaded: RuntimeError"),
        ("absent", r"shop_checks:Absent of shop-checks cannot be loaded: AttributeError"),
        ("number", r"a signal has a name"),
    ],
)
def test_what_cannot_be_had_is_a_fault_of_the_profile(package: Path, name: str, message: str) -> None:
    engine = VerificationEngine()
    with pytest.raises(ProfileError, match=message):
        engine.register_tool_profile("get_order", signals=[name])
    assert engine.profile_of("get_order").signals == ()
    with pytest.raises(ProfileError, match=message):
        VerificationEngine(profiles=[ToolProfile(name="get_order", signals=(name,))])


def test_a_name_that_nobody_offers_is_told_with_its_line_and_nothing_is_imported(package: Path) -> None:
    (package / "orders.yaml").write_text("name: get_order\nsignals:\n  - positive\n  - positiv\n", encoding="utf-8")
    with pytest.raises(ProfileError) as caught:
        load_profiles(package / "orders.yaml")

    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (4, "signals.1")
    assert "did you mean 'positive'?" in problem.message
    assert "shop_checks" not in sys.modules


def test_a_name_that_two_packages_offer(package: Path) -> None:
    install(package, "other-checks", positive="math:pi")
    with pytest.raises(ProfileError, match=r"other-checks and shop-checks both offer 'positive'"):
        VerificationEngine().register_tool_profile("get_order", signals=["positive"])


@pytest.mark.parametrize("given", ["positive", ["positive", "positive"], [""], [7]])
def test_names_of_signals_are_a_list_of_texts(package: Path, given: Any) -> None:
    with pytest.raises(ProfileError, match="signals"):
        VerificationEngine().register_tool_profile("get_order", signals=given)
