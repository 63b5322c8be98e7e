"""load_calibration: what a file may say, and every fault of it in one error."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, ProfileError
from agentguard.verification import VerificationEngine
from agentguard.verification._calibration import load_calibration, parse_calibration
from agentguard.verification.evidence import DEFAULT_RATIOS

from ..rows import over

WHOLE = """\
version: 1
made_from: {labels: 812}
all:
  prior: 0.04
  accept_below: 0.3
  block_at: 0.62
  max_false_block_rate: 0.005
  likelihood_ratios: {echo_mismatch: 11.3, spc_anomaly: 2}
tools:
  get_weather: {prior: 0.02}
  "a: b":
    likelihood_ratios:
      echo_mismatch: 4.5
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "calibration.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def faults(folder: Path, text: str | bytes) -> list[str]:
    """The problems as they are printed, without the file in front."""
    path = write(folder, text)
    with pytest.raises(ProfileError) as caught:
        load_calibration(path)
    return [line.strip().removeprefix(str(path)).removeprefix(":") for line in str(caught.value).splitlines()[1:]]


def test_a_whole_file(tmp_path: Path) -> None:
    found = load_calibration(write(tmp_path, WHOLE))

    assert found.everywhere == {
        "prior": 0.04, "accept_below": 0.3, "block_at": 0.62, "max_false_block_rate": 0.005,
        "likelihood_ratios": {"echo_mismatch": 11.3, "spc_anomaly": 2.0},
    }  # fmt: skip
    assert found.tools == {"get_weather": {"prior": 0.02}, "a: b": {"likelihood_ratios": {"echo_mismatch": 4.5}}}
    assert found.made_from == {"labels": 812}
    engine = VerificationEngine().calibrate(**found.everywhere)
    for tool, settings in found.tools.items():
        engine.calibrate(tool, **settings)
    assert engine.verify("get_weather", result=1).prior == 0.02
    assert engine.verify("other", result=1).prior == 0.04


@pytest.mark.parametrize("text", ["version: 1\n", "version: 1\nall:\ntools:\n", "version: 1\nall: {}\ntools: {t: }\n"])
def test_a_file_may_leave_everything_as_it_is(tmp_path: Path, text: str) -> None:
    found = load_calibration(write(tmp_path, text))

    assert not found.everywhere
    assert not any(found.tools.values())


def test_it_cannot_be_changed(tmp_path: Path) -> None:
    found: Any = load_calibration(write(tmp_path, WHOLE))

    with pytest.raises(FrozenInstanceError):
        found.tools = {}
    for mapping in (found.everywhere, found.tools, found.tools["get_weather"], found.everywhere["likelihood_ratios"]):
        with pytest.raises(TypeError):
            mapping["prior"] = 0.5


