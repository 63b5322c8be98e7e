"""The walk over a value, held against a recursion that looks at one value at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.verification._document import read
from agentguard.verification._keys import NUMBERS_READ, numbers_of
from agentguard.verification._shape import FORMATS_READ, formats_of, string_format
from agentguard.verification._walk import HEAD, TAIL, Walk, child_path, layout_of

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)
keys = st.sampled_from(["id", "name", "a1", "a2", "é", 'q"', "a\n", ""]) | st.text(
    st.characters(codec="utf-8"), max_size=4
)


def tables(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists of objects, most of which have the same keys."""
    rows = st.lists(keys, max_size=4, unique=True).flatmap(
        lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, inner)), max_size=20)
    )
    return rows | st.tuples(rows, rows).map(lambda both: [*both[0], *both[1]])


values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=16) | st.dictionaries(keys, inner, max_size=6) | tables(inner),
    max_leaves=40,
)


def sample(items: list[Any]) -> list[Any]:
    return items if len(items) <= HEAD + TAIL else [*items[:HEAD], *items[-TAIL:]]


def leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves_of(item, child_path(path, key))
    elif isinstance(value, list):
        for item in sample(value):
            yield from leaves_of(item, f"{path}[]")
    else:
        yield path, value


def forms_of(value: Any, path: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """The path of every object and the names of its keys, each once."""
    if isinstance(value, dict):
        yield path, tuple(dict.fromkeys(child_path("", key) for key in value))
        for key, item in value.items():
            yield from forms_of(item, child_path(path, key))
    elif isinstance(value, list):
        for item in sample(value):
            yield from forms_of(item, f"{path}[]")


@given(value=values)
@example([{"a": 1}] * 13)
@example([[{"a": [1, None, "x"]}, {"a": [2.0]}], [{"b": True, "a": {}}]])
def test_it_meets_each_leaf_and_each_object(value: Any) -> None:
    """A layout has each path with the types there; the order of rows is kept where all have the same keys."""
    walk = Walk()
    walk.visit(value)

    met = Counter((path, repr(leaf)) for path, leaves in walk.leaves.items() for leaf in leaves)
    expected = Counter((path, repr(leaf)) for path, leaf in leaves_of(value))
    assert expected == met
    assert walk.forms.keys() == set(forms_of(value))

    facts = layout_of(walk.forms, walk.typed).facts
    typed = {(path, float if type(leaf) is int else type(leaf)) for path, leaf in leaves_of(value)}
    assert typed == facts

    rows = Walk()
    rows.visit([{"n": n, "of": value} for n in range(5)])
    assert rows.leaves["[].n"] == [0, 1, 2, 3, 4]


def test_an_empty_list_has_no_elements_and_a_long_one_all_of_its_own() -> None:
    walk = Walk()
    walk.visit({"hits": [], "rows": [{"tags": ["a"] * n} for n in range(40)]})
    assert walk.leaves["hits[]"] == []
    assert walk.lengths["hits"] == 0
    assert walk.lengths["rows"] == 40
    layout = layout_of(walk.forms, walk.typed)
    assert layout.facts == {("rows[].tags[]", str)}
    assert layout.empty == ("hits[]",)


@given(leaves=st.lists(st.dictionaries(keys, scalars, max_size=4), max_size=8), free=keys)
@example([{"a": None}, {"a": 7}, {"a": "x1"}, {"a": "y"}], "b")
@example([{"a": True}, {"a": 3}, {"a": -0.5}, {"a": math.inf}, {"a": math.nan}, {"a": "7"}, {"a": 1}], "b")
def test_formats_and_numbers_are_those_of_the_first_values(leaves: list[dict[str, Any]], free: str) -> None:
    document = read({"rows": leaves})
    free = child_path("rows[]", free)

    formats = formats_of(document, {free: None})
    numbers = numbers_of(document)

    for path, found in document.leaves.items():
        text = next((value for value in found[:FORMATS_READ] if type(value) is str), None)
        if text is not None and path != free and formats.get(path) not in ("NaN", "Infinity", "-Infinity"):
            assert formats[path] == string_format(text)
        finite = [float(x) for x in found[:NUMBERS_READ] if type(x) in (int, float) and math.isfinite(x)]
        logs = [math.copysign(math.log(1.0 + abs(x)), x) for x in finite]
        if logs and path in numbers:
            assert math.isclose(numbers[path], sum(logs) / len(logs), rel_tol=1e-12)
        assert (path in numbers) == bool(logs)
