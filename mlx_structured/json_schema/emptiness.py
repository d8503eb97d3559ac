"""Which value positions some finite value fits: a least fixpoint over the recursion of a schema.

A position that needs itself (``{"required": ["a"], "properties": {"a": {"$ref": "#"}}}``) is
empty. While a position is looked into it counts as empty; "nonempty" found so is true at once,
"empty" only when no unfinished position took part in the answer (Tarjan's components).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_structured.json_schema.json_types import TYPES
from mlx_structured.json_schema.memo import Memo
from mlx_structured.json_schema.nodes import ValueSet, is_passing
from mlx_structured.json_schema.plain_values import plain_types

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm

_NEVER = 1 << 60
_TYPES = frozenset(TYPES)
_CHEAPEST_FIRST = ("null", "boolean", "string", "number")

LEVELS = 25
"""A search goes no deeper before it is put off: a level takes ten of Python's 1,000 frames."""


class _PutOff(Exception):  # noqa: N818
    """A position that has to be decided before the search above it can go on."""

    def __init__(self, values: ValueSet) -> None:
        super().__init__()
        self.values = values


class Emptiness:
    """Memoised answers for the positions of one schema."""

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        self._known: Memo[ValueSet, bool] = Memo(is_passing)
        self._depths: dict[ValueSet, int] = {}
        self._lowest = _NEVER
        self._provisional: list[ValueSet] = []
        self._waiting: list[ValueSet] = []
        self.doubts = 0
        """How often a position was taken for empty because it is being looked into."""

    @property
    def is_searching(self) -> bool:
        """Whether some position is being looked into."""
        return bool(self._depths)

    def is_nonempty(self, values: ValueSet) -> bool:
        """Whether some value, writable in the style, satisfies every node."""
        known = self._known.get(values)
        if known is not None:
            return known
        if values in self._depths:
            self._lowest = min(self._lowest, self._depths[values])
            self.doubts += 1
            return False
        if len(values) == 1:
            (node,) = values
            if plain_types(node):
                return True
        types = _TYPES.intersection(*(node.types for node in values))
        if not types:
            self._known[values] = False
            return False
        if any(self._form.has_scalar(values, of) for of in _CHEAPEST_FIRST if of in types):
            self._known[values] = True
            return True
        if not self._depths:
            return self._search_in_pieces(values)
        if len(self._depths) >= LEVELS and values not in self._waiting:
            raise _PutOff(values)
        return self._search(values)

    def _search_in_pieces(self, values: ValueSet) -> bool:
        """Decide what lies deep first, so that the depth of a schema isn't that of the stack.

        A position that is waited for already, because the schema is recursive, is gone into.
        """
        waiting = self._waiting = [values]
        try:
            while True:
                try:
                    found = self._search(waiting[-1])
                except _PutOff as deeper:
                    waiting.append(deeper.values)
                    continue
                waiting.pop()
                if not waiting:
                    return found
        finally:
            self._waiting = []

    def doubt(self) -> None:
        """Take "no" of all positions that are being looked into for unfinished."""
        self._lowest = -1

    def _search(self, values: ValueSet) -> bool:
        depth = len(self._depths)
        outer, self._lowest = self._lowest, _NEVER
        mark = len(self._provisional)
        self._depths[values] = depth
        try:
            found = self._form.array(values) is not None or self._form.object(values) is not None
        except BaseException:
            # What was found so far depends on answers that won't come.
            del self._provisional[mark:]
            raise
        finally:
            del self._depths[values]
            lowest = self._lowest
            self._lowest = min(outer, lowest if lowest < depth else _NEVER)
        if found:
            self._known[values] = True
            del self._provisional[mark:]
        elif lowest >= depth:
            self._known[values] = False
            for each in self._provisional[mark:]:
                if each not in self._known:
                    self._known[each] = False
            del self._provisional[mark:]
        elif depth:
            self._provisional.append(values)
        else:
            self._provisional.clear()
        return found
