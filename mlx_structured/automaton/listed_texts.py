"""Few texts, of which one may begin another."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, END, LexemeState


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
        return {byte: one_of(tuple(texts)) for byte, texts in rests.items()}


_listed: WeakValueDictionary[tuple[bytes, ...], ListedState] = WeakValueDictionary()


def one_of(texts: tuple[bytes, ...]) -> LexemeState:
    """The interned state before one of the texts."""
    if texts == (b"",):
        return END
    state = _listed.get(texts)
    if state is None:
        state = _listed[texts] = ListedState(texts)
    return state
