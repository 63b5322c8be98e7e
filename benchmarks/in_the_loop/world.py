"""A small company that an agent works for: a shop, files, a calendar, a shell, an HTTP service, all with real effects.

The shop and the calendar are an SQLite file, the files lie in a folder, the shell runs there, and what is behind HTTP
is served on loopback. A company is founded from a seed, lives through days, and is copied as a folder.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

__all__ = [
    "CATEGORIES",
    "CITIES",
    "CURRENCIES",
    "IN_MEMORY",
    "STATUSES",
    "TICKERS",
    "Rows",
    "ToolError",
    "World",
    "founded",
]

FIRST_DAY = date(2025, 5, 5)
STATUSES = ("placed", "paid", "packed", "shipped", "delivered")
CATEGORIES = ("kitchen", "garden", "books", "office", "outdoor")
CITIES = ("Lisbon", "Oslo", "Lagos", "Kyoto", "Quito", "Tartu")
CURRENCIES = ("USD", "GBP", "CHF", "SEK", "JPY", "PLN")
TICKERS = ("ALDR", "BOWN", "CRSK", "DYNE", "ELMO", "FJRD", "GRNT", "HLLW")
ROOMS = ("Alder", "Birch", "Cedar")
FIRST_NAMES = ("Ada", "Bruno", "Carmen", "Dilip", "Elena", "Farid", "Grete", "Hiro")
LAST_NAMES = ("Moreau", "Lindgren", "Okafor", "Petrov", "Tanaka")
TIERS = ("basic", "silver", "gold")
GOODS = ("pan", "lamp", "shears", "atlas", "stove", "kettle", "rake", "stapler")
MEETINGS = ("Stand-up", "Review", "Interview", "Supplier call", "Planning", "Training", "Retrospective", "Tasting")
TROUBLES = ("parcel damaged", "invoice missing", "wrong item", "late delivery", "refund asked", "address changed")
PRIORITIES = ("low", "normal", "high")
USUAL_RATES = {"USD": 1.08, "GBP": 0.86, "CHF": 0.97, "SEK": 11.4, "JPY": 163.0, "PLN": 4.31}
TIMEOUT_SECONDS = 10.0
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 (where temporary folders are made)
KEPT_FILES = {"reports": 7, "summaries": 2, "archive": 2}  # the others are cleared away at night

SCHEMA = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, city TEXT, tier TEXT,
                        member_since TEXT, newsletter INTEGER);
CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, category TEXT, price REAL, stock INTEGER, updated_on TEXT);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT, total REAL, placed_on TEXT,
                     due_on TEXT, gift INTEGER);
CREATE TABLE items (order_id INTEGER, sku TEXT, quantity INTEGER, unit_price REAL);
CREATE INDEX items_of_order ON items (order_id);
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE TABLE events (event_id INTEGER PRIMARY KEY, title TEXT, starts TEXT, ends TEXT, room TEXT, confirmed INTEGER);
CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, customer_id INTEGER, subject TEXT, priority TEXT, status TEXT,
                      opened_on TEXT);
CREATE TABLE rates (currency TEXT PRIMARY KEY, rate REAL);
CREATE TABLE quotes (ticker TEXT PRIMARY KEY, price REAL, volume INTEGER);
CREATE TABLE weather (city TEXT PRIMARY KEY, temperature_c REAL, wind_kmh REAL, rain_mm REAL);
CREATE TABLE calendar (today TEXT);
"""
#: What counts as the company's state: by table its key and the columns that a task may change.
KEPT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "products": ("sku", ("price", "stock")),
    "orders": ("order_id", ("customer_id", "status", "total")),
    "items": ("order_id || ' ' || sku", ("quantity",)),
    "events": ("event_id", ("title", "starts", "ends", "room")),
    "tickets": ("ticket_id", ("customer_id", "subject", "priority", "status")),
}

Rows = tuple[Sequence[Any], Mapping[str, Any]]


class ToolError(Exception):
    """What a tool says where it cannot do what was asked."""


