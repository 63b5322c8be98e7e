"""A table that one test walks fails where a row does, and tells of each of them."""

import pytest

from ..rows import over


def test_each_row_that_fails_is_told() -> None:
    @over(("a", "b"), [(1, 2), (3, 3), pytest.param(5, 4, id="five")])
    def equal(a: int, b: int) -> None:
        assert a == b

    with pytest.raises(pytest.fail.Exception, match=r"(?s)2 of 3 rows fail:.*\n1, 2\n.*AssertionError.*\nfive\n"):
        equal()


def test_what_does_not_raise_is_told_too() -> None:
    @over("text", ["1", "one"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(pytest.fail.Exception, match=r"(?s)1 of 2 rows fail:.*DID NOT RAISE"):
        refused()


@over("number", [1, 2])
def test_fixtures_and_marks_are_kept(number: int, request: pytest.FixtureRequest) -> None:
    assert request.node.name == "test_fixtures_and_marks_are_kept"
    assert isinstance(number, int)
