"""Whole numbers that depend on sizes, written as expressions of the sizes' names.

A module is traced at several sizes. A number that differs between the traces (an extent, an argument of reshape) has to be said in
terms of the names: `width`, `2 * width + 1`, `(width - 3) / 2 + 1`, `heads * dim`. An expression is taken only if it gives the number
of every trace.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

Sizes = dict[str, int]


def evaluate(text: str, sizes: Sizes) -> int:
    """Of expressions that this file wrote: names, whole numbers, + - * / and brackets; / is whole-number division."""
    if not re.fullmatch(r"[\w\s+\-*/()]+", text):
        raise ValueError(f"{text!r} is not an expression of sizes")
    return eval(text.replace("/", "//"), {"__builtins__": {}}, dict(sizes))  # noqa: S307 - the pattern admits arithmetic alone


class Fitter:
    """Finds expressions for numbers that were seen at `samples`, one number a sample."""

    def __init__(self, samples: list[Sizes], names: list[str]):
        self.samples = samples
        self.names = names
        self.found: dict[tuple[int, ...], str | None] = {}
        self.atoms: dict[str, tuple[str, tuple[int, ...]]] = {}  # expression -> (its name, values)
        for name in names:
            self.atoms[name] = (name, tuple(sample[name] for sample in samples))

    def fit(self, values: tuple[int, ...]) -> str | None:
        if values not in self.found:
            self.found[values] = self._fit(values)
        return self.found[values]

    def _fit(self, values: tuple[int, ...]) -> str | None:
        if len(set(values)) == 1:
            return str(values[0])
        for expression, (_, seen) in self.atoms.items():
            if seen == values:
                return expression
        for name in self.names:
            expression = self._of_one_name(name, values)
            if expression is not None:
                self.atoms[expression] = (name, values)
                return expression
        return self._product(values) or self._sum(values)

    def _of_one_name(self, name: str, values: tuple[int, ...]) -> str | None:
        points = dict()
        for sample, value in zip(self.samples, values):
            if points.setdefault(sample[name], value) != value:
                return None
        if len(points) < 2:
            return None
        low, high = min(points), max(points)
        slope = Fraction(points[high] - points[low], high - low)
        if slope.denominator == 1 and all(points[low] + slope * (at - low) == value for at, value in points.items()):
            return _linear(name, int(slope), points[low] - int(slope) * low)
        return _quotient(name, points, slope, high - low)

    def _product(self, values: tuple[int, ...]) -> str | None:
        atoms = list(self.atoms.items())
        # A deep network has hundreds of extents: of many factors only the first ones, the names themselves among them, are tried.
        for count, most in ((2, 80), (3, 20), (4, 12)):
            for chosen in itertools.combinations(atoms[:most], count):
                if len({atom[1][0] for atom in chosen}) != count:
                    continue
                products = [1] * len(values)
                for _, (_, seen) in chosen:
                    products = [product * value for product, value in zip(products, seen)]
                if products[0] == 0:
                    continue
                ratio = Fraction(values[0], products[0])
                if any(ratio * product != value for product, value in zip(products, values)) or ratio <= 0:
                    continue
                text = " * ".join(_bracketed(expression) for expression, _ in chosen)
                if ratio.numerator != 1:
                    text = f"{ratio.numerator} * {text}"
                return text if ratio.denominator == 1 else f"{text} / {ratio.denominator}"
        return None

    def _sum(self, values: tuple[int, ...]) -> str | None:
        for (left, (_, seen_left)), (right, (_, seen_right)) in itertools.combinations(list(self.atoms.items())[:80], 2):
            for sign, first, second, ones, others in (("+", left, right, seen_left, seen_right),
                                                      ("-", left, right, seen_left, seen_right),
                                                      ("-", right, left, seen_right, seen_left)):
                rest = [value - (one + other if sign == "+" else one - other) for value, one, other in zip(values, ones, others)]
                if len(set(rest)) == 1:
                    return f"{first} {sign} {_bracketed(second)}" + _plus(rest[0])
        return None


def _plus(constant: int) -> str:
    return "" if constant == 0 else f" + {constant}" if constant > 0 else f" - {-constant}"


def _bracketed(expression: str) -> str:
    return f"({expression})" if re.search(r"[\s]", expression) else expression


def _linear(name: str, slope: int, constant: int) -> str:
    if slope < 0:
        return f"{constant} - {name}" if slope == -1 else f"{constant} - {-slope} * {name}"
    return (name if slope == 1 else f"{slope} * {name}") + _plus(constant)


def _quotient(name: str, points: dict[int, int], slope: Fraction, span: int) -> str | None:
    """(a * name + b) / c + d, as strided convolutions and pools make it."""
    if slope <= 0:
        return None
    for bottom in range(2, 129):
        top = round(slope * bottom)
        # A quotient is off by less than 1 at either end.
        if top < 1 or abs(Fraction(top, bottom) - slope) * span > 1:
            continue
        for shift in range(bottom):
            rest = {value - (top * at + shift) // bottom for at, value in points.items()}
            if len(rest) != 1:
                continue
            # The whole part moves into the bracket as far as it keeps the usual look: (width - 3) / 2 + 1.
            constant = rest.pop()
            inner = shift + (constant - 1) * bottom if constant != 0 else shift
            outer = 1 if constant != 0 else 0
            if top * min(points) + inner < 0:
                inner, outer = shift, constant
            above = (name if top == 1 else f"{top} * {name}") + _plus(inner)
            return (f"({above})" if " " in above else above) + f" / {bottom}" + _plus(outer)
    return None
