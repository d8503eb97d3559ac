"""JSON strings: a machine that reads characters, written in UTF-8 and JSON escapes.

To the UTF-8 of the machine's characters (see :mod:`~mlx_structured.automaton.utf8`) this adds
quotes and escapes (RFC 8259 section 7).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import NO_TRANSITIONS, LexemeState, end_of
from mlx_structured.automaton.utf8 import (
    Arc,
    CharacterState,
    EachState,
    Machine,
    Utf8State,
    Utf8Tail,
    clip,
    follows_any,
    machine_label,
    set_multibyte,
)
from mlx_structured.automaton.words_lexeme import (
    OtherWordsState,
    WordsState,
    other_words_lexeme,
    words_lexeme,
)
from mlx_structured.automaton.written_keys import UnwrittenState
from mlx_structured.languages.characters import ALL, Ranges, normalise
from mlx_structured.languages.expression import Literals
from mlx_structured.languages.language import EVERYTHING, Language
from mlx_structured.languages.shapes import excluded_words
from mlx_structured.style import Spelling

_SURROGATES = (0xD800, 0xDFFF)
_NAMED_ESCAPES = {
    0x22: 0x22,
    0x5C: 0x5C,
    0x62: 0x08,
    0x66: 0x0C,
    0x6E: 0x0A,
    0x72: 0x0D,
    0x74: 0x09,
}
_HEX_LOWER = {byte: value for value, byte in enumerate(b"0123456789abcdef")}
_HEX_BOTH = {**_HEX_LOWER, **{byte: value for value, byte in enumerate(b"0123456789ABCDEF")}}


class StringState(CharacterState):
    """Between two characters of a string's content.

    Where most characters lead to one state, that always goes on there, that is its ``base``.
    """

    __slots__ = ("_everywhere", "_in_words", "_is_looked_at", "_patch", "base", "spelling")

    def __init__(self, machine: Machine, spelling: Spelling) -> None:
        super().__init__(machine)
        self.spelling: Spelling = spelling
        self.base: StringState | None = None
        self._patch: Mapping[int, LexemeState | None] = NO_TRANSITIONS
        self._everywhere: Mapping[int, LexemeState] | None = None
        self._in_words: WordsState | OtherWordsState | None = None
        self._is_looked_at = False

    @property
    def in_words(self) -> WordsState | OtherWordsState | None:
        """The same state by whole words, where strings have one spelling and it is one of words."""
        if not self._is_looked_at:
            self._is_looked_at = True
            if self.spelling == "json.dumps":
                self._in_words = self._find_words()
        return self._in_words

    def _find_words(self) -> WordsState | OtherWordsState | None:
        machine = self.machine
        if isinstance(machine, Literals):
            return words_lexeme(machine.words)
        written: frozenset[str] = frozenset()
        if isinstance(machine, UnwrittenState):
            written, machine = machine.written.texts, machine.machine
        if not isinstance(machine, Language):
            return None
        words = frozenset() if machine is EVERYTHING else excluded_words(machine)
        if words is None or not words | written:
            return None
        return other_words_lexeme(words | written, string_body(EVERYTHING, self.spelling))

    @property
    def following(self) -> Collection[int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        in_words = self.in_words
        return self.transitions.keys() if in_words is None else in_words.following

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        in_words = self.in_words
        if in_words is None:
            return super().read(data, begin)
        return in_words.read(data, begin)

    def spelled(self, data: bytes, begin: int) -> str | None:
        """See :class:`~mlx_structured.automaton.utf8.CharacterState`."""
        is_plain = data[begin] >= 0x20 and data[begin] not in b'"\\'
        return super().spelled(data, begin) if is_plain else None

    def stand_in(self, digits: int) -> LexemeState:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        return self.in_words or super().stand_in(digits)

    @property
    def by_texts(self) -> bool:  # type: ignore[override]
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        return self.in_words is not None

    @property
    def patch(self) -> Mapping[int, LexemeState | None]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        return self._patch

    def reading(self, machine: Machine) -> StringState:
        """See :class:`~mlx_structured.automaton.utf8.CharacterState`."""
        return string_body(machine, self.spelling)

    def expand(self) -> Mapping[int, LexemeState]:
        if self.in_words is not None:
            return self.in_words.transitions
        if isinstance(self.machine, UnwrittenState):
            return self._expand_unwritten(self.machine)
        arcs = self.arcs()
        base = _main_target(arcs)
        transitions = {} if base is None else dict(base.everywhere())
        changes = arcs if base is None else _exceptions(arcs, base)
        written = self._write(transitions, changes, arcs)
        label = machine_label(self.machine)
        if label is not None:
            transitions[0x22] = end_of(label)
        if base is not None:
            self.base = base
            self._patch = {byte: transitions.get(byte) for byte in written}
        return transitions

    def _expand_unwritten(self, machine: UnwrittenState) -> Mapping[int, LexemeState]:
        """As if nothing was written, but along the keys that are."""
        self.base = base = string_body(machine.machine, self.spelling)
        arcs = self.arcs()
        changes: list[tuple[int, int, LexemeState | None]] = []
        for character in machine.written.children:
            clipped = clip(arcs, character, character)
            changes.append((character, character, clipped[0][2] if clipped else None))
        transitions = dict(base.transitions)
        written = self._write(transitions, changes, arcs)
        label = machine_label(machine)
        if label is not None:
            transitions[0x22] = end_of(label)
        self._patch = {byte: transitions.get(byte) for byte in written}
        return transitions

    def everywhere(self) -> Mapping[int, LexemeState]:
        """The transitions of a string's content when each character leads to this state."""
        found = self._everywhere
        if found is None:
            transitions: dict[int, LexemeState] = {}
            arcs: list[Arc] = [(0, 0x10FFFF, self)]
            self._write(transitions, arcs, arcs)
            found = self._everywhere = transitions
        return found

    def _write(
        self,
        transitions: dict[int, LexemeState],
        changes: Iterable[tuple[int, int, LexemeState | None]],
        arcs: list[Arc],
    ) -> frozenset[int]:
        """Change the transitions by ranges of characters; returns the bytes concerned."""
        written: set[int] = {0x22}
        escape = False
        for low, high, target in changes:
            is_each = isinstance(target, EachState)
            for byte in range(max(low, 0x20), min(high, 0x7F) + 1):
                state = target.after(byte) if target is not None and is_each else target
                if state is None:
                    transitions.pop(byte, None)
                else:
                    transitions[byte] = state
                written.add(byte)
            if high >= 0x80:
                written.update(set_multibyte(transitions, arcs, low, high, written))
            escape = escape or self.spelling == "any" or _has_escape(low, high)
        transitions.pop(0x22, None)
        if escape:
            written.add(0x5C)
            if any(
                (self.spelling == "any" or _has_escape(low, high)) and target.follows_any(low, high)
                for low, high, target in arcs
            ):
                transitions[0x5C] = EscapeState(arcs, self.spelling)
            else:
                transitions.pop(0x5C, None)
        return frozenset(written)


