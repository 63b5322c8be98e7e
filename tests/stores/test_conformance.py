"""The conformance suite finds what is wrong with stores that are almost right."""

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


# Those with the largest values find none of these faults, and run for every one of these stores.
FAST = "not kept_exactly_or_refused and not many_events and not large and not long"


def test_each_fault_is_found_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "test_stores.py").write_text(ALMOST_RIGHT)
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
            "-k",
            FAST,
            "test_stores.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    found = set(re.findall(r"(?:FAILED|ERROR) test_stores\.py::Test(\w+)::", ran.stdout))
    broken = set(re.findall(r"^class (\w+)\(MemoryStore\)", ALMOST_RIGHT, re.MULTILINE))

    assert len(broken) == 17
    assert found == broken | {"Undefined"}, ran.stdout[-3000:]
    assert "nothing of this store survives it" in ran.stdout
