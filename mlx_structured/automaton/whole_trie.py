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
    """All nodes but the root, level by level; at those that the lexeme can't read the state is -1.

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
    # The root comes before the first of them, at -1.
    starts = [begin - 1 for begin in trie.level_start[1:]]
    return Levels(table.states, np.arange(1, len(trie)), at[1:], parent[1:] - 1, starts)
