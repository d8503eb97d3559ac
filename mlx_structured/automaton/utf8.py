"""Characters as bytes: a machine that reads characters, written in UTF-8.

The machine is a regular language, or a set of names or of outcomes, which tell the network as what
a text ended. UTF-8 is one layer above it, so that classes of characters stay small sets of ranges.
Unpaired surrogates are no characters and can't be written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, END, LexemeState
from mlx_structured.languages.blurring import blurred, is_shown
from mlx_structured.languages.each_character import EachCharacter
from mlx_structured.languages.language import EMPTY, Language, is_empty
from mlx_structured.languages.partition import SURROGATE_CLASS


class LabelledMachine(Protocol):
    """A machine that tells texts apart."""

    @property
    def label(self) -> Hashable | None:
        """As what the text ends here, ``None`` where it may not end."""
        ...

    @property
    def stepwise(self) -> bool:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        ...

    def arcs(self) -> Sequence[tuple[int, int, Machine | EachCharacter[Machine]]]:
        """(first code point, last code point, next state), in order, without dead ends."""
        ...


Machine: TypeAlias = "Language | LabelledMachine"
Arc: TypeAlias = "tuple[int, int, LexemeState]"


def _lead_bytes() -> Iterable[tuple[int, int, int, int, int]]:
    """(lead byte, continuation bytes, first and last code point, lowest second byte)."""
    for lead in range(0xC2, 0xE0):
        yield lead, 1, (lead & 0x1F) << 6, ((lead & 0x1F) << 6) + 0x3F, 0x80
    for lead in range(0xE0, 0xF0):
        low = max((lead & 0x0F) << 12, 0x800)
        high = min(((lead & 0x0F) << 12) + 0xFFF, 0xD7FF if lead == 0xED else 0xFFFF)
        yield lead, 2, low, high, 0xA0 if lead == 0xE0 else 0x80
    for lead in range(0xF0, 0xF5):
        low = max((lead & 0x07) << 18, 0x10000)
        high = min(((lead & 0x07) << 18) + 0x3FFFF, 0x10FFFF)
        yield lead, 3, low, high, 0x90 if lead == 0xF0 else 0x80


_LEADS = tuple(_lead_bytes())


def after_character(target: Machine | EachCharacter[Machine], character: int) -> Machine | None:
    """The state after a character of an arc; ``None`` for none."""
    return target.after(character) if isinstance(target, EachCharacter) else target


def language_arcs(
    language: Language,
) -> Iterable[tuple[int, int, Language | EachCharacter[Language]]]:
    """The characters that may come next: (first code point, last code point, what may follow)."""
    partition = language.partition
    targets: list[Language | EachCharacter[Language]] = []
    alive: list[bool] = []
    for number, character in enumerate(partition.representatives):
        target = language.derivative(character)
        if number in partition.remembered:
            each = EachCharacter(partial(_after, language), is_ordered=number in partition.ordered)
            targets.append(each)
            alive.append(target is not EMPTY)
        else:
            targets.append(target)
            alive.append(not is_empty(target))
    ends = (*partition.starts[1:], 0x110000)
    for low, following, number in zip(partition.starts, ends, partition.classes, strict=True):
        if number != SURROGATE_CLASS and alive[number]:
            yield low, following - 1, targets[number]


def _after(language: Language, character: int) -> Language | None:
    following = language.derivative(character)
    return None if is_empty(following) else following


def machine_label(machine: Machine) -> Hashable | None:
    """As what the characters may end here; ``None`` if they may not."""
    if isinstance(machine, Language):
        return DONE if machine.nullable else None
    return machine.label


class CharacterState(LexemeState):
    """Between two characters. Subclasses say in which form the characters are written."""

    __slots__ = ("_blurred", "machine")

    def __init__(self, machine: Machine, label: Hashable | None = None) -> None:
        super().__init__(label)
        self.machine = machine
        self._blurred: CharacterState | None = None

    @property
    def stepwise(self) -> bool:
        return self.machine.stepwise

    @property
    def blurred(self) -> CharacterState | None:
        """The state of the blurred language (see :mod:`~.blurring`), ``None`` where there is none.

        It stays as long as this one: other states have the same.
        """
        if self._blurred is None and isinstance(self.machine, Language):
            plain = blurred(self.machine)
            if plain is self.machine:
                return self
            self._blurred = None if plain is None else self.reading(plain)
        return self._blurred

    def stand_in(self, digits: int) -> LexemeState:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        machine = self.machine
        if not isinstance(machine, Language) or not machine.irregular or is_shown(machine):
            return self
        return self.blurred or self

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`.

        Where a state may follow each character, those of all others aren't made.
        """
        if not (isinstance(self.machine, Language) and self.machine.irregular):
            return super().read(data, begin)
        state: LexemeState | None = self
        position = begin
        while state is not None and position < len(data):
            found = None
            if isinstance(state, CharacterState) and state._transitions is None:
                found = state._read_character(data, position)
            if found is None:
                state, position = state.transitions.get(data[position]), position + 1
            else:
                state, position = found
            if state is not None and state.label is not None:
                break
        return state, position

    def _read_character(self, data: bytes, begin: int) -> tuple[LexemeState | None, int] | None:
        """As :meth:`read` for one character, ``None`` unless it stands there as UTF-8."""
        character = self.spelled(data, begin)
        if character is None or not isinstance(self.machine, Language):
            return None
        following = _after(self.machine, ord(character))
        state = None if following is None else self.reading(following)
        return state, begin + len(character.encode())

    def spelled(self, data: bytes, begin: int) -> str | None:
        """The character that is written there as UTF-8, ``None`` where it isn't."""
        lead = data[begin]
        end = begin + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        try:
            return data[begin:end].decode()
        except UnicodeDecodeError:
            return None

    def reading(self, machine: Machine) -> CharacterState:
        """The interned state of the same form with another machine."""
        raise NotImplementedError

    def arcs(self) -> list[Arc]:
        """The characters that may follow, with the states after them."""
        machine = self.machine
        found: Iterable[tuple[int, int, Machine | EachCharacter[Machine]]] = (
            language_arcs(machine) if isinstance(machine, Language) else machine.arcs()
        )
        arcs: list[Arc] = []
        states: dict[Machine | EachCharacter[Machine], LexemeState] = {}
        for low, high, target in found:
            state = states.get(target)
            if state is None:
                if isinstance(target, EachCharacter):
                    state = EachState(self.reading, target)
                else:
                    state = self.reading(target)
                states[target] = state
            if arcs and arcs[-1][2] is state and arcs[-1][1] == low - 1:
                arcs[-1] = (arcs[-1][0], high, state)
            else:
                arcs.append((low, high, state))
        return arcs


