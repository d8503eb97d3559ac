"""The ids of the tokens at each node of the trie, one dictionary look-up away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlx_structured.vocabulary import TokenTrie
from mlx_structured.vocabulary.token_trie import NO_TOKEN


def ids_at(trie: TokenTrie, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The ids of all tokens that end at the nodes."""
    tokens = trie.token.take(nodes).astype(np.int64)
    ids: npt.NDArray[np.int64] = tokens[tokens >= 0]
    if not trie.duplicates:
        return ids
    repeated = [
        token_id
        for token in tokens[tokens < NO_TOKEN].tolist()
        for token_id in trie.duplicates[-2 - token]
    ]
    return np.concatenate([ids, np.array(repeated, np.int64)])


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
