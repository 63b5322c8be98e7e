"""Several judges of one claim."""

import pytest

from agentguard.errors import ConfigurationError, FileProblems, GateError
from agentguard.gate import parse_config
from agentguard.gate._config import RiskTolerance
from agentguard.gate._run import score_verdicts
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage, Reason, Response
from agentguard.gate.models._panel import Panel, agreed

from ...rows import over

SHORT = {"s": "supported", "w": "weakly_supported", "u": "unsupported"}
PASSAGE = Passage(Chunk("k", "a.md", "A", "", "It is blue.", 0, 11), 1.0)


def votes(labels: str) -> list[ClaimVerdict]:
    return [
        ClaimVerdict("p1.c1", SHORT[label], (Reason("judge", f"says {label}"),), "k", "", f"j{number}")  # type: ignore[arg-type]
        for number, label in enumerate(labels, 1)
    ]


@over(
    ("labels", "label"),
    [
        ("sss", "s"),
        ("uu", "u"),
        ("ww", "w"),
        ("ssu", "w"),
        ("suu", "u"),
        ("su", "w"),
        ("sw", "w"),
        ("swu", "w"),
        ("wuu", "u"),
    ],
)
def test_what_several_judges_agree_on(labels: str, label: str) -> None:
    verdict = agreed(votes(labels), "j1 + j2")

    assert verdict.label == SHORT[label]
    assert verdict.judge == "j1 + j2"
    assert (verdict.reasons[0].kind == "agreement") == (len(set(labels)) > 1)
    assert score_verdicts([verdict], RiskTolerance()).disagreed == (len(set(labels)) > 1)


def test_a_disagreement_names_who_found_what() -> None:
    assert agreed(votes("su"), "j1 + j2").reasons == (
        Reason("agreement", "the judges do not agree (j1: supported, j2: unsupported)"),
        Reason("judge", "says u"),
    )


class Juror:
    def __init__(self, name: str, label: str, silent: bool = False) -> None:
        self.name, self.label, self.silent = name, label, silent

    def write_prompts(self, use_case, categories, number):  # type: ignore[no-untyped-def]
        return [f"{self.name} asks"]

    def extract_claims(self, responses):  # type: ignore[no-untyped-def]
        return [[Claim("p1.c1", "p1", self.name)] for _ in responses]

    def verify(self, cases):  # type: ignore[no-untyped-def]
        kept = [] if self.silent else cases
        return [ClaimVerdict(case.claim.id, self.label, (Reason("judge", "so"),), None, "", self.name) for case in kept]


def test_the_first_asks_and_splits_and_all_verify() -> None:
    panel = Panel([Juror("a", "supported"), Juror("b", "unsupported")])  # type: ignore[list-item]
    case = Case(Claim("p1.c1", "p1", "It is blue."), (PASSAGE,))

    assert panel.name == "a + b"
    assert panel.write_prompts("x", ["y"], 1) == ["a asks"]
    assert panel.extract_claims([Response("p1", "It is blue.")])[0][0].text == "a"
    assert [verdict.label for verdict in panel.verify([case])] == ["weakly_supported"]
    assert panel.verify([]) == []


def test_a_judge_that_is_silent_fails_the_panel() -> None:
    case = Case(Claim("p1.c1", "p1", "It is blue."), (PASSAGE,))

    with pytest.raises(GateError, match="one verdict a claim"):
        Panel([Juror("a", "supported"), Juror("b", "supported", silent=True)]).verify([case])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="at least one judge"):
        Panel([])


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ({"verifiers": [{"provider": "openai", "model_id": "b"}]}, "verifiers stand beside a judge"),
        ({"judge": {"provider": "openai", "model_id": "b"}, "verifiers": [{"provider": "openai", "model_id": "b"}]},
         "must be different models"),
        ({"judge": {"provider": "openai", "model_id": "b"}, "model": {"provider": "openai", "model_id": "c"},
          "verifiers": [{"provider": "openai", "model_id": "c"}]}, "judge is the model under test"),
    ],
)  # fmt: skip
def test_verifiers_are_other_models_beside_a_judge(declared: dict[str, object], fault: str) -> None:
    with pytest.raises(FileProblems, match=fault):
        parse_config({"use_case": "x", "doc_sources": [{"type": "local", "path": "d"}], **declared})
