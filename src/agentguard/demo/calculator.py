"""A calculator tool: arithmetic read as a syntax tree, so that nothing but arithmetic can run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

__all__ = ["calculate"]

MAX_LENGTH = 200
MAX_EXPONENT = 64
MAX_MAGNITUDE = 1e15

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def calculate(expression: str) -> dict[str, Any]:
    """Work out ``+ - * / // % **`` and parentheses over plain numbers, rounded to six decimals.

    Raises:
        ValueError: for anything else, for division by zero, and for numbers beyond 1e15.

    >>> calculate("(19.5 + 0.5) * 3")
    {'expression': '(19.5 + 0.5) * 3', 'result': 60.0}
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"an expression has at most {MAX_LENGTH} characters, not {len(expression)}")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"not arithmetic: {error.msg}") from None
    return {"expression": expression, "result": round(_value(tree.body), 6)}


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _bounded(_UNARY[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > MAX_EXPONENT:
            raise ValueError(f"exponents go up to {MAX_EXPONENT}, not {right:g}")
        try:
            return _bounded(_BINARY[type(node.op)](left, right))
        except ArithmeticError as error:
            raise ValueError(f"cannot be worked out: {error}") from None
    raise ValueError(f"only numbers, operators and parentheses are understood, not {type(node).__name__}")


def _bounded(value: Any) -> float:
    # A negative base with a fractional exponent is complex, which Python works out and a calculator does not.
    if isinstance(value, complex) or not abs(value) <= MAX_MAGNITUDE:
        raise ValueError(f"numbers go up to {MAX_MAGNITUDE:g}")
    return float(value) if isinstance(value, float) else int(value)
