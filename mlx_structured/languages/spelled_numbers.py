"""Sets of numbers in which it matters how a number is written, closed under ``&``, ``|`` and ``~``.

In draft 4 an integer is "a JSON number without a fraction or exponent part" (draft 4 core, section
3.5), so that ``1`` and ``-0`` are integers, ``1.0`` and ``1e2`` are not. Everything else is about
what a number is worth. So there are two sets, one for the texts that are spelled as integers and
one for all others. Nearly always both say the same of integers, and :func:`spelled` makes them one
:class:`~.number_set.NumberSet` again where it sees that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from mlx_structured.languages.number_set import ALL_NUMBERS, INTEGERS, NO_NUMBERS, NumberSet


class SpelledNumbers:
    """A set of numbers as they are written. Made by :func:`spelled`, whatever it is made from.

    Arguments:
        whole: the integers that may be written without a fraction and an exponent.
        others: the numbers that may be written with one of them, or both.
    """

    __slots__ = ("others", "whole")

    def __init__(self, whole: NumberSet, others: NumberSet) -> None:
        self.whole = whole
        self.others = others

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, SpelledNumbers)
            and self.whole == other.whole
            and self.others == other.others
        )

    def __hash__(self) -> int:
        return hash((self.whole, self.others))

    def __repr__(self) -> str:
        return f"SpelledNumbers({self.whole}, {self.others})"

    def __and__(self, other: Numbers) -> Numbers:
        if other is ALL_NUMBERS:
            return self
        whole, others = _parts(other)
        return spelled(self.whole & whole, self.others & others)

    __rand__ = __and__

    def __or__(self, other: Numbers) -> Numbers:
        if other is NO_NUMBERS:
            return self
        whole, others = _parts(other)
        return spelled(self.whole | whole, self.others | others)

    __ror__ = __or__

    def __invert__(self) -> Numbers:
        return spelled(~self.whole, ~self.others)

    def is_empty(self) -> bool:
        """Never: the empty set needs no spelling."""
        return False

    def values(self, limit: int) -> list[Fraction] | None:
        """All that have a text, ascending, or ``None`` if there are more than ``limit``."""
        return (self.whole | self.others).values(limit)


Numbers: TypeAlias = NumberSet | SpelledNumbers


def spelled(whole: NumberSet, others: NumberSet) -> Numbers:
    """The numbers that may be written so: a plain set where their spelling makes no difference.

    Arguments:
        whole: what may be written without a fraction and an exponent, as far as it is integers.
        others: what may be written with one of them, or both.
    """
    if not whole.integers_only:
        whole &= INTEGERS
    if whole == (others if others.integers_only else others & INTEGERS):
        return others
    return SpelledNumbers(whole, others)


def _parts(numbers: Numbers) -> tuple[NumberSet, NumberSet]:
    if isinstance(numbers, SpelledNumbers):
        return numbers.whole, numbers.others
    return numbers, numbers


INTEGER_TEXTS = spelled(INTEGERS, NO_NUMBERS)
