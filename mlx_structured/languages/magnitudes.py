"""The members of one sign of a number set, in whole numbers, asked by leading digits.

What an automaton over digits wants to know is never about one number: it is whether some member
starts with these digits, and for which powers of ten these digits are one. Everything is scaled by
the power of ten that makes the set's cuts and steps whole, so the answers need no fractions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import gcd
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.languages.number_set import NumberSet
from mlx_structured.limits import charge

Term: TypeAlias = "tuple[int, tuple[int, ...]]"
"""Step (0 for every number, also between the whole ones) and the divisors it leaves out."""

Piece: TypeAlias = "tuple[Term, ...]"
"""The union of its terms."""

Ranges: TypeAlias = "tuple[tuple[int | None, int | None], ...]"
"""Whole numbers: ascending ranges with gaps between, bounds included, ``None`` for no bound."""

EVERYTHING: Piece = ((0, ()),)
EVERY_POWER: Ranges = ((None, None),)

_MOST_CUTS_TO_SPREAD = 32


def ten_to(exponent: int) -> int:
    """The power of ten with an exponent of at least 0."""
    power: int = 10**exponent
    return power


def decimal_length(number: int) -> int:
    """How many digits a positive whole number has."""
    length = number.bit_length() * 30103 // 100000
    return length + (number >= ten_to(length))


def trailing_zeros(number: int) -> int:
    """How many zeros a positive whole number ends in."""
    zeros = 0
    while number % 10 == 0:
        number //= 10
        zeros += 1
    return zeros


def compared(digits: int, shift: int, number: int) -> int:
    """Negative, zero or positive, as digits * ten_to(shift) is below, at or above the number."""
    if shift >= 0:
        return digits * ten_to(shift) - number
    return digits - number * ten_to(-shift)


def is_dense(piece: Piece) -> bool:
    """Whether the piece has members between any two numbers."""
    return any(not step for step, _ in piece)


def piece_contains(piece: Piece, number: int) -> bool:
    """Whether a whole number is in the piece."""
    for step, without in piece:
        if (not step or number % step == 0) and all(number % divisor for divisor in without):
            return True
    return False


def term_members(step: int, without: Iterable[int], first: int, last: int) -> Iterator[int]:
    """The multiples of a step from first to last that no divisor divides."""
    number = -(-first // step) * step
    while number <= last:
        if all(number % divisor for divisor in without):
            yield number
        else:
            charge()
        number += step


def piece_meets(piece: Piece, first: int, last: int) -> bool:
    """Whether some whole number from first to last is in the piece."""
    for step, without in piece:
        for _ in term_members(step or 1, without, first, last):
            return True
    return False


def ranges_contain(ranges: Ranges, number: int) -> bool:
    """Whether the number is in one of the ranges."""
    return any(
        (first is None or first <= number) and (last is None or number <= last)
        for first, last in ranges
    )


def joined(ranges: Iterable[tuple[int | None, int | None]]) -> Ranges:
    """The union of ranges that come in any order."""
    result: list[tuple[int | None, int | None]] = []
    for first, last in sorted(ranges, key=lambda each: (each[0] is not None, each[0] or 0)):
        if result:
            before, end = result[-1]
            if end is None:
                break
            if first is None or first <= end + 1:
                result[-1] = (before, last if last is None else max(last, end))
                continue
        result.append((first, last))
    return tuple(result)


def shifted(ranges: Ranges, distance: int) -> Ranges:
    """The ranges with a number added to each of their members."""
    return tuple(
        (
            None if first is None else first + distance,
            None if last is None else last + distance,
        )
        for first, last in ranges
    )


def from_least(ranges: Ranges, least: int) -> Ranges:
    """The part of the ranges that isn't below the least number."""
    return tuple(
        (least if first is None else max(first, least), last)
        for first, last in ranges
        if last is None or last >= least
    )


