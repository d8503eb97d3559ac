"""Schemas that some value satisfies for a reason that is plain to see.

Most positions of most schemas have a simple value: an empty array, an object of just the required
keys, a short string. Where one is found, the position isn't empty, and nothing else of it has to be
looked at before it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mlx_structured.json_schema.key_order import is_writable
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import TYPES, Node, SchemaNode, json_type

_IN_PLACE = frozenset(name for name, keyword in KEYWORDS.items() if keyword.in_place)
_ABOUT = {
    of: frozenset(
        name for name, keyword in KEYWORDS.items() if of in keyword.types and name != "type"
    )
    for of in TYPES
}
_ABOUT_STRINGS = _ABOUT["string"] - {"minLength", "maxLength"}
_ABOUT_EMPTY_ARRAYS = frozenset({"enum", "const", "minItems", "contains"})
_ABOUT_EMPTY_OBJECTS = frozenset({"enum", "const", "minProperties", "required"})
_ABOUT_REQUIRED_ALONE = _ABOUT["object"] - {"properties", "required", "additionalProperties"}
_VALUES_GIVEN = ("enum", "const")


def has_plain_value(node: Node) -> bool:
    """Whether some value satisfies the node for certain. "No" only means that it isn't plain.

    The value can be written in every style.
    """
    if node.is_plain:
        return True
    if not isinstance(node, SchemaNode):
        return False
    found = node.has_plain_value
    if found is None:
        node.has_plain_value = False  # while it is looked at: a value must not need itself
        found = node.has_plain_value = _find(node)
    return found


def _find(node: SchemaNode) -> bool:
    keywords = node.keywords
    if not _IN_PLACE.isdisjoint(keywords):
        return False
    types = node.types
    for of in ("null", "boolean", "number"):
        if of in types and _ABOUT[of].isdisjoint(keywords):
            return True
    if "string" in types and _ABOUT_STRINGS.isdisjoint(keywords):
        longest = keywords.get("maxLength")
        if longest is None or keywords.get("minLength", 0) <= longest:
            return True
    if "array" in types and _ABOUT_EMPTY_ARRAYS.isdisjoint(keywords):
        return True
    if "object" in types and _ABOUT_EMPTY_OBJECTS.isdisjoint(keywords):
        return True
    if not _ABOUT_REQUIRED_ALONE.isdisjoint(keywords):
        return _has_plain_member(node)
    return "object" in types and _has_required_alone(node, keywords)


def _has_required_alone(node: SchemaNode, keywords: Mapping[str, Any]) -> bool:
    """Whether the object of just the required keys can have plain values."""
    declared = keywords.get("properties", {})
    for name in keywords.get("required", ()):
        if not is_writable(name):
            return False
        if name in declared:
            if not has_plain_value(node.child("properties", name)):
                return False
        elif "additionalProperties" in keywords and not has_plain_value(
            node.child("additionalProperties")
        ):
            return False
    return True


def _has_plain_member(node: SchemaNode) -> bool:
    """Whether ``enum`` or ``const`` names a text, ``null`` or a boolean that nothing forbids."""
    keywords = node.keywords
    if "enum" in keywords and "const" in keywords:
        return False
    members: Iterable[object] = keywords.get("enum", ())
    if "const" in keywords:
        members = (keywords["const"],)
    for member in members:
        of = json_type(member)
        if of in node.types and of in ("null", "boolean", "string"):
            others = _ABOUT[of].intersection(keywords).difference(_VALUES_GIVEN)
            if not others and (of != "string" or is_writable(str(member))):
                return True
    return False
