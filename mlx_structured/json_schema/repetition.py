"""Arrays whose items must all differ, or some two of which must be equal: what may come next.

Both are questions about the values of the items to come, so the ways through an array are searched
with what they take: values of their own from positions that have only a few (a bipartite matching,
looked at *before* each item), or two items with a value in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.distinct import Canonical, Matching, value_of
from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.nodes import Node, ValueSet
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.array_shape import ArrayShape
    from mlx_structured.json_schema.normal_form import NormalForm

MAX_SEARCH = 20_000


class Demand(Enum):
    """What is asked of the items of an array, taken together."""

    NOTHING = "nothing"
    ALL_DIFFER = "all differ"
    SOME_EQUAL = "some equal"


class Place(NamedTuple):
    """Where an array stands, whichever its items were.

    Arguments:
        at: index of the next item, as far as it matters.
        rest: what has to hold of the items to come, beyond what always holds.
    """

    at: int
    rest: Formula


Way: TypeAlias = tuple[ValueSet, Place]
"""What must hold of the next item, with the place after it."""


class Written(NamedTuple):
    """How far an array is written.

    Arguments:
        place: where it stands.
        demand: what is still asked of the items.
        seen: the items written, all different, where that matters; ``None`` is an unknown one.
    """

    place: Place
    demand: Demand
    seen: frozenset[Canonical | None] = frozenset()

    @property
    def known(self) -> frozenset[Canonical]:
        """The items written that are known."""
        return frozenset(item for item in self.seen if item is not None)


class Offer(NamedTuple):
    """What may come as the next item; whichever of it comes, the array can be finished.

    Arguments:
        values: what must hold of the item.
        within: the only values that it may have; ``None`` for no such bound.
        without: the values that it may not have.
        after: how far the array is written then, before the item itself is taken into account.
    """

    values: ValueSet
    within: frozenset[Canonical] | None
    without: frozenset[Canonical]
    after: Written

    def position(self, form: NormalForm) -> ValueSet:
        """The same as one set of nodes."""
        position = self.values
        if self.within is not None:
            position |= {_among(form, self.within)}
        if self.without:
            position |= {form.table.negation(_among(form, self.without))}
        return position


def _among(form: NormalForm, items: frozenset[Canonical]) -> Node:
    """The node of these values."""
    constant = form.table.constant
    return form.table.either(constant(value_of(item), passing=True) for item in sorted(items))


def contains(form: NormalForm, values: ValueSet, items: frozenset[Canonical]) -> bool:
    """Whether one of the items, at least, satisfies every node."""
    return bool(items) and form.is_nonempty(values | {_among(form, items)})


def offers(form: NormalForm, shape: ArrayShape, written: Written) -> list[Offer]:
    """What may stand at the next index, with how far the array is written then."""
    if written.demand is Demand.ALL_DIFFER:
        return list(_new_items(form, shape, written))
    if written.demand is Demand.SOME_EQUAL:
        return list(_items_to_repeat(form, shape, written))
    return [
        Offer(values, None, frozenset(), Written(place, Demand.NOTHING))
        for values, place in shape.ways(written.place)
    ]


def can_end(form: NormalForm, shape: ArrayShape, written: Written) -> bool:
    """Whether what is demanded of the items can still be met."""
    place, demand, seen = written
    if demand is Demand.NOTHING or (demand is Demand.ALL_DIFFER and shape.is_end(place)):
        return True
    if demand is Demand.SOME_EQUAL:
        shape.check_equal_numbers(place)
        return _can_repeat(form, shape, place, written.known)
    limit = len(seen) + shape.most_needed
    return (
        _is_endless(form, shape, place, limit)
        or _completion(form, shape, place, written.known, limit) is not None
    )


def seen_matters(form: NormalForm, shape: ArrayShape, written: Written) -> bool:
    """Whether it depends on one more item, of any value, what may come after it."""
    if written.demand is not Demand.ALL_DIFFER:
        return written.demand is Demand.SOME_EQUAL
    limit = len(written.seen) + shape.most_needed + 2
    return not _is_endless(form, shape, written.place, limit)


def _is_endless(form: NormalForm, shape: ArrayShape, place: Place, limit: int) -> bool:
    """Whether every position from here on has more values than ``limit``."""
    return all(
        form.few_values(values, limit, shape.pointer) is None for values in shape.reach(place)
    )


def _new_items(form: NormalForm, shape: ArrayShape, written: Written) -> Iterator[Offer]:
    """Where all items must differ: those not seen that leave the items to come their values."""
    known = written.known
    limit = len(written.seen) + shape.most_needed + 1
    for values, place in shape.ways(written.place):
        few = form.few_values(values, limit, shape.pointer)
        without = known
        if not _is_endless(form, shape, place, limit):
            found = _completion(form, shape, place, known, limit)
            if found is None:
                continue
            # A value that this completion doesn't take is free to be the next item.
            taken = () if found.has_spare(known) else found.owners
            without |= {
                value
                for value in taken
                if (few is None or value in few)
                and _completion(form, shape, place, known | {value}, limit) is None
            }
        if few is not None:
            without &= few
            if without == few:
                continue
        yield Offer(values, None, without, Written(place, Demand.ALL_DIFFER, written.seen))


def _completion(
    form: NormalForm, shape: ArrayShape, start: Place, used: frozenset[Canonical], limit: int
) -> Matching | None:
    """Values for the items of a shortest way to an end, where these come from a few.

    Breadth first over places with the positions that have given a value so far. A position with
    more values than ``limit`` always has another one.
    """
    level: dict[tuple[Place, frozenset[tuple[ValueSet, int]]], Matching] = {
        (start, frozenset()): Matching()
    }
    reached = set(level)
    for _ in range(shape.most_needed + 1):
        following: dict[tuple[Place, frozenset[tuple[ValueSet, int]]], Matching] = {}
        for (place, chosen), matching in level.items():
            if shape.is_end(place):
                return matching
            for values, after in shape.ways(place):
                few = form.few_values(values, limit, shape.pointer)
                key = (after, chosen if few is None else _with_one_more(chosen, values))
                if key in reached:
                    continue
                reached.add(key)
                more = matching if few is None else matching.with_domain(few, used)
                if more is not None:
                    following[key] = more
        check_search(len(reached), shape.pointer)
        level = following
    return None


def _with_one_more(
    chosen: frozenset[tuple[ValueSet, int]], values: ValueSet
) -> frozenset[tuple[ValueSet, int]]:
    counts = dict(chosen)
    counts[values] = counts.get(values, 0) + 1
    return frozenset(counts.items())


def _items_to_repeat(form: NormalForm, shape: ArrayShape, written: Written) -> Iterator[Offer]:
    """Where some item must be equal to another one, and none is yet."""
    shape.check_equal_numbers(written.place)
    known = written.known
    for values, place in shape.ways(written.place):
        if contains(form, values, known):
            yield Offer(values, known, frozenset(), Written(place, Demand.NOTHING))
        after = Written(place, Demand.SOME_EQUAL, written.seen)
        if _can_repeat(form, shape, place, known):
            positions = [values]
        else:
            positions = [_both(form, values, other) for other in shape.reach(place)]
            if values in positions:
                positions = [values]
        for position in positions:
            offer = Offer(position, None, known, after)
            if form.is_nonempty(offer.position(form)):
                yield offer


def _both(form: NormalForm, values: ValueSet, other: ValueSet) -> ValueSet:
    """The values of the first position that the other one has too."""
    more = other - values - {form.table.any_value}
    return values | {form.table.undeclared(node) for node in more}


def _can_repeat(
    form: NormalForm, shape: ArrayShape, start: Place, known: frozenset[Canonical]
) -> bool:
    """Whether an item to come can be equal to one of those known, or to another one to come."""
    if any(contains(form, values, known) for values in shape.reach(start)):
        return True
    tried: set[ValueSet] = set()
    seen = {start}
    stack = [start]
    while stack:
        for values, place in shape.ways(stack.pop()):
            for other in shape.reach(place):
                both = values | other
                if both not in tried and form.is_nonempty(both):
                    return True
                tried.add(both)
            if place not in seen:
                seen.add(place)
                stack.append(place)
        check_search(len(tried), shape.pointer)
    return False


def check_search(steps: int, pointer: str) -> None:
    """Raise ``LimitExceededError`` after too many steps."""
    charge(4, 500)
    if steps > MAX_SEARCH:
        raise LimitExceededError(
            "has too many ways in which items may be equal or differ",
            "combinations",
            "uniqueItems",
            pointer,
        )
