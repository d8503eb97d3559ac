"""Walks of strings by characters, which take long to prepare and are fast from then on.

One of them costs as much as several walks level by level of a class that few tokens are of. So a
process that needs no more than a few of those never prepares one.
"""

from __future__ import annotations

from collections.abc import Callable

from mlx_structured.automaton.character_walk import CharacterWalk
from mlx_structured.automaton.level_walk import Nodes, walk_levels
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.raw_text import RawTextState
from mlx_structured.automaton.token_nodes import TokenNodes
from mlx_structured.automaton.utf8 import CharacterState
from mlx_structured.automaton.whole_trie import walk_whole_trie
from mlx_structured.vocabulary import TokenTrie

MANY_NODES = 4_000
"""With fewer trie nodes below, a walk level by level is always cheaper."""

MOST_READ = 0.5
"""A walk that may pass more than this share of the nodes below is made by characters at once."""

PASSES = 2
"""Walks level by level may pass so many times the nodes below, all together, before one of
characters is prepared: about what that takes."""

MOST_MET = 1_000
"""So many classes are remembered to have been met."""

MOST_WALKS = 4
"""How many are kept, the oldest dropped first."""


class PreparedWalks:
    """The walks by characters of one vocabulary.

    Arguments:
        trie: its tokens.
        nodes: where walks go in it.
        node_of_token: the trie node of each token id; -1 for none.
        stops: whether a walk from the first state goes on no further in the second.
    """

    def __init__(
        self,
        trie: TokenTrie,
        nodes: TokenNodes,
        node_of_token: Nodes,
        stops: Callable[[LexemeState, LexemeState], bool],
    ) -> None:
        self._trie = trie
        self._nodes = nodes
        self._node_of_token = node_of_token
        self._stops = stops
        self._walks: dict[tuple[CharacterState, int], CharacterWalk] = {}
        self._passed: dict[tuple[CharacterState, int], int] = {}
        self._met: set[tuple[CharacterState, int, bytes]] = set()
        self.memory = 0
        """Bytes, by estimate."""

    def forget(self) -> None:
        """Drop all of them."""
        self._walks.clear()
        self._passed.clear()
        self._met.clear()
        self.memory = 0

    def make_room(self, most: int) -> None:
        """Drop the oldest, but for one, until all take no more than so many bytes."""
        while self.memory > most and len(self._walks) > 1:
            self._drop_oldest()
            self._count()

    def _drop_oldest(self) -> None:
        del self._walks[next(iter(self._walks))]

    def _count(self) -> None:
        self.memory = sum(walk.memory for walk in self._walks.values())

    def get(self, plain: CharacterState, node: int) -> CharacterWalk:
        """The walk of a plain string from a node on."""
        key = (plain, node)
        found = self._walks.get(key)
        if found is None:
            if node:
                levels = walk_levels(self._trie, [node], plain, self._stops)
            else:
                levels = walk_whole_trie(self._trie, plain, self._stops)
            found = CharacterWalk(levels, self._trie, self._node_of_token)
            if len(self._walks) >= MOST_WALKS:
                self._drop_oldest()
            self._walks[key] = found
        # It has learned since it was last asked for.
        self._count()
        return found

    def has_many(self, node: int) -> bool:
        """Whether so much is below a node that a walk by characters may pay."""
        return node < self._nodes.size and self._nodes.subtree[node] > MANY_NODES

    def pays(self, lexeme: LexemeState, plain: CharacterState, node: int) -> bool:
        """Whether to walk by characters; if not, the nodes that are passed instead are counted.

        Arguments:
            lexeme: what is read.
            plain: a plain string in the same form.
            node: where the walk begins.
        """
        if not self.has_many(node):
            return False
        key = (plain, node)
        children, subtree = self._nodes.children(node), self._nodes.subtree
        below = subtree[node]
        begins = sorted(children.keys() & lexeme.following)
        read = sum(subtree[children[byte]] for byte in begins)
        if read > MOST_READ * below:
            return True
        if key in self._walks:
            # What is found out about a class is worth it only if the class comes again. Those of
            # JSON's strings do, in other schemas; those of raw text are mostly of one pattern.
            met = (*key, bytes(begins))
            if met in self._met or not isinstance(plain, RawTextState):
                return True
            if len(self._met) >= MOST_MET:
                self._met.clear()
            self._met.add(met)
            return False
        passed = self._passed.get(key, 0) + read
        if passed > PASSES * below:
            return True
        self._passed[key] = passed
        return False
