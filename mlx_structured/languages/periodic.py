"""Sets of numbers that repeat for ever: unions of "multiples of this, but of none of those".

This is what a set of numbers looks like between two of its bounds. JSON numbers are decimals, so
every number here is one: a fraction whose denominator divides a power of ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor, gcd
from typing import NamedTuple

from mlx_structured.languages.remembering import remembered
from mlx_structured.limits import charge


class Multiples(NamedTuple):
    """The multiples of ``step`` that are multiples of none of ``without``.

    Arguments:
        step: a positive number, or ``None`` for every number.
        without: multiples of ``step`` other than itself, in order, none a multiple of another.
    """

    step: Fraction | None
    without: tuple[Fraction, ...] = ()

    def contains(self, number: Fraction) -> bool:
        """Whether the number is in the set."""
        return (self.step is None or is_multiple(number, self.step)) and not any(
            is_multiple(number, divisor) for divisor in self.without
        )


def is_multiple(number: Fraction, divisor: Fraction) -> bool:
    """Whether the number is a whole multiple of the divisor."""
    return number.numerator * divisor.denominator % (number.denominator * divisor.numerator) == 0


def least_common_multiple(left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """The step of what two steps have in common; ``None`` stands for every number."""
    if left is None or right is None:
        return right if left is None else left
    one = left.numerator * right.denominator
    other = right.numerator * left.denominator
    return Fraction(one * other // gcd(one, other), left.denominator * right.denominator)


def _term(step: Fraction | None, without: Iterable[Fraction]) -> Multiples | None:
    """The term in its normal form, ``None`` where it is empty."""
    divisors: set[Fraction] = set()
    for divisor in without:
        multiple = least_common_multiple(step, divisor)
        if multiple == step:
            return None
        divisors.add(multiple or divisor)
    return Multiples(
        step,
        tuple(
            sorted(
                divisor
                for divisor in divisors
                if not any(other != divisor and is_multiple(divisor, other) for other in divisors)
            )
        ),
    )


def _within(inner: Multiples, outer: Multiples) -> bool:
    """Whether one term is a subset of another."""
    if outer.step is not None and (inner.step is None or not is_multiple(inner.step, outer.step)):
        return False
    shared = (least_common_multiple(inner.step, divisor) for divisor in outer.without)
    return all(_term(step, inner.without) is None for step in shared)


def _restored(term: Multiples, others: list[Multiples]) -> Multiples | None:
    """The term with some of the multiples it leaves out, where another term has them anyway."""
    for divisor in term.without:
        rest = [other for other in term.without if other != divisor]
        gap = _term(least_common_multiple(term.step, divisor), rest)
        if gap is not None and any(_within(gap, other) for other in others):
            return _term(term.step, rest)
    return None


def _order(term: Multiples) -> tuple[Fraction, tuple[Fraction, ...]]:
    return (term.step or Fraction(0), term.without)


class Periodic:
    """A union of terms. Use the constants, :func:`multiples` and ``&``, ``|``, ``~``.

    Arguments:
        terms: in their normal form and order, none a subset of another.
    """

    __slots__ = ("_hash", "is_dense", "terms")

    def __init__(self, terms: tuple[Multiples, ...]) -> None:
        self.terms = terms
        self.is_dense = any(term.step is None for term in terms)
        self._hash = hash(terms)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Periodic) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return f"Periodic({self.terms!r})"

    def __and__(self, other: Periodic) -> Periodic:
        return _intersection(self, other)

    def __or__(self, other: Periodic) -> Periodic:
        return _union(self, other)

    def __invert__(self) -> Periodic:
        return _complement(self)

    def contains(self, number: Fraction) -> bool:
        """Whether the number is in the set."""
        return any(term.contains(number) for term in self.terms)

    def first_after(self, number: Fraction) -> Fraction:
        """The smallest member above the number, of a set that is neither dense nor empty."""
        return min(_next_member(term, number, 1) for term in self.terms)

    def last_before(self, number: Fraction) -> Fraction:
        """The greatest member below the number, of a set that is neither dense nor empty."""
        return max(_next_member(term, number, -1) for term in self.terms)


def _next_member(term: Multiples, number: Fraction, direction: int) -> Fraction:
    step = term.step
    if step is None:
        raise ValueError("a dense set has no next member")
    ratio = number / step
    factor = floor(ratio) + 1 if direction > 0 else ceil(ratio) - 1
    # A step divides what it leaves out, so these are whole numbers of at least 2, and the factors
    # that none of them divides never end.
    divisors = [(divisor / step).numerator for divisor in term.without]
    while any(factor % divisor == 0 for divisor in divisors):
        factor += direction
        charge()
    return step * factor


def _of_terms(terms: Iterable[Multiples]) -> Periodic:
    kept: list[Multiples] = []
    pending = list(dict.fromkeys(terms))
    while pending:
        term = pending.pop()
        if any(_within(term, other) for other in kept):
            continue
        kept = [other for other in kept if not _within(other, term)]
        restored = _restored(term, kept)
        if restored is not None:
            pending.append(restored)
            continue
        # A new term may fill what an earlier one left out.
        for i, other in enumerate(kept):
            restored = _restored(other, [term])
            if restored is not None:
                del kept[i]
                pending.append(restored)
                break
        kept.append(term)
        charge(1 + len(kept), 500)
    return Periodic(tuple(sorted(kept, key=_order)))


def _size(periodic: Periodic) -> int:
    return 1_000 + sum(300 + 200 * len(term.without) for term in periodic.terms)


@remembered(_size)
def _intersection(left: Periodic, right: Periodic) -> Periodic:
    terms = (
        _term(least_common_multiple(one.step, other.step), one.without + other.without)
        for one in left.terms
        for other in right.terms
    )
    return _of_terms(term for term in terms if term is not None)


@remembered(_size)
def _union(left: Periodic, right: Periodic) -> Periodic:
    return _of_terms(left.terms + right.terms)


@remembered(_size)
def _complement(periodic: Periodic) -> Periodic:
    result = EVERY_NUMBER
    for term in periodic.terms:
        outside = [Multiples(divisor) for divisor in term.without]
        if term.step is not None:
            outside.append(Multiples(None, (term.step,)))
        result = result & _of_terms(outside)
    return result


NO_NUMBER = Periodic(())
EVERY_NUMBER = Periodic((Multiples(None),))


def multiples(step: Fraction) -> Periodic:
    """The multiples of a positive number."""
    return Periodic((Multiples(step),))