def test_all_faults_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = """\
version: 1
comment: hello
all:
  prior: 1
  accept_below: 0.6
  block_at: 0.5
  likelihood_ratios:
    echo_mismatch: -1
    no_signal: 2
tools:
  search:
    prior: "0.1"
    prior: true
    threshold: 0.5
  weather: 7
  orders:
    block_at: 0.55
"""
    known = ", ".join(sorted(DEFAULT_RATIOS))
    settings = "prior, accept_below, block_at, max_false_block_rate, likelihood_ratios"
    assert faults(tmp_path, text) == [
        "2: comment: unknown part; known are version, made_from, all, tools",
        "4: all.prior: must be a number in (0, 1), not 1",
        "5: all.accept_below: accept_below (0.6) must not be above block_at (0.5)",
        "8: all.likelihood_ratios.echo_mismatch: must be a positive number, not -1",
        f"9: all.likelihood_ratios.no_signal: unknown signal; known are {known}",
        "13: tools.search.prior: is given twice, first on line 12",
        "13: tools.search.prior: must be a number in (0, 1), not True",
        f"14: tools.search.threshold: unknown setting; known are {settings}",
        "15: tools.weather: must be a mapping",
        "17: tools.orders.block_at: accept_below (0.6) must not be above block_at (0.55)",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("all: {}\n", "1: version: must be given, and be the format's number, which is 1"),
        ("version: yes\n", "1: version: must be given, and be the format's number, which is 1"),
        ("version: 0\n", "1: version: must be given, and be the format's number, which is 1"),
        ("", "1: is empty; a calibration file is a mapping of fields, like `version: 1`"),
        ("- 1\n", "1: is not a mapping; a calibration file is a mapping of fields, like `version: 1`"),
        ("version: 1\nall: &a {}\n", "2: all: anchor &a is not allowed in a calibration file; write the value out"),
        ("version: 1\n---\nversion: 1\n", "2: holds a second document; leave one"),
        ("version: 1\nall: {prior: .nan}\n", "2: all.prior: must be a number in (0, 1), not nan"),
        (
            "version: 1\ntools: {t: {likelihood_ratios: [1]}}\n",
            "2: tools.t.likelihood_ratios: must be a mapping of signals to ratios",
        ),
        (
            "version: 1\nall: {likelihood_ratios: {spc_anomaly: .inf}}\n",
            "2: all.likelihood_ratios.spc_anomaly: must be a positive number, not inf",
        ),
        (b"version: 1\n\xff", "2: is not UTF-8 text; save the file as UTF-8"),
    ],
)
def test_one_fault(tmp_path: Path, text: str | bytes, fault: str) -> None:
    assert faults(tmp_path, text) == [fault]


@over(
    ("settings", "fault"),
    [
        ({"accept_below": [10**5000]}, "all.accept_below: must be a number in (0, 1], not a list"),
        ({"prior": {"a": 10**5000}}, "all.prior: must be a number in (0, 1), not a dict"),
        (
            {"likelihood_ratios": {"echo_mismatch": -(10**5000)}},
            "all.likelihood_ratios.echo_mismatch: must be a positive number, not an integer of 16,610 bits",
        ),
        (
            {"likelihood_ratios": {"echo_mismatch": 10**400}},  # below infinity, and above every float
            "all.likelihood_ratios.echo_mismatch: must be a positive number, not an integer of 1,329 bits",
        ),
        (
            {"likelihood_ratios": {"echo_mismatch": [10**5000]}},
            "all.likelihood_ratios.echo_mismatch: must be a positive number, not a list",
        ),
    ],
)
def test_a_number_that_python_does_not_write_out_is_a_fault_like_any_other(settings: Any, fault: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_calibration({"version": 1, "all": settings})

    (problem,) = caught.value.problems
    assert f"{problem.field}: {problem.message}".startswith(fault)


def test_a_newer_file_is_refused_whatever_else_it_says(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "version: 2\nquantiles: [1]\nall: {prior: 7}\n")

    assert fault.startswith("1: version: was written by a newer agentguard, in format 2; this one reads up to 1")


@pytest.mark.parametrize("name", ["missing.yaml", "", "a\0b"])
def test_there_is_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="no calibration file at"):
        load_calibration(name and f"{tmp_path}/{name}")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a folder; name the calibration file in it"):
        load_calibration(tmp_path)


_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["prior", "block_at", "accept_below", "likelihood_ratios", "echo_mismatch", "x"]),
            inner,
            max_size=3,
        )
    ),
)


@given(
    st.fixed_dictionaries(
        {"version": st.just(1) | _values}, optional={"all": _values, "tools": _values, "made_from": _values}
    )
)
def test_any_data_is_usable_or_refused(data: dict[str, Any]) -> None:
    """What is taken is taken by an engine too."""
    try:
        found = parse_calibration(data)
    except ProfileError:
        return
    # One threshold alone may not go with the engine's other one: here the other one is out of the way.
    engine = VerificationEngine(accept_below=1e-300, block_at=1.0).calibrate(**found.everywhere)
    for tool, settings in found.tools.items():
        engine.calibrate(tool, **settings)
