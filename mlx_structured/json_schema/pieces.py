"""A deep schema in pieces that a recursive check can go through, each valid if the whole is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"
Subschemas: TypeAlias = Callable[[Any], Iterable[Any]]

LEVELS = 20
"""A check takes a dozen of Python's 1,000 frames for each level of subschemas."""


def shallow_pieces(schema: Any, subschemas_of: Subschemas) -> Iterator[tuple[Path, Any]]:
    """The schema with its subschemas below ``LEVELS`` levels cut out, and each of those likewise.

    ``{}`` stands for what is cut out, which every metaschema takes for a subschema.

    Arguments:
        schema: a schema as ``json.loads`` makes it.
        subschemas_of: the direct subschemas of one.

    Returns:
        Pairs of a piece's place in the schema and the piece.
    """
    if not _is_deep(schema):
        yield (), schema
        return
    waiting: list[tuple[Path, Any]] = [((), schema)]
    while waiting:
        path, top = waiting.pop()
        yield path, _cut(top, path, LEVELS, subschemas_of, waiting)


def _is_deep(schema: Any) -> bool:
    level = [schema]
    for _ in range(LEVELS):
        level = [
            each
            for container in level
            for each in (container.values() if isinstance(container, dict) else container)
            if isinstance(each, (dict, list))
        ]
        if not level:
            return False
    return True


def _cut(
    schema: Any, path: Path, levels: int, subschemas_of: Subschemas, below: list[tuple[Path, Any]]
) -> Any:
    if not isinstance(schema, dict):
        return schema
    if levels == 0:
        below.append((path, schema))
        return {}
    subschemas = {id(each) for each in subschemas_of(schema)}

    def cut(each: Any, *place: str | int) -> Any:
        if id(each) not in subschemas:
            return each
        return _cut(each, (*path, *place), levels - 1, subschemas_of, below)

    copied: dict[str, Any] = {}
    for key, value in schema.items():
        if id(value) in subschemas:
            copied[key] = cut(value, key)
        elif isinstance(value, dict):
            copied[key] = {name: cut(each, key, name) for name, each in value.items()}
        elif isinstance(value, list):
            copied[key] = [cut(each, key, index) for index, each in enumerate(value)]
        else:
            copied[key] = value
    return copied
