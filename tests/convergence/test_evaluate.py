"""One judge: its answer against the rules, and every way in which it can fail. Sync and async."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from agentguard.convergence import (
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    Issue,
    aevaluate,
    evaluate,
)
from agentguard.errors import ConfigurationError

Session = Callable[..., ConvergenceContext]
Judge = Callable[..., Awaitable[ConvergenceEvaluation]]
Scripted = Callable[..., Any]
Answer = Callable[..., str]


async def test_model_and_rules_pass(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    told = await judge(session(), scripted(answer()))

    assert told.passed
    assert told.accord == "both_pass"
    assert told.confidence == "high"
    assert told.reasoning == "Every path was followed."
    assert told.evidence == ("the lock is taken before the read",)
    assert told.quality_score == 88
    assert told.category_scores["PERFORMANCE"] == 70
    assert (told.gaps, told.more_rounds_recommended, told.recommended_focus_areas) == ((), False, ())


async def test_model_vetoes(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    reply = answer(
        passed=False, gaps=["no negative tests"], moreRoundsRecommended=True, recommendedFocusAreas=["login.py"]
    )
    told = await judge(session(), scripted(reply))

    assert not told.passed
    assert told.accord == "model_veto"
    assert told.rules.passed
    assert told.gaps == ("no negative tests",)
    assert told.recommended_focus_areas == ("login.py",)


@pytest.mark.parametrize("severity", ["CRITICAL", "HIGH"])
async def test_model_never_overrules_a_veto(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer, severity: str
) -> None:
    context = session(issues=(Issue("I1", severity, "SECURITY"),))
    told = await judge(context, scripted(answer()), ConvergenceConfig(rules="veto"))

    assert not told.passed
    assert told.accord == "rules_veto"
    assert told.more_rounds_recommended
    assert told.gaps == (f"open and severe: 'I1' ({severity})",)
    assert told.reasoning.startswith("Every path was followed.\nThe rules overrule this.")


async def test_model_and_rules_fail(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    told = await judge(session(current_round=1, stable_rounds=1), scripted(answer(passed=False)))

    assert not told.passed
    assert told.accord == "both_fail"


async def test_the_library_s_own_fake_model(judge: Judge, session: Session, answer: Answer) -> None:
    told = await judge(session(), GenericFakeChatModel(messages=iter([AIMessage(f"```json\n{answer()}\n```")])))

    assert told.passed


async def test_what_the_model_is_asked(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    model = scripted(answer())
    await judge(session(requirements="{x} %s {{y}}"), model)

    assert [message.type for message in model.asked[0]] == ["system", "human"]
    assert "\n{x} %s {{y}}\n" in model.asked[0][1].content
    assert model.settings == [{"temperature": 0.3, "max_tokens": 2000}]


async def test_settings_left_to_the_model(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    model = scripted(answer(), answer())
    await judge(session(), model, ConvergenceConfig(temperature=None, max_tokens=50))
    await judge(session(), model, ConvergenceConfig(temperature=None, max_tokens=None))

    assert model.settings == [{"max_tokens": 50}, {}]


async def test_settings_the_model_declares(
    judge: Judge, session: Session, scripted_model: type[Any], answer: Answer
) -> None:
    """Providers name them differently, and some take them as fields only."""
    seen: list[tuple[float, int]] = []

    class Declaring(scripted_model):  # type: ignore[misc]  # the class is a fixture
        temperature: float = 1.0
        num_predict: int = 9

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            seen.append((self.temperature, self.num_predict))
            return super()._generate(*args, **kwargs)

    model = Declaring(replies=[answer()])
    told = await judge(session(), model)

    assert told.passed
    assert seen == [(0.3, 2000)]
    assert model.settings == [{}]
    assert (model.temperature, model.num_predict) == (1.0, 9)


FAILURES = [
    pytest.param(RuntimeError("quota is used up"), "quota is used up", id="an error"),
    pytest.param(ValueError(), "ValueError", id="an error without a message"),
    pytest.param(TimeoutError("read timed out"), "read timed out", id="the client's timeout"),
    pytest.param(asyncio.TimeoutError(), "TimeoutError", id="asyncio's timeout"),
    pytest.param("", "No JSON found in response", id="an empty reply"),
    pytest.param("I pass it.", "No JSON found in response", id="prose"),
    pytest.param('{"passed": true, "confid', "breaks off", id="a truncated reply"),
    pytest.param('{"passed": "true"}', "neither true nor false", id="true as text"),
]


@pytest.mark.parametrize(("reply", "reason"), FAILURES)
async def test_failure_never_passes(
    judge: Judge, session: Session, scripted: Scripted, reply: Any, reason: str
) -> None:
    told = await judge(session(), scripted(reply))

    assert not told.passed
    assert told.confidence == "low"
    assert reason in told.reasoning
    assert told.accord == "no_model"
    assert told.rules.passed
    assert told.quality_score is None
    assert set(told.category_scores.values()) == {None}
    assert len(told.gaps) == 1
    assert told.more_rounds_recommended


async def test_failure_still_tells_what_the_rules_say(judge: Judge, session: Session, scripted: Scripted) -> None:
    told = await judge(session(current_round=1, stable_rounds=1), scripted("?"))

    unmet = ("1 rounds in a row without a new issue, 2 needed", "1 rounds done, 3 needed")
    assert told.reasoning.endswith(f"\nRules not met: {'; '.join(unmet)}.")
    assert told.gaps == ("Response parsing failed", *unmet)
    assert told.recommended_focus_areas == unmet


class Silent:
    """Answers when told to, which is never."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def invoke(self, messages: Any) -> str:
        self.released.wait()
        return '{"passed": true}'


