"""Text from outside is made harmless; JSON is always JSON."""

import json
import math
import os
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.cli._files import write_file
from agentguard.cli._terminal import printable, show, write_json
from agentguard.cli._verify import ledger
from agentguard.errors import DataError
from agentguard.verification import SignalResult, VerificationResult, VerificationTier
from agentguard.verification.statistics import log_odds


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


def test_an_earlier_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "calibration.yaml"
    path.write_text("old\n" * 1_000)

    write_file(path, "new\n")

    assert path.read_text() == "new\n"
    assert os.listdir(tmp_path) == ["calibration.yaml"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("place", ["missing/calibration.yaml", ".", "a\0b"])
def test_a_place_that_cannot_be_written_to(tmp_path: Path, place: str) -> None:
    (tmp_path / "kept").write_text("")

    with pytest.raises(DataError, match="cannot write"):
        write_file(f"{tmp_path}/{place}", "new\n")
    assert os.listdir(tmp_path) == ["kept"]
