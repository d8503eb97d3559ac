"""How an array is written: which lexemes follow each other, item by item.

States are pairs (phase, number of items begun)::

    OPEN --[--> (COMMA) --item--> ITEM --,--> COMMA --item--> ITEM ... --]--> back
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, cast

from mlx_structured.automaton.link import Captured, Configuration, Link
from mlx_structured.json_schema.array_shape import ArrayShape

if TYPE_CHECKING:
    from mlx_structured.automaton.grammar import Grammar

OPEN, COMMA, ITEM = "open", "comma", "item"


class ArrayNetwork:
    """The arrays of one shape."""

    def __init__(self, grammar: Grammar, shape: ArrayShape) -> None:
        self._grammar = grammar
        self._shape = shape

    def begin(self, link: Link) -> Configuration:
        """The configuration before the opening bracket; ``link`` goes on after the array."""
        opened = link.child(self, (OPEN, 0))
        return opened.configuration(self._grammar.punctuation.open_bracket)

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        phase, count = cast("tuple[str, int]", state)
        punctuation = self._grammar.punctuation
        parent = cast("Link", link.parent)
        may_close = count >= self._shape.low
        if phase == COMMA:
            return self._item(link, count)
        if phase == OPEN:
            first = punctuation.first(link.depth)
            follow = []
            if first is None:
                follow = self._item(link, count)
            elif self._may_go_on(count):
                follow = [link.sibling((COMMA, 0)).configuration(first)]
            if may_close:
                follow.append(parent.configuration(punctuation.close_empty_bracket))
            return follow
        follow = []
        if self._may_go_on(count):
            comma = punctuation.comma(link.depth)
            follow.append(link.sibling((COMMA, count)).configuration(comma))
        if may_close:
            follow.append(parent.configuration(punctuation.close_bracket(link.depth)))
        return follow

    def _may_go_on(self, count: int) -> bool:
        high = self._shape.high
        return (high is None or count < high) and self._grammar.form.is_nonempty(
            self._shape.values(count)
        )

    def _item(self, link: Link, count: int) -> list[Configuration]:
        if not self._may_go_on(count):
            return []
        begun = link.sibling((ITEM, self._counted(count + 1)))
        return self._grammar.begin(self._shape.values(count), begun)

    def _counted(self, count: int) -> int:
        """The count, as far as it makes a difference."""
        shape = self._shape
        return min(count, max(shape.low, shape.high or 0, shape.same_from))

    def captures(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_final(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_uncertain(self, state: Hashable) -> bool:
        """Never."""
        return False
