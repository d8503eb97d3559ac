"""What the metaschemas of the drafts ask of each keyword's value, as data.

The general check of a schema by its metaschema takes longer than everything else that is done
with it. These shapes are as strict or stricter, so that a schema of these shapes is valid for
certain; of any other schema they say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mlx_structured.json_schema.dialects import DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012

Shape: TypeAlias = Callable[[Any, list[Any]], bool]
"""Whether a value has the shape; the schemas in it, which are to be looked at, go to the list."""

DEEPEST = 64
"""Schemas that are nested deeper are left to the metaschema."""

_SIMPLE_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_IDENTIFIER = re.compile(r"[^#]*#?")
_ANCHOR = re.compile(r"[A-Za-z][-A-Za-z0-9._]*")


def plainly_valid(schema: Any, uri: str) -> list[Any] | None:
    """A schema and all its subschemas, if each keyword's value has its shape.

    Arguments:
        schema: as ``json.loads`` makes it.
        uri: the identifier of the metaschema.

    Returns:
        ``None`` if that isn't certain: ask the metaschema.
    """
    shapes = SHAPES.get(uri)
    if shapes is None:
        return None
    shape_of = shapes.get
    needs_bounds = uri == DRAFT4.uri
    schemas: list[Any] = []
    inner = [schema]
    for _ in range(DEEPEST):
        level, inner = inner, []
        for each in level:
            if type(each) is not dict:
                if type(each) is bool and not needs_bounds:
                    continue
                return None
            for keyword, value in each.items():
                shape = shape_of(keyword)
                if shape is not None and not shape(value, inner):
                    return None
            if needs_bounds and (
                ("exclusiveMinimum" in each and "minimum" not in each)
                or ("exclusiveMaximum" in each and "maximum" not in each)
            ):
                return None
        schemas += level
        if not inner:
            return schemas
    return None


def _text(value: Any, schemas: list[Any]) -> bool:
    return type(value) is str


def _flag(value: Any, schemas: list[Any]) -> bool:
    return type(value) is bool


def _number(value: Any, schemas: list[Any]) -> bool:
    return type(value) is int or type(value) is float


def _positive(value: Any, schemas: list[Any]) -> bool:
    return (type(value) is int or type(value) is float) and value > 0


def _count(value: Any, schemas: list[Any]) -> bool:
    return type(value) is int and value >= 0


def _array(value: Any, schemas: list[Any]) -> bool:
    return type(value) is list


def _flags(value: Any, schemas: list[Any]) -> bool:
    return type(value) is dict and all(type(each) is bool for each in value.values())


def _identifier(value: Any, schemas: list[Any]) -> bool:
    return type(value) is str and _IDENTIFIER.fullmatch(value) is not None


def _anchor(value: Any, schemas: list[Any]) -> bool:
    return type(value) is str and _ANCHOR.fullmatch(value) is not None


def _type(value: Any, schemas: list[Any]) -> bool:
    if type(value) is str:
        return value in _SIMPLE_TYPES
    return bool(value) and _names(value, schemas) and _SIMPLE_TYPES.issuperset(value)


def _names(value: Any, schemas: list[Any]) -> bool:
    return (
        type(value) is list
        and all(type(each) is str for each in value)
        and len(set(value)) == len(value)
    )


def _some_names(value: Any, schemas: list[Any]) -> bool:
    return bool(value) and _names(value, schemas)


def _some_scalars(value: Any, schemas: list[Any]) -> bool:
    if type(value) is not list or not value:
        return False
    if not all(each is None or isinstance(each, (str, int, float)) for each in value):
        return False
    # 1 and 1.0 are equal, 1 and true are not.
    return len({(type(each) is bool, each) for each in value}) == len(value)


def _names_by_key(value: Any, schemas: list[Any]) -> bool:
    return type(value) is dict and all(_names(each, schemas) for each in value.values())


def _schema(value: Any, schemas: list[Any]) -> bool:
    schemas.append(value)
    return True


def _schema_or_flag(value: Any, schemas: list[Any]) -> bool:
    if type(value) is not bool:
        schemas.append(value)
    return True


def _some_schemas(value: Any, schemas: list[Any]) -> bool:
    if type(value) is not list or not value:
        return False
    schemas += value
    return True


def _schema_or_some(value: Any, schemas: list[Any]) -> bool:
    return _some_schemas(value, schemas) if type(value) is list else _schema(value, schemas)


def _schemas_by_key(value: Any, schemas: list[Any]) -> bool:
    if type(value) is not dict:
        return False
    schemas += value.values()
    return True


def _schemas_or_names_by_key(value: Any, schemas: list[Any]) -> bool:
    if type(value) is not dict:
        return False
    lists = [each for each in value.values() if type(each) is list]
    schemas += [each for each in value.values() if type(each) is not list]
    return all(_names(each, schemas) for each in lists)


def _schemas_or_some_names_by_key(value: Any, schemas: list[Any]) -> bool:
    return _schemas_or_names_by_key(value, schemas) and [] not in value.values()


_ALL_DRAFTS: Mapping[str, Shape] = {
    "$schema": _text,
    "title": _text,
    "description": _text,
    "multipleOf": _positive,
    "maximum": _number,
    "minimum": _number,
    "maxLength": _count,
    "minLength": _count,
    "pattern": _text,
    "maxItems": _count,
    "minItems": _count,
    "uniqueItems": _flag,
    "maxProperties": _count,
    "minProperties": _count,
    "definitions": _schemas_by_key,
    "properties": _schemas_by_key,
    "patternProperties": _schemas_by_key,
    "type": _type,
    "format": _text,
    "allOf": _some_schemas,
    "anyOf": _some_schemas,
    "oneOf": _some_schemas,
    "not": _schema,
}
_SINCE_6: Mapping[str, Shape] = {
    **_ALL_DRAFTS,
    "$id": _text,
    "$ref": _text,
    "examples": _array,
    "exclusiveMaximum": _number,
    "exclusiveMinimum": _number,
    "required": _names,
    "enum": _array,
    "additionalProperties": _schema,
    "items": _schema_or_some,
    "contains": _schema,
    "propertyNames": _schema,
    "dependencies": _schemas_or_names_by_key,
}
_SINCE_7: Mapping[str, Shape] = {
    **_SINCE_6,
    "$comment": _text,
    "readOnly": _flag,
    "contentMediaType": _text,
    "contentEncoding": _text,
    "if": _schema,
    "then": _schema,
    "else": _schema,
}
_SINCE_2019: Mapping[str, Shape] = {
    **_SINCE_7,
    "$id": _identifier,
    "$anchor": _anchor,
    "$vocabulary": _flags,
    "$defs": _schemas_by_key,
    "$recursiveRef": _text,
    "deprecated": _flag,
    "writeOnly": _flag,
    "contentSchema": _schema,
    "dependentRequired": _names_by_key,
    "dependentSchemas": _schemas_by_key,
    "maxContains": _count,
    "minContains": _count,
    "unevaluatedItems": _schema,
    "unevaluatedProperties": _schema,
}

SHAPES: Mapping[str, Mapping[str, Shape]] = {
    DRAFT4.uri: {
        **_ALL_DRAFTS,
        "id": _text,
        "exclusiveMaximum": _flag,
        "exclusiveMinimum": _flag,
        "required": _some_names,
        "enum": _some_scalars,
        "additionalItems": _schema_or_flag,
        "additionalProperties": _schema_or_flag,
        "items": _schema_or_some,
        "dependencies": _schemas_or_some_names_by_key,
    },
    DRAFT6.uri: {**_SINCE_6, "additionalItems": _schema},
    DRAFT7.uri: {**_SINCE_7, "additionalItems": _schema},
    DRAFT201909.uri: {**_SINCE_2019, "additionalItems": _schema, "$recursiveAnchor": _flag},
    DRAFT202012.uri: {
        **_SINCE_2019,
        "$dynamicRef": _text,
        "$dynamicAnchor": _anchor,
        "$recursiveAnchor": _anchor,
        "prefixItems": _some_schemas,
        "items": _schema,
    },
}
"""The shape of each keyword's value by the identifier of the metaschema; others may be anything."""
