"""Keywords that apply subschemas to the same value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlx_structured.json_schema.formula import (
    TRUE,
    Formula,
    Holds,
    OneOf,
    Property,
    Required,
    conjunction,
    disjunction,
)
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import Node, SchemaNode


def reference(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``$ref`` (2020-12 core, section 8.2.3.1)."""
    return Holds(node.reference("$ref"))


def reference_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.reference("$ref"),)


def dynamic_reference(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``$dynamicRef`` (2020-12 core, section 8.2.3.2)."""
    return Holds(node.reference("$dynamicRef"))


def dynamic_reference_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.reference("$dynamicRef"),)


def recursive_reference(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``$recursiveRef`` (2019-09 core, section 8.2.4.2.1)."""
    return Holds(node.reference("$recursiveRef"))


def recursive_reference_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.reference("$recursiveRef"),)


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


def one_of(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``oneOf`` (2020-12 core, section 10.2.1.3): one branch holds, and none of the others."""
    return OneOf(tuple(one_of_children(node, value)))


def one_of_children(node: SchemaNode, value: Any) -> list[Node]:
    return [node.child("oneOf", i) for i in range(len(value))]


def not_(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``not`` (2020-12 core, section 10.2.1.4)."""
    return Holds(node.table.negation(node.child("not")))


def not_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return (node.child("not"),)


def if_(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``if`` with ``then`` and ``else`` (2020-12 core, section 10.2.2)."""
    condition = node.child("if")
    return disjunction(
        conjunction([Holds(when), Holds(node.child(branch)) if branch in node.keywords else TRUE])
        for when, branch in ((condition, "then"), (node.table.negation(condition), "else"))
    )


def if_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child(branch) for branch in ("if", "then", "else") if branch in node.keywords]


def only_beside_if(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``then`` and ``else`` say nothing by themselves."""
    return TRUE


def dependent_schemas(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``dependentSchemas`` (2020-12 core, section 10.2.2.4)."""
    return conjunction(
        disjunction(
            [Property(name, node.table.no_value), Holds(node.child("dependentSchemas", name))]
        )
        for name in value
    )


def dependent_schemas_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [node.child("dependentSchemas", name) for name in value]


def dependencies(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``dependencies`` (draft 7, section 6.5.7): names or a schema for each key."""
    return conjunction(
        disjunction(
            [
                Property(name, node.table.no_value),
                conjunction(map(Required, wanted))
                if isinstance(wanted, list)
                else Holds(node.child("dependencies", name)),
            ]
        )
        for name, wanted in value.items()
    )


def dependencies_children(node: SchemaNode, value: Any) -> Iterable[Node]:
    return [
        node.child("dependencies", name)
        for name, wanted in value.items()
        if not isinstance(wanted, list)
    ]
