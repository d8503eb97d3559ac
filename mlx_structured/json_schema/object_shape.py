"""One alternative for an object: which keys it may and must have, and what may stand under them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mlx_structured.json_schema.formula import Formula, Properties, Property, Required
from mlx_structured.json_schema.key_order import is_writable
from mlx_structured.json_schema.nodes import Node, NodeTable, ValueSet
from mlx_structured.languages.language import (
    EVERYTHING,
    Language,
    complement,
    intersection,
    is_empty,
    literals,
    matches,
)

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class KeyClass(NamedTuple):
    """Keys that the schema doesn't name and that share what may stand under them."""

    keys: Language
    values: ValueSet


class ObjectShape:
    """The objects that satisfy a set of atoms.

    Arguments:
        table: the nodes of the schema.
        names: the keys that the position's schemas name, in their order.
        atoms: what must hold.
    """

    __slots__ = ("_by_name", "_classes", "_general", "_table", "_values", "names", "required")

    def __init__(self, table: NodeTable, names: tuple[str, ...], atoms: Iterable[Formula]) -> None:
        self.names = names
        self._table = table
        self._by_name: dict[str, set[Node]] = {}
        self._general: list[Properties] = []
        self._values: dict[str, ValueSet] = {}
        self._classes: tuple[KeyClass, ...] | None = None
        required = set()
        for atom in atoms:
            if isinstance(atom, Required):
                required.add(atom.name)
            elif isinstance(atom, Property):
                self._by_name.setdefault(atom.name, set()).add(atom.value)
            elif isinstance(atom, Properties):
                self._general.append(atom)
        self.required = frozenset(required)

    def values(self, name: str) -> ValueSet:
        """What must hold of the value under a named key."""
        found = self._values.get(name)
        if found is None:
            nodes = set(self._by_name.get(name, ()))
            nodes.update(atom.value for atom in self._general if matches(atom.keys, name))
            found = self._values[name] = self._position(nodes)
        return found

    def classes(self) -> tuple[KeyClass, ...]:
        """The keys without a name, by what may stand under them."""
        if self._classes is None:
            unnamed = complement(literals(self.names)) if self.names else EVERYTHING
            split: list[tuple[Language, frozenset[Node]]] = [(unnamed, frozenset())]
            for atom in self._general:
                split = [
                    (keys, nodes | {atom.value} if holds else nodes)
                    for each, nodes in split
                    for keys, holds in (
                        (intersection([each, atom.keys]), True),
                        (intersection([each, complement(atom.keys)]), False),
                    )
                    if not is_empty(keys)
                ]
            self._classes = tuple(KeyClass(keys, self._position(nodes)) for keys, nodes in split)
        return self._classes

    def _position(self, nodes: Iterable[Node]) -> ValueSet:
        return frozenset(nodes) - {self._table.any_value} or frozenset({self._table.any_value})

    def is_feasible(self, form: NormalForm) -> bool:
        """Whether some object fits."""
        return all(
            is_writable(name) and form.is_nonempty(self.values(name)) for name in self.required
        )
