"""Ask one or several models whether a verification session has converged, and compare the answer with the rules.

Models are known by what they can do: nothing of their framework is imported. Whatever goes wrong becomes an opinion
without a reply, so that no fault of a model can pass a session.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from statistics import median
from typing import Any

from agentguard.convergence._prompts import Prompt, answer_schema, build_prompt
from agentguard.convergence._reply import parse_reply, read_answer
from agentguard.convergence._types import (
    Accord,
    Agreement,
    Confidence,
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    Criterion,
    JudgeReply,
    Opinion,
    RuleAssessment,
    RulesMode,
    SamplingRequest,
    refuse,
)
from agentguard.errors import DataError

_log = logging.getLogger("agentguard")

# --- Asking one model ---

# What chat models of different providers call the most tokens of a reply.
_TOKEN_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict")


class Question:
    """One session as it is put to every judge."""

    def __init__(
        self,
        context: ConvergenceContext,
        prompt: Prompt,
        config: ConvergenceConfig,
        run_config: Mapping[str, Any] | None,
    ) -> None:
        self.config = config
        self.run_config = run_config
        self._prompt = prompt
        self._evaluated = (
            context.all_outputs,
            context.requirements,
            *(issue.description for issue in context.issues),
        )

    def prepared(self, model: Any) -> Any:
        """Prepare a model with the settings of this evaluation, and for structured output where it can."""
        if not _is_model(model):
            return _Function(model, self.config)
        model = _with_settings(model, self.config)
        # A binding hands with_structured_output on to what it binds, and what it binds to it would be lost.
        binding = hasattr(model, "bound") and hasattr(model, "kwargs")
        if not self.config.structured or binding or not hasattr(model, "with_structured_output"):
            return model
        try:
            return model.with_structured_output(answer_schema(self.config.categories), include_raw=True)
        except (NotImplementedError, TypeError, ValueError, AttributeError):
            return model  # has the method and not the ability

    def arguments(self, fault: str) -> tuple[Any, ...]:
        """The arguments of ``invoke``; ``fault`` is that of the last reply, "" on the first try."""
        messages = self._prompt.messages(fault)
        return (messages,) if self.run_config is None else (messages, self.run_config)

    def read(self, answer: Any) -> JudgeReply:
        """Read a model's reply: a structured answer, a message or text.

        Raises:
            DataError: saying what is wrong with it.
        """
        if isinstance(answer, Mapping) and "raw" in answer:
            if isinstance(answer.get("parsed"), Mapping):
                return read_answer(answer["parsed"], self.config.categories)
            answer = answer["raw"]
        elif isinstance(answer, Mapping) and "content" not in answer:
            return read_answer(answer, self.config.categories)
        return parse_reply(text_of(answer), self.config.categories, evaluated=self._evaluated)


class _Turn:
    """One judge's turn: it is asked until its answer can be read, or ``attempts`` are used up."""

    def __init__(self, judge: str, question: Question) -> None:
        self.asked = 0
        self.answered = False
        self._judge, self._question = judge, question
        self._fault = ""

    def next_request(self) -> tuple[Any, ...]:
        """The arguments of the next call of the model."""
        self.asked += 1
        self.answered = False
        return self._question.arguments(self._fault)

    def read(self, answer: Any) -> JudgeReply | None:
        """Read an answer; None where the judge is to be asked again.

        Raises:
            DataError: for an answer that cannot be read, where that was the last attempt.
        """
        self.answered = True
        try:
            return self._question.read(answer)
        except DataError as error:
            if self.asked >= self._question.config.attempts:
                raise
            self._fault = str(error)  # of this package's own making: it quotes nothing of the answer
            _log.warning("%s is asked again: %s", self._judge, self._fault)
            return None

    def opinion(self, reply: JudgeReply | None, fault: str = "") -> Opinion:
        """Make the judge's opinion of its reply, or of what went wrong instead."""
        return Opinion(self._judge, reply, fault, self.asked, self.answered)


