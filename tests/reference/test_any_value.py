"""Whatever a tool returns and however it was called: no check raises, judging changes nothing, memory is bounded."""

import math
from itertools import islice, product
from string import ascii_lowercase

from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**70), 10**400]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 5e-324, 1.7e308, -1.7e308, math.nan, math.inf]),
)
KEYS = st.one_of(st.sampled_from(["price", "x", "rows", ""]), st.text(max_size=8))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)
CALLS = st.tuples(
    JSON,
    st.fixed_dictionaries(
        {
            "args": st.one_of(st.none(), st.sampled_from([{"q": 1}, {}]), JSON),
            "ms": st.one_of(st.none(), NUMBERS, st.booleans(), st.text(max_size=3)),
            "session": st.one_of(st.none(), st.just("s"), JSON),
        }
    ),
)


def declared(tool):
    return tool(
        required_fields=["price", "rows[].id"],
        forbidden_fields=["mock"],
        response_patterns=["price"],
        min_response_length=10,
        max_response_length=50,
        output_schema={"type": "object"},
    )


@given(st.lists(CALLS, max_size=12), CALLS)
def test_no_value_raises_and_judging_changes_nothing(tool, past, now):
    own = declared(tool)
    for x in range(9):
        own.learn({"price": x, "x": -x, "": 1e300 * x}, args={"q": 1}, ms=100 + x, session="s")
    for result, call in past:
        own.learn(result, **call)
    result, call = now

    first = own.signals(own.case(result, **call))
    decision = own.method.decide(own.case(result, **call), 0.15, first)

    assert own.signals(own.case(result, **call)) == first
    assert 0.0 <= decision.posterior <= 1.0
    for signal in first.values():
        assert 0.0 <= signal.score <= 1.0
        assert signal.fired == (signal.score > 0.0)
        assert signal.applicable or (not signal.fired and signal.likelihood_ratio == 1.0)
        assert signal.detail


@settings(max_examples=20)
@given(st.lists(CALLS, max_size=20))
def test_the_same_calls_give_the_same_signals(tool, calls):
    def judged():
        own = declared(tool)
        said = []
        for result, call in calls:
            case = own.case(result, **call)
            said.append(own.signals(case))
            own.learn(result, **call)
        return said

    assert judged() == judged()


def words():
    """Distinct keys; letters, since digits in keys are put out of paths."""
    return ("".join(letters) for letters in product(ascii_lowercase, repeat=4))


def test_memory_stays_bounded(tool):
    """5,000 sessions, argument sets and fields: the last 256, 1,000 and 200 remain, none of the first."""
    own = tool()
    names = list(islice(words(), 5_000))
    for name in names:
        own.learn({name: 1}, args={"q": name}, session=name)

    keys = [own.case(None, args={"q": name}).arguments.key for name in names]
    assert [bool(own.memory.session(name)) for name in names] == [False] * 4_744 + [True] * 256
    assert [own.memory.history(key) is not None for key in keys] == [False] * 4_000 + [True] * 1_000
    assert list(own.memory.fields) == names[-200:]
    assert own.memory.calls == 5_000


def test_what_is_used_stays(tool):
    own = tool()
    for name in islice(words(), 2_000):
        own.learn({"price": 7, name: 1}, args={"q": name}, session=name)
        own.learn({"price": 7}, args={"q": "steady"}, session="steady")

    history = own.memory.history(own.case(None, args={"q": "steady"}).arguments.key)
    assert own.memory.fields["price"].n == 4_000
    assert history.calls == 2_000
    assert own.memory.session("steady") == ({"price": 7.0},) * 10


def test_one_result_takes_bounded_room(tool):
    own = tool()
    for start in range(0, 5_000, 1_000):
        wide = dict.fromkeys(islice(words(), start, start + 1_000), 1)
        own.learn({"k" * 5_000: 1, "outer": wide}, args={}, session="s")

    history = own.memory.history(own.case(None, args={}).arguments.key)
    assert len(own.memory.fields) == 200
    assert all(len(path) <= 256 for path in own.memory.fields)
    assert len(history.fields) == 64
    assert [len(result) for result in own.memory.session("s")] == [64] * 5
