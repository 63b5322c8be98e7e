"""A table of cases that one test walks, with each row as a subtest of pytest's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])
Named = type(pytest.param())


def over(names: str | tuple[str, ...] | list[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Walk rows given as to ``pytest.mark.parametrize``; fixtures are made once, so a row must not change them.

    Every row that fails is reported, by its id or its values.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [
        (row.id, row.values) if type(row) is Named else (None, (row,) if len(named) == 1 else tuple(row))
        for row in rows
    ]
    assert table, "there is no row"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in named]
        assert len(others) + len(named) == len(signature.parameters), "each name is a parameter of the test"

        asks = "subtests" in signature.parameters  # as a test that walks a second table does
        added = [] if asks else [inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)]

        @wraps(test)
        def walk(*args: Any, subtests: pytest.Subtests, **fixtures: Any) -> None:
            if asks:
                fixtures["subtests"] = subtests
            for title, row in table:
                values = dict(zip(named, row, strict=True))
                with subtests.test(title, **values):
                    test(*args, **fixtures, **values)

        walk.__signature__ = signature.replace(parameters=[*others, *added])  # type: ignore[attr-defined]  # for pytest
        return walk  # type: ignore[return-value]  # its parameters are others

    return decorate
