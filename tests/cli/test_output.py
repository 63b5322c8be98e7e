"""Text from outside is made harmless; JSON is always JSON."""

import json
import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.cli.ledger import ledger, log_odds
from agentguard.cli.output import printable, show, write_json
from agentguard.verification import SignalResult, VerificationResult, VerificationTier


@given(st.text(st.characters()))
def test_printable_text_has_no_control_characters(text: str) -> None:
    clean = printable(text)

    assert not [letter for letter in clean if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(clean) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")
    clean.encode("utf-8")


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_printable_text_is_left_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_shown_text_is_cut_and_never_parsed() -> None:
    shown = show("[red]" + "x" * 50, limit=10)

    assert shown.plain == "[red]xxxx…"
    assert shown.spans == []


def test_numbers_that_json_has_not_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"a": [math.nan, (math.inf, 1.5)], "b": {"c": -math.inf}, "d": "\ud800é\x1b"})

    written = capsys.readouterr().out
    assert json.loads(written) == {"a": [None, [None, 1.5]], "b": {"c": None}, "d": "\ud800é\x1b"}
    assert written.isascii()
    assert "\x1b" not in written


def verdict(posterior: float, **contributions: float) -> VerificationResult:
    signal = SignalResult("known", True, True, 1.0, 2.0, None, VerificationTier.TIER_0, "")
    return VerificationResult(
        "flag", posterior, 0.5, {"known": signal}, contributions, VerificationTier.TIER_0, None, "t", None, ""
    )


def test_a_ledger_adds_up_from_the_prior() -> None:
    # Prior .5 has log-odds 0; 1 + .5 nats are odds of e^1.5 = 4.4817, P = .81757.
    sheet = ledger(verdict(0.8175744761936437, known=1.0, drift=0.5))

    assert [(entry.name, entry.nats, entry.running) for entry in sheet.entries] == [
        ("known", 1, 1),
        ("drift", 0.5, 1.5),
    ]
    assert sheet.entries[1].signal is None
    assert [sheet.prior, sheet.total] == pytest.approx([0, 1.5])
    assert sheet.remainder == pytest.approx(0, abs=1e-12)


def test_a_ledger_says_what_the_signals_do_not_explain() -> None:
    sheet = ledger(verdict(0.5, known=1.0))

    assert sheet.remainder == pytest.approx(-1)


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.0, -math.inf), (1.0, math.inf), (0.5, 0.0), (0.75, math.log(3))]
)
def test_log_odds(probability: float, expected: float) -> None:
    assert log_odds(probability) == pytest.approx(expected)
    assert ledger(verdict(probability)).remainder == (0 if math.isinf(expected) else pytest.approx(expected))
