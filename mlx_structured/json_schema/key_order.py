"""The order in which a schema declares keys."""

from __future__ import annotations

from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import Constant, Node, SchemaNode, ValueSet


def key_order(values: ValueSet) -> tuple[str, ...]:
    """Declared keys in document order, then required ones that aren't declared.

    Without those that no JSON text can have, see :func:`is_writable`. Subschemas that apply to the
    same value take part where they stand in the document.
    """
    declared: dict[str, None] = {}
    required: dict[str, None] = {}
    seen: set[Node] = set()
    stack: list[Node | tuple[str, ...]] = []
    nodes: list[Node] = sorted(values, key=lambda node: node.index, reverse=True)
    stack += nodes
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            declared.update(dict.fromkeys(node))
            continue
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Constant) and isinstance(node.value, dict) and not node.passing:
            declared.update(dict.fromkeys(node.value))
        if not isinstance(node, SchemaNode):
            continue
        parts: list[Node | tuple[str, ...]] = []
        keywords = node.keywords
        for keyword, value in keywords.items():
            if keyword == "properties":
                parts.append(tuple(value))
            elif keyword == "required":
                required.update(dict.fromkeys(value))
            elif keyword == "const" and isinstance(value, dict):
                parts.append(tuple(value))
            elif keyword == "enum":
                parts += [tuple(member) for member in value if isinstance(member, dict)]
            elif keyword in KEYWORDS and KEYWORDS[keyword].in_place:
                parts += KEYWORDS[keyword].children(node, value)
        stack.extend(reversed(parts))
    return tuple(filter(is_writable, {**declared, **required}))


def is_writable(name: str) -> bool:
    """Whether JSON can have the key in UTF-8: an unpaired surrogate is no character."""
    return name.isascii() or not any(0xD800 <= ord(character) <= 0xDFFF for character in name)
