"""A set of words, or all other strings, in the spelling of ``json.dumps``: a trie of bytes.

Each string has one spelling there, so that no language of characters is needed for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from mlx_structured.automaton.lexeme import END, LexemeState


class WordsState(LexemeState):
    """Some of the words have the same bytes so far, and the rest of one of them must come.

    Arguments:
        texts: encoded words with the closing quote, sorted; no text begins another.
        low: the first of those that go on here.
        high: one after the last.
        depth: how many bytes were read.
    """

    __slots__ = ("_depth", "_high", "_low", "_texts")

    def __init__(self, texts: tuple[bytes, ...], low: int, high: int, depth: int) -> None:
        super().__init__()
        self._texts = texts
        self._low = low
        self._high = high
        self._depth = depth

    def expand(self) -> Mapping[int, LexemeState]:
        texts, depth = self._texts, self._depth
        transitions: dict[int, LexemeState] = {}
        for byte, low, high in _groups(texts, self._low, self._high, depth):
            is_end = len(texts[low]) == depth + 1
            transitions[byte] = END if is_end else WordsState(texts, low, high, depth + 1)
        return transitions

    def shortest_rest(self) -> bytes:
        """What is left of the shortest of the texts."""
        return min(self._texts[self._low : self._high], key=len)[self._depth :]


def words_lexeme(words: Iterable[str]) -> WordsState:
    """The state after the opening quote, when one of the words must come with its closing quote.

    Arguments:
        words: at least one; none with unpaired surrogates.
    """
    texts = _encoded(words)
    return WordsState(texts, 0, len(texts), 0)


class OtherWordsState(LexemeState):
    """What was read begins some of the words, and none of them may come whole.

    Its ``base`` is the state of any string that has read the same.

    Arguments:
        texts: encoded words with the closing quote, sorted; no text begins another.
        low: the first of those that go on here.
        high: one after the last.
        depth: how many bytes were read.
        plain: the state of any string.
    """

    __slots__ = ("_depth", "_high", "_low", "_patch", "_plain", "_texts", "base")

    def __init__(
        self, texts: tuple[bytes, ...], low: int, high: int, depth: int, plain: LexemeState
    ) -> None:
        super().__init__()
        self._texts = texts
        self._low = low
        self._high = high
        self._depth = depth
        self._plain = self.base = plain
        self._patch: Mapping[int, LexemeState | None] | None = None

    @property
    def patch(self) -> Mapping[int, LexemeState | None]:
        """See :class:`~mlx_structured.automaton.lexeme.LexemeState`."""
        found = self._patch
        if found is None:
            texts, after, plain = self._texts, self._depth + 1, self._plain.transitions
            found = self._patch = {
                byte: None
                if len(texts[low]) == after
                else OtherWordsState(texts, low, high, after, plain[byte])
                for byte, low, high in _groups(texts, self._low, self._high, self._depth)
            }
        return found

    def expand(self) -> Mapping[int, LexemeState]:
        return {
            byte: after
            for byte, after in {**self._plain.transitions, **self.patch}.items()
            if after is not None
        }


def other_words_lexeme(words: Iterable[str], plain: LexemeState) -> OtherWordsState:
    """The state after the opening quote, when any string but one of the words may come.

    Arguments:
        words: at least one; none with unpaired surrogates.
        plain: the state after the opening quote of any string.
    """
    texts = _encoded(words)
    return OtherWordsState(texts, 0, len(texts), 0, plain)


def encode_string(text: str) -> bytes:
    """The text of ``json.dumps``, with its quotes."""
    return json.dumps(text, ensure_ascii=False).encode()


def _encoded(words: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(sorted(encode_string(word)[1:] for word in words))


def _groups(
    texts: tuple[bytes, ...], low: int, high: int, depth: int
) -> Iterator[tuple[int, int, int]]:
    """(byte at that depth, the first of the texts that have it, one after the last)."""
    while low < high:
        byte = texts[low][depth]
        end = low + 1
        while end < high and texts[end][depth] == byte:
            end += 1
        yield byte, low, end
        low = end
