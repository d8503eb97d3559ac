"""What is wrong with a schema is said by name, with the place, in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlx_structured import (
    Acceptor,
    SchemaError,
    StructuredError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    compile_json_schema,
)

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT6 = "http://json-schema.org/draft-06/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"
DRAFT202012 = "https://json-schema.org/draft/2020-12/schema"

# A value with which each keyword would say something.
LATER: dict[str, Any] = {
    "not": {},
    "oneOf": [True],
    "if": True,
    "then": True,
    "else": True,
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {"a": True},
    "patternProperties": {"a": True},
    "propertyNames": {"maxLength": 1},
    "minProperties": 1,
    "maxProperties": 1,
    "contains": True,
    "minContains": 2,
    "maxContains": 2,
    "uniqueItems": True,
    "unevaluatedProperties": False,
    "unevaluatedItems": False,
    "multipleOf": 2,
    "$dynamicRef": "#",
    "$dynamicAnchor": "here",
}
PLACES: list[tuple[Any, str]] = [
    ({"properties": {"a/b": {"items": "HERE"}}}, "/properties/a~1b/items"),
    ({"prefixItems": [True, "HERE"]}, "/prefixItems/1"),
    ({"additionalProperties": "HERE"}, "/additionalProperties"),
    ({"anyOf": [{"type": "null"}, "HERE"]}, "/anyOf/1"),
    ({"allOf": [{"anyOf": ["HERE"]}]}, "/allOf/0/anyOf/0"),
    ({"$ref": "#/$defs/x", "$defs": {"x": "HERE"}}, "/$defs/x"),
    ({"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"items": "HERE"}}}, "/$defs/x/items"),
]


def put(schema: Any, here: Any) -> Any:
    """The schema with ``here`` in place of ``"HERE"``."""
    return json.loads(json.dumps(schema).replace('"HERE"', json.dumps(here)))


def assert_says_what_to_do(error: StructuredError) -> None:
    """One line, with no stack of causes in it, that isn't cut short."""
    message = str(error)
    assert "\n" not in message
    assert 20 < len(message) < 400
    assert not message.endswith((":", ";", ","))


# Unsupported keywords


