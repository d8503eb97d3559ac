"""Items that must differ: which values were written, and whether enough others are left."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction

Canonical = str
"""The text of a value that is the same for all equal values."""


def canonical(text: bytes) -> Canonical:
    """The canonical text of a JSON text: ``1.0`` is ``1``, the order of keys doesn't matter."""
    return json.dumps(_ordered(json.loads(text, parse_float=Fraction)), default=_fraction)


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def _fraction(value: object) -> object:
    return {"\0": str(value)}


def value_of(text: Canonical) -> object:
    """The value of a canonical text, with a ``Fraction`` for a number that isn't whole."""

    def restored(members: dict[str, object]) -> object:
        return Fraction(str(members["\0"])) if set(members) == {"\0"} else members

    return json.loads(text, object_hook=restored)


def canonical_scalar(value: object) -> Canonical:
    """The canonical text of a string, number, boolean or null."""
    return json.dumps(_ordered(value), default=_fraction)


def can_all_differ(domains: Sequence[frozenset[Canonical]], used: Iterable[Canonical]) -> bool:
    """Whether each domain can give a value of its own, none of them used already.

    A bipartite matching by augmenting paths.
    """
    gone = frozenset(used)
    owner: dict[Canonical, int] = {}

    def place(index: int, tried: set[Canonical]) -> bool:
        for value in domains[index]:
            if value in gone or value in tried:
                continue
            tried.add(value)
            if value not in owner or place(owner[value], tried):
                owner[value] = index
                return True
        return False

    return all(place(index, set()) for index in range(len(domains)))
