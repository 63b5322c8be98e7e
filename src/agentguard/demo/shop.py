"""A small web shop in SQLite, alive: orders move on, new ones come in, stock goes down and is filled up again.

Everything that happens follows from the seed and the minute, never from who looks: the tools read through a
connection that cannot write.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from .clock import stamp

__all__ = ["CATALOGUE", "CUSTOMERS", "FIRST_ORDERS", "STATUSES", "Shop"]

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
    """The shop and its tools. A context manager: the database is a temporary file, removed at the end."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()
        self._writer.close()
        self._folder.cleanup()

    def advance(self, minute: int) -> None:
        """Let the shop live until that minute; going back is not possible and does nothing."""
        while self._minute < minute:
            self._minute += 1
            with self._writer:
                self._move_orders_on()
                if self._random.random() < _P_NEW_ORDER:
                    newest = self._writer.execute("SELECT MAX(order_id) FROM orders").fetchone()[0]
                    self._place_order(newest + 1, "placed", self._minute)

    def get_order(self, order_id: int) -> dict[str, Any]:
        """One order with its items; ``LookupError`` where there is none of that number."""
        order = self._only("SELECT * FROM orders WHERE order_id = ?", [order_id], f"no order {order_id}")
        items = self._rows(
            "SELECT sku, name, quantity, unit_price FROM items JOIN products USING (sku)"
            " WHERE order_id = ? ORDER BY sku",
            [order_id],
        )
        return {**order, "items": items}

    def find_customer(self, email: str) -> dict[str, Any]:
        """One customer and how many orders they have; ``LookupError`` where nobody has that address."""
        return self._only(
            "SELECT customers.*, COUNT(order_id) AS orders FROM customers LEFT JOIN orders USING (customer_id)"
            " WHERE email = ? GROUP BY customer_id",
            [email],
            f"no customer with the address {email}",
        )

    def query_shop(self, sql: str, params: Sequence[Any] = ()) -> dict[str, Any]:
        """The rows of any query; ``sqlite3.Error`` for one that is wrong or would change something."""
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
