"""Tools that answer with several things: lists, search results, query tables, and mostly nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..calls import Agent, Call, network, often_the_first
from ..words import CITIES, LAST, TOPICS, email, person, sentence

__all__ = ["empties", "lists", "search", "tables"]


def lists(rng: random.Random) -> Iterator[Call]:
    """Issues of a project: none to twenty, some closed and some opened between two calls."""
    agent = Agent(rng)
    projects = [f"{topic}-{part}" for topic in TOPICS[:8] for part in ("core", "site")]
    boards: dict[str, list[dict[str, Any]]] = {}
    number = rng.randrange(200, 4_000)
    while True:
        session = agent.turn()
        project = often_the_first(rng, projects)
        board = boards.setdefault(project, [])
        for _ in range(rng.choice((0, 0, 1, 1, 2)) if board else rng.randrange(6)):
            number += rng.randrange(1, 4)
            board.append({
                "number": number, "title": sentence(rng), "state": "open", "author": rng.choice(LAST).lower(),
                "labels": rng.sample(("bug", "feature", "docs", "question", "infra"), rng.choice((0, 1, 1, 2))),
                "comments": int(rng.expovariate(0.4)), "created_at": agent.ago(hours=rng.uniform(0, 30)),
            })  # fmt: skip
        for issue in board:
            issue["state"] = "closed" if rng.random() < 0.03 else issue["state"]
            issue["comments"] += rng.random() < 0.1
        state = rng.choice(("open", "open", "open", "closed"))
        found = [{**issue, "labels": list(issue["labels"])} for issue in reversed(board) if issue["state"] == state]
        yield Call("list_issues", {"project": project, "state": state}, found[:20], network(rng, 160), session)


def search(rng: random.Random) -> Iterator[Call]:
    """Web search: most queries are new, the rest give much the same again; a last page is short."""
    agent = Agent(rng)
    asked: list[str] = []
    pages: dict[str, list[dict[str, Any]]] = {}
    while True:
        session = agent.turn()
        if not asked or rng.random() < 0.55:
            asked.append(" ".join(rng.sample(TOPICS, rng.choice((1, 2, 2, 3)))))
        query = rng.choice(asked[-30:])
        hits = pages.setdefault(query, [_hit(rng, agent, query) for _ in range(rng.choice((0, 3, 25, 25, 30)))])
        if hits and rng.random() < 0.3:
            hits[rng.randrange(len(hits))] = _hit(rng, agent, query)
        page = rng.choices((1, 2, 3), (80, 15, 5))[0]
        found = sorted(hits, key=lambda hit: -hit["score"])[10 * (page - 1) : 10 * page]
        result = {
            "query": query, "page": page, "total": len(hits) * 1_117 + rng.randrange(40) * bool(hits),
            "results": [dict(hit) for hit in found], "has_more": 10 * page < len(hits),
        }  # fmt: skip
        yield Call("web_search", {"query": query, "page": page}, result, network(rng, 420, 0.4), session)


def _hit(rng: random.Random, agent: Agent, query: str) -> dict[str, Any]:
    title = sentence(rng)
    if rng.random() < 0.7:
        title = f"{query.split()[0].capitalize()}: {title}"
    hit = {
        "title": title, "url": f"https://{rng.choice(TOPICS)}{rng.randrange(40)}.example/{rng.getrandbits(28):07x}",
        "snippet": f"{sentence(rng)}. {sentence(rng)} …", "score": round(rng.betavariate(5, 2), 4),
    }  # fmt: skip
    if rng.random() < 0.5:
        hit["published"] = agent.ago(days=rng.expovariate(0.01))[:10]
    return hit


def tables(rng: random.Random) -> Iterator[Call]:
    """A database: the columns follow the query, the rows come as an object or, from the export, as CSV text."""
    agent = Agent(rng)
    columns = {
        "orders": ("id", "customer", "total", "placed_on"), "stock": ("sku", "city", "units"),
        "staff": ("id", "name", "city", "salary"), "visits": ("day", "page", "visits", "bounce_rate"),
    }  # fmt: skip
    rows = {table: [_row(rng, agent, table, n) for n in range(60)] for table in columns}
    while True:
        session, table = agent.turn(), rng.choice(list(columns))
        for _ in range(rng.choice((0, 0, 1, 3)) if table in ("orders", "visits") else rng.random() < 0.05):
            rows[table].append(_row(rng, agent, table, len(rows[table])))
        if table == "stock":
            rng.choice(rows[table])[2] = rng.randrange(500)
        limit, names = rng.choice((5, 5, 10, 20)), columns[table]
        if rng.random() < 0.4:
            text = "\n".join(",".join(map(str, row)) for row in (names, *rows[table][-limit:])) + "\n"
            yield Call("export_csv", {"table": table, "limit": limit}, text, network(rng, 300, 0.5), session)
            continue
        letter = rng.choice("ABCDEFGHIJ")
        where = f" WHERE {names[1]} >= '{letter}'" if rng.random() < 0.5 else ""
        found = [list(row) for row in reversed(rows[table]) if not where or row[1] >= letter][:limit]
        query = " ".join(("SELECT", ", ".join(names), "FROM", table + where, "ORDER BY 1 DESC LIMIT", str(limit)))
        result = {"columns": list(names), "rows": found, "row_count": len(found)}
        yield Call("run_query", {"sql": query}, result, network(rng, 25 + 6 * len(found), 0.6), session)


def _row(rng: random.Random, agent: Agent, table: str, n: int) -> list[Any]:
    match table:
        case "orders":
            return [7_000 + 3 * n, person(rng), round(rng.lognormvariate(4, 0.8), 2), agent.stamp[:10]]
        case "stock":
            return [f"K{rng.randrange(100, 999)}", rng.choice(CITIES), rng.randrange(500)]
        case "staff":
            return [n + 1, person(rng), rng.choice(CITIES), rng.randrange(28, 110) * 1_000]
        case _:
            page = f"{rng.choice(TOPICS).capitalize()}"
            return [agent.stamp[:10], page, int(rng.lognormvariate(7, 0.4)), round(rng.betavariate(4, 6), 3)]


def empties(rng: random.Random) -> Iterator[Call]:
    """An address book and a mail box: more than half of what is looked for is not there."""
    agent = Agent(rng)
    book: dict[str, list[dict[str, Any]]] = {}
    while True:
        session = agent.turn()
        name = rng.choice(LAST) if rng.random() < 0.6 else rng.choice(LAST) + rng.choice(("son", "ová", "i", "s"))
        if rng.random() < 0.6:
            if name not in book:
                book[name] = []
                for _ in range(rng.choices((0, 1, 2), (60, 32, 8))[0]):
                    who = f"{person(rng).split()[0]} {name}"
                    book[name].append({"name": who, "email": email(rng, who), "favourite": rng.random() < 0.2})
            found = [dict(contact) for contact in book[name]]
            yield Call("find_contacts", {"name": name}, found, network(rng, 22, 0.3), session)
            continue
        result: Any = None if rng.random() < 0.6 else {
            "from": email(rng, person(rng)), "subject": sentence(rng),
            "received_at": agent.ago(minutes=rng.uniform(1, 600)),
            "attachments": [f"{rng.choice(TOPICS)}.pdf"] if rng.random() < 0.2 else [],
        }  # fmt: skip
        yield Call("next_unread_mail", {"folder": rng.choice(("inbox", "team"))}, result, network(rng, 85), session)
