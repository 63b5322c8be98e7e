"""Names and values that nobody expected: kept exactly or refused, never changed."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, Store

from .corpus import NAMES, VALUES
from .opening import Opener, StoreOpening

__all__ = ["HostileConformance"]


def same(one: Any, other: Any) -> bool:
    """Equal with equal types, however deep; NaN is equal to itself, and 0.0 not to -0.0."""
    left, right = [one], [other]
    while left:
        a, b = left.pop(), right.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if list(map(repr, a)) != list(map(repr, b)):
                return False
            left.extend(a.values())
            right.extend(b[key] for key in a)
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            left.extend(a)
            right.extend(b)
        elif a != b if not isinstance(a, float) else repr(a) != repr(b):
            return False
    return True


class HostileConformance(StoreOpening):
    """Any text is a name; what is no JSON is refused."""

    def test_any_text_is_a_name(self, opened: Opener) -> None:
        store = opened()
        for number, name in enumerate(NAMES):
            store.append(name, {"n": number})
            store.merge(Delta(name, 1, {name: {name: number + 1}}))
            store.save({name: {"n": number}})
        granted = [store.claim(kind, key) for kind in NAMES[:30] for key in NAMES]

        assert all(granted)
        assert not any(store.claim(name, name) for name in NAMES[:30])
        assert list(store.names()) == NAMES
        assert list(store.load().items()) == [(name, {"n": number}) for number, name in enumerate(NAMES)]
        assert _joined(store) == {name: {name: number + 1} for number, name in enumerate(NAMES)}
        for number, name in enumerate(NAMES):
            assert [record.event for record in store.events(name)] == [{"n": number}]
            assert store.load([name]) == {name: {"n": number}}
            assert [found[name] for found in store.counts([name]).values()] == [{name: number + 1}]

    def test_to_forget_a_name_is_to_forget_no_other(self, store: Store) -> None:
        for name in NAMES:
            store.merge(Delta(name, 1, {name: {"calls": 1}}))
        store.save({name: {} for name in NAMES})
        left = list(NAMES)
        for name in NAMES:
            store.forget([name])
            left.remove(name)
            assert list(store.names()) == left
            assert sorted(_joined(store)) == sorted(left)

    @pytest.mark.parametrize("name", [None, 1, b"a", ("a",)], ids=repr)
    def test_what_is_no_text_is_no_name(self, store: Store, name: Any) -> None:
        for call in (
            lambda: store.append(name, {"n": 1}),
            lambda: store.claim(name, "key"),
            lambda: store.claim("kind", name),
            lambda: store.merge(Delta(name, 1, {"add": {"calls": 1}})),
            lambda: store.merge(Delta("a", 1, {name: {"calls": 1}})),
            lambda: store.merge(Delta("a", 1, {"add": {name: 1}})),
            lambda: store.save({name: {"n": 1}}),
        ):
            with pytest.raises(StoreError):
                call()

        assert store.counts() == {}
        assert list(store.names()) == []

    @pytest.mark.parametrize("what", VALUES)
    def test_an_event_is_kept_exactly_or_refused(self, store: Store, what: str) -> None:
        value = VALUES[what]
        store.append("feedback", {"n": 1})
        try:
            store.append("feedback", value)
        except StoreError:
            kept = []
        else:
            kept = [value]
        store.append("feedback", {"n": 2})
        found = [record.event for record in store.events("feedback")]

        assert len(found) == 2 + len(kept)
        assert all(same(one, other) for one, other in zip(found, [{"n": 1}, *kept, {"n": 2}], strict=True))

    @pytest.mark.parametrize("what", VALUES)
    def test_a_document_is_kept_exactly_or_refused(self, store: Store, what: str) -> None:
        value = VALUES[what]
        store.save({"a": {"n": 1}})
        try:
            store.save({"hostile": value, "b": {"n": 2}})
        except StoreError:
            assert store.load() == {"a": {"n": 1}}
        else:
            found = store.load()
            assert list(found) == ["a", "hostile", "b"]
            assert same(found["hostile"], value)

    @pytest.mark.parametrize("event", [None, 1, "text", [1], [("a", 1)]], ids=repr)
    def test_what_is_no_object_is_no_event(self, store: Store, event: Any) -> None:
        with pytest.raises(StoreError):
            store.append("feedback", event)

        assert list(store.events("feedback")) == []


def _joined(store: Store) -> dict[str, dict[str, int]]:
    """Counts of all hours, of tests that may run across the end of one."""
    return {name: fields for names in store.counts().values() for name, fields in names.items()}
