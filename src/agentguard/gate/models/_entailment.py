"""A natural-language-inference model as verifier of claims, run by ONNX Runtime on this machine.

Such a model reads a passage (the premise) and a claim (the hypothesis), and gives a probability to each of three
classes: the passage entails the claim, contradicts it, or says nothing of it. It knows paraphrases that rules do not,
and it costs no request. Rules still write the prompts and split the answers. The model is the user's own: any export of
a sequence classifier that was trained on such pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentguard.errors import ConfigurationError, GateError
from agentguard.gate._types import Case, Claim, ClaimVerdict, Judge, Label, Prompt, Reason, Response

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL, TOKENIZER, CONFIG = "model.onnx", "tokenizer.json", "config.json"
MAX_TOKENS: Final = 512  # of a pair: what encoders of this kind were trained on
MAX_CLAIM_TOKENS: Final = 256  # which leaves as many to the passage
OVERLAP: Final = 64  # tokens that one part of a longer passage repeats of the part before: a sentence or two
BATCH: Final = 16  # pairs a run
WEAK: Final = 0.25  # of entailment, where neutral is likelier: somewhat less than the third that chance would give


class Inference(NamedTuple):
    """The probabilities of the three classes for one pair; they sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


class EntailmentModel:
    """A classifier of pairs of texts, read from a folder.

    Args:
        folder: Has ``model.onnx``, ``tokenizer.json`` (of the ``tokenizers`` library) and ``config.json``, whose
            ``id2label`` says which output is ``entailment``, ``neutral`` and ``contradiction`` (as Hugging Face writes
            it: ``optimum-cli export onnx``).

    Raises:
        ConfigurationError: If a file or a library is missing, or a file is not what it should be.
    """

    def __init__(self, folder: Path) -> None:
        missing = [name for name in (MODEL, TOKENIZER, CONFIG) if not (folder / name).is_file()]
        if missing:
            fault = f"{folder} has no {missing[0]}" if folder.is_dir() else f"there is no folder {folder}"
            raise ConfigurationError(
                f"judge (onnx): {fault}: export the model with "
                "`optimum-cli export onnx --model NAME --task text-classification FOLDER`"
            )
        self._classes = _read_classes(folder / CONFIG)
        self._tokenizer, self._session = _open(folder)
        self._inputs = {given.name for given in self._session.get_inputs()}

    def can_read(self, hypothesis: str) -> bool:
        """Whether a hypothesis is short enough to stand beside a premise."""
        return len(self._tokenizer.encode(hypothesis, add_special_tokens=False).ids) <= MAX_CLAIM_TOKENS

    def infer(self, pairs: Sequence[tuple[str, str]]) -> list[list[Inference]]:
        """Classify pairs of premise and hypothesis.

        Args:
            pairs: Hypotheses that the model can read; a premise that is too long is read in parts.

        Returns:
            The inferences of each pair, one a part of its premise.

        Raises:
            GateError: If the model cannot be run on them, or its answer is not one row of three logits a pair.
        """
        return [
            inferences
            for start in range(0, len(pairs), BATCH)
            for inferences in self._run(pairs[start : start + BATCH])
        ]

    def _run(self, pairs: Sequence[tuple[str, str]]) -> Iterator[list[Inference]]:
        encodings = [[each, *each.overflowing] for each in self._tokenizer.encode_batch(list(pairs))]
        parts = [part for of_pair in encodings for part in of_pair]
        batches = (parts[start : start + BATCH] for start in range(0, len(parts), BATCH))
        inferences = (inference for batch in batches for inference in self._classify(batch))
        return (list(islice(inferences, len(of_pair))) for of_pair in encodings)

    def _classify(self, encodings: Sequence[Encoding]) -> Iterator[Inference]:
        import numpy as np

        fields = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
        }
        arrays = {name: np.asarray(rows, dtype=np.int64) for name, rows in fields.items() if name in self._inputs}
        try:
            logits = np.asarray(self._session.run(None, arrays)[0], dtype=np.float64)
        except Exception as error:  # its text may quote the tensors
            raise GateError(f"judge (onnx): the model cannot be run: {type(error).__name__}") from None
        wanted = (len(encodings), 3)
        if logits.shape != wanted or not np.isfinite(logits).all():
            raise GateError(f"judge (onnx): the model gave {logits.shape} and not {wanted} finite logits")
        # Softmax; the greatest is taken off first, so that nothing overflows.
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        for row in odds / odds.sum(axis=1, keepdims=True):
            yield Inference(*(float(row[index]) for index in self._classes))


