import sqlite3
from pathlib import Path

import pytest

from agentguard.demo._tools import CATALOGUE, CUSTOMERS, FIRST_ORDERS, STATUSES, Shop


@pytest.fixture
def shop():
    with Shop(seed=7) as opened:
        yield opened


def all_orders(shop):
    return {row["order_id"]: row for row in shop.query_shop("SELECT * FROM orders")["rows"]}


def test_opens_with_everything_in_it(shop):
    counted = "SELECT (SELECT COUNT(*) FROM customers) AS c, (SELECT COUNT(*) FROM products) AS p"
    assert shop.query_shop(counted) == {
        "rows": [{"c": len(CUSTOMERS), "p": sum(map(len, CATALOGUE.values()))}],
        "row_count": 1,
    }
    assert sorted(all_orders(shop)) == list(FIRST_ORDERS)


def test_an_orders_total_is_the_sum_of_its_items(shop):
    for order_id in FIRST_ORDERS:
        order = shop.get_order(order_id)
        assert order["order_id"] == order_id
        assert order["items"]
        assert order["total"] == pytest.approx(sum(i["quantity"] * i["unit_price"] for i in order["items"]), abs=0.005)


def test_finds_a_customer_and_counts_their_orders(shop):
    found = shop.find_customer("ada.petrov@example.com")
    owned = [order for order in all_orders(shop).values() if order["customer_id"] == found["customer_id"]]
    assert (found["name"], found["email"], found["orders"]) == ("Ada Petrov", "ada.petrov@example.com", len(owned))


def test_what_is_not_there_is_an_error(shop):
    with pytest.raises(LookupError, match="no order 9"):
        shop.get_order(9)
    with pytest.raises(LookupError, match=r"nobody@example\.com"):
        shop.find_customer("nobody@example.com")
    assert shop.query_shop("SELECT * FROM orders WHERE customer_id = ?", [-1]) == {"rows": [], "row_count": 0}


def test_arguments_are_values_not_sql(shop):
    with pytest.raises(LookupError):
        shop.find_customer("x' OR '1'='1")


@pytest.mark.parametrize("sql", ["DELETE FROM orders", "UPDATE products SET price = 0", "DROP TABLE items"])
def test_queries_cannot_change_anything(shop, sql):
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        shop.query_shop(sql)


def test_orders_only_move_forward_and_new_ones_come_in(shop):
    before = all_orders(shop)
    moved = 0
    for minute in range(60, 600, 60):
        shop.advance(minute)
        now = all_orders(shop)
        assert before.keys() <= now.keys()
        for order_id, order in before.items():
            assert STATUSES.index(now[order_id]["status"]) >= STATUSES.index(order["status"])
            assert (now[order_id]["status"] != order["status"]) == (now[order_id]["updated_at"] != order["updated_at"])
            assert {k: v for k, v in now[order_id].items() if k not in ("status", "updated_at")} == {
                k: v for k, v in order.items() if k not in ("status", "updated_at")
            }
            moved += now[order_id]["status"] != order["status"]
        before = now
    assert moved > 20
    assert len(before) > len(FIRST_ORDERS) + 100
    assert all(row["stock"] > 0 for row in shop.query_shop("SELECT stock FROM products")["rows"])


def test_the_same_seed_is_the_same_day_however_time_is_cut():
    everything = "SELECT * FROM orders JOIN items USING (order_id) JOIN products USING (sku) ORDER BY order_id, sku"
    with Shop(seed=3) as one, Shop(seed=3) as other, Shop(seed=4) as different:
        for minute in range(1, 91):
            one.advance(minute)
        other.advance(90)
        other.advance(10)
        different.advance(90)
        assert one.query_shop(everything) == other.query_shop(everything)
        assert one.query_shop(everything) != different.query_shop(everything)


def test_the_database_is_removed_at_the_end():
    with Shop(seed=7) as shop:
        (path,) = [row["file"] for row in shop.query_shop("SELECT file FROM pragma_database_list")["rows"]]
        assert Path(path).exists()
    assert not Path(path).parent.exists()
