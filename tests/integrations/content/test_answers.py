"""What the model answers: redacted, flagged or withheld before it comes into the state."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, field_validator

from agentguard.errors import ResultBlocked
from agentguard.integrations.content import ContentGuardMiddleware

from ..langchain.scripted import ASK, THREAD, Run, ScriptedModel

ADDRESS, KEY = "ada@example.org", "AKIAY3KQ7DPLX2M5VWQN"


def answering(*answers: AIMessage, guard: ContentGuardMiddleware, **options: Any) -> Any:
    return create_agent(ScriptedModel(script=list(answers)), [], middleware=[guard], **options)


async def answer_of(run: Run, answer: AIMessage, guard: ContentGuardMiddleware) -> AIMessage:
    out = await run(answering(answer, guard=guard), ASK)
    message = out["messages"][-1]
    assert isinstance(message, AIMessage)
    return message


async def test_an_answer_is_redacted_with_all_that_repeats_it(run: Run) -> None:
    said = AIMessage(
        f"Write to {ADDRESS}.",
        additional_kwargs={"parsed": ADDRESS},
        response_metadata={"logprobs": [ADDRESS], "model_name": "m"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    message = await answer_of(run, said, ContentGuardMiddleware())

    assert message.content == "Write to <EMAIL_1>."
    assert ADDRESS not in message.model_dump_json()
    assert message.response_metadata["model_name"] == "m"
    assert message.usage_metadata == said.usage_metadata
    assert message.response_metadata["agentguard_content"]["found"]["pii"]["names"] == ["email"]


async def test_a_withheld_answer_says_why(run: Run) -> None:
    message = await answer_of(
        run, AIMessage(f"The key is {KEY}."), ContentGuardMiddleware(answers={"secrets": "block"})
    )
    assert message.content == "This answer was withheld: it holds secrets (aws_access_key_id)."


async def test_a_flagged_answer_stays(run: Run) -> None:
    message = await answer_of(run, AIMessage(f"Write to {ADDRESS}."), ContentGuardMiddleware(answers={"pii": "flag"}))
    assert message.content == f"Write to {ADDRESS}."
    assert message.response_metadata["agentguard_content"]["action"] == "flag"


@pytest.mark.parametrize("guard", [ContentGuardMiddleware(answers=None), ContentGuardMiddleware(shadow=True)])
async def test_answers_are_left_alone_where_nobody_asks(run: Run, guard: ContentGuardMiddleware) -> None:
    message = await answer_of(run, AIMessage(f"Write to {ADDRESS}."), guard)
    assert (message.content, message.response_metadata) == (f"Write to {ADDRESS}.", {})


async def test_a_clean_answer_stays_as_it_is(run: Run) -> None:
    message = await answer_of(run, AIMessage("done", id="m1", additional_kwargs={"a": 1}), ContentGuardMiddleware())
    assert message == AIMessage("done", id="m1", additional_kwargs={"a": 1})


async def test_blocks_are_redacted_and_reasoning_that_holds_it_is_left_out(run: Run) -> None:
    text = {"type": "text", "text": f"Write to {ADDRESS}.", "annotations": [{"cited_text": ADDRESS}]}
    blocks: list[Any] = [
        {"type": "thinking", "thinking": f"It is {ADDRESS}", "signature": "c2ln"},
        {"type": "thinking", "thinking": "Shall I say it?", "signature": "c2ln"},
        text,
    ]
    message = await answer_of(run, AIMessage(blocks), ContentGuardMiddleware())
    assert message.content == [blocks[1], {"type": "text", "text": "Write to <EMAIL_1>."}]


async def test_text_beside_calls_is_redacted_and_the_calls_stay(run: Run) -> None:
    def send(to: str) -> str:
        """Send something."""
        return f"sent to {len(to)} characters"

    call = {"name": "send", "args": {"to": ADDRESS}, "id": "c1", "type": "tool_call"}
    use = {"type": "tool_use", "name": "send", "input": {"to": ADDRESS}, "id": "c1"}
    turn = AIMessage([{"type": "text", "text": f"I write to {ADDRESS}"}, use], tool_calls=[call])
    model = ScriptedModel(script=[turn, AIMessage("done")])
    out = await run(create_agent(model, [send], middleware=[ContentGuardMiddleware()]), ASK)

    assert out["messages"][1].content == [{"type": "text", "text": "I write to <EMAIL_1>"}, use]
    assert out["messages"][1].tool_calls == [call]
    assert out["messages"][2].content == "sent to 15 characters"


async def test_no_checkpoint_ever_holds_the_answer_as_it_was(run: Run) -> None:
    graph = answering(AIMessage(f"Write to {ADDRESS}."), guard=ContentGuardMiddleware(), checkpointer=InMemorySaver())
    await run(graph, ASK, THREAD)
    history = list(graph.get_state_history(THREAD))
    assert len(history) > 1
    assert ADDRESS not in str(history)


async def test_states_and_updates_are_streamed_redacted(stream: Run) -> None:
    for mode in ("values", "updates"):
        graph = answering(AIMessage(f"Write to {ADDRESS}."), guard=ContentGuardMiddleware())
        chunks = await stream(graph, ASK, stream_mode=mode)
        assert "<EMAIL_1>" in str(chunks)
        assert ADDRESS not in str(chunks)


async def test_known_leak_the_tokens_of_an_answer_are_streamed_before_it_is_complete(stream: Run) -> None:
    graph = answering(AIMessage(f"Write to {ADDRESS}."), guard=ContentGuardMiddleware())
    assert ADDRESS in str(await stream(graph, ASK, stream_mode="messages"))


class Contact(BaseModel):
    name: str
    mail: str


class Strict(Contact):
    @field_validator("mail")
    @classmethod
    def has_an_at(cls, mail: str) -> str:
        if "@" not in mail:
            raise ValueError("no address")
        return mail


def structured(kind: type[BaseModel]) -> AIMessage:
    args = {"name": "Ada", "mail": ADDRESS}
    return AIMessage("", tool_calls=[{"name": kind.__name__, "args": args, "id": "c1", "type": "tool_call"}])


async def test_a_structured_response_is_redacted_wherever_it_stands(run: Run) -> None:
    graph = answering(structured(Contact), guard=ContentGuardMiddleware(), response_format=Contact)
    out = await run(graph, ASK)
    assert out["structured_response"] == Contact(name="Ada", mail="<EMAIL_1>")
    assert ADDRESS not in str(out)


@pytest.mark.parametrize(
    ("kind", "guard"),
    [(Strict, ContentGuardMiddleware()), (Contact, ContentGuardMiddleware(answers={"pii": "block"}))],
)
async def test_a_structured_response_that_cannot_be_replaced_ends_the_run(
    run: Run, kind: type[BaseModel], guard: ContentGuardMiddleware
) -> None:
    with pytest.raises(ResultBlocked, match=r"pii \(email\)") as raised:
        await run(answering(structured(kind), guard=guard, response_format=kind), ASK)
    assert ADDRESS not in str(raised.value)


@pytest.mark.parametrize(
    "guard", [ContentGuardMiddleware(answers={"pii": "flag"}), ContentGuardMiddleware({"pii": "block"}, shadow=True)]
)
async def test_a_structured_response_that_is_flagged_stays(run: Run, guard: ContentGuardMiddleware) -> None:
    out = await run(answering(structured(Strict), guard=guard, response_format=Strict), ASK)
    assert out["structured_response"] == Strict(name="Ada", mail=ADDRESS)
