"""Recorded answers in place of the model under test: what it once said is judged, and nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentguard.errors import GateError
from agentguard.gate.models.record_files import (
    MAX_CATEGORY_CHARS,
    MAX_PROMPT_CHARS,
    Faults,
    PromptIds,
    check_file,
    read_rows,
    refuse_unknown,
    take_text,
)
from agentguard.gate.types import Prompt

__all__ = ["RecordedTarget"]

FIELDS = ("prompt", "response", "id", "category")
MAX_RESPONSE_CHARS = 1_000_000


class RecordedTarget:
    r"""The answers of a file of JSON Lines: ``{"prompt": …, "response": …, "id": …, "category": …}``.

    ``id`` and ``category`` may be left out: prompts without an id are ``p1``, ``p2``, … by their place in the file.

    Args:
        path: the file.
        name: what records and reports call the model; None: ``recorded:`` and the file's name.

    Attributes:
        prompts: the prompts of the file, in its order.

    Raises:
        ConfigurationError: where there is no such file.
        FileProblems: naming every line that is no recorded answer, that repeats an id or a prompt.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"prompt": "How long is the warranty?", "response": "Two years."}\n')
    ...     target = RecordedTarget(path)
    >>> target.prompts, target.respond(target.prompts)
    ((Prompt(id='p1', text='How long is the warranty?', category=''),), ['Two years.'])
    """

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        path = Path(path)
        self._name = f"recorded:{path.name}" if name is None else name
        check_file(path, "recorded responses")
        faults = Faults(str(path))
        ids = PromptIds(faults)
        prompts: list[Prompt] = []
        self._answers: dict[str, tuple[str, str]] = {}
        for row in read_rows(path, faults):
            refuse_unknown(row, FIELDS, faults)
            text = take_text(row, "prompt", faults, limit=MAX_PROMPT_CHARS)
            answer = take_text(row, "response", faults, limit=MAX_RESPONSE_CHARS, blank=True)
            has_category = row.value.get("category") is not None
            category = take_text(row, "category", faults, limit=MAX_CATEGORY_CHARS) if has_category else ""
            if text is None or answer is None or category is None:
                continue
            prompt = Prompt(ids.take(row.line, row.value.get("id"), text), text, category)
            prompts.append(prompt)
            self._answers[prompt.id] = (text, answer)
        if not (prompts or faults.count):
            faults.add(None, "", "holds no recorded response")
        faults.refuse()
        self.prompts = tuple(prompts)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The recorded answers to prompts of the file, in the order asked for.

        Raises:
            GateError: where a prompt is not one of the file's.
        """
        answers = []
        for prompt in prompts:
            text, answer = self._answers.get(prompt.id, (None, ""))
            if text != prompt.text:
                raise GateError(f"{self._name} has no recorded response to prompt {prompt.id}")
            answers.append(answer)
        return answers
