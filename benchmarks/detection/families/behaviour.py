"""Tools that do something or change: actions, a file system, an unreliable service, one that evolves, rare ones."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

from ..calls import Agent, Call, network, often_the_first
from ..words import CITIES, COMPANIES, COUNTRIES, LAST, NOUNS, TOPICS, person, sentence

__all__ = ["actions", "error_prone", "evolving", "few_calls", "stateful"]


def actions(rng: random.Random) -> Iterator[Call]:
    """Bookings made, bookings cancelled, messages sent: new ids every time, the request repeated in the answer."""
    agent = Agent(rng)
    number = rng.randrange(100_000, 400_000)
    open_bookings: list[tuple[str, float]] = []
    while True:
        session, pick = agent.turn(), rng.random()
        if pick < 0.5:
            number += rng.randrange(1, 30)
            args: dict[str, Any] = {"guest": person(rng), "city": rng.choice(CITIES), "nights": rng.randrange(1, 8)}
            total = round(args["nights"] * rng.uniform(60, 240), 2)
            result: Any = {"ok": True, "booking_id": f"BK-{number}", **args, "total": total, "created_at": agent.stamp}
            open_bookings.append((f"BK-{number}", total))
            yield Call("create_booking", args, result, network(rng, 380, 0.4), session)
        elif pick < 0.65 and open_bookings:
            booking, total = open_bookings.pop(rng.randrange(len(open_bookings)))
            late = rng.random() < 0.2
            result = {"ok": not late, "booking_id": booking, "refund": 0.0 if late else total}
            if late:
                result["reason"] = "The free cancellation period has ended."
            yield Call("cancel_booking", {"booking_id": booking}, result, network(rng, 260), session)
        else:
            args = {"to": person(rng), "text": sentence(rng)}
            yield Call("send_message", args, f"Message sent to {args['to']}.", network(rng, 140), session)


def stateful(rng: random.Random) -> Iterator[Call]:
    """A file system with a current folder: what ``ls`` and ``cat`` answer depends on what was done before."""
    agent = Agent(rng)
    tree: dict[str, dict[str, str]] = {folder: {} for folder in ("docs", "src", "data", "notes")}
    for folder, files in tree.items():
        for _ in range(rng.randrange(3, 7)):
            files[f"{rng.choice(TOPICS)}.{rng.choice(('txt', 'md', 'csv'))}"] = f"{folder}: {sentence(rng)}.\n"
    here = "docs"
    while True:
        session, pick = agent.turn(), rng.random()
        files, ms = tree[here], round(rng.lognormvariate(0.2, 0.5), 3)
        if pick < 0.2:
            here = rng.choice(list(tree))
            yield Call("cd", {"folder": here}, {"current_directory": f"/home/ana/{here}"}, ms, session)
        elif pick < 0.5:
            result: Any = {"entries": sorted(files), "count": len(files)}
            yield Call("ls", {"hidden": rng.random() < 0.2}, result, ms, session)
        elif pick < 0.75:
            name = rng.choice([*files, f"{rng.choice(TOPICS)}.txt"])
            result = {"content": files[name]} if name in files else {"error": f"cat: {name}: No such file or directory"}
            yield Call("cat", {"file_name": name}, result, ms, session)
        else:
            name = rng.choice(list(files)) if files and rng.random() < 0.6 else f"{rng.choice(TOPICS)}.md"
            if len(files) > 9 and rng.random() < 0.5:
                files.pop(name, None)
                yield Call("rm", {"file_name": name}, None, ms, session)
                continue
            text = "".join(f"{sentence(rng)}.\n" for _ in range(rng.randrange(1, 6)))
            files[name] = files.get(name, "") + text
            yield Call("append", {"file_name": name, "text": text}, {"bytes_written": len(text.encode())}, ms, session)


def error_prone(rng: random.Random) -> Iterator[Call]:
    """Fetching pages: a quarter fails, in four ways, and a timeout takes its full ten seconds."""
    agent = Agent(rng)
    pages: dict[str, dict[str, Any]] = {}
    while True:
        session = agent.turn()
        url = f"https://{rng.choice(LAST[:9]).lower().encode('ascii', 'ignore').decode()}.example/{rng.choice(TOPICS)}"
        args, fate = {"url": url}, rng.random()
        if fate < 0.06:
            yield Call("fetch_page", args, {"error": {"code": "timeout", "message": "no answer in 10 s"}},
                       10_000 + rng.uniform(1, 60), session)  # fmt: skip
        elif fate < 0.12:
            yield Call(
                "fetch_page", args, f"Error: 404 Client Error: Not Found for url: {url}", network(rng, 90), session
            )
        elif fate < 0.20:
            wait = rng.choice((1, 5, 30))
            error = {"error": {"code": "rate_limited", "message": f"try again in {wait} s", "retry_after": wait}}
            yield Call("fetch_page", args, error, network(rng, 30, 0.2), session)
        elif fate < 0.24:
            yield Call("fetch_page", args, {"error": {"code": "tls", "message": "certificate has expired"}},
                       network(rng, 60), session)  # fmt: skip
        else:
            if url not in pages or rng.random() < 0.2:
                text = " ".join(f"{sentence(rng)}." for _ in range(int(rng.lognormvariate(1.6, 0.7)) + 1))
                pages[url] = {
                    "url": url,
                    "status": 200,
                    "title": sentence(rng),
                    "text": text,
                    "length": len(text),
                    "language": rng.choice(("en", "en", "de", None)),
                }
            yield Call("fetch_page", args, dict(pages[url]), network(rng, 280, 0.6), session)


def evolving(rng: random.Random) -> Iterator[Call]:
    """Forecasts of a service that is worked on: a field is added, the wind's unit changes, the server moves."""
    agent = Agent(rng)
    warmth = {city: rng.uniform(0, 28) for city in CITIES}
    field, unit, server = rng.randrange(70, 130), rng.randrange(150, 230), rng.randrange(250, 330)
    calls = 0
    while True:
        calls += 1
        session, city = agent.turn(), often_the_first(rng, CITIES)
        warmth[city] += rng.gauss(0, 0.8)
        wind = rng.gammavariate(3, 6)
        new_unit = calls > unit
        result = {
            "city": city, "temperature": {"value": round(warmth[city], 1), "unit": "C"},
            "wind": {"value": round(wind / 3.6 if new_unit else wind, 1), "unit": "m/s" if new_unit else "km/h"},
            "humidity": min(100, max(15, int(rng.gauss(65, 15)))), "issued_at": agent.stamp,
        }  # fmt: skip
        if calls > field:
            result["uv_index"] = rng.randrange(0, 11)
        yield Call("get_forecast", {"city": city}, result, network(rng, 70 if calls > server else 240, 0.3), session)


