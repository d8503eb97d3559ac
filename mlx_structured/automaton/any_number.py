"""Numbers in every spelling of RFC 8259 section 6: ``1.0``, ``10E-1``, ``0.50``, ``-0``.

            digit          .          digit         e       + -        digit
    start ---------> whole ---> point -----> fraction ---> mark ---> sign -----> exponent

Since an exponent may follow, the digits say nothing of how great a number is: they are followed by
a text of a member while some member starts with these digits. Where further digits don't matter
(away from the digits of a bound), a state is the set of exponents that fit, shared by all sets and
texts that agree in it. Elsewhere it is the digits so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.languages.magnitudes import (
    EVERY_POWER,
    Magnitudes,
    Ranges,
    from_least,
    magnitudes,
    ranges_contain,
    shifted,
    trailing_zeros,
)
from mlx_structured.languages.number_set import NumberSet


class Place(Enum):
    """What was read last."""

    WHOLE = "a digit before the point"
    POINT = "the point"
    FRACTION = "a digit after the point"


class SignState(LexemeState):
    """Before the number, or between its sign and its first digit."""

    __slots__ = ("negative", "positive")

    def __init__(self, positive: SpelledTexts, negative: SpelledTexts | None) -> None:
        super().__init__()
        self.positive = positive
        self.negative = negative

    def expand(self) -> Mapping[int, LexemeState]:
        transitions = self.positive.first_digits()
        if self.negative is not None:
            minus = SignState(self.negative, None)
            if minus.transitions:
                transitions[0x2D] = minus
        return transitions


class DigitsState(LexemeState):
    """After digits all of which matter.

    Arguments:
        texts: the numbers of this sign.
        digits: without the point and without zeros before them; 0 if there are only zeros.
        place: what was read last.
        count: of digits before the point, and of those after it once it was read.
    """

    __slots__ = ("count", "digits", "place", "texts")

    def __init__(self, texts: SpelledTexts, digits: int, place: Place, count: int) -> None:
        super().__init__(
            DONE if place is not Place.POINT and texts.contains(digits, place, count) else None
        )
        self.texts = texts
        self.digits = digits
        self.place = place
        self.count = count

    def expand(self) -> Mapping[int, LexemeState]:
        texts, digits, place = self.texts, self.digits, self.place
        transitions: dict[int, LexemeState] = {}
        after = Place.WHOLE if place is Place.WHOLE else Place.FRACTION
        if place is not Place.WHOLE or (digits and self.count != texts.max_digits):
            for digit in range(10):
                state = texts.after(10 * digits + digit, after, self.count + 1)
                if state is not None:
                    transitions[0x30 + digit] = state
        if place is Place.WHOLE:
            point = texts.after(digits, Place.POINT, 0)
            if point is not None:
                transitions[0x2E] = point
        if place is not Place.POINT:
            _add_exponent(transitions, texts.exponents(digits, place, self.count))
        return transitions


class Rest(NamedTuple):
    """What may follow digits that only matter by where they stand.

    Arguments:
        place: what was read last.
        exponents: which would give members, whatever digits follow.
        unit: the power of ten that divides all members, ``None`` if there is no such condition.
        least: the least exponent that this leaves to the digits so far, else 0.
        places: digits after the point, where ``unit`` makes them matter, else 0.
        room: how many more digits may come before the point, ``None`` for no bound.
    """

    place: Place
    exponents: Ranges
    unit: int | None = None
    least: int = 0
    places: int = 0
    room: int | None = None

    def exponents_here(self) -> Ranges:
        """The exponents that give members if no digit follows."""
        return self.exponents if self.unit is None else from_least(self.exponents, self.least)

    def after_zero(self) -> Rest:
        """What may follow one more 0."""
        if self.place is Place.WHOLE:
            return self._replace(
                exponents=shifted(self.exponents, -1),
                least=self.least if self.unit is None else self.least - 1,
                room=None if self.room is None else self.room - 1,
            )
        places = 0 if self.unit is None else self.places + 1
        return self._replace(place=Place.FRACTION, places=places)

    def after_other_digit(self) -> Rest:
        """What may follow one more digit from 1 to 9."""
        rest = self.after_zero()
        return rest if rest.unit is None else rest._replace(least=rest.unit + rest.places)


class FreeState(LexemeState):
    """After digits that only matter by where they stand."""

    __slots__ = ("rest",)

    def __init__(self, rest: Rest) -> None:
        is_whole = rest.place is not Place.POINT
        super().__init__(DONE if is_whole and ranges_contain(rest.exponents_here(), 0) else None)
        self.rest = rest

    def expand(self) -> Mapping[int, LexemeState]:
        rest = self.rest
        transitions: dict[int, LexemeState] = {}
        if rest.room != 0:
            zero = free_state(rest.after_zero())
            if zero is not None:
                transitions[0x30] = zero
            other = free_state(rest.after_other_digit())
            if other is not None:
                transitions.update(dict.fromkeys(b"123456789", other))
        if rest.place is Place.WHOLE:
            point = free_state(rest._replace(place=Place.POINT, room=None))
            if point is not None:
                transitions[0x2E] = point
        if rest.place is not Place.POINT:
            _add_exponent(transitions, rest.exponents_here())
        return transitions


_free: WeakValueDictionary[Rest, FreeState] = WeakValueDictionary()


def free_state(rest: Rest) -> LexemeState | None:
    """The state with that rest, ``None`` if it is dead."""
    # Digits that follow leave no exponents that these don't, so nothing is lost by stopping here.
    if not rest.exponents_here():
        return None
    state = _free.get(rest)
    if state is None:
        state = _free[rest] = FreeState(rest)
    return state


class MarkState(LexemeState):
    """After the ``e``: a sign or the first digit of one of the exponents."""

    __slots__ = ("exponents",)

    def __init__(self, exponents: Ranges) -> None:
        super().__init__()
        self.exponents = exponents

    def expand(self) -> Mapping[int, LexemeState]:
        transitions: dict[int, LexemeState] = {}
        positive = from_least(self.exponents, 0)
        if positive:
            plus = exponent_state(positive, None)
            transitions[0x2B] = plus
            transitions.update(plus.transitions)
        negative = from_least(
            tuple(
                (None if last is None else -last, None if first is None else -first)
                for first, last in reversed(self.exponents)
            ),
            0,
        )
        if negative:
            transitions[0x2D] = exponent_state(negative, None)
        return transitions


class ExponentState(LexemeState):
    """After the sign of an exponent or some of its digits.

    Arguments:
        amounts: the absolute values that give members.
        amount: the value of the digits so far, ``None`` if there is none yet.
    """

    __slots__ = ("amount", "amounts")

    def __init__(self, amounts: Ranges, amount: int | None) -> None:
        super().__init__(DONE if amount is not None and ranges_contain(amounts, amount) else None)
        self.amounts = amounts
        self.amount = amount

    def expand(self) -> Mapping[int, LexemeState]:
        transitions: dict[int, LexemeState] = {}
        for digit in range(10):
            amount = 10 * (self.amount or 0) + digit
            if _some_amount_starts(self.amounts, amount):
                transitions[0x30 + digit] = exponent_state(self.amounts, amount)
        return transitions


def _some_amount_starts(amounts: Ranges, amount: int) -> bool:
    last = amounts[-1][1]
    if last is None or amount == 0:
        return True
    end = amount + 1
    while amount <= last:
        if any((first or 0) < end and (top is None or top >= amount) for first, top in amounts):
            return True
        amount *= 10
        end *= 10
    return False


_exponents: WeakValueDictionary[tuple[Ranges, int | None], ExponentState] = WeakValueDictionary()


def exponent_state(amounts: Ranges, amount: int | None) -> ExponentState:
    """The state after such digits, from which one of the amounts can be written."""
    if amount:
        # Amounts below it are out of reach, and beyond the last bound digits don't matter.
        amounts = tuple(each for each in amounts if each[1] is None or each[1] >= amount)
        first, last = amounts[0]
        if last is None and amount >= (first or 0):
            amounts, amount = ((0, None),), 0
    key = (amounts, amount)
    state = _exponents.get(key)
    if state is None:
        state = _exponents[key] = ExponentState(*key)
    return state


_marks: WeakValueDictionary[Ranges, MarkState] = WeakValueDictionary()


def _add_exponent(transitions: dict[int, LexemeState], exponents: Ranges) -> None:
    if exponents:
        state = _marks.get(exponents)
        if state is None:
            state = _marks[exponents] = MarkState(exponents)
        transitions[0x65] = transitions[0x45] = state


class SpelledTexts:
    """The texts of the members of one sign, after the sign.

    Arguments:
        members: the absolute values of the members other than zero.
        zero: whether zero is a member.
        max_digits: the most digits before the point, ``None`` for no bound.
    """

    __slots__ = ("max_digits", "members", "zero")

    def __init__(self, members: Magnitudes, zero: bool, max_digits: int | None) -> None:
        self.members = members
        self.zero = zero
        self.max_digits = max_digits

    def first_digits(self) -> dict[int, LexemeState]:
        """The states after the first digit."""
        transitions: dict[int, LexemeState] = {}
        for digit in range(10):
            state = self.after(digit, Place.WHOLE, 1)
            if state is not None:
                transitions[0x30 + digit] = state
        return transitions

    def contains(self, digits: int, place: Place, count: int) -> bool:
        """Whether the digits are a member, without an exponent."""
        if not digits:
            return self.zero
        return self.members.contains(digits, 0 if place is Place.WHOLE else -count)

    def exponents(self, digits: int, place: Place, count: int) -> Ranges:
        """The exponents that make the digits a member."""
        if not digits:
            return EVERY_POWER if self.zero else ()
        powers = self.members.powers(digits)
        return powers if place is Place.WHOLE else shifted(powers, count)

    def after(self, digits: int, place: Place, count: int) -> LexemeState | None:
        """The state after the digits, ``None`` if it is dead."""
        if not digits:
            if place is not Place.WHOLE and self.zero and self.members.is_everything():
                return free_state(Rest(place, EVERY_POWER))
            if self.zero or not self.members.is_empty():
                return DigitsState(self, digits, place, count)
            return None
        spread = self.members.spread(digits)
        if spread is None:
            if self.members.starts(digits):
                return DigitsState(self, digits, place, count)
            return None
        powers, unit = spread
        if place is Place.WHOLE:
            rest = Rest(place, powers)
            if self.max_digits is not None:
                rest = rest._replace(room=self.max_digits - count)
            count = 0
        else:
            rest = Rest(place, shifted(powers, count))
        if unit is not None:
            rest = rest._replace(
                unit=unit, least=unit - trailing_zeros(digits) + count, places=count
            )
        return free_state(rest)


def any_number(numbers: NumberSet, max_digits: int | None) -> LexemeState:
    """The start of the lexeme, which is dead if the set is empty.

    Arguments:
        numbers: the set.
        max_digits: the most digits before the point, ``None`` for no bound.
    """
    zero = numbers.contains(0)
    return SignState(
        SpelledTexts(magnitudes(numbers, negative=False), zero, max_digits),
        SpelledTexts(magnitudes(numbers, negative=True), zero, max_digits),
    )
