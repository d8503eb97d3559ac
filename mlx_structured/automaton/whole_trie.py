"""The walk of all tokens at once, for a lexeme that reads nearly all of them.

A depth of the trie is one range of nodes, so that nothing has to be gathered: for each node the
state is looked up in a table by the state of its parent and by its byte.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mlx_structured.automaton.level_walk import Levels, StateTable
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
    table = StateTable(lexeme, stops)
    at = np.full(len(trie), -1, np.int64)
    at[0] = 0
    ways = table.expand(at[:1])
    for begin, end in pairwise(trie.level_start[1:]):
        here = slice(begin, end)
        at[here] = ways.take((at.take(parent[here]) << 8) + byte[here])
        ways = table.expand(at[here])
    alive = at >= 0
    alive[0] = False
    nodes = np.flatnonzero(alive)
    # The root comes before the first of them, at -1.
    place = np.cumsum(alive) - 1
    starts = np.searchsorted(nodes, trie.level_start[1:]).tolist()
    return Levels(table.states, nodes, at[nodes], place[parent[nodes]], starts)
