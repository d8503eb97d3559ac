"""The values at a position, as far as a question about them asks: all of a few, or "more".

Containers count by their values too, and a position inside itself by the least fixpoint: it starts
with no value, and is listed again with those found until there are no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.array_shape import ArrayShape
from mlx_structured.json_schema.distinct import (
    Canonical,
    canonical_array,
    canonical_object,
    canonical_value,
)
from mlx_structured.json_schema.json_types import CONTAINERS, TYPES
from mlx_structured.json_schema.memo import Memo
from mlx_structured.json_schema.nodes import ValueSet, is_passing
from mlx_structured.json_schema.object_progress import KeyWay, Progress
from mlx_structured.json_schema.object_shape import ObjectShape
from mlx_structured.json_schema.repetition import Written, contains
from mlx_structured.languages.language import words

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm

Few: TypeAlias = "frozenset[Canonical] | None"
"""All values, or ``None`` for more than the limit."""

MAX_SEARCH = 100_000
_NEVER = 1 << 60


_Members: TypeAlias = tuple[tuple[str, Canonical], ...]


class _Known(NamedTuple):
    limit: int
    few: Few


class _TooManyError(Exception):
    """There are more values than the limit."""


class FewValues:
    """Memoised lists of the values at the positions of one schema."""

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        self._known: Memo[ValueSet, _Known] = Memo(is_passing)
        self._so_far: dict[ValueSet, frozenset[Canonical]] = {}
        self._depths: dict[ValueSet, int] = {}
        self._lowest = _NEVER
        self._pointer = ""

    @property
    def is_searching(self) -> bool:
        """Whether some position is being listed, so that what it has isn't final."""
        return bool(self._depths)

    def of(self, values: ValueSet, limit: int, pointer: str) -> Few:
        """All values of the position that the style can write, or ``None`` for too many.

        Arguments:
            values: the position.
            limit: the most values to list.
            pointer: of the keyword that asks, for errors.

        Raises:
            LimitExceededError: if that takes too much work.
        """
        known = self._known.get(values)
        if known is None or (known.few is None and known.limit < limit):
            if values in self._depths:
                self._lowest = min(self._lowest, self._depths[values])
                self._form.doubt()
                few: Few = self._so_far[values]
            else:
                if not self._depths:
                    self._pointer = pointer
                few = self._decide(values, max(8, 1 << (limit - 1).bit_length()))
        else:
            few = known.few
        return None if few is None or len(few) > limit else few

    def _decide(self, values: ValueSet, limit: int) -> Few:
        depth = len(self._depths)
        outer, self._lowest = self._lowest, _NEVER
        doubts = self._form.doubts
        self._depths[values] = depth
        self._so_far[values] = frozenset()
        try:
            while True:
                few = self._listed(values, limit)
                looked_at_itself = self._lowest <= depth
                if few is None or not looked_at_itself or few == self._so_far[values]:
                    break
                self._so_far[values] = few
        finally:
            del self._depths[values], self._so_far[values]
            lowest = self._lowest
            self._lowest = min(outer, lowest if lowest < depth else _NEVER)
        # What is too many so far stays too many; a list is final if nothing open took part in it.
        if few is None or (lowest >= depth and self._form.doubts == doubts):
            self._known[values] = _Known(limit, few)
        return few

    def _listed(self, values: ValueSet, limit: int) -> Few:
        found: set[Canonical] = set()
        try:
            for each in self._values(values, limit):
                found.add(each)
                if len(found) > limit:
                    return None
        except _TooManyError:
            return None
        return frozenset(found)

    def _values(self, values: ValueSet, limit: int) -> Iterator[Canonical]:
        for of in TYPES:
            if of not in CONTAINERS:
                scalars = self._form.listed_scalars(values, of, limit)
                if scalars is None:
                    raise _TooManyError
                yield from map(canonical_value, scalars)
        array = self._form.array(values)
        if array is not None:
            yield from self._arrays(array, limit)
        object_ = self._form.object(values)
        if object_ is not None:
            yield from self._objects(object_, limit)

    def _known_few(self, values: ValueSet, limit: int) -> frozenset[Canonical]:
        few = self.of(values, limit, self._pointer)
        if few is None:
            raise _TooManyError
        return few

    def _arrays(self, shape: ArrayShape, limit: int) -> Iterator[Canonical]:
        """Level by level; whatever is begun can be finished, so many beginnings are too many."""
        level: dict[tuple[tuple[Canonical, ...], Written], None]
        level = {((), start): None for start in shape.starts if shape.can_finish(start)}
        steps = 0
        while level:
            following: dict[tuple[tuple[Canonical, ...], Written], None] = {}
            for items, written in level:
                if shape.may_close(written):
                    yield canonical_array(items)
                for offer in shape.offers(written):
                    within = offer.within
                    if within is None:
                        most = limit + len(offer.without)
                        within = self._known_few(offer.values, most) - offer.without
                    for item in sorted(within):
                        if offer.within is None or self._has(offer.values, item):
                            after = shape.with_seen(offer.after, item)
                            following[(*items, item), after] = None
                if len({items for items, _ in following}) > limit:
                    raise _TooManyError
                steps = self._counted(steps)
            level = following

    def _has(self, values: ValueSet, item: Canonical) -> bool:
        return contains(self._form, values, frozenset((item,)))

    def _objects(self, shape: ObjectShape, limit: int) -> Iterator[Canonical]:
        """Named keys in their order, then the others; whatever is begun can be finished."""
        most_keys = limit * shape.most_needed
        seen: set[tuple[frozenset[tuple[str, Canonical]], Progress]] = set()
        stack: list[tuple[_Members, Progress]] = [((), shape.start)]
        steps = 0
        while stack:
            members, progress = stack.pop()
            if shape.may_close(progress):
                yield canonical_object({json.dumps(key): value for key, value in members})
            for key, ways in self._keys(shape, members, progress, most_keys):
                for way in ways:
                    for value, after in self._under_key(shape, way, limit):
                        more = (*members, (key, value))
                        if (place := (frozenset(more), after)) not in seen:
                            seen.add(place)
                            stack.append((more, after))
            steps = self._counted(steps)

    def _under_key(
        self, shape: ObjectShape, way: KeyWay, limit: int
    ) -> Iterator[tuple[Canonical, Progress]]:
        if way.strings is None:
            yield from (
                (value, way.progress) for value in sorted(self._known_few(way.values, limit))
            )
            return
        told_apart = way.strings.words(limit)
        if told_apart is None:
            raise _TooManyError
        for text, left in told_apart:
            yield canonical_value(text), shape.after_string(way.progress, left)

    def _keys(
        self,
        shape: ObjectShape,
        members: _Members,
        progress: Progress,
        most: int,
    ) -> Iterator[tuple[str, list[KeyWay]]]:
        required = shape.required & shape.ordered & ~progress.passed
        for index, name in enumerate(shape.names):
            if progress.passed >> index & 1:
                continue
            ways = shape.after_name(progress, index, in_order=True)
            yield name, ways
            if required >> index & 1:
                return
        written = {key for key, _ in members}
        for each in shape.classes:
            ways = shape.after_other(progress, each, in_order=True)
            if not ways:
                continue
            keys = words(shape.classes.keys(each), most)
            if keys is None:
                raise _TooManyError
            for key in keys:
                if key not in written:
                    yield key, ways

    def _counted(self, steps: int) -> int:
        if steps >= MAX_SEARCH:
            raise LimitExceededError(
                "has too many combinations of the items' values to count",
                "combinations",
                "uniqueItems",
                self._pointer,
            )
        return steps + 1
