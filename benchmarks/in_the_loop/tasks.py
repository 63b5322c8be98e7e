"""The tasks: what is asked, how the scripted agent goes about it, and what is right.

What is right is worked out from the company's database and files, past all tools and the agent: ``truth`` is the
answer, ``changes`` all that the company's state is to differ in afterwards.
"""

from __future__ import annotations

import configparser
import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from .agent import Agent, FailedError
from .world import CATEGORIES, CITIES, CURRENCIES, TICKERS, World

__all__ = ["TEMPLATES", "Task", "Template", "tasks"]

Params = Mapping[str, Any]
Changes = Mapping[str, Any]


class Template(NamedTuple):
    """A kind of task.

    Attributes:
        name, domain: what it is called, and the tools that it is mainly about.
        draw: parameters for a company; None where these will not do.
        question: the task in words.
        solve: the agent's script; gives the answer.
        truth: the right answer.
        changes: the state afterwards where it differs from that before; without a value for a number that is the
            company's own to choose.
    """

    name: str
    domain: str
    draw: Callable[[World, Random], Params | None]
    question: Callable[[Params], str]
    solve: Callable[[Agent, Params], Any]
    truth: Callable[[World, Params], Any]
    changes: Callable[[World, Params], Changes]


class Task(NamedTuple):
    """One task: a template and its parameters."""

    template: str
    number: int
    params: Params


def nothing(world: World, params: Params) -> Changes:
    return {}


def draw_from(sql: str, *values: Any) -> Callable[[World, Random], Params | None]:
    """Draw one row as the parameters."""

    def draw(world: World, rng: Random) -> Params | None:
        rows = world.rows(sql, *values)
        return rng.choice(rows) if rows else None

    return draw


ANY_ORDER = draw_from("SELECT order_id FROM orders WHERE order_id IN (SELECT order_id FROM items)")
ANY_CUSTOMER = draw_from(
    "SELECT email, customer_id FROM customers WHERE customer_id IN"
    " (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 2)"
)


def first(world: World, sql: str, *values: Any) -> Any:
    rows = world.rows(sql, *values)
    return next(iter(rows[0].values())) if rows else None


# --- The shop ---


def order_total() -> Template:
    return Template(
        "order_total", "shop", ANY_ORDER,
        lambda p: f"What is the total of order {p['order_id']}?",
        lambda agent, p: agent.ask("get_order", "total", order_id=p["order_id"])["total"],
        lambda world, p: first(world, "SELECT total FROM orders WHERE order_id = ?", p["order_id"]),
        nothing,
    )  # fmt: skip


def order_due() -> Template:
    return Template(
        "order_due", "shop", ANY_ORDER,
        lambda p: f"When is order {p['order_id']} due, and in which status is it? Answer 'DATE STATUS'.",
        lambda agent, p: "{due_on} {status}".format(
            **agent.ask("get_order", "due_on", "status", order_id=p["order_id"])
        ),
        lambda world, p: first(world, "SELECT due_on || ' ' || status FROM orders WHERE order_id = ?", p["order_id"]),
        nothing,
    )  # fmt: skip


def order_units() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        order = agent.ask("get_order", "items[].quantity", order_id=p["order_id"])
        return sum(item["quantity"] for item in order["items"])

    return Template(
        "order_units", "shop", ANY_ORDER,
        lambda p: f"How many units were bought in order {p['order_id']}?",
        solve,
        lambda world, p: first(world, "SELECT SUM(quantity) FROM items WHERE order_id = ?", p["order_id"]),
        nothing,
    )  # fmt: skip


def customer_spend() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        customer = agent.ask("find_customer", "customer_id", email=p["email"])
        orders = agent.ask("list_orders", "orders[].total", customer_id=customer["customer_id"])["orders"]
        return round(sum(order["total"] for order in orders), 2)

    return Template(
        "customer_spend", "shop", ANY_CUSTOMER,
        lambda p: f"What do all orders of {p['email']} come to, in euros?",
        solve,
        lambda world, p: round(
            first(world, "SELECT SUM(total) FROM orders WHERE customer_id = ?", p["customer_id"]), 2
        ),
        nothing,
    )  # fmt: skip


