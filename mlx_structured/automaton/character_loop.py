"""Loops of strings: one character of some set, and then characters of a class.

What tokens have to do with a loop depends on both sets alone, not on how often the loop may be
taken, nor on what else a state reads. So it is found once for all states that go round in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.level_walk import Flags, Nodes
from mlx_structured.automaton.utf8 import CharacterState
from mlx_structured.languages import expression
from mlx_structured.languages.characters import Ranges


class CountedClass(NamedTuple):
    """Strings of characters out of a set, ``low`` to ``high`` of them."""

    characters: Ranges
    low: int
    high: int | None


class Loop(NamedTuple):
    """What is read by a character of a set and then any number of a class.

    Places are positions in the arrays of a :class:`~.character_walk.CharacterWalk`.

    Arguments:
        fits: whether the characters up to each place are of the two sets.
        counts: how many characters each token id has that is read, begun ones included;
            ``not_read``, which is more than any token has, for all others.
        not_read: in place of a number of characters.
        closed: places after the closing quote of strings that have a character.
        closed_counts: how many characters those have.
        cuts: places inside an escape after some characters, by the text of the escape so far.
    """

    fits: Flags
    counts: npt.NDArray[np.unsignedinteger]
    not_read: int
    closed: Nodes
    closed_counts: npt.NDArray[np.int32]
    cuts: Mapping[bytes, Nodes]


class Characters(NamedTuple):
    """Places with the character before each, in the order of the characters.

    Arguments:
        places: positions in the arrays of a walk.
        code_points: of the characters.
        masses: how many trie nodes all places up to each have below them, from 0 on.
    """

    places: Nodes
    code_points: npt.NDArray[np.int32]
    masses: Nodes

    def within(self, ranges: Ranges) -> tuple[Nodes, int]:
        """The places of the characters of a set, and how many trie nodes there are below them."""
        ends = np.searchsorted(self.code_points, bounds(ranges)).tolist()
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        found = [self.places[begin:end] for begin, end in pairs if begin < end]
        mass = sum(int(self.masses[end] - self.masses[begin]) for begin, end in pairs)
        return (np.concatenate(found) if found else self.places[:0]), mass


def in_order(
    places: Nodes, code_points: npt.NDArray[np.int32], subtree_size: npt.NDArray[np.integer]
) -> Characters:
    """Places, in any order, with the character before and the number of nodes below each."""
    order = np.argsort(code_points, kind="stable")
    masses = np.append(0, np.cumsum(subtree_size[order], dtype=np.int64))
    return Characters(places[order], code_points[order], masses)


def bounds(ranges: Iterable[tuple[int, int]]) -> npt.NDArray[np.int32]:
    """The first code point of each range, and the first one after it, in turn."""
    return np.array([bound for low, high in ranges for bound in (low, high + 1)], np.int32)


def counted_class(state: CharacterState) -> CountedClass | None:
    """The class, if the state reads nothing but a counted class."""
    machine = state.machine
    if isinstance(machine, expression.Repetition) and isinstance(
        machine.inner, expression.Characters
    ):
        return CountedClass(machine.inner.ranges, machine.low, machine.high)
    return None