class EntailmentJudge:
    """Verifies by a model of entailment; another judge writes the prompts and splits the answers.

    A claim is *supported* where entailment is the likeliest class for one of its passages, or for a part of a long
    one; *weakly supported* where entailment has at least a quarter there and neutral is the likeliest; else
    *unsupported*.

    Args:
        model: What classifies a passage and a claim.
        name: Its name in records and reports.
        author: Writes prompts and extracts claims.
    """

    def __init__(self, model: EntailmentModel, name: str, author: Judge) -> None:
        self._model = model
        self._name = name
        self._author = author

    @property
    def name(self) -> str:
        """Its name in records and reports."""
        return self._name

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Write prompts as the other judge does."""
        return self._author.write_prompts(use_case, categories, number)

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """Split answers as the other judge does."""
        return self._author.extract_claims(responses)

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """Give a verdict on each case, in their order.

        Raises:
            GateError: If the model cannot be run.
        """
        readable = [bool(case.passages) and self._model.can_read(case.claim.text) for case in cases]
        read = [case for case, is_read in zip(cases, readable, strict=True) if is_read]
        pairs = [(passage.chunk.text, case.claim.text) for case in read for passage in case.passages]
        inferences = iter(self._model.infer(pairs))
        return [
            self._verdict(case, list(islice(inferences, len(case.passages)))) if is_read else self._unread(case)
            for case, is_read in zip(cases, readable, strict=True)
        ]

    def _verdict(self, case: Case, inferences: Sequence[Sequence[Inference]]) -> ClaimVerdict:
        found = [(passage, each) for passage, parts in zip(case.passages, inferences, strict=True) for each in parts]
        # The passage that entails the claim most; where none does, the one that speaks against it most.
        best, inference = max(found, key=lambda each: each[1].entailment)
        label = _label(inference)
        if label == "unsupported":
            best, inference = max(found, key=lambda each: each[1].contradiction)
        reason = Reason("judge", _explain(label, inference), case.claim.text)
        return ClaimVerdict(case.claim.id, label, (reason,), best.chunk.id, "", self._name)

    def _unread(self, case: Case) -> ClaimVerdict:
        reason = Reason("evidence", "no passage of the trusted documents bears on the claim")
        if case.passages:
            reason = Reason("length", f"the claim has more than {MAX_CLAIM_TOKENS} tokens, which the model cannot read")
        return ClaimVerdict(case.claim.id, "unsupported", (reason,), None, "", self._name)


def _label(inference: Inference) -> Label:
    if inference.entailment >= max(inference.neutral, inference.contradiction):
        return "supported"
    if inference.entailment >= WEAK and inference.contradiction < inference.neutral:
        return "weakly_supported"
    return "unsupported"


def _explain(label: Label, inference: Inference) -> str:
    if label != "unsupported":
        return f"the passage entails it with a probability of {inference.entailment:.2f}"
    if inference.contradiction >= inference.neutral:
        return f"the passage contradicts it with a probability of {inference.contradiction:.2f}"
    return f"no passage entails it (the probability is {inference.entailment:.2f} at most)"


def _read_classes(path: Path) -> tuple[int, int, int]:
    """Read which output stands for entailment, neutral and contradiction."""
    wanted = Inference._fields
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["id2label"]
        places = {str(name).casefold(): int(index) for index, name in names.items()}
        first, second, third = (places[name] for name in wanted)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise ConfigurationError(
            f"judge (onnx): {path} needs an id2label that names {', '.join(wanted)}: "
            "take a model that was trained on natural language inference"
        ) from None
    if {first, second, third} != {0, 1, 2}:
        raise ConfigurationError(f"judge (onnx): id2label in {path} has classes beside {', '.join(wanted)}")
    return first, second, third


def _open(folder: Path) -> tuple[Tokenizer, InferenceSession]:
    try:
        from onnxruntime import InferenceSession
        from tokenizers import Tokenizer
    except ImportError:
        raise ConfigurationError(
            "judge (onnx) needs libraries that are not installed: pip install 'agentguard[onnx]'"
        ) from None
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        session = InferenceSession(str(folder / MODEL), providers=["CPUExecutionProvider"])
    except Exception as error:  # each library fails in its own way on a file that is none of its own
        raise ConfigurationError(
            f"judge (onnx): {folder} cannot be opened ({type(error).__name__}): see whether "
            f"{MODEL} and {TOKENIZER} are whole"
        ) from None
    tokenizer.enable_truncation(MAX_TOKENS, stride=OVERLAP, strategy="only_first")
    tokenizer.enable_padding()
    return tokenizer, session
