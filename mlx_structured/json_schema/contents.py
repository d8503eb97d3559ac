"""Numbers for JSON values, the same for equal texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


class Contents:
    """Numbers JSON values by their content, in the time that their size takes, however deep.

    As in a text, ``1`` is not ``1.0`` and the order of keys counts. Containers are kept, so that a
    number found by identity stays right: they must not change.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[int, object]] = {}
        self._by_content: dict[Hashable, int] = {}

    def of(self, value: Any) -> int:
        """The number of an object or array as ``json.loads`` makes it."""
        stack = self._unknown_members(value)
        while stack:
            each = stack[-1]
            missing = self._unknown_members(each)
            if missing:
                stack += missing
            else:
                self._by_identity[id(each)] = (self._number(each), each)
                stack.pop()
        return self._number(value)

    def _unknown_members(self, container: Any) -> list[Any]:
        return [
            member
            for member in _members(container)
            if isinstance(member, (dict, list)) and id(member) not in self._by_identity
        ]

    def _number(self, container: Any) -> int:
        members = tuple(map(self._mark, _members(container)))
        content = (tuple(container) if isinstance(container, dict) else None, members)
        return self._by_content.setdefault(content, len(self._by_content))

    def _mark(self, member: object) -> Hashable:
        if isinstance(member, (dict, list)):
            return self._by_identity[id(member)][0], None
        return type(member), member


def _members(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container
