"""Engines of a fleet on one Redis, which goes away and comes back under them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.stores._redis import RedisStore
from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification._census import field

CITIES = ["Lisbon", "Porto", "Madrid", "Vienna", "Graz", "Oslo", "Riga"]


def weather(engine: VerificationEngine, number: int, **more: Any) -> VerificationResult:
    city = CITIES[number % 7]
    result = {"city": city, "temperature": number % 17 + 0.5}
    return engine.verify(
        "get_weather", args={"city": city}, result=result, execution_time_ms=100.0 + number % 7, call_id=str(number)
    )


@pytest.mark.parametrize("how", ["kill", "shut_down"])
def test_redis_is_stopped_and_started_under_load(how: str, started: Callable[..., Any]) -> None:
    """Four workers judge on and on: nothing raises, every call is counted in the end and every suspect on record."""
    server = started()
    engines = [
        VerificationEngine(store=RedisStore(server.url, flush_seconds=0.01, timeout=0.5), audit_rate=0.0)
        for _ in range(4)
    ]
    for engine in engines:
        engine.register_tool_profile("get_order", required_fields=["id"])
    ended = threading.Event()
    judged = [0] * 4
    suspects = [0] * 4
    raised: list[BaseException] = []

    def work(place: int) -> None:
        try:
            while not ended.is_set():
                suspects[place] += weather(engines[place], judged[place]).verdict != "accept"
                suspects[place] += engines[place].verify("get_order", result={"no": "id"}).verdict != "accept"
                judged[place] += 1
        except BaseException as error:
            raised.append(error)

    workers = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(2):
        before = list(judged)
        while any(now < then + 40 for now, then in zip(judged, before, strict=True)) and not raised:
            ended.wait(0.001)
        getattr(server, how)()
        before = list(judged)
        while any(now < then + 40 for now, then in zip(judged, before, strict=True)) and not raised:
            ended.wait(0.001)
        server.start()
    ended.set()
    for worker in workers:
        worker.join()
    for engine in engines:
        engine.close()

    assert not raised
    with RedisStore(server.url) as store:
        found = store.counts().values()
        for tool in ("get_weather", "get_order"):
            assert sum(tools.get(tool, {}).get(field("calls"), 0) for tools in found) == sum(judged)
        assert sum(1 for _ in store.events("audit")) >= sum(suspects)


def test_a_worker_learns_from_the_fleet(server: Any, prefix: str) -> None:
    stores = [RedisStore(server.url, prefix=prefix, flush_seconds=3600.0) for _ in range(2)]
    first = VerificationEngine(store=stores[0])
    for number in range(60):
        weather(first, number)
    first.record_feedback("get_weather", 0.3, True, "7")
    first.close()
    second = VerificationEngine(store=stores[1])
    wrong = {"args": {"city": "Oslo"}, "result": {"city": "Riga", "temperature": 3.5}, "learn": False}

    assert second.verify("get_weather", **wrong) == first.verify("get_weather", **wrong)
    assert second.verify("get_weather", **wrong).verdict != "accept"
    second.close()
