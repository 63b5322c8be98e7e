"""The shipped profiles pass what the tools really return, in the shapes of several implementations of each.

The results are written for these tests after the documented shapes. They are held against the declarations by other
means than the engine's own: jsonschema_rs as it comes, and the length of the serialised result.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import orjson
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import ToolProfile, VerificationEngine, VerificationResult, load_profiles
from agentguard.verification.profile import ProfileIndex

from ..rows import over

FOLDER = Path(__file__).parents[2] / "profiles"
PROFILES = load_profiles()
INDEX = ProfileIndex(PROFILES)


class Sample(NamedTuple):
    tool: str
    result: Any
    ms: float
    args: dict[str, Any] = {}  # noqa: RUF012  # no test writes into it


def google_event(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "calendar#event",
        "id": "7c1v2k9f0m3q",
        "status": "confirmed",
        "htmlLink": "https://www.google.com/calendar/event?eid=N2MxdjJr",
        "summary": "Quarterly planning",
        "start": {"dateTime": "2025-03-04T10:00:00+01:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": "2025-03-04T11:30:00+01:00", "timeZone": "Europe/Berlin"},
        **fields,
    }


def github_issue(**fields: Any) -> dict[str, Any]:
    return {
        "id": 2214098731,
        "number": 412,
        "html_url": "https://github.com/example-org/ledger/issues/412",
        "title": "Rounding differs between export and screen",
        "state": "open",
        "body": None,
        "comments": 3,
        "labels": [{"id": 9, "name": "bug"}],
        **fields,
    }


TAVILY_HIT = {
    "title": "Tides | Harbour office",
    "url": "https://harbour.example.org/tides",
    "content": "High water at 06:12 and 18:40 …",
    "score": 0.9127,
    "raw_content": None,
}
TAVILY = {
    "query": "high water tomorrow",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [TAVILY_HIT],
    "response_time": 1.31,
}
SERPER = {
    "searchParameters": {"q": "tide table", "type": "search", "engine": "google"},
    "organic": [{"title": "Tide table", "link": "https://tides.example.com", "snippet": "…", "position": 1}],
    "credits": 1,
}
OPENWEATHER = {
    "coord": {"lon": 9.99, "lat": 53.55},
    "weather": [{"id": 500, "main": "Rain", "description": "light rain", "icon": "10d"}],
    "main": {
        "temp": 281.4,
        "feels_like": 279.2,
        "temp_min": 280.9,
        "temp_max": 282.0,
        "pressure": 1009,
        "humidity": 87,
    },
    "wind": {"speed": 4.6, "deg": 250},
    "clouds": {"all": 90},
    "name": "Hamburg",
    "cod": 200,
}
OPEN_METEO = {
    "latitude": 53.55,
    "longitude": 10.0,
    "current": {"time": "2025-03-04T10:00", "temperature_2m": 8.1, "relative_humidity_2m": 87, "wind_speed_10m": 16.6},
    "hourly": {"time": ["2025-03-04T00:00", "2025-03-04T01:00"], "temperature_2m": [6.2, None]},
}
GOOGLE_PLACE = {
    "formatted_address": "Am Sandtorkai 1, 20457 Hamburg, Germany",
    "geometry": {"location": {"lat": 53.5436, "lng": 9.9977}, "location_type": "ROOFTOP"},
    "place_id": "ChIJe5nd_gKPsUcR1",
    "types": ["street_address"],
}
GOOGLE_ROUTE = {
    "summary": "A7",
    "distance": {"text": "151 km", "value": 150_873},
    "duration": {"text": "1 hour 38 mins", "value": 5_880},
    "steps": [{"instructions": "Head <b>north</b>", "distance": {"text": "0.2 km", "value": 214}}],
}
CHROMA = {
    "ids": [["doc-17", "doc-3"]],
    "documents": [["Invoices are kept for ten years.", "Receipts are kept for six."]],
    "metadatas": [[{"source": "policy.md"}, None]],
    "distances": [[0.318, 0.402]],
}
MATCHES = {"matches": [{"id": "rec-1", "score": 0.83, "values": [], "metadata": {"text": "…"}}], "namespace": ""}
QUOTE = {"symbol": "NVDA", "price": 651.3, "currency": "USD", "volume": 41_220_101, "previous_close": 644.0}
ALPHA_VANTAGE = {"Global Quote": {"01. symbol": "IBM", "05. price": "187.4400", "10. change percent": "-0.4%"}}
PAPER = {"arxiv_id": "2403.01234v2", "title": "On tides", "authors": ["A. Nemo"], "summary": "We measure …"}

GENUINE = {
    "tavily: langchain-tavily": Sample("tavily_search", TAVILY, 1530, {"query": "high water tomorrow"}),
    "tavily: langchain-community": Sample("tavily_search_results_json", orjson.dumps([TAVILY_HIT]).decode(), 900),
    "tavily: exception as text": Sample("tavily_search_results_json", "ConnectTimeout(MaxRetryError('…'))", 60_000),
    "tavily: MCP": Sample("mcp__tavily__tavily-search", "Detailed Results:\n\nTitle: Tides\nURL: https://a.b\n", 2200),
    "tavily: error": Sample("tavily_search", {"error": "ValueError('Error 401: Unauthorized')"}, 200),
    "duckduckgo: text": Sample("duckduckgo_search", "High water is at 06:12. The harbour office says …", 700),
    "duckduckgo: records as text": Sample(
        "duckduckgo_results_json", "[snippet: High water, title: Tides, link: https://a.b], [snippet: …]", 650
    ),
    "duckduckgo: ddgs": Sample("duckduckgo_full_search", [{"title": "Tides", "href": "https://a.b", "body": "…"}], 800),
    "duckduckgo: nothing found": Sample("duckduckgo_results_json", "", 500),
    "duckduckgo: instant answer": Sample("search_duckduckgo", {"AbstractText": "", "RelatedTopics": []}, 300),
    "web search: Serper as a Python literal": Sample("google_serper_results_json", str(SERPER), 820),
    "web search: SerpAPI's answer box": Sample("google_search", "6:12 AM", 1400),
    "web search: SerpAPI's snippets": Sample("serpapi", "['High water at 06:12', 'Low water at 12:20']", 1400),
    "web search: Brave MCP": Sample("brave_web_search", "Title: Tides\nDescription: …\nURL: https://a.b", 480),
    "web search: LangChain Brave": Sample("brave_search", '[{"title": "T", "link": "https://a", "snippet": "s"}]', 480),
    "web search: Google": Sample("google_search", [{"Result": "No good Google Search Result was found"}], 350),
    "web search: Exa": Sample("web_search_exa", {"requestId": "a1", "results": [{"id": "u", "url": "https://a"}]}, 900),
    "fetch: MCP": Sample("fetch", "Contents of https://a.b/:\n# Tides\n\nHigh water …", 640, {"url": "https://a.b/"}),
    "fetch: JSON": Sample("requests_get", '{"status": 7, "data": [1, 2, {"code": -5}]}', 90),
    "fetch: JSON that is null": Sample("requests_get", "null", 90),
    "fetch: response": Sample("http_request", {"status_code": 404, "headers": {}, "body": ""}, 130),
    "fetch: unusual status": Sample("http_request", {"status_code": 999, "body": "Request denied"}, 130),
    "wikipedia: LangChain": Sample(
        "wikipedia", "Page: Tide\nSummary: Tides are the rise and fall of sea levels …", 1900
    ),
    "wikipedia: nothing found": Sample("wikipedia", "No good Wikipedia Search Result was found", 400),
    "wikipedia: REST summary": Sample("wikipedia_summary", {"title": "Tide", "extract": "Tides are …"}, 60),
    "wikipedia: opensearch": Sample(
        "search_wikipedia", ["tide", ["Tide"], [""], ["https://en.wikipedia.org/wiki/Tide"]], 70
    ),
    "wikipedia: MCP": Sample("mcp__wikipedia__get_links", {"title": "Tide", "links": ["Moon", "Sun"]}, 210),
    "wikipedia: text by title": Sample("search_wikipedia", {"Tide": "Tides are …", "Tidal force": "The …"}, 210),
    "arxiv: LangChain": Sample(
        "arxiv", "Published: 2024-03-02\nTitle: On tides\nAuthors: A. Nemo\nSummary: We …", 2700
    ),
    "arxiv: MCP": Sample("mcp__arxiv-mcp-server__search_papers", {"total_results": 1, "papers": [PAPER]}, 3400),
    "arxiv: identifiers": Sample("search_arxiv", ["2403.01234v2", "hep-th/9901001"], 2600),
    "arxiv: old identifier": Sample("arxiv_search", [{"entry_id": "http://arxiv.org/abs/math.GT/0309136v1"}], 2600),
    "sql: LangChain": Sample("sql_db_query", "[(1, 'Ann', 12.5), (2, 'Bob', None)]", 1.2),
    "sql: LangChain, nothing": Sample("sql_db_query", "", 0.4),
    "sql: LangChain, error": Sample("sql_db_query", "Error: (sqlite3.OperationalError) no such table: shop", 0.2),
    "sql: SQLite MCP": Sample("read_query", "[{'id': 1, 'name': 'Ann'}]", 3),
    "sql: SQLite MCP, change": Sample("write_query", "[{'affected_rows': 3}]", 3),
    "sql: node-postgres": Sample(
        "execute_sql", {"command": "SELECT", "rowCount": 1, "rows": [{"count": "42"}], "fields": [{"name": "count"}]}, 9
    ),
    "sql: count unknown": Sample("run_sql", {"affected_rows": -1}, 1),
    "sql: one number": Sample("execute_sql", "42", 1),
    "sql: a table of elections": Sample("execute_sql", [{"rows": "7", "columns": "no"}], 5),
    "python: text": Sample("Python_REPL", "3.1622776601683795\n", 0.3),
    "python: nothing printed": Sample("Python_REPL", "", 0.2),
    "python: any object": Sample("python_repl_ast", {"exit_code": "n/a", "mean": [1, 2]}, 0.6),
    "python: sandbox": Sample("execute_code", {"stdout": "ok\n", "stderr": "", "exit_code": 0}, 2100),
    "shell: text": Sample("terminal", "total 8\n-rw-r--r-- 1 ann ann 12 Mar  4 10:00 notes.txt\n", 6),
    "shell: nothing": Sample("terminal", None, 4),
    "shell: JSON": Sample("bash", '{"State": {"ExitCode": 0}, "exit_code": "unknown"}', 70),
    "shell: killed": Sample("execute_command", {"stdout": "", "stderr": "", "returncode": -9}, 120_000),
    "shell: Windows": Sample("run_command", {"output": "", "exitCode": 3221225786}, 40),
    "read file: text": Sample("read_file", "# Notes\n\nBuy oats.\n", 0.2),
    "read file: JSON": Sample("read_text_file", '{"name": "x", "results": null}', 1),
    "read file: missing": Sample("read_file", "Error: no such file or directory: notes.txt", 0.1),
    "write file: LangChain": Sample("write_file", "File written successfully to notes.txt.", 0.4),
    "write file: bytes": Sample("save_file", 1204, 0.4),
    "write file: record": Sample("create_file", {"success": True, "path": "notes.txt", "bytes_written": 0}, 2),
    "vector store: LangChain": Sample(
        "retriever", "Invoices are kept for ten years.\n\nReceipts are kept for six.", 85
    ),
    "vector store: Chroma": Sample("chroma_query_documents", CHROMA, 40),
    "vector store: Pinecone": Sample("search-records", MATCHES, 95),
    "vector store: Qdrant": Sample(
        "qdrant-find", ["Results for the query 'x'", "<entry><content>…</content></entry>"], 31
    ),
    "vector store: documents": Sample("similarity_search", [{"page_content": "…", "metadata": {}}], 0.4),
    "vector store: scored": Sample("vector_search", [[{"page_content": "…"}, 0.7]], 12),
    "weather: LangChain": Sample(
        "OpenWeatherMap", "In Hamburg, the current weather is as follows:\nHumidity: 87%", 310
    ),
    "weather: OpenWeather, kelvin": Sample("get_current_weather", OPENWEATHER, 180),
    "weather: Open-Meteo": Sample("weather_forecast", OPEN_METEO, 95),
    "weather: Fahrenheit": Sample("get_weather", {"city": "Furnace Creek", "temperature": 129, "humidity": 4}, 220),
    "weather: words": Sample("get_weather", {"temperature": "18°C", "humidity": "65%", "wind_speed": "calm"}, 220),
    "weather: WeatherAPI": Sample(
        "current_weather", {"current": {"temp_c": -41.2, "temp_f": -42.2, "humidity": 71}}, 140
    ),
    "weather: National Weather Service": Sample(
        "get_forecast", {"periods": [{"name": "Tonight", "temperature": -4, "windSpeed": "5 mph"}]}, 450
    ),
    "weather: a number": Sample("get_weather", 18.5, 300),
    "quote: record": Sample("get_stock_price", QUOTE, 240),
    "quote: number": Sample("get_current_stock_price", "187.44", 900),
    "quote: Alpha Vantage": Sample("get_stock_quote", ALPHA_VANTAGE, 400),
    "quote: Finnhub": Sample(
        "get_quote", {"c": 261.7, "d": -4.2, "dp": -1.6, "h": 263.3, "l": 260.7, "o": 261, "pc": 259}, 120
    ),
    "quote: no price today": Sample("get_stock_info", {"currentPrice": None, "bid": -1, "profitMargins": -0.2}, 1200),
    "calculator: number": Sample("calculator", 42, 0.01),
    "calculator: text": Sample("Calculator", "Answer: 2.449489742783178", 1400),
    "calculator: record": Sample("calculate", {"expression": "2+2", "result": 4}, 0.02),
    "calculator: several": Sample("calc", [-1.0, 2.5], 0.05),
    "email: LangChain": Sample("send_gmail_message", "Message sent. Message Id: 18e0c7a1b2c3d4e5", 620),
    "email: nothing": Sample("send_email", None, 480),
    "email: smtplib": Sample("send_email", {}, 480),
    "email: nodemailer": Sample("send_mail", {"accepted": ["ann@example.org"], "response": "250 2.0.0 OK"}, 900),
    "email: SendGrid": Sample("send_email", {"status_code": 202, "body": ""}, 190),
    "calendar: Google event": Sample("create_event", google_event(), 430),
    "calendar: whole day": Sample(
        "get-event", google_event(start={"date": "2025-03-04"}, end={"date": "2025-03-05"}), 210
    ),
    "calendar: Google list": Sample("list_events", {"kind": "calendar#events", "items": [google_event()]}, 300),
    "calendar: text": Sample(
        "events_search", "[{'subject': 'Planning', 'start_datetime': '2025-03-04T10:00:00'}]", 700
    ),
    "calendar: own fields": Sample("list_events", {"events": [{"title": "Planning", "start": "tomorrow at ten"}]}, 40),
    "github: issue": Sample("get_issue", github_issue(), 320, {"owner": "example-org", "issue_number": 412}),
    "github: list as text": Sample(
        "list_issues", orjson.dumps([github_issue(), github_issue(state="closed")]).decode(), 500
    ),
    "github: search": Sample(
        "search_issues", {"total_count": 1, "incomplete_results": False, "items": [github_issue()]}, 600
    ),
    "github: comment": Sample(
        "add_issue_comment",
        {"id": 7, "html_url": "https://github.com/example-org/ledger/issues/412#issuecomment-7", "body": "Seen."},
        400,
        {"issue_number": 412, "body": "Seen."},
    ),
    "github: an issue of Linear": Sample(
        "get_issue", {"id": "LED-12", "state": {"name": "In progress"}, "title": "…"}, 250
    ),
    "geocoding: Google": Sample("geocode", {"status": "OK", "results": [GOOGLE_PLACE]}, 110),
    "geocoding: MCP": Sample(
        "maps_geocode",
        '{"location": {"lat": -33.86, "lng": 151.2}, "formatted_address": "Sydney", "place_id": "C"}',
        140,
    ),
    "geocoding: Nominatim": Sample("geocode_address", [{"lat": "53.5436", "lon": "9.9977", "display_name": "…"}], 380),
    "geocoding: GeoJSON": Sample(
        "geocode",
        {"features": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [151.2, -33.86]}}]},
        90,
    ),
    "geocoding: elevation": Sample("maps_elevation", {"results": [{"elevation": 8729.4, "resolution": 19.1}]}, 95),
    "geocoding: nothing": Sample("geocode", {"status": "ZERO_RESULTS", "results": []}, 80),
    "directions: MCP": Sample("maps_directions", {"routes": [GOOGLE_ROUTE]}, 260),
    "directions: OSRM": Sample(
        "get_route", {"code": "Ok", "routes": [{"distance": 150873.1, "duration": 5880.4, "legs": []}]}, 70
    ),
    "directions: matrix": Sample(
        "maps_distance_matrix",
        {"results": [{"elements": [{"status": "OK", "distance": {"value": 0, "text": "1 m"}}]}]},
        180,
    ),
    "directions: text": Sample("get_directions", "Drive north on the A7 for 151 km.", 300),
}

OTHER_TOOLS_ANSWER = {"temperature": 18, "humidity": 65}
CORRUPTED = {
    "tavily: another tool's answer": ("schema", Sample("tavily_search", OTHER_TOOLS_ANSWER, 900)),
    "tavily: ×10": ("schema", Sample("tavily_search", {**TAVILY, "results": [{**TAVILY_HIT, "score": 9.127}]}, 900)),
    "tavily: no address": ("schema", Sample("tavily_search_results_json", [{"title": "Tides", "score": 0.9}], 900)),
    "tavily: instant": ("latency", Sample("tavily_search", TAVILY, 0.4)),
    "duckduckgo: another tool's answer": ("schema", Sample("duckduckgo_search", OTHER_TOOLS_ANSWER, 700)),
    "web search: another tool's answer": ("schema", Sample("web_search", OTHER_TOOLS_ANSWER, 700)),
    "web search: rows": ("schema", Sample("google_serper", [[1, "Ann"], [2, "Bob"]], 700)),
    "fetch: status ×10": ("schema", Sample("http_request", {"status_code": 2000, "body": "ok"}, 130)),
    "wikipedia: another tool's answer": ("schema", Sample("wikipedia", OTHER_TOOLS_ANSWER, 900)),
    "arxiv: no identifier": (
        "schema",
        Sample("arxiv_search", {"papers": [{**PAPER, "arxiv_id": "on-tides-2024"}]}, 2600),
    ),
    "sql: rows in prose": ("schema", Sample("execute_sql", {"columns": ["id"], "rows": "one row, id 1"}, 9)),
    "sql: count below -1": ("schema", Sample("execute_sql", {"affected_rows": -30}, 9)),
    "python: exit in words": ("schema", Sample("execute_code", {"stdout": "ok", "exit_code": "success"}, 900)),
    "shell: exit in words": ("schema", Sample("execute_command", {"stdout": "ok", "returncode": True}, 9)),
    "read file: endless": ("length", Sample("read_file", "x" * 10_000_001, 900)),
    "write file: another tool's answer": ("schema", Sample("write_file", [OTHER_TOOLS_ANSWER], 3)),
    "write file: negative": ("schema", Sample("write_file", {"bytes_written": -1204}, 3)),
    "vector store: embedding": ("schema", Sample("retriever", [0.12, -0.4, 0.33, 0.08, -0.9, 0.41, 0.2, 0.7], 85)),
    "vector store: no id": ("schema", Sample("search-records", {"matches": [{"score": 0.83}]}, 85)),
    "weather: ×10": ("schema", Sample("get_weather", {"temperature": 18, "humidity": 650}, 220)),
    "weather: below absolute zero": (
        "schema",
        Sample("weather_forecast", {"hourly": {"temperature_2m": [6, -300]}}, 220),
    ),
    "weather: hot kelvin": ("schema", Sample("get_current_weather", {"main": {"temp": 2814, "humidity": 87}}, 220)),
    "quote: negative": ("schema", Sample("get_stock_price", {**QUOTE, "price": -651.3}, 240)),
    "quote: negative number": ("schema", Sample("get_stock_price", "-651.3", 240)),
    "calculator: another tool's answer": ("schema", Sample("calculator", [OTHER_TOOLS_ANSWER], 0.1)),
    "email: status ×10": ("schema", Sample("send_email", {"status_code": 2020}, 190)),
    "calendar: start in words": (
        "schema",
        Sample("create_event", google_event(start={"dateTime": "next Tuesday"}), 430),
    ),
    "calendar: no such status": ("schema", Sample("list_events", [google_event(status="done")], 430)),
    "github: no such state": ("schema", Sample("get_issue", github_issue(state="in progress"), 320)),
    "github: number as text": ("schema", Sample("search_issues", {"total_count": "many", "items": []}, 320)),
    "geocoding: ×10": ("schema", Sample("maps_geocode", {"location": {"lat": 535.4, "lng": 99.97}}, 140)),
    "geocoding: swapped in GeoJSON": (
        "schema",
        Sample("geocode", {"features": [{"geometry": {"type": "Point", "coordinates": [-33.86, 151.2]}}]}, 90),
    ),
    "directions: negative": (
        "schema",
        Sample("get_route", {"routes": [{"distance": -150873.1, "duration": 5880}]}, 70),
    ),
}


def profile_of(tool: str) -> ToolProfile:
    profile = INDEX.find(tool)
    assert profile is not None, f"no shipped profile for {tool}"
    return profile


def as_read(result: Any) -> Any:
    """Text that is JSON, or a Python container's literal, counts as what it says."""
    if isinstance(result, str):
        for parse in (orjson.loads, ast.literal_eval):
            try:
                value = parse(result)
            except (ValueError, SyntaxError):
                continue
            plain: Any = orjson.loads(orjson.dumps(value))
            return plain
    return result


