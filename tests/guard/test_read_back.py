"""The guard's own calls: what they catch, what they cost when they fail, and that they are nobody else's."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from agentguard.errors import ResultBlocked
from agentguard.guard import Judgement, Outcome, Policy, ToolGuard, _read_back
from agentguard.guard._guard import CallGuard
from agentguard.integrations.functions import guarded
from agentguard.stores import MemoryStore
from agentguard.telemetry import observe
from agentguard.verification import VerificationEngine

CONFIRM: dict[str, Any] = {"tool": "get_order", "args": {"order_id": "$.result.id"}}
WRITE = Outcome("create_order", {"customer": "C1", "amount": 12.5}, {"id": "O-1"}, 80.0, "s1", "c1")


def engine_of(store: Any = None, **confirm: Any) -> VerificationEngine:
    engine = VerificationEngine(store=store)
    engine.register_tool_profile("create_order", confirm={**CONFIRM, **confirm})
    return engine


def says(answer: Any) -> Callable[..., Any]:
    """A reader with this answer, or that raises it."""

    def get_order(order_id: str) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return get_order


def says_async(answer: Any) -> Callable[..., Any]:
    """The same as a coroutine function."""
    get_order = says(answer)

    async def get_order_async(order_id: str) -> Any:
        return get_order(order_id)

    return get_order_async


async def judged(reader: Any, engine: VerificationEngine | None = None, call: Outcome = WRITE, **policy: Any) -> Any:
    """The judgement on a write, made in a plain function and in a coroutine; both must be alike."""
    readers = None if reader is None else {"get_order": reader}
    made = []
    for is_async in (False, True):
        guard = CallGuard(engine or engine_of(), readers=readers, **policy)
        made.append(await guard.judge_async(call) if is_async else guard.judge(call))
    assert made[0][:1] == made[1][:1]
    assert [reading.detail for reading in made[0].readings] == [reading.detail for reading in made[1].readings]
    return made[0]


class Shop:
    """Takes orders, and now and then does not do what it says; ``late`` ones are there some readings later."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.orders: dict[str, dict[str, Any]] = {}
        self.late: dict[str, dict[str, Any]] = {}
        self.made = 0
        self.fault = ""

    def create_order(self, customer: str, amount: float, items: list[str]) -> dict[str, Any]:
        self.made += 1
        id_ = f"O-{self.made}"
        order = {"id": id_, "customer": customer, "amount": amount, "items": items, "status": "new"}
        if self.fault == "another amount":
            order["amount"] = round(amount * self.draw.choice([0.1, 0.99, 1.01, 100]), 2) + 0.01
        if self.fault == "fewer items":
            order["items"] = items[:-1]
        if self.fault == "another customer":
            order["customer"] = customer + "0"
        if self.fault == "the order before":
            id_ = f"O-{self.made - 1}"
        if self.fault == "stored later":
            self.late[id_] = order
        elif self.fault not in ("not stored", "the order before"):
            self.orders[id_] = order
        return {"id": "" if self.fault == "no id" else id_, "status": "ok"}

    def get_order(self, order_id: str) -> dict[str, Any]:
        return self.orders[order_id]


NO_OPS = (
    "not stored", "another amount", "fewer items", "another customer", "the order before", "stored later", "no id",
)  # fmt: skip


async def test_silent_no_ops_are_caught_and_honest_writes_pass() -> None:
    """At least 95 of 100 no-ops of every shape, and none of the honest writes."""
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for seed in range(4):
        shop = Shop(seed)
        create: Any = guarded(engine_of(), on_flag="block", readers={"get_order": shop.get_order})(shop.create_order)
        for _ in range(150):
            shop.fault = shop.draw.choice(["", "", *NO_OPS])
            items = [f"K-{shop.draw.randint(1, 99)}" for _ in range(shop.draw.randint(1, 4))]
            tried[shop.fault] += 1
            try:
                create(f"C{shop.draw.randint(1, 50)}", round(shop.draw.uniform(1, 500), 2), items)
            except ResultBlocked:
                caught[shop.fault] += 1

    assert caught[""] == 0
    assert all(caught[shape] >= 0.95 * tried[shape] for shape in NO_OPS), (caught, tried)


