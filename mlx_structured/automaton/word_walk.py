"""The walk of the tokens along whole texts: some words, or the rest of a single one."""

from __future__ import annotations

from collections.abc import Hashable

from mlx_structured.automaton.token_nodes import TokenNodes
from mlx_structured.automaton.words_lexeme import WordsState


class WordWalk:
    """Goes along texts, as far as there are tokens.

    Schemas use the same names again and again: what is found along a single text is kept.

    Arguments:
        nodes: where walks go.
    """

    def __init__(self, nodes: TokenNodes) -> None:
        self._nodes = nodes
        self._known: dict[tuple[bytes, int], tuple[list[int], int]] = {}
        self.memory = 0
        """Bytes, by estimate."""

    def forget(self) -> None:
        """Drop all that can be found out again."""
        self._known.clear()
        self.memory = 0

    def walk(self, lexeme: WordsState, node: int) -> tuple[list[int], dict[Hashable, list[int]]]:
        """The ids of the tokens below a node, and by label the nodes where a text ends.

        The lists may be kept: they aren't to be changed.
        """
        words, members, depth = lexeme.words, lexeme.members, lexeme.depth
        if len(members) > 1:
            return self._walk_all(lexeme, node)
        (member,) = members
        ids, end = self._walk_text(words.texts[member][depth:], node)
        return ids, {} if end < 0 else {words.labels[member]: [end]}

    def _walk_text(self, text: bytes, node: int) -> tuple[list[int], int]:
        """The ids along a text, and the node at its end; -1 if no token is longer."""
        found = self._known.get((text, node))
        if found is None:
            nodes = self._nodes
            ids: list[int] = []
            at = node
            for byte in text:
                child = (nodes.known[at] or nodes.children(at)).get(byte)
                if child is None:
                    at = -1
                    break
                at = child
                ids += nodes.tokens[at]
            found = ids, at if at >= 0 and nodes.goes_on(at) else -1
            self._known[text, node] = found
            self.memory += 300 + len(text) + 8 * len(ids)
        return found

    def _walk_all(
        self, lexeme: WordsState, node: int
    ) -> tuple[list[int], dict[Hashable, list[int]]]:
        """Along the texts; what they have in common only once."""
        words, members = lexeme.words, lexeme.members
        nodes = self._nodes
        tokens = nodes.tokens
        ids: list[int] = []
        exits: dict[Hashable, list[int]] = {}
        stack = [(0, len(members), lexeme.depth, node)]
        while stack:
            low, high, depth, at = stack.pop()
            text = words.texts[members[low]]
            while depth < len(text):
                if high - low > 1:
                    end = words.end_of_byte(members, low, high, depth)
                    if end < high:
                        stack.append((end, high, depth, at))
                        high = end
                child = (nodes.known[at] or nodes.children(at)).get(text[depth])
                if child is None:
                    break
                at = child
                ids += tokens[at]
                depth += 1
            else:
                if nodes.goes_on(at):
                    exits.setdefault(words.labels[members[low]], []).append(at)
        return ids, exits