def under_way() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        customer = agent.ask("find_customer", "customer_id", email=p["email"])
        orders = agent.ask("list_orders", "orders[].status", "orders[].order_id", customer_id=customer["customer_id"])
        return [order["order_id"] for order in orders["orders"] if order["status"] != "delivered"]

    def truth(world: World, p: Params) -> Any:
        sql = "SELECT order_id FROM orders WHERE customer_id = ? AND status <> 'delivered' ORDER BY order_id"
        return [row["order_id"] for row in world.rows(sql, p["customer_id"])]

    return Template(
        "under_way", "shop",
        draw_from(
            "SELECT email, customer_id FROM customers JOIN orders USING (customer_id) WHERE status <> 'delivered'"
            " GROUP BY customer_id"
        ),
        lambda p: f"Which orders of {p['email']} are not delivered yet? Answer with the list of their numbers.",
        solve, truth, nothing,
    )  # fmt: skip


def cheapest() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        found = agent.ask("search_products", "products[].price", "products[].sku", category=p["category"])["products"]
        return min(found, key=lambda product: product["price"])["sku"]

    return Template(
        "cheapest", "shop",
        lambda world, rng: {"category": rng.choice(CATEGORIES)},
        lambda p: f"What is the SKU of the cheapest product of the category {p['category']}?",
        solve,
        lambda world, p: first(
            world, "SELECT sku FROM products WHERE category = ? ORDER BY price, sku LIMIT 1", p["category"]
        ),
        nothing,
    )  # fmt: skip


def stock_value() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        found = agent.ask("search_products", "products[].price", "products[].stock", category=p["category"])["products"]
        return round(sum(product["price"] * product["stock"] for product in found), 2)

    return Template(
        "stock_value", "shop",
        lambda world, rng: {"category": rng.choice(CATEGORIES)},
        lambda p: f"What is the stock of the category {p['category']} worth, at today's prices?",
        solve,
        lambda world, p: round(
            first(world, "SELECT SUM(price * stock) FROM products WHERE category = ?", p["category"]), 2
        ),
        nothing,
    )  # fmt: skip


def raise_price() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        price = round(agent.ask("get_product", "price", sku=p["sku"])["price"] * 1.1, 2)
        agent.ask("set_price", sku=p["sku"], price=price)
        return price

    def truth(world: World, p: Params) -> Any:
        return round(first(world, "SELECT price FROM products WHERE sku = ?", p["sku"]) * 1.1, 2)

    return Template(
        "raise_price", "shop", draw_from("SELECT sku FROM products"),
        lambda p: f"Raise the price of {p['sku']} by 10%, rounded to cents, and answer with the new price.",
        solve, truth,
        lambda world, p: {f"products/{p['sku']}/price": truth(world, p)},
    )  # fmt: skip


def restock() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        stock = agent.ask("get_product", "stock", sku=p["sku"])["stock"]
        missing = p["level"] - stock
        if missing > 0:
            agent.ask("add_stock", sku=p["sku"], quantity=missing)
        return max(missing, 0)

    def truth(world: World, p: Params) -> Any:
        return max(p["level"] - first(world, "SELECT stock FROM products WHERE sku = ?", p["sku"]), 0)

    def draw(world: World, rng: Random) -> Params | None:
        row = rng.choice(world.rows("SELECT sku, stock FROM products ORDER BY sku"))
        return {"sku": row["sku"], "level": row["stock"] + rng.randint(5, 30)}

    def changes(world: World, p: Params) -> Changes:
        return {f"products/{p['sku']}/stock": p["level"]} if truth(world, p) else {}

    return Template(
        "restock", "shop", draw,
        lambda p: f"Fill the stock of {p['sku']} up to {p['level']} and answer with the number of units added.",
        solve, truth, changes,
    )  # fmt: skip


