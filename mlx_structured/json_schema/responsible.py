"""Which keyword to name when the analysis of a value position takes too long."""

from __future__ import annotations

from collections.abc import Iterable

from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import Either, Negation, Node, SchemaNode
from mlx_structured.json_schema.pointers import escape_pointer

_COSTLY = (
    "pattern",
    "patternProperties",
    "propertyNames",
    "contains",
    "uniqueItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "multipleOf",
    "format",
    "oneOf",
    "anyOf",
    "if",
    "dependentSchemas",
    "dependencies",
    "not",
    "enum",
    "const",
    "dependentRequired",
    "maxProperties",
    "minProperties",
    "maxLength",
    "minLength",
    "required",
    "allOf",
    "additionalProperties",
    "properties",
    "items",
    "prefixItems",
)
"""The keywords that cost most first: those that combine with each other before those that don't."""

_MOST_NODES = 1_000
"""More subschemas of one value aren't looked at for a message."""


def responsible_keyword(values: Iterable[Node], json_type: JsonType) -> tuple[str, str]:
    """The keyword that most likely asks for the work at a position, and its pointer.

    Arguments:
        values: the position: nodes that a value there must satisfy.
        json_type: of the values that were analysed.

    Returns:
        Two empty strings where no keyword speaks about that type.
    """
    best = (len(_COSTLY) + 1, "", "")
    seen: set[Node] = set()
    stack = sorted(values, key=lambda node: node.index, reverse=True)
    while stack and len(seen) < _MOST_NODES:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Negation):
            stack.append(node.inner)
        elif isinstance(node, Either):
            stack += sorted(node.nodes, key=lambda each: each.index, reverse=True)
        elif isinstance(node, SchemaNode):
            applied: list[Node] = []
            for name, value in node.keywords.items():
                keyword = KEYWORDS[name]
                if json_type not in keyword.types:
                    continue
                rank = _COSTLY.index(name) if name in _COSTLY else len(_COSTLY)
                if rank < best[0]:
                    best = (rank, name, keyword_pointer(node, name))
                if keyword.in_place:
                    applied += keyword.children(node, value)
            stack += reversed(applied)
    return best[1:]


def keyword_pointer(node: SchemaNode, keyword: str) -> str:
    """Where the keyword of a node stands."""
    return f"{node.pointer}/{escape_pointer(keyword)}"
