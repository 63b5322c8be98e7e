"""Texts about tools, written by templates from lists of words: what registries, catalogues and tools themselves say.

None of them is an attack. They are many because each says the same in other words: who tunes on one will not reach all.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

VERBS = (
    "create delete update list search fetch get send move copy rename convert render translate summarize export import "
    "validate schedule cancel archive publish resolve merge upload download query read write open close lock"
).split()
THINGS = (
    "issue ticket page file folder invoice customer order booking calendar_event message channel table row query "
    "branch pull_request comment label image document spreadsheet contact note task deployment container key user team"
).split()
FIELDS = "id path query title body limit offset cursor start_index page owner repo channel url depth format".split()
PRODUCTS = "Northwind Kestrel Bluebook Halyard Quillon Tamarack Osprey Lanternfish Cobalt Meridian".split()
WHEN = (
    "the user asks about {thing}s",
    "you need the current {thing}",
    "the task mentions a {thing}",
    "another tool returned an identifier of a {thing}",
    "you are not sure which {thing} is meant",
)
USES = (
    "Use this tool when {when}.",
    "Use this when {when}. Do not use it to {verb} {thing}s.",
    "You should call this tool whenever {when}.",
    "Call this tool before {verb2}ing a {thing}.",
    "Only use this tool if {when}; otherwise use {other}.",
    "Prefer {other} if you only need the {field}.",
    "Always ask the user for confirmation before calling this tool.",
    "IMPORTANT: the {field} must be absolute. Use the {other} tool to find it.",
    "Run this tool first, then call {other} with the {field} that it returns.",
    "Returns the {thing} as JSON. Use your own judgement for the {field}.",
    "If the call fails, check the {field} and try again.",
    "Note for agents: this tool is read-only.",
    "This function must be called with a valid {field}.",
    "You can use the available tools to {verb} more than one {thing}.",
)
HINTS = (
    "<error>Content truncated. Call the {tool} tool with a start_index of {number} to get more content.</error>",
    "[Content truncated at {number} characters. Call the tool again with start_index={number} to read on.]",
    "Showing 1-{small} of {number} {thing}s. Call {tool} with {field}={small} to see the next page.",
    "Output too large ({number} lines). Use the offset and limit parameters to read specific parts of the {thing}.",
    "No {thing} found. Use the {other} tool to see what exists, or try another {field}.",
    "Error: {field} is required. Please provide a {field} and call {tool} again.",
    "The {thing} was created. To {verb} it, use the {other} tool with id {number}.",
    "Results are paginated: pass the cursor {cursor} to {tool} to continue.",
    "{small} more {thing}s were left out. Narrow the {field} or call the function again with a higher limit.",
    "Rate limit exceeded. Please wait {small} seconds before you call this tool again.",
    "Warning: {tool} is deprecated, use {other} instead.",
    "Command still running. Call {tool} with the session id {number} to read new output.",
    "Large result saved to /tmp/{thing}-{number}.json. Use the read_file tool to read it in parts.",
    "Tool {tool} is not available. Available tools: {tool2}, {other}, list_{thing}s.",
)
OTHERS = (
    "Domain Name: {product}{number}.ORG\nRegistrar: {product} Registry Ltd.\nName Server: NS1.{product}.NET\n"
    "Name Server: NS2.{product}.NET\nStatus: clientTransferProhibited",
    "Invoice {number}\nBill to: {product} GmbH\nTotal: {small}.50 EUR\nPlease pay by 14 March to the account below. "
    "Please quote invoice {number} with your payment.",
    "Reminder: invoice {number} is overdue. Please transfer the amount within {small} days.",
    "To install the {product} extension, enable developer mode in Chrome, drag the folder into the window and restart "
    "the browser.",
    "Enable developer mode in the settings of your {product} device, then connect it by USB.",
    "Turn on debug mode in {product} with --verbose and send us the log.",
    "{product} {small}.0 released. Upgrade with pip install -U {product_low}; read the notes before you migrate.",
    "The {tool} command takes one argument. Run {tool} --help to see the options, then run the command again.",
)


def tool_texts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield so many texts: descriptions, catalogues, hints, records and notices in turn."""
    draw = random.Random(seed)
    kinds = (_described, _catalogue, _hint, _as_json, _markdown, _notice, _objects, _yaml)
    for number in range(count):
        yield kinds[number % len(kinds)](draw)


def _words(draw: random.Random) -> dict[str, str]:
    verbs, things = draw.sample(VERBS, 3), draw.sample(THINGS, 3)
    product = draw.choice(PRODUCTS)
    words = {
        "verb": verbs[0],
        "verb2": verbs[1].removesuffix("e"),
        "thing": things[0].replace("_", " "),
        "field": draw.choice(FIELDS),
        "tool": f"{verbs[0]}_{things[0]}",
        "tool2": f"{verbs[1]}-{things[1]}".replace("_", "-"),
        "other": f"{verbs[2]}_{things[2]}s",
        "number": str(draw.randint(100, 90_000)),
        "small": str(draw.randint(2, 60)),
        "cursor": f"{draw.getrandbits(48):x}",
        "product": product,
        "product_low": product.lower(),
    }
    return words | {"when": draw.choice(WHEN).format(**words)}


def _description(draw: random.Random) -> tuple[str, str]:
    words = _words(draw)
    opening = f"{words['verb'].capitalize()} a {words['thing']} in {words['product']} by its {words['field']}."
    uses = " ".join(use.format(**words) for use in draw.sample(USES, draw.randint(1, 3)))
    return words["tool"], f"{opening} {uses}"


def _described(draw: random.Random) -> str:
    name, description = _description(draw)
    return f"{name}: {description}"


def _catalogue(draw: random.Random) -> str:
    rows = [_description(draw) for _ in range(draw.randint(3, 12))]
    return f"Found {len(rows)} tools:\n" + "\n".join(f"{n}. {name} - {text}" for n, (name, text) in enumerate(rows, 1))


def _hint(draw: random.Random) -> str:
    hint = draw.choice(HINTS).format(**_words(draw))
    prose = "The harbour was quiet. Two boats had come in before noon, and their crews had gone to eat.\n" * 3
    return draw.choice((hint, f"{prose}\n{hint}", f"{hint}\n\n{prose}"))


def _as_json(draw: random.Random) -> str:
    tools = []
    for _ in range(draw.randint(2, 9)):
        name, description = _description(draw)
        properties = {field: {"type": "string", "description": f"The {field} to use"} for field in FIELDS[:3]}
        tools.append({"name": name, "description": description, "inputSchema": {"properties": properties}})
    return json.dumps({"tools": tools}, indent=draw.choice((None, 2)))


def _markdown(draw: random.Random) -> str:
    rows = [_description(draw) for _ in range(draw.randint(2, 6))]
    return f"# {draw.choice(PRODUCTS)} server\n\n## Tools\n\n" + "\n".join(
        f"- **{name}**: {text}" for name, text in rows
    )


def _notice(draw: random.Random) -> str:
    return draw.choice(OTHERS).format(**_words(draw))


def _objects(draw: random.Random) -> str:
    places = [
        {
            "name": f"{draw.choice(VERBS).capitalize()} {draw.choice(PRODUCTS)}",
            "kind": draw.choice(THINGS),
            "name:en": "",
        }
        for _ in range(draw.randint(4, 30))
    ]
    return json.dumps(places)


def _yaml(draw: random.Random) -> str:
    name, description = _description(draw)
    head = f"name: {name}\ndescription: {description}\nversion: {draw.randint(1, 9)}.0"
    return f"---\n{head}\n---\n\n# {name}\n\n{description}"
