"""Labels from lines, files and stores: what is none is told, and never fatal."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.calibration import BrokenLabel, Label, labels_in_file, labels_in_store, parse_label
from agentguard.calibration._labels import MAX_LINE_BYTES, gather, read_label
from agentguard.errors import DataError
from agentguard.stores import MemoryStore

from ..rows import over

Line = Callable[..., dict[str, Any]]


def write(path: Path, *rows: Any) -> Path:
    path.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return path


def test_a_label_with_every_field(line: Line) -> None:
    given_line = line(
        tool="weather", confidence_score=0.6, was_hallucination=True, call_id=7, propensity=0.25, prior=0.1,
        verdict="block", nats={"echo_mismatch": 2.5, "spc_anomaly": 0, "future_signal": -1}, fired=["echo_mismatch"],
    )  # fmt: skip

    label = parse_label(given_line)

    nats = {"echo_mismatch": 2.5, "future_signal": -1.0}
    assert label == Label("weather", 0.6, True, 0.25, nats, 0.1, "block", "7")
    assert label.weight == 4.0


def test_what_may_be_left_out_may_be_null_too(line: Line) -> None:
    nothing = dict.fromkeys(("call_id", "propensity", "prior", "nats", "verdict"))

    assert parse_label(line(**nothing)) == parse_label(line()) == Label("search", 0.1, fabricated=False)


@over(
    ("change", "reason"),
    [
        ({"tool": ""}, "field 'tool' must be a name"),
        ({"tool": 7}, "field 'tool' must be a name"),
        ({"tool": "t" * 1_001}, "field 'tool' must be a name"),
        ({"tool": "\ud800"}, "field 'tool' is not Unicode text"),
        ({"confidence_score": 1.01}, r"field 'confidence_score' must be a number in \[0, 1\]"),
        ({"confidence_score": True}, "field 'confidence_score'"),
        ({"confidence_score": "0.3"}, "field 'confidence_score'"),
        ({"confidence_score": math.nan}, "field 'confidence_score'"),
        ({"confidence_score": 10**400}, "field 'confidence_score'"),
        ({"was_hallucination": 1}, "field 'was_hallucination' must be true or false"),
        ({"was_hallucination": None}, "field 'was_hallucination' must be true or false"),
        ({"propensity": 0}, r"field 'propensity' must be a number in \(0, 1\]"),
        ({"propensity": -0.1}, "field 'propensity'"),
        ({"prior": 1}, r"field 'prior' must be a number in \(0, 1\)"),
        ({"verdict": "maybe"}, "field 'verdict' must be one of accept, flag, block"),
        ({"verdict": []}, "field 'verdict' must be one of accept, flag, block"),
        ({"nats": [1.0]}, "field 'nats' must be an object"),
        ({"nats": {"echo_mismatch": "2"}}, "field 'nats' must give numbers by signal"),
        ({"nats": {"echo_mismatch": math.inf}}, "field 'nats' must give numbers by signal"),
        ({"nats": {str(k): 1 for k in range(101)}}, "at most 100 signals"),
        ({"call_id": {}}, "field 'call_id' must be text"),
        ({"call_id": "c" * 1_001}, "field 'call_id' must be text"),
    ],
)
def test_a_wrong_field_is_named(line: Line, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parse_label(line(**change))


@pytest.mark.parametrize("field", ["tool", "confidence_score", "was_hallucination"])
def test_a_missing_field_is_named(line: Line, field: str) -> None:
    data = line()
    del data[field]
    with pytest.raises(DataError, match=f"field '{field}' is missing"):
        parse_label(data)


@given(
    st.binary()
    | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_no_line_is_fatal(raw: bytes) -> None:
    assert isinstance(read_label(raw, "labels.jsonl", 1), BrokenLabel)


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)
_labels = st.fixed_dictionaries(
    {"tool": _names, "confidence_score": st.floats(0, 1), "was_hallucination": st.booleans()},
    optional={
        "propensity": st.none() | st.floats(0, 1, exclude_min=True),
        "prior": st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
        "verdict": st.sampled_from([None, "accept", "flag", "block"]),
        "nats": st.none() | st.dictionaries(st.text(max_size=20), st.floats(-1e5, 1e5), max_size=5),
        "call_id": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.integers(0, 2**100),
    },
)


@given(st.lists(_labels | st.just({"no": "label"}), max_size=20))
def test_every_line_of_a_file_is_a_label_or_is_told(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = write(tmp_path_factory.mktemp("labels") / "labels.jsonl", *rows)

    read = labels_in_file(path)

    good = [row for row in rows if "tool" in row]
    assert read.broken == len(rows) - len(good)
    assert len(read.labels) + read.corrected == len(good)
    assert [broken.line for broken in read.first_broken] == [k + 1 for k, row in enumerate(rows) if "tool" not in row]
    assert all(1.0 <= label.weight <= 200.0 and abs(label.log_odds) <= 30.0 for label in read.labels)


def test_broken_lines_have_their_place_and_reason_and_no_content(tmp_path: Path, line: Line) -> None:
    path = write(tmp_path / "labels.jsonl", line(), b"secret", b"", b"\xff", line(tool="secret", propensity=2), b"[]")

    read = labels_in_file(path)

    assert len(read.labels) == 1
    assert list(map(str, read.first_broken)) == [
        f"{path}:2: not JSON (character 1)",
        f"{path}:4: not UTF-8 text (byte 1)",
        f"{path}:5: field 'propensity' must be a number in (0, 1]",
        f"{path}:6: must be a JSON object",
    ]


def test_only_the_first_twenty_broken_lines_are_named(tmp_path: Path) -> None:
    read = labels_in_file(write(tmp_path / "labels.jsonl", *[b"{"] * 50))

    assert (read.broken, len(read.first_broken)) == (50, 20)


def test_a_line_too_long_is_one_broken_line(tmp_path: Path, line: Line) -> None:
    long = json.dumps(line(note="x" * MAX_LINE_BYTES)).encode()

    read = labels_in_file(write(tmp_path / "labels.jsonl", line(), long, line(tool="after")))

    assert [label.tool for label in read.labels] == ["search", "after"]
    assert [(broken.line, broken.reason) for broken in read.first_broken] == [(2, "longer than 1,048,576 bytes")]


def test_gzip_is_known_by_its_first_bytes_and_damage_ends_the_file(tmp_path: Path, line: Line) -> None:
    whole = gzip.compress(b"".join(json.dumps(line(tool=f"t{k}")).encode() + b"\n" for k in range(200)))
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(whole)
    bad.write_bytes(whole[: len(whole) // 2])

    assert len(labels_in_file(good).labels) == 200
    read = labels_in_file(bad)
    assert 0 < len(read.labels) < 200
    assert "damaged or cut off" in read.first_broken[-1].reason


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, line: Line) -> None:
    path = write(tmp_path / "labels.jsonl", b"\xef\xbb\xbf" + json.dumps(line()).encode())

    assert len(labels_in_file(path).labels) == 1


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "a\0b"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot read the labels in"):
        labels_in_file(f"{tmp_path}/{name}")


def test_the_last_word_on_a_call_stands(line: Line) -> None:
    """Another posterior is another call, whatever its id; without an id nothing is known to be the same call."""
    words = [
        line(call_id="c1", was_hallucination=True),
        line(call_id="c1", confidence_score=0.2),
        line(call_id="c1"),
        line(),
        line(),
    ]

    read = gather(map(parse_label, words))

    assert read.corrected == 1
    assert [(label.posterior, label.fabricated) for label in read.labels] == [
        (0.2, False),
        (0.1, False),
        (0.1, False),
        (0.1, False),
    ]


def test_labels_of_a_store_and_the_number_of_the_last_event(line: Line) -> None:
    store = MemoryStore()
    for event in (line(), {"tool": "search"}, line(tool="weather", fired=["spc_anomaly"])):
        store.append("feedback", event)

    read = labels_in_store(store)

    assert [label.tool for label in read.labels] == ["search", "weather"]
    assert list(map(str, read.first_broken)) == ["feedback:2: field 'confidence_score' is missing"]
    assert read.until == 3


@pytest.mark.parametrize(("propensity", "weight"), [(1.0, 1.0), (0.02, 50.0), (0.001, 200.0)])
def test_a_label_stands_for_one_over_its_propensity_up_to_a_cap(propensity: float, weight: float) -> None:
    assert Label("t", 0.1, False, propensity).weight == pytest.approx(weight)


@pytest.mark.parametrize(("posterior", "nats"), [(0.0, -30.0), (1.0, 30.0), (0.5, 0.0), (0.15, math.log(0.15 / 0.85))])
def test_log_odds_of_certainties_are_finite(posterior: float, nats: float) -> None:
    assert Label("t", posterior, False).log_odds == pytest.approx(nats)