class EachState(LexemeState):
    """In place of a state between characters, see :class:`EachCharacter`.

    Arguments:
        reading: the state of the same form with a machine.
        each: finds the machines.
    """

    __slots__ = ("_each", "_reading")

    def __init__(
        self, reading: Callable[[Machine], CharacterState], each: EachCharacter[Machine]
    ) -> None:
        super().__init__()
        self._reading = reading
        self._each = each

    def after(self, character: int) -> LexemeState | None:
        machine = self._each.after(character)
        return None if machine is None else self._reading(machine)

    def follows_any(self, low: int, high: int) -> bool:
        others = () if self._each.is_ordered else range(low + 1, high)
        return any(self._each.after(each) is not None for each in chain((low, high), others))


def add_ascii(transitions: dict[int, LexemeState], arcs: Sequence[Arc], first: int) -> None:
    """Add the characters of one byte, from ``first`` on."""
    for low, high, target in arcs:
        is_each = isinstance(target, EachState)
        for byte in range(max(low, first), min(high, 0x7F) + 1):
            state = target.after(byte) if is_each else target
            if state is not None:
                transitions[byte] = state


def set_multibyte(
    transitions: dict[int, LexemeState],
    arcs: Sequence[Arc],
    low: int,
    high: int,
    known: Collection[int] = (),
) -> list[int]:
    """Write anew the first bytes, but for the known ones, of the characters of several bytes.

    Arguments:
        transitions: what is changed.
        arcs: all ways on.
        low: the first of the characters.
        high: the last of them.
        known: bytes that are left alone.

    Returns:
        The bytes that were written, also those with no way on.
    """
    written = []
    tails: dict[tuple[int, int, int, LexemeState], LexemeState] = {}
    ways = iter(arcs)
    begin, end, target = next(ways, _NOWHERE)
    for lead, remaining, first, last, second in _LEADS:
        if lead in known or first > high or last < low:
            continue
        while end < first:
            begin, end, target = next(ways, _NOWHERE)
        if begin <= first and last <= end and not isinstance(target, EachState):
            # Most leads are like some other one.
            key = (remaining, last - first, second, target)
            tail = tails.get(key)
            if tail is None:
                tail = tails[key] = _utf8([(first, last, target)], first, last, remaining, second)
            transitions[lead] = tail
            written.append(lead)
            continue
        clipped = clip(arcs, first, last)
        if follows_any(clipped):
            transitions[lead] = _utf8(clipped, first, last, remaining, second)
        else:
            transitions.pop(lead, None)
        written.append(lead)
    return written


