"""Tools that answer with numbers: counters, random walks, heavy tails, sums, single values, the rhythm of a day."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta

from ..calls import Agent, Call, network, often_the_first
from ..words import COUNTRIES

__all__ = ["calculations", "counters", "diurnal_latency", "heavy_tails", "random_walks", "scalars"]


def counters(rng: random.Random) -> Iterator[Call]:
    """Metrics of eight servers: totals that only grow, until a restart."""
    agent = Agent(rng)
    rates = {f"web-{n}.{rng.choice(('eu', 'us'))}.internal": rng.lognormvariate(2.5, 1.0) for n in range(1, 9)}
    totals = {host: (rng.randrange(10**6), rng.randrange(900)) for host in rates}
    asked = dict.fromkeys(rates, agent.now)
    since = {host: agent.now - timedelta(hours=rng.uniform(5, 900)) for host in rates}
    while True:
        session = agent.turn()
        host = often_the_first(rng, list(rates))
        requests, errors = totals[host]
        elapsed = (agent.now - asked[host]).total_seconds()
        if rng.random() < 0.004:
            requests, errors, since[host] = 0, 0, agent.now
        else:
            requests += int(elapsed * rates[host] * rng.uniform(0.6, 1.5))
            errors += int(elapsed * rates[host] * rng.choice((0.0, 0.0, 0.001, 0.004)))
        totals[host], asked[host] = (requests, errors), agent.now
        uptime = int((agent.now - since[host]).total_seconds())
        result = {
            "host": host, "requests_total": requests, "errors_total": errors, "bytes_sent": requests * 1_813 + errors,
            "uptime_s": uptime, "load": [round(rng.lognormvariate(-0.5, 0.4), 2) for _ in range(3)],
        }  # fmt: skip
        yield Call("get_metrics", {"host": host}, result, network(rng, 18, 0.3), session)


def random_walks(rng: random.Random) -> Iterator[Call]:
    """Stock quotes: each price walks on from where it was, more after a night."""
    agent = Agent(rng)
    symbols = ["".join(rng.choices("ABCDEFGHKLMNPRSTUVWX", k=rng.choice((3, 4)))) for _ in range(12)]
    price = {symbol: rng.lognormvariate(4.0, 1.0) for symbol in symbols}
    seen = dict.fromkeys(symbols, agent.now)
    opened, volume = dict(price), dict.fromkeys(symbols, 0)
    while True:
        session = agent.turn()
        symbol = often_the_first(rng, symbols)
        elapsed = (agent.now - seen[symbol]).total_seconds()
        if agent.now.date() != seen[symbol].date():
            opened[symbol], volume[symbol] = price[symbol], 0
        price[symbol] *= math.exp(rng.gauss(0.0, 0.02 * math.sqrt(elapsed / 86_400)))
        volume[symbol] += int(elapsed * rng.lognormvariate(3.0, 0.5))
        seen[symbol] = agent.now
        spread = price[symbol] * rng.uniform(0.0002, 0.0012)
        result = {
            "symbol": symbol, "price": round(price[symbol], 2), "bid": round(price[symbol] - spread, 2),
            "ask": round(price[symbol] + spread, 2),
            "change_percent": round(100 * (price[symbol] / opened[symbol] - 1), 2), "volume": volume[symbol],
            "as_of": agent.stamp,
        }  # fmt: skip
        yield Call("get_quote", {"symbol": symbol}, result, network(rng, 95), session)


def heavy_tails(rng: random.Random) -> Iterator[Call]:
    """Bank transfers, each asked for once or twice: amounts over six decades, times with a long tail too."""
    agent = Agent(rng)
    known: list[dict[str, object]] = []
    while True:
        session = agent.turn()
        if known and rng.random() < 0.15:
            result = rng.choice(known[-200:])
        else:
            amount = round(5.0 * rng.paretovariate(0.8), 2)
            result = {
                "transfer_id": f"TR{rng.randrange(10**9, 10**10)}", "amount": amount,
                "currency": rng.choice(("EUR", "EUR", "EUR", "USD", "GBP", "SEK")),
                "fee": round(max(0.35, amount * 0.004), 2), "country": rng.choice(COUNTRIES),
                "state": rng.choices(("settled", "pending", "returned"), (90, 9, 1))[0],
                "booked_at": agent.ago(days=rng.expovariate(0.2)),
            }  # fmt: skip
            if rng.random() < 0.3:
                result["memo"] = f"invoice {rng.randrange(100, 9_999)}"
            known.append(result)
        ms = round(40.0 * rng.paretovariate(1.6), 2)
        yield Call("get_transfer", {"transfer_id": result["transfer_id"]}, dict(result), ms, session)


def diurnal_latency(rng: random.Random) -> Iterator[Call]:
    """Traffic reports: the roads fill and the service slows down in the morning and in the afternoon."""
    agent = Agent(rng)
    roads = {f"A{rng.randrange(1, 99)}": rng.uniform(0.5, 2.0) for _ in range(15)}
    incidents: dict[str, list[dict[str, object]]] = {road: [] for road in roads}
    while True:
        session = agent.turn()
        road = often_the_first(rng, list(roads))
        rush = math.exp(-(((agent.hour - 8) / 1.8) ** 2)) + math.exp(-(((agent.hour - 17) / 2.2) ** 2))
        if rng.random() < 0.3:
            incidents[road] = [
                {"km": round(rng.uniform(1, 220), 1), "kind": rng.choice(("accident", "roadworks", "object"))}
                for _ in range(rng.choices((0, 1, 2, 3), (70, 20, 7, 3))[0])
            ]
        flow = int(roads[road] * (150 + 1_900 * rush) * rng.lognormvariate(0.0, 0.15))
        speed = round(max(8.0, 118 - 0.03 * flow + rng.gauss(0, 4)), 1)
        result = {
            "road": road, "vehicles_per_hour": flow, "average_speed_kmh": speed,
            "level": "free" if speed > 95 else "dense" if speed > 55 else "jam",
            "incidents": [dict(incident) for incident in incidents[road]], "measured_at": agent.stamp,
        }  # fmt: skip
        yield Call("traffic_report", {"road": road}, result, network(rng, 120 * (1 + 4 * rush), 0.25), session)


def calculations(rng: random.Random) -> Iterator[Call]:
    """Sums on this machine and currency conversion over the network: the arguments decide the answer."""
    agent = Agent(rng)
    rates = {"EUR": 1.0, "USD": 1.08, "GBP": 0.85, "JPY": 163.0, "SEK": 11.3, "PEN": 4.05, "KES": 140.0}
    while True:
        session = agent.turn()
        for code in list(rates)[1:]:
            rates[code] *= math.exp(rng.gauss(0.0, 0.0004))
        if rng.random() < 0.45:
            left, right = rng.randrange(1, 4_000), rng.choice((rng.randrange(1, 60), round(rng.uniform(0.1, 9), 2)))
            sign, value = rng.choice((("+", left + right), ("*", left * right), ("/", left / right)))
            result: object = round(value, 6)
            yield Call("calculate", {"expression": f"{left} {sign} {right}"}, result, rng.uniform(0.05, 0.6), session)
            continue
        source, target = rng.sample(list(rates), 2)
        amount = rng.choice((1, 10, 50, 100, 250, 1_000, round(rng.lognormvariate(4, 1.2), 2)))
        rate = round(rates[target] / rates[source], 5)
        args = {"amount": amount, "from": source, "to": target}
        result = {**args, "rate": rate, "result": round(amount * rate, 2), "date": agent.stamp[:10]}
        yield Call("convert_currency", args, result, network(rng, 65), session)


def scalars(rng: random.Random) -> Iterator[Call]:
    """Four tools that answer with one bare value: a count, a flag, a version, a temperature."""
    agent = Agent(rng)
    rows = {name: rng.randrange(50, 500_000) for name in ("users", "orders", "events", "invoices", "sessions")}
    flags = {f"{word}-{n}": rng.random() < 0.5 for n, word in enumerate(("beta", "dark", "fast", "new", "bulk", "geo"))}
    versions = {name: [rng.randrange(1, 9), rng.randrange(20), 0] for name in ("api", "worker", "billing", "web")}
    while True:
        session, pick = agent.turn(), rng.random()
        if pick < 0.3:
            table = rng.choice(list(rows))
            rows[table] += rng.choice((0, rng.randrange(40), rng.randrange(900), -rng.randrange(5)))
            yield Call("count_rows", {"table": table}, rows[table], network(rng, 30, 0.6), session)
        elif pick < 0.5:
            flag = rng.choice(list(flags))
            flags[flag] ^= rng.random() < 0.02
            yield Call("is_enabled", {"flag": flag}, flags[flag], network(rng, 9, 0.3), session)
        elif pick < 0.7:
            service = rng.choice(list(versions))
            if rng.random() < 0.05:
                versions[service][rng.choice((1, 2, 2))] += 1
            yield Call(
                "current_version",
                {"service": service},
                ".".join(map(str, versions[service])),
                6.0 + rng.random(),
                session,
            )
        else:
            room = rng.choice(("hall", "lab", "store", "roof"))
            outside = 9 + 8 * math.sin((agent.hour - 9) / 24 * 2 * math.pi) + rng.gauss(0, 1)
            degrees = outside if room == "roof" else {"hall": 20.5, "lab": 19.0, "store": 4.5}[room] + rng.gauss(0, 0.4)
            yield Call("room_temperature", {"room": room}, round(degrees, 1), network(rng, 45), session)