def ask(name: str, model: Any, question: Question) -> Opinion:
    """Ask one judge for its opinion, in a thread of its own where the wait is limited."""
    turn = _Turn(name, question)

    def call() -> JudgeReply:
        prepared = question.prepared(model)
        while (reply := turn.read(prepared.invoke(*turn.next_request()))) is None:
            pass
        return reply

    limit = question.config.timeout_s
    try:
        if limit is None:
            return turn.opinion(call())
        running = _in_thread(call)
        wait([running], timeout=limit)
        return turn.opinion(running.result()) if running.done() else turn.opinion(None, _late(limit))
    except Exception as error:
        return turn.opinion(None, _fault(error))


async def aask(name: str, model: Any, question: Question) -> Opinion:
    """Ask one judge for its opinion without blocking the event loop."""
    turn = _Turn(name, question)

    async def call() -> JudgeReply:
        prepared = question.prepared(model)

        async def answer() -> Any:
            arguments = turn.next_request()
            if hasattr(prepared, "ainvoke"):
                return await prepared.ainvoke(*arguments)
            return await asyncio.wrap_future(_in_thread(lambda: prepared.invoke(*arguments)))

        while (reply := turn.read(await answer())) is None:
            pass
        return reply

    running = asyncio.ensure_future(call())
    running.add_done_callback(_retrieve)
    try:
        # Not wait_for: it cannot tell its own timeout from one that the model raises.
        await asyncio.wait([running], timeout=question.config.timeout_s)
        if not running.done():
            return turn.opinion(None, _late(question.config.timeout_s))
        if running.cancelled():
            return turn.opinion(None, "the model cancelled its own call")
        return turn.opinion(running.result())
    except Exception as error:
        return turn.opinion(None, _fault(error))
    finally:
        running.cancel()


def text_of(answer: Any) -> str:
    """Read the text of a message or of its content blocks, without the blocks that hold thoughts.

    Raises:
        DataError: where the blocks hold no text.
    """
    content = answer["content"] if isinstance(answer, Mapping) else getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) and not isinstance(content, bytes) else [content]
    texts = [block if isinstance(block, str) else _block_text(block) for block in blocks]
    text = "\n".join(part for part in texts if part)
    if not text.strip():
        raise DataError("the model replied without text")
    return text


def _block_text(block: Any) -> str:
    read = block.get if isinstance(block, Mapping) else partial(getattr, block)
    text = read("text", None)
    return text if isinstance(text, str) and read("type", "text") == "text" else ""


def _is_model(model: Any) -> bool:
    return hasattr(model, "invoke") or hasattr(model, "ainvoke")


class _Function:
    """A sampling function as a model."""

    def __init__(self, function: Callable[[SamplingRequest], Any], config: ConvergenceConfig) -> None:
        self._function, self._config = function, config

    def invoke(self, messages: Sequence[Mapping[str, str]], run_config: Any = None) -> Any:
        answer = self._asked(messages)
        # In a thread of its own, since the caller's may run an event loop.
        return _in_thread(lambda: asyncio.run(_awaited(answer))).result() if inspect.isawaitable(answer) else answer

    async def ainvoke(self, messages: Sequence[Mapping[str, str]], run_config: Any = None) -> Any:
        answer = await asyncio.wrap_future(_in_thread(lambda: self._asked(messages)))
        return await answer if inspect.isawaitable(answer) else answer

    def _asked(self, messages: Sequence[Mapping[str, str]]) -> Any:
        system, user = messages
        content = {"type": "text", "text": user["content"]}
        settings = self._config.max_tokens, self._config.temperature
        return self._function(SamplingRequest([{"role": "user", "content": content}], system["content"], *settings))


