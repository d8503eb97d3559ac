"""Which keywords speak about values of which type, and the functions that say what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.keywords import (
    any_type,
    arrays,
    in_place,
    numbers,
    objects,
    strings,
)
from mlx_structured.json_schema.nodes import TYPES, JsonType, Node, SchemaNode


def no_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    """The subschemas of a keyword that has none."""
    return ()


@dataclass(frozen=True)
class Keyword:
    """One enforced keyword.

    Arguments:
        types: the JSON types that it says something about.
        formula: given the node, the type and the keyword's value, what it says of that type.
        children: given the node and the keyword's value, the nodes that it applies.
        in_place: whether it applies them to the same value.
    """

    types: frozenset[JsonType]
    formula: Callable[[SchemaNode, JsonType, Any], Formula]
    children: Callable[[SchemaNode, Any], Iterable[Node]] = no_children
    in_place: bool = False


_EVERY = frozenset(TYPES)
_NUMBER = frozenset({"number"})
_STRING = frozenset({"string"})
_ARRAY = frozenset({"array"})
_OBJECT = frozenset({"object"})

KEYWORDS: Mapping[str, Keyword] = {
    "$ref": Keyword(_EVERY, in_place.reference, in_place.reference_children, in_place=True),
    "allOf": Keyword(_EVERY, in_place.all_of, in_place.all_of_children, in_place=True),
    "anyOf": Keyword(_EVERY, in_place.any_of, in_place.any_of_children, in_place=True),
    "type": Keyword(_EVERY, any_type.type_),
    "enum": Keyword(_EVERY, any_type.enum),
    "const": Keyword(_EVERY, any_type.const),
    "minimum": Keyword(_NUMBER, numbers.minimum),
    "maximum": Keyword(_NUMBER, numbers.maximum),
    "exclusiveMinimum": Keyword(_NUMBER, numbers.exclusive_minimum),
    "exclusiveMaximum": Keyword(_NUMBER, numbers.exclusive_maximum),
    "minLength": Keyword(_STRING, strings.min_length),
    "maxLength": Keyword(_STRING, strings.max_length),
    "pattern": Keyword(_STRING, strings.pattern),
    "format": Keyword(_STRING, strings.format_),
    "minItems": Keyword(_ARRAY, arrays.min_items),
    "maxItems": Keyword(_ARRAY, arrays.max_items),
    "prefixItems": Keyword(_ARRAY, arrays.prefix_items, arrays.prefix_items_children),
    "items": Keyword(_ARRAY, arrays.items, arrays.items_children),
    "required": Keyword(_OBJECT, objects.required),
    "properties": Keyword(_OBJECT, objects.properties, objects.properties_children),
    "additionalProperties": Keyword(
        _OBJECT, objects.additional_properties, objects.additional_properties_children
    ),
}
