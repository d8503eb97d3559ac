"""What was found out about a schema, and for a while about the values that texts have."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_PASSING = 128
"""So many passing entries are new before the oldest ones go."""


class Memo(Generic[K, V]):
    """A mapping that forgets what is about the values of a text when much of it is newer.

    Arguments:
        is_passing: whether a key is about such values, not about the schema alone.
    """

    def __init__(self, is_passing: Callable[[K], bool]) -> None:
        self._is_passing = is_passing
        self._lasting: dict[K, V] = {}
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """What was found for the key, if it is still known."""
        for entries in (self._lasting, self._new):
            if key in entries:
                return entries[key]
        if key not in self._old:
            return None
        found = self[key] = self._old[key]
        return found

    def known(self) -> list[K]:
        """All that is known."""
        return [*self._lasting, *self._new, *self._old]

    def __contains__(self, key: K) -> bool:
        return key in self._lasting or key in self._new or key in self._old

    def __setitem__(self, key: K, found: V) -> None:
        if not self._is_passing(key):
            self._lasting[key] = found
            return
        self._new[key] = found
        if len(self._new) >= MAX_PASSING:
            self._old, self._new = self._new, {}
