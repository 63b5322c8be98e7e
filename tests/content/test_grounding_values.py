"""Values that a text states: numbers, units, dates, identifiers, words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.grounding._values import Moment, moments_of, of_epoch, read, unit_of_key, units_of, window

from ..rows import over


@over(
    ("text", "value", "step", "dimension"),
    [
        ("650", 650, 1, None),
        ("1,234,567", 1_234_567, 1, None),
        ("1.234.567", 1_234_567, 1, None),
        ("1.234,56 €", 1234.56, 0.01, "EUR"),
        ("$1,234.50", 1234.5, 0.01, "USD"),
        ("10 000 km", 10_000, 1, "length"),
        ("3,5", 3.5, 0.1, None),
        ("1.2k", 1200, 100, None),
        ("3.5 million dollars", 3.5e6, 1e5, "USD"),
        ("€5k", 5000, 1000, "EUR"),
        ("1.2e3", 1200, 100, None),
        ("−3.2", -3.2, 0.1, None),
        ("-$4", -4, 1, "USD"),
        ("12%", 12, 1, "percent"),
        ("12 percent", 12, 1, "percent"),
        ("68 °F", 68, 1, "temperature"),
        ("5 km/h", 5, 1, "speed"),
        ("12GB", 12, 1, "data"),
        ("00123", 123, 1, None),
        ("Smith,4,good", 4, 1, None),
    ],
)
def test_a_number_is_read_with_its_last_digit_and_its_unit(text, value, step, dimension):
    (quantity,) = read(f"it is {text} there").quantities
    reading = quantity.readings[0]
    assert reading.value == pytest.approx(value)
    assert reading.step == pytest.approx(step)
    assert (reading.unit.dimension if reading.unit else None) == dimension


@over(
    ("text", "value"),
    [
        ("a dozen eggs", 12),
        ("twenty-five cats", 25),
        ("two hundred and three dogs", 203),
        ("three million people", 3_000_000),
        ("twelve", 12),
    ],
)
def test_a_number_in_words_is_read(text, value):
    assert [quantity.readings[0].value for quantity in read(text).quantities] == [value]


def test_one_alone_is_a_pronoun():
    assert read("one of them, for once").quantities == ()


def test_a_point_between_three_digits_is_read_both_ways():
    assert {reading.value for reading in read("1.234 items").quantities[0].readings} == {1234.0, 1.234}


def test_a_letter_with_two_meanings_is_read_in_both():
    readings = read("5m").quantities[0].readings
    assert {(reading.value, reading.unit.dimension if reading.unit else None) for reading in readings} == {
        (5e6, None), (5.0, "length"), (5.0, "time")
    }  # fmt: skip


@over(
    ("text", "low", "high"),
    [
        ("21.4", 21.35, 21.45),
        # about: half of the last digit that is not zero, at most a tenth: 650 ± 5 is less than 2% = 13, so 2% holds
        ("about 650", 637, 663),
        ("over 600", 600, 700),  # one more hundred
        ("under 600", 500, 600),
        ("1.2 million", 1_150_000, 1_250_000),
    ],
)
def test_the_words_before_a_number_say_how_exact_it_is(text, low, high):
    (quantity,) = read(text).quantities
    assert window(quantity, quantity.readings[0]) == (pytest.approx(low), pytest.approx(high))


@over(
    ("day", "clock", "moments"),
    [
        ("2025-03-04", None, [Moment(2025, 3, 4)]),
        ("March 3rd", None, [Moment(None, 3, 3)]),
        ("3 of March 2025", None, [Moment(2025, 3, 3)]),
        ("3/4/25", None, [Moment(2025, 3, 4), Moment(2025, 4, 3)]),
        ("13/4/2025", None, [Moment(2025, 4, 13)]),
        ("4.3.2025", None, [Moment(2025, 3, 4)]),
        ("Sept. 5, 1999", None, [Moment(1999, 9, 5)]),
        ("2025-02-29", None, []),  # no leap year
        (None, "2:30 PM", [Moment(None, None, None, 14, 30)]),
        (None, "12 am", [Moment(None, None, None, 0, 0)]),
        (None, "25:10", []),
        (None, "13 pm", []),
    ],
)
def test_a_date_is_read_in_every_form_and_reading(day, clock, moments):
    assert list(moments_of(day, clock)) == moments


def test_a_date_with_its_time_is_one_moment():
    text = "from 2025-03-04T14:00:30Z to May 6, 2025 at 3 pm"
    assert [stated.readings[0] for stated in read(text).moments] == [
        Moment(2025, 3, 4, 14, 0), Moment(2025, 5, 6, 15, 0)
    ]  # fmt: skip


def test_seconds_and_milliseconds_since_1970_are_moments():
    # date -u -d @1717243200: Sat Jun  1 12:00:00 UTC 2024
    assert of_epoch(1_717_243_200) == of_epoch(1_717_243_200_000) == Moment(2024, 6, 1, 12, 0)
    assert of_epoch(650) is None


@over(
    ("text", "kind", "token"),
    [
        ("see https://a.example/b?c=1.", "url", "https://a.example/b?c=1"),
        ("mail a.b@c.example now", "email", "a.b@c.example"),
        ("open /home/a/b.txt, please", "path", "/home/a/b.txt"),
        ("in report.txt.", "path", "report.txt"),
        ("order #W23", "identifier", "#W23"),
        ("flight HAT028", "identifier", "HAT028"),
        ("card credit_card_77", "identifier", "credit_card_77"),
        ("123e4567-e89b-12d3-a456-426614174000", "identifier", "123e4567-e89b-12d3-a456-426614174000"),
        ("call 555-123-4567", "identifier", "555-123-4567"),
        ("at 192.168.0.1", "identifier", "192.168.0.1"),
    ],
)
def test_an_identifier_is_read_whole(text, kind, token):
    assert [(found.kind, found.text) for found in read(text).identifiers] == [(kind, token)]
    assert read(text).quantities == ()


def test_words_with_a_stroke_and_ordinals_are_no_identifiers():
    found = read("and/or the 3rd time; 24/7")
    assert found.identifiers == ()


@over(
    ("key", "dimension"),
    [("latency_ms", "time"), ("distanceKm", "length"), ("temp_c", "temperature"), ("price_usd", "USD"),
     ("count", None), ("item_c", None), ("m", None), ("team_d", None)])  # fmt: skip
def test_a_key_states_its_unit(key, dimension):
    unit = unit_of_key(key)
    assert (unit.dimension if unit else None) == dimension


def test_units_convert_through_their_base():
    (mile,), (kilometre,) = units_of("mile"), units_of("km")
    assert 10 * mile.factor / kilometre.factor == pytest.approx(16.09344)
    (fahrenheit,), (celsius,) = units_of("°F"), units_of("°C")
    assert 212 * fahrenheit.factor + fahrenheit.offset == pytest.approx(100 * celsius.factor + celsius.offset)


def test_a_month_of_a_year():
    (stated,) = read("in 2020-01").moments
    assert [(moment.year, moment.month, moment.day) for moment in stated.readings] == [(2020, 1, None)]


@pytest.mark.parametrize("text", ["1e400 x", "9,999e308", "1.5e308 million", "0e400"])
def test_a_number_that_no_float_holds_has_no_reading(text):
    assert [quantity.readings for quantity in read(text).quantities] == [()]


def test_a_number_too_small_for_a_float_is_nothing():
    (quantity,) = read("1e-400 x").quantities
    assert [reading.value for reading in quantity.readings] == [0.0]


@given(st.text(max_size=300) | st.text(alphabet="0123456789.,-/:$%#@ aeT\n\"'", max_size=300))
def test_any_text_is_read_and_places_lie_inside_it(text):
    found = read(text)
    for part in (found.quantities, found.moments, found.identifiers, found.words):
        for value in part:
            assert 0 <= value.start <= value.end <= len(text)


@given(st.integers(-(10**15), 10**15))
def test_any_whole_number_is_read_back(number):
    (quantity,) = read(f"is {number:,} there").quantities
    assert number in {reading.value for reading in quantity.readings}


@pytest.mark.parametrize("text", ["0,192.168.0", "1.234,56.7", "1,234.561.234,56", "12,192.168.0 km"])
def test_points_and_commas_in_no_order_are_no_number(text):
    assert all(reading.value < 1e9 for quantity in read(text).quantities for reading in quantity.readings)


@over(
    ("text", "values"),
    [
        ("4,000 litres", {4000.0}),
        ("0,250 litres", {0.25}),
        ("3,5 Liter und 4.000 Liter", {4000.0}),
        ("3,5 kg and 4,000 kg", {4.0}),
        ("1,234.50 and 4.000", {4.0}),
    ],
)
def test_the_text_tells_whether_a_mark_parts_thousands_or_decimals(text, values):
    assert {reading.value for reading in read(text).quantities[-1].readings} == values


@over(
    ("text", "value", "dimension"),
    [
        ("18 days", 18.0, "time"),
        ("18 months", 18.0, "months"),
        ("24-month", 24.0, "months"),
        ("3 years", 3.0, "months"),
        ("two weeks", 2.0, "time"),
        ("10 business days", 10.0, "business days"),
        ("10 calendar days", 10.0, "time"),
        ("300 kroner", 300.0, "NOK"),
        ("€4 billion", 4e9, "EUR"),
        ("4 million euros", 4e6, "EUR"),
    ],
)
def test_units_of_the_calendar_and_magnitudes_are_read(text, value, dimension):
    first = read(text).quantities[0].readings[0]
    assert (first.value, first.unit.dimension) == (value, dimension)


def test_what_a_bare_number_counts_is_read():
    assert [quantity.noun for quantity in read("18 rooms, 18 kg, 18 and 18 times").quantities] == ["rooms", "", "", ""]
