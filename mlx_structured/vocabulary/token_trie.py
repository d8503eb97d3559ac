"""All tokens as one trie in flat arrays, made for walking whole levels at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mlx_structured.vocabulary.flat_tokens import FlatTokens

NO_TOKEN = -1


def build_token_trie(
    tokens: FlatTokens, progress: Callable[[int], object] | None = None
) -> TokenTrie:
    """The trie of all tokens that are text, built level by level.

    Arguments:
        tokens: the bytes of each token id.
        progress: told how many tokens each level finished.
    """
    data = tokens.data
    ids = np.flatnonzero(tokens.lengths)
    starts = tokens.offsets[ids].astype(np.int64)
    lengths = tokens.lengths[ids]
    nodes = np.zeros(len(ids), np.int64)
    bytes_by_level = [np.zeros(1, np.uint8)]
    parents_by_level = [np.full(1, -1, np.int32)]
    level_start = [0, 1]
    ended_ids: list[NDArray[np.int64]] = []
    ended_nodes: list[NDArray[np.int64]] = []
    depth = 0
    while len(ids):
        # Sorting by (parent, byte) puts siblings side by side and orders them by byte.
        edges, inverse = np.unique(nodes << 8 | data[starts + depth], return_inverse=True)
        bytes_by_level.append((edges & 0xFF).astype(np.uint8))
        parents_by_level.append((edges >> 8).astype(np.int32))
        nodes = level_start[-1] + inverse
        level_start.append(level_start[-1] + len(edges))
        depth += 1
        ended = lengths == depth
        ended_ids.append(ids[ended])
        ended_nodes.append(nodes[ended])
        if progress is not None:
            progress(len(ended_ids[-1]))
        ids, starts, lengths, nodes = (part[~ended] for part in (ids, starts, lengths, nodes))

    parent = np.concatenate(parents_by_level)
    size = len(parent)
    child_count = np.bincount(parent[1:], minlength=size).astype(np.int32)
    first_child = 1 + np.cumsum(child_count, dtype=np.int32) - child_count
    token, duplicates = _place_tokens(size, ended_ids, ended_nodes)
    trie = TokenTrie(
        byte=np.concatenate(bytes_by_level),
        parent=parent,
        first_child=first_child,
        child_count=child_count,
        token=token,
        subtree_size=_subtree_sizes(level_start, first_child, child_count),
        level_start=tuple(level_start),
        duplicates=duplicates,
    )
    for field in fields(trie):
        if isinstance(array := getattr(trie, field.name), np.ndarray):
            array.setflags(write=False)
    return trie


def _place_tokens(
    size: int, ids_by_level: list[NDArray[np.int64]], nodes_by_level: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int32], tuple[tuple[int, ...], ...]]:
    token = np.full(size, NO_TOKEN, np.int32)
    if not ids_by_level:
        return token, ()
    ids = np.concatenate(ids_by_level)
    nodes = np.concatenate(nodes_by_level)
    # Ids ascend within a level, so a stable sort leaves those of one node in ascending order.
    order = np.argsort(nodes, kind="stable")
    ids = ids[order]
    ending, first, counts = np.unique(nodes[order], return_index=True, return_counts=True)
    token[ending] = ids[first]
    duplicates: list[tuple[int, ...]] = []
    for group in np.flatnonzero(counts > 1).tolist():
        token[ending[group]] = -2 - len(duplicates)
        duplicates.append(tuple(ids[first[group] : first[group] + counts[group]].tolist()))
    return token, tuple(duplicates)


def _subtree_sizes(
    level_start: list[int], first_child: NDArray[np.int32], child_count: NDArray[np.int32]
) -> NDArray[np.int32]:
    sizes = np.ones(len(first_child), np.int32)
    for depth in range(len(level_start) - 3, -1, -1):
        start, end = level_start[depth], level_start[depth + 1]
        inner = start + np.flatnonzero(child_count[start:end])
        below = sizes[end : level_start[depth + 2]]
        sizes[inner] += np.add.reduceat(below, first_child[inner] - end)
    return sizes


@dataclass(frozen=True, eq=False)
class TokenTrie:
    """The trie of a vocabulary's tokens. Node 0 is the root, the empty text.

    Nodes are numbered in breadth-first order: each depth is one range of nodes, the children of a
    node are side by side and sorted by byte, and those of later siblings follow. All arrays have
    one element a node and are read-only.

    Arguments:
        byte: the last byte of a node's text, uint8; 0 at the root.
        parent: int32; -1 at the root.
        first_child: the first of a node's ``child_count`` children, int32. For a leaf, where they
            would be.
        child_count: int32.
        token: the id of the token that is a node's text, int32; -1 if there is none. Where several
            ids have the same bytes it is -2 or less, and ``duplicates[-2 - token]`` has the ids.
        subtree_size: number of nodes below and including a node, int32.
        level_start: the first node of each depth, and the number of nodes at the end.
        duplicates: groups of ids with the same bytes, ascending.
    """

    byte: NDArray[np.uint8]
    parent: NDArray[np.int32]
    first_child: NDArray[np.int32]
    child_count: NDArray[np.int32]
    token: NDArray[np.int32]
    subtree_size: NDArray[np.int32]
    level_start: tuple[int, ...]
    duplicates: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        """The number of nodes, the root included."""
        return len(self.byte)

    def __repr__(self) -> str:
        return f"TokenTrie({len(self)} nodes, {len(self.level_start) - 2} bytes deep)"

    def find(self, text: bytes) -> int | None:
        """The node of that text; ``None`` if no token begins with it."""
        node = 0
        for byte in text:
            start = int(self.first_child[node])
            children = self.byte[start : start + int(self.child_count[node])]
            position = int(np.searchsorted(children, byte))
            if position == len(children) or children[position] != byte:
                return None
            node = start + position
        return node

    def token_ids(self, node: int) -> tuple[int, ...]:
        """The ids whose bytes are exactly the text of a node, ascending."""
        token = int(self.token[node])
        if token >= 0:
            return (token,)
        return () if token == NO_TOKEN else self.duplicates[-2 - token]
