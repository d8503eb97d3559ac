"""Numbers of which other ones may be spelled as integers than with a point or an exponent.

Both kinds of texts start with digits. So both lexemes are read side by side until the first ``.``
or ``e``, after which only a text of the second kind is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias
from weakref import WeakValueDictionary

from mlx_structured.automaton.lexeme import LexemeState


class EitherSpelling(LexemeState):
    """Before a point or an exponent.

    Arguments:
        whole: the state in the lexeme of integers without either, ``None`` if it is dead.
        others: the state in a lexeme in which each text of digits goes on with an exponent: the
            digits alone are none of its texts here.
    """

    __slots__ = ("others", "whole")

    def __init__(self, whole: LexemeState | None, others: LexemeState) -> None:
        super().__init__(None if whole is None else whole.label)
        self.whole = whole
        self.others = others

    def expand(self) -> Mapping[int, LexemeState]:
        transitions = {} if self.whole is None else dict(self.whole.transitions)
        for byte, state in self.others.transitions.items():
            is_decided = byte in b".eE"
            transitions[byte] = state if is_decided else either(transitions.get(byte), state)
        return transitions


_Key: TypeAlias = "tuple[LexemeState | None, LexemeState]"
_known: WeakValueDictionary[_Key, EitherSpelling] = WeakValueDictionary()


def either(whole: LexemeState | None, others: LexemeState) -> EitherSpelling:
    """The state of both lexemes, see :class:`EitherSpelling`."""
    key = (whole, others)
    state = _known.get(key)
    if state is None:
        state = _known[key] = EitherSpelling(whole, others)
    return state
