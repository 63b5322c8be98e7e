"""One worker of a fleet: does what it is told order by order, and answers each with a text of JSON.

``genuine N`` and ``fault N`` judge so many orders, ``again`` the last one again,
``flush``, ``adopt`` and ``reject`` the one change there is; every answer has what the worker knows.
"""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from typing import Any

from agentguard.stores import open_store
from agentguard.verification import VerificationEngine

TOOL = "get_order"


class Worker:
    def __init__(self, where: str, name: str) -> None:
        store = open_store(where)
        store.flush_seconds = 3600.0  # type: ignore[misc]  # it hands over when it is told to
        self.engine = VerificationEngine(store=store, audit_rate=0.0)
        self.engine.register_tool_profile(TOOL, on_change="hold")
        self.told: list[str] = []
        self.engine.on_change(lambda change: self.told.append(change.state))
        self.name = name
        self.number = 0
        self.last: dict[str, Any] = {}

    def judge(self, count: int, *, fault: bool) -> str:
        """The first letters of the verdicts."""
        said = ""
        for _ in range(count):
            number = self.number = self.number + 1
            order_id = f"W{self.name}{number:04}"
            result = {"order_id": order_id, "status": ("open", "shipped")[number % 2], "total": 20.0 + number * 37 % 50}
            if fault:
                result["state"] = result.pop("status")
            self.last = {"args": {"order_id": order_id}, "result": result, "execution_time_ms": 40.0 + number % 7}
            said += self.engine.verify(TOOL, **self.last).verdict[0]
        return said

    def do(self, word: str, count: int) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        if word in ("genuine", "fault"):
            answer["verdicts"] = self.judge(count, fault=word == "fault")
        elif word == "again":
            again = self.engine.verify(TOOL, **self.last)
            answer |= {"verdicts": again.verdict[0], "asked": again.asked}
        elif word == "flush":
            self.engine.flush()
        else:
            (change,) = self.engine.changes()
            (self.engine.adopt if word == "adopt" else self.engine.reject)(change)
        known = self.engine._persistence.changes.of(TOOL)
        return {**answer, "told": self.told, "known": [(change.id, change.state, change.since) for change in known]}


def serve(orders: Connection, where: str, name: str) -> None:
    """The life of a worker, which ends with a kill."""
    worker = Worker(where, name)
    while True:
        order, _, amount = orders.recv().partition(" ")
        orders.send(json.dumps(worker.do(order, int(amount or 0))))
