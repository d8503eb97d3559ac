"""A set of words, or all other strings, in the spelling of ``json.dumps``: texts of bytes.

Each string has one spelling there, so that no language of characters is needed for them. What is
read of some words is a range of a sorted list, so that a state need be made only where a token
ends, and a walk of the tokens goes along the texts themselves.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, LexemeState, end_of
from mlx_structured.limits import charge


class Words:
    """Words as bytes, sorted, none of which begins another.

    Arguments:
        labelled: pairs of a text and of as what the lexeme ends with it.
    """

    __slots__ = ("labels", "texts")

    def __init__(self, labelled: Iterable[tuple[bytes, Hashable]]) -> None:
        ordered = sorted(labelled, key=lambda each: each[0])
        self.texts = tuple(text for text, _ in ordered)
        self.labels = tuple(label for _, label in ordered)

    @property
    def all(self) -> tuple[int, ...]:
        """The places of all texts."""
        return tuple(range(len(self.texts)))

    def state(self, members: tuple[int, ...], depth: int) -> WordsState:
        """The interned state in which so many bytes of some of the texts were read."""
        key = (self, members, depth)
        found = _states.get(key)
        if found is None:
            charge(1, 300 + 8 * len(members))
            found = _states[key] = WordsState(self, members, depth)
        return found

    def others(self, members: tuple[int, ...], depth: int, plain: LexemeState) -> OtherWordsState:
        """The interned state in which none of these texts may come whole."""
        key = (self, members, depth, plain)
        found = _others.get(key)
        if found is None:
            charge(1, 300 + 8 * len(members))
            found = _others[key] = OtherWordsState(self, members, depth, plain)
        return found

    def narrowed(self, members: tuple[int, ...], depth: int, read: bytes) -> tuple[int, int]:
        """The place among the members of those that go on with what was read, from and to."""
        texts = self.texts
        first = texts[members[0]]
        begins = first.startswith(read, depth)
        if len(members) == 1:
            # Behind the only text if it stands before what was read, as if it ended within.
            place = 0 if begins else int(first[depth:] < read)
            return place, place + begins
        if begins and texts[members[-1]].startswith(read, depth):
            return 0, len(members)

        def rest(member: int) -> bytes:
            return texts[member][depth : depth + len(read)]

        low = bisect_left(members, read, key=rest)
        return low, bisect_right(members, read, low, key=rest)

    def end_of_byte(self, members: tuple[int, ...], low: int, high: int, depth: int) -> int:
        """The place after the members that have the same byte at a depth as the first of some."""
        texts = self.texts
        byte = texts[members[low]][depth]
        if texts[members[high - 1]][depth] == byte:
            return high
        return bisect_right(members, byte, low, high, key=lambda each: texts[each][depth])


class WordsState(LexemeState):
    """Some of the words have the same bytes so far, and the rest of one of them must come.

    Arguments:
        words: all words of the lexeme.
        members: the places of those that go on here, in order.
        depth: how many bytes were read.
    """

    __slots__ = ("depth", "members", "words")

    by_texts = True

    def __init__(self, words: Words, members: tuple[int, ...], depth: int) -> None:
        super().__init__()
        self.words = words
        self.members = members
        self.depth = depth

    @property
    def is_of_names(self) -> bool:
        """Whether the labels tell the words apart."""
        return DONE not in self.words.labels

    def rests(self) -> Iterator[tuple[bytes, Hashable]]:
        """What may come, up to the end of the lexeme, each with its label."""
        texts, labels, depth = self.words.texts, self.words.labels, self.depth
        return ((texts[member][depth:], labels[member]) for member in self.members)

    @property
    def following(self) -> Collection[int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        texts, depth = self.words.texts, self.depth
        return {texts[member][depth] for member in self.members}

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        words, members, depth = self.words, self.members, self.depth
        data = data[begin:]
        low, high = words.narrowed(members, depth, data)
        # A text that ends within the data stands before all that begin with the data.
        for place in (low, low - 1):
            if 0 <= place < len(members) and data.startswith(words.texts[members[place]][depth:]):
                member = members[place]
                return end_of(words.labels[member]), begin + len(words.texts[member]) - depth
        if low == high:
            return None, begin
        return words.state(members[low:high], depth + len(data)), begin + len(data)

    def expand(self) -> Mapping[int, LexemeState]:
        after = {byte: self.read(bytes((byte,)), 0)[0] for byte in sorted(self.following)}
        return {byte: state for byte, state in after.items() if state is not None}


class OtherWordsState(LexemeState):
    """What was read begins some of the words, and none of them may come whole.

    Arguments:
        words: all words that are left out.
        members: the places of those that what was read begins.
        depth: how many bytes were read.
        plain: the state of any string that has read the same.
    """

    __slots__ = ("_depth", "_members", "_words", "plain")

    by_texts = True

    def __init__(
        self, words: Words, members: tuple[int, ...], depth: int, plain: LexemeState
    ) -> None:
        super().__init__()
        self._words = words
        self._members = members
        self._depth = depth
        self.plain = plain

    def rests(self) -> Iterator[bytes]:
        """What may not come whole."""
        texts, depth = self._words.texts, self._depth
        return (texts[member][depth:] for member in self._members)

    @property
    def following(self) -> Collection[int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        last = {rest[0] for rest in self.rests() if len(rest) == 1}
        return [byte for byte in self.plain.following if byte not in last]

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        after, end = self.plain.read(data, begin)
        if after is None:
            return None, end
        words, members = self._words, self._members
        depth = self._depth + end - begin
        low, high = words.narrowed(members, self._depth, data[begin:end])
        if low == high:
            return after, end
        if len(words.texts[members[low]]) == depth:
            return None, end
        return words.others(members[low:high], depth, after), end

    def expand(self) -> Mapping[int, LexemeState]:
        after = {byte: self.read(bytes((byte,)), 0)[0] for byte in self.plain.following}
        return {byte: state for byte, state in after.items() if state is not None}


_states: WeakValueDictionary[tuple[Words, tuple[int, ...], int], WordsState] = WeakValueDictionary()
_others: WeakValueDictionary[tuple[Words, tuple[int, ...], int, LexemeState], OtherWordsState] = (
    WeakValueDictionary()
)


def words_lexeme(words: Iterable[str]) -> WordsState:
    """The state after the opening quote, when one of the words must come with its closing quote.

    Arguments:
        words: at least one; none with unpaired surrogates.
    """
    found = _closed(words)
    return found.state(found.all, 0)


def other_words_lexeme(words: Iterable[str], plain: LexemeState) -> OtherWordsState:
    """The state after the opening quote, when any string but one of the words may come.

    Arguments:
        words: at least one; none with unpaired surrogates.
        plain: the state after the opening quote of any string.
    """
    found = _closed(words)
    return found.others(found.all, 0, plain)


def _closed(words: Iterable[str]) -> Words:
    """The words from behind the opening quote on."""
    return Words((encode_string(word)[1:], DONE) for word in words)


@lru_cache(maxsize=4096)
def encode_string(text: str) -> bytes:
    """The text of ``json.dumps``, with its quotes."""
    return json.dumps(text, ensure_ascii=False).encode()