@cache
def validator_of(tool: str) -> Any:
    schema = profile_of(tool).output_schema
    return None if schema is None else jsonschema_rs.validator_for(schema)


def broken_contracts(sample: Sample) -> set[str]:
    profile, value = profile_of(sample.tool), as_read(sample.result)
    broken = set()
    validator = validator_of(sample.tool)
    if validator is not None and not validator.is_valid(value):
        broken.add("schema")
    if profile.max_response_length is not None and len(orjson.dumps(value)) > profile.max_response_length:
        broken.add("length")
    low, high = profile.expected_latency_ms
    if not max(low, 2.0 if profile.has_network_io else 0.0) <= sample.ms <= high:
        broken.add("latency")
    return broken


def test_a_genuine_result_breaks_nothing() -> None:
    assert {name: broken for name, sample in GENUINE.items() if (broken := broken_contracts(sample))} == {}


def test_a_corrupted_result_breaks_the_contract_meant_for_it() -> None:
    broken = {name: broken_contracts(sample) for name, (_, sample) in CORRUPTED.items()}
    assert broken == {name: {contract} for name, (contract, _) in CORRUPTED.items()}


def test_every_profile_has_both_kinds_of_sample() -> None:
    everything = {profile.name for profile in PROFILES}
    assert {profile_of(sample.tool).name for sample in GENUINE.values()} == everything
    assert {profile_of(sample.tool).name for _, sample in CORRUPTED.values()} == everything


