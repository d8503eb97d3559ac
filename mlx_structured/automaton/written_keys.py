"""The other keys that are written in an object, none of which may come a second time.

They are a trie of immutable nodes. Adding a key makes the nodes on its way anew and shares all
others, so that an object of many keys takes time in proportion to its text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from weakref import WeakValueDictionary

from mlx_structured.automaton.utf8 import Machine, after_character, language_arcs, machine_label
from mlx_structured.languages.each_character import EachCharacter
from mlx_structured.languages.language import (
    EVERYTHING,
    Language,
    complement,
    intersection,
    literals,
)
from mlx_structured.languages.shapes import excluded_words

FEW_KEYS = 32
SHORT_KEY = 64
"""So many keys of so many characters are left out together with those that are named."""


class WrittenKeys:
    """A set of texts. Equal ones are the same object."""

    __slots__ = ("__weakref__", "_texts", "children", "ends", "longest", "size")

    def __init__(self, ends: bool, children: dict[int, WrittenKeys]) -> None:
        self.ends = ends
        self.children = children
        self._texts: frozenset[str] | None = None
        self.longest: int = max((child.longest + 1 for child in children.values()), default=0)
        self.size: int = ends + sum(child.size for child in children.values())

    def __bool__(self) -> bool:
        return self.ends or bool(self.children)

    @property
    def texts(self) -> frozenset[str]:
        """All of them."""
        if self._texts is None:
            found: list[str] = []
            stack = [("", self)]
            while stack:
                text, node = stack.pop()
                if node.ends:
                    found.append(text)
                stack += [(text + chr(each), child) for each, child in node.children.items()]
            self._texts = frozenset(found)
        return self._texts

    def with_key(self, key: str) -> WrittenKeys:
        """The set with one more text."""
        path: list[WrittenKeys] = [self]
        for character in key:
            path.append(path[-1].children.get(ord(character), NO_KEYS))
        node = _written(True, path[-1].children)
        for character, before in zip(reversed(key), reversed(path[:-1]), strict=True):
            node = _written(before.ends, {**before.children, ord(character): node})
        if node._texts is None:
            node._texts = self.texts | {key}
        return node


_written_keys: WeakValueDictionary[tuple[bool, frozenset[tuple[int, WrittenKeys]]], WrittenKeys]
_written_keys = WeakValueDictionary()


def _written(ends: bool, children: dict[int, WrittenKeys]) -> WrittenKeys:
    key = (ends, frozenset(children.items()))
    found = _written_keys.get(key)
    if found is None:
        found = _written_keys[key] = WrittenKeys(ends, children)
    return found


NO_KEYS = _written(False, {})


class UnwrittenState:
    """Between two characters of a key that a machine reads and that isn't written yet.

    The same interface as a set of names: ``label`` is as what the key ends here.
    """

    __slots__ = ("__weakref__", "label", "machine", "written")

    def __init__(self, machine: Machine, written: WrittenKeys) -> None:
        self.machine = machine
        self.written = written
        self.label: Hashable | None = None if written.ends else machine_label(machine)

    @property
    def stepwise(self) -> bool:
        """As the machine."""
        return self.machine.stepwise

    @property
    def language(self) -> Language | None:
        """The texts as a language, where the machine is one."""
        if not isinstance(self.machine, Language):
            return None
        return intersection(self.machine, complement(literals(self.written.texts)))

    def arcs(self) -> list[tuple[int, int, Machine | EachCharacter[Machine]]]:
        """(first code point, last code point, next state), in order."""
        children = self.written.children
        characters = sorted(children)
        arcs: list[tuple[int, int, Machine | EachCharacter[Machine]]] = []
        for low, high, target in _arcs(self.machine):
            start = low
            for character in _between(characters, low, high):
                if start < character:
                    arcs.append((start, character - 1, target))
                read = after_character(target, character)
                after = None if read is None else unwritten(read, children[character])
                if after is not None:
                    arcs.append((character, character, after))
                start = character + 1
            if start <= high:
                arcs.append((start, high, target))
        return arcs


_states: WeakValueDictionary[tuple[Machine, WrittenKeys], UnwrittenState] = WeakValueDictionary()


def unwritten(machine: Machine, written: WrittenKeys) -> Machine | None:
    """The texts of a machine but those written; ``None`` if there is no other."""
    if not written:
        return machine
    if isinstance(machine, Language) and written.size <= FEW_KEYS and written.longest <= SHORT_KEY:
        words = frozenset() if machine is EVERYTHING else excluded_words(machine)
        if words is not None:
            return complement(literals(words | written.texts))
    key = (machine, written)
    found = _states.get(key)
    if found is None:
        if not _has_other(machine, written):
            return None
        found = _states[key] = UnwrittenState(machine, written)
    return found


def _has_other(machine: Machine, written: WrittenKeys) -> bool:
    """Whether the machine reads a text that isn't written."""
    stack = [(machine, written)]
    while stack:
        at, node = stack.pop()
        if not node.ends and machine_label(at) is not None:
            return True
        characters = sorted(node.children)
        for low, high, target in _arcs(at):
            inside = _between(characters, low, high)
            if len(inside) <= high - low:
                return True
            for each in inside:
                after = after_character(target, each)
                if after is not None:
                    stack.append((after, node.children[each]))
    return False


def _between(characters: list[int], low: int, high: int) -> list[int]:
    return characters[bisect_left(characters, low) : bisect_right(characters, high)]


def _arcs(machine: Machine) -> Iterable[tuple[int, int, Machine | EachCharacter[Machine]]]:
    return language_arcs(machine) if isinstance(machine, Language) else machine.arcs()