@pytest.mark.parametrize("keyword", LATER)
def test_a_keyword_that_is_not_enforced_is_refused_by_name(keyword: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema({"type": "object", keyword: LATER[keyword]})
    assert raised.value.keyword == keyword
    assert raised.value.pointer == f"/{keyword}"
    assert f"'{keyword}'" in str(raised.value)
    assert f"/{keyword}" in str(raised.value)
    assert "remove it" in str(raised.value)
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize(("schema", "pointer"), PLACES)
def test_a_keyword_is_refused_wherever_it_can_be_reached(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema(put(schema, {"type": "array", "uniqueItems": True}))
    assert raised.value.keyword == "uniqueItems"
    assert raised.value.pointer == f"{pointer}/uniqueItems"


def test_a_keyword_is_refused_in_a_document_of_the_registry() -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema(
            {"$ref": "http://example.com/a.json"},
            registry={"http://example.com/a.json": {"items": {"not": {}}}},
        )
    assert raised.value.keyword == "not"
    assert raised.value.pointer.endswith("/items/not")


@pytest.mark.parametrize("keyword", LATER)
def test_a_keyword_that_nothing_reaches_does_no_harm(keyword: str) -> None:
    schema = {"type": "integer", "$defs": {"unused": {keyword: LATER[keyword]}}}
    assert compile_json_schema(schema).accepts("1")


@pytest.mark.parametrize("keyword", ["uniqueItems", "minProperties"])
def test_a_keyword_that_says_nothing_is_no_obstacle(keyword: str) -> None:
    nothing: dict[str, Any] = {"uniqueItems": False, "minProperties": 0}
    acceptor = compile_json_schema({keyword: nothing[keyword]})
    assert acceptor.accepts("[1, 1]")
    assert acceptor.accepts("{}")


@pytest.mark.parametrize(
    "annotations",
    [
        {"x-foo": {"not": {}}},
        {"nullable": True},
        {"discriminator": {"propertyName": "a"}},
        {"markdownDescription": "text"},
        {"propertyOrdering": ["a"]},
        {"$comment": "c", "title": "t", "description": "d", "default": {"not": 1}},
        {"examples": [{"oneOf": 1}], "deprecated": True, "readOnly": True, "writeOnly": False},
        {"contentMediaType": "application/json", "contentEncoding": "base64"},
        {"contentSchema": {"not": {}}},
    ],
    ids=lambda annotations: ", ".join(annotations),
)
def test_unknown_words_and_annotations_are_passed_over(annotations: dict[str, Any]) -> None:
    acceptor = compile_json_schema({**annotations, "items": {**annotations, "type": "integer"}})
    assert acceptor.accepts("[1]")
    assert acceptor.accepts('"any"')
    assert not acceptor.accepts('["x"]')


def test_keywords_as_names_of_properties_are_no_keywords() -> None:
    names = [*LATER, "type", "properties", "$id", "items", "additionalItems", "dependencies"]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names}
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(json.dumps(dict.fromkeys(names, 1)))
    assert not acceptor.accepts(json.dumps({**dict.fromkeys(names, 1), "not": "x"}))


@pytest.mark.parametrize(
    ("draft", "keyword", "value"),
    [
        (DRAFT202012, "dependencies", {"a": ["b"]}),
        (DRAFT202012, "additionalItems", False),
        (DRAFT202012, "$recursiveRef", "#"),
        (DRAFT201909, "prefixItems", [True]),
        (DRAFT201909, "$dynamicRef", "#"),
        (DRAFT7, "prefixItems", [True]),
        (DRAFT7, "unevaluatedProperties", False),
        (DRAFT7, "dependentRequired", {"a": ["b"]}),
        (DRAFT6, "if", {"type": "null"}),
        (DRAFT4, "const", 1),
        (DRAFT4, "contains", {}),
        (DRAFT4, "propertyNames", {}),
    ],
)
def test_a_keyword_of_another_draft_is_refused(draft: str, keyword: str, value: Any) -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema({"$schema": draft, "items": {keyword: value}})
    assert raised.value.keyword == keyword
    assert raised.value.pointer == f"/items/{keyword}"
    assert "draft" in str(raised.value)
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize(
    ("draft", "keyword", "value"),
    [
        (DRAFT202012, "id", "http://example.com/a"),
        (DRAFT4, "$id", "http://example.com/a"),
        (DRAFT7, "$anchor", "here"),
        (DRAFT7, "$defs", {"a": {"not": {}}}),
        (DRAFT202012, "definitions", {"a": {"not": {}}}),
    ],
)
def test_names_for_schemas_in_another_draft_say_nothing_about_values(
    draft: str, keyword: str, value: Any
) -> None:
    acceptor = compile_json_schema({"$schema": draft, "items": {keyword: value, "type": "null"}})
    assert acceptor.accepts("[null]")
    assert not acceptor.accepts("[1]")


# Invalid schemas


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "strin"}, "/type"),
        ({"type": []}, "/type"),
        ({"type": ["string", "string"]}, "/type"),
        ({"type": 3}, "/type"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a": 3}}, "/properties/a"),
        ({"properties": {"a/b": {"minLength": -1}}}, "/properties/a~1b/minLength"),
        ({"required": "a"}, "/required"),
        ({"required": [1]}, "/required/0"),
        ({"items": [True]}, "/items"),
        ({"prefixItems": []}, "/prefixItems"),
        ({"minItems": "3"}, "/minItems"),
        ({"maxItems": 1.5}, "/maxItems"),
        ({"minimum": "3"}, "/minimum"),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum"),
        ({"anyOf": []}, "/anyOf"),
        ({"allOf": {}}, "/allOf"),
        ({"anyOf": [{"allOf": [None]}]}, "/anyOf/0/allOf/0"),
        ({"enum": "abc"}, "/enum"),
        ({"pattern": 3}, "/pattern"),
        ({"$ref": 3}, "/$ref"),
        ({"$defs": {"a": {"type": "x"}}}, "/$defs/a/type"),
        ({"$schema": DRAFT4, "exclusiveMinimum": 3}, "/exclusiveMinimum"),
        ({"$schema": DRAFT4, "required": []}, "/required"),
        ({"$schema": DRAFT4, "additionalProperties": 3}, "/additionalProperties"),
        ({"$schema": DRAFT7, "items": [3]}, "/items"),
        ({"$schema": DRAFT7, "definitions": {"a": {"enum": 1}}}, "/definitions/a/enum"),
    ],
)
def test_an_invalid_schema_is_refused_with_the_place(schema: Any, pointer: str) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == pointer
    assert pointer in str(raised.value)
    assert_says_what_to_do(raised.value)


def test_an_invalid_document_of_the_registry_is_refused() -> None:
    with pytest.raises(SchemaError):
        compile_json_schema(
            {"$ref": "http://example.com/a.json"},
            registry={"http://example.com/a.json": {"properties": {"a": {"minLength": "x"}}}},
        )


