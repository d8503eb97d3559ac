"""The ids of the tokens at each node of the trie, one dictionary look-up away."""

from __future__ import annotations

import numpy as np

from mlx_structured.vocabulary import TokenTrie
from mlx_structured.vocabulary.token_trie import NO_TOKEN


class TokenIds(dict[int, tuple[int, ...]]):
    """Node -> the ids of the tokens that end there, made when a walk first comes by.

    Most nodes are never looked at, and to make so many tuples at once takes long.
    """

    def __init__(self, trie: TokenTrie) -> None:
        super().__init__()
        self._token = trie.token.astype(np.int32).data
        self._duplicates = trie.duplicates

    def __missing__(self, node: int) -> tuple[int, ...]:
        token = self._token[node]
        if token >= 0:
            ids: tuple[int, ...] = (token,)
        else:
            ids = () if token == NO_TOKEN else self._duplicates[-2 - token]
        self[node] = ids
        return ids
