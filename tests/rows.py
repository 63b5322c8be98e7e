"""A table that one test walks: every row that fails is told, and a thousand rows are not a thousand tests."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])
Named = type(pytest.param())


def over(names: str | tuple[str, ...] | list[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """As ``pytest.mark.parametrize`` takes them; fixtures are made once, so a row must not change what they give."""
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [
        (row.id, row.values) if type(row) is Named else ("", (row,) if len(named) == 1 else tuple(row)) for row in rows
    ]
    assert table, "there is no row"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in named]
        assert len(others) + len(named) == len(signature.parameters), "each name is a parameter of the test"

        def walk(*args: Any, **fixtures: Any) -> None:
            failed = []
            for title, row in table:
                try:
                    test(*args, **fixtures, **dict(zip(named, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    told = "".join(traceback.format_exception(error)[-3:])
                    failed.append(f"{title or ', '.join(repr(value)[:200] for value in row)}\n{told}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(table)} rows fail:\n\n" + "\n".join(failed), pytrace=False)

        walk.__dict__.update(test.__dict__)  # marks
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(walk, name, getattr(test, name))
        walk.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]  # what pytest looks at
        return walk  # type: ignore[return-value]  # its parameters are fewer

    return decorate
