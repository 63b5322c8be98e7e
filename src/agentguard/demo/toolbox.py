"""The agent's six tools, and what their user declares about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from .calculator import calculate
from .feeds import Feeds
from .service import Service
from .shop import Shop

__all__ = ["NETWORK_TOOLS", "PROFILES", "Toolbox"]

NETWORK_TOOLS = ("get_weather", "get_quote")

# As modest as a user's first declarations are: what is always there, how long it takes, what is repeated.
PROFILES: Mapping[str, Mapping[str, Any]] = {
    "get_weather": {
        "expected_latency_ms": (5, 5000),
        "required_fields": ["city", "temperature_c", "condition"],
        "echoes": {"city": "city"},
        "stateful": True,
    },
    "get_quote": {
        "expected_latency_ms": (5, 5000),
        "required_fields": ["ticker", "price"],
        "echoes": {"ticker": "ticker"},
        "stateful": True,
    },
    "get_order": {
        "expected_latency_ms": (0, 2000),
        "has_network_io": False,
        "required_fields": ["order_id", "status", "total", "items"],
        "echoes": {"order_id": "order_id"},
        "stateful": True,
    },
    "find_customer": {
        "expected_latency_ms": (0, 2000),
        "has_network_io": False,
        "required_fields": ["customer_id", "name", "email"],
        "echoes": {"email": "email"},
        "stateful": True,
    },
    "query_shop": {
        "expected_latency_ms": (0, 2000),
        "has_network_io": False,
        "required_fields": ["rows", "row_count"],
        "stateful": True,
    },
    "calculate": {
        "expected_latency_ms": (0, 500),
        "has_network_io": False,
        "required_fields": ["expression", "result"],
        "echoes": {"expression": "expression"},
    },
}


class Toolbox:
    """The tools over one shop and one set of feeds, both of one seed. A context manager.

    Args:
        seed: of all that the tools report.
        over_http: ask the feeds through the HTTP service, with its delays; False asks them directly, which gives the
            same answers at once.
        delay_scale: factor on the service's delays, >= 0.
    """

    def __init__(self, seed: int, *, over_http: bool = True, delay_scale: float = 1.0) -> None:
        self._seed = seed
        self._over_http = over_http
        self._delay_scale = delay_scale
        self._open = ExitStack()

    def __enter__(self) -> Toolbox:
        self._feeds = Feeds(self._seed)
        with ExitStack() as opening:  # a failure half-way closes what is open already
            shop = opening.enter_context(Shop(self._seed))
            fetch: Callable[[str, Mapping[str, str]], str] = self._respond
            if self._over_http:
                fetch = opening.enter_context(Service(self._feeds, self._seed, self._delay_scale)).fetch
            self._open = opening.pop_all()
        self._shop = shop
        self._tools: dict[str, Callable[..., str]] = {
            "get_weather": lambda city: fetch("/weather", {"city": city}),
            "get_quote": lambda ticker: fetch("/quote", {"ticker": ticker}),
            "get_order": lambda order_id: json.dumps(shop.get_order(order_id)),
            "find_customer": lambda email: json.dumps(shop.find_customer(email)),
            "query_shop": lambda sql, params=(): json.dumps(shop.query_shop(sql, params)),
            "calculate": lambda expression: json.dumps(calculate(expression)),
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def advance(self, minute: int) -> None:
        """Set the time of the shop and of the feeds, in minutes since the day began."""
        self._shop.advance(minute)
        self._feeds.minute = minute

    def call(self, tool: str, args: Mapping[str, Any]) -> str:
        """Call a tool; its answer is JSON text, as agents get it.

        Raises:
            LookupError: for a tool or an entity that does not exist.
        """
        if tool not in self._tools:
            raise LookupError(f"no tool {tool!r}; there are {', '.join(self._tools)}")
        return self._tools[tool](**args)

    def _respond(self, path: str, query: Mapping[str, str]) -> str:
        return json.dumps(self._feeds.respond(path, query))