async def test_the_notice_says_what_happened_and_not_to_do_it_again() -> None:
    said = (await judged(says(None))).notice

    assert said == (
        "The result of 'create_order' was blocked: create_order answered as if it were done, but get_order(order_id=…) "
        "finds no such thing. It may have been done all the same, in part or later: look with 'get_order' before you "
        "call it again, and do not say that it is done."
    )
    assert "call the tool again" not in said


async def test_what_is_there_is_handed_on_and_the_verdict_tells_of_the_call() -> None:
    judgement = await judged(says({"id": "O-1", "customer": "C1", "amount": 12.5}))

    assert judgement.action == "pass"
    [told] = judgement.as_dict()["read_back"]
    assert told.pop("milliseconds") >= 0.0
    assert told == {"kind": "confirm", "tool": "get_order", "by": "guard", "state": "agrees", "calls": 1}


class NotFound(Exception):
    pass


class HttpError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status_code = status


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (KeyError("O-1"), "absent"),
        (NotFound("O-1"), "absent"),
        (HttpError(404), "absent"),
        (ValueError("no such order"), "absent"),
        (FileNotFoundError("O-1.json"), "absent"),
        (KeyError("password"), "unknown"),
        (HttpError(503), "unknown"),
        (ConnectionError("host not found"), "unknown"),
        (TimeoutError(), "unknown"),
        (ModuleNotFoundError("shop not found"), "unknown"),
    ],
    ids=repr,
)
async def test_an_exception_says_that_nothing_is_there_or_that_nobody_looked(raised: Exception, state: str) -> None:
    judgement = await judged(says(raised))

    assert [reading.state for reading in judgement.readings] == [state]
    assert judgement.action == {"absent": "replace", "unknown": "annotate"}[state]


async def test_a_reader_that_fails_follows_the_policy_and_says_so() -> None:
    reader = says(ConnectionError("secret-9"))
    is_open, closed = await judged(reader), await judged(reader, on_guard_error="closed")

    assert (is_open.verdict, is_open.action) == ("flag", "annotate")
    why = "it could not be confirmed: get_order(order_id=…) raised ConnectionError"
    assert why in is_open.line
    assert "secret-9" not in is_open.line
    assert (closed.verdict, closed.action) == ("flag", "replace")
    assert closed.notice.startswith(f"The result of 'create_order' was withheld: {why}. It may have been done all the")
    assert (await judged(reader, on_guard_error="closed", shadow=True)).action == "pass"


class Odd(BaseException):
    """What no program catches by a usual clause."""


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("make", [says, says_async])
@pytest.mark.parametrize("raised", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), StopIteration(), Odd()])
async def test_whatever_a_reader_raises_the_call_is_handed_on_and_flagged(
    raised: BaseException, make: Callable[[Any], Any], timeout: float | None
) -> None:
    guard = CallGuard(engine_of(timeout=timeout), readers={"get_order": make(raised)})
    made = await guard.judge_async(WRITE)

    assert (made.action, made.verdict) == ("annotate", "flag")
    assert [reading.state for reading in made.readings] == ["unknown"]
    assert made.hazard.startswith("it could not be confirmed: get_order(order_id=…) raised ")
    assert made.result is not None
    assert "it could not be confirmed" in made.result.note
    closed = CallGuard(engine_of(timeout=timeout), readers={"get_order": make(raised)}, on_guard_error="closed")
    assert (await closed.judge_async(WRITE)).action == "replace"
    if make is says:
        assert guard.judge(WRITE).verdict == "flag"


