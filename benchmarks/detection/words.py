"""Vocabulary of the generated tools."""

from __future__ import annotations

import random

__all__ = ["CITIES", "COMPANIES", "COUNTRIES", "FIRST", "LAST", "NOUNS", "TOPICS", "email", "person", "sentence"]

FIRST = """Amara Bruno Chiara Dmitri Elif Farah Goran Hana Ines Jonas Kenji Leila Mateo Nadia Oskar Priya Quentin Rosa
Sven Tariq Ulla Viktor Wanda Ximena Yusuf Zoë""".split()
LAST = """Abara Bianchi Çelik Dubois Eriksen Ferrari García Haddad Ivanov Jansen Kowalski Lindqvist Moreau Nakamura
O'Neill Petrov Quispe Rossi Silva Tanaka Ueda Vargas Weber Xu Yamada Zhang""".split()
CITIES = """Lisbon Oslo Nairobi Lima Hanoi Quito Zagreb Tallinn Porto Ghent Leeds Cusco Perth Osaka Bergen Malmö Turin
Accra Dakar Austin Denver Calgary Aarhus Brno Graz""".split()
COUNTRIES = "PT NO KE PE VN EC HR EE BE GB AU JP SE IT GH SN US CA DK CZ AT".split()
NOUNS = """kettle lamp backpack drill blanket desk bottle tent jacket speaker notebook shelf grinder mirror ladder
scarf router heater compass tripod""".split()
TOPICS = """battery glacier harvest tariff vaccine orchard satellite turbine ledger coral archive tunnel protein
festival reactor census aquifer lantern meteor dialect""".split()
COMPANIES = [f"{name} {form}" for name in LAST[:14] for form in ("GmbH", "Ltd", "SA")]
_VERBS = "shows raises delays improves replaces limits explains supports doubles ends".split()
_OBJECTS = """the regional plan|a shorter season|local demand|the second phase|older models|public trust|its own target
the coastal route|spring prices|an early warning""".replace("\n", "|").split("|")


def person(rng: random.Random) -> str:
    """First and last name."""
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def email(rng: random.Random, name: str) -> str:
    """An address that goes with the name."""
    local = name.lower().replace(" ", ".").replace("'", "").encode("ascii", "ignore").decode()
    return f"{local}{rng.randrange(90) or ''}@{rng.choice(('mail', 'post', 'office', 'corp'))}.example"


def sentence(rng: random.Random) -> str:
    """A headline-like sentence without its full stop."""
    return f"{rng.choice(TOPICS).capitalize()} {rng.choice(TOPICS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}"
