"""Which profile a tool name finds, against an oracle that tries every name and translates ``*`` to a regex."""

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import ToolProfile
from agentguard.verification import profile as module
from agentguard.verification.profile import ProfileIndex

from ..rows import over


def profile(name: str, *aliases: str) -> ToolProfile:
    return ToolProfile(name=name, aliases=aliases)


def found(index: ProfileIndex, tool: str) -> str | None:
    match = index.find(tool)
    return None if match is None else match.name


def test_name_then_alias_then_pattern() -> None:
    index = ProfileIndex([profile("get_*", "fetch"), profile("fetch"), profile("other", "get_weather")])
    assert [found(index, tool) for tool in ("fetch", "get_weather", "get_price", "got_price")] == [
        "fetch",
        "other",
        "get_*",
        None,
    ]


def test_the_pattern_with_the_longest_literal_part_wins() -> None:
    index = ProfileIndex(
        [profile("*"), profile("get_weather_*"), profile("get_*"), profile("tie_a*"), profile("*tie_a")]
    )
    assert found(index, "get_weather_now") == "get_weather_*"
    assert found(index, "get_price") == "get_*"
    assert found(index, "anything") == "*"
    assert found(index, "tie_a") == "*tie_a", "of two equally long the one added last"


@over("name", ["search?", "search[ab]", "a.b", "a+", "^a$", "search\n", r"\d"])
def test_only_the_star_is_special(name: str) -> None:
    index = ProfileIndex([profile(name), profile(f"x{name}*")])
    assert found(index, name) == name
    assert found(index, f"x{name}yz") == f"x{name}*"
    for other in ("searchx", "searcha", "axb", "aa", "a", "search", "1", "xsearchxyz"):
        assert found(index, other) is None


def test_case_counts() -> None:
    index = ProfileIndex([profile("Search", "Find_*")])
    assert found(index, "search") is None
    assert found(index, "find_x") is None


def test_a_literal_star_in_a_tool_name_finds_the_pattern_of_that_name() -> None:
    index = ProfileIndex([profile("a*"), profile("a**")])
    assert found(index, "a*") == "a*"
    assert found(index, "a**") == "a**"


def test_adding_a_name_again_replaces_it_everywhere() -> None:
    index = ProfileIndex([profile("search", "find", "look_*"), profile("rest", "find_*")])
    assert [found(index, tool) for tool in ("search", "find", "look_up", "seek")] == ["search"] * 3 + [None]
    index.add(ToolProfile(name="search", aliases=("seek",), required_fields=("results",)))
    assert [found(index, tool) for tool in ("search", "seek", "find", "look_up")] == ["search", "search", None, None]
    assert index.find("search") is index.find("seek")
    assert [item.name for item in index] == ["rest", "search"]
    assert len(index) == 2


def test_a_shared_alias_belongs_to_the_profile_added_last_and_falls_back() -> None:
    index = ProfileIndex([profile("first", "shared"), profile("second", "shared")])
    assert found(index, "shared") == "second"
    index.add(profile("second"))
    assert found(index, "shared") == "first"


def test_a_remembered_miss_is_forgotten_when_a_profile_is_added() -> None:
    index = ProfileIndex()
    assert found(index, "search") is None
    index.add(profile("sea*"))
    assert found(index, "search") == "sea*"


def test_lookups_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    matches = module._matches

    def counted(tool: str, pieces: tuple[str, ...]) -> bool:
        calls.append(tool)
        return matches(tool, pieces)

    monkeypatch.setattr(module, "_matches", counted)
    index = ProfileIndex([profile("get_*")])
    for _ in range(3):
        assert found(index, "get_x") == "get_*"
        assert found(index, "nothing") is None
    assert calls == ["get_x", "nothing"]
    for number in range(25_000):
        index.find(f"hostile_{number}")
        assert len(index._cache) <= 10_000
    assert index.find("x" * 1_000_000) is None
    assert max(map(len, index._cache)) <= 256


def test_hostile_names_and_patterns_take_few_steps() -> None:
    """A matcher that tries every place for every star would need about C(200, 40) steps here."""
    index = ProfileIndex([profile("*a" * 40 + "*b")])
    assert index.find("a" * 200) is None
    assert found(index, "a" * 200 + "b") is not None