@pytest.mark.parametrize("make", [says, says_async])
async def test_an_interruption_goes_on_when_the_call_is_on_record(make: Callable[[Any], Any]) -> None:
    told: list[Any] = []
    guard = CallGuard(
        engine_of(timeout=5.0), readers={"get_order": make(KeyboardInterrupt())},
        on_judgement=lambda outcome, judgement: told.append((outcome.call_id, judgement.verdict)),
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        await guard.judge_async(WRITE)
    assert told == [("c1", "flag")]
    if make is says:
        with pytest.raises(KeyboardInterrupt):
            guard.judge(WRITE)


async def test_a_call_that_is_cancelled_while_it_is_read_back_is_on_record() -> None:
    told: list[Any] = []
    begun = asyncio.Event()

    async def hangs(order_id: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    guard = CallGuard(
        engine_of(), readers={"get_order": hangs},
        on_judgement=lambda outcome, judgement: told.append(judgement.verdict),
    )  # fmt: skip
    task = asyncio.create_task(guard.judge_async(WRITE))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["flag"]


async def test_without_a_reader_nobody_can_ask_and_the_verdict_says_so() -> None:
    assert "cannot be called from here" in (await judged(None)).line


async def test_a_reader_that_hangs_is_waited_for_in_bounds() -> None:
    freed = threading.Event()

    def hangs(order_id: str) -> Any:
        freed.wait()

    async def hangs_async(order_id: str) -> Any:
        await asyncio.Event().wait()

    for reader in (hangs, hangs_async):
        [reading] = (await judged(reader, engine_of(timeout=0.02))).readings
        assert (reading.state, reading.detail) == (
            "unknown", "it could not be confirmed: get_order(order_id=…) gave no answer within 0.02 s",
        )  # fmt: skip
    freed.set()


async def test_without_a_time_limit_a_plain_reader_runs_in_the_thread_of_the_call() -> None:
    threads: list[int] = []

    def reader(order_id: str) -> Any:
        threads.append(threading.get_ident())
        return {"id": order_id}

    await judged(reader, engine_of(timeout=None))
    assert threads == [threading.get_ident()] * 2


async def test_a_reader_sees_the_context_of_the_call() -> None:
    tenant = ContextVar("tenant", default="nobody")
    tenant.set("acme")

    assert (await judged(lambda order_id: {"id": order_id} if tenant.get() == "acme" else None)).action == "pass"


async def test_what_may_come_late_is_asked_for_again_until_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    async def sleep_async(seconds: float) -> None:
        sleep(seconds)

    monkeypatch.setattr(_read_back, "FIRST_WAIT", 0.0625)
    monkeypatch.setattr(_read_back, "perf_counter", lambda: now[0])
    monkeypatch.setattr(_read_back, "sleep", sleep)
    monkeypatch.setattr(_read_back.asyncio, "sleep", sleep_async)
    for needed, action, waited in ((3, "pass", [0.0625, 0.125]), (99, "replace", [0.0625, 0.125, 0.25, 0.5, 0.0625])):
        for is_async in (False, True):
            waits.clear()
            asked = iter(range(1, 1_000))

            def late(order_id: str, asked: Any = asked, needed: int = needed) -> Any:
                return {"id": order_id} if next(asked) >= needed else None

            guard = CallGuard(engine_of(within=1.0, timeout=None), readers={"get_order": late})
            made = await guard.judge_async(WRITE) if is_async else guard.judge(WRITE)
            assert (made.action, waits) == (action, waited)
            assert made.readings[0].calls == len(waited) + 1


async def test_an_answer_that_is_itself_made_up_confirms_nothing() -> None:
    engine = engine_of()
    engine.register_tool_profile("get_order", required_fields=["id"])

    [reading] = (await judged(says({"customer": "C1", "amount": 99}), engine)).readings
    assert (reading.state, "itself probably not what the tool returned" in reading.detail) == ("unknown", True)
    [absent] = (await judged(says({}), engine)).readings
    assert absent.state == "absent"


async def test_an_answer_that_is_odd_for_its_tool_and_tells_what_was_written_confirms_it() -> None:
    def engine() -> VerificationEngine:
        learned = engine_of()
        for number in range(60):
            order = {"id": f"O-{number}", "customer": f"C{number}", "amount": 90 + number, "state": "open"}
            learned.verify("get_order", args={"order_id": order["id"]}, result=order, session_id="s")
        return learned

    odd = {"customer": "C1", "amount": 12.5, "rows": [1, 2], "total": {"of": 3}}  # another form than all before
    judged_alone = engine().verify("get_order", args={"order_id": "O-1"}, result=odd, learn=False)
    assert judged_alone.verdict == "block"

    [agrees] = (await judged(says(odd), engine())).readings
    [differs] = (await judged(says({**odd, "amount": 7}), engine())).readings
    assert (agrees.state, differs.state) == ("agrees", "unknown")


@pytest.mark.parametrize("profile", [{"idempotent": False}, {"confirm": {"tool": "x", "args": {}}}])
async def test_a_tool_that_does_something_is_not_called_to_look(profile: Any) -> None:
    engine, asked = engine_of(), []
    engine.register_tool_profile("get_order", **profile)
    [reading] = (await judged(lambda order_id: asked.append(order_id), engine)).readings

    assert (reading.state, asked) == ("unknown", [])


async def test_a_call_of_the_guards_own_is_on_record_as_that_and_as_no_call_of_the_agents() -> None:
    store = MemoryStore()
    engine = engine_of(store)
    seen: list[tuple[Outcome, Judgement]] = []
    verdicts: list[Any] = []
    observed = observe(engine, verdicts.append)
    readers = {"get_order": says({"customer": "C1", "amount": 99})}
    guard = CallGuard(observed, on_judgement=lambda *told: seen.append(told), readers=readers)
    guard.judge(WRITE)

    [record] = store.events("audit")
    [told] = record.event["read_back"]
    assert (record.event["tool"], told["tool"], told["by"], told["state"]) == (
        "create_order", "get_order", "guard", "differs",
    )  # fmt: skip
    assert [outcome.tool for outcome, _ in seen] == ["create_order"]
    assert [(each.call.tool, each.call.session_id, each.call.call_id) for each in verdicts] == [
        ("get_order", None, "c1:confirm"), ("create_order", "s1", "c1"),
    ]  # fmt: skip
    engine.flush()
    assert not engine._tools.met("get_order") or engine._tools.met("get_order").judged == 0  # type: ignore[union-attr]


async def test_it_is_logged_without_content(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "agentguard"):
        await judged(says({"customer": "secret-9"}))
        await judged(says(RuntimeError("secret-9")))

    assert "the guard's own call of 'get_order', for one of 'create_order'" in caplog.text
    assert "secret-9" not in caplog.text


async def test_a_profile_without_a_read_back_asks_nobody() -> None:
    engine, asked = VerificationEngine(), []
    guard = CallGuard(engine, readers={"get_order": lambda **args: asked.append(args)})

    assert guard.judge(WRITE).readings == ()
    assert guard.read_back(WRITE, guard.find) is WRITE
    assert not asked


async def test_a_tool_that_is_not_guarded_is_not_read_back() -> None:
    asked: list[Any] = []
    guard = CallGuard(engine_of(), tools=["another"], readers={"get_order": lambda **args: asked.append(args)})

    assert (guard.judge(WRITE).verdict, asked) == ("unguarded", [])


async def test_a_second_source_decides_against_a_result() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(
        "price", against={"tool": "quote", "args": {"sku": "$.args.sku"}, "fields": ["price"], "tolerance": 0.01}
    )
    call = Outcome("price", {"sku": "K-7"}, {"price": 10.0})
    for answer, action in (({"price": 10.05}, "pass"), ({"price": 1_000.0}, "replace"), (None, "pass")):
        guard = CallGuard(engine, readers={"quote": lambda sku, answer=answer: answer})
        assert guard.judge(call._replace(call_id=str(answer))).action == action


class TestGuardedFunctions:
    async def test_a_guarded_reader_is_called_without_its_guard(self) -> None:
        engine, told = engine_of(), []
        engine.register_tool_profile("get_order", required_fields=["id"])

        class Orders:
            @guarded(engine, on_judgement=lambda outcome, _: told.append(outcome.tool))
            def get_order(self, order_id: str) -> dict[str, Any]:
                return {"id": order_id}

            @guarded(engine, "get_order", on_judgement=lambda outcome, _: told.append(outcome.tool))
            async def get_order_async(self, order_id: str) -> dict[str, Any]:
                return {"id": order_id}

        orders = Orders()
        for reader in (orders.get_order, orders.get_order_async):
            assert (await judged(reader, engine)).action == "pass"
        assert told == []

    async def test_the_write_is_never_made_twice(self) -> None:
        made: list[float] = []

        @guarded(engine_of(), on_block="replace", max_retries=5, readers={"get_order": says(None)})
        def create_order(customer: str, amount: float) -> dict[str, str]:
            made.append(amount)
            return {"id": "O-1"}

        assert "look with 'get_order' before you call it again" in str(create_order("C1", 3.0))
        assert made == [3.0]

    async def test_one_that_is_declared_idempotent_is_made_again_until_it_is_there(self) -> None:
        engine, stored, made = VerificationEngine(), {}, []
        engine.register_tool_profile(
            "put", idempotent=True, retry={"attempts": 3}, confirm={"tool": "get", "args": {"key": "$.args.key"}}
        )

        @guarded(engine, readers={"get": lambda key: stored.get(key)})
        def put(key: str, value: int) -> dict[str, bool]:
            made.append(key)
            if len(made) > 1:
                stored[key] = {"key": key, "value": value}
            return {"ok": True}

        assert put("a", 1) == {"ok": True}
        assert made == ["a", "a"]

    async def test_a_read_back_that_fails_is_no_reason_to_call_again(self) -> None:
        engine, made = VerificationEngine(), []
        engine.register_tool_profile(
            "put", idempotent=True, retry={"attempts": 3}, confirm={"tool": "get", "args": {"key": "$.args.key"}}
        )

        @guarded(engine, on_guard_error="closed")
        def put(key: str) -> dict[str, bool]:
            made.append(key)
            return {"ok": True}

        with pytest.raises(ResultBlocked):
            put("a")
        assert made == ["a"]


class TestRetry:
    def attempts(self, *answers: Any, shadow: bool = False, max_retries: int = 0, **profile: Any) -> tuple[Any, int]:
        engine, left = VerificationEngine(), list(answers)
        engine.register_tool_profile("lookup", required_fields=["id"], **profile)

        @guarded(engine, on_block="replace", shadow=shadow, max_retries=max_retries)
        def lookup(key: int) -> Any:
            return left.pop(0)

        return lookup(1), len(answers) - len(left)

    GOOD, BAD, FAILED = {"id": 7}, {"x": 1}, {"error": "try later"}

    def test_a_block_and_an_error_are_tried_again_within_the_bound(self) -> None:
        retry: Any = {"idempotent": True, "allow_errors": True, "retry": {"attempts": 3}}

        assert self.attempts(self.BAD, self.GOOD, self.GOOD, **retry) == (self.GOOD, 2)
        assert self.attempts(self.FAILED, self.FAILED, self.GOOD, **retry) == (self.GOOD, 3)
        assert self.attempts(self.FAILED, self.FAILED, self.FAILED, self.GOOD, **retry) == (self.FAILED, 3)
        assert self.attempts(self.FAILED, self.GOOD, shadow=True, **retry) == (self.FAILED, 1)

    def test_an_error_is_not_tried_again_where_nobody_says_so(self) -> None:
        said = self.attempts(self.FAILED, self.GOOD, idempotent=True, allow_errors=True, max_retries=5)

        assert said == (self.FAILED, 1)

    def test_the_profile_stands_over_the_policy(self) -> None:
        assert (
            self.attempts(self.BAD, self.BAD, self.GOOD, idempotent=True, retry={"attempts": 2}, max_retries=9)[1] == 2
        )


class TestNotices:
    @pytest.mark.parametrize(
        ("profile", "again"),
        [({}, True), ({"idempotent": True}, True), ({"idempotent": False}, False)],
    )
    def test_no_second_call_is_asked_for_where_it_may_do_harm(self, profile: Any, again: bool) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile("pay", required_fields=["id"], **profile)
        notice = ToolGuard(engine).judge(Outcome("pay", {}, {"x": 1})).notice

        assert ("call the tool again" in notice) == again
        assert ("look before you call it again, and do not say that it is done" in notice) != again

    def test_of_a_flagged_answer_that_came_again_and_again_the_line_says_so(self) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile("pay", required_fields=["id"])
        engine.calibrate("pay", block_at=1.0)
        guard = ToolGuard(engine, Policy())
        said = [guard.judge(Outcome("pay", {"n": 1}, {"x": 1}, None, "s")).line for _ in range(4)]

        assert all("required field 'id' is missing" in line for line in said)
        assert ["asking again brings no other" in line for line in said] == [False, False, True, True]
