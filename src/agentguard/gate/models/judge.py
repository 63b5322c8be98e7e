"""A chat model as judge. Writing prompts, finding claims and verifying them are invocations apart from each other."""

from __future__ import annotations

from collections.abc import Sequence

from agentguard.errors import ConfigurationError, DataError, GateError
from agentguard.gate.judging import Case
from agentguard.gate.models.asking import ChatModel, Question, ask_all, check_concurrency
from agentguard.gate.models.judge_answers import read_claims, read_prompts, read_verdict
from agentguard.gate.models.judge_questions import ask_for_claims, ask_for_prompts, ask_for_verdict
from agentguard.gate.types import Claim, ClaimVerdict, Prompt, Reason, Response

__all__ = ["ModelJudge"]

MOST_AT_ONCE = 40
"""Prompts asked for in one request: more of them do not fit into an answer of usual length."""


class ModelJudge:
    """A chat model of LangChain's as judge.

    Every request is a conversation of its own, with instructions for its one task: what verifies a claim sees the claim
    and its passages, and neither the answer it was taken from nor the prompt.

    Args:
        model: the model.
        name: what records and reports call it.
        max_concurrency: how many requests are under way at once.
    """

    def __init__(self, model: ChatModel, name: str, max_concurrency: int = 8) -> None:
        self._model = model
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Questions in equal shares of the categories, none of them twice.

        Where the model gives too few, it is asked once more for those that are missing; what is missing then is left
        out, so that there may be less than ``number``.

        Raises:
            GateError: where a request failed, an answer could not be read, or there is no question at all.
        """
        if not categories or number < 1:
            raise ConfigurationError("prompts need at least one category, and a number of at least 1")
        kinds = list(dict.fromkeys(categories))
        shares = {kind: number // len(kinds) + (place < number % len(kinds)) for place, kind in enumerate(kinds)}
        found: dict[str, list[str]] = {kind: [] for kind in kinds}
        for _ in range(2):
            missing = {kind: share - len(found[kind]) for kind, share in shares.items() if share > len(found[kind])}
            if missing:
                self._add_prompts(use_case, missing, found)
        written = [(text, kind) for kind, texts in found.items() for text in texts]
        if not written:
            raise GateError(f"{self._name} wrote no prompt")
        return [Prompt(f"p{place}", text, kind) for place, (text, kind) in enumerate(written, 1)]

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """The claims of each response; a blank one makes none, and the model is not asked for it.

        Raises:
            GateError: where a request failed, or an answer could not be read.
        """
        claims: list[list[Claim]] = [[] for _ in responses]
        spoken = [(place, response) for place, response in enumerate(responses) if response.text.strip()]
        questions = [ask_for_claims(response) for _, response in spoken]
        for (place, response), question, answer in zip(spoken, questions, self._ask(questions), strict=True):
            try:
                claims[place] = read_claims(answer, response)
            except DataError as error:
                raise self._unreadable(question, error) from None
        return claims

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """A verdict for each case. A claim without passages is unsupported, and the model is not asked.

        Raises:
            GateError: where a request failed.
        """
        answers = iter(self._ask([ask_for_verdict(case) for case in cases if case.passages]))
        return [read_verdict(next(answers), case, self._name) if case.passages else self._alone(case) for case in cases]

    def _add_prompts(self, use_case: str, missing: dict[str, int], found: dict[str, list[str]]) -> None:
        requests = [
            (kind, min(MOST_AT_ONCE, share - start), (start // MOST_AT_ONCE + 1, -(-share // MOST_AT_ONCE)))
            for kind, share in missing.items()
            for start in range(0, share, MOST_AT_ONCE)
        ]
        known = {text.casefold() for texts in found.values() for text in texts}
        questions = [ask_for_prompts(use_case, kind, share, found[kind], part) for kind, share, part in requests]
        wanted = dict(missing)
        for (kind, *_), question, answer in zip(requests, questions, self._ask(questions), strict=True):
            try:
                texts = read_prompts(answer)
            except DataError as error:
                raise self._unreadable(question, error) from None
            for text in texts:
                if wanted[kind] and text.casefold() not in known:
                    known.add(text.casefold())
                    found[kind].append(text)
                    wanted[kind] -= 1

    def _ask(self, questions: Sequence[Question]) -> list[str]:
        return ask_all(self._model, self._name, questions, self._max_concurrency)

    def _alone(self, case: Case) -> ClaimVerdict:
        reason = Reason("evidence", "no passage of the trusted documents bears on the claim")
        return ClaimVerdict(case.claim.id, "unsupported", (reason,), None, "", self._name)

    def _unreadable(self, question: Question, error: DataError) -> GateError:
        return GateError(f"{self._name} gave an answer to {question.subject} that cannot be read: {error}")
