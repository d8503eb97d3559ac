"""Lexemes of fixed text and whitespace: punctuation, literals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import DONE, LexemeState


@dataclass(frozen=True)
class Whitespace:
    """Whitespace of the model's choice, which may be none.

    Arguments:
        blanks: the most spaces and tabs; ``None`` is any JSON whitespace without a bound.
        line_break: whether one line break may come before the blanks.
    """

    blanks: int | None
    line_break: bool = True

    def steps(self) -> dict[int, tuple[Piece, ...]]:
        """Byte -> what may follow within this whitespace."""
        if self.blanks is None:
            return dict.fromkeys(b" \t\n\r", (self,))
        steps: dict[int, tuple[Piece, ...]] = {}
        if self.blanks > 0:
            steps = dict.fromkeys(b" \t", (Whitespace(self.blanks - 1, line_break=False),))
        if self.line_break:
            after = Whitespace(self.blanks, line_break=False)
            steps[0x0A] = (after,)
            steps[0x0D] = (b"\n", after)
        return steps


Piece: TypeAlias = "bytes | Whitespace"


class TextState(LexemeState):
    """What is left of a sequence of texts and whitespace."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        super().__init__(DONE if all(isinstance(p, Whitespace) for p in pieces) else None)
        self.pieces = pieces

    def expand(self) -> Mapping[int, LexemeState]:
        transitions: dict[int, LexemeState] = {}
        for i, piece in enumerate(self.pieces):
            rest = self.pieces[i + 1 :]
            if isinstance(piece, bytes):
                transitions.setdefault(piece[0], text_lexeme(piece[1:], *rest))
                break
            for byte, after in piece.steps().items():
                transitions.setdefault(byte, text_lexeme(*after, *rest))
        return transitions


_states: WeakValueDictionary[tuple[Piece, ...], TextState] = WeakValueDictionary()


def text_lexeme(*pieces: Piece) -> LexemeState:
    """The lexeme of texts and whitespace one after the other.

    A text must not start with a byte that the whitespace before it may end with.
    """
    kept = tuple(piece for piece in pieces if piece != b"" and piece != Whitespace(0, False))
    state = _states.get(kept)
    if state is None:
        state = _states[kept] = TextState(kept)
    return state
