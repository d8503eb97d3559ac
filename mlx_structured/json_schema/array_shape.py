"""Arrays at one position: how many items they may have, and what may stand at each index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mlx_structured.json_schema.distinct import Canonical, can_all_differ, canonical, value_of
from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    All,
    Any,
    Count,
    Formula,
    Here,
    Items,
    Length,
    Unique,
    conjunction,
    disjunction,
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.nodes import Node, ValueSet
from mlx_structured.json_schema.residual import Branch, branches
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class Written(NamedTuple):
    """How far an array is written.

    Arguments:
        place: index of the next item, as far as it matters.
        rest: what has to hold of the items to come, beyond what always holds.
        seen: the items written, where none may come again; ``None`` stands for an unknown one.
    """

    place: int
    rest: Formula
    seen: frozenset[Canonical | None] = frozenset()


class ArrayShape:
    """The arrays that satisfy a formula.

    Arguments:
        form: the normal form.
        formula: what must hold, without nodes in it.
    """

    def __init__(self, form: NormalForm, formula: Formula) -> None:
        self._form = form
        self._items: list[Items] = []
        self._values: dict[int, ValueSet] = {}
        self._feasible: dict[Written, bool] = {}
        self.low = 0
        self.high: int | None = None
        self._matters: bool | None = None
        rest: list[Formula] = []
        for part in parts_of(formula):
            if isinstance(part, Length):
                self.low = max(self.low, part.low)
                if part.high is not None:
                    self.high = part.high if self.high is None else min(self.high, part.high)
            elif isinstance(part, Items):
                self._items.append(part)
            else:
                rest.append(part)
        self.rest = conjunction(part for part in rest if not isinstance(part, Unique))
        self._all_differ = any(isinstance(part, Unique) for part in rest)
        self.is_unique = any(isinstance(atom, Unique) for atom in leaves(formula))
        """Whether it makes a difference which items were written."""
        edges = [self.low, self.high or 0]
        for atom in leaves(formula):
            if isinstance(atom, (Items, Count, Length)):
                edges += [atom.low, atom.high or 0]
        self._same_from = max(edges) + 1
        """From this index on nothing changes."""
        self._items_same_from = max(
            (edge for item in self._items for edge in (item.low, item.high or 0)), default=0
        )

    @property
    def start(self) -> Written:
        """No item written."""
        return Written(0, self.rest)

    def values(self, index: int) -> ValueSet:
        """What must hold of the item at that index, whatever else is there."""
        index = min(index, self._same_from)
        found = self._values.get(index)
        if found is None:
            charge(1, 500)
            nodes = {
                atom.value
                for atom in self._items
                if atom.low <= index and (atom.high is None or index < atom.high)
            }
            nodes.discard(self._form.table.any_value)
            found = self._values[index] = frozenset(nodes or {self._form.table.any_value})
        return found

    def is_feasible(self) -> bool:
        """Whether some array fits."""
        if self.high is not None and self.low > self.high:
            return False
        return self.can_finish(self.start)

    def with_seen(self, written: Written, item: bytes | None) -> Written:
        """The same after an item of that text, ``None`` for an unknown one."""
        seen = None if item is None else canonical(item)
        return written._replace(seen=written.seen | {seen})

    @property
    def seen_matters(self) -> bool:
        """Whether which items were written decides how many more can come."""
        if self._matters is None:
            places = range(min(max(self.low, self.high or 0), self._items_same_from) + 1)
            self._matters = any(
                self._form.few_values(self.values(place)) is not None for place in places
            )
        return self._matters

    def after_item(self, written: Written) -> list[tuple[ValueSet, Written]]:
        """What may stand at the next index, with how far the array is written then."""
        return [(way.values, after) for way, after in self._ways(written) if self.can_finish(after)]

    def _ways(self, written: Written) -> list[tuple[Branch, Written]]:
        index, rest, seen = written
        if self.high is not None and index >= self.high:
            return []
        values = self.values(index)
        written_before = self._form.table.either(
            self._form.table.constant(value_of(each)) for each in seen if each is not None
        )
        another = self._form.table.negation(written_before)
        if self._all_differ:
            values |= {another}
        following = min(index + 1, self._same_from)
        read = rest if rest is TRUE else replaced(rest, lambda atom: self._at(atom, index, another))
        ways = [Branch(values, TRUE)] if read is TRUE else branches(self._form, read, values)
        return [
            (way, Written(following, way.rest, seen))
            for way in ways
            if self._form.is_nonempty(way.values)
        ]

    def _can_differ(self, written: Written) -> bool:
        """Whether the items that must still come can differ from those written."""
        used = [each for each in written.seen if each is not None]
        domains = [
            few
            for place in range(written.place, self.low)
            if (few := self._form.few_values(self.values(place))) is not None
        ]
        return can_all_differ(domains, used)

    def _at(self, atom: Formula, index: int, another: Node) -> Formula:
        if isinstance(atom, Unique):
            return conjunction([self._here(another), atom])
        if isinstance(atom, Items) and _covers(atom, index):
            return conjunction([self._here(atom.value), atom])
        if isinstance(atom, Count) and _covers(atom, index):
            counted = _fewer(atom)
            if atom.most is None:
                return disjunction([conjunction([self._here(atom.value), counted]), atom])
            opposite = self._here(self._form.table.negation(atom.value))
            return disjunction(
                [
                    conjunction([self._here(atom.value), counted]),
                    conjunction([opposite, atom]),
                ]
            )
        return atom

    def _here(self, node: Node) -> Formula:
        if node is self._form.table.any_value:
            return TRUE
        return FALSE if node is self._form.table.no_value else Here(node)

    def may_close(self, written: Written) -> bool:
        """Whether the array may end here."""
        return written.place >= self.low and self._holds(written.rest, written.place)

    def _holds(self, formula: Formula, count: int) -> bool:
        if isinstance(formula, All):
            return all(self._holds(part, count) for part in formula.parts)
        if isinstance(formula, Any):
            return any(self._holds(part, count) for part in formula.parts)
        if isinstance(formula, Length):
            return formula.low <= count and (formula.high is None or count <= formula.high)
        if isinstance(formula, Count):
            return formula.least == 0
        return isinstance(formula, (Items, Unique))

    def can_finish(self, written: Written) -> bool:
        """Whether some items to come make what is written a valid array."""
        if self._all_differ and not self._can_differ(written):
            return False
        if written.seen:
            written = written._replace(seen=frozenset())
        if written.rest is TRUE:
            last = min(self.low, self._items_same_from + 1)
            return all(self._form.is_nonempty(self.values(i)) for i in range(written.place, last))
        found = self._feasible.get(written)
        if found is not None:
            return found
        came_from: dict[Written, Written | None] = {written: None}
        stack = [written]
        while stack:
            each = stack.pop()
            if self.may_close(each) or self._feasible.get(each):
                step: Written | None = each
                while step is not None:
                    self._feasible[step] = True
                    step = came_from[step]
                return True
            for _, after in reversed(self._ways(each)):
                if after not in came_from:
                    came_from[after] = each
                    stack.append(after)
            charge(2, 500)
        if not self._form.is_searching:
            self._feasible.update(dict.fromkeys(came_from, False))
        return False


def _covers(atom: Items | Count, index: int) -> bool:
    return atom.low <= index and (atom.high is None or index < atom.high)


def _fewer(atom: Count) -> Formula:
    """What is left of a count after one item of it."""
    if atom.most == 0:
        return FALSE
    least = max(atom.least - 1, 0)
    most = None if atom.most is None else atom.most - 1
    if least == 0 and most is None:
        return TRUE
    return Count(atom.low, atom.high, atom.value, least, most)
