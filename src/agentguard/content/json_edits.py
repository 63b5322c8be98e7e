"""What keeps a text from being JSON: each fault with its place, read off the text in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentguard.content.findings import Finding

__all__ = ["ESCAPE_QUOTE", "inner_quotes", "json_faults"]

ESCAPE_LINE_BREAK, ESCAPE_QUOTE = "escape a control character", "escape a quote"
# One alternative always matches from where the last ended, and each reads its characters once: linear on any text.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|\#[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z))
    |(?P<fence>```\w*)
    |(?P<string>"(?:[^"\\]|\\.)*(?:(?P<ended>")|\\?\Z))
    |(?P<single>'(?:[^'\\]|\\.)*(?:'|\\?\Z))
    |(?P<open>[{[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<word>[^\s{}\[\],:"][^\s{}\[\],:"]*)""",
    re.VERBOSE | re.DOTALL,
)
LITERAL = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,9})?)\Z")
COLON = re.compile(r"\s*:")
CONTROL = re.compile(r"[\x00-\x1f]+")
PAIR = {"{": "}", "[": "]"}
# A string that holds a Python literal, bare: it begins with brackets and a single quote, and ends where, brackets
# aside, the text ends or JSON goes on. Any string else ends at its next quote.
LITERAL_STRING = re.compile(r'"\s{0,32}[\[{(][\[{(\s]{0,32}\'')
STRING_PART = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
GOES_ON = re.compile(r'[}\]\s]*(?:\Z|,\s*(?:"|[\[{]\s*["\[{\d]))')


def json_faults(text: str) -> Iterator[Finding]:
    r"""Every fault that reading the text as JSON meets, in order; what stands outside the brackets counts once a run.

    >>> [(fault.kind, fault.start) for fault in json_faults("{a: 'it', // no\n}")]
    [('quote a key', 1), ('replace single quotes', 4), ('remove a comment', 10), ('remove a trailing comma', 8)]
    """
    stack: list[str] = []
    before, comma = "", 0  # what came last (comments aside), and where the last comma stands
    for match in TOKEN.finditer(text):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "comment" or (kind == "fence" and stack):
            yield Finding("remove a comment", "JSON has no comments", start, end)
            continue
        if not stack and kind != "open":
            if before != "outside":
                yield Finding("remove text around", "this stands outside the JSON", start, end)
            before = "outside"
            continue
        if kind in ("string", "single", "word", "open") and before in ("string", "single", "word", "close"):
            yield Finding("add a comma", "two values stand side by side", start, start)
        if kind == "open":
            stack.append(PAIR[match.group()])
        elif kind == "close":
            if before == "comma":
                yield Finding("remove a trailing comma", "nothing follows this comma", comma, comma + 1)
            if stack.pop() != match.group():
                yield Finding("mend a bracket", "another bracket was open here", start, end)
        elif kind == "comma":
            comma = start
        else:
            yield from _value_faults(text, kind, match, in_object=stack[-1] == "}")
        before = "outside" if kind == "close" and not stack else kind
    if stack:
        yield Finding("close a bracket", f"{len(stack)} left open at the end", len(text), len(text))


def _value_faults(text: str, kind: str, match: re.Match[str], *, in_object: bool) -> Iterator[Finding]:
    start, end = match.span()
    if kind == "single":
        yield Finding("replace single quotes", "JSON's quotes are double", start, end)
    if kind in ("string", "single"):
        yield from _line_breaks(text, start, end)
    if kind == "string" and match.group("ended") is None:
        yield Finding("close a string", "its last quote is missing", end, end)
    if kind == "word":
        if in_object and COLON.match(text, end):
            yield Finding("quote a key", "keys stand in quotes", start, end)
        elif not LITERAL.match(match.group()):
            yield Finding("mend a value", "neither a number, nor true, false or null", start, end)


def inner_quotes(text: str) -> list[int]:
    '''The double quotes left bare within strings that hold a Python literal, as a tool's printed answer does.

    >>> inner_quotes("""{"answer": "[{'name': "Ada's"}, 1]"}""")
    [22, 28]
    '''
    inner: list[int] = []
    position = 0
    while (start := text.find('"', position)) >= 0:
        literal = LITERAL_STRING.match(text, start) is not None
        position = start + 1
        while True:
            position = STRING_PART.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing, too
            if position >= len(text):
                break
            position += 1
            if not literal or GOES_ON.match(text, position):
                break
            inner.append(position - 1)
    return inner


def _line_breaks(text: str, start: int, end: int) -> Iterator[Finding]:
    """Line breaks and other control characters that stand bare in a string."""
    for match in CONTROL.finditer(text, start, end):
        yield Finding(ESCAPE_LINE_BREAK, "a string holds these escaped", *match.span())