def judged(sample: Sample, mode: Any) -> VerificationResult:
    engine = VerificationEngine(mode, profiles=PROFILES)
    return engine.verify(sample.tool, args=sample.args, result=sample.result, execution_time_ms=sample.ms)


@over("mode", ["calibrated", "reference"])
def test_the_engine_accepts_a_genuine_result(mode: Any) -> None:
    for name, sample in GENUINE.items():
        verdict = judged(sample, mode)
        assert verdict.verdict == "accept", name
        assert [signal for signal, said in verdict.signals.items() if said.fired] == [], name


@over("mode", ["calibrated", "reference"])
def test_the_engine_does_not_accept_a_broken_schema(mode: Any) -> None:
    for name, (contract, sample) in CORRUPTED.items():
        verdict = judged(sample, mode)
        assert verdict.signals[f"{contract}_{'mismatch' if contract == 'schema' else 'anomaly'}"].fired, name
        assert verdict.verdict in ({"flag", "block"} if contract == "schema" else {"accept", "flag", "block"}), name


def test_tavily_repeats_the_query() -> None:
    engine = VerificationEngine(profiles=PROFILES)
    args = {"query": "recipes with oats"}
    verdict = engine.verify("tavily_search", args=args, result=TAVILY, execution_time_ms=900)
    assert verdict.signals["echo_mismatch"].fired


