"""The check that every keyword of a schema is enforced or an annotation, before anything else."""

from __future__ import annotations

from mlx_structured.errors import PatternError, SchemaError, UnsupportedSchemaError
from mlx_structured.json_schema.dialects import REFUSED
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import Node, SchemaNode, escape_pointer


def check_support(root: Node) -> None:
    """Look at every subschema that can take part.

    Raises:
        UnsupportedSchemaError: at the first keyword that can't be enforced.
        SchemaError: at a pattern that can't be read, or a reference that leads nowhere.
    """
    seen: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, SchemaNode):
            continue
        seen.add(node)
        hides = node.dialect.ref_hides_siblings and "$ref" in node.keywords
        children: list[Node] = []
        for name, value in node.keywords.items():
            if hides and name != "$ref":
                continue
            pointer = f"{node.pointer}/{escape_pointer(name)}"
            keyword = KEYWORDS.get(name)
            if name in node.dialect.unknown:
                raise UnsupportedSchemaError(
                    name, pointer, f"does not belong to {node.dialect.name}"
                )
            if name in REFUSED:
                raise UnsupportedSchemaError(name, pointer)
            if keyword is None:
                continue
            if name in ("pattern", "format"):
                _check_pattern(node, name, value, pointer)
            children += keyword.children(node, value)
        stack += reversed(children)


def _check_pattern(node: SchemaNode, name: str, value: object, pointer: str) -> None:
    try:
        KEYWORDS[name].formula(node, "string", value)
    except PatternError as error:
        if error.supported:
            raise SchemaError(str(error), pointer) from error
        raise UnsupportedSchemaError(name, pointer, f"can't be enforced: {error.reason}") from error