@pytest.mark.parametrize("text", ["", "{", "{'type': 'null'}", '{"a": 1,}', "not json"])
def test_a_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="not JSON") as raised:
        compile_json_schema(text)
    assert raised.value.pointer == ""
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("text", ["3", '"string"', "[]", "null", "[{}]"])
def test_json_that_is_no_schema_is_refused(text: str) -> None:
    for schema in (text, json.loads(text)):
        if isinstance(schema, str) and schema is not text:
            continue
        with pytest.raises(SchemaError, match="an object or a boolean") as raised:
            compile_json_schema(schema)
        assert_says_what_to_do(raised.value)


def test_json_text_means_what_the_parsed_schema_means() -> None:
    assert compile_json_schema('{"type": "integer"}').accepts("1")
    assert not compile_json_schema('{"type": "integer"}').accepts('"x"')
    assert compile_json_schema("true").accepts('"x"')


@pytest.mark.parametrize(
    "uri", ["http://example.com/mine", "http://json-schema.org/draft-03/schema#", "", "draft-07"]
)
def test_an_unknown_dialect_names_the_known_ones(uri: str) -> None:
    with pytest.raises(SchemaError, match="2020-12") as raised:
        compile_json_schema({"$schema": uri})
    assert raised.value.pointer == "/$schema"
    with pytest.raises(SchemaError, match="2020-12"):
        compile_json_schema({}, default_dialect=uri)


