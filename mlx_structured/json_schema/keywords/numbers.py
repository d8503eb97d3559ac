"""Keywords that speak about numbers."""

from __future__ import annotations

from typing import Any

from mlx_structured.json_schema.formula import TRUE, Formula, Within
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import SchemaNode
from mlx_structured.languages.number_set import at_least, at_most, multiples_of


def minimum(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``minimum`` (2020-12 validation, section 6.2.4)."""
    exclusive = node.dialect.exclusive_bounds_are_flags and bool(
        node.keywords.get("exclusiveMinimum", False)
    )
    return Within(at_least(value, exclusive=exclusive))


def maximum(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``maximum`` (2020-12 validation, section 6.2.2)."""
    exclusive = node.dialect.exclusive_bounds_are_flags and bool(
        node.keywords.get("exclusiveMaximum", False)
    )
    return Within(at_most(value, exclusive=exclusive))


def exclusive_minimum(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``exclusiveMinimum`` (2020-12 validation, section 6.2.5); in draft 4 see ``minimum``."""
    if node.dialect.exclusive_bounds_are_flags:
        return TRUE
    return Within(at_least(value, exclusive=True))


def exclusive_maximum(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``exclusiveMaximum`` (2020-12 validation, section 6.2.3); in draft 4 see ``maximum``."""
    if node.dialect.exclusive_bounds_are_flags:
        return TRUE
    return Within(at_most(value, exclusive=True))


def multiple_of(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``multipleOf`` (2020-12 validation, section 6.2.1), of the decimals as they are written."""
    return Within(multiples_of(value))
