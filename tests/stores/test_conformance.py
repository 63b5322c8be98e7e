"""The conformance suite finds what is wrong with stores that are almost right."""

import os
import re
import subprocess
import sys
from pathlib import Path

ALMOST_RIGHT = """
import pytest

from agentguard.errors import StoreError
from agentguard.stores import Delta, MemoryStore
from agentguard.testing import StoreConformance


class Conforms(StoreConformance):
    survives = False
    store_class = MemoryStore

    def open(self, place, **options):
        return self.store_class(**options)


class AppendsTwice(MemoryStore):
    def append(self, kind, event, /):
        super().append(kind, event)
        return super().append(kind, event)


class ReadsBackwards(MemoryStore):
    def events(self, kind, /, after=0):
        return iter(list(super().events(kind, after))[::-1])


class ReadsWhatComesLater(MemoryStore):
    def events(self, kind, /, after=0):
        for record in super().events(kind, after):
            yield record
        yield from super().events(kind, record.sequence)


class MixesUpKinds(MemoryStore):
    def append(self, kind, event, /):
        return super().append(kind[:1], event)

    def events(self, kind, /, after=0):
        return super().events(kind[:1], after)


class GrantsAgain(MemoryStore):
    def claim(self, kind, key, /):
        return super().claim(kind, key) or key == "c1"


class ClaimsWithoutKinds(MemoryStore):
    def claim(self, kind, key, /):
        return super().claim("", kind + key)


class AddsAgain(MemoryStore):
    sent = 0

    def merge(self, delta, /):
        self.sent += 1
        return super().merge(Delta(delta.worker + str(self.sent), delta.sequence, delta.counts))


class AddsWhatComesLate(MemoryStore):
    def merge(self, delta, /):
        return super().merge(Delta(f"{delta.worker} {delta.sequence}", delta.sequence, delta.counts))


class NeverAgesOut(MemoryStore):
    def __init__(self, **options):
        super().__init__(**{**options, "max_hours": 10_000})


class SavesSome(MemoryStore):
    def save(self, documents, /):
        for name, document in documents.items():
            super().save({name: document})


class LoadsInAnyOrder(MemoryStore):
    def load(self, names=None, /):
        return dict(sorted(super().load(names).items()))


class ForgetsEvents(MemoryStore):
    def forget(self, names, /):
        super().forget(names)
        self._events.clear()


class KeepsCounts(MemoryStore):
    def forget(self, names, /):
        for name in names:
            self._documents.pop(name, None)


class PrunesEverything(MemoryStore):
    def prune(self, max_age, /):
        return super().prune(0.0)


class StaysOpen(MemoryStore):
    def close(self):
        pass


class ChangesNames(MemoryStore):
    def save(self, documents, /):
        super().save({str(name).strip(): document for name, document in documents.items()})


class ForgetsHowFar(MemoryStore):
    def standing(self, kinds, /):
        standing = super().standing(kinds)
        there = {kind: len(list(super(ForgetsHowFar, self).events(kind))) for kind in standing.last}
        return standing._replace(last=there)


class TestMemoryStore(Conforms):
    pass


for broken in MemoryStore.__subclasses__():
    globals()[f"Test{broken.__name__}"] = type(f"Test{broken.__name__}", (Conforms,), {"store_class": broken})


class TestUndefined(StoreConformance):
    pass
"""


# Of each what finds its fault; several do.
FOUND = {
    "AppendsTwice": "test_events_are_numbered_from_one_in_each_kind",
    "ReadsBackwards": "test_events_come_back_oldest_first_as_they_were",
    "ReadsWhatComesLater": "test_what_is_appended_while_events_are_read_is_not_among_them",
    "MixesUpKinds": "test_several_events_are_kept_in_their_order_or_not_at_all",
    "GrantsAgain": "test_a_claim_is_granted_once",
    "ClaimsWithoutKinds": "test_claims_of_other_keys_and_kinds_are_others",
    "AddsAgain": "test_a_delta_sent_again_is_not_added_again",
    "AddsWhatComesLate": "test_a_delta_with_a_lower_number_comes_too_late",
    "NeverAgesOut": "test_hours_beyond_the_bound_are_gone",
    "SavesSome": "test_all_are_saved_or_none",
    "LoadsInAnyOrder": "test_those_saved_last_are_at_the_end",
    "ForgetsEvents": "test_to_forget_a_name_removes_its_document_and_counts",
    "KeepsCounts": "test_what_was_forgotten_is_not_counted_again",
    "PrunesEverything": "test_an_hour_is_pruned_when_all_of_it_is_older",
    "StaysOpen": "test_a_closed_store_refuses",
    "ChangesNames": "test_to_forget_a_name_is_to_forget_no_other",
    "ForgetsHowFar": "test_a_store_says_how_far_its_events_go",
    "Undefined": "test_a_claim_is_granted_once",
}


def test_each_fault_is_found_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "test_stores.py").write_text(ALMOST_RIGHT)
    flawed = [f"test_stores.py::Test{name}::{test}" for name, test in FOUND.items()]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rfEs",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "test_stores.py::TestMemoryStore",
            *flawed,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    found = set(re.findall(r"(?:FAILED|ERROR) test_stores\.py::Test(\w+)::(\w+)", ran.stdout))
    broken = set(re.findall(r"^class (\w+)\(MemoryStore\)", ALMOST_RIGHT, re.MULTILINE))

    assert broken | {"Undefined"} == FOUND.keys()
    assert found == set(FOUND.items()), ran.stdout[-3000:]
    assert "nothing of this store survives it" in ran.stdout
