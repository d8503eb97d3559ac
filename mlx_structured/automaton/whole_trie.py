"""The walk of all tokens at once, for a lexeme that reads nearly all of them.

A depth of the trie is one range of nodes, so that nothing has to be gathered: for each node the
state is looked up in a table by the state of its parent and by its byte.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mlx_structured.automaton.level_walk import Levels, Nodes
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.vocabulary import TokenTrie


def walk_whole_trie(
    trie: TokenTrie, lexeme: LexemeState, stops: Callable[[LexemeState, LexemeState], bool]
) -> Levels:
    """The nodes that the lexeme reads from the root on, level by level.

    Arguments:
        trie: the tokens.
        lexeme: where the walk begins.
        stops: whether a walk from the first state goes on no further in the second.
    """
    parent, byte = trie.parent.astype(np.int64), trie.byte
    states: list[LexemeState] = [lexeme]
    index: dict[LexemeState, int] = {lexeme: 0}
    # The last row stays empty. It is that of nodes which aren't reached, number -1.
    table = np.full((16, 256), -1, np.int64)
    waiting = {0}
    at = np.full(len(trie), -1, np.int64)
    at[0] = 0
    for begin, end in pairwise(trie.level_start):
        here = slice(begin, end)
        if begin:
            at[here] = table.ravel().take((at.take(parent[here]) << 8) + byte[here])
        for number in waiting.intersection(_numbers(at[here])) if waiting else ():
            waiting.discard(number)
            if number and stops(lexeme, states[number]):
                continue
            for read, target in states[number].transitions.items():
                to = index.get(target)
                if to is None:
                    to = index[target] = len(states)
                    states.append(target)
                    waiting.add(to)
                    if to >= len(table) - 1:
                        table = np.concatenate([table, np.full_like(table, -1)])
                table[number, read] = to
    alive = at >= 0
    alive[0] = False
    nodes = np.flatnonzero(alive)
    # The root comes before the first of them, at -1.
    place = np.cumsum(alive) - 1
    starts = np.searchsorted(nodes, trie.level_start[1:]).tolist()
    return Levels(states, nodes, at[nodes], place[parent[nodes]], starts)


def _numbers(at: Nodes) -> list[int]:
    """The numbers that are there, -1 aside."""
    found: list[int] = np.flatnonzero(np.bincount(at + 1)[1:]).tolist()
    return found