ENVELOPES = {
    "blocks of an MCP result": [{"type": "text", "text": "an answer"}],
    "a whole MCP result": {"content": [{"type": "text", "text": "an answer"}], "isError": False},
    "a failed MCP call": {"content": [{"type": "text", "text": "Error: timed out"}], "isError": True},
    "an error object": {"error": "rate limit exceeded", "code": 429},
    "an error in words": "Error: 429 Too Many Requests",
    "an answer in words": "Here is what was found: nothing out of the ordinary.",
    "an empty list": [],
}


def test_every_tool_may_answer_in_a_common_envelope() -> None:
    for profile in PROFILES:
        for envelope, result in ENVELOPES.items():
            assert broken_contracts(Sample(profile.name, result, 1000)) == set(), (profile.name, envelope)


@given(st.text(min_size=1))
def test_every_tool_may_answer_in_any_words(text: str) -> None:
    words = f"Answer: {text.encode('utf-8', 'replace').decode()}"
    for profile in PROFILES:
        if profile.output_schema is not None:
            assert validator_of(profile.name).is_valid(words), profile.name


def test_no_profile_asks_for_fields_of_a_tool_that_may_answer_in_text() -> None:
    for profile in PROFILES:
        asked = profile.required_fields, profile.response_patterns, profile.min_response_length
        assert not any(asked), profile.name
        assert asked[2] is None, profile.name


