"""Whose a result and its form are, and what a form says of where a result comes from."""

import pytest

from agentguard.verification import VerificationEngine
from agentguard.verification._arguments import Arguments
from agentguard.verification._baseline import ToolMemory
from agentguard.verification._document import read
from agentguard.verification._pool import SETTLED, Owner, Pool, outermost_form

ORDER = {"order_id": 7, "total": 12.5, "status": "paid"}
USER = {"user_id": "u7", "name": "Ada", "email": "ada@example.com"}


def test_the_owner_has_four_results_in_five():
    owner = Owner(1)
    for tool in [1] * 8 + [2] * 2:
        owner.push(tool)
    assert owner.is_not(2)
    assert not owner.is_not(1)
    owner.push(3)
    assert not owner.is_not(2)  # eight in eleven are not enough


def test_a_later_majority_takes_over():
    owner = Owner(1)
    for tool in [1] * 2 + [2] * 18:
        owner.push(tool)
    assert owner.is_not(1)
    assert not owner.is_not(2)


def test_a_result_of_two_tools_is_nobodys():
    pool, document = Pool(), read(ORDER)
    for _ in range(9):
        pool.own(document, 1)
    assert pool.is_anothers(document.digest, 2)
    pool.own(document, 2)
    assert not pool.is_anothers(document.digest, 2)
    assert pool.is_shared(document.digest)


def learned(pool, results):
    """A tool that gave these results, each under arguments of its own; it is named for its first one."""
    memory = ToolMemory(repr(results[:1]), pool)
    for result in results:
        memory.learn(read(result), Arguments({"n": memory.count}), None, None)
    return memory


def orders(count):
    return [{**ORDER, "order_id": number} for number in range(count)]


def users(count):
    return [{**USER, "user_id": f"u{number}"} for number in range(count)]


class TestSwappedRatio:
    ORDERS, USERS = outermost_form(read(ORDER)), outermost_form(read(USER))

    def test_a_form_of_its_own_or_of_nobody_says_nothing(self):
        pool = Pool()
        memory = learned(pool, orders(40))
        learned(pool, users(40))
        assert memory.swapped_ratio(self.ORDERS) == 0.0
        assert memory.swapped_ratio(outermost_form(read({"a": 1, "b": 2}))) == 0.0

    def test_the_form_of_another_tool_speaks_against_a_result(self):
        pool = Pool()
        memory = learned(pool, orders(40))
        learned(pool, users(40))
        # 40 orders, none new since the first: new forms have the mass (1/2) / 41 1/2, of which a Beta(1, 3) with no hit
        # in the two forms that were new to their tools is another's: .4 / (.5 / 41.5 * 1 / 6).
        assert memory.swapped_ratio(self.USERS) == pytest.approx(0.4 / (0.5 / 41.5 / 6))

    def test_after_a_history_with_a_tenth_of_them_it_still_does(self):
        pool = Pool()
        learned(pool, users(100))
        memory = learned(pool, orders(90) + users(10))
        # q is 100 of 100, this tool's own share 10 of 101: .4 / (10 / 101 + a little)
        assert memory.swapped_ratio(self.USERS) == pytest.approx(0.4 / (10 / 101), rel=0.05)

    def test_what_it_gives_itself_as_often_as_others_says_nothing(self):
        pool = Pool()
        learned(pool, users(20))
        memory = learned(pool, orders(60) + users(40))
        assert memory.swapped_ratio(self.USERS) < 1.0


def test_rates_of_all_tools_are_learned_from_the_first_calls_and_stand_from_then_on():
    engine = VerificationEngine()
    pool = engine._method.pool
    pool.met = SETTLED - 40

    def rates():
        return [pool.scores.total, pool.errors.total, pool.broken.total, pool.changes.total, pool.foreign.total]

    for n in range(40):
        engine.verify("get_price", args={"sku": f"A{n % 7}"}, result={"sku": f"A{n % 7}", "price": 10.0 + n % 3})
    settled, results = rates(), pool.results
    assert all(total > 0.0 for total in settled)

    for n in range(40):
        engine.verify("get_price", args={"sku": f"A{n % 7}"}, result={"sku": f"A{n % 7}", "price": 10.0 + n % 3})

    assert rates() == settled
    assert pool.results > results  # whose results are whose is learned on
    engine.verify("get_price", args={"sku": "A1"}, result={"sku": "A1", "price": 11.0}, learn=False)
    assert pool.met == SETTLED + 40  # what is not learned from is not counted