def few_calls(rng: random.Random) -> Iterator[Call]:
    """Sixteen small tools, each called now and then."""
    agent = Agent(rng)
    words = {word: sentence(rng) for word in TOPICS + NOUNS}
    zones = {city: f"UTC{rng.randrange(-9, 12):+d}" for city in CITIES}
    employees = {company: (int(rng.lognormvariate(5, 1.5)), rng.choice(COUNTRIES)) for company in COMPANIES}
    holidays = {country: [{"date": f"2025-0{m}-01", "name": f"{country} day"} for m in (1, 5)] for country in COUNTRIES}
    air = {city: rng.uniform(10, 120) for city in CITIES}
    while True:
        session = agent.turn()
        word, city, company = rng.choice(list(words)), rng.choice(CITIES), rng.choice(COMPANIES)
        n, country = rng.randrange(1, 500), rng.choice(COUNTRIES)
        loans = [{"title": words[list(words)[n % 40]], "due": "2025-11-30"}] * (n % 3)
        place, aqi = CITIES.index(city), int(air[city] * rng.uniform(0.9, 1.1))
        staff, seat = employees[company]
        tool, args, result, ms = rng.choice((
            ("define_word", {"word": word}, {"word": word, "definition": words[word], "part_of_speech": "noun"}, 90.0),
            ("get_timezone", {"city": city}, {"city": city, "timezone": zones[city], "dst": place % 2 == 0}, 45.0),
            ("company_profile", {"name": company}, {"name": company, "employees": staff, "country": seat}, 300.0),
            ("make_uuid", {}, str(uuid.UUID(int=rng.getrandbits(128), version=4)), 0.2),
            ("public_ip", {}, {"ip": "198.51.100.23"}, 60.0),
            ("roll_dice", {"sides": 20}, {"sides": 20, "value": rng.randrange(1, 21)}, 0.1),
            ("spell_check", {"text": word + "z"}, {"text": word + "z", "suggestions": [word, word + "s"]}, 12.0),
            ("convert_length", {"metres": n}, {"metres": n, "feet": round(n * 3.28084, 2)}, 0.2),
            ("public_holidays", {"country": country}, holidays[country], 180.0),
            ("sunrise", {"city": city}, {"city": city, "sunrise": f"0{5 + place % 4}:{17 + place}",
                                         "sunset": f"{17 + place % 4}:{59 - place}"}, 70.0),
            ("translate", {"text": word, "to": "de"}, {"text": word, "translation": word[::-1].capitalize()}, 350.0),
            ("shorten_url", {"url": f"https://{word}.example"}, f"https://sho.example/{rng.getrandbits(30):x}", 80.0),
            ("check_vat", {"number": f"{country}{n:09d}"}, {"valid": n % 5 != 0, "number": f"{country}{n:09d}"}, 600.0),
            ("air_quality", {"city": city}, {"city": city, "aqi": aqi, "pm25": round(aqi / 3.6, 1)}, 140.0),
            ("today", {}, agent.stamp[:10], 0.1),
            ("library_loans", {"member": n}, {"member": n, "loans": loans}, 55.0),
        ))  # fmt: skip
        yield Call(tool, args, result, network(rng, ms, 0.25), session)
