"""The keys that an object's schema names, as one trie shared by all states of the object."""

from __future__ import annotations

from weakref import WeakValueDictionary


class NameNode:
    """A prefix of names: the names below it and the one that ends here, as bits."""

    __slots__ = ("below", "children", "ends")

    def __init__(self) -> None:
        self.children: dict[int, NameNode] = {}
        self.below = 0
        self.ends: int | None = None


class NameState:
    """A position in the trie, when only some of the names may be written.

    The same interface as a language: ``label`` is the index of the name that ends here, ``arcs``
    are the ways on as ranges of code points.
    """

    __slots__ = ("__weakref__", "_allowed", "_node", "_trie", "label")

    def __init__(self, trie: NameTrie, node: NameNode, allowed: int) -> None:
        self._trie = trie
        self._node = node
        self._allowed = allowed
        ends = node.ends
        self.label = ends if ends is not None and allowed >> ends & 1 else None

    def arcs(self) -> list[tuple[int, int, NameState]]:
        """(first code point, last code point, next state), in order."""
        allowed = self._allowed
        return [
            (character, character, self._trie.state(child, allowed))
            for character, child in sorted(self._node.children.items())
            if child.below & allowed
        ]

    @property
    def labels(self) -> int:
        """The names that may still be meant, as bits."""
        return self._node.below & self._allowed

    def rest_of(self, index: int) -> str:
        """What is left to write of one of these names."""
        rest = ""
        node = self._node
        while node.ends != index:
            character, node = next(
                (character, child)
                for character, child in node.children.items()
                if child.below >> index & 1
            )
            rest += chr(character)
        return rest


class NameTrie:
    """The names of one object. Bit and label of a name are its index."""

    __slots__ = ("__weakref__", "_root", "_states")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._root = NameNode()
        self._states: WeakValueDictionary[tuple[int, int], NameState] = WeakValueDictionary()
        for index, name in enumerate(names):
            node = self._root
            node.below |= 1 << index
            for character in name:
                node = node.children.setdefault(ord(character), NameNode())
                node.below |= 1 << index
            node.ends = index

    def start(self, allowed: int) -> NameState:
        """The start, when the names with a bit in ``allowed`` may be written."""
        return self.state(self._root, allowed)

    def state(self, node: NameNode, allowed: int) -> NameState:
        """The interned state at ``node``."""
        key = (id(node), allowed & node.below)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = NameState(self, node, key[1])
        return state


_tries: WeakValueDictionary[tuple[str, ...], NameTrie] = WeakValueDictionary()


def name_trie(names: tuple[str, ...]) -> NameTrie:
    """The trie of these names, the same object wherever they are asked for."""
    trie = _tries.get(names)
    if trie is None:
        trie = _tries[names] = NameTrie(names)
    return trie