def _has_escape(low: int, high: int) -> bool:
    """Whether ``json.dumps`` escapes a character of the range."""
    return low < 0x20 or low <= 0x22 <= high or low <= 0x5C <= high


def _main_target(arcs: Sequence[Arc]) -> StringState | None:
    """The state to which more than half of all characters lead."""
    reached: dict[LexemeState, int] = {}
    for low, high, target in arcs:
        reached[target] = reached.get(target, 0) + high - low + 1
    for target, count in reached.items():
        if count > 0x88000 and isinstance(target, StringState):
            return target
    return None


def _exceptions(
    arcs: Sequence[Arc], base: StringState
) -> Iterable[tuple[int, int, LexemeState | None]]:
    """The ranges of characters that don't lead to ``base``."""
    following = 0
    for low, high, target in arcs:
        if low > following:
            yield following, low - 1, None
        if target is not base:
            yield low, high, target
        following = high + 1
    if following <= 0x10FFFF:
        yield following, 0x10FFFF, None


class EscapeState(LexemeState):
    """After a backslash."""

    __slots__ = ("_spelling", "arcs")

    def __init__(self, arcs: list[Arc], spelling: Spelling) -> None:
        super().__init__()
        self.arcs = arcs
        self._spelling = spelling

    @property
    def characters(self) -> Ranges:
        """Those that can be written by an escape."""
        if self._spelling == "any":
            return ALL
        return normalise(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))

    def expand(self) -> Mapping[int, LexemeState]:
        any_spelling = self._spelling == "any"
        named = {**_NAMED_ESCAPES, 0x2F: 0x2F} if any_spelling else _NAMED_ESCAPES
        transitions: dict[int, LexemeState] = {}
        for byte, character in named.items():
            clipped = clip(self.arcs, character, character)
            state = clipped[0][2].after(character) if clipped else None
            if state is not None:
                transitions[byte] = state
        arcs = self.arcs
        if not any_spelling:
            taken = set(_NAMED_ESCAPES.values())
            arcs = [
                (character, character, target)
                for low, high, target in clip(arcs, 0, 0x1F)
                for character in range(low, high + 1)
                if character not in taken
            ]
        if arcs:
            transitions[0x75] = HexState(arcs, 0, 4, _HEX_BOTH if any_spelling else _HEX_LOWER)
        return transitions


