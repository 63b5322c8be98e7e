"""The agent's six tools: two feeds behind a real HTTP service, a shop in SQLite, and a calculator.

All that they report follows from the seed and the minute, never from who looks. One planned call is one minute of a
working day, so that every run sees the same day.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

_START = datetime(2025, 3, 3, 8, 0, tzinfo=timezone.utc)


def stamp(minute: int) -> str:
    """Format a minute of the day (negative: before it began) as ISO 8601 in UTC.

    >>> stamp(90), stamp(-1)
    ('2025-03-03T09:30:00Z', '2025-03-03T07:59:00Z')
    """
    return (_START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- Feeds: weather by city and stock quotes by ticker, as functions of seed and minute ---

# Usual temperature of the season in degrees Celsius.
CITIES = {
    "Lisbon": 15, "Oslo": 1, "Lagos": 29, "Kyoto": 9, "Quito": 14, "Tartu": -1, "Cairo": 19, "Hobart": 17,
    "Lima": 24, "Hanoi": 20, "Dublin": 8, "Austin": 17, "Zagreb": 8, "Perth": 23, "Bergen": 4, "Ankara": 6,
    "Denver": 5, "Nairobi": 20, "Busan": 8, "Porto": 13,
}  # fmt: skip
# Price at the opening; the companies are invented.
TICKERS = {
    "ALDR": 184.2, "BOWN": 22.85, "CRSK": 410.5, "DYNE": 58.1, "ELMO": 96.4, "FJRD": 133.0, "GRNT": 17.3,
    "HLLW": 71.9, "INKA": 240.6, "JOLT": 35.2, "KNTC": 512.8, "LUMA": 88.7, "MRSH": 44.4, "NRTH": 150.9,
}  # fmt: skip

_SKY = ("clear", "partly cloudy", "cloudy", "light rain", "rain")
_OBSERVED_EVERY = 15  # minutes between two weather observations


class _Series:
    """Values by step number, each made from the one before; the same name gives the same values."""

    def __init__(self, name: str, first: float, following: Callable[[random.Random, float], float]) -> None:
        self._random = random.Random(name)
        self._values = [first]
        self._following = following

    def at(self, step: int) -> float:
        while len(self._values) <= step:
            self._values.append(self._following(self._random, self._values[-1]))
        return self._values[step]


class Feeds:
    """The day's weather and prices; ``minute`` is the present, to be set."""

    def __init__(self, seed: int) -> None:
        self.minute = 0
        self._air, self._cloud, self._wind = (
            {city: _Series(f"{what} {city} {seed}", 0.0, _drift) for city in CITIES}
            for what in ("air", "cloud", "wind")
        )
        self._price = {
            ticker: _Series(f"price {ticker} {seed}", math.log(opening), _random_walk)
            for ticker, opening in TICKERS.items()
        }
        self._volume = {ticker: _Series(f"volume {ticker} {seed}", 0.0, _trades) for ticker in TICKERS}

    def respond(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Answer ``GET path?query`` at the present minute; ``LookupError`` if there is nothing."""
        if path == "/weather" and query.get("city") in CITIES:
            return self._weather(query["city"])
        if path == "/quote" and query.get("ticker") in TICKERS:
            return self._quote(query["ticker"])
        raise LookupError(f"nothing at {path} for {dict(query)}")

    def _weather(self, city: str) -> dict[str, Any]:
        observation = self.minute // _OBSERVED_EVERY
        observed = observation * _OBSERVED_EVERY
        warmth = 4 * math.sin(math.pi * (observed / 60 - 1) / 12)  # warmest seven hours into the day
        cloud = min(max(0.5 + 0.2 * self._cloud[city].at(observation), 0.0), 0.99)
        return {
            "city": city,
            "temperature_c": round(CITIES[city] + warmth + 0.6 * self._air[city].at(observation), 1),
            "humidity_pct": round(40 + 50 * cloud),
            "wind_kmh": round(abs(14 + 4 * self._wind[city].at(observation)), 1),
            "condition": _SKY[int(cloud * len(_SKY))],
            "observed_at": stamp(observed),
        }

    def _quote(self, ticker: str) -> dict[str, Any]:
        price = math.exp(self._price[ticker].at(self.minute))
        return {
            "ticker": ticker,
            "price": round(price, 2),
            "currency": "USD",
            "change_pct": round(100 * (price / TICKERS[ticker] - 1), 2),
            "volume": round(self._volume[ticker].at(self.minute)),
            "as_of": stamp(self.minute),
        }


def _drift(draw: random.Random, value: float) -> float:
    return 0.8 * value + draw.gauss(0, 0.6)


def _random_walk(draw: random.Random, value: float) -> float:
    return value + draw.gauss(0, 0.0015)


def _trades(draw: random.Random, value: float) -> float:
    return value + draw.randint(200, 3000)


# --- The HTTP service: a real server on 127.0.0.1, with the delays of a network ---

# Median in milliseconds and sigma of the logarithm: tens of milliseconds, so that a demonstration is not a wait.
DELAYS_MS = {"/weather": (55.0, 0.35), "/quote": (35.0, 0.4)}
TIMEOUT_SECONDS = 10.0


class Service:
    """Serves the feeds while it is entered, from a thread that ends with it.

    Args:
        feeds: make the answers.
        seed: of the delays.
        delay_scale: factor on all delays, >= 0.
    """

    def __init__(self, feeds: Feeds, seed: int, delay_scale: float = 1.0) -> None:
        self._feeds = feeds
        self._scale = delay_scale
        self._random = random.Random(f"service {seed}")
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True, name="demo-service"
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(TIMEOUT_SECONDS)

    def fetch(self, path: str, query: Mapping[str, str]) -> str:
        """Request ``GET path?query`` over the network; the body of the answer.

        Raises:
            LookupError: if the status is not 200.
            OSError: if the service does not answer.
        """
        # http.client and not urllib: a proxy set in the environment must not be asked for a loopback address.
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", f"{path}?{urlencode(query)}")
            response = connection.getresponse()
            body = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            raise LookupError(f"HTTP {response.status}: {body}")
        return body

    def answer(self, target: str) -> tuple[int, str]:
        """Status and body for a request's target, after the delay of its path."""
        parts = urlsplit(target)
        with self._lock:
            median, sigma = DELAYS_MS.get(parts.path, (0.0, 0.0))
            delay_ms = median * self._random.lognormvariate(0.0, sigma)
            try:
                status, payload = 200, self._feeds.respond(parts.path, dict(parse_qsl(parts.query)))
            except LookupError as error:
                status, payload = 404, {"error": str(error)}
        time.sleep(self._scale * delay_ms / 1000)
        return status, json.dumps(payload)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body leave together; apart, they wait for each other's acknowledgement

        def do_GET(self) -> None:
            status, body = service.answer(self.path)
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the screen belongs to the demo."""

    return Handler


# --- The shop: orders move on, new ones come in, stock goes down and is filled up again ---

STATUSES = ("placed", "paid", "packed", "shipped", "delivered")
CATALOGUE = {
    "kitchen": ("Chef's knife", "Cast-iron pan", "Salad bowl", "Pepper mill", "Bread tin", "Whisk"),
    "garden": ("Pruning shears", "Watering can", "Seed tray", "Garden hose", "Hand rake", "Plant pot"),
    "books": ("Field guide to birds", "Atlas of rivers", "Bread at home", "Knots and splices", "Chess endings"),
    "office": ("Desk lamp", "Fountain pen", "Squared notebook", "Paper tray", "Stapler", "Cable box"),
    "outdoor": ("Head torch", "Two-person tent", "Camping stove", "Dry bag", "Trekking poles"),
}
CUSTOMERS = tuple(
    f"{first} {last}"
    for first, last in product(
        ("Ada", "Bruno", "Carmen", "Dilip", "Elena", "Farid", "Grete", "Hiro"),
        ("Moreau", "Lindgren", "Okafor", "Petrov", "Tanaka"),
    )
)
FIRST_ORDERS = tuple(range(1001, 1081))

_SCHEMA = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, city TEXT, member_since TEXT);
CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, category TEXT, price REAL, stock INTEGER);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT, total REAL,
                     placed_at TEXT, updated_at TEXT);
CREATE TABLE items (order_id INTEGER, sku TEXT, quantity INTEGER, unit_price REAL);
CREATE INDEX items_of_order ON items (order_id);
"""
_CITIES = ("Lisbon", "Oslo", "Lagos", "Kyoto", "Quito", "Tartu")
_P_NEW_ORDER = 0.3
_P_MOVES_ON = 0.02


class Shop:
    """The shop and its tools, which read through a connection that cannot write.

    A context manager: the database is a temporary file, removed at the end.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"shop {seed}")
        self._folder = TemporaryDirectory(prefix="agentguard-demo-")
        path = Path(self._folder.name) / "shop.sqlite"
        self._writer = sqlite3.connect(path)
        self._writer.executescript("PRAGMA synchronous = OFF;" + _SCHEMA)
        self._reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        self._reader.row_factory = sqlite3.Row
        self._minute = 0
        with self._writer:
            self._open()

    def __enter__(self) -> Shop:
        return self

    def __exit__(self, *error: object) -> None:
        self._reader.close()
        self._writer.close()
        self._folder.cleanup()

    def advance(self, minute: int) -> None:
        """Advance the shop to a minute; an earlier one does nothing."""
        while self._minute < minute:
            self._minute += 1
            with self._writer:
                self._move_orders_on()
                if self._random.random() < _P_NEW_ORDER:
                    newest = self._writer.execute("SELECT MAX(order_id) FROM orders").fetchone()[0]
                    self._place_order(newest + 1, "placed", self._minute)

    def get_order(self, order_id: int) -> dict[str, Any]:
        """One order with its items; ``LookupError`` if there is none of that number."""
        order = self._only("SELECT * FROM orders WHERE order_id = ?", [order_id], f"no order {order_id}")
        items = self._rows(
            "SELECT sku, name, quantity, unit_price FROM items JOIN products USING (sku)"
            " WHERE order_id = ? ORDER BY sku",
            [order_id],
        )
        return {**order, "items": items}

    def find_customer(self, email: str) -> dict[str, Any]:
        """One customer with the number of their orders; ``LookupError`` if nobody has that address."""
        return self._only(
            "SELECT customers.*, COUNT(order_id) AS orders FROM customers LEFT JOIN orders USING (customer_id)"
            " WHERE email = ? GROUP BY customer_id",
            [email],
            f"no customer with the address {email}",
        )

    def query_shop(self, sql: str, params: Sequence[Any] = ()) -> dict[str, Any]:
        """The rows of any query; ``sqlite3.Error`` if it is wrong or would change something."""
        rows = self._rows(sql, params)
        return {"rows": rows, "row_count": len(rows)}

    def _rows(self, sql: str, params: Sequence[Any]) -> list[dict[str, Any]]:
        return [dict(row) for row in self._reader.execute(sql, tuple(params))]

    def _only(self, sql: str, params: Sequence[Any], otherwise: str) -> dict[str, Any]:
        rows = self._rows(sql, params)
        if not rows:
            raise LookupError(otherwise)
        return rows[0]

    def _open(self) -> None:
        """The state of the shop at minute 0."""
        draw = self._random
        for number, name in enumerate(CUSTOMERS, start=1):
            since = f"{draw.randint(2015, 2024)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"
            email = f"{name.lower().replace(' ', '.')}@example.com"
            self._writer.execute(
                "INSERT INTO customers VALUES (?, ?, ?, ?, ?)", (number, name, email, draw.choice(_CITIES), since)
            )
        for category, names in CATALOGUE.items():
            for number, name in enumerate(names, start=1):
                price = round(4 * 60 ** draw.random(), 2)
                row = (f"{category[:3].upper()}-{number:03d}", name, category, price, draw.randint(10, 90))
                self._writer.execute("INSERT INTO products VALUES (?, ?, ?, ?, ?)", row)
        for order_id in FIRST_ORDERS:
            age = 20 * (FIRST_ORDERS[-1] - order_id) + draw.randint(1, 19)
            status = STATUSES[min(len(STATUSES) - 1, age // 250)]
            self._place_order(order_id, status, -age)

    def _place_order(self, order_id: int, status: str, minute: int) -> None:
        draw = self._random
        on_sale = self._writer.execute("SELECT sku, price, stock FROM products ORDER BY sku").fetchall()
        total = 0.0
        for sku, price, stock in draw.sample(on_sale, draw.choice((1, 1, 2, 2, 3, 4))):
            quantity = draw.choice((1, 1, 1, 2, 3))
            left = stock - quantity if stock > quantity else stock - quantity + 50
            self._writer.execute("UPDATE products SET stock = ? WHERE sku = ?", (left, sku))
            self._writer.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (order_id, sku, quantity, price))
            total += quantity * price
        row = (order_id, draw.randint(1, len(CUSTOMERS)), status, round(total, 2), stamp(minute), stamp(minute))
        self._writer.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", row)

    def _move_orders_on(self) -> None:
        under_way = self._writer.execute(
            "SELECT order_id, status FROM orders WHERE status != ? ORDER BY order_id", (STATUSES[-1],)
        ).fetchall()
        for order_id, status in under_way:
            if self._random.random() < _P_MOVES_ON:
                following = STATUSES[STATUSES.index(status) + 1]
                self._writer.execute(
                    "UPDATE orders SET status = ?, updated_at = ? WHERE order_id = ?",
                    (following, stamp(self._minute), order_id),
                )


# --- The calculator: arithmetic as a syntax tree, so that nothing else can run ---

MAX_LENGTH = 200
MAX_EXPONENT = 64
MAX_MAGNITUDE = 1e15

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def calculate(expression: str) -> dict[str, Any]:
    """Evaluate ``+ - * / // % **`` and parentheses over plain numbers, rounded to six decimals.

    Raises:
        ValueError: for anything else, division by zero, and numbers beyond 1e15.

    >>> calculate("(19.5 + 0.5) * 3")
    {'expression': '(19.5 + 0.5) * 3', 'result': 60.0}
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"an expression has at most {MAX_LENGTH} characters, not {len(expression)}")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"not arithmetic: {error.msg}") from None
    return {"expression": expression, "result": round(_value(tree.body), 6)}


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _bounded(_UNARY[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > MAX_EXPONENT:
            raise ValueError(f"exponents go up to {MAX_EXPONENT}, not {right:g}")
        try:
            return _bounded(_BINARY[type(node.op)](left, right))
        except ArithmeticError as error:
            raise ValueError(f"cannot be worked out: {error}") from None
    raise ValueError(f"only numbers, operators and parentheses are understood, not {type(node).__name__}")


def _bounded(value: Any) -> float:
    # A negative base with a fractional exponent gives a complex number, which no calculator has.
    if isinstance(value, complex) or not abs(value) <= MAX_MAGNITUDE:
        raise ValueError(f"numbers go up to {MAX_MAGNITUDE:g}")
    return float(value) if isinstance(value, float) else int(value)


# --- The tools together, and their user's declarations ---

NETWORK_TOOLS = ("get_weather", "get_quote")

# As modest as a user's first declarations: fields that are always there, latency, arguments that results repeat.
_NETWORK: Mapping[str, Any] = {"expected_latency_ms": (5, 5000), "stateful": True}
_LOCAL: Mapping[str, Any] = {"expected_latency_ms": (0, 2000), "has_network_io": False, "stateful": True}
PROFILES: Mapping[str, Mapping[str, Any]] = {
    "get_weather": {**_NETWORK, "required_fields": ["city", "temperature_c", "condition"], "echoes": {"city": "city"}},
    "get_quote": {**_NETWORK, "required_fields": ["ticker", "price"], "echoes": {"ticker": "ticker"}},
    "get_order": {
        **_LOCAL,
        "required_fields": ["order_id", "status", "total", "items"],
        "echoes": {"order_id": "order_id"},
    },
    "find_customer": {**_LOCAL, "required_fields": ["customer_id", "name", "email"], "echoes": {"email": "email"}},
    "query_shop": {**_LOCAL, "required_fields": ["rows", "row_count"]},
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
        seed: of all answers.
        over_http: ask the feeds through the HTTP service, with its delays; False asks them directly, for the same
            answers at once.
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

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def advance(self, minute: int) -> None:
        """Set the time of the shop and of the feeds, in minutes since the day began."""
        self._shop.advance(minute)
        self._feeds.minute = minute

    def call(self, tool: str, args: Mapping[str, Any]) -> str:
        """Call a tool; its answer as JSON text.

        Raises:
            LookupError: if the tool or the entity does not exist.
        """
        if tool not in self._tools:
            raise LookupError(f"no tool {tool!r}; there are {', '.join(self._tools)}")
        return self._tools[tool](**args)

    def _respond(self, path: str, query: Mapping[str, str]) -> str:
        return json.dumps(self._feeds.respond(path, query))
