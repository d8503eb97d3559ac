"""Characters each of which leads to a state of its own, for whoever follows a machine's arcs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Read_co = TypeVar("Read_co", covariant=True)


class EachCharacter(Generic[Read_co]):
    """In place of a next state: what finds the one after a character.

    Arguments:
        find: finds it, ``None`` where there is none.
        is_ordered: whether, if any character of a range has one, the first or the last has.
    """

    __slots__ = ("_find", "is_ordered")

    def __init__(self, find: Callable[[int], Read_co | None], *, is_ordered: bool) -> None:
        self._find = find
        self.is_ordered = is_ordered

    def after(self, character: int) -> Read_co | None:
        """The state after a character, ``None`` for none."""
        return self._find(character)