def test_every_limit_says_where_it_comes_from() -> None:
    """A comment stands on the line of each limit or in the lines right above it."""
    limits = r"\s*(?:- )?(expected_latency_ms|m(?:ax|in)_response_length|echoes|\w+: .*(maximum|maxItems|maxLength): )"
    paths = sorted(FOLDER.glob("*.yaml"))
    assert len(paths) == len(PROFILES)
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("# "), f"{path.name} begins with what it is about"
        for number, line in enumerate(lines):
            if re.match(limits, line) and "properties" not in line:
                near = lines[max(0, number - 4) : number + 1]
                assert any("#" in re.sub(r'"[^"]*"', "", text) for text in near), (
                    f"{path.name}:{number + 1}: {line.strip()}"
                )


def test_names_are_found_as_hosts_write_them() -> None:
    for tool, name in {
        "mcp__brave-search__brave_web_search": "web_search",
        "mcp__fetch__fetch": "web_fetch",
        "mcp__github__create_issue": "github_issues",
        "mcp__google-calendar__list-events": "calendar",
        "mcp__postgres__query": "sql_query",
        "mcp__filesystem__read_text_file": "read_file",
        "Google Search Results JSON": "web_search",
    }.items():
        assert profile_of(tool).name == name
    assert INDEX.find("mcp__linear__create_issue") is None
    assert INDEX.find("my_own_tool") is None
