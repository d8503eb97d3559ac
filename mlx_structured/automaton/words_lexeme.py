"""One of a set of words in the only spelling that ``json.dumps`` has for it: a trie of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

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
        low = self._low
        while low < self._high:
            byte = texts[low][depth]
            high = low + 1
            while high < self._high and texts[high][depth] == byte:
                high += 1
            is_end = len(texts[low]) == depth + 1
            transitions[byte] = END if is_end else WordsState(texts, low, high, depth + 1)
            low = high
        return transitions

    def shortest_rest(self) -> bytes:
        """What is left of the shortest of the texts."""
        return min(self._texts[self._low : self._high], key=len)[self._depth :]


def words_lexeme(words: Iterable[str]) -> WordsState:
    """The state after the opening quote, when one of the words must come with its closing quote.

    Arguments:
        words: at least one; none with unpaired surrogates.
    """
    texts = sorted(json.dumps(word, ensure_ascii=False)[1:].encode() for word in words)
    return WordsState(tuple(texts), 0, len(texts), 0)
