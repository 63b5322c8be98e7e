"""What is wrong with a claim that is not supported, by whoever found it."""

import pytest

from agentguard.gate._kinds import kind_of
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Label, Passage, Reason
from agentguard.gate.rules import RuleJudge

from ..rows import over

TEXT = (
    "The Mosswick S weighs 8.4 kg. Orders above 50 euros ship within 3 hours. The shop in Lyon opened on 3 May 2019. "
    "Opened lamps cannot be returned. A deposit of at least 20 euros is needed. "
    "Lids are sold in Lyon, cords are sold in Nantes."
)
PASSAGE = Passage(Chunk("k", "a.md", "A", "", TEXT, 0, len(TEXT)), 1.0)
CLAIMS = {
    "The Mosswick S weighs 9.9 kg.": "figure",
    "Orders above 50 euros ship within 3 days.": "unit",
    "The shop in Lyon opened on 4 May 2019.": "date",
    "Opened lamps can be returned.": "negation",
    "Lamps can be returned.": "negation",
    "Cords are sold in Lyon.": "entity",
    "Coffee and biscuits are free.": "invented",
    "Every lamp comes with free coffee and biscuits.": "invented",  # of the lamps that the text speaks of, says nothing
    "Every lamp has a lifetime warranty.": "invented",
}


@over(("text", "kind"), CLAIMS.items())
def test_rules_and_a_model_are_told_the_same_kind(text: str, kind: str) -> None:
    claim = Claim("p1.c1", "p1", text)
    (by_rules,) = RuleJudge().verify([Case(claim, (PASSAGE,))])
    by_model = ClaimVerdict("p1.c1", "unsupported", (Reason("judge", "No."),), "k", "", "a model")

    assert by_rules.label == "unsupported"
    assert kind_of(claim, [PASSAGE], by_rules) == kind
    assert kind_of(claim, [PASSAGE], by_model) == kind


@pytest.mark.parametrize(
    ("label", "reason", "kind"),
    [
        ("supported", Reason("judge", "Yes."), None),
        ("unsupported", Reason("unreadable", "?"), "unread"),
        ("unsupported", Reason("evidence", "nothing bears on it"), "invented"),
        ("weakly_supported", Reason("judge", "Partly."), "unclear"),
    ],
)
def test_what_needs_no_passage(label: Label, reason: Reason, kind: str | None) -> None:
    claim = Claim("p1.c1", "p1", "Thursday is a fine day.")

    assert kind_of(claim, [], ClaimVerdict("p1.c1", label, (reason,), None, "", "a model")) == kind
