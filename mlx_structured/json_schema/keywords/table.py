"""Which keywords speak about values of which type, and the functions that say what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.json_types import TYPES, JsonType
from mlx_structured.json_schema.keywords import (
    any_type,
    arrays,
    in_place,
    numbers,
    objects,
    strings,
    unevaluated,
)
from mlx_structured.json_schema.nodes import Node, SchemaNode


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
    "$dynamicRef": Keyword(
        _EVERY, in_place.dynamic_reference, in_place.dynamic_reference_children, in_place=True
    ),
    "$recursiveRef": Keyword(
        _EVERY, in_place.recursive_reference, in_place.recursive_reference_children, in_place=True
    ),
    "allOf": Keyword(_EVERY, in_place.all_of, in_place.all_of_children, in_place=True),
    "anyOf": Keyword(_EVERY, in_place.any_of, in_place.any_of_children, in_place=True),
    "oneOf": Keyword(_EVERY, in_place.one_of, in_place.one_of_children, in_place=True),
    "not": Keyword(_EVERY, in_place.not_, in_place.not_children, in_place=True),
    "if": Keyword(_EVERY, in_place.if_, in_place.if_children, in_place=True),
    "then": Keyword(_EVERY, in_place.only_beside_if),
    "else": Keyword(_EVERY, in_place.only_beside_if),
    "dependentSchemas": Keyword(
        _OBJECT, in_place.dependent_schemas, in_place.dependent_schemas_children, in_place=True
    ),
    "dependencies": Keyword(
        _OBJECT, in_place.dependencies, in_place.dependencies_children, in_place=True
    ),
    "type": Keyword(_EVERY, any_type.type_),
    "enum": Keyword(_EVERY, any_type.enum),
    "const": Keyword(_EVERY, any_type.const),
    "minimum": Keyword(_NUMBER, numbers.minimum),
    "maximum": Keyword(_NUMBER, numbers.maximum),
    "exclusiveMinimum": Keyword(_NUMBER, numbers.exclusive_minimum),
    "exclusiveMaximum": Keyword(_NUMBER, numbers.exclusive_maximum),
    "multipleOf": Keyword(_NUMBER, numbers.multiple_of),
    "minLength": Keyword(_STRING, strings.min_length),
    "maxLength": Keyword(_STRING, strings.max_length),
    "pattern": Keyword(_STRING, strings.pattern),
    "format": Keyword(_STRING, strings.format_),
    "minItems": Keyword(_ARRAY, arrays.min_items),
    "maxItems": Keyword(_ARRAY, arrays.max_items),
    "prefixItems": Keyword(_ARRAY, arrays.prefix_items, arrays.prefix_items_children),
    "items": Keyword(_ARRAY, arrays.items, arrays.items_children),
    "uniqueItems": Keyword(_ARRAY, arrays.unique_items),
    "additionalItems": Keyword(_ARRAY, arrays.additional_items, arrays.additional_items_children),
    "contains": Keyword(_ARRAY, arrays.contains, arrays.contains_children),
    "minContains": Keyword(_ARRAY, arrays.only_beside_contains),
    "maxContains": Keyword(_ARRAY, arrays.only_beside_contains),
    "patternProperties": Keyword(
        _OBJECT, objects.pattern_properties, objects.pattern_properties_children
    ),
    "propertyNames": Keyword(_OBJECT, objects.property_names, objects.property_names_children),
    "minProperties": Keyword(_OBJECT, objects.min_properties),
    "maxProperties": Keyword(_OBJECT, objects.max_properties),
    "dependentRequired": Keyword(_OBJECT, objects.dependent_required),
    "unevaluatedProperties": Keyword(
        _OBJECT, unevaluated.unevaluated_properties, unevaluated.unevaluated_properties_children
    ),
    "unevaluatedItems": Keyword(
        _ARRAY, unevaluated.unevaluated_items, unevaluated.unevaluated_items_children
    ),
    "required": Keyword(_OBJECT, objects.required),
    "properties": Keyword(_OBJECT, objects.properties, objects.properties_children),
    "additionalProperties": Keyword(
        _OBJECT, objects.additional_properties, objects.additional_properties_children
    ),
}
