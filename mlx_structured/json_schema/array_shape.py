"""One alternative for an array: how many items it may have, and what may stand at each index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlx_structured.json_schema.formula import Formula, Items, Length
from mlx_structured.json_schema.nodes import NodeTable, ValueSet

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class ArrayShape:
    """The arrays that satisfy a set of atoms.

    Arguments:
        table: the nodes of the schema.
        atoms: what must hold.
    """

    __slots__ = ("_items", "_table", "_values", "high", "low", "same_from")

    def __init__(self, table: NodeTable, atoms: Iterable[Formula]) -> None:
        self._table = table
        self._items: list[Items] = []
        self._values: dict[int, ValueSet] = {}
        self.low = 0
        self.high: int | None = None
        for atom in atoms:
            if isinstance(atom, Length):
                self.low, self.high = atom.low, atom.high
            elif isinstance(atom, Items):
                self._items.append(atom)
        self.same_from = max(
            (edge for atom in self._items for edge in (atom.low, atom.high or 0)), default=0
        )
        """From this index on, what may stand there doesn't change."""

    def values(self, index: int) -> ValueSet:
        """What must hold of the item at that index."""
        index = min(index, self.same_from)
        found = self._values.get(index)
        if found is None:
            nodes = {
                atom.value
                for atom in self._items
                if atom.low <= index and (atom.high is None or index < atom.high)
            }
            nodes.discard(self._table.any_value)
            found = self._values[index] = frozenset(nodes or {self._table.any_value})
        return found

    def is_feasible(self, form: NormalForm) -> bool:
        """Whether some array fits."""
        last = min(self.low, self.same_from + 1)
        return all(form.is_nonempty(self.values(index)) for index in range(last))
