"""The digits of whole numbers, after the first: which may follow, and for how long.

Where nothing but the number of digits and a remainder matters of what was written, states are
shared by all sets and all texts that agree in that. Elsewhere (at the digits of a bound) a state
is the digits so far.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from math import lcm
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, END, LexemeState
from mlx_structured.languages.magnitudes import (
    Magnitudes,
    Piece,
    piece_contains,
    piece_meets,
    ten_to,
)

WHOLE_NUMBERS: Piece = ((1, ()),)


class FreeDigits(LexemeState):
    """Digits whose number and remainder alone decide.

    Arguments:
        piece: multiples that the whole number must be in.
        remainder: of the number so far by the piece's period.
        least: how many digits must follow.
        most: how many digits may follow, ``None`` for any number of them.
    """

    __slots__ = ("least", "most", "piece", "remainder")

    is_common = True

    def __init__(self, piece: Piece, remainder: int, least: int, most: int | None) -> None:
        super().__init__(DONE if not least and piece_contains(piece, remainder) else None)
        self.piece = piece
        self.remainder = remainder
        self.least = least
        self.most = most

    def expand(self) -> Mapping[int, LexemeState]:
        least = max(self.least - 1, 0)
        most = None if self.most is None else self.most - 1
        if self.piece == WHOLE_NUMBERS:
            state = free_digits(self.piece, 0, least, most)
            return {} if state is None else dict.fromkeys(b"0123456789", state)
        transitions: dict[int, LexemeState] = {}
        for digit in range(10):
            state = free_digits(self.piece, 10 * self.remainder + digit, least, most)
            if state is not None:
                transitions[0x30 + digit] = state
        return transitions

    def stand_in(self, digits: int) -> LexemeState:
        most = None if self.most is None or self.most > digits else self.most
        least = min(self.least, digits + 1)
        if self.piece != WHOLE_NUMBERS or (most == self.most and least == self.least):
            return self
        return free_digits(self.piece, self.remainder, least, most) or self


_Key: TypeAlias = "tuple[Piece, int, int, int | None]"
_free: WeakValueDictionary[_Key, FreeDigits] = WeakValueDictionary()
ANY_DIGITS = _free[WHOLE_NUMBERS, 0, 0, None] = FreeDigits(WHOLE_NUMBERS, 0, 0, None)
"""After the first digits of most integers. It stays, and so do the walks from it."""


def free_digits(piece: Piece, number: int, least: int, most: int | None) -> LexemeState | None:
    """The state with at least and at most so many digits to follow, ``None`` if it is dead."""
    period = lcm(*(step for step, _ in piece), *(each for _, without in piece for each in without))
    remainder = number % period
    if not _goes_on(piece, remainder, period, least, most):
        return None
    if most == 0:
        return END
    key = (piece, remainder, least, most)
    state = _free.get(key)
    if state is None:
        state = _free[key] = FreeDigits(*key)
    return state


def _goes_on(piece: Piece, remainder: int, period: int, least: int, most: int | None) -> bool:
    if most is not None and most < least:
        return False
    # With as many digits as the period has, all remainders come up.
    if most is None or ten_to(most) >= period:
        return True
    units = (ten_to(count) for count in range(least, most + 1))
    return any(piece_meets(piece, remainder * unit, (remainder + 1) * unit - 1) for unit in units)


class BoundDigits(LexemeState):
    """The digits so far, which are those of some bound."""

    __slots__ = ("count", "integers", "number")

    def __init__(self, integers: IntegerDigits, number: int, count: int) -> None:
        super().__init__(DONE if integers.members.contains(number, 0) else None)
        self.integers = integers
        self.number = number
        self.count = count

    def expand(self) -> Mapping[int, LexemeState]:
        transitions: dict[int, LexemeState] = {}
        for digit in range(10):
            state = self.integers.after(10 * self.number + digit, self.count + 1)
            if state is not None:
                transitions[0x30 + digit] = state
        return transitions


_bound: WeakValueDictionary[tuple[Magnitudes, int | None, int], BoundDigits] = WeakValueDictionary()


class IntegerDigits:
    """The digits of the positive members of a set of integers.

    Arguments:
        members: of a set of integers.
        max_digits: the most digits, ``None`` for no bound.
    """

    __slots__ = ("max_digits", "members")

    def __init__(self, members: Magnitudes, max_digits: int | None) -> None:
        self.members = members
        self.max_digits = max_digits

    def after(self, number: int, count: int) -> LexemeState | None:
        """The state after the digits of a positive number, ``None`` if it is dead."""
        members = self.members
        room = None if self.max_digits is None else self.max_digits - count
        if room is not None and room < 0:
            return None
        piece: Piece = ()
        least = more = 0
        most: int | None = None
        while room is None or more <= room:
            i = self._rule(number, more)
            here = members.pieces[i] if i >= 0 else ()
            if i < 0 or (here and piece and (here != piece or most != more - 1)):
                return self._bound_digits(number, count)
            following = self._next_count(number, more, i)
            if here:
                if not piece:
                    piece, least = here, more
                most = room if following is None else following - 1
            if following is None:
                break
            more = following
        if room is not None and most is not None:
            most = min(most, room)
        return free_digits(piece, number, least, most) if piece else None

    def _rule(self, number: int, more: int) -> int:
        """The piece that decides all integers with so many more digits, -1 if there is none."""
        members = self.members
        low = number * ten_to(more)
        high = low + ten_to(more) - 1
        i = bisect_left(members.cuts, low)
        if i < len(members.cuts) and members.cuts[i] == low and members.follows(i, i + 1):
            i += 1
        if i == len(members.cuts) or members.cuts[i] > high:
            return i
        return i if members.cuts[i] == high and members.follows(i, i) else -1

    def _next_count(self, number: int, more: int, cut: int) -> int | None:
        """How many more digits are needed to come to a cut, ``None`` if there is none."""
        members = self.members
        if cut == len(members.cuts):
            return None
        return max(more + 1, members.first_shift(number + 1, members.cuts[cut] + 1))

    def _bound_digits(self, number: int, count: int) -> LexemeState | None:
        if not self.goes_on(number, count):
            return None
        key = (self.members, self.max_digits, number)
        state = _bound.get(key)
        if state is None:
            state = _bound[key] = BoundDigits(self, number, count)
        return state

    def goes_on(self, number: int, count: int) -> bool:
        """Whether some member's digits start with those of the number."""
        members = self.members
        room = None if self.max_digits is None else self.max_digits - count
        more: int | None = 0
        while more is not None and (room is None or more <= room):
            if members.meets(number, more):
                return True
            above = bisect_left(members.cuts, (number + 1) * ten_to(more))
            more = more + 1 if members.pieces[above] else self._next_count(number, more, above)
        return False
