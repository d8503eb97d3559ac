"""Numbers as Python's ``json.dumps`` prints them: ``int`` in full, ``float`` as its ``repr``.

The texts of floats are the shortest decimals that read back as the same double (fixed notation
from 1e-4 to below 1e16, else with an exponent). Whether a text of 16 or 17 digits is one hangs on
all of its digits: the smallest automaton for it has a state for almost every text. So a state here
holds its digits, and a text lives on if some text that starts with it is printed for a member.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.digit_runs import (
    FIRST,
    MOST_IN_TOKEN,
    PLACE,
    POINT,
    SHORT,
    SHORT_PLACE,
    SHORT_ZERO,
    WHOLE,
    ZERO,
    DigitRuns,
    near_bound,
)
from mlx_structured.automaton.integer_digits import IntegerDigits
from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.automaton.listed_texts import one_of
from mlx_structured.languages.magnitudes import (
    EVERYTHING,
    Magnitudes,
    compared,
    magnitudes,
)
from mlx_structured.languages.number_set import ALL_NUMBERS, INTEGERS, NumberSet
from mlx_structured.languages.scientific_notation import (
    FIXED_DIGITS,
    FIXED_ZEROS,
    SCIENTIFIC,
    scientific_decades,
)
from mlx_structured.languages.shortest_decimals import (
    GREATEST_EXPONENT,
    MOST_DIGITS,
    is_shortest,
    starts_shortest,
    sure_digits,
)
from mlx_structured.limits import charge

_FREE_DIGITS = 14
"""Of so many digits, each number is printed as it is: no shorter text reads back the same."""

_EXPONENT_TEXTS = {
    exponent: f"{exponent:+03}".encode()
    for first, last in SCIENTIFIC
    for exponent in range(first, last + 1)
}
_DIGITS = range(10)


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

    def stand_in(self, digits: int) -> LexemeState:
        return self if digits > MOST_IN_TOKEN else near_bound(self, digits)


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
        if not texts.is_past(10 * digits):
            for digit in _DIGITS:
                state = texts.whole(10 * digits + digit, size + 1)
                if state is not None:
                    transitions[0x30 + digit] = state
        point = texts.fraction(digits, size, 0)
        if point is not None:
            transitions[0x2E] = point
        if size == 1:
            texts.add_exponent(transitions, digits, size)
        return transitions

    @property
    def following(self) -> Collection[int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        if self._transitions is None and self.texts.is_free and self.size < _FREE_DIGITS:
            return b"0123456789.e" if self.size == 1 else b"0123456789."
        return self.transitions.keys()

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        digit = data[begin] - 0x30
        texts, number = self.texts, 10 * self.digits + digit
        if self._transitions is None and data[begin] == 0x2E:
            point = partial(texts.fraction, self.digits, self.size, 0)
            return texts.known((self.digits, 0), point), begin + 1
        if self._transitions is not None or digit not in _DIGITS or texts.is_past(10 * self.digits):
            return self.transitions.get(data[begin]), begin + 1
        size = self.size + 1
        return texts.known((number, -1), lambda: texts.whole(number, size)), begin + 1

    def stand_in(self, digits: int) -> LexemeState:
        if digits > MOST_IN_TOKEN:
            return self
        runs = self.texts.runs if self.size == 1 else _ANY_RUNS
        if runs is None or not self.texts.is_free_after(self.digits, self.size, digits):
            return near_bound(self, digits)
        return runs.state(FIRST if self.size == 1 else WHOLE)


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
        for digit in _DIGITS:
            number = 10 * digits + digit
            state = texts.fraction(number, size + 1 if number else 0, places + 1)
            if state is not None:
                transitions[0x30 + digit] = state
        if places and size - places == 1 and digits % 10:
            texts.add_exponent(transitions, digits, size)
        return transitions

    @property
    def following(self) -> Collection[int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        if self._transitions is None and self._is_free_within(1):
            return b"0123456789e" if self._has_exponent else b"0123456789"
        return self.transitions.keys()

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        digit = data[begin] - 0x30
        if self._transitions is not None or digit not in _DIGITS:
            return self.transitions.get(data[begin]), begin + 1
        texts, number, places = self.texts, 10 * self.digits + digit, self.places + 1
        size = self.size + 1 if number else 0
        return texts.known(
            (number, places), lambda: texts.fraction(number, size, places)
        ), begin + 1

    @property
    def _has_exponent(self) -> bool:
        """Whether an exponent may come, if the digits are free."""
        return self.places > 0 and self.size - self.places == 1 and self.digits % 10 > 0

    def _is_free_within(self, digits: int) -> bool:
        """Whether any so many digits may follow, and each number that they make is printed so."""
        return (
            self.digits > 0
            and self.size + digits <= _FREE_DIGITS
            and (self.texts.is_free or self.texts.is_piece_free(self.digits, -self.places))
        )

    def stand_in(self, digits: int) -> LexemeState:
        if digits > MOST_IN_TOKEN:
            return self
        is_short = self.size - self.places == 1
        if not self.places:
            kind = SHORT if is_short else POINT
        elif self.digits % 10:
            kind = SHORT_PLACE if is_short else PLACE
        else:
            kind = SHORT_ZERO if is_short else ZERO
        runs = self.texts.runs if is_short else _ANY_RUNS
        if runs is None or not self._is_free_within(digits):
            return near_bound(self, digits)
        return runs.state(kind)


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
        return one_of(tuple(_EXPONENT_TEXTS[each] for each in exponents)).transitions


class PrintedTexts:
    """The texts of the members of one sign, after the sign.

    Arguments:
        members: the absolute values of the floats other than zero.
        integers: those of the integers, mostly the same as far as they are integers.
        zero: whether zero is a float.
        max_digits: the most digits of an integer, ``None`` for no bound.
        is_alike: whether it is certain that the integers are the floats that are integers.
    """

    __slots__ = (
        "__weakref__",
        "_decades",
        "_is_looked_at",
        "_runs",
        "_states",
        "integers",
        "is_alike",
        "is_free",
        "max_digits",
        "members",
        "zero",
    )

    def __init__(
        self,
        members: Magnitudes,
        integers: IntegerDigits,
        zero: bool,
        max_digits: int | None,
        *,
        is_alike: bool,
    ) -> None:
        self.members = members
        self.integers = integers
        self.zero = zero
        self.max_digits = max_digits
        self.is_alike = is_alike
        self.is_free = is_alike and members.is_everything()
        self._decades: tuple[bool, list[int]] | None = None
        self._runs: DigitRuns | None = None
        self._is_looked_at = False
        self._states: WeakValueDictionary[tuple[int, int], LexemeState] = WeakValueDictionary()

    def is_past(self, number: int) -> bool:
        """Whether no member is at least as great as the whole number."""
        return self.members.is_past(number, 0) and self.integers.members.is_past(number, 0)

    def is_free_after(self, number: int, size: int, more: int) -> bool:
        """Whether up to so many digits may follow a whole number, and each is printed so."""
        most = _FREE_DIGITS if self.max_digits is None else min(self.max_digits, _FREE_DIGITS)
        if size + more > most:
            return False
        return self.is_free or (
            self.is_alike and all(self.is_piece_free(number, each) for each in range(more + 1))
        )

    @property
    def runs(self) -> DigitRuns | None:
        """States that stand for many of one digit before the point, if their exponents are alike:
        where no bound is a number that is printed with one."""
        if self.is_free:
            return _ANY_RUNS
        if not self._is_looked_at:
            self._is_looked_at = True
            members = self.members
            ends = {members.pieces[0], members.pieces[-1]}
            is_within = all(
                compared(1, members.scale - FIXED_ZEROS - 1, cut) <= 0
                and compared(1, members.scale + FIXED_DIGITS, cut) > 0
                for cut in members.cuts
            )
            if is_within and ends <= {EVERYTHING, ()}:
                exponent = ExponentState(self, 101, 3)
                self._runs = DigitRuns(exponent if exponent.transitions else None)
        return self._runs

    def known(
        self, key: tuple[int, int], make: Callable[[], LexemeState | None]
    ) -> LexemeState | None:
        """The state after digits with so many places (-1: before the point), while it is in use."""
        state = self._states.get(key)
        if state is None:
            state = make()
            if state is not None:
                charge(1, 500)
                self._states[key] = state
        return state

    def first_digits(self, whole_zero: bool) -> dict[int, LexemeState]:
        """The states after the first digit, with 0 as an integer or only before a point."""
        transitions: dict[int, LexemeState] = {}
        zero = ZeroState(self, whole_zero)
        if whole_zero or zero.transitions:
            transitions[0x30] = zero
        for digit in range(1, 10):
            state = self.known((digit, -1), partial(self.whole, digit, 1))
            if state is not None:
                transitions[0x30 + digit] = state
        return transitions

    def whole(self, number: int, size: int) -> LexemeState | None:
        """The state after the first digits, before the point; ``None`` if it is dead."""
        if size > FIXED_DIGITS:
            return self.integers.after(number, size)
        fits = self.max_digits is None or size <= self.max_digits
        label = fits and (self.is_free or self.integers.members.contains(number, 0))
        if label or self._whole_goes_on(number, size):
            return WholeState(self, number, size, label)
        return None

    def _whole_goes_on(self, number: int, size: int) -> bool:
        members = self.members
        for more in range(FIXED_DIGITS + 1 - size):
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
        if self is not _FREE and (
            self.is_free or (whole != 1 and self.is_piece_free(digits, -places))
        ):
            return _FREE.known((digits, places), partial(_FREE.fraction, digits, size, places))
        label = bool(digits % 10 or (places == 1 and whole > 0)) and places > 0
        if label and size > 15:
            label = size <= MOST_DIGITS and is_shortest(digits, -places)
        if label and not self.is_free:
            label = self.members.contains(digits, -places)
        if label or self._fraction_goes_on(digits, size, places):
            return FractionState(self, digits, size, places, label)
        return None

    def is_piece_free(self, digits: int, power: int) -> bool:
        """Whether all numbers from digits * 10**power to below the next are members."""
        piece = self.members.piece_of(digits, power)
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
                for place in range(places + 1, FIXED_ZEROS + 2)
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
            for least, greatest in SCIENTIFIC:
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
            self._decades = scientific_decades(self.members)
        is_sure, decades = self._decades
        if is_sure and size < 15:
            return True
        return any(
            starts_shortest(self.members, digits, size, exponent - size + 1, longer=longer)
            for exponent in decades
        )


_Key: TypeAlias = "tuple[Magnitudes, Magnitudes, bool, int | None]"
_printed: WeakValueDictionary[_Key, PrintedTexts] = WeakValueDictionary()


def _printed_texts(
    whole: NumberSet, floats: NumberSet, *, negative: bool, max_digits: int | None
) -> PrintedTexts:
    members = magnitudes(floats, negative=negative)
    integers = magnitudes(whole, negative=negative)
    key = (members, integers, floats.contains(0), max_digits)
    texts = _printed.get(key)
    if texts is None:
        is_alike = integers is magnitudes(floats & INTEGERS, negative=negative)
        digits = IntegerDigits(integers, max_digits)
        texts = _printed[key] = PrintedTexts(members, digits, key[2], max_digits, is_alike=is_alike)
    return texts


_FREE = _printed_texts(INTEGERS, ALL_NUMBERS, negative=False, max_digits=None)
_ANY_RUNS = DigitRuns(ExponentState(_FREE, 101, 3))


def json_dumps_number(whole: NumberSet, floats: NumberSet, max_digits: int | None) -> LexemeState:
    """The start of the lexeme, which is dead if no member is printed.

    Arguments:
        whole: the integers that may be printed as ``int``.
        floats: the numbers that may be printed as ``float``.
        max_digits: the most digits of an integer, ``None`` for no bound.
    """
    return NumberState(
        _printed_texts(whole, floats, negative=False, max_digits=max_digits),
        _printed_texts(whole, floats, negative=True, max_digits=max_digits),
        zero=whole.contains(0),
    )
