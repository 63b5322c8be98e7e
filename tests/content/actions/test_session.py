"""A session's answers: what is read once is what would be read for each of them anew."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.actions import Call, Session, check
from agentguard.content.grounding import _arithmetic
from agentguard.content.grounding._reading import Budget

WORDS = st.sampled_from(["order", "Anna", "Oslo", "late", "paid", "id-17", "total", "2025-03-04 10:30"])
VALUES = st.recursive(
    st.none() | st.integers(0, 50) | st.decimals(0, 50, places=2).map(float) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
TEXTS = st.lists(
    st.builds("{0}: {1}".format, WORDS, st.integers(0, 50)) | st.builds("- {0} took {1} ms.".format, WORDS, WORDS),
    max_size=4,
).map("\n".join)
CALLS = st.builds(Call, st.sampled_from(["run_tests", "send_email"]), VALUES, VALUES | TEXTS, st.booleans())
ANSWERS = st.lists(
    st.builds("The total is {0}.".format, st.integers(0, 99))
    | st.builds("I sent {0} an email about {1}.".format, WORDS, WORDS)
    | st.builds("There are {0} items, on average {0}.5.".format, st.integers(2, 20)),
    min_size=1,
    max_size=3,
).map(" ".join)
#: Of each turn: how many of the oldest calls are given up, those that come, what is asked, and the answer.
TURNS = st.lists(st.tuples(st.integers(0, 2), st.lists(CALLS, max_size=4), TEXTS, ANSWERS), min_size=2, max_size=5)


@pytest.mark.parametrize("scarce", [False, True])
def test_a_session_says_what_its_calls_say_alone(scarce: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if scarce:
        monkeypatch.setattr(Budget.__new__, "__defaults__", (60, 200, 30, 60))
        monkeypatch.setattr(_arithmetic, "MAX_DERIVED", 25)
        monkeypatch.setattr(_arithmetic, "MAX_RECORDS", 3)

    @given(TURNS)
    def holds(turns: list[Any]) -> None:
        session, calls, asked = Session(), list[Call](), list[str]()
        for gone, come, question, answer in turns:
            calls = [*calls[gone:], *come]
            words: dict[str, Any] = {"question": question, "given": ["Be nice.", *asked]}
            assert session.check(answer, calls, **words) == check(answer, calls, **words)
            asked = [*asked[-1:], question]

    holds()


def test_a_call_that_is_cut_short_afterwards_is_read_anew() -> None:
    session = Session()
    call = Call("run_tests", {}, "48 passed. 7 were skipped.")
    assert not session.check("7 were skipped.", [call]).values.findings
    (finding,) = session.check("7 were skipped.", [call._replace(result="48 passed. …")]).values.findings
    assert finding.kind == "unsupported number"
