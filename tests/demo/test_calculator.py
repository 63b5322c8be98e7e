import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.demo._tools import calculate

from ..rows import over


@over(
    ("expression", "result"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("2 ** 3 ** 2", 512),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 / 3", 0.333333),
        (" 1e3 - .5 ", 999.5),
        ("--4", 4),
    ],
)
def test_arithmetic(expression, result):
    assert calculate(expression) == {"expression": expression, "result": result}


@over(
    ("expression", "said"),
    [
        ("1 / 0", "cannot be worked out"),
        ("1 % 0", "cannot be worked out"),
        ("0 ** -1", "cannot be worked out"),
        ("2 ** 65", "exponents go up to 64"),
        ("9 ** 9 ** 9", "exponents go up to 64"),
        ("10 ** 16", "numbers go up to 1e+15"),
        ("9e99", "numbers go up to 1e+15"),
        ("1e999 - 1e999", "numbers go up to 1e+15"),
        ("(-8) ** 0.5", "numbers go up to 1e+15"),
        ("1 +", "not arithmetic"),
        ("", "not arithmetic"),
        ("__import__('os')", "not Call"),
        ("a + 1", "not Name"),
        ("'a' * 3", "not Constant"),
        ("True + 1", "not Constant"),
        ("[1][0]", "not Subscript"),
        ("1 < 2", "not Compare"),
        ("1" * 201, "at most 200 characters"),
    ],
)
def test_what_is_not_arithmetic_is_refused(expression, said):
    with pytest.raises(ValueError, match=said.replace("+", r"\+")):
        calculate(expression)


@given(st.text(max_size=60))
def test_any_text_is_worked_out_or_refused(text):
    try:
        answer = calculate(text)
    except ValueError:
        return
    assert abs(answer["result"]) <= 1e15


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from("+-*"))
def test_integers_are_exact(a, b, sign):
    expected = {"+": a + b, "-": a - b, "*": a * b}[sign]
    assert calculate(f"{a} {sign} ({b})")["result"] == expected