def place_order() -> Template:
    def draw(world: World, rng: Random) -> Params | None:
        sku = rng.choice(world.rows("SELECT sku FROM products WHERE stock > 12 ORDER BY sku"))["sku"]
        customer = rng.choice(world.rows("SELECT email, customer_id FROM customers ORDER BY customer_id"))
        return {**customer, "sku": sku, "quantity": rng.randint(1, 8)}

    def solve(agent: Agent, p: Params) -> Any:
        customer = agent.ask("find_customer", "customer_id", email=p["email"])
        product = agent.ask("get_product", "stock", sku=p["sku"])
        if product["stock"] < p["quantity"]:
            raise FailedError("there is not enough in stock")
        order = agent.ask(
            "create_order", "total", customer_id=customer["customer_id"], sku=p["sku"], quantity=p["quantity"]
        )
        return order["total"]

    def truth(world: World, p: Params) -> Any:
        return round(first(world, "SELECT price FROM products WHERE sku = ?", p["sku"]) * p["quantity"], 2)

    def changes(world: World, p: Params) -> Changes:
        number = first(world, "SELECT MAX(order_id) + 1 FROM orders")
        return {
            f"orders/{number}/customer_id": p["customer_id"],
            f"orders/{number}/status": "placed",
            f"orders/{number}/total": truth(world, p),
            f"items/{number} {p['sku']}/quantity": p["quantity"],
            f"products/{p['sku']}/stock": first(world, "SELECT stock FROM products WHERE sku = ?", p["sku"])
            - p["quantity"],
        }

    return Template(
        "place_order", "shop", draw,
        lambda p: f"Order {p['quantity']} of {p['sku']} for {p['email']} if the stock allows; answer with the total.",
        solve, truth, changes,
    )  # fmt: skip


def pack_order() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        if agent.ask("get_order", "status", order_id=p["order_id"])["status"] != "paid":
            return "left"
        agent.ask("set_status", order_id=p["order_id"], status="packed")
        return "packed"

    def truth(world: World, p: Params) -> Any:
        status = first(world, "SELECT status FROM orders WHERE order_id = ?", p["order_id"])
        return "packed" if status == "paid" else "left"

    return Template(
        "pack_order", "shop",
        draw_from("SELECT order_id FROM orders WHERE status = 'paid' ORDER BY order_id"),
        lambda p: f"If order {p['order_id']} is paid, set it to packed. Answer 'packed', or 'left' where it is not.",
        solve, truth,
        lambda world, p: {f"orders/{p['order_id']}/status": "packed"} if truth(world, p) == "packed" else {},
    )  # fmt: skip


# --- Files and the shell ---


def _sales(world: World, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((world.files / path).read_text(encoding="utf-8"))))


def _amounts(text: str) -> list[float]:
    return [float(row["amount"]) for row in csv.DictReader(io.StringIO(text))]


def _a_month(world: World, rng: Random) -> Params | None:
    return {"path": f"sales/{rng.choice(sorted(path.name for path in (world.files / 'sales').iterdir()))}"}


def month_total() -> Template:
    return Template(
        "month_total", "files", _a_month,
        lambda p: f"What is the sum of the column amount in {p['path']}?",
        lambda agent, p: round(sum(_amounts(agent.ask("read_file", path=p["path"]))), 2),
        lambda world, p: round(sum(float(row["amount"]) for row in _sales(world, p["path"])), 2),
        nothing,
    )  # fmt: skip


def latest_report() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        files = agent.ask("list_files", "files[].name", folder="reports")["files"]
        newest = max(file["name"] for file in files)
        text = agent.ask("read_file", path=f"reports/{newest}")
        return f"{newest} {_line_of(text, p['what'])}"

    def truth(world: World, p: Params) -> Any:
        path = max((world.files / "reports").iterdir())
        return f"{path.name} {re.findall(p['what'] + ': (.+)', path.read_text(encoding='utf-8'))[0]}"

    return Template(
        "latest_report", "files",
        lambda world, rng: {"what": rng.choice(("visitors", "conversion", "returns"))},
        lambda p: f"What does the latest file in reports give for {p['what']}? Answer 'FILE VALUE'.",
        solve, truth, nothing,
    )  # fmt: skip


def _line_of(text: str, what: str) -> str:
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return lines[what]


