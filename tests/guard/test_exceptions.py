"""The texts of an exception: all that a framework may show of it is judged, and nothing is left that was to go."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.guard import Guard, Judgement, Outcome
from agentguard.guard._exceptions import put_into, texts_of
from agentguard.guard._guard import CallGuard
from agentguard.verification import VerificationResult

from ..integrations.engines import INJECTION, SECRET, BrokenEngine, engine_of

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup

CALL = Outcome("fetch", {"url": "u"}, None, None, "s", "c")
REDACTING = Judgement("pass", None, "", ("secrets",))


class Text(str):
    """A text with a class of its own, as libraries have them."""

    __slots__ = ()


class Place:
    """An object that says where it is."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __repr__(self) -> str:
        return f"Place({self.where!r})"


class Fixed(Exception):
    """Has arguments that cannot be set."""

    @property
    def args(self) -> Any:
        return (SECRET,)

    @args.setter
    def args(self, value: Any) -> None:
        raise TypeError("they are fixed")

    def __str__(self) -> str:
        return SECRET


def noted(error: Exception, *notes: str) -> Exception:
    vars(error)["__notes__"] = list(notes)  # as add_note does, which not all versions have
    return error


def with_attribute(error: Exception, value: Any) -> Exception:
    vars(error)["detail"] = value
    return error


PLACES = {
    "group": lambda text: ExceptionGroup("two", [ValueError("no"), ExceptionGroup("one", [KeyError(text)])]),
    "group's own": lambda text: ExceptionGroup(text, [ValueError("no")]),
    "note in a group": lambda text: ExceptionGroup("one", [noted(ValueError("no"), text)]),
    "dict": lambda text: RuntimeError({"rows": [{"by": text}]}),
    "key": lambda text: RuntimeError({text: 1}),
    "tuple": lambda text: RuntimeError(7, ("x", [text])),
    "bytes": lambda text: RuntimeError(text.encode()),
    "object": lambda text: RuntimeError(Place(text)),
    "object beside a text": lambda text: RuntimeError("no", Place(text)),
    "object in a list": lambda text: RuntimeError([Place(text)]),
    "exception": lambda text: RuntimeError(ValueError(text)),
    "dict in an attribute": lambda text: with_attribute(RuntimeError("no"), {"by": [text]}),
    "bytes in an attribute": lambda text: with_attribute(RuntimeError("no"), text.encode("utf-16")),
    "exception in an attribute": lambda text: with_attribute(RuntimeError("no"), ValueError(text)),
}  # fmt: skip


def all_shown(error: BaseException) -> str:
    """What a framework may show, and what an application may read, of an exception."""
    inner = [all_shown(each) for each in getattr(error, "exceptions", ())]
    detail = vars(error).get("detail")
    detail = all_shown(detail) if isinstance(detail, BaseException) else detail
    shown = f"{error!s} {error!r} {error.args!r} {vars(error).get('__notes__')!r} {detail!r} {' '.join(inner)}"
    return shown + (detail.decode("utf-16", "replace") if isinstance(detail, bytes) else "")


@pytest.mark.parametrize("place", PLACES)
def test_a_text_in_any_place_of_an_exception_is_judged(place: str) -> None:
    withheld = Guard(engine_of("fetch")).exception(CALL, PLACES[place](INJECTION))

    assert withheld is not None
    assert withheld.verdict == "block"


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_any_place_is_taken_out_or_the_exception_is_withheld(place: str) -> None:
    error = PLACES[place](SECRET)
    withheld = Guard(engine_of("fetch")).exception(CALL, error)

    assert withheld is not None or "tea4two" not in all_shown(error)
    assert (withheld is not None) == (place in {"group's own", "object", "object beside a text", "object in a list"})


def test_what_refuses_to_be_changed_is_withheld() -> None:
    assert not put_into(Fixed(), REDACTING)


