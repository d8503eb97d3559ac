"""Schemas that some value satisfies for a reason that is plain to see.

Most positions of most schemas have a simple value: an empty array, an object of just the required
keys, a short string. Where one is found, the position isn't empty, and nothing else of it has to be
looked at before it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlx_structured.json_schema.json_types import TYPES, JsonType, json_type
from mlx_structured.json_schema.key_order import is_writable
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import Node, SchemaNode

_IN_PLACE = frozenset(name for name, keyword in KEYWORDS.items() if keyword.in_place)
_ABOUT = {
    of: frozenset(
        name for name, keyword in KEYWORDS.items() if of in keyword.types and name != "type"
    )
    for of in TYPES
}
_ABOUT_EMPTY_ARRAYS = frozenset({"enum", "const", "minItems", "contains"})
_ABOUT_EMPTY_OBJECTS = frozenset({"enum", "const", "minProperties", "required"})
_ABOUT_REQUIRED_ALONE = _ABOUT["object"] - {"properties", "required", "additionalProperties"}
_VALUES_GIVEN = frozenset({"enum", "const"})
_NONE: frozenset[JsonType] = frozenset()

LEVELS = 25
"""Nothing is certain of what lies deeper: a level takes five of Python's 1,000 frames."""


def plain_types(node: Node) -> frozenset[JsonType]:
    """The types of some values that satisfy the node for certain; none if it isn't plain.

    The values can be written in every style.
    """
    if node.is_plain:
        return node.types
    if not isinstance(node, SchemaNode):
        return _NONE
    found = node.plain_types
    if found is None:
        table = node.table
        if table.plain_depth == LEVELS:
            return _NONE
        node.plain_types = _NONE  # while it is looked at: a value must not need itself
        table.plain_depth += 1
        try:
            found = _find(node)
        except BaseException:
            node.plain_types = None
            raise
        finally:
            table.plain_depth -= 1
        node.plain_types = found
    return found


def _find(node: SchemaNode) -> frozenset[JsonType]:
    keywords = node.keywords
    if not _IN_PLACE.isdisjoint(keywords):
        return _of_branches(node) & node.types
    return frozenset([of for of in node.types if _HAS_PLAIN[of](node, keywords)])


def _of_branches(node: SchemaNode) -> frozenset[JsonType]:
    """Of a node that says nothing but ``anyOf`` or ``oneOf``, and ``type``."""
    left = node.keywords.keys() - {"type"}
    if left == {"anyOf"}:
        branches = (node.child("anyOf", i) for i in range(len(node.keywords["anyOf"])))
        return next(filter(None, map(plain_types, branches)), _NONE)
    if left == {"oneOf"}:
        nodes = [node.child("oneOf", i) for i in range(len(node.keywords["oneOf"]))]
        for one in nodes:
            alone = one.types.difference(*(other.types for other in nodes if other is not one))
            found = plain_types(one) & alone if alone and nodes.count(one) == 1 else _NONE
            if found:
                return found
    return _NONE


def _has_plain_symbol(of: JsonType) -> Callable[[SchemaNode, Mapping[str, Any]], bool]:
    """``null`` or a boolean."""

    def has_plain(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
        return _ABOUT[of].isdisjoint(keywords) or _has_member(of, keywords)

    return has_plain


def _has_plain_number(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    """0, or the whole number of one digit that lies furthest within the only bound."""
    said = _ABOUT["number"].intersection(keywords)
    if said == {"minimum"}:
        return bool(keywords["minimum"] <= 9)
    if said == {"maximum"}:
        return bool(keywords["maximum"] >= -9)
    return not said


def _has_plain_string(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    if _ABOUT["string"].intersection(keywords) == {"format"}:
        return True  # there is a text of each format
    if not (_ABOUT["string"] - {"minLength", "maxLength"}).isdisjoint(keywords):
        return _has_member("string", keywords)
    longest = keywords.get("maxLength")
    return longest is None or keywords.get("minLength", 0) <= longest


def _has_plain_array(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    """The empty one."""
    return _ABOUT_EMPTY_ARRAYS.isdisjoint(keywords)


def _has_plain_object(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    """The empty one, or the one of just the required keys."""
    if _ABOUT_EMPTY_OBJECTS.isdisjoint(keywords):
        return True
    return _ABOUT_REQUIRED_ALONE.isdisjoint(keywords) and _has_required_alone(node, keywords)


def _has_required_alone(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    """Whether the object of just the required keys can have plain values."""
    declared = keywords.get("properties", {})
    for name in keywords.get("required", ()):
        if not is_writable(name):
            return False
        if name in declared:
            if not plain_types(node.child("properties", name)):
                return False
        elif "additionalProperties" in keywords and not plain_types(
            node.child("additionalProperties")
        ):
            return False
    return True


def _has_member(of: JsonType, keywords: Mapping[str, Any]) -> bool:
    """Whether ``enum`` or ``const`` names a text, ``null`` or a boolean that nothing forbids."""
    given = _VALUES_GIVEN.intersection(keywords)
    if of == "number" or len(given) != 1 or _ABOUT[of].intersection(keywords) != given:
        return False
    members = keywords["enum"] if "enum" in keywords else (keywords["const"],)
    return any(
        json_type(member) == of and (of != "string" or is_writable(member)) for member in members
    )


_HAS_PLAIN: Mapping[JsonType, Callable[[SchemaNode, Mapping[str, Any]], bool]] = {
    "null": _has_plain_symbol("null"),
    "boolean": _has_plain_symbol("boolean"),
    "number": _has_plain_number,
    "string": _has_plain_string,
    "array": _has_plain_array,
    "object": _has_plain_object,
}