def summary() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        units = sum(int(row["units"]) for row in csv.DictReader(io.StringIO(agent.ask("read_file", path=p["path"]))))
        agent.ask("write_file", path=p["target"], content=f"units: {units}\n")
        return units

    def truth(world: World, p: Params) -> Any:
        return sum(int(row["units"]) for row in _sales(world, p["path"]))

    def draw(world: World, rng: Random) -> Params | None:
        month = _a_month(world, rng)
        return None if month is None else {**month, "target": f"summaries/units-{rng.randrange(1_000)}.txt"}

    return Template(
        "summary", "files", draw,
        lambda p: f"Sum the column units of {p['path']}, write 'units: SUM' as the only line of {p['target']}, and "
        "answer with the sum.",
        solve, truth,
        lambda world, p: {f"files/{p['target']}": f"units: {truth(world, p)}\n"},
    )  # fmt: skip


def note_setting() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        text = agent.ask("read_file", path="settings.ini")
        value = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)[p["name"]]
        agent.ask("append_line", path="logs/agent.log", line=f"{p['name']} is {value}")
        return int(value)

    def truth(world: World, p: Params) -> Any:
        settings = configparser.ConfigParser()
        settings.read_string("[all]\n" + (world.files / "settings.ini").read_text(encoding="utf-8"))
        return settings.getint("all", p["name"])

    def changes(world: World, p: Params) -> Changes:
        log = (world.files / "logs/agent.log").read_text(encoding="utf-8")
        return {"files/logs/agent.log": f"{log}{p['name']} is {truth(world, p)}\n"}

    return Template(
        "note_setting", "files",
        lambda world, rng: {"name": rng.choice(("reorder_below", "largest_order", "free_shipping_from"))},
        lambda p: f"Append the line '{p['name']} is VALUE' to logs/agent.log, with the value from settings.ini; answer "
        "with it.",
        solve, truth, changes,
    )  # fmt: skip


def _output(text: str) -> str:
    code, _, output = text.partition("\n")
    if code != "exit code 0":
        raise FailedError(f"the command failed: {code}")
    return output


def unpaid_sales() -> Template:
    return Template(
        "unpaid_sales", "shell", _a_month,
        lambda p: f"How many lines of {p['path']} end with ',no'? Use the shell.",
        lambda agent, p: int(_output(agent.ask("run_command", command=f"grep -c ',no$' {p['path']}"))),
        lambda world, p: sum(row["paid"] == "no" for row in _sales(world, p["path"])),
        nothing,
    )  # fmt: skip


def best_sale() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        line = _output(agent.ask("run_command", command=f"tail -n +2 {p['path']} | sort -t, -k4,4 -rn | head -n 3"))
        return line.splitlines()[0].split(",")[1]

    return Template(
        "best_sale", "shell", _a_month,
        lambda p: f"Which product has the line with the largest amount in {p['path']}? Use the shell.",
        solve,
        lambda world, p: max(_sales(world, p["path"]), key=lambda row: float(row["amount"]))["product"],
        nothing,
    )  # fmt: skip


def archive() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        command = f"cp {p['path']} archive/{p['name']} && wc -l < archive/{p['name']}"
        return int(_output(agent.ask("run_command", command=command)))

    def draw(world: World, rng: Random) -> Params | None:
        month = _a_month(world, rng)
        return None if month is None else {**month, "name": f"sales-{rng.randrange(1_000)}.csv"}

    return Template(
        "archive", "shell", draw,
        lambda p: f"Copy {p['path']} to archive/{p['name']} by the shell, and answer with the number of its lines.",
        solve,
        lambda world, p: len((world.files / p["path"]).read_text(encoding="utf-8").splitlines()),
        lambda world, p: {f"files/archive/{p['name']}": (world.files / p["path"]).read_text(encoding="utf-8")},
    )  # fmt: skip


# --- The calendar ---


def _a_day(world: World, rng: Random) -> Params | None:
    return {"day": str(date.fromisoformat(world.today) + timedelta(days=rng.randint(1, 25)))}


