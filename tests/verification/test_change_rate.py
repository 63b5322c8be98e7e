"""How often the same arguments get another result: by the arguments first, then by the tool."""

import pytest

from agentguard.verification._arguments import Arguments
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._document import read
from agentguard.verification._pool import Between, Pool

STEADY, LIVELY = Arguments({"city": "Oslo"}), Arguments({"city": "Riga"})


@pytest.fixture
def memory():
    """Of 41 calls each, one argument always gets the same result and the other always a new one."""
    memory = ToolMemory("tool", Pool())
    for number in range(41):
        memory.learn(read({"degrees": 4}), STEADY, None, None)
        memory.learn(read({"degrees": number}), LIVELY, None, None)
    return memory


def rate(memory, arguments):
    return memory.change_rate(memory.keys.by_key[arguments.key])


def test_arguments_have_a_rate_of_their_own(memory):
    # The tool changed in 40 of 80, all tools alike: (40 + 4 (40 + .3 2) / 82) / 84 of it, which counts as four calls.
    tool = (40 + 4 * (40 + 0.3 * 2) / 82) / 84
    assert rate(memory, STEADY) == pytest.approx((0 + 4 * tool) / 44)
    assert rate(memory, LIVELY) == pytest.approx((40 + 4 * tool) / 44)


def test_new_arguments_have_the_rate_of_the_tool(memory):
    new = Arguments({"city": "Bonn"})
    memory.learn(read({"degrees": 9}), new, None, None)
    assert rate(memory, new) == pytest.approx((40 + 4 * (40 + 0.3 * 2) / 82) / 84)


def test_going_back_is_a_change_too(memory):
    arguments = Arguments({"city": "Bern"})
    for degrees in (1, 2, 1, 1):
        memory.learn(read({"degrees": degrees}), arguments, None, None)
    assert memory.keys.by_key[arguments.key].changes == 2


def test_the_first_call_in_a_session_and_later_ones_have_rates_of_their_own():
    memory = ToolMemory("tool", Pool())
    first, later = Between(False, (), ()), Between(True, (), ())
    for number in range(40):  # each session has a world of its own, in which nothing changes
        for between in (first, later, later):
            memory.learn(read({"degrees": number}), STEADY, None, None, between)
    new = Arguments({"city": "Bonn"})
    memory.learn(read({"degrees": 9}), new, None, None, first)
    history = memory.keys.by_key[new.key]
    assert memory.change_rate(history, first) > 0.9
    assert memory.change_rate(history, later) < 0.05
