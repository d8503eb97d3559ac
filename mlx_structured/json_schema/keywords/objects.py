"""Keywords that speak about objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlx_structured.json_schema.formula import (
    Formula,
    Names,
    Properties,
    Property,
    Required,
    Size,
    conjunction,
    disjunction,
)
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import Node, SchemaNode
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.language import complement, literals, union


def required(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``required`` (2020-12 validation, section 6.5.3)."""
    return conjunction(Required(name) for name in value)


def properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``properties`` (2020-12 core, section 10.3.2.1)."""
    return conjunction(Property(name, node.child("properties", name)) for name in value)


def properties_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("properties", name) for name in value]


def additional_properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``additionalProperties`` (2020-12 core, section 10.3.2.3)."""
    named = [
        literals(node.keywords.get("properties", ())),
        *map(search_language, node.keywords.get("patternProperties", ())),
    ]
    return Properties(complement(union(named)), node.child("additionalProperties"))


def additional_properties_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("additionalProperties"),)


def pattern_properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``patternProperties`` (2020-12 core, section 10.3.2.2)."""
    return conjunction(
        Properties(search_language(pattern), node.child("patternProperties", pattern))
        for pattern in value
    )


def pattern_properties_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("patternProperties", pattern) for pattern in value]


def property_names(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``propertyNames`` (2020-12 core, section 10.3.2.4)."""
    return Names(node.child("propertyNames"))


def property_names_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("propertyNames"),)


def min_properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``minProperties`` (2020-12 validation, section 6.5.2)."""
    return Size(int(value), None)


def max_properties(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``maxProperties`` (2020-12 validation, section 6.5.1)."""
    return Size(0, int(value))


def dependent_required(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``dependentRequired`` (2020-12 validation, section 6.5.4)."""
    return conjunction(
        disjunction([Property(name, node.table.no_value), conjunction(map(Required, wanted))])
        for name, wanted in value.items()
    )
