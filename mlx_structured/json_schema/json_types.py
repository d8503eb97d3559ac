"""The types of JSON values, with ``"number"`` for integers too."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

JsonType: TypeAlias = str
TYPES: tuple[JsonType, ...] = ("null", "boolean", "number", "string", "array", "object")
CONTAINERS = frozenset({"array", "object"})
EVERY_TYPE = frozenset(TYPES)
NO_TYPE: frozenset[JsonType] = frozenset()
TYPE_NAMED = {of: frozenset({of}) for of in TYPES} | {"integer": frozenset({"number"})}


def json_type(value: object) -> JsonType:
    """The JSON type of a value as ``json.loads`` makes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Fraction)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


def types_of(keywords: Mapping[str, Any]) -> frozenset[JsonType]:
    """The types that ``type``, ``enum`` and ``const`` leave."""
    types = EVERY_TYPE
    if "type" in keywords:
        names = keywords["type"]
        if isinstance(names, str):
            types = TYPE_NAMED[names]
        else:
            types = NO_TYPE.union(*(TYPE_NAMED[name] for name in names))
    if "const" in keywords:
        types &= {json_type(keywords["const"])}
    if "enum" in keywords:
        types &= {json_type(member) for member in keywords["enum"]}
    return types
