"""The keys that an object's schema names, as one trie shared by all states of the object."""

from __future__ import annotations

from typing import cast
from weakref import WeakValueDictionary

from mlx_structured.automaton.words_lexeme import Words, WordsState, encode_string
from mlx_structured.languages.membership import is_string


class NameNode:
    """A prefix of names: the names below it, as bits, and the index of the one that ends here.

    Arguments:
        names: all names of the trie.
        depth: the length of the prefix.
        indices: of the names that start with it.
    """

    __slots__ = ("_children", "_depth", "_indices", "_names", "below", "ends")

    def __init__(self, names: tuple[str, ...], depth: int, indices: list[int]) -> None:
        self._names = names
        self._depth = depth
        self._indices = indices
        self._children: dict[int, NameNode] | None = None
        self.below = 0
        self.ends: int | None = None
        for index in indices:
            self.below |= 1 << index
            if len(names[index]) == depth:
                self.ends = index

    @property
    def children(self) -> dict[int, NameNode]:
        """Code point -> the prefix longer by it, in order."""
        found = self._children
        if found is None:
            names, depth = self._names, self._depth
            groups: dict[int, list[int]] = {}
            for index in self._indices:
                if index != self.ends:
                    groups.setdefault(ord(names[index][depth]), []).append(index)
            found = self._children = {
                character: NameNode(names, depth + 1, groups[character])
                for character in sorted(groups)
            }
        return found

    def rest_of(self, index: int) -> str:
        """What comes after the prefix in one of its names."""
        return self._names[index][self._depth :]


class NameState:
    """A position in the trie, when only some of the names may be written.

    The same interface as a language: ``label`` is the index of the name that ends here, ``arcs``
    are the ways on as ranges of code points.
    """

    __slots__ = ("__weakref__", "_allowed", "_node", "label")

    def __init__(self, node: NameNode, allowed: int) -> None:
        self._node = node
        self._allowed = allowed
        ends = node.ends
        self.label = ends if ends is not None and allowed >> ends & 1 else None

    @property
    def stepwise(self) -> bool:
        """Never."""
        return False

    def arcs(self) -> list[tuple[int, int, NameState]]:
        """(first code point, last code point, next state), in order."""
        allowed = self._allowed
        return [
            (character, character, _state(child, allowed))
            for character, child in self._node.children.items()
            if child.below & allowed
        ]

    @property
    def labels(self) -> int:
        """The names that may still be meant, as bits."""
        return self._node.below & self._allowed

    def rest_of(self, index: int) -> str:
        """What is left to write of one of these names."""
        return self._node.rest_of(index)


_states: WeakValueDictionary[tuple[NameNode, int], NameState] = WeakValueDictionary()


def _state(node: NameNode, allowed: int) -> NameState:
    """The interned state at a node."""
    key = (node, allowed & node.below)
    state = _states.get(key)
    if state is None:
        state = _states[key] = NameState(*key)
    return state


class NameTrie:
    """The names of one object. Bit and label of a name are its index."""

    __slots__ = ("__weakref__", "_keys", "_names", "_root")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._root: NameNode | None = None
        self._keys: dict[tuple[bytes, bytes], Words] = {}

    def keys(self, allowed: int, before: bytes, after: bytes) -> WordsState:
        """The names as ``json.dumps`` writes them, as a lexeme with what stands around them.

        Arguments:
            allowed: bits of the names that may be written, at least one.
            before: the text before each.
            after: the text after each.
        """
        words = self._keys.get((before, after))
        if words is None:
            words = self._keys[before, after] = Words(
                (before + encode_string(name) + after, index)
                for index, name in enumerate(self._names)
                if is_string(name)
            )
        places = enumerate(cast("tuple[int, ...]", words.labels))
        return words.state(tuple(place for place, index in places if allowed >> index & 1), 0)

    def start(self, allowed: int) -> NameState:
        """The start, when the names with a bit in ``allowed`` may be written."""
        if self._root is None:
            self._root = NameNode(self._names, 0, list(range(len(self._names))))
        return _state(self._root, allowed)


_tries: WeakValueDictionary[tuple[str, ...], NameTrie] = WeakValueDictionary()


def name_trie(names: tuple[str, ...]) -> NameTrie:
    """The trie of these names, the same object wherever they are asked for."""
    trie = _tries.get(names)
    if trie is None:
        trie = _tries[names] = NameTrie(names)
    return trie
