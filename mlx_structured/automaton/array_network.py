"""How an array is written: which lexemes follow each other, item by item.

::

    OPEN --[--> (COMMA) --item--> ITEM --,--> COMMA --item--> ITEM ... --]--> back
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link
from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.array_shape import ArrayShape, Written
from mlx_structured.json_schema.nodes import ValueSet
from mlx_structured.json_schema.responsible import responsible_keyword

if TYPE_CHECKING:
    from mlx_structured.automaton.grammar import Grammar

OPEN, COMMA, ITEM = "open", "comma", "item"


class ArrayState(NamedTuple):
    """What is read, and how far the array is written."""

    phase: str
    written: Written


class ArrayNetwork:
    """The arrays of one shape.

    Arguments:
        grammar: the grammar.
        shape: which arrays.
        position: where the schema asks for them, for messages.
    """

    def __init__(self, grammar: Grammar, shape: ArrayShape, position: ValueSet) -> None:
        self._grammar = grammar
        self._shape = shape
        self._position = position

    def begin(self, link: Link) -> Configuration:
        """The configuration before the opening bracket; ``link`` goes on after the array."""
        opened = link.child(self, ArrayState(OPEN, self._shape.start))
        return opened.configuration(self._grammar.punctuation.open_bracket)

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        try:
            return self._follow(link, cast("ArrayState", state), captured)
        except LimitExceededError as error:
            error.locate(*responsible_keyword(self._position, "array"))
            raise

    def _follow(self, link: Link, state: ArrayState, captured: Captured) -> list[Configuration]:
        phase, written = state
        if phase == ITEM and self._shape.is_unique:
            written = self._shape.with_seen(
                written, captured if isinstance(captured, bytes) else None
            )
        punctuation = self._grammar.punctuation
        if phase == COMMA:
            return self._items(link, written)
        if phase == OPEN:
            first = punctuation.first(link.depth)
            follow = self._items(link, written)
            if first is not None and follow:
                follow = [link.sibling(ArrayState(COMMA, written)).configuration(first)]
            close = punctuation.close_empty_bracket
        else:
            follow = []
            if self._shape.after_item(written):
                comma = punctuation.comma(link.depth)
                follow.append(link.sibling(ArrayState(COMMA, written)).configuration(comma))
            close = punctuation.close_bracket(link.depth)
        if self._shape.may_close(written):
            follow.append(cast("Link", link.parent).configuration(close))
        return follow

    def _items(self, link: Link, written: Written) -> list[Configuration]:
        return [
            configuration
            for values, after in self._shape.after_item(written)
            for configuration in self._grammar.begin(values, link.sibling(ArrayState(ITEM, after)))
        ]

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        return self._grammar.responsible(lexeme, self._position, "array")

    def captures(self, state: Hashable) -> bool:
        """While an item is read that may not come again."""
        return cast("ArrayState", state).phase == ITEM and self._shape.is_unique

    def is_final(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_uncertain(self, state: Hashable) -> bool:
        """Where an unknown item decides what may come."""
        phase, written = cast("ArrayState", state)
        if phase == ITEM:
            return self._shape.is_unique and (None in written.seen or self._shape.seen_matters)
        return None in written.seen
