"""Texts over HTTP: what is found in one, what an answer says that no result does, and both with all other detectors.

A finding says where it stands and never what stands there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field

from agentguard import _forks as forks
from agentguard._limits import LIMITS
from agentguard.content._findings import KINDS, LABEL, Finding, Kind
from agentguard.guard.api._calls import Asked, Name, Share
from agentguard.serving._app import Model, ProblemError

MAX_DEPTH: Final = 200  # levels of a value, as for redaction
PRIVATE: Final[tuple[Kind, ...]] = ("pii", "secrets")
MOST_RESULTS: Final = 1_000
Offset = Annotated[int, Field(ge=0)]


# --- Findings ---


class ScanRequest(Asked):
    """A text or a value, as a model would read it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": {"mail": "ada@example.org"}, "redact": True}]})

    value: Any = Field(description="A text, or any JSON, whose texts are looked through behind their fields' names.")
    kinds: list[Kind] = Field(list(KINDS), min_length=1, description="What to look for.")
    at_least: Share = Field(0.5, description="How certain personal data and secrets must be.")
    redact: bool = Field(
        False, description="Answer the value too, with placeholders for those of personal data and secrets looked for."
    )


class Place(Model):
    """One finding, and where it stands."""

    kind: Kind
    name: str = Field(description="What it is, by the detector's own names.")
    detail: str = Field(description="Why it counts; it quotes no word of the text but a pattern's own.")
    path: str = Field(
        description="A JSON Pointer to the text; empty for a value that is a text. A name that holds a finding is *."
    )
    start: Offset = Field(description="In characters of that text.")
    end: Offset


class KindFound(Model):
    """The findings of one kind together."""

    label: str = Field(description="clean, suspicious or injection; clean or pii; clean or secret.")
    score: Share
    count: Offset


class ScanResponse(Model):
    """What was found."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "outcome": "flag",
                    "kinds": {"pii": {"label": "pii", "score": 0.9, "count": 1}},
                    "findings": [
                        {
                            "kind": "pii", "name": "email", "detail": "the form of an e-mail address",
                            "path": "/mail", "start": 0, "end": 15,
                        }
                    ],
                    "complete": True,
                    "redacted": {"mail": "<EMAIL_1>"},
                }
            ]
        }
    )  # fmt: skip

    outcome: Literal["accept", "flag", "block"] = Field(
        description="block for an injection or a secret; flag for personal data and what is suspicious."
    )
    kinds: dict[str, KindFound]
    findings: list[Place] = Field(description="In the order of the value, 10,000 of a kind at most.")
    complete: bool = Field(description="All of the value was looked through, and all that was found is told.")
    redacted: Any = Field(default=None, description="The value with placeholders, where that was asked for.")


def scan(request: ScanRequest) -> ScanResponse:
    """Look through a value.

    Raises:
        ProblemError: for what cannot be redacted.
    """
    text = Spread.of(request.value)
    found = findings_in(text.text, request.kinds, at_least=request.at_least, tools=())
    places = [text.place(kind, finding) for kind, result in found.items() for finding in result.findings]
    named = {place.text.path for place in places if place.text.is_name and place.kind in PRIVATE}
    answer = ScanResponse(
        outcome=outcome_of(found),
        kinds={
            kind: KindFound(label=result.label, score=result.score, count=len(result.findings))
            for kind, result in found.items()
        },
        findings=[place.shown(named) for place in sorted(places, key=lambda place: place.order)],
        complete=text.complete and not any(_is_cut(result) for result in found.values()),
    )
    private = [kind for kind in PRIVATE if kind in request.kinds]
    if request.redact and private:
        answer.redacted = _redacted(request.value, private, request.at_least)
    return answer


def _redacted(value: Any, kinds: Collection[Kind], at_least: float) -> Any:
    """The value with placeholders for all that is found of these kinds."""
    from agentguard.content._redaction import redact_value

    def find(text: str) -> list[Finding]:
        found = findings_in(text, kinds, at_least=at_least, tools=())
        if any(_is_cut(result) for result in found.values()):
            detail = f"what holds {LIMITS.findings:,} findings of a kind or more cannot be redacted in one piece"
            raise ProblemError(422, "cannot-redact", detail)
        return [finding for result in found.values() for finding in result.findings]

    return redact_value(value, find, max_depth=MAX_DEPTH).value


def findings_in(
    text: str, kinds: Collection[Kind], *, at_least: float = 0.5, tools: Iterable[str] | None = None
) -> Mapping[Kind, Any]:
    """Look through a text; the detectors' results by kind. ``tools`` as for ``agentguard.content.injection.scan``."""
    with forks.undivided():
        from agentguard.content._scanner import Scanner  # with all its patterns

        results = Scanner(kinds, at_least=at_least).scan(text, tools=tools, most=LIMITS.findings)
    return {kind: results[kind] for kind in KINDS if kind in results}


