"""Honest streams, and what counts as one observation in them: empty lists, ids that count up, text, edits."""

from __future__ import annotations

import random

from agentguard.verification import VerificationEngine


def test_a_search_without_hits_is_accepted() -> None:
    engine, rng = VerificationEngine(), random.Random(4)
    for number in range(40):
        found = rng.randint(1, 7)
        hits = [{"id": rng.randrange(10_000), "score": rng.randint(1, 99)} for _ in range(found)]
        result = {"term": f"term{number}", "found": found, "hits": hits}
        engine.verify("find", args={"term": f"term{number}"}, result=result, execution_time_ms=90.0 + number % 5)
    result = {"term": "qqq", "found": 0, "hits": []}
    empty = engine.verify("find", args={"term": "qqq"}, result=result, execution_time_ms=92.0, learn=False)
    lost = engine.verify("find", args={"term": "qqq"}, result={**result, "found": 5}, execution_time_ms=92.0)
    assert (empty.verdict, lost.verdict) == ("accept", "flag")


def test_ids_that_grow_a_digit_are_accepted() -> None:
    engine = VerificationEngine()
    verdicts = []
    for number in (*range(80, 200), *range(1_000, 1_030)):
        ticket = {"ticket": f"T-{number}", "weight": 10.0 + number * 11 % 60, "unit": "kg"}
        verdict = engine.verify(
            "weigh", args={"ticket": f"T-{number}"}, result=ticket, execution_time_ms=30.0 + number % 6
        )
        verdicts.append(verdict.verdict)
    assert "block" not in verdicts
    assert verdicts.count("flag") <= 1


SYLLABLES = "ba co di fu ga he ki lo me nu pa ri so ta ve wi".split()


def document(number: int, lines: int = 0) -> str:
    """A page of made-up words in sentences, with a heading: free text without a form."""
    rng = random.Random(number)
    said = []
    for _ in range(lines or rng.randint(4, 40)):
        words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(rng.randint(4, 18))]
        said.append(" ".join(words).capitalize() + rng.choice(".!?;)"))
    return f"# Page {number}\n\n" + "\n".join(said) + "\n" * rng.randint(0, 1)


def test_free_text_is_never_blocked_and_hardly_ever_flagged() -> None:
    engine, rng = VerificationEngine(), random.Random(5)
    verdicts = []
    for _ in range(600):
        page = rng.randrange(150)
        read = engine.verify("page", args={"id": page}, result=document(page), execution_time_ms=rng.uniform(0.3, 1.2))
        verdicts.append(read.verdict)
    assert verdicts.count("block") == 0
    assert verdicts.count("flag") <= 3
    fault = engine.verify("page", args={"id": 200}, result={"error_page": True, "retry": 5}, execution_time_ms=0.7)
    assert fault.verdict == "flag"


def entry(number: int, k: int) -> dict[str, object]:
    return {"id": f"A{number}-{k}", "sum": 12.5 * (3 + (number * 7 + k * 5) % 11), "state": "open"}


def test_an_edit_is_no_fault_and_one_that_was_missed_does_not_turn_against_what_is_true() -> None:
    engine, rng = VerificationEngine(), random.Random(8)
    pages = {number: document(number) for number in range(40)}
    accounts = {number: [entry(number, k) for k in range(rng.randint(1, 5))] for number in range(40)}
    sessions = iter(range(10_000))

    def read(number: int) -> list[str]:
        session = f"s{next(sessions)}"
        page = engine.verify(
            "page", args={"id": number}, result=pages[number], execution_time_ms=rng.uniform(2, 5), session_id=session
        )
        rows = engine.verify(
            "rows",
            args={"id": number},
            result=accounts[number],
            execution_time_ms=rng.uniform(2, 5),
            session_id=session,
        )
        return [page.verdict, rows.verdict]

    for number in [*range(40)] * 3:
        read(number)
    verdicts = []
    for number in rng.sample(range(40), 10):
        pages[number] += "One line more.\n"
        accounts[number] = [*accounts[number], entry(number, 7)]
        verdicts += read(number) + read(number)
    assert verdicts.count("block") == 0
    assert verdicts.count("flag") <= 1

    right, pages[50], pages[51] = document(50), document(51), document(51)
    accounts[50], accounts[51] = accounts[1], accounts[2]
    read(50)  # another page's text, of which nothing is known yet
    pages[50] = right
    verdicts = [read(number)[0] for number in (50, 51) * 8]
    assert verdicts.count("block") == 0
    assert verdicts.count("flag") <= 2
