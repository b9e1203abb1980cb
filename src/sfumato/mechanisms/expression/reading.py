"""Reading a formula from text.

The text is parsed by Python's own parser and rebuilt node by node from a short list of what is
allowed. It is never executed, and nothing that is not in the vocabulary has a meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from sfumato.mechanisms.expression.terms import (
    FUNCTIONS,
    Constant,
    Function,
    Item,
    Power,
    Ratio,
    Term,
    Total,
    Unit,
    choose,
)

__all__ = ["Vocabulary", "read_formula"]

#: The longest text; with it the depth of a formula is bounded as well.
LONGEST = 1000
#: The most terms after powers and binomials are written out.
MOST_TERMS = 20_000

Argument = int | str
Vocabulary = Mapping[str, Callable[[tuple[Argument, ...]], Term | Argument]]
"""What each name means: a function of its arguments (none for a bare name) that returns a term, or
a public word or whole number to be used as an argument."""


def read_formula(text: str, vocabulary: Vocabulary) -> Term:
    """Return the term that a text says.

    Parameters
    ----------
    text
        Such as `"3 * triangles / wedges"`.
    vocabulary
        What names mean.

    Raises
    ------
    ValueError
        If the text is no formula or names something unknown.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a formula has at most {LONGEST} characters; got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(
            f"{text!r} is not a formula; write one such as '3 * triangles / wedges'"
        ) from None
    term = _Reader(text, vocabulary).term(tree.body)
    if sum(1 for _ in term.walk()) > MOST_TERMS:
        raise ValueError(f"a formula has at most {MOST_TERMS} terms when it is written out")
    return term


class _Reader:
    """Rebuilds a parsed text as a term."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary

    def term(self, node: ast.expr) -> Term:
        """Return the term of a node."""
        found = self.any(node)
        if isinstance(found, str):
            raise ValueError(f"{found!r} is a name where a number is needed, in {self.text!r}")
        return Constant(Fraction(found)) if isinstance(found, int) else found

    def any(self, node: ast.expr) -> Term | Argument:
        """Return a term, or a public word or whole number."""
        if isinstance(node, ast.Constant):
            return self._literal(node.value)
        if isinstance(node, ast.Name):
            return self._named(node.id, ())
        if isinstance(node, ast.Call):
            return self._read_call(node)
        if isinstance(node, ast.UnaryOp):
            return self._signed(node)
        if isinstance(node, ast.BinOp):
            return self._joined(node)
        if isinstance(node, ast.Subscript):
            return self._entry(node)
        raise self._refuse(node)

    def _literal(self, value: Any) -> Term | Argument:
        if isinstance(value, str) or type(value) is int:
            return value
        if isinstance(value, float) and abs(value) < 1e300:
            # A float is read as its shortest decimal, as everywhere.
            return Constant(Fraction(repr(value)))
        raise ValueError(f"{value!r} is not allowed as a number, in {self.text!r}")

    def _named(self, name: str, arguments: tuple[Argument, ...]) -> Term | Argument:
        if name not in self.vocabulary:
            raise ValueError(
                f"unknown name {name!r} in {self.text!r}; the names are "
                f"{', '.join(sorted(self.vocabulary))}"
            )
        return self.vocabulary[name](arguments)

    def _read_call(self, node: ast.Call) -> Term | Argument:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refuse(node)
        name, given = node.func.id, node.args
        if name in _JOINING:
            wanted, build = _JOINING[name]
            if len(given) != wanted:
                raise ValueError(f"{name} takes {wanted} terms, in {self.text!r}; got {len(given)}")
            return build(*(self.term(argument) for argument in given))
        arguments = tuple(self.any(argument) for argument in given)
        if any(isinstance(argument, Term) for argument in arguments):
            raise ValueError(
                f"{name} takes names or whole numbers, not a formula, in {self.text!r}"
            )
        return self._named(name, arguments)  # type: ignore[arg-type]

    def _signed(self, node: ast.UnaryOp) -> Term | Argument:
        inner = self.any(node.operand)
        if isinstance(inner, str):
            raise self._refuse(node)
        if isinstance(node.op, ast.USub):
            return -inner
        if isinstance(node.op, ast.UAdd):
            return inner
        raise self._refuse(node)

    def _joined(self, node: ast.BinOp) -> Term:
        left = self.term(node.left)
        if isinstance(node.op, ast.Pow):
            return self._power(left, self.any(node.right))
        right = self.term(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div):
            return left / right
        raise ValueError(f"only the operators + - * / ** are allowed, in {self.text!r}")

    def _power(self, base: Term, exponent: Term | Argument) -> Term:
        if isinstance(exponent, int):
            return Power(base, exponent) if exponent >= 0 else 1 / Power(base, -exponent)
        if exponent == Constant(Fraction(1, 2)):
            return Function(base, "sqrt")
        raise ValueError(
            f"a power must be a whole number, or 0.5 for the square root, in {self.text!r}"
        )

    def _entry(self, node: ast.Subscript) -> Term:
        vector, index = self.term(node.value), self.any(node.slice)
        if not isinstance(index, int) or not isinstance(vector, Unit):
            raise ValueError(f"an entry is written as blocks[0], in {self.text!r}")
        return Item(vector, index)

    def _refuse(self, node: ast.AST) -> ValueError:
        return ValueError(
            f"{type(node).__name__} is not allowed in a formula ({self.text!r}); use names, "
            "numbers, + - * / ** and functions"
        )


def _mean(vector: Term) -> Term:
    total = Total(vector)
    assert vector.length is not None
    return total / max(vector.length, 1)


_JOINING: dict[str, tuple[int, Callable[..., Term]]] = {
    "choose2": (1, lambda term: choose(term, 2)),
    "choose3": (1, lambda term: choose(term, 3)),
    "mean": (1, _mean),
    "share": (2, lambda part, whole: Ratio(part, whole, share=True)),
    "sum": (1, Total),
    **{name: (1, lambda term, name=name: Function(term, name)) for name in FUNCTIONS},
}
