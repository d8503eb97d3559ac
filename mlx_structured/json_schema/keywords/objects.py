"""Keywords that speak about objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlx_structured.json_schema.formula import (
    Formula,
    Properties,
    Property,
    Required,
    conjunction,
)
from mlx_structured.json_schema.nodes import JsonType, Node, SchemaNode
from mlx_structured.languages.language import complement, literals


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
    named = literals(node.keywords.get("properties", ()))
    return Properties(complement(named), node.child("additionalProperties"))


def additional_properties_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("additionalProperties"),)
