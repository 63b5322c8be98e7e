"""An entailment model as verifier: a tiny one is made here, whose answers can be worked out by hand.

Its tokenizer gives each of a dozen words a number; its graph sums, over the tokens, one row of a table with three
logits. So the logits of a pair are the sums of its words' rows, and its probabilities their softmax.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from agentguard.cli import app
from agentguard.errors import ConfigurationError, GateError
from agentguard.gate import Case, Chunk, Claim, Passage
from agentguard.gate.models._entailment import EntailmentJudge, EntailmentModel, Inference, _label

from ...rows import over

onnx = pytest.importorskip("onnx", reason="makes the model")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

#: Logits that a word adds: to contradiction, entailment, neutral, in the order of the model's outputs.
LOGITS = {"same": (0.0, 2.0, 0.0), "not": (3.0, 0.0, 0.0), "other": (0.0, 0.0, 1.0), "half": (0.0, 0.5, 1.0)}
WORDS = ["[PAD]", "[UNK]", "[SEP]", *LOGITS]


class Author:
    """Writes and splits nothing."""

    name = "author"

    def write_prompts(self, use_case, categories, number):
        raise NotImplementedError

    def extract_claims(self, responses):
        raise NotImplementedError

    def verify(self, cases):
        raise NotImplementedError


def make(folder: Path, *, labels: dict[str, str] | None = None, outputs: int = 3) -> Path:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder.mkdir(exist_ok=True)
    table = np.zeros((len(WORDS), outputs), dtype=np.float32)
    for word, row in LOGITS.items():
        table[WORDS.index(word)] = row[:outputs]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("ReduceSum", ["rows", "axis"], ["logits"], keepdims=0),
        ],
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["pairs", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", outputs])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1], dtype=np.int64), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", WORDS.index("[SEP]"))]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    labels = labels or {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    return folder


def case(claim: str, *passages: str) -> Case:
    chunks = [Passage(Chunk(f"k{n}", "a.md", "A", "", text, 0, len(text)), 1.0) for n, text in enumerate(passages)]
    return Case(Claim("p1.c1", "p1", claim), tuple(chunks))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> EntailmentModel:
    return EntailmentModel(make(tmp_path_factory.mktemp("models") / "tiny"))


def test_probabilities_are_the_softmax_of_the_logits(model: EntailmentModel) -> None:
    ((inference,),) = model.infer([("same other", "not")])
    # contradiction 3, entailment 2, neutral 1
    total = math.exp(3) + math.exp(2) + math.exp(1)
    assert inference == pytest.approx((math.exp(2) / total, math.exp(1) / total, math.exp(3) / total))


def test_a_pair_is_read_the_same_alone_and_among_longer_ones(model: EntailmentModel) -> None:
    pairs = [("same " * n, "other") for n in range(1, 40)]
    for pair, (inference,) in zip(pairs, model.infer(pairs), strict=True):
        assert inference == pytest.approx(model.infer([pair])[0][0])


def test_a_long_passage_is_read_in_parts_each_with_the_claim(model: EntailmentModel) -> None:
    (parts,) = model.infer([("unknown " * 5_000, "not")])
    assert len(parts) > 5_000 / 512
    for inference in parts:
        assert inference.contradiction == pytest.approx(math.exp(3) / (math.exp(3) + 2))


@over("at", [0, 400, 450, 511, 2_500, 4_999])
def test_what_a_long_passage_says_anywhere_counts(model: EntailmentModel, at: int) -> None:
    words = ["unknown"] * 5_000
    words[at] = "same"
    (verdict,) = EntailmentJudge(model, "tiny", Author()).verify([case("half", "other", " ".join(words), "other")])
    # .5 and 2 nats of entailment beside "half", and 1 of neutral.
    assert (verdict.label, verdict.chunk_id) == ("supported", "k1")


def test_a_claim_that_is_too_long_to_be_read_is_unsupported_and_the_others_are_judged(model: EntailmentModel) -> None:
    cases = [case("same " * 5_000, "same"), case("same", "same")]
    long, short = EntailmentJudge(model, "tiny", Author()).verify(cases)
    assert (long.label, long.chunk_id, long.reasons[0].kind) == ("unsupported", None, "length")
    assert short.label == "supported"


@over(
    ("claim", "passages", "label", "chunk"),
    [
        ("same", ["other", "same"], "supported", "k1"),  # 4 nats of entailment there
        ("unknown", ["other", "not"], "unsupported", "k1"),  # what speaks against it is shown
        ("half", ["unknown"], "weakly_supported", "k0"),  # 0, .5, 1: entailment .307, neutral .506
        ("other", ["other"], "unsupported", "k0"),  # 0, 0, 2: entailment .107
        ("same", [], "unsupported", None),
    ],
)
def test_verdicts(model: EntailmentModel, claim: str, passages: list[str], label: str, chunk: str | None) -> None:
    judge = EntailmentJudge(model, "tiny", Author())
    (verdict,) = judge.verify([case(claim, *passages)])
    assert (verdict.label, verdict.chunk_id, verdict.judge) == (label, chunk, "tiny")
    assert verdict.reasons[0].detail


def test_verdicts_come_in_the_order_of_the_cases(model: EntailmentModel) -> None:
    judge = EntailmentJudge(model, "tiny", Author())
    verdicts = judge.verify(
        [case("same", "same"), case("same"), case("unknown", "other", "not"), case("half", "unknown")]
    )
    assert [verdict.label for verdict in verdicts] == ["supported", "unsupported", "unsupported", "weakly_supported"]


@given(st.tuples(*[st.floats(0.001, 1.0)] * 3))
def test_no_claim_is_supported_that_is_likelier_contradicted(shares: tuple[float, float, float]) -> None:
    inference = Inference(*(share / sum(shares) for share in shares))
    if inference.contradiction > inference.entailment:
        assert _label(inference) in ("unsupported", "weakly_supported")
        if inference.contradiction >= inference.neutral:
            assert _label(inference) == "unsupported"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "tiny")
    (folder / name).unlink()
    with pytest.raises(ConfigurationError, match=f"has no {name}: export the model with"):
        EntailmentModel(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "tiny")
    (folder / name).write_bytes(b"{}")
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        EntailmentModel(folder)


@pytest.mark.parametrize(
    "labels", [{"0": "POSITIVE", "1": "NEGATIVE"}, {"0": "entailment", "1": "neutral", "5": "contradiction"}]
)
def test_a_classifier_of_something_else_is_refused(tmp_path: Path, labels: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="id2label"):
        EntailmentModel(make(tmp_path / "tiny", labels=labels))


def test_a_model_with_too_few_outputs_is_refused_when_it_is_asked(tmp_path: Path) -> None:
    model = EntailmentModel(make(tmp_path / "tiny", outputs=2))
    with pytest.raises(GateError, match="finite logits"):
        model.infer([("same", "same")])


# --- From a configuration ---


def gate(folder: Path, judge: str) -> Path:
    """A configuration with one document, one recorded answer, and a judge."""
    (folder / "docs").mkdir()
    (folder / "docs/a.md").write_text("Lamps are other, and same.\n")
    (folder / "answers.jsonl").write_text('{"prompt": "How is it?", "response": "Lamps are half same."}\n')
    path = folder / ".llm-reliability.yaml"
    path.write_text(
        "use_case: help desk\ndoc_sources: [{type: local, path: docs}]\nevaluation: {responses: answers.jsonl}\n"
        f"judge: {judge}\n"
    )
    return path


def run(path: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["gate", "run", *words, "--config", str(path)])


def test_a_run_is_judged_by_the_model_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gate(tmp_path, "{type: onnx, model: models/tiny}")
    (tmp_path / "models").mkdir()
    make(tmp_path / "models/tiny")
    monkeypatch.chdir(tmp_path.parent)  # the folder begins where the configuration lies

    done = run(path, "--json")

    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["judge"] == "onnx:models/tiny"
    (claim,) = told["details"]
    # "other same" and "half same": 4.5 nats of entailment, 2 of neutral.
    share = math.exp(4.5) / (math.exp(4.5) + math.exp(2) + 1)
    assert (claim["label"], claim["judge"]) == ("supported", "onnx:models/tiny")
    assert claim["reasons"][0]["detail"] == f"the passage entails it with a probability of {share:.2f}"


def test_another_model_may_verify_beside_it(tmp_path: Path) -> None:
    path = gate(tmp_path, "{type: onnx, model: one}\nverifiers: [{type: onnx, model: two}]")
    make(tmp_path / "one")
    # The other model calls contradiction what this one calls entailment.
    make(tmp_path / "two", labels={"0": "ENTAILMENT", "1": "CONTRADICTION", "2": "NEUTRAL"})

    told = json.loads(run(path, "--json").stdout)

    (claim,) = told["details"]
    assert claim["label"] == "weakly_supported"
    assert claim["judge"] == "onnx:one + onnx:two"
    assert "onnx:one: supported, onnx:two: unsupported" in claim["reasons"][0]["detail"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run(gate(tmp_path, "{type: onnx, model: models/tiny}"))
    assert done.exit_code == 3
    assert f"judge (onnx): there is no folder {tmp_path / 'models/tiny'}" in done.stderr.replace("\n", " ")
    assert "optimum-cli export onnx" in done.stderr


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_a_missing_library_is_told_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    path = gate(tmp_path, "{type: onnx, model: tiny}")
    make(tmp_path / "tiny")
    monkeypatch.setitem(sys.modules, library, None)

    done = run(path)

    assert done.exit_code == 3
    assert "pip install 'agentguard[onnx]'" in done.stderr