async def _awaited(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except asyncio.CancelledError:
        raise RuntimeError("the model cancelled its own call") from None


def _with_settings(model: Any, config: ConvergenceConfig) -> Any:
    """Set temperature and token limit: as fields where the model declares them, else bound to its calls."""
    declared = getattr(type(model), "model_fields", {})
    limit = next((name for name in _TOKEN_LIMITS if name in declared), "max_tokens")
    settings = {"temperature": config.temperature, limit: config.max_tokens}
    settings = {name: value for name, value in settings.items() if value is not None}
    fields = {name: value for name, value in settings.items() if name in declared}
    if fields:
        return model.model_copy(update=fields)
    return model.bind(**settings) if settings and hasattr(model, "bind") else model


def _in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Start the call in a daemon thread, in this context: a model that never answers keeps no process alive."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="agentguard-judge", daemon=True).start()
    return future


def _retrieve(task: asyncio.Future[JudgeReply]) -> None:
    """Retrieve the error of a call that nobody waits for any more, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()


def _late(limit: float | None) -> str:
    return f"no reply within {limit:g} s"


def _fault(error: Exception) -> str:
    return str(error) or type(error).__name__


# --- Rules: severity, rounds, stability, categories ---
# They are necessary by ``rules="veto"``, and never sufficient: judges may hold back a session that meets them.


def apply_rules(context: ConvergenceContext, config: ConvergenceConfig | None = None) -> RuleAssessment:
    """Hold a session against the rules that need no model.

    Args:
        context: the session.
        config: thresholds and categories; None: the defaults.

    >>> outputs = "Examined security, correctness, reliability, maintainability and performance."
    >>> apply_rules(ConvergenceContext("review", ("a.py",), 3, outputs, stable_rounds=2)).passed
    True
    >>> apply_rules(ConvergenceContext("review", ("a.py",), 2, outputs, stable_rounds=2)).unmet
    ('2 rounds done, 3 needed',)
    """
    config = ConvergenceConfig() if config is None else config
    blocking = [issue for issue in context.issues if issue.blocking]
    named = ", ".join(f"{issue.id[:40]!r} ({issue.severity[:16]})" for issue in blocking[:5])
    more = f" and {len(blocking) - 5} more" if len(blocking) > 5 else ""
    stable = "an unknown number of" if context.stable_rounds is None else context.stable_rounds
    seen = _examined(context, config.categories)
    unseen = [name for name in config.categories if name not in seen]
    criteria = (
        Criterion(
            "severity", not blocking, f"open and severe: {named}{more}" if blocking else "nothing severe is open"
        ),
        Criterion(
            "stable_rounds",
            (context.stable_rounds or 0) >= config.min_stable_rounds,
            f"{stable} rounds in a row without a new issue, {config.min_stable_rounds} needed",
        ),
        Criterion(
            "rounds",
            context.current_round >= config.min_rounds,
            f"{context.current_round} rounds done, {config.min_rounds} needed",
        ),
        Criterion(
            "categories", not unseen, f"not examined: {', '.join(unseen)}" if unseen else "every category was examined"
        ),
    )
    return RuleAssessment(all(criterion.met for criterion in criteria), criteria)


def _examined(context: ConvergenceContext, categories: tuple[str, ...]) -> set[str]:
    """The categories that the session declares as examined, or else names."""
    if context.categories_examined is not None:
        declared = {name.strip().casefold() for name in context.categories_examined}
        return {name for name in categories if name.casefold() in declared}
    by_issues = {issue.category.strip().casefold() for issue in context.issues}
    return {name for name in categories if name.casefold() in by_issues or _named(name, context.all_outputs)}


def _named(category: str, text: str) -> bool:
    # DATA_LOSS is written "data loss" or "data-loss" in prose.
    words = r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", category) if word)
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


# --- Judges and rules together ---


_LEAST_SURE_FIRST: tuple[Confidence, ...] = ("uncertain", "low", "medium", "high")


def conclude(
    opinions: Sequence[Opinion],
    rules: RuleAssessment,
    categories: Sequence[str],
    *,
    agreement: Agreement = "majority",
    mode: RulesMode = "advise",
    cut_chars: int = 0,
) -> ConvergenceEvaluation:
    """Conclude an evaluation from the opinions of the judges and the rules.

    A judge without a usable reply counts among the judges and against passing.

    Args:
        opinions: of at least one judge.
        rules: what the rules say of the session.
        categories: those to report scores for.
        agreement: how many judges must pass the session.
        mode: by ``veto`` the rules must pass it too.
        cut_chars: how many characters of the outputs the judges did not see.
    """
    replies = [opinion.reply for opinion in opinions if opinion.reply is not None]
    votes = sum(opinion.passed for opinion in opinions)
    carried = votes == len(opinions) if agreement == "unanimous" else 2 * votes > len(opinions)
    vetoed = mode == "veto" and not rules.passed
    passed = carried and not vetoed
    more_rounds = not replies or vetoed or any(reply.more_rounds_recommended for reply in replies)
    focus = _distinct(area for reply in replies for area in reply.recommended_focus_areas)
    if not any(opinion.answered for opinion in opinions):
        focus = ("Re-evaluate with pattern matching fallback",)
    return ConvergenceEvaluation(
        passed=passed,
        confidence=_confidence(opinions, carried),
        reasoning=_reasoning(opinions, rules, votes, agreement, carried=carried, passed=passed),
        evidence=_distinct(point for reply in replies for point in reply.evidence),
        quality_score=_median(reply.quality_score for reply in replies),
        category_scores={name: _median(reply.category_scores.get(name) for reply in replies) for name in categories},
        gaps=_distinct([*(gap for reply in replies for gap in reply.gaps), *_faults(opinions), *rules.unmet]),
        more_rounds_recommended=more_rounds,
        recommended_focus_areas=(focus or rules.unmet) if more_rounds else (),
        accord=_accord(carried, rules.passed, passed) if replies else "no_model",
        rules=rules,
        opinions=tuple(opinions),
        cut_chars=cut_chars,
    )


def _accord(judges: bool, rules: bool, passed: bool) -> Accord:
    if not judges:
        return "model_veto" if rules else "both_fail"
    if rules:
        return "both_pass"
    return "rules_overruled" if passed else "rules_veto"


def _confidence(opinions: Sequence[Opinion], carried: bool) -> Confidence:
    """The least sure of the judges on the side that carried; low for one without a reply."""
    side = [opinion for opinion in opinions if opinion.passed == carried]
    levels = {"low" if opinion.reply is None else opinion.reply.confidence for opinion in side}
    if all(opinion.reply is None for opinion in side):
        return "low"
    return next(level for level in _LEAST_SURE_FIRST if level in levels)


def _reasoning(
    opinions: Sequence[Opinion], rules: RuleAssessment, votes: int, agreement: Agreement, *, carried: bool, passed: bool
) -> str:
    reasons = [_failure(opinion) if opinion.reply is None else opinion.reply.reasoning for opinion in opinions]
    if len(opinions) > 1:
        wanted = "all of them" if agreement == "unanimous" else "more than half"
        reasons = [f"{opinion.judge}: {text}" for opinion, text in zip(opinions, reasons, strict=True)]
        reasons.insert(0, f"{votes} of {len(opinions)} judges pass the session; {wanted} must.")
    if carried and not rules.passed:
        reasons.append("The rules only advise." if passed else "The rules overrule this.")
    if not rules.passed:
        reasons.append(f"Rules not met: {'; '.join(rules.unmet)}.")
    return "\n".join(reasons)


def _failure(opinion: Opinion) -> str:
    if opinion.answered:
        return f"Failed to parse LLM response: {opinion.fault}"
    return f"LLM evaluation failed: {opinion.fault}. Defaulting to conservative evaluation."


def _faults(opinions: Sequence[Opinion]) -> list[str]:
    failed = [opinion for opinion in opinions if opinion.reply is None]
    return ["Response parsing failed" if opinion.answered else "LLM evaluation unavailable" for opinion in failed]


def _median(scores: Iterable[float | None]) -> float | None:
    given = [score for score in scores if score is not None]
    return float(median(given)) if given else None


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


# --- Evaluation ---


def _described(member: Any) -> str:
    return f"the class {member.__name__}" if isinstance(member, type) else type(member).__name__


class Panel:
    """The judges of sessions, how many of them must pass one, and the settings.

    Args:
        model: the one judge: a LangChain chat model or anything with its ``invoke``, or a sampling function.
        config: limits and thresholds; None: the defaults.
        judges: several judges in place of one.
        agreement: ``majority`` (more than half) or ``unanimous``. A judge that fails does not pass the session.

    Raises:
        ConfigurationError: naming everything that cannot be used.
    """

    def __init__(
        self,
        model: Any = None,
        config: ConvergenceConfig | None = None,
        *,
        judges: Sequence[Any] | None = None,
        agreement: Agreement = "majority",
    ) -> None:
        faults = []
        if (model is None) == (judges is None):
            faults.append("give either one model or judges=[...]")
        if judges is not None and (isinstance(judges, (str, bytes)) or not isinstance(judges, Sequence) or not judges):
            faults.append("judges must be a list of at least one model")
            judges = []
        if agreement not in ("majority", "unanimous"):
            faults.append(f"agreement must be 'majority' or 'unanimous', not {agreement!r}")
        members = [*([] if model is None else [model]), *(judges or [])]
        faults += [
            f"judge {number} is neither a chat model nor a function ({_described(member)}): give a LangChain chat "
            "model, or a function that takes a SamplingRequest and returns the reply's text"
            for number, member in enumerate(members, 1)
            if isinstance(member, type) or not (_is_model(member) or callable(member))
        ]
        refuse("the panel of judges", faults)
        self.config: ConvergenceConfig = ConvergenceConfig() if config is None else config
        self._members = [(f"judge {number}", member) for number, member in enumerate(members, 1)]
        self._agreement: Agreement = agreement

    def evaluate(
        self, context: ConvergenceContext, *, key: str = "", run_config: Mapping[str, Any] | None = None
    ) -> ConvergenceEvaluation:
        """Evaluate a session; the judges are asked one after the other."""
        rules, prompt = self._prepared(context, key)
        question = Question(context, prompt, self.config, run_config)
        return self._concluded([ask(name, member, question) for name, member in self._members], rules, prompt)

    async def aevaluate(
        self, context: ConvergenceContext, *, key: str = "", run_config: Mapping[str, Any] | None = None
    ) -> ConvergenceEvaluation:
        """Evaluate a session; all judges are asked at the same time."""
        rules, prompt = self._prepared(context, key)
        question = Question(context, prompt, self.config, run_config)
        opinions = await asyncio.gather(*(aask(name, member, question) for name, member in self._members))
        return self._concluded(opinions, rules, prompt)

    def _prepared(self, context: ConvergenceContext, key: str) -> tuple[RuleAssessment, Prompt]:
        mode = self.config.rules
        rules = RuleAssessment(True, ()) if mode == "off" else apply_rules(context, self.config)
        return rules, build_prompt(context, self.config, key=key, rules=rules if mode == "advise" else None)

    def _concluded(self, opinions: Sequence[Opinion], rules: RuleAssessment, prompt: Prompt) -> ConvergenceEvaluation:
        return conclude(
            opinions, rules, self.config.categories,
            agreement=self._agreement, mode=self.config.rules, cut_chars=prompt.cut_chars,
        )  # fmt: skip


def evaluate(
    context: ConvergenceContext,
    model: Any = None,
    config: ConvergenceConfig | None = None,
    *,
    judges: Sequence[Any] | None = None,
    agreement: Agreement = "majority",
    key: str = "",
    run_config: Mapping[str, Any] | None = None,
) -> ConvergenceEvaluation:
    """Evaluate whether a session has converged.

    A model that fails, is late, or gives twice an answer that cannot be read never passes a session: the evaluation
    then says why, and what the rules alone say.

    Args:
        context: the session.
        model: any LangChain chat model, or a sampling function, sync or async (see ``SamplingRequest``).
        config: limits, thresholds, and whether rules advise or veto; None: the defaults.
        judges: several models in place of one; they are asked one after the other.
        agreement: how many of the judges must pass the session: ``majority`` or ``unanimous``.
        key: mixed into the token that delimits the session's text in the prompt.
        run_config: passed to the models' ``invoke`` as it is: tags, callbacks, metadata. Functions do not get it.

    Raises:
        ConfigurationError: where the judges or their agreement cannot be used.
    """
    return Panel(model, config, judges=judges, agreement=agreement).evaluate(context, key=key, run_config=run_config)


async def aevaluate(
    context: ConvergenceContext,
    model: Any = None,
    config: ConvergenceConfig | None = None,
    *,
    judges: Sequence[Any] | None = None,
    agreement: Agreement = "majority",
    key: str = "",
    run_config: Mapping[str, Any] | None = None,
) -> ConvergenceEvaluation:
    """Evaluate as ``evaluate`` does, with all judges asked at the same time.

    Raises:
        ConfigurationError: where the judges or their agreement cannot be used.
    """
    panel = Panel(model, config, judges=judges, agreement=agreement)
    return await panel.aevaluate(context, key=key, run_config=run_config)