@pytest.mark.parametrize("uri", [DRAFT7, DRAFT7.rstrip("#"), DRAFT202012, DRAFT202012 + "#"])
def test_a_dialect_is_known_with_and_without_its_empty_fragment(uri: str) -> None:
    assert compile_json_schema({"$schema": uri, "const": 1}).accepts("1")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}]}}},
        {"properties": {"a": {"$ref": "#/$defs/x"}},
         "$defs": {"x": {"type": "array", "allOf": [{"$ref": "#/$defs/y"}]}, "y": {"minItems": 1, "$ref": "#/$defs/x"}}},
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "array", "$ref": "#/$defs/a"}}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("draft", [DRAFT201909, DRAFT202012])
def test_a_reference_that_goes_round_on_the_same_value_is_refused(schema: Any, draft: str) -> None:
    with pytest.raises(SchemaError, match="itself") as raised:
        compile_json_schema(schema, default_dialect=draft)
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("pattern", ["(", "a)", "[b-a]", "*", "a{2,1}", "[", "\\"])
def test_an_invalid_pattern_is_refused_with_the_place(pattern: str) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_json_schema({"items": {"type": "string", "pattern": pattern}})
    assert raised.value.pointer == "/items/pattern"
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("pattern", ["(a)\\1", "^(?<x>a|b)\\k<x>$"])
def test_a_pattern_that_is_not_regular_is_unsupported(pattern: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema({"items": {"pattern": pattern}})
    assert raised.value.keyword == "pattern"
    assert raised.value.pointer == "/items/pattern"
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize(
    ("pattern", "text"), [("^\\p{Lu}+$", "ÀB"), ("^(?<year>\\d{4})$", "2024"), ("^\\cA$", "\x01")]
)
def test_a_pattern_that_only_ecma_262_knows_is_valid(pattern: str, text: str) -> None:
    acceptor = compile_json_schema({"type": "string", "pattern": pattern})
    assert acceptor.accepts(json.dumps(text, ensure_ascii=False))


# Unsatisfiable schemas, each with a neighbour that some value satisfies

NEIGHBOURS: dict[str, tuple[Any, Any, str]] = {
    "false": (False, True, "1"),
    "allOf with false": ({"allOf": [True, False]}, {"allOf": [True, True]}, "1"),
    "anyOf of false": ({"anyOf": [False, False]}, {"anyOf": [False, {"type": "null"}]}, "null"),
    "types that exclude each other": (
        {"type": "string", "allOf": [{"type": "integer"}]},
        {"type": "number", "allOf": [{"type": "integer"}]},
        "1",
    ),
    "const of another type": ({"type": "string", "const": 1}, {"type": "integer", "const": 1}, "1"),
    "enum of another type": (
        {"type": "string", "enum": [1, None, {}]},
        {"type": "string", "enum": [1, None, "x"]},
        '"x"',
    ),
    "two constants": ({"const": 1, "enum": [2, "1"]}, {"const": 1, "enum": [2, 1]}, "1"),
    "two constant objects": (
        {"const": {"a": 1}, "enum": [{"a": 2}, {"a": 1, "b": 1}]},
        {"const": {"a": 1}, "enum": [{"a": 2}, {"a": 1}]},
        '{"a": 1}',
    ),
    "a required key that is false": (
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "object", "properties": {"a": False}, "required": ["b"]},
        '{"b": 1}',
    ),
    "a required key that is closed out": (
        {"type": "object", "additionalProperties": False, "required": ["a"]},
        {"type": "object", "additionalProperties": False, "properties": {"a": True}, "required": ["a"]},
        '{"a": 1}',
    ),
    "a required key whose value contradicts itself": (
        {"type": "object", "properties": {"a": {"type": "integer", "enum": [1.5]}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "number", "enum": [1.5]}}, "required": ["a"]},
        '{"a": 1.5}',
    ),
    "minItems over maxItems": (
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"type": "array", "minItems": 2, "maxItems": 2},
        "[1, 1]",
    ),
    "too few possible items": (
        {"type": "array", "prefixItems": [True, False], "minItems": 2},
        {"type": "array", "prefixItems": [True, False], "minItems": 1},
        "[1]",
    ),
    "items false below minItems": (
        {"type": "array", "items": False, "minItems": 1},
        {"type": "array", "items": False, "minItems": 0},
        "[]",
    ),
    "minLength over maxLength": (
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "string", "minLength": 2, "maxLength": 2},
        '"ab"',
    ),
    "a pattern that is too long": (
        {"type": "string", "pattern": "^abc", "maxLength": 2},
        {"type": "string", "pattern": "^abc", "maxLength": 3},
        '"abc"',
    ),
    "patterns that exclude each other": (
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}]},
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b"}]},
        '"ab"',
    ),
    "minimum over maximum": (
        {"type": "number", "minimum": 2, "maximum": 1},
        {"type": "number", "minimum": 1, "maximum": 1},
        "1",
    ),
    "an empty interval": (
        {"type": "number", "minimum": 1, "exclusiveMaximum": 1},
        {"type": "number", "minimum": 1, "exclusiveMaximum": 1.5},
        "1",
    ),
    "no integer between": (
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2.5},
        "2",
    ),
    "no integer between fractions": (
        {"type": "integer", "minimum": 0.1, "maximum": 0.9},
        {"type": "integer", "minimum": 0.1, "maximum": 1.1},
        "1",
    ),
    "a tree without leaves": (
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        '{"a": {"a": {}}}',
    ),
    "an array that always holds itself": (
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "minItems": 1},
        "[[null]]",
    ),
    "mutual recursion without an end": (
        {"$ref": "#/$defs/a",
         "$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
                   "b": {"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}], "minItems": 1}}},
        {"$ref": "#/$defs/a",
         "$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
                   "b": {"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}], "minItems": 0}}},
        '{"b": []}',
    ),
    "all alternatives are dead": (
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": False},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": False,
         "properties": {"b": True}},
        '{"b": 1}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("style", ["spaced", "any"])
def test_a_schema_that_no_value_satisfies_is_refused(name: str, style: str) -> None:
    unsatisfiable = NEIGHBOURS[name][0]
    with pytest.raises(UnsatisfiableSchemaError) as raised:
        compile_json_schema(unsatisfiable, style=style)
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("style", ["spaced", "any"])
def test_its_satisfiable_neighbour_compiles(name: str, style: str) -> None:
    _, neighbour, text = NEIGHBOURS[name]
    acceptor: Acceptor = compile_json_schema(neighbour, style=style)
    assert acceptor.accepts(text)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_unsatisfiable_property_is_never_begun(name: str) -> None:
    unsatisfiable = put_definitions_at_the_root(NEIGHBOURS[name][0])
    for style in ("compact", "any"):
        acceptor = compile_json_schema(unsatisfiable, style=style)
        assert acceptor.accepts('{"y":1}')
        assert not acceptor.accepts_prefix('{"x"')
        assert not acceptor.accepts_prefix('[1')


def put_definitions_at_the_root(schema: Any) -> Any:
    """An object that may have ``x`` under the schema, and ``y``."""
    text = json.dumps(schema).replace('"#', '"#/$defs/inner')
    return {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/inner"}, "y": True},
        "$defs": {"inner": json.loads(text)},
    }


def test_a_value_that_the_style_cannot_write_is_unsatisfiable() -> None:
    schema = {"type": "integer", "minimum": 10**50}
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema(schema)
    assert compile_json_schema(schema, style="any").accepts("1e50")


# The family


def test_all_errors_are_one_family_and_pythons_own() -> None:
    for schema, error, python in (
        ({"type": "x"}, SchemaError, ValueError),
        ({"not": {}}, UnsupportedSchemaError, NotImplementedError),
        (False, UnsatisfiableSchemaError, ValueError),
    ):
        with pytest.raises(error) as raised:
            compile_json_schema(schema)
        assert isinstance(raised.value, StructuredError)
        assert isinstance(raised.value, python)
