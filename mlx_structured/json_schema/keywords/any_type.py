"""Keywords that speak about values of every type."""

from __future__ import annotations

from typing import Any

from mlx_structured.json_schema.formula import FALSE, TRUE, Formula, Holds, Within, disjunction
from mlx_structured.json_schema.json_types import CONTAINERS, JsonType, json_type
from mlx_structured.json_schema.nodes import SchemaNode
from mlx_structured.json_schema.scalars import INTEGERS, scalar_members
from mlx_structured.languages.spelled_numbers import INTEGER_TEXTS


def type_(node: SchemaNode, of: JsonType, value: Any) -> Formula:
    """``type`` (2020-12 validation, section 6.1.1). ``1.0`` is an integer, but not in draft 4."""
    types = [value] if isinstance(value, str) else value
    if of in types:
        return TRUE
    if of == "number" and "integer" in types:
        return Within(INTEGER_TEXTS if node.dialect.integers_are_spelled else INTEGERS)
    return FALSE


def enum(node: SchemaNode, of: JsonType, value: Any) -> Formula:
    """``enum`` (2020-12 validation, section 6.1.2)."""
    members = [member for member in value if json_type(member) == of]
    if of in CONTAINERS:
        return disjunction(Holds(node.table.constant(member)) for member in members)
    return Within(scalar_members(of, members)) if members else FALSE


def const(node: SchemaNode, of: JsonType, value: Any) -> Formula:
    """``const`` (2020-12 validation, section 6.1.3)."""
    return enum(node, of, [value])
