"""A test that walks a table fails where a row does, and reports each of them."""

import re
from pathlib import Path

import pytest

from ..rows import over

pytest_plugins = ["pytester"]

TABLES = """
import pytest
from rows import over

@over(("a", "b"), [(1, 2), (3, 3), pytest.param(5, 4, id="five")])
def test_equal(a, b):
    assert a == b

@over("text", ["1", "one"])
def test_refused(text):
    with pytest.raises(ValueError):
        int(text)
"""


def test_each_row_that_fails_is_reported(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(TABLES)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))

    run = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")

    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.assert_outcomes(failed=5)  # three rows, and the two tests that hold them
    headings = re.findall(r"^_+ test_\w+ ([\[(].+) _+$", run.stdout.str(), re.MULTILINE)
    assert headings == ["(a=1, b=2)", "[five] (a=5, b=4)", "(text='1')"]


@over("number", [1, 2])
def test_fixtures_and_marks_are_kept(number: int, request: pytest.FixtureRequest) -> None:
    assert request.node.name == "test_fixtures_and_marks_are_kept"
    assert isinstance(number, int)