class World:
    """A company in a folder; a context manager.

    Args:
        folder: of the company.
        seen: what ``seen`` was of a company that was the same, which spares the reading.
    """

    def __init__(self, folder: Path, seen: dict[str, Rows] | None = None) -> None:
        self.folder = folder
        self.files: Path = folder / "files"
        self.database: sqlite3.Connection = sqlite3.connect(
            folder / "shop.sqlite", check_same_thread=False, isolation_level=None
        )
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.execute("PRAGMA journal_mode = MEMORY")
        self.database.row_factory = sqlite3.Row
        self._lock = threading.RLock()
        #: Tables as they were last seen, and the state that they make.
        self.seen: dict[str, Rows] = {} if seen is None else dict(seen)
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the service and close the database."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self.database.close()

    @property
    def today(self) -> str:
        """The day, in ISO form."""
        return str(self._rows("SELECT today FROM calendar")[0]["today"])

    # --- The shop ---

    def find_customer(self, email: str) -> dict[str, Any]:
        row = self._only("SELECT * FROM customers WHERE email = ?", [email], f"no customer with the address {email}")
        return {**row, "newsletter": bool(row["newsletter"])}

    def get_order(self, order_id: int) -> dict[str, Any]:
        row = self._only("SELECT * FROM orders WHERE order_id = ?", [order_id], f"no order {order_id}")
        items = self._rows(
            "SELECT sku, name, quantity, unit_price FROM items JOIN products USING (sku) WHERE order_id = ?"
            " ORDER BY sku",
            [order_id],
        )
        return {**row, "gift": bool(row["gift"]), "currency": "EUR", "items": items}

    def list_orders(self, customer_id: int) -> dict[str, Any]:
        orders = self._rows(
            "SELECT order_id, status, total, placed_on FROM orders WHERE customer_id = ? ORDER BY order_id",
            [customer_id],
        )
        return {"customer_id": customer_id, "currency": "EUR", "orders": orders}

    def get_product(self, sku: str) -> dict[str, Any]:
        row = self._only("SELECT * FROM products WHERE sku = ?", [sku], f"no product {sku}")
        return {**row, "currency": "EUR", "on_sale": row["stock"] > 0}

    def search_products(self, category: str) -> dict[str, Any]:
        found = self._rows("SELECT sku, name, price, stock FROM products WHERE category = ? ORDER BY sku", [category])
        return {"category": category, "currency": "EUR", "products": found, "count": len(found)}

    def create_order(self, customer_id: int, sku: str, quantity: int) -> dict[str, Any]:
        with self._writing():
            self._only("SELECT * FROM customers WHERE customer_id = ?", [customer_id], f"no customer {customer_id}")
            product = self.get_product(sku)
            if product["stock"] < quantity:
                raise ToolError(f"only {product['stock']} of {sku} are left")
            order_id = self._rows("SELECT MAX(order_id) + 1 AS next FROM orders")[0]["next"]
            total = round(product["price"] * quantity, 2)
            due_on = str(date.fromisoformat(self.today) + timedelta(days=7))
            self._write(
                "INSERT INTO orders VALUES (?, ?, 'placed', ?, ?, ?, 0)",
                order_id,
                customer_id,
                total,
                self.today,
                due_on,
            )
            self._write("INSERT INTO items VALUES (?, ?, ?, ?)", order_id, sku, quantity, product["price"])
            self._write("UPDATE products SET stock = stock - ? WHERE sku = ?", quantity, sku)
        return {"order_id": order_id, "customer_id": customer_id, "status": "placed", "total": total, "currency": "EUR",
                "due_on": due_on}  # fmt: skip

    def set_price(self, sku: str, price: float) -> dict[str, Any]:
        with self._writing():
            self.get_product(sku)
            self._write("UPDATE products SET price = ?, updated_on = ? WHERE sku = ?", price, self.today, sku)
        return {"sku": sku, "price": price, "currency": "EUR", "updated_on": self.today}

    def set_status(self, order_id: int, status: str) -> dict[str, Any]:
        if status not in STATUSES:
            raise ToolError(f"no status {status!r}; there are {', '.join(STATUSES)}")
        with self._writing():
            before = self.get_order(order_id)["status"]
            self._write("UPDATE orders SET status = ? WHERE order_id = ?", status, order_id)
        return {"order_id": order_id, "status": status, "previous_status": before, "updated_on": self.today}

    def add_stock(self, sku: str, quantity: int) -> dict[str, Any]:
        with self._writing():
            self.get_product(sku)
            self._write("UPDATE products SET stock = stock + ? WHERE sku = ?", quantity, sku)
            stock = self.get_product(sku)["stock"]
        return {"sku": sku, "added": quantity, "stock": stock, "updated_on": self.today}

    # --- Files ---

    def list_files(self, folder: str) -> dict[str, Any]:
        there = self._path(folder)
        if not there.is_dir():
            raise ToolError(f"no folder {folder}")
        found = [{"name": path.name, "bytes": path.stat().st_size} for path in sorted(there.iterdir())]
        return {"folder": folder, "files": found, "count": len(found)}

    def read_file(self, path: str) -> str:
        try:
            return self._path(path).read_text(encoding="utf-8")
        except OSError:
            raise ToolError(f"no file {path}") from None

    def write_file(self, path: str, content: str) -> dict[str, Any]:
        there = self._path(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(content, encoding="utf-8")
        return {"path": path, "bytes": len(content.encode()), "lines": len(content.splitlines())}

    def append_line(self, path: str, line: str) -> dict[str, Any]:
        there = self._path(path)
        if not there.is_file():
            raise ToolError(f"no file {path}")
        with there.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        return {"path": path, "line": line, "lines": len(there.read_text(encoding="utf-8").splitlines())}

    # --- The calendar ---

    def list_events(self, day: str) -> dict[str, Any]:
        rows = self._rows("SELECT * FROM events WHERE starts LIKE ? ORDER BY starts, event_id", [f"{day}T%"])
        return {"day": day, "events": [{**row, "confirmed": bool(row["confirmed"])} for row in rows]}

    def get_event(self, event_id: int) -> dict[str, Any]:
        row = self._only("SELECT * FROM events WHERE event_id = ?", [event_id], f"no event {event_id}")
        return {**row, "confirmed": bool(row["confirmed"]), "time_zone": "UTC"}

    def add_event(self, title: str, starts: str, ends: str, room: str) -> dict[str, Any]:
        with self._writing():
            event_id = self._rows("SELECT MAX(event_id) + 1 AS next FROM events")[0]["next"]
            self._write("INSERT INTO events VALUES (?, ?, ?, ?, ?, 1)", event_id, title, starts, ends, room)
        return {"event_id": event_id, "title": title, "starts": starts, "ends": ends, "room": room, "confirmed": True}

    def move_event(self, event_id: int, starts: str, ends: str) -> dict[str, Any]:
        with self._writing():
            title = self.get_event(event_id)["title"]
            self._write("UPDATE events SET starts = ?, ends = ? WHERE event_id = ?", starts, ends, event_id)
        return {"event_id": event_id, "title": title, "starts": starts, "ends": ends}

    # --- The shell ---

    def run_command(self, command: str) -> str:
        try:
            ended = subprocess.run(
                ["/bin/sh", "-c", command], cwd=self.files, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                capture_output=True, text=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ToolError(f"no end after {TIMEOUT_SECONDS:g} seconds") from None
        return f"exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"

    # --- Behind HTTP: rates, quotes, the weather, tickets, and the warehouse's own view of the stock ---

    def get_rate(self, currency: str) -> Any:
        return self._fetch("GET", "/rates", {"currency": currency})

    def bank_rate(self, code: str) -> Any:
        return self._fetch("GET", "/bank", {"code": code})

    def get_quote(self, ticker: str) -> Any:
        return self._fetch("GET", "/quotes", {"ticker": ticker})

    def get_weather(self, city: str) -> Any:
        return self._fetch("GET", "/weather", {"city": city})

    def list_tickets(self, status: str) -> Any:
        return self._fetch("GET", "/tickets", {"status": status})

    def get_ticket(self, ticket_id: int) -> Any:
        return self._fetch("GET", "/ticket", {"ticket_id": str(ticket_id)})

    def open_ticket(self, customer_id: int, subject: str, priority: str) -> Any:
        body = {"customer_id": customer_id, "subject": subject, "priority": priority}
        return self._fetch("POST", "/tickets", {}, body)

    def close_ticket(self, ticket_id: int) -> Any:
        return self._fetch("PUT", "/ticket", {"ticket_id": str(ticket_id)}, {"status": "closed"})

    def warehouse_item(self, item: str) -> Any:
        return self._fetch("GET", "/warehouse", {"item": item})

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        """What the service answers: status and payload."""
        parts = urlsplit(target)
        asked = dict(parse_qsl(parts.query))
        try:
            with self._lock:
                return 200, self._served(method, parts.path, asked, body)
        except (ToolError, KeyError) as error:
            return 404, {"error": str(error)}

    def _served(self, method: str, path: str, asked: Mapping[str, str], body: Any) -> Any:
        if path in ("/rates", "/bank"):
            code = asked["currency" if path == "/rates" else "code"]
            rate = self._only("SELECT * FROM rates WHERE currency = ?", [code], f"no rate of {code}")["rate"]
            if path == "/bank":
                return {"code": code, "against": "EUR", "value": rate, "source": "bank"}
            return {"base": "EUR", "currency": code, "rate": rate, "as_of": f"{self.today}T08:00:00Z"}
        if path == "/quotes":
            row = self._only("SELECT * FROM quotes WHERE ticker = ?", [asked["ticker"]], f"no ticker {asked['ticker']}")
            return {**row, "currency": "USD", "as_of": f"{self.today}T08:00:00Z"}
        if path == "/weather":
            row = self._only("SELECT * FROM weather WHERE city = ?", [asked["city"]], f"no city {asked['city']}")
            return {**row, "unit": "metric", "observed_at": f"{self.today}T07:30:00Z"}
        if path == "/warehouse":
            row = self._only("SELECT * FROM products WHERE sku = ?", [asked["item"]], f"no item {asked['item']}")
            return {
                "item": row["sku"],
                "units": row["stock"],
                "list_price": row["price"],
                "shelf": f"{row['sku'][:1]}-7",
            }
        if path == "/ticket" and method == "GET":
            number = int(asked["ticket_id"])
            row = self._only("SELECT * FROM tickets WHERE ticket_id = ?", [number], f"no ticket {number}")
            return {**row, "channel": "mail"}
        if path == "/ticket":
            number = int(asked["ticket_id"])
            self._only("SELECT * FROM tickets WHERE ticket_id = ?", [number], f"no ticket {number}")
            self._write("UPDATE tickets SET status = ? WHERE ticket_id = ?", body["status"], number)
            return {"ticket_id": number, "status": body["status"], "updated_on": self.today}
        if path == "/tickets" and method == "GET":
            rows = self._rows(
                "SELECT ticket_id, customer_id, subject, priority, opened_on FROM tickets WHERE status = ?"
                " ORDER BY ticket_id",
                [asked["status"]],
            )
            return {"status": asked["status"], "tickets": rows}
        if path == "/tickets":
            number = self._rows("SELECT MAX(ticket_id) + 1 AS next FROM tickets")[0]["next"]
            opened = (number, body["customer_id"], body["subject"], body["priority"], "open", self.today)
            self._write("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?)", *opened)
            return {"ticket_id": number, "status": "open", "priority": body["priority"], "opened_on": self.today}
        raise ToolError(f"nothing at {path}")

    def _fetch(self, method: str, path: str, asked: Mapping[str, str], body: Any = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port(), timeout=TIMEOUT_SECONDS)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, f"{path}?{urlencode(asked)}", data)
            response = connection.getresponse()
            payload = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ToolError(f"HTTP {response.status}: {payload.get('error')}")
        return payload

    def _port(self) -> int:
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
            self._server.daemon_threads = True
            threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()
        return int(self._server.server_address[1])

    # --- What the benchmark does to it ---

    def state(self) -> dict[str, Any]:
        """All that a task may change, flat: ``orders/1007/status`` and ``files/notes.txt`` with their values."""
        flat: dict[str, Any] = {}
        for table, (key, columns) in KEPT.items():
            with self._lock:
                sql = f"SELECT {key}, {', '.join(columns)} FROM {table}"  # noqa: S608 (our own names)
                rows = [tuple(row) for row in self.database.execute(sql)]
            if self.seen.get(table, ((), {}))[0] != rows:
                self.seen[table] = (
                    rows,
                    {f"{table}/{row[0]}/{name}": row[place] for row in rows for place, name in enumerate(columns, 1)},
                )
            flat.update(self.seen[table][1])
        for path in sorted(self.files.rglob("*")):
            if path.is_file():
                flat[f"files/{path.relative_to(self.files)}"] = path.read_text(encoding="utf-8")
        return flat

    @contextmanager
    def undone(self) -> Iterator[None]:
        """What is done inside leaves nothing behind."""
        before = {path: path.read_bytes() for path in self.files.rglob("*") if path.is_file()}
        with self._lock:
            self.database.execute("SAVEPOINT before")
        try:
            yield
        finally:
            with self._lock:
                self.database.execute("ROLLBACK TO before")
                self.database.execute("RELEASE before")
            for path in [path for path in self.files.rglob("*") if path.is_file() and path not in before]:
                path.unlink()
            for path, content in before.items():
                if not path.is_file() or path.read_bytes() != content:
                    path.write_bytes(content)

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Call a tool by name.

        Raises:
            ToolError: where it cannot do what was asked.
        """
        method: Callable[..., Any] = getattr(self, tool)
        try:
            return method(**args)
        except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
            raise ToolError(f"bad arguments: {error}") from None

    def copy(self, folder: Path) -> World:
        """The same company in another folder."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.folder / "shop.sqlite", folder / "shop.sqlite")
        shutil.copytree(self.files, folder / "files", dirs_exist_ok=True)
        return World(folder)

    def _path(self, name: str) -> Path:
        path = (self.files / name).resolve()
        if not path.is_relative_to(self.files.resolve()):
            raise ToolError(f"{name} is outside of the folder")
        return path

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self.database.execute(sql, tuple(values))]

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Look into the database past all tools."""
        return self._rows(sql, values)

    def _only(self, sql: str, values: Sequence[Any], otherwise: str) -> dict[str, Any]:
        rows = self._rows(sql, values)
        if not rows:
            raise ToolError(otherwise)
        return rows[0]

    def _write(self, sql: str, *values: Any) -> None:
        self.database.execute(sql, values)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self.database.execute("SAVEPOINT writing")
            try:
                yield
            except BaseException:
                self.database.execute("ROLLBACK TO writing")
                raise
            finally:
                with suppress(sqlite3.Error):
                    self.database.execute("RELEASE writing")

    # --- Its days ---

    def night(self, draw: random.Random) -> None:
        """Let a night go by: parcels move on, customers buy, prices and rates change, meetings are moved."""
        with self._writing():
            day = date.fromisoformat(self.today) + timedelta(days=1)
            self._write("UPDATE calendar SET today = ?", str(day))
            for row in self._rows("SELECT order_id, status FROM orders WHERE status != 'delivered'"):
                if draw.random() < 0.35:
                    following = STATUSES[STATUSES.index(row["status"]) + 1]
                    self._write("UPDATE orders SET status = ? WHERE order_id = ?", following, row["order_id"])
            for row in self._rows("SELECT sku, price, stock FROM products"):
                price = round(row["price"] * draw.uniform(0.94, 1.06), 2) if draw.random() < 0.5 else row["price"]
                stock = row["stock"] - draw.randint(0, 4)
                self._write(
                    "UPDATE products SET price = ?, stock = ?, updated_on = ? WHERE sku = ?",
                    price, stock if stock > 0 else stock + 60, str(day), row["sku"],
                )  # fmt: skip
            for _ in range(8):
                self._buy(draw, day)
            for table, key, column, sigma in (
                ("rates", "currency", "rate", 0.006),
                ("quotes", "ticker", "price", 0.02),
            ):
                for row in self._rows(f"SELECT {key} AS k, {column} AS v FROM {table}"):  # noqa: S608
                    value = row["v"] * math.exp(draw.gauss(0, sigma))
                    self._write(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", round(value, 4), row["k"])  # noqa: S608
            for city in CITIES:
                values = (
                    round(draw.gauss(17, 5), 1),
                    round(abs(draw.gauss(18, 12)), 1),
                    max(0.0, round(draw.gauss(0, 4), 1)),
                )
                self._write(
                    "UPDATE weather SET temperature_c = ?, wind_kmh = ?, rain_mm = ? WHERE city = ?", *values, city
                )
            self._write("UPDATE quotes SET volume = ABS(RANDOM() % 1) + ?", draw.randint(20_000, 90_000))
            for row in self._rows("SELECT event_id, starts, ends FROM events WHERE starts > ?", [str(day)]):
                if draw.random() < 0.12:
                    later = [_later(row[end], 60) for end in ("starts", "ends")]
                    self._write("UPDATE events SET starts = ?, ends = ? WHERE event_id = ?", *later, row["event_id"])
            self._write(
                "UPDATE tickets SET status = 'closed' WHERE status = 'open' AND ticket_id IN"
                " (SELECT ticket_id FROM tickets WHERE status = 'open' ORDER BY ticket_id LIMIT 2)"
            )
            for _ in range(6):
                self._complain(draw, day)
        self._file_the_day(draw, day)

    def _buy(self, draw: random.Random, day: date) -> None:
        order_id = (self._rows("SELECT MAX(order_id) AS m FROM orders")[0]["m"] or 1_000) + 1
        total = 0.0
        for product in draw.sample(
            self._rows("SELECT sku, price FROM products ORDER BY sku"), draw.choice((1, 2, 2, 3, 4))
        ):
            quantity = draw.choice((1, 1, 2, 3))
            total += quantity * product["price"]
            self._write("INSERT INTO items VALUES (?, ?, ?, ?)", order_id, product["sku"], quantity, product["price"])
        customer = draw.randint(1, len(FIRST_NAMES) * len(LAST_NAMES))
        due = str(day + timedelta(days=draw.randint(4, 12)))
        row = (order_id, customer, "placed", round(total, 2), str(day), due, draw.random() < 0.2)
        self._write("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def _complain(self, draw: random.Random, day: date) -> None:
        number = (self._rows("SELECT MAX(ticket_id) AS m FROM tickets")[0]["m"] or 500) + 1
        row = (number, draw.randint(1, 40), draw.choice(TROUBLES), draw.choice(PRIORITIES), "open", str(day))
        self._write("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?)", *row)

    def _sell(self, draw: random.Random, day: date) -> None:
        month = self.files / "sales" / f"{day:%Y-%m}.csv"
        if not month.exists():
            month.write_text("day,product,units,amount,paid\n", encoding="utf-8")
        with month.open("a", encoding="utf-8") as file:
            for _ in range(draw.randint(1, 3)):
                units = draw.randint(1, 9)
                amount = units * draw.uniform(6, 60)
                file.write(f"{day},{draw.choice(GOODS)},{units},{amount:.2f},{draw.choice(('yes', 'yes', 'no'))}\n")

    def _file_the_day(self, draw: random.Random, day: date) -> None:
        self._sell(draw, day)
        for folder, most in KEPT_FILES.items():
            for old in sorted((self.files / folder).iterdir())[:-most]:
                old.unlink()
        visitors, rate = draw.randint(300, 900), draw.uniform(1.5, 4.5)
        report = f"Report of {day}\nvisitors: {visitors}\nconversion: {rate:.1f}\nreturns: {draw.randint(0, 9)}\n"
        (self.files / "reports" / f"{day}.txt").write_text(report, encoding="utf-8")
        limits = "".join(
            f"{name} = {draw.randint(5, 60)}\n" for name in ("reorder_below", "largest_order", "free_shipping_from")
        )
        (self.files / "settings.ini").write_text(f"# {day}\n{limits}", encoding="utf-8")


def founded(seed: int, folder: Path) -> World:
    """A new company with some weeks behind it."""
    draw = random.Random(f"company {seed}")
    for name in ("sales", "reports", "summaries", "archive", "logs"):
        (folder / "files" / name).mkdir(parents=True, exist_ok=True)
    (folder / "files" / "logs" / "agent.log").write_text("log opened\n", encoding="utf-8")
    with sqlite3.connect(folder / "shop.sqlite") as database:
        database.executescript(SCHEMA)
    database.close()
    world = World(folder)
    day = FIRST_DAY
    with world._writing():
        world._write("INSERT INTO calendar VALUES (?)", str(day))
        for number, name in enumerate((f"{one} {two}" for one in FIRST_NAMES for two in LAST_NAMES), 1):
            since = day - timedelta(days=draw.randint(100, 3_000))
            email = f"{name.lower().replace(' ', '.')}@example.com"
            row = (number, name, email, draw.choice(CITIES), draw.choice(TIERS), str(since), draw.random() < 0.5)
            world._write("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
        for category in CATEGORIES:
            for number, good in enumerate(draw.sample(GOODS, 7), 1):
                row_of = (f"{category[:3].upper()}-{number:03d}", f"{category} {good}", category,
                          round(4 * 40 ** draw.random(), 2), draw.randint(5, 80), str(day))  # fmt: skip
                world._write("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", *row_of)
        for currency, rate in USUAL_RATES.items():
            world._write("INSERT INTO rates VALUES (?, ?)", currency, rate)
        for ticker in TICKERS:
            world._write("INSERT INTO quotes VALUES (?, ?, ?)", ticker, round(15 * 30 ** draw.random(), 2), 50_000)
        for city in CITIES:
            world._write("INSERT INTO weather VALUES (?, 15.0, 10.0, 0.0)", city)
        for _ in range(24):
            world._complain(draw, day)
        for _ in range(80):
            world._buy(draw, day - timedelta(days=draw.randint(0, 20)))
        meetings = [
            (day + timedelta(days=offset), hour)
            for offset in range(60)
            for hour in sorted(draw.sample(range(8, 18), draw.randint(2, 5)))
        ]
        draw.shuffle(meetings)  # they were not put down in the order in which they take place
        for event_id, (when, hour) in enumerate(meetings, 301):
            starts = datetime(when.year, when.month, when.day, hour)
            ends = starts + timedelta(minutes=draw.choice((30, 45, 60)))
            row_at = (event_id, draw.choice(MEETINGS), f"{starts:%Y-%m-%dT%H:%M}", f"{ends:%Y-%m-%dT%H:%M}",
                      draw.choice(ROOMS), draw.random() < 0.8)  # fmt: skip
            world._write("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", *row_at)
    for offset in range(-150, 0):
        if draw.random() < 0.5:
            world._sell(draw, day + timedelta(days=offset))
    world._file_the_day(draw, day)
    return world


def _later(moment: str, minutes: int) -> str:
    return f"{datetime.fromisoformat(moment) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"


def _handler(world: World) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body leave together; apart, they wait for each other's acknowledgement

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, payload = world.answer(self.command, self.path, body)
            data = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the screen belongs to the progress bar."""

    return Handler
