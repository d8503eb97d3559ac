"""Walks of the trie level by level, all nodes of one depth at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.vocabulary.token_trie import TokenTrie

Nodes: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

DENSE = 8
"""A range of nodes is read as a whole if it has no more than so many for one that is reached."""


FEW_NODES = 16
FEW_BELOW = 256
"""Where no more nodes are reached, with no more below them, the rest is walked one by one."""


class Levels(NamedTuple):
    """A walk of the trie level by level, one array element for each node that was reached.

    Arguments:
        states: the lexeme states of the walk.
        nodes: trie nodes.
        at: the number of the state at each of them.
        parents: where in these arrays the node before it is; -1 where the walk began.
        starts: where each level begins, and the end.
    """

    states: Sequence[LexemeState]
    nodes: Nodes
    at: Nodes
    parents: Nodes
    starts: Sequence[int]


class Arrived(NamedTuple):
    """The nodes that a walk reached, in no order.

    Arguments:
        states: the lexeme states of the walk.
        nodes: trie nodes.
        at: the number of the state at each of them.
    """

    states: Sequence[LexemeState]
    nodes: Nodes
    at: Nodes


class StateTable:
    """The states of a walk, numbered as they are met, and where each byte leads from them.

    Arguments:
        lexeme: where the walk begins, number 0.
        stops: whether a walk from the first state goes on no further in the second.
    """

    def __init__(
        self, lexeme: LexemeState, stops: Callable[[LexemeState, LexemeState], bool]
    ) -> None:
        self.states: list[LexemeState] = [lexeme]
        self._index: dict[LexemeState, int] = {lexeme: 0}
        self._waiting = {0}
        self._stops = stops
        # The last row stays empty. It is that of nodes which aren't reached, number -1.
        self._table = np.full((16, 256), -1, np.int64)

    def expand(self, at: Nodes) -> npt.NDArray[np.int64]:
        """Find where the states that are met go on; returns the flat table of 256 for each."""
        if self._waiting:
            met = np.flatnonzero(np.bincount(at + 1, minlength=1)[1:]).tolist()
            for number in self._waiting.intersection(met):
                self._waiting.discard(number)
                if not number or not self._stops(self.states[0], self.states[number]):
                    self._fill(number)
        return self._table.ravel()

    def _fill(self, number: int) -> None:
        index, states = self._index, self.states
        transitions = self.states[number].transitions
        row = []
        for target in transitions.values():
            to = index.get(target)
            if to is None:
                to = index[target] = len(states)
                states.append(target)
                self._waiting.add(to)
            row.append(to)
        while len(states) >= len(self._table):
            self._table = np.concatenate([self._table, np.full_like(self._table, -1)])
        self._table[number, list(transitions)] = row

    def _number(self, state: LexemeState) -> int:
        found = self._index.get(state)
        if found is None:
            found = self._index[state] = len(self.states)
            self.states.append(state)
        return found

    def walk_rest(self, trie: TokenTrie, nodes: Nodes, at: Nodes) -> tuple[Nodes, Nodes]:
        """The nodes below some, one by one, with the states there; nothing is expanded after."""
        first, count, byte = trie.first_child.data, trie.child_count.data, trie.byte.data
        start = self.states[0]
        states = self.states
        stack = [
            (node, states[number]) for node, number in zip(nodes.tolist(), at.tolist(), strict=True)
        ]
        reached: list[int] = []
        numbers: list[int] = []
        while stack:
            node, state = stack.pop()
            number = count[node]
            if not number or (state is not start and self._stops(start, state)):
                continue
            ways = state.transitions
            begin = first[node]
            for child in range(begin, begin + number):
                after = ways.get(byte[child])
                if after is not None:
                    reached.append(child)
                    numbers.append(self._number(after))
                    stack.append((child, after))
        return np.array(reached, np.int64), np.array(numbers, np.int64)


def walk_below(
    trie: TokenTrie,
    nodes: Iterable[int],
    lexeme: LexemeState,
    stops: Callable[[LexemeState, LexemeState], bool],
) -> Arrived:
    """The nodes below some that the lexeme reads from each of them on.

    Arguments:
        trie: the tokens.
        nodes: where the walk begins, in order.
        lexeme: the state there.
        stops: whether a walk from the first state goes on no further in the second.
    """
    table = StateTable(lexeme, stops)
    parent, byte = trie.parent, trie.byte
    here = np.fromiter(nodes, np.int64)
    at = np.zeros(len(here), np.int64)
    found: list[tuple[Nodes, Nodes]] = [(here[:0], at[:0])]
    while len(here):
        if len(here) <= FEW_NODES and trie.subtree_size.take(here).sum() <= FEW_BELOW:
            found.append(table.walk_rest(trie, here, at))
            break
        ways = table.expand(at)
        counts = trie.child_count.take(here)
        inner = counts.nonzero()[0]
        if not len(inner):
            break
        here, at, counts = here.take(inner), at.take(inner), counts.take(inner)
        first = trie.first_child.take(here)
        number = int(counts.sum())
        begin, end = int(first[0]), int(first[-1] + counts[-1])
        if end - begin <= DENSE * number:
            # Most children of what lies between are reached too: nothing has to be gathered.
            above = np.full(int(here[-1] - here[0]) + 1, -1, np.int64)
            above[here - here[0]] = at
            rows = above.take(parent[begin:end] - here[0])
            rows <<= 8
            rows += byte[begin:end]
            after = ways.take(rows)
            alive = (after >= 0).nonzero()[0]
            here = alive + begin
        else:
            ends = np.cumsum(counts)
            which = np.repeat(np.arange(len(here)), counts)
            children = (first - ends + counts).take(which) + np.arange(number)
            after = ways.take((at << 8).take(which) + byte.take(children))
            alive = (after >= 0).nonzero()[0]
            here = children.take(alive)
        at = after.take(alive)
        found.append((here, at))
    reached, arrived = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Arrived(table.states, reached, arrived)


def walk_levels(
    trie: TokenTrie,
    nodes: Iterable[int],
    lexeme: LexemeState,
    stops: Callable[[LexemeState, LexemeState], bool],
    within: Flags | None = None,
) -> Levels:
    """As :func:`walk_below`, in order, with the parent of each node.

    Arguments:
        trie: the tokens.
        nodes: where the walk begins, in order.
        lexeme: the state there.
        stops: whether a walk from the first state goes on no further in the second.
        within: flags of the nodes that may be reached; all if ``None``.
    """
    table = StateTable(lexeme, stops)
    here = np.fromiter(nodes, np.int64)
    at = np.zeros(len(here), np.int64)
    above = np.full(len(here), -1, np.int64)
    found: list[tuple[Nodes, Nodes, Nodes]] = []
    starts = [0]
    while len(here):
        ways = table.expand(at)
        counts = trie.child_count.take(here)
        which = np.repeat(np.arange(len(here)), counts)
        first = trie.first_child.take(here) - (np.cumsum(counts) - counts)
        children = first.take(which) + np.arange(len(which))
        after = ways.take((at << 8).take(which) + trie.byte.take(children))
        read = after >= 0
        alive = np.flatnonzero(read if within is None else read & within[children])
        here, at = children.take(alive), after.take(alive)
        found.append((here, at, above.take(which).take(alive)))
        above = np.arange(starts[-1], starts[-1] + len(here))
        starts.append(starts[-1] + len(here))
    reached, arrived, parents = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Levels(table.states, reached, arrived, parents, starts)