def test_a_lookup_during_an_addition_is_not_remembered_past_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup that began before ``add`` returns what held then; the next one sees the new profile."""
    index = ProfileIndex([profile("get_*")])
    matches = module._matches

    def interrupted(tool: str, pieces: tuple[str, ...]) -> bool:
        monkeypatch.setattr(module, "_matches", matches)
        adder = threading.Thread(target=index.add, args=(profile("get_weather"),))
        adder.start()
        adder.join()
        return matches(tool, pieces)

    monkeypatch.setattr(module, "_matches", interrupted)
    assert found(index, "get_weather") == "get_*"
    assert found(index, "get_weather") == "get_weather"


def test_threads_adding_lose_nothing() -> None:
    index = ProfileIndex()
    start = threading.Barrier(8)

    def add(worker: int) -> None:
        start.wait()
        for number in range(50):
            index.add(profile(f"tool_{worker}_{number}", f"alias_{worker}_{number}", f"{worker}_{number}_*"))

    workers = [threading.Thread(target=add, args=(worker,)) for worker in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert len(index) == 400
    for worker in range(8):
        for number in range(50):
            expected = f"tool_{worker}_{number}"
            assert found(index, f"alias_{worker}_{number}") == expected
            assert found(index, f"{worker}_{number}_x") == expected


NAMES = st.text(alphabet="ab*?[.", min_size=1, max_size=7)
ALIASES = NAMES.filter(lambda name: name.strip("*") != "")  # as an alias, stars alone are refused
TOOLS = st.text(alphabet="ab?[.*", max_size=9)


def oracle(profiles: list[ToolProfile], tool: str) -> set[str]:
    """The names that may be found: by the rules alone, without an order among equally specific patterns."""
    profiles = list({item.name: item for item in profiles}.values())
    if any(item.name == tool for item in profiles):
        return {tool}
    holders = {item.name for item in profiles if any(a == tool and "*" not in a for a in item.aliases)}
    if holders:
        return holders
    best: dict[int, set[str]] = {}
    for item in profiles:
        for pattern in (item.name, *item.aliases):
            regex = ".*".join(re.escape(piece) for piece in pattern.split("*"))
            if "*" in pattern and re.fullmatch(regex, tool, re.DOTALL):
                best.setdefault(len(pattern.replace("*", "")), set()).add(item.name)
    return best[max(best)] if best else set()


@over(
    ("pattern", "matching", "other"),
    [
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("*a*a*", ["aa", "xayaz"], ["a", "xay"]),
        ("*ab*ba*", ["abba", "xabxbax"], ["aba"]),
        ("ab*b", ["abb", "abxb"], ["ab"]),
        ("*", ["", "a", "a\nb"], []),
        ("a**b", ["ab", "axb"], ["a", "b"]),
        ("*a", ["a", "aa"], ["", "ab"]),
    ],
)
def test_pieces_do_not_overlap(pattern: str, matching: list[str], other: list[str]) -> None:
    index = ProfileIndex([profile(pattern)])
    assert [found(index, tool) for tool in matching] == [pattern] * len(matching)
    assert [found(index, tool) for tool in other] == [None] * len(other)


@given(st.text(alphabet="ab*", min_size=1, max_size=7), st.text(alphabet="ab", max_size=7))
def test_a_pattern_matches_what_its_regex_does(pattern: str, tool: str) -> None:
    regex = ".*".join(map(re.escape, pattern.split("*")))
    assert (found(ProfileIndex([profile(pattern)]), tool) is not None) == bool(re.fullmatch(regex, tool))


@given(st.lists(st.builds(profile, NAMES, ALIASES, ALIASES), max_size=5), st.lists(TOOLS, min_size=1, max_size=5))
def test_finds_what_the_rules_say(profiles: list[ToolProfile], tools: list[str]) -> None:
    index = ProfileIndex(profiles)
    for tool in tools * 2:
        expected = oracle(profiles, tool)
        name = found(index, tool)
        assert name in expected if expected else name is None


@given(st.lists(st.builds(profile, NAMES, ALIASES), max_size=5), TOOLS)
def test_the_answer_does_not_depend_on_when_it_is_asked(profiles: list[ToolProfile], tool: str) -> None:
    asked = ProfileIndex()
    for item in profiles:
        asked.add(item)
        asked.find(tool)
    assert asked.find(tool) == ProfileIndex(profiles).find(tool)
