"""What the HTTP service has to say: weather by city and stock quotes by ticker, as functions of seed and minute."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from .clock import stamp

__all__ = ["CITIES", "TICKERS", "Feeds"]

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
    """The day's weather and prices. ``minute`` is the present, set by whoever runs the clock."""

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
        """The answer to ``GET path?query`` at the present minute; ``LookupError`` where there is none."""
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