async def test_a_model_that_never_answers(judge: Judge, session: Session) -> None:
    model = Silent()
    told = await judge(session(), model, ConvergenceConfig(timeout_s=0.01))
    model.released.set()

    assert not told.passed
    assert told.confidence == "low"
    assert told.opinions[0].fault == "no reply within 0.01 s"


async def test_an_async_model_that_never_answers_is_cancelled(session: Session) -> None:
    ended = asyncio.Event()

    class Sleeping:
        async def ainvoke(self, messages: Any) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    told = await aevaluate(session(), Sleeping(), ConvergenceConfig(timeout_s=0.01))
    await asyncio.wait_for(ended.wait(), timeout=60)

    assert told.opinions[0].fault == "no reply within 0.01 s"


async def test_cancelling_the_evaluation_cancels_the_model(session: Session) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    class Sleeping:
        async def ainvoke(self, messages: Any) -> str:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    running = asyncio.ensure_future(aevaluate(session(), Sleeping()))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(ended.wait(), timeout=60)


async def test_a_model_that_cancels_itself(session: Session) -> None:
    class Giving:
        async def ainvoke(self, messages: Any) -> str:
            raise asyncio.CancelledError

    told = await aevaluate(session(), Giving())

    assert told.opinions[0].fault == "the model cancelled its own call"


async def test_the_model_sees_the_caller_s_context(judge: Judge, session: Session, answer: Answer) -> None:
    """Tracers and LangGraph keep what belongs to a run in context variables."""
    run_id: ContextVar[str] = ContextVar("run_id", default="none")
    seen = []

    class Plain:
        def invoke(self, messages: Any) -> str:
            seen.append(run_id.get())
            return answer()

    run_id.set("run 7")
    await judge(session(), Plain())

    assert seen == ["run 7"]


def test_no_time_limit_asks_in_the_caller_s_thread(session: Session, answer: Answer) -> None:
    threads = []

    class Plain:
        def invoke(self, messages: Any) -> str:
            threads.append(threading.current_thread())
            return answer()

    assert evaluate(session(), Plain(), ConvergenceConfig(timeout_s=None)).passed
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_no_failure_of_the_model(session: Session, stop: type[BaseException]) -> None:
    class Interrupted:
        def invoke(self, messages: Any) -> str:
            raise stop

    with pytest.raises(stop):
        evaluate(session(), Interrupted())


