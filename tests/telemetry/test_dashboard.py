"""The dashboard is one that Grafana takes, and asks for nothing that the observer does not export."""

from __future__ import annotations

import json
import re
from typing import Any

from prometheus_client import CollectorRegistry

from agentguard.telemetry import PrometheusObserver, dashboard

from ..rows import over

WORDS = {"by", "without", "on", "ignoring", "or", "and", "unless", "group_left", "group_right", "offset", "bool"}
LABELS = {"tool", "verdict", "signal", "state", "le"}
BOARD: dict[str, Any] = json.loads(dashboard())
EXPRESSIONS = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
EXPRESSIONS += [variable["query"]["query"] for variable in BOARD["templating"]["list"] if variable["type"] == "query"]


def exported() -> set[str]:
    """The names of series that a scrape finds, as queries name them."""
    registry = CollectorRegistry()
    PrometheusObserver(registry)
    names = set()
    for family in registry.collect():
        kinds = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + kind for kind in kinds}
    return names


def metrics_in(expression: str) -> set[str]:
    """The names of metrics in PromQL: what is no function, keyword, number, label or range."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
    bare = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)", "", bare)
    if bare.startswith("label_values("):
        bare = bare.removeprefix("label_values(").split(",")[0]
    return {name for name in re.findall(r"(?<![\w.])[a-zA-Z_:][\w:]*(?!\w|\s*\()", bare) if name not in WORDS}


def labels_in(expression: str) -> set[str]:
    grouped = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression)
    matched = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", " ".join(re.findall(r"\{([^}]*)\}", expression)))
    return {label.strip() for group in grouped for label in group.split(",")} | set(matched)


@over("expression", EXPRESSIONS)
def test_each_query_names_what_is_exported(expression: str) -> None:
    assert metrics_in(expression)
    assert metrics_in(expression) <= exported()
    assert labels_in(expression) <= LABELS
    assert expression.count("(") == expression.count(")")


def test_the_reading_of_queries_finds_what_does_not_exist() -> None:
    query = 'sum by (tool) (rate(agentguard_made_up_total{tool="x"}[5m])) / 2 or other_one'

    assert metrics_in(query) == {"agentguard_made_up_total", "other_one"}
    assert labels_in(query) == {"tool"}


def test_every_metric_is_shown() -> None:
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for each in EXPRESSIONS for name in metrics_in(each)}

    assert shown == {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()}


def test_it_is_a_dashboard_that_can_be_imported_anywhere() -> None:
    assert isinstance(BOARD["schemaVersion"], int)
    assert BOARD["schemaVersion"] >= 36  # since then data sources are named by type and uid
    assert BOARD["uid"]
    assert "id" not in BOARD  # would take the place of the dashboard that has this number
    variables = {variable["name"]: variable for variable in BOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["tool"]["includeAll"] is True
    used = set(re.findall(r"\$\{?(\w+)", dashboard())) - {"__rate_interval", "__range", "__all"}
    assert used == set(variables)


@over("panel", BOARD["panels"])
def test_each_panel_asks_the_chosen_source_and_lies_within_the_grid(panel: dict[str, Any]) -> None:
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert panel["datasource"] == source
    assert all(target["datasource"] == source for target in panel["targets"])
    references = [target["refId"] for target in panel["targets"]]
    assert len(set(references)) == len(references) >= 1
    place = panel["gridPos"]
    assert 0 <= place["x"] < place["x"] + place["w"] <= 24
    assert panel["description"]


def test_panels_are_numbered_and_do_not_overlap() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))


def test_the_panels_are_those_that_are_needed() -> None:
    kinds = {panel["title"]: panel["type"] for panel in BOARD["panels"]}

    assert kinds["P(fabricated)"] == "heatmap"
    assert {"Verdicts by tool", "Blocked", "Guard time", "Store lag", "Signals that fired most"} <= kinds.keys()
