"""Tools that answer with text: YAML, prose, log lines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from ..calls import Agent, Call, network, often_the_first
from ..words import CITIES, COUNTRIES, LAST, NOUNS, TOPICS, person, sentence

__all__ = ["logs", "prose", "yaml_text"]


def yaml_text(rng: random.Random) -> Iterator[Call]:
    """Hotels and meetings, written as YAML."""
    agent = Agent(rng)
    hotels: dict[str, str] = {}
    calendar: dict[str, dict[int, str]] = {}
    names = [f"{rng.choice(('Grand', 'Old', 'Blue', 'Park', 'Royal'))} {noun.capitalize()} {city}" for noun, city in
             zip(NOUNS * 4, CITIES * 3, strict=False)]  # fmt: skip
    while True:
        session = agent.turn()
        if rng.random() < 0.6:
            name = often_the_first(rng, names)
            if name not in hotels:
                reviews = "".join(f"- {sentence(rng)}\n" for _ in range(rng.randrange(1, 5)))
                hotels[name] = (
                    f"name: {name}\ncity: {name.split()[-1]}\nrating: {rng.triangular(2.8, 5.0, 4.3):.1f}\n"
                    f"price_min: {rng.randrange(45, 180)}\nprice_max: {rng.randrange(190, 520)}\n"
                    f"phone: +{rng.randrange(30, 60)} {rng.randrange(10**7, 10**8)}\nreviews:\n{reviews}"
                )
            yield Call("get_hotel", {"name": name}, hotels[name], network(rng, 110), session)
            continue
        day = agent.ago(days=-rng.randrange(9))[:10]
        if day not in calendar:
            calendar[day] = {hour: _meeting(rng, day, hour) for hour in rng.sample(range(8, 18), rng.randrange(4))}
        elif rng.random() < 0.1:
            hour = rng.randrange(8, 18)
            calendar[day][hour] = _meeting(rng, day, hour)
        text = "".join(calendar[day][hour] for hour in sorted(calendar[day]))
        yield Call("get_meetings", {"day": day}, text or "[]", network(rng, 75), session)


def _meeting(rng: random.Random, day: str, hour: int) -> str:
    people = "".join(f"  - {person(rng)}\n" for _ in range(rng.randrange(1, 4)))
    return (
        f"- id: '{rng.randrange(1, 90)}'\n  title: {sentence(rng)}\n  start: {day} {hour:02d}:00\n"
        f"  end: {day} {hour + 1:02d}:00\n  location: {rng.choice(('null', 'Room 2', 'Room 5', 'online'))}\n"
        f"  participants:\n{people}"
    )


def prose(rng: random.Random) -> Iterator[Call]:
    """Weather reports and guides to cities, in sentences."""
    agent = Agent(rng)
    warmth = {city: rng.uniform(2, 26) for city in CITIES}
    skies = ("clear", "cloudy", "overcast", "partly cloudy", "rainy", "foggy")
    sky_over = {city: rng.choice(skies) for city in CITIES}
    guides: dict[str, str] = {}
    while True:
        session = agent.turn()
        city = often_the_first(rng, CITIES)
        if rng.random() < 0.65:
            warmth[city] += rng.gauss(0, 0.7)
            degrees = round(warmth[city])
            sky = sky_over[city] = rng.choice(skies) if rng.random() < 0.2 else sky_over[city]
            text = f"It is currently {degrees}°C and {sky} in {city}."
            wind = f"Wind {rng.randrange(2, 45)} km/h from the {rng.choice(('north', 'south', 'east', 'west'))}"
            later = rng.choice((
                f"Expect a high of {degrees + rng.randrange(1, 6)}°C this afternoon.",
                f"There is a {rng.randrange(1, 10) * 10}% chance of rain tonight.",
                "No rain is expected before the weekend.",
            ))  # fmt: skip
            yield Call("weather_report", {"city": city}, f"{text} {wind}. {later}", network(rng, 230), session)
            continue
        if city not in guides:
            guides[city] = " ".join(
                [f"{city} ({rng.choice(COUNTRIES)}) has about {rng.randrange(80, 2_400)},000 inhabitants."]
                + [f"{sentence(rng)}." for _ in range(rng.randrange(2, 6))]
                + [f"The best month to visit is {rng.choice(('May', 'June', 'September', 'October'))}."]
            )
        yield Call("city_guide", {"city": city}, guides[city], network(rng, 340), session)


def logs(rng: random.Random) -> Iterator[Call]:
    """The last lines of a service's log: never the same twice, a stack trace now and then."""
    agent = Agent(rng)
    services = ("gateway", "billing", "search", "mailer", "auth")
    while True:
        session = agent.turn()
        service, count = often_the_first(rng, services), rng.choice((5, 10, 10, 20))
        moment, lines = agent.now - timedelta(seconds=count * 4), []
        for _ in range(count):
            moment += timedelta(seconds=rng.expovariate(0.3))
            level = rng.choices(("INFO", "DEBUG", "WARN", "ERROR"), (75, 15, 7, 3))[0]
            said = {
                "INFO": f"request id={rng.getrandbits(32):08x} path=/{rng.choice(TOPICS)} ms={rng.randrange(2, 900)}",
                "DEBUG": f"cache {rng.choice(('hit', 'miss'))} key={rng.choice(LAST).lower()}:{rng.randrange(9_999)}",
                "WARN": f"slow query {rng.randrange(1_000, 9_000)} ms",
                "ERROR": f"upstream {rng.choice(services)} refused the connection",
            }[level]  # fmt: skip
            lines.append(f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1_000:03d} {level:<5} {service}: {said}")
            if level == "ERROR" and rng.random() < 0.5:
                where = f'  File "/srv/{service}/main.py", line {rng.randrange(9, 400)}'
                lines += ["Traceback (most recent call last):", where, "ConnectionRefusedError"]
        yield Call("tail_log", {"service": service, "lines": count}, "\n".join(lines), network(rng, 35, 0.5), session)
