"""The drafts of JSON Schema, as data: what each knows, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import referencing.jsonschema
from referencing import Registry, Specification
from referencing.exceptions import Unresolvable

from mlx_structured.errors import SchemaError, UnsupportedSchemaError
from mlx_structured.json_schema.pointers import escape_pointer

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

ENFORCED = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
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
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
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

NEUTRAL: Mapping[str, object] = {"uniqueItems": False}
"""Values with which a keyword says nothing."""

_VALIDATION = frozenset(
    {
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
    }
)
_APPLICATOR = frozenset(
    {
        "items",
        "contains",
        "additionalProperties",
        "properties",
        "patternProperties",
        "dependentSchemas",
        "propertyNames",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
    }
)
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_FORMAT = frozenset({"format"})
_NO_KEYWORDS: frozenset[str] = frozenset()
_VOCABULARIES_2019: Mapping[str, frozenset[str]] = {
    "https://json-schema.org/draft/2019-09/vocab/core": _NO_KEYWORDS,
    "https://json-schema.org/draft/2019-09/vocab/applicator": _APPLICATOR
    | _UNEVALUATED
    | {"additionalItems"},
    "https://json-schema.org/draft/2019-09/vocab/validation": _VALIDATION,
    "https://json-schema.org/draft/2019-09/vocab/format": _FORMAT,
    "https://json-schema.org/draft/2019-09/vocab/meta-data": _NO_KEYWORDS,
    "https://json-schema.org/draft/2019-09/vocab/content": _NO_KEYWORDS,
}
_VOCABULARIES_2020: Mapping[str, frozenset[str]] = {
    "https://json-schema.org/draft/2020-12/vocab/core": _NO_KEYWORDS,
    "https://json-schema.org/draft/2020-12/vocab/applicator": _APPLICATOR | {"prefixItems"},
    "https://json-schema.org/draft/2020-12/vocab/unevaluated": _UNEVALUATED,
    "https://json-schema.org/draft/2020-12/vocab/validation": _VALIDATION,
    "https://json-schema.org/draft/2020-12/vocab/format-annotation": _FORMAT,
    "https://json-schema.org/draft/2020-12/vocab/format-assertion": _FORMAT,
    "https://json-schema.org/draft/2020-12/vocab/meta-data": _NO_KEYWORDS,
    "https://json-schema.org/draft/2020-12/vocab/content": _NO_KEYWORDS,
}


@dataclass(frozen=True, eq=False)
class Dialect:
    """One draft of the specification, or what a metaschema of one's own makes of it.

    Arguments:
        name: for messages.
        uri: the metaschema's identifier, without an empty fragment.
        specification: how ``referencing`` finds identifiers and subresources in it.
        validator_name: of the class of ``jsonschema`` whose metaschema judges schemas.
        unknown: keywords of other drafts that would say something about values there. Other
            drafts' names for schemas (``id``, ``$anchor``, ``$defs``) are passed over.
        ref_hides_siblings: up to draft 7 nothing beside ``$ref`` counts.
        exclusive_bounds_are_flags: in draft 4 ``exclusiveMinimum`` is a boolean.
        integers_are_spelled: in draft 4 ``1.0`` is no integer.
        hostnames_are_ascii: up to draft 6 no label of a ``hostname`` is an encoded one.
        contains_evaluates: since 2020-12 ``contains`` counts for ``unevaluatedItems``.
        vocabularies: since 2019-09, the draft's keywords that say something about values, by the
            URI of their vocabulary; without the core vocabulary's, which is always in use.
        silent: keywords that say nothing, as the metaschema doesn't use their vocabulary.
    """

    name: str
    uri: str
    specification: Specification[Any]
    validator_name: str
    unknown: frozenset[str] = frozenset()
    ref_hides_siblings: bool = False
    exclusive_bounds_are_flags: bool = False
    integers_are_spelled: bool = False
    hostnames_are_ascii: bool = False
    contains_evaluates: bool = False
    vocabularies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()

    @property
    def validator(self) -> type[Validator]:
        """The class of ``jsonschema`` whose metaschema judges schemas."""
        import jsonschema.validators  # noqa: PLC0415  # seldom needed, and slow to import

        return cast("type[Validator]", getattr(jsonschema.validators, self.validator_name))


_SINCE_2019 = frozenset(
    {
        "dependentRequired",
        "dependentSchemas",
        "minContains",
        "maxContains",
        "unevaluatedProperties",
        "unevaluatedItems",
        "$recursiveRef",
    }
)
_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef"})
_SINCE_7 = frozenset({"if", "then", "else"})
_SINCE_6 = frozenset({"const", "contains", "propertyNames"})
_ONLY_2019 = frozenset({"$recursiveRef"})


def _of_objects(specification: Specification[Any]) -> Specification[Any]:
    """The specification, taught what isn't a subschema with identifiers of its own.

    ``referencing`` fails on ``additionalProperties: false`` in draft 4, where it isn't a schema,
    and on ``dependencies`` with a list of names after a schema; it leaves out schemas after a list.
    """

    def subresources_of(contents: Any) -> Iterator[Any]:
        if not isinstance(contents, Mapping):
            return
        others = {word: value for word, value in contents.items() if word != "dependencies"}
        dependencies = contents.get("dependencies", {}).values()
        for each in (*specification.subresources_of(others), *dependencies):
            if isinstance(each, Mapping):
                yield each

    return Specification(  # type: ignore[call-arg]  # its class decorator is opaque to mypy
        name=specification.name,
        id_of=lambda contents: (
            None if isinstance(contents, bool) else specification.id_of(contents)
        ),
        subresources_of=subresources_of,
        anchors_in=lambda spec, contents: specification.anchors_in(contents),
        maybe_in_subresource=specification.maybe_in_subresource,
    )


DRAFT4 = Dialect(
    "draft 4",
    "http://json-schema.org/draft-04/schema",
    _of_objects(referencing.jsonschema.DRAFT4),
    "Draft4Validator",
    unknown=_SINCE_6 | _SINCE_7 | _SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
    exclusive_bounds_are_flags=True,
    integers_are_spelled=True,
    hostnames_are_ascii=True,
)
DRAFT6 = Dialect(
    "draft 6",
    "http://json-schema.org/draft-06/schema",
    _of_objects(referencing.jsonschema.DRAFT6),
    "Draft6Validator",
    unknown=_SINCE_7 | _SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
    hostnames_are_ascii=True,
)
DRAFT7 = Dialect(
    "draft 7",
    "http://json-schema.org/draft-07/schema",
    _of_objects(referencing.jsonschema.DRAFT7),
    "Draft7Validator",
    unknown=_SINCE_2019 | _SINCE_2020,
    ref_hides_siblings=True,
)
DRAFT201909 = Dialect(
    "draft 2019-09",
    "https://json-schema.org/draft/2019-09/schema",
    referencing.jsonschema.DRAFT201909,
    "Draft201909Validator",
    unknown=_SINCE_2020,
    vocabularies=_VOCABULARIES_2019,
)
DRAFT202012 = Dialect(
    "draft 2020-12",
    "https://json-schema.org/draft/2020-12/schema",
    referencing.jsonschema.DRAFT202012,
    "Draft202012Validator",
    unknown=_ONLY_2019 | {"additionalItems"},
    contains_evaluates=True,
    vocabularies=_VOCABULARIES_2020,
)

DIALECTS: Mapping[str, Dialect] = {
    dialect.uri: dialect for dialect in (DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012)
}


def find_dialect(uri: str, pointer: str = "/$schema") -> Dialect:
    """The draft with that metaschema identifier. Raises ``SchemaError`` for any other."""
    dialect = DIALECTS.get(uri.removesuffix("#"))
    if dialect is None:
        raise SchemaError(
            f"unknown dialect {uri!r}; known are {', '.join(DIALECTS)}, and in $schema "
            "metaschemas in the registry that lead to one of them by their own $schema",
            pointer,
        )
    return dialect


def silent_keywords(draft: Dialect, metaschema: Mapping[str, Any], uri: str) -> frozenset[str]:
    """The keywords whose vocabulary a metaschema doesn't use (2020-12 core, section 8.1.2).

    Raises:
        UnsupportedSchemaError: if it requires a vocabulary that the draft doesn't have.
    """
    used = metaschema.get("$vocabulary")
    if not draft.vocabularies or not isinstance(used, Mapping):
        return frozenset()
    for vocabulary, required in used.items():
        if required and vocabulary not in draft.vocabularies:
            raise UnsupportedSchemaError(
                "$vocabulary",
                f"{uri}#/$vocabulary/{escape_pointer(vocabulary)}",
                f"requires a vocabulary that does not belong to {draft.name}",
            )
    spoken = _union(keywords for of, keywords in draft.vocabularies.items() if of in used)
    return _union(draft.vocabularies.values()) - spoken


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


class Dialects:
    """What ``$schema`` may name: the drafts, and metaschemas among the documents at hand.

    The draft of a metaschema's schemas is the one that its own ``$schema`` leads to; its
    ``$vocabulary`` says which of the draft's keywords count.

    Arguments:
        default: the dialect of documents that don't name one.
    """

    def __init__(self, default: Dialect) -> None:
        self.default = default
        self._known = dict(DIALECTS)

    def of(
        self, schema: Any, registry: Registry[Any], default: Dialect | None = None, place: str = ""
    ) -> Dialect:
        """The dialect that a schema names, or the default.

        Arguments:
            registry: the documents among which metaschemas are looked for.
            default: the dialect that holds around the schema, if that isn't the one of documents.
            place: where the schema stands, for messages.

        Raises:
            SchemaError: for a name that leads to no draft.
            UnsupportedSchemaError: for a metaschema that requires an unknown vocabulary.
        """
        if isinstance(schema, Mapping) and isinstance(schema.get("$schema"), str):
            return self._named(schema["$schema"], registry, f"{place}/$schema", frozenset())
        return self.default if default is None else default

    def _named(
        self, name: str, registry: Registry[Any], pointer: str, waiting: frozenset[str]
    ) -> Dialect:
        uri = name.removesuffix("#")
        dialect = self._known.get(uri)
        if dialect is not None:
            return dialect
        metaschema = None if uri in waiting else _document(uri, registry)
        if not isinstance(metaschema, Mapping):
            return find_dialect(name, pointer)
        own = metaschema.get("$schema")
        draft = self.default
        if isinstance(own, str):
            draft = self._named(own, registry, pointer, waiting | {uri})
        silent = silent_keywords(draft, metaschema, uri)
        dialect = self._known[uri] = replace(draft, uri=uri, silent=silent)
        return dialect


def _document(uri: str, registry: Registry[Any]) -> object:
    try:
        return registry.resolver().lookup(uri).contents
    except (Unresolvable, ValueError):
        return None
