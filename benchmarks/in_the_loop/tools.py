"""The company's tools as their user declares them: what they take and answer, which of them write, and who can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .world import PRIORITIES, STATUSES, TIERS

__all__ = ["TOOLS", "Tool"]

NUMBER, AMOUNT, WHOLE, COUNT, TEXT, YES = (
    {"type": "number"}, {"type": "number", "minimum": 0}, {"type": "integer"}, {"type": "integer", "minimum": 0},
    {"type": "string"}, {"type": "boolean"},
)  # fmt: skip


class Tool(NamedTuple):
    """One tool.

    Attributes:
        name, description: for a model.
        parameters: JSON Schema of the arguments.
        output_schema: JSON Schema of the result.
        usual_ms: the median of its execution time, as guards are told it.
        writes: it changes the company.
        echoes: argument to the field of the result that repeats it.
        confirm: the read-back of a write, as in a profile.
        against: the second source of a read, as in a profile.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    usual_ms: float
    writes: bool = False
    echoes: Mapping[str, str] = {}
    confirm: Mapping[str, Any] | None = None
    against: Mapping[str, Any] | None = None

    @property
    def repeatable(self) -> bool:
        """A second call does no harm."""
        return not self.writes or self.name in SET_TO_A_VALUE

    @property
    def remote(self) -> bool:
        """It is asked over HTTP."""
        return self.usual_ms >= REMOTE_MS

    @property
    def required(self) -> Sequence[str]:
        """The fields that every result has."""
        fields: Sequence[str] = self.output_schema.get("required", ())
        return fields


#: Writes that set a value: made twice they leave what they leave made once.
SET_TO_A_VALUE = ("set_price", "set_status", "write_file", "move_event", "close_ticket")
LOCAL_MS, FILE_MS, SHELL_MS, REMOTE_MS = 6.0, 2.0, 15.0, 60.0


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**fields)}


