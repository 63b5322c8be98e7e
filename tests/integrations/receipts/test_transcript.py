"""``verify_transcript`` tells executed from all else, in messages of any make."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.integrations.receipts import TranscriptFinding, seal, verify_transcript
from agentguard.verification.receipts import ReceiptSigner, ReceiptStatus

from ...rows import over

SIGNER = ReceiptSigner(b"a key that the tests share")
OTHER = ReceiptSigner(b"a key that somebody else has")
ISSUED = 1_000.0
ARGS = {"city": "Kew"}


def call(call_id: str = "c1", name: str = "weather", args: Any = ARGS) -> dict[str, Any]:
    return {"type": "ai", "content": "", "tool_calls": [{"name": name, "args": args, "id": call_id}]}


def result(
    content: Any = "18", call_id: str = "c1", *, signer: ReceiptSigner = SIGNER, session: str | None = "s", **stamp: Any
) -> dict[str, Any]:
    """A tool message as a guard leaves it."""
    message: dict[str, Any] = {"type": "tool", "content": content, "tool_call_id": call_id, "name": "weather"}
    sealed = seal(
        {"verdict": "accept", "executed": True, **stamp}, message, signer,
        tool="weather", args=ARGS, call_id=call_id, session_id=session, issued_at=ISSUED,
    )  # fmt: skip
    return {**message, "response_metadata": {"agentguard": sealed}}


def stamp_of(message: dict[str, Any]) -> dict[str, Any]:
    stamp: dict[str, Any] = message["response_metadata"]["agentguard"]
    return stamp


def restamped(**changes: Any) -> dict[str, Any]:
    message = result()
    return {**message, "response_metadata": {"agentguard": {**stamp_of(message), **changes}}}


def statuses(*messages: Any, **options: Any) -> list[ReceiptStatus]:
    given = {"session_id": "s", "now": ISSUED, **options}
    return [finding.status for finding in verify_transcript(messages, SIGNER, **given)]


def test_an_executed_result_is_found_with_its_place_and_verdict() -> None:
    found = verify_transcript([{"role": "user", "content": "go"}, call(), result()], SIGNER, now=ISSUED)

    assert found == [TranscriptFinding(2, "weather", "c1", ReceiptStatus.EXECUTED, "accept")]


KINDS = [
    pytest.param([call(), result()], ReceiptStatus.EXECUTED, id="executed and unaltered"),
    pytest.param([call(), {**result(), "content": "45"}], ReceiptStatus.ALTERED, id="another result"),
    pytest.param([call(), {**result(), "status": "error"}], ReceiptStatus.ALTERED, id="another status"),
    pytest.param([call(), {**result(), "status": ""}], ReceiptStatus.ALTERED, id="a status that is none"),
    pytest.param([call(), {**result(), "status": None}], ReceiptStatus.EXECUTED, id="no status"),
    pytest.param([call(), result("\ud800")], ReceiptStatus.EXECUTED, id="half a surrogate pair"),
    pytest.param([call(), {**result("\ud800"), "content": "?"}], ReceiptStatus.ALTERED, id="a mark in its place"),
    pytest.param([call(), {**result(2**70), "content": str(2**70)}], ReceiptStatus.ALTERED, id="digits as text"),
    pytest.param([call(), {**result([b"x"]), "content": ["x"]}], ReceiptStatus.MISSING, id="what cannot be signed"),
    pytest.param([call(), {**result("x"), "content": [b"x"]}], ReceiptStatus.ALTERED, id="altered to what cannot be"),
    pytest.param([call("c\ud800"), result(call_id="c\ud800")], ReceiptStatus.EXECUTED, id="half a pair in the id"),
    pytest.param(
        [call("c?"), {**result(call_id="c\ud800"), "tool_call_id": "c?"}],
        ReceiptStatus.OTHER_CALL,
        id="a mark for half a pair in the id",
    ),
    pytest.param([call(), {**result(), "name": "news"}], ReceiptStatus.ALTERED, id="another tool"),
    pytest.param([call(args={"city": "Rome"}), result()], ReceiptStatus.ALTERED, id="other arguments"),
    pytest.param([result()], ReceiptStatus.ALTERED, id="its call removed"),
    pytest.param([call(), restamped(verdict="block")], ReceiptStatus.ALTERED, id="another verdict"),
    pytest.param([call(), restamped(executed=False)], ReceiptStatus.ALTERED, id="another claim"),
    pytest.param([call(), result(executed=False)], ReceiptStatus.MISSING, id="given by a cache or a person"),
    pytest.param([call(), {**result(), "response_metadata": {}}], ReceiptStatus.MISSING, id="no stamp"),
    pytest.param([call(), restamped(receipt=None)], ReceiptStatus.MISSING, id="no receipt"),
    pytest.param([call(), result(signer=OTHER)], ReceiptStatus.FORGED, id="another key"),
    pytest.param([call(), restamped(receipt="v2.e30.0")], ReceiptStatus.FORGED, id="no receipt of ours"),
    pytest.param([call(), restamped(receipt=7)], ReceiptStatus.FORGED, id="no text"),
    pytest.param([call("c2"), {**result(), "tool_call_id": "c2"}], ReceiptStatus.OTHER_CALL, id="of another call"),
    pytest.param([call(), result(session="t")], ReceiptStatus.OTHER_SESSION, id="of another session"),
]


@over(("messages", "status"), KINDS)
def test_each_kind_is_told_apart(messages: list[Any], status: ReceiptStatus) -> None:
    assert statuses(*messages) == [status]


def test_a_result_shown_twice_is_replayed_the_second_time() -> None:
    once = result()

    assert statuses(call(), once, call(), once) == [ReceiptStatus.EXECUTED, ReceiptStatus.OTHER_CALL]


@over(("age", "status"), [
        (60.0, ReceiptStatus.EXECUTED), (60.5, ReceiptStatus.EXPIRED), (math.nan, ReceiptStatus.EXPIRED),
        (-60.0, ReceiptStatus.EXECUTED), (-60.5, ReceiptStatus.AHEAD),
    ])  # fmt: skip
def test_a_receipt_holds_for_its_age(age: float, status: ReceiptStatus) -> None:
    assert statuses(call(), result(), now=ISSUED + age, max_age=60.0) == [status]
    assert statuses(call(), result(), now=ISSUED + 1e9) == [ReceiptStatus.EXECUTED]


def test_without_a_session_the_first_genuine_receipts_is_taken() -> None:
    messages = [
        call("c0"), result(call_id="c0", session="x", signer=OTHER),
        call(), result(session="s"),
        call("c2"), result(call_id="c2", session="t"),
    ]  # fmt: skip

    assert statuses(*messages, session_id=None) == [
        ReceiptStatus.FORGED,
        ReceiptStatus.EXECUTED,
        ReceiptStatus.OTHER_SESSION,
    ]


def test_a_verdict_is_reported_only_where_its_signature_holds() -> None:
    messages = [call(), restamped(posterior=0.0), call("c2"), result(call_id="c2", executed=False)]
    altered, given = verify_transcript(messages, SIGNER, session_id="s", now=ISSUED)

    assert (altered.verdict, given.verdict) == (None, "accept")


def openai_call() -> dict[str, Any]:
    function = {"name": "weather", "arguments": json.dumps(ARGS)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def as_objects(message: dict[str, Any]) -> Any:
    return SimpleNamespace(**message)


def envelope(message: dict[str, Any], name: str) -> dict[str, Any]:
    """As LangChain's ``dumpd`` writes messages."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": message}