def afternoon() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        events = agent.ask("list_events", "events[].starts", "events[].title", day=p["day"])["events"]
        later = [event for event in events if event["starts"][11:] >= "12:00"]
        return f"{later[0]['starts'][11:]} {later[0]['title']}" if later else "none"

    def truth(world: World, p: Params) -> Any:
        sql = (
            "SELECT SUBSTR(starts, 12) || ' ' || title AS a FROM events WHERE starts >= ? AND starts < ?"
            " ORDER BY starts, event_id"
        )
        rows = world.rows(sql, f"{p['day']}T12:00", f"{p['day']}T24")
        return rows[0]["a"] if rows else "none"

    return Template(
        "afternoon", "calendar", _a_day,
        lambda p: f"What is the first event of {p['day']} from 12:00 on? Answer 'HH:MM TITLE', or 'none'.",
        solve, truth, nothing,
    )  # fmt: skip


def _minutes(event: Mapping[str, Any]) -> int:
    spent = datetime.fromisoformat(event["ends"]) - datetime.fromisoformat(event["starts"])
    return int(spent.total_seconds() // 60)


def busy_minutes() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        return sum(map(_minutes, agent.ask("list_events", "events[].starts", "events[].ends", day=p["day"])["events"]))

    def truth(world: World, p: Params) -> Any:
        sql = "SELECT SUM((JULIANDAY(ends) - JULIANDAY(starts)) * 1440) FROM events WHERE starts LIKE ?"
        return round(first(world, sql, f"{p['day']}%") or 0)

    return Template(
        "busy_minutes", "calendar", _a_day,
        lambda p: f"How many minutes do the events of {p['day']} take in all?",
        solve, truth, nothing,
    )  # fmt: skip


def free_hour() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        events = agent.ask("list_events", "events[].starts", "events[].ends", day=p["day"])["events"]
        for hour in range(8, 20):
            starts, ends = f"{p['day']}T{hour:02d}:00", f"{p['day']}T{hour + 1:02d}:00"
            if all(event["ends"] <= starts or event["starts"] >= ends for event in events):
                agent.ask("add_event", title=p["title"], starts=starts, ends=ends, room=p["room"])
                return starts[11:]
        raise FailedError("there is no free hour")

    def truth(world: World, p: Params) -> Any:
        taken = set()
        for row in world.rows("SELECT starts, ends FROM events WHERE starts LIKE ?", f"{p['day']}%"):
            begin, end = (datetime.fromisoformat(row[side]) for side in ("starts", "ends"))
            taken |= {(begin + timedelta(minutes=at)).hour for at in range(int((end - begin).total_seconds() / 60))}
        return f"{min(set(range(8, 20)) - taken):02d}:00"

    def changes(world: World, p: Params) -> Changes:
        number, hour = first(world, "SELECT MAX(event_id) + 1 FROM events"), truth(world, p)
        made = {"title": p["title"], "starts": f"{p['day']}T{hour}", "ends": f"{p['day']}T{int(hour[:2]) + 1:02d}:00",
                "room": p["room"]}  # fmt: skip
        return {f"events/{number}/{column}": value for column, value in made.items()}

    def draw(world: World, rng: Random) -> Params | None:
        return {**(_a_day(world, rng) or {}), "title": rng.choice(("Review", "Planning", "Training")), "room": "Birch"}

    return Template(
        "free_hour", "calendar", draw,
        lambda p: f"Put '{p['title']}' in room {p['room']} into the first free full hour of {p['day']} from 08:00 on; "
        "answer with its start, 'HH:MM'.",
        solve, truth, changes,
    )  # fmt: skip


def postpone() -> Template:
    def moved(event: Mapping[str, Any], minutes: int) -> dict[str, str]:
        return {
            side: f"{datetime.fromisoformat(event[side]) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"
            for side in ("starts", "ends")
        }

    def solve(agent: Agent, p: Params) -> Any:
        event = agent.ask("get_event", "starts", "ends", event_id=p["event_id"])
        later = moved(event, p["minutes"])
        agent.ask("move_event", event_id=p["event_id"], **later)
        return later["starts"]

    def event_of(world: World, p: Params) -> Mapping[str, Any]:
        return world.rows("SELECT starts, ends FROM events WHERE event_id = ?", p["event_id"])[0]

    def draw(world: World, rng: Random) -> Params | None:
        event = rng.choice(world.rows("SELECT event_id FROM events WHERE starts > ?", world.today))
        return {**event, "minutes": rng.choice((30, 60, 90))}

    return Template(
        "postpone", "calendar", draw,
        lambda p: f"Put event {p['event_id']} off by {p['minutes']} minutes; answer with its new start.",
        solve,
        lambda world, p: moved(event_of(world, p), p["minutes"])["starts"],
        lambda world, p: {
            f"events/{p['event_id']}/{side}": value for side, value in moved(event_of(world, p), p["minutes"]).items()
        },
    )  # fmt: skip


# --- Behind HTTP ---


def convert() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        price = agent.ask("get_product", "price", sku=p["sku"])["price"]
        return round(price * agent.ask("get_rate", "rate", currency=p["currency"])["rate"], 2)

    def truth(world: World, p: Params) -> Any:
        price = first(world, "SELECT price FROM products WHERE sku = ?", p["sku"])
        return round(price * first(world, "SELECT rate FROM rates WHERE currency = ?", p["currency"]), 2)

    def draw(world: World, rng: Random) -> Params | None:
        sku = rng.choice(world.rows("SELECT sku FROM products ORDER BY sku"))["sku"]
        return {"sku": sku, "currency": rng.choice(CURRENCIES)}

    return Template(
        "convert", "http", draw,
        lambda p: f"What does {p['sku']} cost in {p['currency']}, at today's rate?",
        solve, truth, nothing,
    )  # fmt: skip


def portfolio() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        held = p["shares"].items()
        return round(sum(agent.ask("get_quote", "price", ticker=ticker)["price"] * n for ticker, n in held), 2)

    def truth(world: World, p: Params) -> Any:
        prices = {row["ticker"]: row["price"] for row in world.rows("SELECT * FROM quotes")}
        return round(sum(prices[ticker] * n for ticker, n in p["shares"].items()), 2)

    def draw(world: World, rng: Random) -> Params | None:
        return {"shares": {ticker: rng.randint(5, 40) for ticker in sorted(rng.sample(TICKERS, 3))}}

    return Template(
        "portfolio", "http", draw,
        lambda p: f"What are these shares worth in dollars: {p['shares']}?",
        solve, truth, nothing,
    )  # fmt: skip


def warmest() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        return max(p["cities"], key=lambda city: agent.ask("get_weather", "temperature_c", city=city)["temperature_c"])

    def truth(world: World, p: Params) -> Any:
        marks = ", ".join("?" * len(p["cities"]))
        sql = f"SELECT city FROM weather WHERE city IN ({marks}) ORDER BY temperature_c DESC LIMIT 1"  # noqa: S608
        return first(world, sql, *p["cities"])

    return Template(
        "warmest", "http",
        lambda world, rng: {"cities": sorted(rng.sample(CITIES, 3))},
        lambda p: f"Which of these cities is the warmest now: {', '.join(p['cities'])}?",
        solve, truth, nothing,
    )  # fmt: skip


def oldest_ticket() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        tickets = agent.ask("list_tickets", "tickets[].opened_on", "tickets[].ticket_id", "tickets[].priority",
                            status="open")["tickets"]  # fmt: skip
        some = [ticket for ticket in tickets if ticket["priority"] == p["priority"]]
        oldest = min(some, key=lambda ticket: (ticket["opened_on"], ticket["ticket_id"]))
        return agent.ask("get_ticket", "subject", ticket_id=oldest["ticket_id"])["subject"]

    return Template(
        "oldest_ticket", "http",
        draw_from("SELECT DISTINCT priority FROM tickets WHERE status = 'open' ORDER BY priority"),
        lambda p: f"What is the subject of the oldest open ticket of priority {p['priority']}?",
        solve,
        lambda world, p: first(
            world,
            "SELECT subject FROM tickets WHERE status = 'open' AND priority = ? ORDER BY opened_on, ticket_id LIMIT 1",
            p["priority"],
        ),
        nothing,
    )  # fmt: skip


def complain_late() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        order = agent.ask("get_order", "due_on", "status", "customer_id", order_id=p["order_id"])
        if order["status"] == "delivered" or order["due_on"] >= p["day"]:
            return "in time"
        subject = f"order {p['order_id']} is late"
        agent.ask("open_ticket", customer_id=order["customer_id"], subject=subject, priority="high")
        return "late"

    def truth(world: World, p: Params) -> Any:
        sql = "SELECT COUNT(*) FROM orders WHERE order_id = ? AND status <> 'delivered' AND due_on < ?"
        return "late" if first(world, sql, p["order_id"], p["day"]) else "in time"

    def changes(world: World, p: Params) -> Changes:
        if truth(world, p) == "in time":
            return {}
        number = first(world, "SELECT MAX(ticket_id) + 1 FROM tickets")
        made = {"customer_id": first(world, "SELECT customer_id FROM orders WHERE order_id = ?", p["order_id"]),
                "subject": f"order {p['order_id']} is late", "priority": "high", "status": "open"}  # fmt: skip
        return {f"tickets/{number}/{column}": value for column, value in made.items()}

    def draw(world: World, rng: Random) -> Params | None:
        some = world.rows("SELECT order_id, due_on FROM orders WHERE status <> 'delivered' ORDER BY order_id")
        order = rng.choice(some)
        day = date.fromisoformat(order["due_on"]) + timedelta(days=rng.choice((-1, 1, 2, 3)))
        return {"order_id": order["order_id"], "day": str(day)}

    return Template(
        "complain_late", "http", draw,
        lambda p: f"Today is {p['day']}. If order {p['order_id']} is past due and not delivered, open a ticket for its "
        f"customer, subject 'order {p['order_id']} is late', priority high. Answer 'late' or 'in time'.",
        solve, truth, changes,
    )  # fmt: skip


def close_all() -> Template:
    def solve(agent: Agent, p: Params) -> Any:
        tickets = agent.ask("list_tickets", "tickets[].subject", "tickets[].ticket_id", status="open")["tickets"]
        some = [ticket["ticket_id"] for ticket in tickets if ticket["subject"] == p["subject"]]
        for number in some:
            agent.ask("close_ticket", ticket_id=number)
        return len(some)

    def ids(world: World, p: Params) -> Sequence[int]:
        sql = "SELECT ticket_id FROM tickets WHERE status = 'open' AND subject = ?"
        return [row["ticket_id"] for row in world.rows(sql, p["subject"])]

    return Template(
        "close_all", "http",
        draw_from("SELECT DISTINCT subject FROM tickets WHERE status = 'open' ORDER BY subject"),
        lambda p: f"Close all open tickets with the subject '{p['subject']}'; answer with their number.",
        solve,
        lambda world, p: len(ids(world, p)),
        lambda world, p: {f"tickets/{number}/status": "closed" for number in ids(world, p)},
    )  # fmt: skip


TEMPLATES: Mapping[str, Template] = {template.name: template for template in (
    order_total(), order_due(), order_units(), customer_spend(), under_way(), cheapest(), stock_value(), raise_price(),
    restock(), place_order(), pack_order(), month_total(), latest_report(), summary(), note_setting(), unpaid_sales(),
    best_sale(), archive(), afternoon(), busy_minutes(), free_hour(), postpone(), convert(), portfolio(), warmest(),
    oldest_ticket(), complain_late(), close_all(),
)}  # fmt: skip


def tasks(world: World, seed: int, each: int, names: Sequence[str] = tuple(TEMPLATES)) -> list[Task]:
    """So many tasks of each template, drawn for this company; all different where the company has enough."""
    made = []
    for name in names:
        rng = Random(f"tasks {name} {seed}")
        drawn = [params for _ in range(10 * each) if (params := TEMPLATES[name].draw(world, rng)) is not None]
        distinct = list({json.dumps(params): params for params in drawn}.values())
        made += [Task(name, number, params) for number, params in enumerate((distinct + drawn)[:each])]
    return made
