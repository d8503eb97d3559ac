"""The drafts of JSON Schema, as data: what each knows, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema.validators
import referencing.jsonschema
from jsonschema.protocols import Validator
from referencing import Specification

from mlx_structured.errors import SchemaError

ENFORCED = frozenset(
    {
        "$ref",
        "type",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "not",
        "oneOf",
        "if",
        "then",
        "else",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "contains",
        "minContains",
        "maxContains",
        "additionalItems",
        "multipleOf",
        "unevaluatedProperties",
        "unevaluatedItems",
        "uniqueItems",
    }
)
"""Keywords that take part in the acceptor."""

ANNOTATIONS = frozenset(
    {
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    }
)
"""Keywords that say nothing about which values are valid."""

REFUSED = frozenset(
    {
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
    }
)
"""Keywords of the specification that are not enforced, and so lead to an error."""

NEUTRAL: Mapping[str, object] = {"uniqueItems": False}
"""Values with which a keyword says nothing."""


@dataclass(frozen=True)
class Dialect:
    """One draft of the specification.

    Arguments:
        name: for messages.
        uri: the metaschema's identifier, without an empty fragment.
        specification: how ``referencing`` finds identifiers and subresources in it.
        validator: the class of ``jsonschema`` whose metaschema check judges schemas.
        unknown: keywords of other drafts that would say something about values there. Other
            drafts' names for schemas (``id``, ``$anchor``, ``$defs``) are passed over.
        ref_hides_siblings: up to draft 7 nothing beside ``$ref`` counts.
        exclusive_bounds_are_flags: in draft 4 ``exclusiveMinimum`` is a boolean.
        contains_evaluates: since 2020-12 ``contains`` counts for ``unevaluatedItems``.
    """

    name: str
    uri: str
    specification: Specification[Any]
    validator: type[Validator]
    unknown: frozenset[str] = frozenset()
    ref_hides_siblings: bool = False
    exclusive_bounds_are_flags: bool = False
    contains_evaluates: bool = False


_SINCE_2019 = frozenset(
    {
        "dependentRequired",
        "dependentSchemas",
        "minContains",
        "maxContains",
        "unevaluatedProperties",
        "unevaluatedItems",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
    }
)
_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})
_SINCE_7 = frozenset({"if", "then", "else"})
_SINCE_6 = frozenset({"const", "contains", "propertyNames"})
_ONLY_2019 = frozenset({"$recursiveRef", "$recursiveAnchor"})


def _of_objects(specification: Specification[Any]) -> Specification[Any]:
    """The specification, taught that boolean subschemas have no identifier and no anchors.

    ``referencing`` fails on ``additionalProperties: false`` in draft 4, where it isn't a schema.
    """
    return Specification(  # type: ignore[call-arg]  # its class decorator is opaque to mypy
        name=specification.name,
        id_of=lambda contents: (
            None if isinstance(contents, bool) else specification.id_of(contents)
        ),
        subresources_of=lambda contents: (
            subresource
            for subresource in specification.subresources_of(contents)
            if not isinstance(subresource, bool)
        ),
        anchors_in=lambda spec, contents: specification.anchors_in(contents),
        maybe_in_subresource=specification.maybe_in_subresource,
    )


DRAFT4 = Dialect(
    "draft 4",
    "http://json-schema.org/draft-04/schema",
    _of_objects(referencing.jsonschema.DRAFT4),
    jsonschema.validators.Draft4Validator,
    unknown=_SINCE_6 | _SINCE_7 | _SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
    exclusive_bounds_are_flags=True,
)
DRAFT6 = Dialect(
    "draft 6",
    "http://json-schema.org/draft-06/schema",
    referencing.jsonschema.DRAFT6,
    jsonschema.validators.Draft6Validator,
    unknown=_SINCE_7 | _SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
)
DRAFT7 = Dialect(
    "draft 7",
    "http://json-schema.org/draft-07/schema",
    referencing.jsonschema.DRAFT7,
    jsonschema.validators.Draft7Validator,
    unknown=_SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
)
DRAFT201909 = Dialect(
    "draft 2019-09",
    "https://json-schema.org/draft/2019-09/schema",
    referencing.jsonschema.DRAFT201909,
    jsonschema.validators.Draft201909Validator,
    unknown=_SINCE_2020 | {"dependencies"},
)
DRAFT202012 = Dialect(
    "draft 2020-12",
    "https://json-schema.org/draft/2020-12/schema",
    referencing.jsonschema.DRAFT202012,
    jsonschema.validators.Draft202012Validator,
    unknown=_ONLY_2019 | {"dependencies", "additionalItems"},
    contains_evaluates=True,
)

DIALECTS: Mapping[str, Dialect] = {
    dialect.uri: dialect for dialect in (DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012)
}


def find_dialect(uri: str, pointer: str = "/$schema") -> Dialect:
    """The dialect with that metaschema identifier. Raises ``SchemaError`` for any other."""
    dialect = DIALECTS.get(uri.removesuffix("#"))
    if dialect is None:
        raise SchemaError(f"unknown dialect {uri!r}; known are {', '.join(DIALECTS)}", pointer)
    return dialect