_NOWHERE: Arc = (0x110000, 0x110000, END)


def clip(arcs: Sequence[Arc], first: int, last: int) -> list[Arc]:
    """The arcs within a range of code points, out of arcs in order."""
    # Only the last arc that starts at or before the range may reach into it.
    index = max(bisect_right(arcs, first, key=_start) - 1, 0)
    found: list[Arc] = []
    for low, high, target in islice(arcs, index, None):
        if low > last:
            break
        if high >= first:
            found.append((max(low, first), min(high, last), target))
    return found


def _start(arc: Arc) -> int:
    return arc[0]


def follows_any(arcs: Iterable[Arc]) -> bool:
    """Whether there is a state after any of the characters."""
    return any(target.follows_any(low, high) for low, high, target in arcs)


def _utf8(arcs: list[Arc], first: int, last: int, remaining: int, second: int) -> LexemeState:
    low, high, target = arcs[0]
    if (low, high) == (first, last) and not isinstance(target, EachState):
        return _utf8_tail(remaining, second, second + (last - first >> 6 * (remaining - 1)), target)
    return Utf8State(arcs, first, last, remaining, second)


class Utf8State(LexemeState):
    """Inside a character, where what follows depends on which one it becomes."""

    __slots__ = ("_first", "_last", "_remaining", "_second", "arcs")

    def __init__(self, arcs: list[Arc], first: int, last: int, remaining: int, second: int) -> None:
        super().__init__()
        self.arcs = arcs
        self._first = first
        self._last = last
        self._remaining = remaining
        self._second = second

    def expand(self) -> Mapping[int, LexemeState]:
        width = 1 << 6 * (self._remaining - 1)
        transitions: dict[int, LexemeState] = {}
        for byte, first in enumerate(range(self._first, self._last + 1, width), self._second):
            last = first + width - 1
            clipped = clip(self.arcs, first, last)
            if clipped and width == 1:
                after = clipped[0][2].after(first)
                if after is not None:
                    transitions[byte] = after
            elif follows_any(clipped):
                transitions[byte] = _utf8(clipped, first, last, self._remaining - 1, 0x80)
        return transitions


class Utf8Tail(LexemeState):
    """Inside a character, all of which lead to the same state."""

    __slots__ = ("_high", "_low", "_remaining", "target")

    def __init__(self, remaining: int, low: int, high: int, target: LexemeState) -> None:
        super().__init__()
        self._remaining = remaining
        self._low = low
        self._high = high
        self.target = target

    def expand(self) -> Mapping[int, LexemeState]:
        after = self.target
        if self._remaining > 1:
            after = _utf8_tail(self._remaining - 1, 0x80, 0xBF, after)
        return dict.fromkeys(range(self._low, self._high + 1), after)


# By the target's identity: the target may lead back to the state, and would keep it for ever.
_tails: WeakValueDictionary[tuple[int, int, int, int], Utf8Tail] = WeakValueDictionary()


def _utf8_tail(remaining: int, low: int, high: int, target: LexemeState) -> Utf8Tail:
    key = (remaining, low, high, id(target))
    state = _tails.get(key)
    if state is None:
        state = _tails[key] = Utf8Tail(remaining, low, high, target)
    return state