class HexState(LexemeState):
    """Inside ``\\uXXXX``: the digits read so far, of one UTF-16 code unit.

    ``base`` is the first code point of the pair whose second unit this is, or ``None``.
    """

    __slots__ = ("_base", "_digits", "_left", "_value", "arcs")

    def __init__(
        self,
        arcs: list[Arc],
        value: int,
        left: int,
        digits: Mapping[int, int],
        base: int | None = None,
    ) -> None:
        super().__init__()
        self.arcs = arcs
        self._value = value
        self._left = left
        self._digits = digits
        self._base = base

    def expand(self) -> Mapping[int, LexemeState]:
        transitions: dict[int, LexemeState] = {}
        left = self._left - 1
        for byte, digit in self._digits.items():
            value = self._value * 16 + digit
            first, last = value << 4 * left, ((value + 1) << 4 * left) - 1
            arcs = self._reachable(first, last)
            if not follows_any(arcs):
                continue
            if left:
                transitions[byte] = HexState(arcs, value, left, self._digits, self._base)
            elif self._base is None and 0xD800 <= value < 0xDC00:
                transitions[byte] = PairState(arcs, value, self._digits)
            elif (state := arcs[0][2].after(arcs[0][0])) is not None:
                transitions[byte] = state
        return transitions

    def _reachable(self, first: int, last: int) -> list[Arc]:
        """The arcs to characters whose code unit here lies between the two."""
        if self._base is not None:
            low, high = max(first, 0xDC00), min(last, 0xDFFF)
            if low > high:
                return []
            return clip(self.arcs, self._base + low - 0xDC00, self._base + high - 0xDC00)
        arcs = clip(self.arcs, first, min(last, _SURROGATES[0] - 1))
        arcs += clip(self.arcs, max(first, _SURROGATES[1] + 1), last)
        low, high = max(first, 0xD800), min(last, 0xDBFF)
        if low <= high:
            arcs += clip(self.arcs, _pair_base(low), _pair_base(high) + 0x3FF)
        return arcs


class PairState(LexemeState):
    """After the first half of a surrogate pair: the second half must follow."""

    __slots__ = ("_after_backslash", "_digits", "_high", "arcs")

    def __init__(
        self,
        arcs: list[Arc],
        high: int,
        digits: Mapping[int, int],
        after_backslash: bool = False,
    ) -> None:
        super().__init__()
        self.arcs = arcs
        self._high = high
        self._digits = digits
        self._after_backslash = after_backslash

    def expand(self) -> Mapping[int, LexemeState]:
        if not self._after_backslash:
            return {0x5C: PairState(self.arcs, self._high, self._digits, after_backslash=True)}
        return {0x75: HexState(self.arcs, 0, 4, self._digits, _pair_base(self._high))}


def _pair_base(high: int) -> int:
    return 0x10000 + ((high - 0xD800) << 10)


def escaped_characters(state: LexemeState) -> Ranges:
    """What an escape that was begun in a plain string may become."""
    if isinstance(state, EscapeState):
        return state.characters
    assert isinstance(state, (HexState, PairState))
    return normalise((low, high) for low, high, _ in state.arcs)


def read_language(lexeme: LexemeState) -> Language | None:
    """The language of what is left of a string, if its characters are those of one."""
    while not isinstance(lexeme, StringState):
        if isinstance(lexeme, QuoteState):
            lexeme = lexeme.body
        elif isinstance(lexeme, Utf8Tail):
            lexeme = lexeme.target
        elif isinstance(lexeme, (Utf8State, EscapeState, HexState, PairState)):
            low, _, target = lexeme.arcs[0]
            after = target.after(low)
            if after is None:
                return None
            lexeme = after
        else:
            return None
    return lexeme.machine if isinstance(lexeme.machine, Language) else None


class QuoteState(LexemeState):
    """Before the opening quote."""

    __slots__ = ("body",)

    def __init__(self, body: StringState) -> None:
        super().__init__()
        self.body = body

    def expand(self) -> Mapping[int, LexemeState]:
        return {0x22: self.body}

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        if data[begin] != 0x22:
            return None, begin + 1
        if begin + 1 == len(data):
            return self.body, begin + 1
        return self.body.read(data, begin + 1)


_bodies: WeakValueDictionary[tuple[Machine, Spelling], StringState] = WeakValueDictionary()
_quotes: WeakValueDictionary[StringState, QuoteState] = WeakValueDictionary()


def string_body(machine: Machine, spelling: Spelling) -> StringState:
    """The state after the opening quote (or between characters) of a machine's strings."""
    key = (machine, spelling)
    state = _bodies.get(key)
    if state is None:
        state = _bodies[key] = StringState(machine, spelling)
    return state


def string_lexeme(machine: Machine, spelling: Spelling) -> QuoteState:
    """The JSON strings whose characters the machine reads.

    Arguments:
        machine: a nonempty language, or names of which at least one is allowed.
        spelling: ``"json.dumps"`` for the one spelling of
            ``json.dumps(text, ensure_ascii=False)``, or ``"any"``.
    """
    body = string_body(machine, spelling)
    state = _quotes.get(body)
    if state is None:
        state = _quotes[body] = QuoteState(body)
    return state
