"""The state of a run as the plain dictionary of the published document, and agents, functions of that dictionary alone.

An agent reads keys of the dictionary, writes keys of its own into it, and returns nothing. What it writes under the
gate's own keys needs no more than the document shows: ``{"text": …}`` is a claim, ``{"label": …}`` a verdict.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, get_args

from agentguard.errors import GateError
from agentguard.gate._types import (
    UNREADABLE,
    Chunk,
    Claim,
    ClaimVerdict,
    Decision,
    Evidence,
    Label,
    Passage,
    Prompt,
    Quarantined,
    Reason,
    Response,
    Score,
)

if TYPE_CHECKING:
    from agentguard.gate._config import GateConfig
    from agentguard.gate._run import GateState, Services, Stage

Agent = Callable[[dict[str, Any]], None]
"""Takes the state as a dictionary, and changes it in place."""

#: The keys that the gate's own stages write, each with the least that an agent writes for an item.
FORMS: Final = {
    "prompts": "a list of texts",
    "responses": "a list of {prompt, response}, one a prompt",
    "claims": "a list of {text}",
    "evidence": "a list of {claim, documents}, one a claim, with documents of {content}",
    "verdicts": "a list of {label}, one a claim",
    "quarantined": "a list of {document, chunk_id, detail}",
    "score": "{risk, decision, total_claims, supported, weakly_supported, unsupported}",
}


# --- Configuration ---


def config_as_dict(config: GateConfig) -> dict[str, Any]:
    """A configuration with the document's ``thresholds`` and ``num_prompts``, and all else as the file has it.

    ``parse_config`` reads it back.
    """
    data = config.model_dump(mode="json")
    tolerance = data["risk_tolerance"]
    thresholds = {name: tolerance.pop(f"{name}_threshold") for name in ("deploy", "warn")}
    return data | {"thresholds": thresholds, "num_prompts": data["evaluation"].pop("num_prompts")}


# --- Values ---


def as_plain(state: GateState, key: str) -> Any:
    """What the state holds under a key, in the document's form; nothing that the state keeps can be changed by it."""
    value = state.read(key)
    if key == "prompts":
        return [prompt.text for prompt in value]
    if key == "responses":
        texts = {prompt.id: prompt.text for prompt in _written(state, "prompts")}
        return [
            {
                "prompt": texts.get(each.prompt_id, each.prompt_id),
                "response": each.text,
                "prompt_id": each.prompt_id,
            }
            for each in value
        ]
    claims = {claim.id: claim for claim in _written(state, "claims")}
    if key == "evidence":
        return [
            {
                "claim": asdict(claims[each.claim_id]) if each.claim_id in claims else {"id": each.claim_id},
                "documents": [document_of(passage.chunk) | {"score": passage.score} for passage in each.passages],
            }
            for each in value
        ]
    if key == "verdicts":
        return [
            {"claim": claims[each.claim_id].text if each.claim_id in claims else each.claim_id, **asdict(each)}
            for each in value
        ]
    if key == "score":
        return asdict(value) | {"risk": round(value.risk, 4)}
    return [asdict(each) for each in value] if key in FORMS else value


def from_plain(key: str, value: Any, state: GateState) -> Any:
    """What an agent wrote under one of the gate's own keys, as its stages hold it.

    Args:
        key: One of ``FORMS``.
        value: What the agent wrote.
        state: What was written before.

    Raises:
        GateError: If it is not of the key's form; what is in it is not quoted.
    """
    try:
        return _READERS[key](value, state)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise GateError(f"{key!r} must be {FORMS[key]}") from None


def document_of(chunk: Chunk) -> dict[str, Any]:
    """A passage as a document that a search has found: its text is the ``content``."""
    fields = asdict(chunk)
    return {"content": fields.pop("text"), **fields}


def chunk_of(document: Mapping[str, Any]) -> Chunk:
    """A document that a search has found as a passage. One without an id has that of its content.

    >>> chunk_of({"content": "Within 30 days."}).text
    'Within 30 days.'
    >>> chunk_of(document_of(chunk_of({"content": "Within 30 days."}))) == chunk_of({"content": "Within 30 days."})
    True
    """
    text = _text(document["content"])
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    given = {name: _text(document.get(name, "")) for name in ("id", "document", "title", "heading")}
    return Chunk(
        id=given["id"] or digest,
        document=given["document"] or given["title"] or digest,
        title=given["title"],
        heading=given["heading"],
        text=text,
        start=int(document.get("start", 0)),
        end=int(document.get("end", len(text))),
    )


def _prompts(value: Any, state: GateState) -> tuple[Prompt, ...]:
    return tuple(Prompt(f"p{number}", _text(text)) for number, text in enumerate(_list(value), 1))


def _responses(value: Any, state: GateState) -> tuple[Response, ...]:
    asked: Sequence[Prompt] = _written(state, "prompts")
    ids = [prompt.id for prompt in asked] or [f"p{number}" for number in range(1, len(_list(value)) + 1)]
    return tuple(
        Response(_text(each.get("prompt_id", key)), _text(each["response"]))
        for key, each in zip(ids, _list(value), strict=True)
    )


