"""How property tests run (everywhere without time limits, in CI with the same examples every time), and a browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from .browsing import Visit, axe_source, launched, violations

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


# Not of the session: as long as its driver runs, an event loop is set in this thread, and asynchronous tests cannot.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium for the tests of one file; the test is skipped where there is none."""
    with launched() as running:
        yield running


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Begins a visit, of a width and a colour scheme, with nothing kept from others."""
    visits: list[Visit] = []

    def begin(*args: Any, **options: Any) -> Visit:
        visits.append(Visit(browser, *args, **options))
        return visits[-1]

    yield begin
    for each in visits:
        each.context.close()


@pytest.fixture(scope="session")
def axe() -> Callable[..., list[tuple[str, list[str]]]]:
    """What axe-core finds wrong with a page; the test is skipped where it is not there."""
    source = axe_source()
    return lambda page, best_practice=True: violations(page, source, best_practice=best_practice)
