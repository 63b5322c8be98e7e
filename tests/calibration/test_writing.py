"""The calibration file: what is written is what is read, whatever the tools are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentguard.calibration import Label, LabelSettings, Outcome, calibrate, proposal, yaml_of
from agentguard.calibration._proposal import MAX_TOOLS, quoted
from agentguard.verification._calibration import Calibration, load_calibration

_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=1_000).filter(lambda name: name != "<<")


def read_back(folder: Path, text: str) -> Calibration:
    path = folder / "calibration.yaml"
    path.write_text(text, encoding="utf-8", newline="\n")
    return load_calibration(path)


def test_what_is_written_is_what_was_found(tmp_path: Path, outcome: Outcome) -> None:
    found = proposal(outcome)
    assert found is not None

    read = read_back(tmp_path, yaml_of(outcome, found, until=812))

    assert (read.everywhere, read.tools) == (found.everywhere, found.tools)
    assert read.made_from == {
        "labels": outcome.labels,
        "fabricated": outcome.fabricated_labels,
        "of_accepted_calls": outcome.accepted_labels,
        "calls_stood_for": round(outcome.calls),
        "effective_labels": round(outcome.effective),
        "confidence": 0.95,
        "feedback_until": 812,
    }


def test_each_value_says_what_it_rests_on(outcome: Outcome) -> None:
    found = proposal(outcome)
    assert found is not None
    assert outcome.fit is not None
    lines = yaml_of(outcome, found).splitlines()

    prior = outcome.fit.everywhere.prior
    comment = f"# [{prior.low:.3g} to {prior.high:.3g}], {outcome.labels} labels"
    assert any(line.startswith("  prior:") and line.endswith(comment) for line in lines)
    bound = f"# blocked: at most {outcome.blocks.bound:.2%} of genuine calls (95%)"
    assert any(line.startswith("  block_at:") and bound in line for line in lines)
    assert not any("feedback_until" in line for line in lines)


@given(
    tools=st.dictionaries(
        _names,
        st.fixed_dictionaries(
            {},
            optional={
                "prior": st.floats(1e-9, 0.999),
                "max_false_block_rate": st.floats(1e-300, 1.0),
                "likelihood_ratios": st.dictionaries(
                    st.sampled_from(["echo_mismatch", "spc_anomaly"]), st.floats(1e-3, 1e6), min_size=1
                ),
            },
        ),
        max_size=4,
    )
)
def test_any_tool_and_any_number_comes_back(
    tmp_path_factory: pytest.TempPathFactory, outcome: Outcome, tools: dict[str, dict[str, Any]]
) -> None:
    text = yaml_of(outcome, Calibration({"prior": 0.1}, tools))

    assert all(0x20 <= ord(character) != 0x7F or character == "\n" for character in text)
    read = read_back(tmp_path_factory.mktemp("file"), text)
    assert {tool: dict(settings) for tool, settings in read.tools.items()} == tools


@given(_names)
def test_quoted_text_is_that_text(text: str) -> None:
    written = quoted(text)

    assert "\n" not in written
    assert yaml.safe_load(f"- {written}\n") == [text]


@pytest.mark.parametrize(
    "name", ["null", "1", "1.5", "2026-01-01", "a: b", "# c", "? x", "- x", "*a", "&b", "!t", "é", "\ufeff", "~"]
)
def test_names_that_yaml_takes_for_something_else(tmp_path: Path, outcome: Outcome, name: str) -> None:
    assert set(read_back(tmp_path, yaml_of(outcome, Calibration({}, {name: {"prior": 0.1}}))).tools) == {name}


def test_a_file_stays_within_what_the_reader_takes(tmp_path: Path, outcome: Outcome) -> None:
    """3,000 tools, some with names as long as they may be: those with the most labels are in the file."""
    ratios = dict.fromkeys(LabelSettings().ratios, 2.5)
    tools = {
        f"tool {k} " + "\U0001f600" * (990 if k % 3 else 0): {"prior": 0.1, "likelihood_ratios": ratios}
        for k in range(3_000)
    }

    text = yaml_of(outcome, Calibration({"prior": 0.1}, {**tools, "orders": {"prior": 0.2}}))

    read = read_back(tmp_path, text)
    assert "orders" in read.tools
    assert 100 < len(read.tools) <= MAX_TOOLS
    assert f"  # {3_001 - len(read.tools):,} more tools take what is set for all\n" in text


def test_remarks_stand_in_the_file(line: Callable[..., dict[str, Any]]) -> None:
    labels = [Label("t", 0.05, False, 0.5)] * 400
    outcome = calibrate(labels)
    found = proposal(outcome)
    assert found is not None

    text = yaml_of(outcome, found)

    assert "# Priors and ratios stay as they are: a fit takes 30 labels" in text
    assert "prior" not in found.everywhere