def outcome_of(found: Mapping[Kind, Any]) -> Literal["accept", "flag", "block"]:
    """The gravest outcome, as ``agentguard.content.check`` has it."""
    labels = {kind: result.label for kind, result in found.items() if result.label != "clean"}
    if labels.get("injection") == "injection" or "secrets" in labels:
        return "block"
    return "flag" if labels else "accept"


def _is_cut(result: Any) -> bool:
    return getattr(result, "more", False) or len(result.findings) >= LIMITS.findings


class _Text(NamedTuple):
    """A text of a value: where it begins and ends among all, and the way to it."""

    start: int
    end: int
    path: tuple[str, ...]
    is_name: bool


class _Place(NamedTuple):
    """A finding in one text of a value."""

    kind: Kind
    finding: Finding
    text: _Text
    order: int

    def shown(self, named: Collection[tuple[str, ...]]) -> Place:
        start, end, path, _ = self.text
        steps = [
            "*" if path[: depth + 1] in named else step.replace("~", "~0").replace("/", "~1")
            for depth, step in enumerate(path)
        ]
        return Place(
            kind=self.kind,
            name=self.finding.kind,
            detail=self.finding.detail,
            path="".join(f"/{step}" for step in steps),
            start=min(max(self.finding.start, start), end) - start,
            end=min(max(self.finding.end, start), end) - start,
        )


class Spread:
    r"""The texts of a value in one text, a line each behind the name of its field, and the way back.

    >>> spread = Spread.of({"to": ["ada@example.org"], "n": 2})
    >>> spread.text
    'to\nto: ada@example.org\nn\nn: 2\n'
    """

    def __init__(self) -> None:
        self.complete = True
        self._pieces: list[str] = []
        self._texts: list[_Text] = []
        self._ends: list[int] = []
        self._length = 0

    @classmethod
    def of(cls, value: Any) -> Spread:
        """Lay out a value; of what is too large or too deep, the first part."""
        spread = cls()
        if isinstance(value, str):
            spread._add("", value, ())
        else:
            spread._gather(value, "", ())
        return spread

    @property
    def text(self) -> str:
        """All texts together."""
        return "".join(self._pieces)

    def place(self, kind: Kind, finding: Finding) -> _Place:
        """The text of a value that a finding stands in; of several the one that has most of it."""
        number = min(bisect_right(self._ends, finding.start), len(self._texts) - 1)
        last = min(bisect_left(self._ends, finding.end), len(self._texts) - 1)
        text = max(self._texts[number : last + 1], key=lambda text: _shared(text, finding))
        return _Place(kind, finding, text, finding.start)

    def _add(self, label: str, text: str, path: tuple[str, ...], *, is_name: bool = False) -> None:
        if self._length + len(text) > LIMITS.bytes or len(self._texts) >= LIMITS.values:
            self.complete = False
            return
        start = self._length + len(label)
        self._texts.append(_Text(start, start + len(text), path, is_name))
        self._ends.append(start + len(text))
        self._pieces += (label, text, "\n")
        self._length = start + len(text) + 1

    def _gather(self, value: Any, label: str, path: tuple[str, ...]) -> None:
        if isinstance(value, str) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            self._add(label, _written(value), path)
        elif isinstance(value, (dict, list)):
            if len(path) >= MAX_DEPTH:
                self.complete = False
                return
            items: Iterable[tuple[str, Any]] = value.items() if isinstance(value, dict) else _numbered(value)
            for name, item in items:
                if not self.complete:
                    return
                inside = (*path, name)
                if isinstance(value, dict):
                    self._add("", name, inside, is_name=True)
                self._gather(item, f"{name}: " if isinstance(value, dict) else label[-LABEL:], inside)