class Magnitudes:
    """The absolute values of a set's members of one sign, without zero.

    Digits are given as a positive whole number, and a number as digits times a power of ten. Made
    by :func:`magnitudes`, which gives equal sets the same object.

    Arguments:
        scale: the power of ten by which everything below is multiplied.
        cuts: where the rule changes, ascending.
        members: for each cut, whether the number itself is a member.
        pieces: the rule between two cuts, above zero and below infinity.
    """

    __slots__ = ("__weakref__", "cuts", "members", "pieces", "scale")

    def __init__(
        self,
        scale: int,
        cuts: tuple[int, ...],
        members: tuple[bool, ...],
        pieces: tuple[Piece, ...],
    ) -> None:
        self.scale = scale
        self.cuts = cuts
        self.members = members
        self.pieces = pieces

    def is_empty(self) -> bool:
        """Whether there is no member."""
        return not any(self.members) and not any(self.pieces)

    def is_everything(self) -> bool:
        """Whether every positive number is a member."""
        return self.pieces == (EVERYTHING,)

    def is_past(self, digits: int, power: int) -> bool:
        """Whether no member is at least as great as the number."""
        if self.pieces[-1]:
            return False
        if not self.cuts:
            return True
        return compared(digits, power + self.scale, self.cuts[-1]) > 0

    def contains(self, digits: int, power: int) -> bool:
        """Whether digits * 10**power is a member."""
        shift = power + self.scale
        if shift >= 0:
            number = digits * ten_to(shift)
        else:
            number, rest = divmod(digits, ten_to(-shift))
            if rest:
                return is_dense(self.pieces[bisect_right(self.cuts, number)])
        i = bisect_left(self.cuts, number)
        if i < len(self.cuts) and self.cuts[i] == number:
            return self.members[i]
        return piece_contains(self.pieces[i], number)

    def piece_of(self, digits: int, power: int) -> int:
        """The index of the piece whose rule all numbers from digits * 10**power to just below
        (digits + 1) * 10**power follow, or -1 where a cut is among them."""
        shift = power + self.scale
        i = self._cuts_below(digits, shift)
        end = self._cuts_below(digits + 1, shift)
        # A cut at the very start changes nothing if it follows the rule above it.
        if i < end and not compared(digits, shift, self.cuts[i]) and self.follows(i, i + 1):
            i += 1
        return i if i == end else -1

    def follows(self, cut: int, piece: int) -> bool:
        """Whether a cut is a member if and only if the rule of the piece says so."""
        return self.members[cut] == piece_contains(self.pieces[piece], self.cuts[cut])

    def _cuts_below(self, digits: int, shift: int) -> int:
        return bisect_left(
            self.cuts,
            digits * ten_to(shift) if shift >= 0 else -(-digits // ten_to(-shift)),
        )

    def meets(self, digits: int, power: int) -> bool:
        """Whether a member is from digits * 10**power to just below (digits + 1) * 10**power."""
        shift = power + self.scale
        if shift < 0:
            number, rest = divmod(digits, ten_to(-shift))
            return (not rest and self.contains(digits, power)) or is_dense(
                self.pieces[bisect_right(self.cuts, number)]
            )
        low = start = digits * ten_to(shift)
        end = low + ten_to(shift)
        i = bisect_left(self.cuts, low)
        while True:
            cut = self.cuts[i] if i < len(self.cuts) else end
            top = min(cut, end)
            piece = self.pieces[i]
            if piece and low < top and (is_dense(piece) or piece_meets(piece, start, top - 1)):
                return True
            if cut >= end:
                return False
            if self.members[i]:
                return True
            low, start = cut, cut + 1
            i += 1

    def first_shift(self, digits: int, cut: int) -> int:
        """The least n for which digits * 10**n is at least the (scaled) cut."""
        shift = decimal_length(cut) - decimal_length(digits)
        return shift if compared(digits, shift, cut) >= 0 else shift + 1

    def starts(self, digits: int) -> bool:
        """Whether some member's digits start with these, zeros before them left away.

        A member may be as great or small as it likes, so any power of ten is looked at.
        """
        if self.pieces[-1] or is_dense(self.pieces[0]):
            # Great numbers have room for all steps, and so have small ones where none is needed.
            return True
        if not self.cuts:
            return False
        lowest = min([self.cuts[0], *(step for step, _ in self.pieces[0])])
        last = self.first_shift(digits + 1, lowest)
        shift = self.first_shift(digits, self.cuts[-1] + 1) - 1
        while shift >= last:
            if self.meets(digits, shift - self.scale):
                return True
            below = self._cuts_below(digits, shift)
            if self.pieces[below]:
                shift -= 1
            elif below:
                shift = min(shift, self.first_shift(digits, self.cuts[below - 1] + 1)) - 1
            else:
                return False
        return False

    def powers(self, digits: int) -> Ranges:
        """The powers n for which digits * 10**n is a member."""
        found: list[tuple[int | None, int | None]] = []
        known: dict[int, int | None] = {}

        def least(step: int) -> int | None:
            if step not in known:
                known[step] = _least_shift(digits, step)
            return known[step]

        i = 0
        after: int | None = None
        while True:
            cut_shift = self.first_shift(digits, self.cuts[i]) if i < len(self.cuts) else None
            before = None if cut_shift is None else cut_shift - 1
            for step, without in self.pieces[i]:
                first, last = after, before
                if step:
                    start = least(step)
                    if start is None:
                        continue
                    first = start if first is None else max(first, start)
                for divisor in without:
                    start = least(divisor)
                    if start is not None:
                        last = start - 1 if last is None else min(last, start - 1)
                if first is None or last is None or first <= last:
                    found.append((first, last))
            if cut_shift is None:
                return shifted(joined(found), -self.scale)
            if self.contains(digits, cut_shift - self.scale):
                found.append((cut_shift, cut_shift))
            after = cut_shift + 1
            # Cuts up to the number just looked at have no power of their own.
            i = self._cuts_below(digits, cut_shift)
            i += i < len(self.cuts) and compared(digits, cut_shift, self.cuts[i]) == 0

    def spread(self, digits: int) -> tuple[Ranges, int | None] | None:
        """Where all that matters of a number that starts with these digits is its power of ten.

        Returns:
            ``None`` where more digits matter. Otherwise the powers n for which the numbers from
            digits * 10**n to just below (digits + 1) * 10**n are members, and u where only the
            multiples of 10**u among them are (``None`` where all are).
        """
        kinds = {piece for piece in self.pieces if piece}
        if len(kinds) > 1 or len(self.cuts) > _MOST_CUTS_TO_SPREAD:
            return None
        unit: int | None = None
        for piece in kinds:
            step, without = piece[0]
            if len(piece) > 1 or without:
                return None
            if step:
                zeros = trailing_zeros(step)
                if step != 10**zeros:
                    return None
                unit = zeros - self.scale
        starts: list[int | None] = [None]
        for i, cut in enumerate(self.cuts):
            shift = self.first_shift(digits, cut)
            if compared(digits, shift, cut) == 0:
                if not self.follows(i, i + 1):
                    return None
            elif compared(digits + 1, shift - 1, cut) > 0:
                return None
            starts.append(shift)
        found: list[tuple[int | None, int | None]] = []
        for i, piece in enumerate(self.pieces):
            if piece:
                first = starts[i]
                end = starts[i + 1] if i < len(self.cuts) else None
                if first is None or end is None or first < end:
                    found.append((first, None if end is None else end - 1))
        return shifted(joined(found), -self.scale), unit


def _least_shift(digits: int, step: int) -> int | None:
    """The least n for which digits * 10**n is a multiple of the step, if there is one."""
    rest = step // gcd(step, digits)
    if rest == 1:
        return -trailing_zeros(digits // step)
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    fives = 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    return max(twos, fives) if rest == 1 else None


def _decimal_places(number: Fraction) -> int:
    rest = number.denominator
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    fives = 0
    while rest > 1:
        rest //= 5
        fives += 1
    return max(twos, fives)


_Key: TypeAlias = "tuple[int, tuple[int, ...], tuple[bool, ...], tuple[Piece, ...]]"
_known: WeakValueDictionary[_Key, Magnitudes] = WeakValueDictionary()


def magnitudes(numbers: NumberSet, *, negative: bool) -> Magnitudes:
    """The absolute values of the positive (the negative) members."""
    cuts = list(numbers.cuts)
    members = list(numbers.members)
    pieces = list(numbers.pieces)
    if negative:
        cuts = [-cut for cut in reversed(cuts)]
        members.reverse()
        pieces.reverse()
    below = bisect_right(cuts, 0)
    cuts, members, pieces = cuts[below:], members[below:], pieces[below:]
    named = list(cuts)
    for piece in pieces:
        for step, without in piece.terms:
            named += [*without] if step is None else [step, *without]
    scale = max(map(_decimal_places, named), default=0)
    unit = ten_to(scale)

    def whole(number: Fraction) -> int:
        return number.numerator * (unit // number.denominator)

    key = (
        scale,
        tuple(whole(cut) for cut in cuts),
        tuple(members),
        tuple(
            tuple(
                (whole(step) if step else 0, tuple(whole(divisor) for divisor in without))
                for step, without in piece.terms
            )
            for piece in pieces
        ),
    )
    known = _known.get(key)
    if known is None:
        known = _known[key] = Magnitudes(*key)
    return known
