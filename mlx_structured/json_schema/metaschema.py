"""The check that schemas are valid, by the metaschema of their draft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlx_structured.errors import SchemaError
from mlx_structured.json_schema.dialects import Dialect
from mlx_structured.json_schema.keyword_shapes import plainly_valid
from mlx_structured.json_schema.pieces import shallow_pieces
from mlx_structured.json_schema.pointers import join_pointer

_LONGEST_MESSAGE = 240


class MetaschemaCheck:
    """Judges the schemas that take part, each once.

    A reference can lead to another document, or to a place that no keyword knows, so the check of
    a whole document says nothing of its target.
    """

    def __init__(self) -> None:
        self._valid: set[int] = set()
        self._kept: list[Any] = []

    def check(self, schema: Any, dialect: Dialect, pointer: str) -> list[Any] | None:
        """Judge a schema with all its subschemas.

        ``format`` is left out: its ``regex`` would be judged by Python's rules.

        Returns:
            The schema and its subschemas, if it is plainly valid and was not judged before.

        Raises:
            SchemaError: if it isn't valid.
        """
        if id(schema) in self._valid:
            return None
        schemas = plainly_valid(schema, dialect.uri)
        if schemas is None:
            _ask_metaschema(schema, dialect, pointer)
        # An identity holds as long as the schema does, which holds its subschemas.
        self._kept.append(schema)
        self._valid.update(
            map(id, _with_subschemas(schema, dialect) if schemas is None else schemas)
        )
        return schemas


def _ask_metaschema(schema: Any, dialect: Dialect, pointer: str) -> None:
    from jsonschema.exceptions import best_match  # noqa: PLC0415  # seldom needed

    validator = dialect.validator(dialect.validator.META_SCHEMA)
    for path, piece in shallow_pieces(schema, dialect.specification.subresources_of):
        error = best_match(validator.iter_errors(piece))
        if error is None:
            continue
        alternatives = dict.fromkeys(each.message for each in error.context or ())
        message = ", and ".join(alternatives) or error.message
        if len(message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2
            message = f"{message[:half]} ... {message[-half:]}"
        raise SchemaError(message, pointer + join_pointer((*path, *error.absolute_path)))


def _with_subschemas(schema: Any, dialect: Dialect) -> Iterator[Any]:
    stack = [schema]
    while stack:
        each = stack.pop()
        yield each
        if not isinstance(each, bool):
            stack += dialect.specification.subresources_of(each)
