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
from mlx_structured.json_schema.array_shape import ArrayShape
from mlx_structured.json_schema.distinct import canonical
from mlx_structured.json_schema.nodes import ValueSet
from mlx_structured.json_schema.repetition import Demand, Written
from mlx_structured.json_schema.responsible import responsible_keyword

if TYPE_CHECKING:
    from mlx_structured.automaton.grammar import Grammar

OPEN, COMMA, ITEM = "open", "comma", "item"


class ArrayState(NamedTuple):
    """What is read, and how far the array is written, in one of the ways that it may be."""

    phase: str
    written: Written | None = None


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
        opened = link.child(self, ArrayState(OPEN))
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
        punctuation = self._grammar.punctuation
        if written is None:
            between = punctuation.first(link.depth)
            close = punctuation.close_empty_bracket
            follow = [
                each for start in self._shape.starts for each in self._next(link, start, between)
            ]
            may_close = any(map(self._shape.may_close, self._shape.starts))
        elif phase == COMMA:
            return self._items(link, written)
        else:
            item = canonical(captured) if isinstance(captured, bytes) else None
            written = self._shape.with_seen(written, item)
            close = punctuation.close_bracket(link.depth)
            follow = self._next(link, written, punctuation.comma(link.depth))
            may_close = self._shape.may_close(written)
        if may_close:
            follow.append(cast("Link", link.parent).configuration(close))
        return follow

    def _next(
        self, link: Link, written: Written, between: LexemeState | None
    ) -> list[Configuration]:
        """What comes before another item, or the item; nothing if there can't be another one."""
        if between is None:
            return self._items(link, written)
        if not self._shape.offers(written):
            return []
        return [link.sibling(ArrayState(COMMA, written)).configuration(between)]

    def _items(self, link: Link, written: Written) -> list[Configuration]:
        form = self._grammar.form
        return [
            configuration
            for offer in self._shape.offers(written)
            for configuration in self._grammar.begin(
                offer.position(form), link.sibling(ArrayState(ITEM, offer.after))
            )
        ]

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        return self._grammar.responsible(lexeme, self._position, "array")

    def captures(self, state: Hashable) -> bool:
        """While an item is read that is compared with others."""
        phase, written = cast("ArrayState", state)
        return phase == ITEM and written is not None and written.demand is not Demand.NOTHING

    def is_final(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_uncertain(self, state: Hashable) -> bool:
        """Where an unknown item decides what may come."""
        phase, written = cast("ArrayState", state)
        if written is None or written.demand is Demand.NOTHING:
            return False
        return None in written.seen or (phase == ITEM and self._shape.seen_matters(written))
