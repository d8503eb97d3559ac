"""Arrays at one position: how many items they may have, and what may stand at each index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlx_structured.json_schema.distinct import Canonical
from mlx_structured.json_schema.equal_numbers import check_equal_numbers
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
    Repeating,
    Unique,
    conjunction,
    disjunction,
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.nodes import Node, ValueSet
from mlx_structured.json_schema.repetition import (
    Demand,
    Offer,
    Place,
    Way,
    Written,
    can_end,
    check_search,
    offers,
    seen_matters,
)
from mlx_structured.json_schema.residual import Branch, branches
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class ArrayShape:
    """The arrays that satisfy a formula.

    All that a formula says about equal items is one statement, "all items differ": it is taken for
    true, then for false, and each way is followed by itself.

    Arguments:
        form: the normal form.
        formula: what must hold, without nodes in it.
    """

    def __init__(self, form: NormalForm, formula: Formula) -> None:
        self._form = form
        self._items: list[Items] = []
        self._values: dict[int, ValueSet] = {}
        self._branches: dict[Place, list[Branch]] = {}
        self._known_ways: dict[Place, tuple[Way, ...]] = {}
        self._known_reach: dict[Place, tuple[ValueSet, ...]] = {}
        self._feasible: dict[Place, bool] = {}
        self._checked: set[Place] = set()
        self.low = 0
        self.high: int | None = None
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
        edges = [self.low, self.high or 0]
        least: dict[Count, None] = {}
        for atom in leaves(formula):
            if isinstance(atom, (Items, Count, Length)):
                edges += [atom.low, atom.high or 0]
            if isinstance(atom, Count):
                least[atom] = None
        self._same_from = max(edges) + 1
        """From this index on nothing changes."""
        self._items_same_from = max(
            (edge for item in self._items for edge in (item.low, item.high or 0)), default=0
        )
        self.most_needed = self._same_from + sum(atom.least for atom in least)
        """If some array fits, one with so many items does: others can be left out of it."""
        self.pointer = next(
            (each.pointer for each in leaves(formula) if isinstance(each, (Unique, Repeating))), ""
        )
        """Of the keyword that speaks about equal items."""
        self.starts = tuple(self._starts(conjunction(rest)))

    def _starts(self, rest: Formula) -> Iterable[Written]:
        """Nothing written, with each demand that may be met."""
        differing = _assuming(rest, differ=True)
        equal = _assuming(rest, differ=False)
        if differing is equal:
            return [Written(Place(0, equal), Demand.NOTHING)]
        return [
            Written(Place(0, rest), demand)
            for rest, demand in ((differing, Demand.ALL_DIFFER), (equal, Demand.SOME_EQUAL))
            if rest is not FALSE
        ]

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
        return any(self.can_finish(start) for start in self.starts)

    def can_finish(self, written: Written) -> bool:
        """Whether some items to come make what is written a valid array."""
        return self.can_end(written.place) and can_end(self._form, self, written)

    def offers(self, written: Written) -> list[Offer]:
        """What may stand at the next index, with how far the array is written then."""
        return offers(self._form, self, written)

    def may_close(self, written: Written) -> bool:
        """Whether the array may end here."""
        return written.demand is not Demand.SOME_EQUAL and self.is_end(written.place)

    def with_seen(self, written: Written, item: Canonical | None) -> Written:
        """The same after an item of that canonical text, ``None`` for an unknown one."""
        if written.demand is Demand.NOTHING:
            return written
        return written._replace(seen=written.seen | {item})

    def seen_matters(self, written: Written) -> bool:
        """Whether which items were written decides if others can come, or if it may close."""
        return seen_matters(self._form, self, written)

    def ways(self, place: Place) -> tuple[Way, ...]:
        """What may stand at the next index, and the place then, if equal items don't matter."""
        found = self._known_ways.get(place)
        if found is None:
            following = min(place.at + 1, self._same_from)
            found = tuple(
                (way.values, after)
                for way in self._ways(place)
                if self._form.is_nonempty(way.values)
                and self.can_end(after := Place(following, way.rest))
            )
            if not self._form.is_searching:
                self._known_ways[place] = found
        return found

    def _ways(self, place: Place) -> list[Branch]:
        found = self._branches.get(place)
        if found is None:
            index, rest = place
            values = self.values(index)
            if self.high is not None and index >= self.high:
                found = []
            elif rest is TRUE:
                found = [Branch(values, TRUE)]
            else:
                read = replaced(rest, lambda atom: self._at(atom, index))
                found = branches(self._form, read, values)
            self._branches[place] = found
        return found

    def reach(self, start: Place) -> tuple[ValueSet, ...]:
        """What may have to hold of the items to come, if equal items don't matter."""
        found = self._known_reach.get(start)
        if found is None:
            positions: dict[ValueSet, None] = {}
            seen = {start}
            stack = [start]
            while stack:
                for values, place in self.ways(stack.pop()):
                    positions[values] = None
                    if place not in seen:
                        seen.add(place)
                        stack.append(place)
                check_search(len(seen), self.pointer)
            found = tuple(positions)
            if not self._form.is_searching:
                self._known_reach[start] = found
        return found

    def check_equal_numbers(self, place: Place) -> None:
        """Make sure that items to come which are equal can be written in the same ways.

        Raises:
            LimitExceededError: if not.
        """
        if place not in self._checked:
            check_equal_numbers(self._form, self.reach(place), self.pointer)
            if not self._form.is_searching:
                self._checked.add(place)

    def _at(self, atom: Formula, index: int) -> Formula:
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

    def is_end(self, place: Place) -> bool:
        """Whether the array may end here, if equal items don't matter."""
        return place.at >= self.low and _holds(place.rest, place.at)

    def can_end(self, place: Place) -> bool:
        """Whether the array can be finished from here, if equal items don't matter."""
        if place.rest is TRUE:
            last = min(self.low, self._items_same_from + 1)
            return all(self._form.is_nonempty(self.values(i)) for i in range(place.at, last))
        found = self._feasible.get(place)
        if found is not None:
            return found
        came_from: dict[Place, Place | None] = {place: None}
        stack = [place]
        while stack:
            each = stack.pop()
            if self.is_end(each) or self._feasible.get(each):
                step: Place | None = each
                while step is not None:
                    self._feasible[step] = True
                    step = came_from[step]
                return True
            following = min(each.at + 1, self._same_from)
            for way in reversed(self._ways(each)):
                after = Place(following, way.rest)
                if after not in came_from and self._form.is_nonempty(way.values):
                    came_from[after] = each
                    stack.append(after)
            charge(2, 500)
        if not self._form.is_searching:
            self._feasible.update(dict.fromkeys(came_from, False))
        return False


def _assuming(formula: Formula, *, differ: bool) -> Formula:
    """What has to hold besides, when all items differ or not."""

    def change(atom: Formula) -> Formula:
        if isinstance(atom, (Unique, Repeating)):
            return TRUE if isinstance(atom, Unique) is differ else FALSE
        return atom

    return replaced(formula, change)


def _holds(formula: Formula, count: int) -> bool:
    if isinstance(formula, All):
        return all(_holds(part, count) for part in formula.parts)
    if isinstance(formula, Any):
        return any(_holds(part, count) for part in formula.parts)
    if isinstance(formula, Length):
        return formula.low <= count and (formula.high is None or count <= formula.high)
    if isinstance(formula, Count):
        return formula.least == 0
    return isinstance(formula, Items)


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
