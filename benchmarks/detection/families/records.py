"""Tools that answer with one record: by id, by stock number, from a cache, with siblings, nested, with a state."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..calls import Agent, Call, network, often_the_first
from ..words import CITIES, COMPANIES, COUNTRIES, NOUNS, email, person

__all__ = ["caches", "enumerations", "nested", "prices", "records", "siblings"]


def records(rng: random.Random) -> Iterator[Call]:
    """Customers by id, of whom most are asked for once; a visit is noted now and then."""
    agent = Agent(rng)
    customers: dict[int, dict[str, Any]] = {}
    numbers = rng.sample(range(10_000, 99_999), 3_000)
    while True:
        session = agent.turn()
        number = often_the_first(rng, numbers)
        if number not in customers:
            name, city = person(rng), rng.randrange(len(CITIES))
            customers[number] = {
                "customer_id": number, "name": name, "email": email(rng, name),
                "phone": f"+{rng.randrange(30, 60)} {rng.randrange(10**8, 10**9)}" if rng.random() < 0.7 else None,
                "address": {"street": f"{rng.choice(NOUNS).capitalize()} Street {rng.randrange(1, 200)}",
                            "city": CITIES[city], "country": COUNTRIES[city % len(COUNTRIES)]},
                "tier": rng.choices(("basic", "silver", "gold"), (70, 25, 5))[0],
                "orders": int(rng.expovariate(0.15)),
                "since": f"{rng.randrange(2010, 2025)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
            }  # fmt: skip
        elif rng.random() < 0.1:
            customers[number]["orders"] += 1
        yield Call("get_customer", {"customer_id": number}, _copy(customers[number]), network(rng, 55), session)


def siblings(rng: random.Random) -> Iterator[Call]:
    """Suppliers, clients and partners: three tools, one schema, ids from one range."""
    agent = Agent(rng)
    numbers = rng.sample(range(1_000, 9_999), 600)
    kinds = {"get_supplier": 9.0, "get_client": 8.0, "get_partner": 8.6}
    books: dict[tuple[str, int], dict[str, Any]] = {}
    while True:
        session = agent.turn()
        tool, number = rng.choice(list(kinds)), often_the_first(rng, numbers)
        if (tool, number) not in books:
            name = rng.choice(COMPANIES)
            books[tool, number] = {
                "id": number, "name": name, "contact": person(rng), "city": rng.choice(CITIES),
                "email": f"office{rng.randrange(99)}@{name.split()[0].lower()}.example",
                "credit_limit": round(rng.lognormvariate(kinds[tool], 0.8), -2), "active": rng.random() < 0.9,
                "created": f"{rng.randrange(2008, 2025)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
            }  # fmt: skip
        yield Call(tool, {"id": number}, _copy(books[tool, number]), network(rng, 70), session)


def prices(rng: random.Random) -> Iterator[Call]:
    """Products of a shop by stock number: prices move weekly, stock moves daily, some are on offer."""
    agent = Agent(rng)
    shelf: dict[str, dict[str, Any]] = {}
    numbers = [f"{rng.choice('KLMPQ')}{rng.randrange(100, 999)}-{rng.randrange(10, 99)}" for _ in range(350)]
    while True:
        session = agent.turn()
        sku = often_the_first(rng, numbers)
        product = shelf.setdefault(sku, {
            "sku": sku, "title": f"{rng.choice(('Solid', 'Light', 'Classic', 'Compact'))} {rng.choice(NOUNS)}",
            "price": round(rng.lognormvariate(3.3, 0.9), 2), "currency": "EUR", "in_stock": True, "stock": 60,
            "rating": round(rng.triangular(2.5, 5.0, 4.4), 1), "reviews": int(rng.paretovariate(0.9)),
        })  # fmt: skip
        product["stock"] = max(0, product["stock"] - int(rng.expovariate(0.2))) or rng.choice((0, 0, 120))
        product["in_stock"] = product["stock"] > 0
        product["reviews"] += rng.random() < 0.2
        if rng.random() < 0.05:
            product["price"] = round(product["price"] * rng.uniform(0.85, 1.2), 2)
        result = dict(product)
        if rng.random() < 0.12:
            result |= {"was": product["price"], "price": round(product["price"] * rng.choice((0.9, 0.8, 0.7)), 2)}
        yield Call("get_product", {"sku": sku}, result, network(rng, 130, 0.45), session)


def caches(rng: random.Random) -> Iterator[Call]:
    """Host names resolved behind a cache: a hit takes under two milliseconds, a miss a hundred."""
    agent = Agent(rng)
    hosts = [
        f"{rng.choice(('www', 'api', 'cdn', 'mail', 'img'))}.{noun}{n}.example" for noun in NOUNS for n in range(20)
    ]
    rng.shuffle(hosts)
    zone: dict[str, list[str]] = {}
    until: dict[str, datetime] = {}
    while True:
        session = agent.turn()
        host = often_the_first(rng, hosts)
        left = (until[host] - agent.now).total_seconds() if host in until else 0.0
        hit = left > 0
        if not hit:
            left = rng.choice((300, 3_600, 3_600, 86_400))
            until[host] = datetime.fromtimestamp(agent.now.timestamp() + left, agent.now.tzinfo)
            if host not in zone or rng.random() < 0.1:
                zone[host] = [
                    ".".join(str(rng.randrange(1, 255)) for _ in range(4)) for _ in range(rng.choice((1, 1, 2, 4)))
                ]
        result = {"host": host, "addresses": list(zone[host]), "ttl": int(left), "cached": hit}
        ms = round(rng.lognormvariate(-0.7, 0.4), 3) if hit else network(rng, 90, 0.5)
        yield Call("resolve_host", {"host": host}, result, ms, session)


def enumerations(rng: random.Random) -> Iterator[Call]:
    """Parcels under way: a handful of states, three common and three rare, each parcel asked for again and again."""
    agent = Agent(rng)
    onward = {"created": "in_transit", "in_transit": "out_for_delivery", "out_for_delivery": "delivered"}
    parcels: dict[str, dict[str, Any]] = {}
    while True:
        session = agent.turn()
        if len(parcels) < 10 or rng.random() < 0.15:
            number = f"{rng.choice(('RX', 'LV'))}{rng.randrange(10**8, 10**9)}DE"
            parcels[number] = {
                "number": number,
                "status": "created",
                "place": rng.choice(CITIES),
                "updated_at": agent.stamp,
                "signed_by": None,
            }
        number = rng.choice(list(parcels)[-40:])
        parcel = parcels[number]
        if rng.random() < 0.3 and parcel["status"] in onward:
            parcel |= {"status": onward[parcel["status"]], "place": rng.choice(CITIES), "updated_at": agent.stamp}
            if rng.random() < 0.04:
                parcel["status"] = rng.choice(("held_by_customs", "address_unknown", "returned"))
            if parcel["status"] == "delivered" and rng.random() < 0.6:
                parcel["signed_by"] = person(rng)
        yield Call("track_parcel", {"number": number}, dict(parcel), network(rng, 210), session)


def nested(rng: random.Random) -> Iterator[Call]:
    """Workloads of a cluster: objects in objects, parts that are there only in some states."""
    agent = Agent(rng)
    names = [f"{noun}-{rng.getrandbits(20):05x}" for noun in NOUNS[:12] for _ in range(3)]
    started = {
        name: (agent.ago(hours=rng.uniform(1, 400)), f"10.0.{rng.randrange(8)}.{rng.randrange(2, 254)}")
        for name in names
    }
    restarts, phases = dict.fromkeys(names, 0), dict.fromkeys(names, "Running")
    node = {name: f"node-{rng.randrange(1, 9)}" for name in names}
    while True:
        session = agent.turn()
        name = often_the_first(rng, names)
        if rng.random() < (0.05 if phases[name] == "Running" else 0.6):
            phases[name] = rng.choice(("Pending", "CrashLoop")) if phases[name] == "Running" else "Running"
            started[name] = agent.stamp, f"10.0.{rng.randrange(8)}.{rng.randrange(2, 254)}"
        phase = phases[name]
        restarts[name] += phase == "CrashLoop"
        state: dict[str, Any] = {"running": {"started_at": started[name][0]}}
        if phase != "Running":
            state = {"waiting": {"reason": "ImagePull" if phase == "Pending" else "BackOff", "message": None}}
        app = name.split("-")[0]
        containers = [
            {"name": part, "image": f"registry.example/{app}/{part}:1.{len(app)}", "ready": phase == "Running",
             "restarts": restarts[name], "state": state}
            for part in ("app", "proxy")[: 1 + len(app) % 2]
        ]  # fmt: skip
        result: dict[str, Any] = {
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": app, "tier": "web"}},
            "spec": {"node": node[name], "resources": {"cpu_m": 250, "memory_mi": 512}},
            "status": {"phase": phase, "ip": started[name][1], "containers": containers},
        }  # fmt: skip
        if phase == "Pending":
            result["status"].pop("ip")
        yield Call("describe_workload", {"name": name, "namespace": "shop"}, result, network(rng, 40, 0.5), session)


def _copy(record: dict[str, Any]) -> dict[str, Any]:
    return {key: dict(value) if isinstance(value, dict) else value for key, value in record.items()}
