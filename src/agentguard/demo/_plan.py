"""The agent's planned calls, and their true answers: sessions of small tasks, with arguments of unequal popularity."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from agentguard.demo._tools import CATALOGUE, CITIES, CUSTOMERS, FIRST_ORDERS, STATUSES, TICKERS, Toolbox

T = TypeVar("T")

_ASKED_AGAIN = 0.15  # share of sessions that end by asking their first question once more


class PlannedCall(NamedTuple):
    """One planned call; ``step`` counts from 0 and is also its minute."""

    step: int
    session: str
    tool: str
    args: dict[str, Any]


def plan_calls(calls: int, seed: int) -> list[PlannedCall]:
    """Plan the day's calls in order: the same for the same seed, whatever happens while they are made."""
    draw = random.Random(f"plan {seed}")
    tasks = _tasks(draw)
    planned: list[PlannedCall] = []
    session = 0
    while len(planned) < calls:
        session += 1
        wanted = [call for _ in range(draw.choice((1, 1, 2, 3))) for call in draw.choice(tasks)()]
        if draw.random() < _ASKED_AGAIN:
            wanted.append(wanted[0])
        planned += [PlannedCall(len(planned) + k, f"session-{session}", *call) for k, call in enumerate(wanted)]
    return planned[:calls]


def _zipf(draw: random.Random, ranked: Sequence[T], exponent: float = 1.0) -> T:
    """Draw one of the items, the k-th with a weight of k^-exponent."""
    return draw.choices(ranked, [rank**-exponent for rank in range(1, len(ranked) + 1)])[0]


def _shuffled(draw: random.Random, items: Sequence[T]) -> list[T]:
    return draw.sample(items, len(items))


def _tasks(draw: random.Random) -> list[Callable[[], list[tuple[str, dict[str, Any]]]]]:
    """The kinds of tasks; each makes the calls of one task."""
    cities, tickers = _shuffled(draw, list(CITIES)), _shuffled(draw, list(TICKERS))
    customers = _shuffled(draw, range(1, len(CUSTOMERS) + 1))
    orders = list(reversed(FIRST_ORDERS))  # people ask about what they have just bought
    sums = [_sum(draw) for _ in range(30)]

    def support() -> list[tuple[str, dict[str, Any]]]:
        customer = _zipf(draw, customers)
        email = f"{CUSTOMERS[customer - 1].lower().replace(' ', '.')}@example.com"
        return [
            ("find_customer", {"email": email}),
            _query("SELECT * FROM orders WHERE customer_id = ? ORDER BY order_id DESC LIMIT 5", customer),
            ("get_order", {"order_id": _zipf(draw, orders)}),
        ]

    def order_status() -> list[tuple[str, dict[str, Any]]]:
        return [("get_order", {"order_id": _zipf(draw, orders)}) for _ in range(draw.choice((1, 2)))]

    def prices() -> list[tuple[str, dict[str, Any]]]:
        category = _zipf(draw, list(CATALOGUE))
        sql = "SELECT sku, name, category, price, stock FROM products WHERE category = ? ORDER BY sku"
        return [_query(sql, category), ("calculate", {"expression": _zipf(draw, sums)})]

    def daily_figures() -> list[tuple[str, dict[str, Any]]]:
        sql = "SELECT COUNT(*) AS orders, ROUND(AVG(total), 2) AS average FROM orders WHERE status = ?"
        return [_query(sql, _zipf(draw, STATUSES)), ("calculate", {"expression": _zipf(draw, sums)})]

    def trip() -> list[tuple[str, dict[str, Any]]]:
        return [("get_weather", {"city": _zipf(draw, cities)}) for _ in range(draw.choice((1, 2, 3)))]

    def portfolio() -> list[tuple[str, dict[str, Any]]]:
        quotes = [("get_quote", {"ticker": _zipf(draw, tickers)}) for _ in range(draw.choice((1, 2, 3)))]
        return [*quotes, ("calculate", {"expression": _zipf(draw, sums)})]

    return [support, order_status, prices, daily_figures, trip, trip, portfolio]


def _query(sql: str, parameter: Any) -> tuple[str, dict[str, Any]]:
    return "query_shop", {"sql": sql, "params": [parameter]}


def _sum(draw: random.Random) -> str:
    price, quantity = round(draw.uniform(4, 240), 2), draw.randint(2, 12)
    return draw.choice(
        (
            f"{price} * {quantity}",
            f"{price} * {quantity} * 1.2",
            f"({price} + {round(draw.uniform(4, 60), 2)}) * 0.9",
            f"{price} * {quantity} / {draw.randint(2, 6)}",
        )
    )


# --- Rehearsal ---


class Rehearsed(NamedTuple):
    """A planned call, its true answer, and arguments of another entity whose answer differs then, if there is one."""

    call: PlannedCall
    answer: str
    other_args: Mapping[str, Any] | None


def rehearse(plan: Sequence[PlannedCall], seed: int) -> list[Rehearsed]:
    """Play the day through without faults, delays and guard, for the true answer to each planned call.

    Faults are placed by it where they really are faults: a stale answer where the truth has changed, a wrong entity
    where the other entity's answer differs.
    """
    draw = random.Random(f"rehearsal {seed}")
    asked: dict[str, list[dict[str, Any]]] = {}
    for call in plan:
        known = asked.setdefault(_form(call.tool, call.args), [])
        if call.args not in known:
            known.append(call.args)
    played: list[Rehearsed] = []
    with Toolbox(seed, over_http=False) as toolbox:
        for call in plan:
            toolbox.advance(call.step)
            answer = toolbox.call(call.tool, call.args)
            known = asked[_form(call.tool, call.args)]
            others = (
                args
                for args in draw.sample(known, len(known))
                if args != call.args and facts(toolbox.call(call.tool, args)) != facts(answer)
            )
            played.append(Rehearsed(call, answer, next(others, None)))
    return played


def facts(answer: str) -> Any:
    """The content of an answer, without its times.

    >>> facts('{"price": 20.5, "as_of": "2025-03-03T08:00:00Z"}')
    {'price': 20.5}
    """
    return _without_times(json.loads(answer))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if not key.endswith(("_at", "as_of"))}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _form(tool: str, args: Mapping[str, Any]) -> str:
    """Key of calls that differ in the entity only: the tool and, for queries, the SQL."""
    return f"{tool} {args.get('sql', '')}"