def _shared(text: _Text, finding: Finding) -> int:
    """How many characters of a finding stand in a text."""
    return min(finding.end, text.end) - max(finding.start, text.start)


def _numbered(items: list[Any]) -> Iterable[tuple[str, Any]]:
    return ((str(number), item) for number, item in enumerate(items))


def _written(value: str | int | float) -> str:
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return ""


# --- Grounding ---


class MadeCall(Asked):
    """A call that was made."""

    tool: Name = Field(description="The tool's name.")
    args: Any = Field(None, description="Its arguments, any JSON.")
    result: Any = Field(None, description="What it returned, any JSON, or text; of a failed call the error.")
    failed: bool = Field(False, description="The tool, or who ran it, says that it failed.")


class KnownTool(Asked):
    """A tool that the agent has."""

    name: Name
    description: str = Field("", description="In its own words.")
    arguments: list[str] = Field([], max_length=MOST_RESULTS, description="The names of its arguments.")
    does: list[str] = Field(
        [], max_length=MOST_RESULTS, description="Verbs, each with its object, for what it does: send email."
    )


class GroundRequest(Asked):
    """An answer, and what it rests on: results, or calls."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "answer": "The Aurora costs 650 a night.",
                    "results": [{"hotel": "Aurora", "price": 65.0}],
                    "args": [{"city": "Oslo"}],
                    "question": "What does the Aurora cost?",
                },
                {
                    "answer": "All tests pass, and I emailed the report to Ada.",
                    "calls": [{"tool": "run_tests", "args": {"path": "tests"}, "result": "3 failed, 45 passed"}],
                    "tools": [{"name": "send_email", "description": "Sends an e-mail."}],
                },
            ]
        }
    )

    answer: str = Field(description="The answer as its reader sees it.")
    results: list[Any] = Field(
        [], max_length=MOST_RESULTS, description="The tools' results in the order of their calls."
    )
    args: list[Any] = Field(
        [], max_length=MOST_RESULTS, description="Arguments of the calls; their values count as given."
    )
    question: str | None = Field(None, description="What was asked; its values count as given.")
    calls: list[MadeCall] | None = Field(
        None,
        max_length=MOST_RESULTS,
        description="The calls that were made, in their order: what the answer says was done is held against them. "
        "Their results and arguments are sources of its values; results and args given beside them count as given.",
    )
    tools: list[KnownTool] = Field(
        [], max_length=MOST_RESULTS, description="The tools that the agent has, in their own words; only with calls."
    )


class Unsupported(Model):
    """A claim that nothing supports."""

    kind: str = Field(description="unsupported number, … date, … identifier, … name; misattributed number, … date.")
    detail: str = Field(description="Why, with the nearest value that the results have.")
    start: Offset = Field(description="In characters of the answer.")
    end: Offset


class Supported(Model):
    """A claim, and what supports it."""

    kind: str
    start: Offset
    end: Offset
    source: int | None = Field(
        description="The position of the result; negative for what was asked or given; null for a calculation."
    )
    path: str = Field(description="Where in the result; empty in prose.")
    how: str = Field(description="as written, rounded, converted, …")


class Claim(Model):
    """What the answer says was done."""

    start: Offset = Field(description="In characters of the answer.")
    end: Offset
    verdict: Literal["supported", "contradicted", "never called", "not checkable"]
    call: int | None = Field(description="The position of the call that supports or contradicts it; null without one.")
    reason: str = Field(description="Why, in a sentence.")


class GroundResponse(Model):
    """An answer's claims, traced."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "label": "partly grounded",
                    "score": 0.4,
                    "unsupported": [
                        {
                            "kind": "unsupported number",
                            "detail": "the answer says '650'; the nearest that results have is 65 at price",
                            "start": 17,
                            "end": 20,
                        }
                    ],
                    "supported": [
                        {"kind": "name", "start": 4, "end": 10, "source": 0, "path": "hotel", "how": "as written"}
                    ],
                    "complete": True,
                }
            ]
        }
    )

    label: str = Field(description="grounded, partly grounded, ungrounded, or nothing to trace.")
    score: Share = Field(description="The share of what is claimed that nothing supports.")
    unsupported: list[Unsupported]
    supported: list[Supported]
    complete: bool = Field(description="All results and all claims were read.")
    actions: Literal["supported", "unsupported", "nothing claimed"] | None = Field(
        default=None, description="All claims of action together; only with calls."
    )
    claims: list[Claim] | None = Field(
        default=None, description="What the answer says was done, in its order; only with calls."
    )


