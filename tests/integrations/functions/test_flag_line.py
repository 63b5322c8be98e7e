"""A flagged text gets a line after it; a value that a program reads comes back itself."""

from dataclasses import dataclass
from typing import Any

import pytest

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Judgement, Outcome
from agentguard.integrations.functions import guarded

from ..langchain.scripted import ScriptedEngine

LINE = "[agentguard: this result of 'lookup' may be wrong: the id is missing. Check it before you rely on it.]"


def flagging(verdict: str = "flag") -> ScriptedEngine:
    engine = ScriptedEngine(lookup=verdict)
    engine.hazard = "the id is missing"
    return engine


async def both(result: Any, engine: VerificationEngine, **options: Any) -> tuple[Any, Any]:
    """What a plain function and a coroutine function give that return this."""

    @guarded(Guard(engine, **options), "lookup")
    def plain() -> Any:
        return result

    @guarded(Guard(engine, **options), "lookup")
    async def coroutine() -> Any:
        return result

    return plain(), await coroutine()


class Text(str):
    __slots__ = ()


@dataclass
class Record:
    id: int = 7


@pytest.mark.parametrize("text", ["18 degrees in Kew", "two\nlines", "price: 12.50", '{"price": 12.50 and more'])
async def test_a_text_of_words_has_the_line_after_it(text: str) -> None:
    assert await both(text, flagging()) == (f"{text}\n\n{LINE}",) * 2


@pytest.mark.parametrize(
    "value",
    [
        {"id": 7}, [1, 2], ("a b", 1), None, 7, 1.5, b"two words", Record(), Text("two words"),
        "K-7", "", "https://example.org/a?b=c", '{"price": 12.5}', "[1, 2]", '"two words"', ' {"a": "b c"} ',
    ],
)  # fmt: skip
async def test_a_value_that_a_program_reads_comes_back_itself(value: Any) -> None:
    for made in await both(value, flagging()):
        assert made is value


@pytest.mark.parametrize("options", [{"on_flag": "observe"}, {"shadow": True}], ids=["observe", "shadow"])
async def test_observed_a_text_comes_back_itself(options: Any) -> None:
    seen: list[Judgement] = []
    text = "18 degrees in Kew"
    for made in await both(text, flagging(), on_judgement=lambda _, found: seen.append(found), **options):
        assert made is text
    assert [found.verdict for found in seen] == ["flag", "flag"]


async def test_an_accepted_text_has_no_line() -> None:
    assert await both("18 degrees", flagging("accept")) == ("18 degrees", "18 degrees")


async def test_the_line_can_be_said_otherwise() -> None:
    assert await both("18 degrees", flagging(), flag_text="<{hazard}>") == ("18 degrees\n\n<the id is missing>",) * 2
    with pytest.raises(ConfigurationError, match="flag_text"):
        guarded(Guard(flagging(), flag_text="{what}"))


async def test_whoever_is_told_of_judgements_gets_the_line_for_any_value() -> None:
    seen: list[tuple[Outcome, Judgement]] = []
    await both({"id": 7}, flagging(), on_judgement=lambda *told: seen.append(told))
    assert [(outcome.result, found.action, found.line) for outcome, found in seen] == [
        ({"id": 7}, "annotate", LINE)
    ] * 2


async def test_a_notice_says_not_to_call_again_where_the_answer_stays_the_same() -> None:
    engine = flagging("block")
    said = [notice for _ in range(2) for notice in await both("plenty", engine, on_block="replace")]
    assert all("the id is missing" in notice for notice in said)
    assert ["call the tool again" in notice for notice in said] == [True, True, False, False]


@pytest.mark.parametrize(("max_retries", "calls"), [(0, 1), (1, 2), (2, 3), (9, 3)])
async def test_a_call_that_keeps_its_answer_is_not_made_for_ever(max_retries: int, calls: int) -> None:
    made: list[str] = []
    engine = flagging("block")
    engine.register_tool_profile("lookup", idempotent=True)

    @guarded(Guard(engine, max_retries=max_retries))
    def lookup(key: str) -> str:
        made.append(key)
        return "plenty"

    @guarded(Guard(engine, max_retries=max_retries), "lookup")
    async def lookup_async(key: str) -> str:
        made.append(key)
        return "plenty"

    with pytest.raises(ResultBlocked):
        lookup("a")
    with pytest.raises(ResultBlocked):
        await lookup_async("b")
    assert (made.count("a"), made.count("b")) == (calls, calls)


async def test_a_retry_does_not_make_a_wrong_answer_good() -> None:
    """A cache that is stuck on one article gives its answer for another one, however often it is asked."""
    engine = VerificationEngine()
    engine.register_tool_profile("price", echoes={"sku": "sku"}, idempotent=True, has_network_io=False)
    stuck: list[dict[str, Any]] = []

    def answer(sku: str) -> dict[str, Any]:
        return stuck[0] if stuck else {"sku": sku, "price": 10.0 + int(sku[2:]) % 7}

    @guarded(Guard(engine, max_retries=2))
    def price(sku: str) -> dict[str, Any]:
        return answer(sku)

    @guarded(Guard(engine, max_retries=2), "price")
    async def price_async(sku: str) -> dict[str, Any]:
        return answer(sku)

    for number in range(60):
        price(f"K-{number}")
    stuck.append({"sku": "K-3", "price": 13.0})
    for _ in range(4):
        with pytest.raises(ResultBlocked):
            price("K-100")
        with pytest.raises(ResultBlocked):
            await price_async("K-101")
