"""Numbers as Python's ``json.dumps`` prints them: ``int`` in full, ``float`` as its ``repr``.

The texts of floats are the shortest decimals that read back as the same double (fixed notation
from 1e-4 to below 1e16, else with an exponent). Whether a text of 16 or 17 digits is one hangs on
all of its digits: the smallest automaton for it has a state for almost every text. So a state here
holds its digits, and a text lives on if some text that starts with it is printed for a member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.integer_digits import IntegerDigits
from mlx_structured.automaton.lexeme import DONE, END, LexemeState
from mlx_structured.languages.magnitudes import (
    EVERYTHING,
    Magnitudes,
    decimal_length,
    magnitudes,
)
from mlx_structured.languages.number_set import ALL_NUMBERS, INTEGERS, NumberSet
from mlx_structured.languages.shortest_decimals import (
    GREATEST_EXPONENT,
    LEAST_EXPONENT,
    MOST_DIGITS,
    is_shortest,
    starts_shortest,
    sure_digits,
)

_FIXED_DIGITS = 16
_FREE_DIGITS = 14
"""Of so many digits, each number is printed as it is: no shorter text reads back the same."""

_ANY_WHOLE = (10, 2)
_NO_PLACES = (10, 2, 0)
_ANY_PLACES = (101, 3, 1)
"""Digits, their number and the places after the point, of states that stand for many."""

_FIXED_ZEROS = 3
_SCIENTIFIC = ((LEAST_EXPONENT, -_FIXED_ZEROS - 2), (_FIXED_DIGITS, GREATEST_EXPONENT))
_EXPONENT_TEXTS = {
    exponent: f"{exponent:+03}".encode()
    for first, last in _SCIENTIFIC
    for exponent in range(first, last + 1)
}
_PARTIAL_DECADES = 20
_DIGITS = tuple(range(0x30, 0x3A))


class NumberState(LexemeState):
    """Before the number, or between its sign and its first digit."""

    __slots__ = ("negative", "positive", "zero")

    def __init__(self, positive: PrintedTexts, negative: PrintedTexts | None, zero: bool) -> None:
        super().__init__()
        self.positive = positive
        self.negative = negative
        self.zero = zero

    def expand(self) -> Mapping[int, LexemeState]:
        transitions = self.positive.first_digits(self.zero)
        if self.negative is not None:
            minus = NumberState(self.negative, None, zero=False)
            if minus.transitions:
                transitions[0x2D] = minus
        return transitions


class ZeroState(LexemeState):
    """After a first digit 0."""

    __slots__ = ("texts",)

    def __init__(self, texts: PrintedTexts, label: bool) -> None:
        super().__init__(DONE if label else None)
        self.texts = texts

    def expand(self) -> Mapping[int, LexemeState]:
        point = self.texts.fraction(0, 0, 0)
        return {} if point is None else {0x2E: point}


class WholeState(LexemeState):
    """Within the digits before the point."""

    __slots__ = ("digits", "size", "texts")

    def __init__(self, texts: PrintedTexts, digits: int, size: int, label: bool) -> None:
        super().__init__(DONE if label else None)
        self.texts = texts
        self.digits = digits
        self.size = size

    def expand(self) -> Mapping[int, LexemeState]:
        texts, digits, size = self.texts, self.digits, self.size
        transitions: dict[int, LexemeState] = {}
        if not texts.members.is_past(10 * digits, 0):
            for digit, byte in enumerate(_DIGITS):
                state = texts.whole(10 * digits + digit, size + 1)
                if state is not None:
                    transitions[byte] = state
        point = texts.fraction(digits, size, 0)
        if point is not None:
            transitions[0x2E] = point
        if size == 1:
            texts.add_exponent(transitions, digits, size)
        return transitions

    def stand_in(self, digits: int) -> LexemeState:
        texts = self.texts
        most = _FREE_DIGITS if texts.max_digits is None else min(texts.max_digits, _FREE_DIGITS)
        # With one digit before the point there may be an exponent, which hangs on the digits.
        if not texts.is_free or self.size < 2 or self.size + digits > most:
            return self
        return texts.stand_in(_ANY_WHOLE, texts.whole) or self


class FractionState(LexemeState):
    """After the point: the digits without it and without zeros before them."""

    __slots__ = ("digits", "places", "size", "texts")

    def __init__(
        self, texts: PrintedTexts, digits: int, size: int, places: int, label: bool
    ) -> None:
        super().__init__(DONE if label else None)
        self.texts = texts
        self.digits = digits
        self.size = size
        self.places = places

    def expand(self) -> Mapping[int, LexemeState]:
        texts, digits, size, places = self.texts, self.digits, self.size, self.places
        transitions: dict[int, LexemeState] = {}
        for digit, byte in enumerate(_DIGITS):
            number = 10 * digits + digit
            state = texts.fraction(number, size + 1 if number else 0, places + 1)
            if state is not None:
                transitions[byte] = state
        if places and size - places == 1 and digits % 10:
            texts.add_exponent(transitions, digits, size)
        return transitions

    def stand_in(self, digits: int) -> LexemeState:
        texts, places = self.texts, self.places
        is_short = texts.is_free and self.size + digits <= _FREE_DIGITS
        if not is_short or not self.digits or self.size - places == 1:
            return self
        return texts.stand_in(_ANY_PLACES if places else _NO_PLACES, texts.fraction) or self


class ExponentState(LexemeState):
    """After the ``e``."""

    __slots__ = ("digits", "size", "texts")

    def __init__(self, texts: PrintedTexts, digits: int, size: int) -> None:
        super().__init__()
        self.texts = texts
        self.digits = digits
        self.size = size

    def expand(self) -> Mapping[int, LexemeState]:
        exponents = self.texts.exponents(self.digits, self.size)
        return _one_of(tuple(_EXPONENT_TEXTS[each] for each in exponents)).transitions


class ListedState(LexemeState):
    """One of a list of texts remains to be written."""

    __slots__ = ("texts",)

    def __init__(self, texts: tuple[bytes, ...]) -> None:
        super().__init__(DONE if b"" in texts else None)
        self.texts = texts

    def expand(self) -> Mapping[int, LexemeState]:
        rests: dict[int, list[bytes]] = {}
        for text in self.texts:
            if text:
                rests.setdefault(text[0], []).append(text[1:])
        return {byte: _one_of(tuple(texts)) for byte, texts in rests.items()}


_listed: WeakValueDictionary[tuple[bytes, ...], ListedState] = WeakValueDictionary()


def _one_of(texts: tuple[bytes, ...]) -> LexemeState:
    if texts == (b"",):
        return END
    state = _listed.get(texts)
    if state is None:
        state = _listed[texts] = ListedState(texts)
    return state


class PrintedTexts:
    """The texts of the members of one sign, after the sign.

    Arguments:
        members: the absolute values of the members other than zero.
        integers: those of them that are integers.
        zero: whether zero is a member.
        max_digits: the most digits of an integer, ``None`` for no bound.
    """

    __slots__ = (
        "__weakref__",
        "_decades",
        "_stand_ins",
        "_states",
        "integers",
        "is_free",
        "max_digits",
        "members",
        "zero",
    )

    def __init__(
        self, members: Magnitudes, integers: IntegerDigits, zero: bool, max_digits: int | None
    ) -> None:
        self.members = members
        self.integers = integers
        self.zero = zero
        self.max_digits = max_digits
        self.is_free = members.is_everything()
        self._decades: tuple[bool, list[int]] | None = None
        self._states: WeakValueDictionary[tuple[int, int], LexemeState] = WeakValueDictionary()
        self._stand_ins: dict[tuple[int, ...], LexemeState] = {}

    def stand_in(
        self, key: tuple[int, ...], make: Callable[..., LexemeState | None]
    ) -> LexemeState | None:
        """The state that stands for many, made once."""
        state = self._stand_ins.get(key)
        if state is None:
            state = make(*key)
            if state is not None:
                self._stand_ins[key] = state
        return state

    def first_digits(self, whole_zero: bool) -> dict[int, LexemeState]:
        """The states after the first digit, with 0 as an integer or only before a point."""
        transitions: dict[int, LexemeState] = {}
        zero = ZeroState(self, whole_zero)
        if whole_zero or zero.transitions:
            transitions[0x30] = zero
        for digit in range(1, 10):
            key = (digit, -1)
            state = self._states.get(key) or self.whole(digit, 1)
            if state is not None:
                transitions[0x30 + digit] = self._states[key] = state
        return transitions

    def whole(self, number: int, size: int) -> LexemeState | None:
        """The state after the first digits, before the point; ``None`` if it is dead."""
        if size > _FIXED_DIGITS:
            return self.integers.after(number, size)
        fits = self.max_digits is None or size <= self.max_digits
        label = fits and (self.is_free or self.members.contains(number, 0))
        if label or self._whole_goes_on(number, size):
            return WholeState(self, number, size, label)
        return None

    def _whole_goes_on(self, number: int, size: int) -> bool:
        members = self.members
        for more in range(_FIXED_DIGITS + 1 - size):
            if members.is_past(number, more):
                break
            if starts_shortest(members, number, size, more, longer=False):
                return True
        if size == 1 and self._has_exponent(number, size, longer=False):
            return True
        return self.integers.goes_on(number, size)

    def fraction(self, digits: int, size: int, places: int) -> LexemeState | None:
        """The state with so many places after the point; ``None`` if it is dead."""
        if not digits:
            return self._zero_fraction(places)
        whole = size - places
        if self is not _FREE and (self.is_free or (whole != 1 and self._is_free(digits, places))):
            key = (digits, places)
            state = _FREE._states.get(key)
            if state is None:
                state = _FREE.fraction(digits, size, places)
                if state is not None:
                    _FREE._states[key] = state
            return state
        label = bool(digits % 10 or (places == 1 and whole > 0)) and places > 0
        if label and size > 15:
            label = size <= MOST_DIGITS and is_shortest(digits, -places)
        if label and not self.is_free:
            label = self.members.contains(digits, -places)
        if label or self._fraction_goes_on(digits, size, places):
            return FractionState(self, digits, size, places, label)
        return None

    def _is_free(self, digits: int, places: int) -> bool:
        piece = self.members.piece_of(digits, -places)
        return piece >= 0 and self.members.pieces[piece] == EVERYTHING

    def _fraction_goes_on(self, digits: int, size: int, places: int) -> bool:
        if self.is_free and size < 15:
            return True
        longer = places > 0
        if starts_shortest(self.members, digits, size, -places, longer=longer):
            return True
        return size - places == 1 and self._has_exponent(
            digits, size, longer=not (longer and digits % 10)
        )

    def _zero_fraction(self, places: int) -> LexemeState | None:
        label = self.zero and places == 1
        if (
            label
            or (self.zero and places == 0)
            or any(
                starts_shortest(self.members, digit, 1, -place, longer=False)
                for place in range(places + 1, _FIXED_ZEROS + 2)
                for digit in range(1, 10)
            )
        ):
            return FractionState(self, 0, 0, places, label)
        return None

    def add_exponent(self, transitions: dict[int, LexemeState], digits: int, size: int) -> None:
        """The transition to an exponent, if there is one for exactly these digits."""
        if (self.is_free and size <= 15) or any(self.exponents(digits, size)):
            transitions[0x65] = ExponentState(self, digits, size)

    def exponents(self, digits: int, size: int) -> Iterator[int]:
        """The exponents with which the digits, with a point after the first, are printed."""
        for first, last in self.members.powers(digits):
            for least, greatest in _SCIENTIFIC:
                start = least if first is None else max(first + size - 1, least)
                end = greatest if last is None else min(last + size - 1, greatest)
                for exponent in range(start, end + 1):
                    if (
                        size <= sure_digits(exponent) and exponent < GREATEST_EXPONENT
                    ) or is_shortest(digits, exponent - size + 1):
                        yield exponent

    def _has_exponent(self, digits: int, size: int, *, longer: bool) -> bool:
        """Whether a text with an exponent starts with the digits, a point after the first."""
        if self._decades is None:
            self._decades = _scientific_decades(self.members)
        is_sure, decades = self._decades
        if is_sure and size < 15:
            return True
        return any(
            starts_shortest(self.members, digits, size, exponent - size + 1, longer=longer)
            for exponent in decades
        )


def _scientific_decades(members: Magnitudes) -> tuple[bool, list[int]]:
    """The exponents in which there may be members, and whether one of them has all numbers."""

    def exponent_of(cut: int) -> int:
        return decimal_length(cut) - 1 - members.scale

    decades: set[int] = set()
    is_sure = False
    cuts = members.cuts
    for i, piece in enumerate(members.pieces):
        if not piece:
            continue
        # The first members above zero are the steps, if there is something that they step over.
        low = cuts[i - 1] if i else min(step for step, _ in piece)
        for least, greatest in _SCIENTIFIC:
            first = max(exponent_of(low), least) if low else least
            last = min(exponent_of(cuts[i]), greatest) if i < len(cuts) else greatest
            decades.update(range(first, last + 1))
            # The decades of the cuts themselves, and those at the ends of the doubles, are partial.
            is_sure = is_sure or (piece == EVERYTHING and last - first > _PARTIAL_DECADES)
    decades.update(
        exponent_of(cut) for cut, member in zip(cuts, members.members, strict=True) if member
    )
    return is_sure, sorted(decades & _EXPONENT_TEXTS.keys())


_Key: TypeAlias = "tuple[Magnitudes, Magnitudes, bool, int | None]"
_printed: WeakValueDictionary[_Key, PrintedTexts] = WeakValueDictionary()


def _printed_texts(numbers: NumberSet, *, negative: bool, max_digits: int | None) -> PrintedTexts:
    members = magnitudes(numbers, negative=negative)
    integers = magnitudes(numbers & INTEGERS, negative=negative)
    key = (members, integers, numbers.contains(0), max_digits)
    texts = _printed.get(key)
    if texts is None:
        digits = IntegerDigits(integers, max_digits)
        texts = _printed[key] = PrintedTexts(members, digits, key[2], max_digits)
    return texts


_FREE = _printed_texts(ALL_NUMBERS, negative=False, max_digits=None)


def json_dumps_number(numbers: NumberSet, max_digits: int | None) -> LexemeState:
    """The start of the lexeme, which is dead if no member is printed.

    Arguments:
        numbers: a set that isn't one of integers alone.
        max_digits: the most digits of an integer, ``None`` for no bound.
    """
    return NumberState(
        _printed_texts(numbers, negative=False, max_digits=max_digits),
        _printed_texts(numbers, negative=True, max_digits=max_digits),
        zero=numbers.contains(0),
    )
