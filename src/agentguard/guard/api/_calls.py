"""Calls over HTTP: one that is judged, what a reviewer says of one, and the lasting changes that calls look like."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints

from agentguard.guard._guard import Guard, Judgement, Outcome
from agentguard.serving._app import Model
from agentguard.verification import Change
from agentguard.verification._changes import ChangeState
from agentguard.verification.types import Verdict

MOST: Final = 1_000  # characters of a name
ChangeId = Annotated[str, StringConstraints(pattern="^[0-9a-f]{12}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MOST)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Asked(Model):
    """A body of a request; a text is no number, and a number no text."""

    model_config = ConfigDict(extra="forbid", strict=True)


# --- One call ---


class VerifyRequest(Asked):
    """One executed call."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "tool": "get_weather",
                    "args": {"city": "Oslo"},
                    "result": {"city": "Oslo", "degrees": 18},
                    "execution_time_ms": 212.5,
                    "session_id": "chat-17",
                    "call_id": "call-3",
                }
            ]
        }
    )

    tool: Name = Field(description="The tool's name.")
    args: Any = Field(None, description="Its arguments, any JSON.")
    result: Any = Field(None, description="What it returned, any JSON; text that is JSON is read as JSON.")
    execution_time_ms: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="How long it took, in milliseconds; null where that is unknown."
    )
    session_id: Name | None = Field(None, description="Calls of one session are held against each other.")
    call_id: Name | None = Field(None, description="A name for this call, by which a label can find it.")
    is_error: bool = Field(False, description="The tool ran and failed, and the result is what it said.")
    learn: bool = Field(True, description="False judges the call and learns nothing from it.")


class Fired(Model):
    """A signal that speaks against the result."""

    name: str
    detail: str = Field(description="One sentence in plain words. It may name fields and values of the call.")
    score: Share = Field(description="How unusual that is.")
    likelihood_ratio: float = Field(description="P(this | fabricated) / P(this | genuine).")
    p_value: Share | None = Field(description="The share of genuine calls that look at least this unusual.")
    contribution: float = Field(description="What it added to the log-odds, in nats.")


class VerifyResponse(Model):
    """The verdict on a call, and what to do with its result."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "tool": "get_weather",
                    "call_id": "call-3",
                    "verdict": "accept",
                    "posterior": 0.0312,
                    "action": "pass",
                    "line": "",
                    "notice": "",
                    "hazard": "",
                    "explanation": "accept: P(fabricated) 0.031, prior 0.150",
                    "fired": [],
                    "redacted": [],
                    "change": None,
                    "asked": 0,
                }
            ]
        }
    )

    tool: str
    call_id: str | None
    verdict: Verdict | None = Field(
        description="null where the guard itself failed; the action then follows its policy."
    )
    posterior: Share | None = Field(description="P(the result is fabricated or corrupted).")
    action: Literal["pass", "observe", "annotate", "replace", "raise"] = Field(
        description="pass, observe: show the result. annotate: show it with the line after it. replace: show the "
        "notice in its place. raise: end the call with an error that says the notice."
    )
    line: str = Field(description="What to show after the result; empty for other actions than annotate.")
    notice: str = Field(description="What stands in the result's place, or that it could not be verified.")
    hazard: str = Field(description="What speaks against the result, in one line that repeats no phrase of it.")
    explanation: str = Field(description="The verdict in words, with the signals that moved it most.")
    fired: list[Fired]
    redacted: list[str] = Field(description="Kinds of content that were taken out of the result.")
    change: str | None = Field(description="The id of the lasting change of the tool that the call looks like.")
    asked: int = Field(ge=0, description="How often this very call had this very result before, and was not accepted.")
    result: Any = Field(
        None,
        description="What to show instead of the result: the notice, or the result without what was redacted. Missing "
        "where the result may be shown as it came.",
    )


def answered(guard: Guard, request: VerifyRequest) -> VerifyResponse:
    """Judge a call."""
    judgement = guard.judge(
        Outcome(
            request.tool, request.args, request.result, request.execution_time_ms, request.session_id, request.call_id,
            request.is_error, request.learn,
        )
    )  # fmt: skip
    action = action_of(guard, judgement)
    judged = judgement.result
    instead: dict[str, Any] = {}
    if judgement.action == "replace":
        instead["result"] = judgement.notice
    elif judgement.redact:
        instead["result"] = judgement.shown(request.result)
    return VerifyResponse(
        tool=request.tool,
        call_id=request.call_id,
        verdict=None if judged is None else judged.verdict,
        posterior=None if judged is None else judged.posterior,
        action=action,
        line=judgement.line,
        notice=judgement.notice,
        hazard=judgement.hazard,
        explanation=judgement.notice if judged is None else judged.explanation,
        fired=[]
        if judged is None
        else [
            Fired(
                name=name,
                detail=signal.detail,
                score=signal.score,
                likelihood_ratio=signal.likelihood_ratio,
                p_value=signal.p_value,
                contribution=judged.contributions.get(name, 0.0),
            )
            for name, signal in judged.signals.items()
            if signal.fired
        ],
        redacted=list(judgement.redact),
        change=None if judged is None else judged.change,
        asked=judgement.asked,
        **instead,
    )


def action_of(guard: Guard, judgement: Judgement) -> Literal["pass", "observe", "annotate", "replace", "raise"]:
    """The action as whoever made the call is to take it; nobody is asked over HTTP."""
    if judgement.action == "replace" and guard.on_block == "raise":
        return "raise"
    if judgement.action == "review":
        raise AssertionError("guard_part takes no guard that asks a person")
    return judgement.action


# --- A label ---


class FeedbackRequest(Asked):
    """What a reviewer found of a call."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tool": "get_weather", "call_id": "call-3", "was_hallucination": True}]}
    )

    tool: Name = Field(description="The tool's name.")
    was_hallucination: bool = Field(description="Whether the result was fabricated or corrupted.")
    call_id: Name | None = Field(
        None, description="As given to /v1/verify. Without it the label counts for the tool alone."
    )
    posterior: Share = Field(
        0.5, description="As /v1/verify answered; kept with the label, while the engine goes by what it had judged."
    )


class FeedbackResponse(Model):
    """The outcome of a label."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"counted": True, "note": ""}]})

    counted: bool = Field(description="It changed something; false for a label that says again what was said.")
    note: str = Field(description="What the label could not be related to, or what it replaces.")


# --- Changes ---


class ChangesQuery(Asked):
    """Which changes are asked for."""

    tool: Name | None = Field(None, description="Only those of this tool.")


class DecideRequest(Asked):
    """What a reviewer found of a lasting change."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "adopted"}]})

    state: Literal["adopted", "fault"] = Field(description="adopted: its results are genuine; fault: fabricated.")


class ShownChange(Model):
    """One lasting change of a tool's results; times are seconds since the epoch."""

    id: ChangeId
    tool: str
    state: ChangeState
    what: str = Field(description="What is odd about the results, in one sentence without a value of theirs.")
    traits: list[str]
    opened: float = Field(description="When its first call came.")
    since: float = Field(description="When its state began.")
    calls: int = Field(ge=0, description="How many calls looked like it.")
    blocked: int = Field(ge=0)
    reviewed: bool = Field(description="A person has decided what it is.")
    why: str = Field(description="Why the engine has followed it; empty in other states.")


class Changes(Model):
    """Lasting changes, the open ones first."""

    changes: list[ShownChange]


def shown_change(change: Change) -> ShownChange:
    """A change as it is answered."""
    return ShownChange(**change.as_dict())