def _claims(value: Any, state: GateState) -> tuple[Claim, ...]:
    responses: Sequence[Response] = _written(state, "responses")
    claims = []
    for number, each in enumerate(_list(value), 1):
        text = _text(each["text"])
        # A claim that does not say where it is from: of the answer that has its words, or else of the first.
        saying = (response.prompt_id for response in responses if text in response.text)
        first = responses[0].prompt_id if responses else "p1"
        prompt_id = each.get("prompt_id") or next(saying, first)
        key = _text(each.get("id", f"{prompt_id}.c{number}"))
        claims.append(Claim(key, _text(prompt_id), text, int(each.get("start", -1)), int(each.get("end", -1))))
    return tuple(claims)


def _evidence(value: Any, state: GateState) -> tuple[Evidence, ...]:
    ids = _claim_ids(state, _list(value))
    return tuple(
        Evidence(
            key,
            tuple(
                # Without a score of its own, a passage has that of its rank.
                Passage(chunk_of(document), float(document.get("score", 1 / rank)))
                for rank, document in enumerate(each["documents"], 1)
            ),
        )
        for key, each in zip(ids, value, strict=True)
    )


def _verdicts(value: Any, state: GateState) -> tuple[ClaimVerdict, ...]:
    ids = _claim_ids(state, _list(value))
    return tuple(_verdict(key, each) for key, each in zip(ids, value, strict=True))


def _verdict(claim_id: str, given: Mapping[str, Any]) -> ClaimVerdict:
    reasons = tuple(
        Reason(**{name: _text(text) for name, text in reason.items()}) for reason in given.get("reasons", ())
    )
    label = next((known for known in _LABELS if known == given["label"]), None)
    if label is None:
        reasons = (Reason(UNREADABLE, "its label is none of the three: it counts as unsupported"), *reasons)
    return ClaimVerdict(
        claim_id,
        label or "unsupported",
        reasons or (Reason("agent", "the agent gave no reason"),),
        given.get("chunk_id"),
        _text(given.get("quote", "")),
        _text(given.get("judge", "agent")),
        _text(given.get("answer", "")),
    )


def _quarantined(value: Any, state: GateState) -> tuple[Quarantined, ...]:
    return tuple(Quarantined(**each) for each in _list(value))


def _score(value: Any, state: GateState) -> Score:
    score = Score(**{"reason": "an agent of one's own decided", **value})
    if score.decision not in get_args(Decision) or not 0 <= score.risk <= 1:
        raise ValueError
    return score


_LABELS: Final[tuple[Label, ...]] = get_args(Label)
_READERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "prompts": _prompts,
    "responses": _responses,
    "claims": _claims,
    "evidence": _evidence,
    "verdicts": _verdicts,
    "quarantined": _quarantined,
    "score": _score,
}


def _claim_ids(state: GateState, items: Sequence[Any]) -> list[str]:
    """The claims that items stand for, one each in their order."""
    return [claim.id for claim in _written(state, "claims")] or [f"p1.c{n}" for n in range(1, len(items) + 1)]


def _written(state: GateState, key: str) -> Any:
    return state.read(key) if key in state.written else ()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return value


# --- Agents ---


def is_agent(stage: Callable[..., Any]) -> bool:
    """Whether a stage takes the state alone: it cannot be called with two arguments.

    >>> is_agent(lambda state: None), is_agent(lambda state, services: None)
    (True, False)
    """
    try:
        inspect.signature(stage).bind(None, None)
    except TypeError:
        return True
    except ValueError:  # a function that does not say what it takes
        return False
    return False


def as_stage(agent: Agent, view: dict[str, Any]) -> Stage:
    """Make a stage of an agent.

    Args:
        agent: The agent.
        view: The dictionary that it is given, with what was written before in it.

    Returns:
        a stage of the agent's name. What the agent has added to the dictionary it writes to the state; where the agent
        has changed what was there, it raises.
    """

    def stage(state: GateState, services: Services) -> None:
        show(state, view)
        before, held = deepcopy(view), dict(view)
        agent(view)
        written = ("config", *state.written)
        for key in written:
            if key not in view or view[key] != before[key]:
                raise GateError(f"the state is append-only: {key!r} is already written")
        for key, value in view.items():
            # An empty list in place of another empty list is written, too.
            if key not in written and (value is not held.get(key) or value != before[key]):
                state.write(key, from_plain(key, value, state) if key in FORMS else value)

    stage.__name__ = name_of(agent)
    return stage


def name_of(stage: Callable[..., Any]) -> str:
    """A stage's name in the records: the function's, or the class of what is called like one."""
    return str(getattr(stage, "__name__", type(stage).__name__))


def show(state: GateState, view: dict[str, Any]) -> None:
    """Write all that the state holds into a dictionary, which has its configuration from the first."""
    view.setdefault("config", config_as_dict(state.config))
    view.update({key: as_plain(state, key) for key in state.written})
