"""Characters as bytes: a machine that reads characters, written in UTF-8.

The machine is a regular language, or a set of names or of outcomes, which tell the network as what
a text ended. UTF-8 is one layer above it, so that classes of characters stay small sets of ranges.
Unpaired surrogates are no characters and can't be written.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, LexemeState
from mlx_structured.languages.expression import after
from mlx_structured.languages.language import Language, by_class, is_empty
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

    @property
    def approximate(self) -> bool:
        """Whether :meth:`after` may be more than what the arcs say."""
        ...

    def arcs(self) -> Sequence[tuple[int, int, Machine]]:
        """(first code point, last code point, next state), in order, without dead ends."""
        ...

    def after(self, character: int) -> Machine | None:
        """The next state after this character, ``None`` where it may not come."""
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


def language_arcs(language: Language) -> Iterable[tuple[int, int, Language]]:
    """The characters that may come next: (first code point, last code point, what may follow)."""
    partition = language.partition
    targets = [language.derivative(character) for character in partition.representatives]
    alive = [not is_empty(target) for target in targets]
    ends = (*partition.starts[1:], 0x110000)
    for low, following, number in zip(partition.starts, ends, partition.classes, strict=True):
        if number != SURROGATE_CLASS and alive[number]:
            yield low, following - 1, targets[number]


def machine_label(machine: Machine) -> Hashable | None:
    """As what the characters may end here; ``None`` if they may not."""
    if isinstance(machine, Language):
        return DONE if machine.nullable else None
    return machine.label


def machine_after(machine: Machine, character: int) -> Machine | None:
    """The machine after a character, ``None`` where it may not come or leads nowhere."""
    if not isinstance(machine, Language):
        return machine.after(character)
    found = after(machine, character)
    return None if is_empty(found) else found


class CharacterState(LexemeState):
    """Between two characters. Subclasses say in which form the characters are written."""

    __slots__ = ("machine",)

    def __init__(self, machine: Machine, label: Hashable | None = None) -> None:
        super().__init__(label)
        self.machine = machine

    @property
    def stepwise(self) -> bool:
        return self.machine.stepwise

    @property
    def approximate(self) -> bool:
        """Whether the transitions say less than :meth:`read` does, and characters are to be read
        as wholes: what comes after depends on more than their classes."""
        return self.machine.approximate

    def stand_in(self, digits: int) -> LexemeState:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        machine = self.machine
        if not isinstance(machine, Language) or not machine.approximate:
            return self
        known = by_class(machine)
        return self if known is machine or is_empty(known) else self.reading(known)

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        state, position = self, begin
        while position < len(data):
            if not state.approximate:
                return super(CharacterState, state).read(data, position)
            reached, position = state.read_character(data, position)
            if not isinstance(reached, CharacterState) or reached.label is not None:
                return reached, position
            state = reached
        return state, position

    def spelled(self, data: bytes, begin: int) -> tuple[int, int] | None:
        """The character that is written there in UTF-8, and the position behind it.

        ``None`` where it is written in another way, or not to its end.
        """
        lead = data[begin]
        end = begin + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        try:
            return ord(data[begin:end].decode()), end
        except UnicodeDecodeError:
            return None

    def read_character(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """As :meth:`read`, but to the end of one character, or to that of the data before."""
        found = self.spelled(data, begin)
        if found is not None:
            return self._after(found[0]), found[1]
        state: LexemeState = self
        for position in range(begin, len(data)):
            reached = state.transitions.get(data[position])
            if reached is None or reached.label is not None:
                return reached, position + 1
            if isinstance(reached, CharacterState):
                written = data[begin : position + 1]
                text = json.loads(b'"%b"' % written) if written[0] == 0x5C else written.decode()
                return self._after(ord(text)), position + 1
            state = reached
        return _begun(self, data[begin:], state), len(data)

    def _after(self, character: int) -> CharacterState | None:
        machine = machine_after(self.machine, character)
        return None if machine is None else self.reading(machine)

    def reading(self, machine: Machine) -> CharacterState:
        """The interned state of the same form with another machine."""
        raise NotImplementedError

    def arcs(self) -> list[Arc]:
        """The characters that may follow, with the states after them."""
        machine = self.machine
        found: Iterable[tuple[int, int, Machine]] = (
            language_arcs(machine) if isinstance(machine, Language) else machine.arcs()
        )
        arcs: list[Arc] = []
        states: dict[Machine, CharacterState] = {}
        for low, high, target in found:
            state = states.get(target)
            if state is None:
                state = states[target] = self.reading(target)
            if arcs and arcs[-1][2] is state and arcs[-1][1] == low - 1:
                arcs[-1] = (arcs[-1][0], high, state)
            else:
                arcs.append((low, high, state))
        return arcs


class BegunState(LexemeState):
    """Inside a character, where the state after it depends on more than its class.

    Arguments:
        before: the state before the character.
        text: what is written of it.
        state: the state that the transitions lead to by that.
    """

    __slots__ = ("_before", "_text", "state")

    def __init__(self, before: CharacterState, text: bytes, state: LexemeState) -> None:
        super().__init__()
        self._before = before
        self._text = text
        self.state = state

    def expand(self) -> Mapping[int, LexemeState]:
        return self.state.transitions

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        state, position = self._before.read(self._text + data[begin:], 0)
        return state, begin + position - len(self._text)


_begun_states: WeakValueDictionary[tuple[int, bytes], BegunState] = WeakValueDictionary()


def _begun(before: CharacterState, text: bytes, state: LexemeState) -> BegunState:
    key = (id(before), text)
    found = _begun_states.get(key)
    if found is None:
        found = _begun_states[key] = BegunState(before, text, state)
    return found


def add_ascii(transitions: dict[int, LexemeState], arcs: Sequence[Arc], first: int) -> None:
    """Add the characters of one byte, from ``first`` on."""
    for low, high, target in arcs:
        for byte in range(max(low, first), min(high, 0x7F) + 1):
            transitions[byte] = target


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
    for lead, remaining, first, last, second in _LEADS:
        if lead in known or first > high or last < low:
            continue
        clipped = clip(arcs, first, last)
        if clipped:
            transitions[lead] = _utf8(clipped, first, last, remaining, second)
        else:
            transitions.pop(lead, None)
        written.append(lead)
    return written


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


def _utf8(arcs: list[Arc], first: int, last: int, remaining: int, second: int) -> LexemeState:
    low, high, target = arcs[0]
    if (low, high) == (first, last):
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
                transitions[byte] = clipped[0][2]
            elif clipped:
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