def test_an_exception_within_itself_comes_to_an_end() -> None:
    error = RuntimeError("no", SECRET)
    group = ExceptionGroup("one", [error])
    error.args = (*error.args, error, group)
    vars(error)["own"] = [error]

    assert SECRET in texts_of(group)
    assert put_into(error, REDACTING)
    assert "tea4two" not in all_shown(group)


@pytest.mark.parametrize("place", [0, 4_000])
def test_of_very_many_in_a_group_none_keeps_a_secret(place: int) -> None:
    errors = [ValueError(number) for number in range(4_000)]
    errors.insert(place, ValueError(SECRET))
    group = ExceptionGroup("many", errors)

    assert put_into(group, REDACTING) == ("tea4two" not in repr(group)) == (place == 0)


WORDS = st.text(max_size=12)
SAID = st.one_of(WORDS, st.tuples(WORDS, WORDS).map(lambda two: f"{two[0]} {SECRET} {two[1]}"))
VALUES = st.recursive(
    st.one_of(SAID, SAID.map(Text), SAID.map(str.encode), SAID.map(Place), st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(SAID, inner, max_size=3), st.tuples(inner, inner)
    ),
    max_leaves=6,
)
SINGLE = st.builds(
    lambda kind, args, notes, detail: with_attribute(noted(kind(*args), *notes), detail),
    st.sampled_from([RuntimeError, KeyError, OSError, ValueError]),
    st.lists(VALUES, max_size=3),
    st.lists(SAID, max_size=2),
    VALUES,
)
ERRORS = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.builds(ExceptionGroup, SAID, st.lists(inner, min_size=1, max_size=3)),
        inner.map(RuntimeError),
        st.builds(lambda detail: with_attribute(RuntimeError("no"), detail), inner),
    ),
    max_leaves=4,
)


@given(ERRORS)
def test_no_secret_is_left_where_the_exception_goes_on(error: Exception) -> None:
    if put_into(error, REDACTING):
        assert "tea4two" not in f"{error!s} {error!r}"


# --- What the observer is told ---


def told_by(**rules: Any) -> tuple[CallGuard, list[Judgement]]:
    seen: list[Judgement] = []
    return CallGuard(engine_of("fetch"), on_judgement=lambda _, judgement: seen.append(judgement), **rules), seen


async def test_what_cannot_be_taken_out_keeps_its_verdict_and_the_observer_is_told_what_is_done() -> None:
    guard, seen = told_by()
    withheld = [
        guard.exception(CALL, RuntimeError(Place(SECRET))),
        await guard.exception_async(CALL, RuntimeError(Place(SECRET))),
    ]

    assert seen == withheld
    for judgement in seen:
        assert (judgement.action, judgement.verdict, judgement.redact) == ("replace", "accept", ("secrets",))
        assert "'fetch' raised was withheld: it holds secrets that could not be removed" in judgement.notice
        assert isinstance(judgement.result, VerificationResult)
        assert judgement.result.call_id == "c"
        assert "could not be removed" in str(guard.error(judgement, "fetch"))


def test_what_goes_on_is_told_of_once_as_it_is() -> None:
    guard, seen = told_by(on_flag="review")
    assert guard.exception(CALL, RuntimeError(SECRET)) is None
    assert guard.exception(CALL, RuntimeError("no")) is None

    assert [(judgement.action, judgement.redact) for judgement in seen] == [("pass", ("secrets",)), ("pass", ())]


def test_text_that_is_judged_alone_is_told_of_once() -> None:
    guard, seen = told_by()
    judgement = guard.judge_content(CALL._replace(result=INJECTION))

    assert seen == [judgement]
    assert judgement.action == "replace"


def test_the_guards_own_failure_withholds_no_secret_that_it_has_not_seen() -> None:
    engine = BrokenEngine()
    engine.register_tool_profile("fetch", content={"secrets": "redact"})
    assert Guard(engine).exception(CALL, RuntimeError("no")) is None