def _one_of(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


STATUS, PRIORITY, STATE = _one_of(STATUSES), _one_of(PRIORITIES), _one_of(("open", "closed"))
TICKET = {"ticket_id": COUNT, "customer_id": COUNT, "subject": TEXT, "priority": PRIORITY, "opened_on": TEXT}
EVENT = {"event_id": COUNT, "title": TEXT, "starts": TEXT, "ends": TEXT, "room": TEXT, "confirmed": YES}

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (
    # The shop.
    Tool(
        "find_customer", "Find a customer of the shop by e-mail address.", _object(email=TEXT),
        _object(customer_id=COUNT, name=TEXT, email=TEXT, city=TEXT, tier=_one_of(TIERS), member_since=TEXT,
                newsletter=YES),
        LOCAL_MS, echoes=_same("email"),
    ),
    Tool(
        "get_order", "Look up one order with its items.", _object(order_id=WHOLE),
        _object(order_id=COUNT, customer_id=COUNT, status=STATUS, total=AMOUNT, placed_on=TEXT, due_on=TEXT, gift=YES,
                currency=TEXT, items=_list(sku=TEXT, name=TEXT, quantity=COUNT, unit_price=AMOUNT)),
        LOCAL_MS, echoes=_same("order_id"),
    ),
    Tool(
        "list_orders", "List the orders of a customer.", _object(customer_id=WHOLE),
        _object(customer_id=COUNT, currency=TEXT,
                orders=_list(order_id=COUNT, status=STATUS, total=AMOUNT, placed_on=TEXT)),
        LOCAL_MS, echoes=_same("customer_id"),
    ),
    Tool(
        "get_product", "Look up one product: price in euros and stock.", _object(sku=TEXT),
        _object(sku=TEXT, name=TEXT, category=TEXT, price=AMOUNT, stock=COUNT, updated_on=TEXT, currency=TEXT,
                on_sale=YES),
        LOCAL_MS, echoes=_same("sku"),
        against={"tool": "warehouse_item", "args": {"item": "$.args.sku"},
                 "fields": {"stock": "units", "price": "list_price"}},
    ),
    Tool(
        "search_products", "List the products of a category.", _object(category=TEXT),
        _object(category=TEXT, currency=TEXT, products=_list(sku=TEXT, name=TEXT, price=AMOUNT, stock=COUNT),
                count=COUNT),
        LOCAL_MS, echoes=_same("category"),
    ),
    Tool(
        "create_order", "Place an order for one product.", _object(customer_id=WHOLE, sku=TEXT, quantity=WHOLE),
        _object(order_id=COUNT, customer_id=COUNT, status=STATUS, total=AMOUNT, currency=TEXT, due_on=TEXT),
        LOCAL_MS, writes=True, echoes=_same("customer_id"),
        confirm={"tool": "get_order", "args": {"order_id": "$.result.order_id"}, "expect": {
            "customer_id": "$.args.customer_id", "items[].sku": "$.args.sku", "items[].quantity": "$.args.quantity",
            "total": "$.result.total"}},
    ),
    Tool(
        "set_price", "Set the price of a product, in euros.", _object(sku=TEXT, price=NUMBER),
        _object(sku=TEXT, price=AMOUNT, currency=TEXT, updated_on=TEXT),
        LOCAL_MS, writes=True, echoes=_same("sku", "price"),
        confirm={"tool": "get_product", "args": {"sku": "$.args.sku"}, "expect": {"price": "$.args.price"}},
    ),
    Tool(
        "set_status", f"Set the status of an order: {', '.join(STATUSES)}.", _object(order_id=WHOLE, status=TEXT),
        _object(order_id=COUNT, status=STATUS, previous_status=STATUS, updated_on=TEXT),
        LOCAL_MS, writes=True, echoes=_same("order_id", "status"),
        confirm={"tool": "get_order", "args": {"order_id": "$.args.order_id"}, "expect": {"status": "$.args.status"}},
    ),
    Tool(
        "add_stock", "Add units to the stock of a product.", _object(sku=TEXT, quantity=WHOLE),
        _object(sku=TEXT, added=WHOLE, stock=COUNT, updated_on=TEXT),
        LOCAL_MS, writes=True, echoes={"sku": "sku", "quantity": "added"},
        confirm={"tool": "get_product", "args": {"sku": "$.args.sku"}, "expect": {"stock": "$.result.stock"}},
    ),
    # Files.
    Tool(
        "list_files", "List the files of a folder.", _object(folder=TEXT),
        _object(folder=TEXT, files=_list(name=TEXT, bytes=COUNT), count=COUNT), FILE_MS, echoes=_same("folder"),
    ),
    Tool("read_file", "Read a file.", _object(path=TEXT), TEXT, FILE_MS),
    Tool(
        "write_file", "Write a file, in place of what it held.", _object(path=TEXT, content=TEXT),
        _object(path=TEXT, bytes=COUNT, lines=COUNT), FILE_MS, writes=True, echoes=_same("path"),
        confirm={"tool": "read_file", "args": {"path": "$.args.path"}, "expect": {"content": "$.args.content"}},
    ),
    Tool(
        "append_line", "Append a line to a file.", _object(path=TEXT, line=TEXT),
        _object(path=TEXT, line=TEXT, lines=COUNT), FILE_MS, writes=True, echoes=_same("path", "line"),
        confirm={"tool": "read_file", "args": {"path": "$.args.path"}, "expect": {"line": "$.args.line"}},
    ),
    # The calendar.
    Tool(
        "list_events", "List the events of a day (YYYY-MM-DD).", _object(day=TEXT),
        _object(day=TEXT, events=_list(**EVENT)), LOCAL_MS, echoes=_same("day"),
    ),
    Tool(
        "get_event", "Look up one event.", _object(event_id=WHOLE), _object(**EVENT, time_zone=TEXT),
        LOCAL_MS, echoes=_same("event_id"),
    ),
    Tool(
        "add_event", "Add an event; times are YYYY-MM-DDTHH:MM.",
        _object(title=TEXT, starts=TEXT, ends=TEXT, room=TEXT),
        _object(**EVENT), LOCAL_MS, writes=True, echoes=_same("title", "starts", "ends", "room"),
        confirm={"tool": "get_event", "args": {"event_id": "$.result.event_id"}, "expect": {
            "title": "$.args.title", "starts": "$.args.starts", "ends": "$.args.ends", "room": "$.args.room"}},
    ),
    Tool(
        "move_event", "Move an event to another time.", _object(event_id=WHOLE, starts=TEXT, ends=TEXT),
        _object(event_id=COUNT, title=TEXT, starts=TEXT, ends=TEXT),
        LOCAL_MS, writes=True, echoes=_same("event_id", "starts", "ends"),
        confirm={"tool": "get_event", "args": {"event_id": "$.args.event_id"}, "expect": {
            "starts": "$.args.starts", "ends": "$.args.ends"}},
    ),
    # The shell.
    Tool("run_command", "Run a shell command in the folder of files.", _object(command=TEXT), TEXT, SHELL_MS),
    # Behind HTTP.
    Tool(
        "get_rate", "Units of a currency for one euro.", _object(currency=TEXT),
        _object(base=TEXT, currency=TEXT, rate=AMOUNT, as_of=TEXT), REMOTE_MS, echoes=_same("currency"),
        against={"tool": "bank_rate", "args": {"code": "$.args.currency"}, "fields": {"rate": "value"}},
    ),
    Tool(
        "bank_rate", "Units of a currency for one euro, as the bank has it.", _object(code=TEXT),
        _object(code=TEXT, against=TEXT, value=AMOUNT, source=TEXT), REMOTE_MS, echoes=_same("code"),
    ),
    Tool(
        "get_quote", "Price of a share in dollars.", _object(ticker=TEXT),
        _object(ticker=TEXT, price=AMOUNT, volume=COUNT, currency=TEXT, as_of=TEXT), REMOTE_MS, echoes=_same("ticker"),
    ),
    Tool(
        "get_weather", "The weather in a city.", _object(city=TEXT),
        _object(city=TEXT, temperature_c=NUMBER, wind_kmh=AMOUNT, rain_mm=AMOUNT, unit=TEXT, observed_at=TEXT),
        REMOTE_MS, echoes=_same("city"),
    ),
    Tool(
        "list_tickets", "List the tickets that are open or closed.", _object(status=TEXT),
        _object(status=STATE, tickets=_list(**TICKET)), REMOTE_MS, echoes=_same("status"),
    ),
    Tool(
        "get_ticket", "Look up one ticket.", _object(ticket_id=WHOLE), _object(**TICKET, status=STATE, channel=TEXT),
        REMOTE_MS, echoes=_same("ticket_id"),
    ),
    Tool(
        "open_ticket", f"Open a ticket; priorities are {', '.join(PRIORITIES)}.",
        _object(customer_id=WHOLE, subject=TEXT, priority=TEXT),
        _object(ticket_id=COUNT, status=STATE, priority=PRIORITY, opened_on=TEXT),
        REMOTE_MS, writes=True, echoes=_same("priority"),
        confirm={"tool": "get_ticket", "args": {"ticket_id": "$.result.ticket_id"}, "expect": {
            "customer_id": "$.args.customer_id", "subject": "$.args.subject", "priority": "$.args.priority"}},
    ),
    Tool(
        "close_ticket", "Close a ticket.", _object(ticket_id=WHOLE),
        _object(ticket_id=COUNT, status=STATE, updated_on=TEXT), REMOTE_MS, writes=True, echoes=_same("ticket_id"),
        confirm={"tool": "get_ticket", "args": {"ticket_id": "$.args.ticket_id"}, "expect": {"status": "closed"}},
    ),
    Tool(
        "warehouse_item", "What the warehouse has of an item.", _object(item=TEXT),
        _object(item=TEXT, units=COUNT, list_price=AMOUNT, shelf=TEXT), REMOTE_MS, echoes=_same("item"),
    ),
)}  # fmt: skip