def ground(request: GroundRequest) -> GroundResponse:
    """Trace the values of an answer, and hold what it says was done against the calls, where these are given."""
    from agentguard.content import actions, grounding
    from agentguard.content._results import text_of

    held: dict[str, Any] = {}
    given = [text_of(args) for args in request.args]
    with forks.undivided():
        if request.calls is None:
            traced = grounding.check(request.answer, request.results, question=request.question, given=given)
        else:
            result = actions.check(
                request.answer,
                [actions.Call(call.tool, call.args, call.result, call.failed) for call in request.calls],
                [
                    actions.Tool(tool.name, tool.description, tuple(tool.arguments), tuple(tool.does))
                    for tool in request.tools
                ],
                question=request.question,
                given=[*given, *map(text_of, request.results)],
            )
            traced = result.values
            claims = [
                Claim(start=each.start, end=each.end, verdict=each.verdict, call=each.call, reason=each.reason)
                for each in result.claims
            ]
            held = {"actions": result.label, "claims": claims}
    return GroundResponse(
        label=traced.label,
        score=traced.score,
        unsupported=[
            Unsupported(kind=each.kind, detail=each.detail, start=each.start, end=each.end) for each in traced.findings
        ],
        supported=[
            Supported(kind=each.kind, start=each.start, end=each.end, source=each.source, path=each.path, how=each.how)
            for each in traced.supported
        ],
        complete=traced.complete,
        **held,
    )


# --- One text by all detectors ---


class CheckRequest(Asked):
    """A text, with what is known of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "Mail ada@example.org: it is 7 degrees.",
                    "results": [{"city": "Oslo", "temperature": 7}],
                }
            ]
        }
    )

    text: str = Field(description="The text, an answer of a model for example.")
    prompt: str | None = Field(None, description="What it answers, with all that it may draw on.")
    results: list[Any] | None = Field(None, max_length=MOST_RESULTS, description="The tools' results that it rests on.")
    is_json: bool = Field(False, description="The text is to be JSON; it is mended where need is.")


class Found(Model):
    """One finding, and where it stands."""

    kind: str
    detail: str
    start: int
    end: int


class Part(Model):
    """The result of one detector."""

    label: str = Field(description="The detector's own word.")
    score: float = Field(description="The detector's own score; what is good differs.")
    outcome: Literal["accept", "flag", "block"] | None = Field(
        description="What should be done by it; null for a heuristic, which decides nothing by itself."
    )
    findings: list[Found]


class CheckResponse(Model):
    """The results of all detectors that apply."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "outcome": "flag",
                    "parts": {
                        "pii": {
                            "label": "pii",
                            "score": 0.9,
                            "outcome": "flag",
                            "findings": [
                                {"kind": "email", "detail": "the form of an e-mail address", "start": 5, "end": 20}
                            ],
                        }
                    },
                }
            ]
        }
    )

    outcome: Literal["accept", "flag", "block"] = Field(description="The gravest outcome of any.")
    parts: dict[str, Part] = Field(description="By the detector's name.")
    value: Any = Field(default=None, description="The JSON value that was asked for.")


def check(request: CheckRequest) -> CheckResponse:
    """Look at a text by every detector that applies but rules of form; see ``agentguard.content.check``."""
    with forks.undivided():
        from agentguard.content._checking import check as check_text

    checked = check_text(request.text, prompt=request.prompt, tool_results=request.results, is_json=request.is_json)
    answer = CheckResponse(
        outcome=checked.outcome,
        parts={
            name: Part(
                label=part.label,
                score=part.score,
                outcome=part.outcome,
                findings=[
                    Found(kind=each.kind, detail=each.detail, start=each.start, end=each.end) for each in part.findings
                ],
            )
            for name, part in checked.parts.items()
        },
    )
    if request.is_json:
        answer.value = checked.value
    return answer