def dump(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": message["type"], "data": message}


MAKES = [
    pytest.param([openai_call(), {**result(), "type": None, "role": "tool"}], id="OpenAI's dicts"),
    pytest.param([as_objects(call()), as_objects(result())], id="objects"),
    pytest.param([dump(call()), dump(result())], id="LangChain's dump"),
    pytest.param([envelope(call(), "AIMessage"), envelope(result(), "ToolMessage")], id="LangChain's other dump"),
    pytest.param([{**call(), "type": "AIMessageChunk"}, {**result(), "type": "ToolMessageChunk"}], id="chunks"),
    pytest.param([call(), {**result(), "name": None}], id="a message without the tool's name"),
]


@over("messages", MAKES)
def test_messages_of_any_make_are_read(messages: list[Any]) -> None:
    assert statuses(*messages) == [ReceiptStatus.EXECUTED]


#: What one framework shows the model is not all that another one would.
TWOFOLD = [
    pytest.param([call(), {**result(), "role": "tool", "type": "human"}], ReceiptStatus.EXECUTED, id="role and type"),
    pytest.param([call(), {**result(), "role": "user"}], ReceiptStatus.EXECUTED, id="type and role"),
    pytest.param(
        [call(), {"role": "tool", "type": "ai", "content": "45", "tool_call_id": "c1"}],
        ReceiptStatus.MISSING, id="a forged one under two names",
    ),
    pytest.param(
        [call(), {**result(), "data": {**result(), "content": "45"}}], ReceiptStatus.ALTERED, id="a dump in a message",
    ),
    pytest.param(
        [{**call(), "data": call(args={"city": "Rome"})}, result()], ReceiptStatus.ALTERED, id="a dump in a call",
    ),
    pytest.param(
        [call(), {**envelope({"type": "human", "content": "hello"}, "HumanMessage"), "role": "tool", "content": "45"}],
        ReceiptStatus.MISSING, id="a dump around a message",
    ),
    pytest.param(
        [call(), {**envelope({**result(), "content": "45"}, "ToolMessage"), "content": "hello"}],
        ReceiptStatus.ALTERED, id="a message around a dump",
    ),
]  # fmt: skip


@over(("messages", "status"), TWOFOLD)
def test_a_message_that_can_be_read_in_two_ways_is_held_to_both(messages: list[Any], status: ReceiptStatus) -> None:
    assert statuses(*messages) == [status]


class Rude:
    type = "tool"

    @property
    def content(self) -> Any:
        raise RuntimeError("no content")


class Nameless(Rude):
    content = ""

    class Id:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    tool_call_id = Id()


@pytest.mark.parametrize("message", [Rude(), Nameless()], ids=["a field", "an id"])
def test_a_message_whose_own_code_fails_is_an_error_that_says_which(message: Any) -> None:
    if not isinstance(message, Nameless):
        message.response_metadata = {"agentguard": stamp_of(result(call_id=""))}
    with pytest.raises(DataError, match=r"^message 1 of the transcript cannot be read: RuntimeError$"):
        verify_transcript([call(), message], SIGNER, session_id="s")


def test_langchains_own_messages_round_trip() -> None:
    from langchain_core.messages import AIMessage, ToolMessage, messages_from_dict, messages_to_dict

    turn = AIMessage("", tool_calls=[{"name": "weather", "args": ARGS, "id": "c1"}])
    answer = ToolMessage(**{key: value for key, value in result().items() if key != "type"})
    dumped = json.loads(json.dumps(messages_to_dict([turn, answer])))

    assert (
        statuses(turn, answer) == statuses(*dumped) == statuses(*messages_from_dict(dumped)) == [ReceiptStatus.EXECUTED]
    )


def test_arguments_that_are_no_json_are_taken_as_they_are() -> None:
    broken = openai_call()
    broken["tool_calls"][0]["function"]["arguments"] = "{city"

    assert statuses(broken, {**result(), "role": "tool"}) == [ReceiptStatus.ALTERED]


ARGUMENTS = [
    ('{"n": 1180591620717411303424}', {"n": 2**70}),
    ('{"n": NaN}', {"n": math.nan}),
    ('{"n": "\\ud800"}', {"n": "\ud800"}),
    ('{"n": "a\nb"}', {"n": "a\nb"}),
    ('{"n": 1.0}', {"n": 1.0}),
]


@over(("text", "args"), ARGUMENTS)
def test_arguments_are_read_as_frameworks_read_them(text: str, args: Any) -> None:
    asked = openai_call()
    asked["tool_calls"][0]["function"]["arguments"] = text
    message: dict[str, Any] = {"role": "tool", "content": "18", "tool_call_id": "c1", "name": "weather"}
    names: Any = {"tool": "weather", "call_id": "c1", "session_id": "s", "issued_at": ISSUED}
    sealed = seal({"verdict": "accept", "executed": True}, message, SIGNER, args=args, **names)
    answer = {**message, "response_metadata": {"agentguard": sealed}}

    assert statuses(asked, answer) == [ReceiptStatus.EXECUTED]
    asked["tool_calls"][0]["function"]["arguments"] = text.replace("n", "m")
    assert statuses(asked, answer) == [ReceiptStatus.ALTERED]


def test_what_cannot_be_signed_keeps_its_verdict_without_a_receipt(caplog: pytest.LogCaptureFixture) -> None:
    signer = ReceiptSigner(b"a key that is told of nothing")
    stamps = [stamp_of(result([{"a secret": b"a secret"}], signer=signer)) for _ in "12"]

    assert stamps == [{"verdict": "accept", "executed": True}] * 2
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "a result of 'weather' has no receipt, for shown cannot be signed: a bytes is"
    )
    assert "secret" not in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(["type", "role", "content", "tool_calls", "tool_call_id", "name",
    "response_metadata", "data", "kwargs", "id"]), JSON | st.sampled_from(["tool", "ai", "constructor"]))))  # fmt: skip
def test_no_transcript_is_too_odd(messages: list[dict[str, Any]]) -> None:
    assert all(finding.status is not ReceiptStatus.EXECUTED for finding in verify_transcript(messages, SIGNER))


@given(JSON, JSON)
def test_whatever_was_signed_is_recognised_and_a_change_is_seen(content: Any, other: Any) -> None:
    signed, as_text = [call(), result(content)], json.dumps(content, sort_keys=True)

    assert statuses(*signed) == statuses(*json.loads(json.dumps(signed))) == [ReceiptStatus.EXECUTED]
    if as_text != json.dumps(other, sort_keys=True):
        assert statuses(call(), {**result(content), "content": other}) == [ReceiptStatus.ALTERED]
