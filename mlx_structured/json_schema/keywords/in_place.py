"""Keywords that apply subschemas to the same value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlx_structured.json_schema.formula import Formula, Holds, conjunction, disjunction
from mlx_structured.json_schema.nodes import JsonType, Node, SchemaNode


def reference(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``$ref`` (2020-12 core, section 8.2.3.1)."""
    return Holds(node.reference("$ref"))


def reference_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.reference("$ref"),)


def all_of(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``allOf`` (2020-12 core, section 10.2.1.1)."""
    return conjunction(Holds(child) for child in all_of_children(node, value))


def all_of_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("allOf", i) for i in range(len(value))]


def any_of(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``anyOf`` (2020-12 core, section 10.2.1.2)."""
    return disjunction(Holds(child) for child in any_of_children(node, value))


def any_of_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("anyOf", i) for i in range(len(value))]
