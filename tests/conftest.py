"""How property tests run (without time limits, in CI with the same examples every time), and a browser."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from .browsing import Visit, axe_source, launched, violations

# Idle BLAS threads spin: they took two thirds of the CPU time of the tests that multiply matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Java for Spark: the quick compiler and the simple collector start sooner.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A third of hypothesis' own number of examples: `make fuzz` is what searches long.
settings.register_profile("local", deadline=None, max_examples=30)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
# For a suite that runs a second time, on other versions of the dependencies: --hypothesis-profile=brief.
settings.register_profile("brief", settings.get_profile("ci"), max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") else "local")

#: Files with the longest tests, a third of the whole together: they build wheels, fork a hundred times, fill memories,
#: or drive a browser, Spark, processes that are killed, a cluster that ends. `make test-slow` runs them.
SLOW = frozenset(
    f"tests/{name}.py"
    for name in (
        "cli/test_replay_engines", "demo/test_with_the_engine", "docs/test_site", "docs/test_site_in_browser",
        "engine/test_bounded_memory", "engine/test_forks", "engine/test_hostile_corpus", "engine/test_restart",
        "gate/elasticsearch/test_outage", "guard/api/test_litellm_proxy", "guard/api/test_typescript",
        "integrations/test_examples", "live/test_browser",
        "measurements/test_lasting_faults", "notebooks/test_notebooks",
        "packaging/test_editable", "packaging/test_newcomer", "packaging/test_sdist",
        "packaging/test_types", "packaging/test_wheel", "proxy/test_servers", "report/test_browser",
        "stores/redis/test_forks", "stores/test_disk_processes", "traces/test_engines_processes",
        "traces/test_engines_spark",
    )
)  # fmt: skip
ROOT = Path(__file__).parents[1]
#: Files that share what takes long to make, by how their names begin: a server or Java that is started, a wheel that is
#: built and installed, the site of the documentation.
TOGETHER = (
    ("tests/gate/elasticsearch/",), ("tests/packaging/",), ("tests/docs/test_site",),
    ("tests/cli/test_replay_engines", "tests/traces/test_engines_spark"),
)  # fmt: skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep files that are ``TOGETHER`` on one process, where files stay on one process, as ``make test`` asks for."""
    from xdist.scheduler import LoadFileScheduling

    class BySharing(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scopes = (names[0] for names in TOGETHER if nodeid.startswith(names))
            return next(scopes, super()._split_scope(nodeid))

    return BySharing(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from going through a million objects of collected tests a hundred times."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, and the first test of each file as a smoke test."""
    seen: set[Path] = set()
    for item in items:
        if item.path.is_relative_to(ROOT) and item.path.relative_to(ROOT).as_posix() in SLOW:
            item.add_marker("slow")
        elif item.path not in seen:
            item.add_marker("smoke")
        seen.add(item.path)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a compressed text's are others in each second, and processes must agree."""
    return argname if isinstance(val, bytes) else None


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