async def test_a_plain_object_is_a_model(judge: Judge, session: Session, answer: Answer) -> None:
    """Nothing of LangChain is needed but the shape."""

    class Plain:
        def invoke(self, messages: Any) -> str:
            assert [message["role"] for message in messages] == ["system", "user"]
            return answer()

    assert (await judge(session(), Plain())).passed


async def test_a_session_with_long_outputs_says_what_was_cut(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer
) -> None:
    """The rules see all of it: the categories stand in the part that the judge does not see."""
    outputs = "a" * 8000 + " security correctness reliability maintainability performance " + "b" * 8000
    told = await judge(session(all_outputs=outputs), scripted(answer()))

    assert told.cut_chars == len(outputs) - 8000
    assert told.rules.passed


CONTENTS = [
    pytest.param(lambda text: [{"type": "text", "text": text}], id="a text block"),
    pytest.param(lambda text: [text], id="a text in a list"),
    pytest.param(
        lambda text: [{"type": "thinking", "thinking": '{"passed": false}'}, {"type": "text", "text": text}],
        id="a thought first",
    ),
    pytest.param(
        lambda text: [{"type": "reasoning", "reasoning": "{", "text": "{"}, {"type": "text", "text": text}],
        id="a reasoning block with text",
    ),
]


@pytest.mark.parametrize("content", CONTENTS)
async def test_content_blocks(
    judge: Judge, session: Session, scripted: Scripted, answer: Answer, content: Callable[[str], Any]
) -> None:
    told = await judge(session(), scripted(AIMessage(content(answer()))), ConvergenceConfig(structured=False))

    assert told.passed


async def test_a_message_of_thoughts_alone(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    told = await judge(session(), scripted(AIMessage([{"type": "thinking", "thinking": answer()}])))

    assert told.opinions[0].fault == "the model replied without text"


async def test_the_run_config_reaches_the_model(judge: Judge, session: Session, answer: Answer) -> None:
    seen = []

    class Plain:
        def invoke(self, messages: Any, config: Any) -> str:
            seen.append(config)
            return answer()

    await judge(session(), Plain(), run_config={"tags": ["audit"]})

    assert seen == [{"tags": ["audit"]}]


async def test_the_evaluation_as_json(judge: Judge, session: Session, scripted: Scripted, answer: Answer) -> None:
    context = session(issues=(Issue("I1", "HIGH", "SECURITY"),))
    told = await judge(context, scripted(answer()), ConvergenceConfig(rules="veto"))
    plain = told.as_dict()

    assert json.loads(json.dumps(plain)) == plain
    assert plain["accord"] == "rules_veto"
    assert plain["rules"]["criteria"][0] == {"name": "severity", "met": False, "detail": "open and severe: 'I1' (HIGH)"}
    assert plain["opinions"][0]["reply"]["category_scores"]["SECURITY"] == 90


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        pytest.param({}, ["either one model or judges"], id="no judge"),
        pytest.param({"model": "gpt"}, ["neither a chat model nor a function (str)", "SamplingRequest"], id="a name"),
        pytest.param({"model": GenericFakeChatModel}, ["(the class GenericFakeChatModel)"], id="a class"),
        pytest.param({"judges": []}, ["at least one model"], id="an empty panel"),
        pytest.param({"judges": "gpt"}, ["at least one model"], id="a name for a panel"),
        pytest.param(
            {"model": object(), "judges": [1], "agreement": "most"},
            ["either one model or judges", "'most'", "judge 1 is", "judge 2 is"],
            id="all at once",
        ),
    ],
)
async def test_judges_that_cannot_be_used(
    judge: Judge, session: Session, arguments: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await judge(session(), **arguments)

    assert [fault for fault in faults if fault not in str(caught.value)] == []
