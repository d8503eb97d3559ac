"""Keywords that speak about arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    Count,
    Formula,
    Items,
    Length,
    Unique,
    conjunction,
)
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import Node, SchemaNode


def min_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``minItems`` (2020-12 validation, section 6.4.2)."""
    return Length(int(value), None)


def max_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``maxItems`` (2020-12 validation, section 6.4.1)."""
    return Length(0, int(value))


def prefix_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``prefixItems`` (2020-12 core, section 10.3.1.1)."""
    children = prefix_items_children(node, value)
    return conjunction(Items(i, i + 1, child) for i, child in enumerate(children))


def prefix_items_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("prefixItems", i) for i in range(len(value))]


def items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``items`` (2020-12 core, section 10.3.1.2); as a list it is a prefix, up to 2019-09."""
    children = items_children(node, value)
    if isinstance(value, list):
        return conjunction(Items(i, i + 1, child) for i, child in enumerate(children))
    (child,) = children
    return Items(len(node.keywords.get("prefixItems", ())), None, child)


def items_children(node: SchemaNode, value: Any) -> list[Node]:
    if isinstance(value, list):
        return [node.child("items", i) for i in range(len(value))]
    return [node.child("items")]


def additional_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``additionalItems`` (draft 7, section 6.4.2): only beside a list of ``items``."""
    prefix = node.keywords.get("items")
    if not isinstance(prefix, list):
        return TRUE
    return Items(len(prefix), None, node.child("additionalItems"))


def additional_items_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    if not isinstance(node.keywords.get("items"), list):
        return ()  # and in draft 2020-12 no metaschema says that it is a schema
    return (node.child("additionalItems"),)


def contains(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``contains`` with ``minContains`` and ``maxContains`` (2020-12 core, section 10.3.1.3)."""
    least, most = 1, None
    if "minContains" not in node.dialect.unknown:
        least = int(node.keywords.get("minContains", 1))
        if "maxContains" in node.keywords:
            most = int(node.keywords["maxContains"])
    if most is not None and least > most:
        return FALSE
    if least == 0 and most is None:
        return TRUE
    return Count(0, None, node.child("contains"), least, most)


def contains_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("contains"),)


def only_beside_contains(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``minContains`` and ``maxContains`` say nothing by themselves."""
    return TRUE


def unique_items(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``uniqueItems`` (2020-12 validation, section 6.4.3)."""
    return Unique(f"{node.pointer}/uniqueItems") if value else TRUE
