"""The checks of a whole schema before anything else.

Every keyword is enforced or an annotation, and no subschema applies itself to the same value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlx_structured.errors import (
    LimitExceededError,
    PatternError,
    SchemaError,
    UnsupportedSchemaError,
)
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.keywords.table import no_children
from mlx_structured.json_schema.nodes import Node, SchemaNode
from mlx_structured.json_schema.pointers import escape_pointer
from mlx_structured.languages.ecma_pattern import search_language

_WITH_PATTERNS = frozenset({"pattern", "patternProperties"})


def check_support(root: Node) -> None:
    """Look at every subschema that can take part.

    Raises:
        UnsupportedSchemaError: at the first keyword that can't be enforced.
        SchemaError: as :func:`unsupported_keywords`.
    """
    for error in unsupported_keywords(root):
        raise error


def unsupported_keywords(root: Node) -> Iterator[UnsupportedSchemaError]:
    """Each keyword that can't be enforced, in every subschema that can take part.

    Equal subschemas are looked at once, and what a refused keyword applies isn't looked at.

    Raises:
        SchemaError: at a pattern that can't be read, a reference that leads nowhere, or a
            subschema that applies itself to the same value.
    """
    seen: set[Node] = set()
    in_place: dict[Node, list[Node]] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, SchemaNode):
            continue
        seen.add(node)
        children: list[Node] = []
        unknown = node.dialect.unknown
        for name, value in node.keywords.items():
            # In no draft does additionalItems say anything without a list of items.
            if name in unknown and (name != "additionalItems" or "prefixItems" in node.keywords):
                yield UnsupportedSchemaError(
                    name, _pointer(node, name), f"does not belong to {node.dialect.name}"
                )
                continue
            if name in _WITH_PATTERNS:
                try:
                    _check_pattern(node, name, value, _pointer(node, name))
                except UnsupportedSchemaError as error:
                    yield error
                except LimitExceededError as error:
                    error.locate(name, _pointer(node, name))
                    raise
            keyword = KEYWORDS[name]
            if keyword.children is no_children:
                continue
            applied = list(keyword.children(node, value))
            children += applied
            if keyword.in_place:
                in_place.setdefault(node, []).extend(applied)
        stack += reversed(children)
    _check_recursion(in_place)


def _pointer(node: SchemaNode, keyword: str) -> str:
    return f"{node.pointer}/{escape_pointer(keyword)}"


def _check_recursion(in_place: Mapping[Node, Sequence[Node]]) -> None:
    """Nothing may go round without a step into the value (2020-12 core, section 9.4.1)."""
    done: set[Node] = set()
    for root in in_place:
        path: dict[Node, Iterator[Node]] = {} if root in done else {root: iter(in_place[root])}
        while path:
            node, rest = next(reversed(path.items()))
            child = next(rest, None)
            if child is None:
                del path[node]
                done.add(node)
            elif child in path:
                raise SchemaError(
                    "the schema refers to itself for the same value, without an end; "
                    "take the reference out of its own allOf, anyOf or $ref",
                    child.pointer,
                )
            elif child not in done:
                path[child] = iter(in_place.get(child, ()))


def _check_pattern(node: SchemaNode, name: str, value: object, pointer: str) -> None:
    try:
        if isinstance(value, Mapping):
            for pattern in value:
                search_language(pattern)
        else:
            KEYWORDS[name].formula(node, "string", value)
    except PatternError as error:
        if error.supported:
            raise SchemaError(str(error), pointer) from error
        raise UnsupportedSchemaError(name, pointer, f"can't be enforced: {error.reason}") from error
