import json
import threading
from http.client import HTTPConnection
from itertools import pairwise

import pytest

from agentguard.demo._tools import CITIES, TICKERS, Feeds, Service


@pytest.fixture
def feeds():
    return Feeds(seed=7)


@pytest.fixture
def service(feeds):
    with Service(feeds, seed=7, delay_scale=0) as running:
        yield running


def quote(feeds, minute, ticker="ALDR"):
    feeds.minute = minute
    return feeds.respond("/quote", {"ticker": ticker})


def test_weather_is_plausible_everywhere_all_day(feeds):
    for minute in range(0, 600, 15):
        feeds.minute = minute
        for city, usual in CITIES.items():
            weather = feeds.respond("/weather", {"city": city})
            assert weather["city"] == city
            assert abs(weather["temperature_c"] - usual) < 10
            assert 40 <= weather["humidity_pct"] <= 90
            assert 0 <= weather["wind_kmh"] < 40


def test_weather_is_observed_every_quarter_of_an_hour(feeds):
    observed = []
    for minute in range(60):
        feeds.minute = minute
        observed.append(feeds.respond("/weather", {"city": "Oslo"}))
    assert [weather["observed_at"][11:16] for weather in observed[::15]] == ["08:00", "08:15", "08:30", "08:45"]
    for start in range(0, 60, 15):
        assert all(weather == observed[start] for weather in observed[start : start + 15])


def test_prices_walk_in_small_steps_and_trades_add_up(feeds):
    day = [quote(feeds, minute) for minute in range(600)]
    assert abs(day[0]["price"] - TICKERS["ALDR"]) < 0.01
    for before, after in pairwise(day):
        assert abs(after["price"] / before["price"] - 1) < 0.01  # a step has a standard deviation of 0.15%
        assert after["volume"] > before["volume"]
        assert after["as_of"] > before["as_of"]
    assert len({answer["price"] for answer in day}) > 300
    for answer in day:
        assert answer["change_pct"] == pytest.approx(100 * (answer["price"] / TICKERS["ALDR"] - 1), abs=0.02)


def test_answers_follow_from_seed_and_minute_not_from_the_order_of_asking(feeds):
    late, early = quote(feeds, 300), quote(feeds, 20)
    fresh = Feeds(seed=7)
    assert (quote(fresh, 20), quote(fresh, 300)) == (early, late)
    assert quote(Feeds(seed=8), 300) != late


@pytest.mark.parametrize(("path", "query"), [("/weather", {"city": "Atlantis"}), ("/quote", {}), ("/", {})])
def test_what_is_not_there_is_an_error_and_a_404(feeds, service, path, query):
    with pytest.raises(LookupError, match="nothing at"):
        feeds.respond(path, query)
    with pytest.raises(LookupError, match="HTTP 404"):
        service.fetch(path, query)


def test_the_service_says_what_the_feeds_say(feeds, service):
    feeds.minute = 77
    assert json.loads(service.fetch("/quote", {"ticker": "LUMA"})) == quote(feeds, 77, "LUMA")
    assert json.loads(service.fetch("/weather", {"city": "Hanoi"})) == feeds.respond("/weather", {"city": "Hanoi"})


def test_the_service_speaks_plain_http_on_loopback(service):
    connection = HTTPConnection("127.0.0.1", service.port, timeout=5)
    connection.request("GET", "/weather?city=Lima")
    response = connection.getresponse()
    assert (response.status, response.getheader("Content-Type")) == (200, "application/json")
    assert json.loads(response.read())["city"] == "Lima"
    connection.close()


def test_a_proxy_in_the_environment_is_not_asked(service, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert json.loads(service.fetch("/weather", {"city": "Perth"}))["city"] == "Perth"


def test_delays_are_log_normal_around_their_median(feeds, monkeypatch):
    asked = []
    monkeypatch.setattr("agentguard.demo._tools.time.sleep", asked.append)
    service = Service(feeds, seed=7, delay_scale=2)
    for _ in range(400):
        service.answer("/weather?city=Lima")
    service._server.server_close()
    # The median of 400 draws has a standard error of 0.35 * 1.2533 / 20 = 2.2% of the median, 2 * 55 ms.
    assert sorted(asked)[200] == pytest.approx(0.110, rel=0.09)
    # The middle 68% of a log-normal lie between median / e^0.35 and median * e^0.35.
    assert 0.6 < sum(0.110 / 1.419 < delay < 0.110 * 1.419 for delay in asked) / 400 < 0.76


def test_nothing_is_left_running(feeds):
    before = threading.active_count()
    service = Service(feeds, seed=7, delay_scale=0)

    def interrupted():
        with service:
            service.fetch("/weather", {"city": "Lima"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not any(thread.name == "demo-service" for thread in threading.enumerate())
    assert threading.active_count() <= before + 1  # at most the thread that served the one request, about to end
    with pytest.raises(OSError, match="refused"):
        service.fetch("/weather", {"city": "Lima"})
