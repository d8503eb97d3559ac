"""Languages that no expression of reasonable size describes: machines with states of their own.

A state is an immutable value that says which characters may come and what may follow each. It takes
part in unions, intersections and complements like any other expression.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, cast
from weakref import WeakValueDictionary

from mlx_structured.languages.characters import SURROGATES
from mlx_structured.languages.expression import Language, derive, interned
from mlx_structured.languages.partition import Partition


class MachineState(Protocol):
    """One state, hashable. Equal states have the same words, and every state has at least one."""

    @property
    def shortest(self) -> int:
        """No word has fewer characters; 0 exactly where the text may end."""
        ...

    @property
    def stepwise(self) -> bool:
        """Whether nearly each text leads to another state, so that tokens are read by character."""
        ...

    @property
    def longest(self) -> int | None:
        """No word has more characters; ``None`` where there is no bound."""
        ...

    @property
    def hint(self) -> str:
        """The first characters of some word, to be tried first; may be empty."""
        ...

    @property
    def common_words(self) -> Language | None:
        """A language that isn't a machine, most words of which may follow: tried first."""
        return None

    @property
    def cover(self) -> Language | None:
        """A language that isn't a machine and has all words: without it, searches look at each."""
        return None

    @property
    def lasting(self) -> bool:
        """Whether there are so few states that they may stay for good."""
        return False

    @property
    def counter(self) -> int:
        """The largest number that the state counts to and :meth:`capped` may forget; 0 for none."""
        return 0

    def capped(self, bound: int) -> MachineState:
        """See :func:`~.counters.capped`."""
        return self

    def blurred(self) -> MachineState:
        """See :func:`~.blurring.blurred`."""
        return self

    @property
    def is_shown(self) -> bool:
        """See :func:`~.blurring.is_shown`."""
        return self.blurred() is not self

    def partition(self) -> Partition:
        """Characters of one class have the same future, or each one of its own."""
        ...

    def after(self, character: int) -> Language:
        """What may follow a character, ``EMPTY`` where it may not come."""
        ...


class Machine(Language):
    """The texts that a state reads."""

    __slots__ = ("state",)

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self.shortest = state.shortest
        self.nullable = self.shortest == 0
        self.plain = False
        self.longest = state.longest
        self.counter = state.counter
        self.cyclic = False
        super().__init__()
        self.empty = False
        self.stepwise = state.stepwise
        self.irregular = True
        self.lasting = state.lasting
        if not self.lasting:
            self._derivatives = WeakValueDictionary()

    def hint(self) -> str:
        return self.state.hint

    def common_words(self) -> Language | None:
        return self.state.common_words

    def representative(self, character: int) -> int | None:
        """As for any language. The classes aren't found for a character that comes alone."""
        if self.classes is not None:
            return super().representative(character)
        return None if SURROGATES[0] <= character <= SURROGATES[1] else character

    def make_partition(self) -> Partition:
        return self.state.partition()


def machine(state: MachineState) -> Language:
    """The language of a state."""
    return interned(Machine, state, cast("Hashable", state))


@derive.register
def _(language: Machine, character: int) -> Language:
    return language.state.after(character)
