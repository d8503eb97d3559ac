"""What is wrong with a schema is said by name, with the place, in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judging import assert_says_what_to_do

from mlx_structured import (
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    SchemaError,
    StructuredError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    Vocabulary,
    compile_json_schema,
)

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT6 = "http://json-schema.org/draft-06/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"
DRAFT202012 = "https://json-schema.org/draft/2020-12/schema"

# A value with which each keyword would say something.
LATER: dict[str, Any] = {"pattern": "(a)\\1", "patternProperties": {"(a)\\1": {}}}
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


def test_a_vocabulary_without_some_byte_is_named_where_no_completion_is_found() -> None:
    with pytest.raises(LimitExceededError, match="a token for each single byte"):
        JsonSchemaAcceptorDriver(
            compile_json_schema({"type": "string"}), Vocabulary([b"a", None], [1]), max_tokens=9
        )


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
        compile_json_schema(put(schema, {"type": "string", "pattern": "(a)\\1"}))
    assert raised.value.keyword == "pattern"
    assert raised.value.pointer == f"{pointer}/pattern"


def test_a_keyword_is_refused_in_a_document_of_the_registry() -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema(
            {"$ref": "http://example.com/a.json"},
            registry={"http://example.com/a.json": {"items": {"pattern": "(a)\\1"}}},
        )
    assert raised.value.keyword == "pattern"
    assert raised.value.pointer == "http://example.com/a.json#/items/pattern"


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
    ids=", ".join,
)
def test_unknown_words_and_annotations_are_passed_over(annotations: dict[str, Any]) -> None:
    acceptor = compile_json_schema({**annotations, "items": {**annotations, "type": "integer"}})
    assert acceptor.accepts("[1]")
    assert acceptor.accepts('"any"')
    assert not acceptor.accepts('["x"]')


def test_keywords_as_names_of_properties_are_no_keywords() -> None:
    names = [
        *LATER,
        "format",
        "type",
        "properties",
        "$id",
        "items",
        "additionalItems",
        "dependencies",
    ]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names}
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(json.dumps(dict.fromkeys(names, 1)))
    assert not acceptor.accepts(json.dumps({**dict.fromkeys(names, 1), "format": "x"}))


@pytest.mark.parametrize(
    ("draft", "keyword", "value"),
    [
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
        ({"$schema": DRAFT4, "minimum": 1, "exclusiveMinimum": 3}, "/exclusiveMinimum"),
        ({"$schema": DRAFT4, "required": []}, "/required"),
        ({"$schema": DRAFT4, "additionalProperties": 3}, "/additionalProperties"),
        ({"$schema": DRAFT7, "items": [3]}, "/items/0"),
        ({"$schema": DRAFT7, "definitions": {"a": {"enum": 1}}}, "/definitions/a/enum"),
    ],
)
def test_an_invalid_schema_is_refused_with_the_place(schema: Any, pointer: str) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == pointer
    assert pointer in str(raised.value)
    assert_says_what_to_do(raised.value)


def test_the_message_says_what_was_expected() -> None:
    with pytest.raises(SchemaError, match=r"'strin' is not one of .*'string'"):
        compile_json_schema({"type": "strin"})


def test_a_message_stays_short_for_a_large_schema() -> None:
    large = {f"property {i}": {"type": "string"} for i in range(1_000)}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema({"properties": [large]})
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize(
    ("reference", "registry", "pointer"),
    [
        (
            "http://example.com/a.json",
            {"properties": {"a": {"minLength": "x"}}},
            "http://example.com/a.json#/properties/a/minLength",
        ),
        (
            "http://example.com/a.json#/$defs/x%20y",
            {"$defs": {"x y": {"type": 3}}},
            "http://example.com/a.json#/$defs/x y/type",
        ),
        ("#/x-types/a~1b", True, "/x-types/a~1b/required"),
    ],
)
def test_what_a_reference_leads_to_must_be_valid_too(
    reference: str, registry: Any, pointer: str
) -> None:
    schema = {"items": {"$ref": reference}, "x-types": {"a/b": {"required": "all"}}}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema, registry={"http://example.com/a.json": registry})
    assert raised.value.pointer == pointer
    assert_says_what_to_do(raised.value)


@pytest.mark.parametrize("reference", [1, [1], {"allOf": []}, None])
def test_a_reference_that_is_no_string_is_refused_in_draft_4_too(reference: Any) -> None:
    draft4 = "http://json-schema.org/draft-04/schema#"
    schema = {"$schema": draft4, "properties": {"a": {"$ref": reference}}}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == "/properties/a/$ref"
    assert_says_what_to_do(raised.value)


def test_an_identifier_that_is_no_uri_is_refused_with_the_place() -> None:
    # A relative one is joined to the root's; RFC 3986, section 3.2.2, wants the bracket closed.
    inner = {"$id": "http://[", "minLength": 1}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema({"$id": "http://example.com/", "properties": {"a": inner}})
    assert raised.value.pointer == "/properties/a"
    assert_says_what_to_do(raised.value)


def test_an_anchor_that_is_no_name_is_refused_only_where_it_is_reached() -> None:
    place = {"$dynamicAnchor": "#/", "type": "null"}
    with pytest.raises(SchemaError) as raised:
        compile_json_schema({"x": place, "$ref": "#/x"})
    assert raised.value.pointer == "/x/$dynamicAnchor"
    # The reference makes the document be looked through for anchors.
    other = {"x": place, "$defs": {"a": {"type": "null", "$anchor": "a"}}, "$ref": "#a"}
    assert compile_json_schema(other).accepts("null")


def test_additional_items_without_a_list_of_items_are_not_looked_at_in_draft_2020_12() -> None:
    schema = {"type": "null", "additionalItems": {"type": [{"no": "type"}]}}
    assert compile_json_schema(schema).accepts("null")


def test_an_invalid_document_that_nothing_reaches_does_no_harm() -> None:
    documents = {"http://example.com/a.json": {"type": "strin"}}
    assert compile_json_schema({"type": "null"}, registry=documents).accepts("null")


@pytest.mark.parametrize(
    "uri", ["http://example.com/mine", "http://json-schema.org/draft-03/schema#", "", "draft-07"]
)
def test_an_unknown_dialect_names_the_known_ones(uri: str) -> None:
    with pytest.raises(SchemaError, match="2020-12") as raised:
        compile_json_schema({"$schema": uri})
    assert raised.value.pointer == "/$schema"
    with pytest.raises(SchemaError, match="2020-12"):
        compile_json_schema({}, default_dialect=uri)


def test_an_unknown_dialect_of_a_subschema_is_refused_with_the_place() -> None:
    with pytest.raises(SchemaError, match="2020-12") as raised:
        compile_json_schema({"properties": {"a/b": {"$schema": "http://example.com/mine"}}})
    assert raised.value.pointer == "/properties/a~1b/$schema"


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
        {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/a"}],
            "$defs": {"a": {"anyOf": [{"$ref": "#"}]}},
        },
        {
            "properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {
                "x": {"type": "array", "allOf": [{"$ref": "#/$defs/y"}]},
                "y": {"minItems": 1, "$ref": "#/$defs/x"},
            },
        },
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "array", "$ref": "#/$defs/a"}}},
    ],
)
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


def test_a_schema_nested_too_deeply_is_refused_by_name() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(2_000):
        schema = {"items": schema}
    with pytest.raises(LimitExceededError, match="nested too deeply") as raised:
        compile_json_schema(schema)
    assert_says_what_to_do(raised.value)


# The family


def test_all_errors_are_one_family_and_pythons_own() -> None:
    for schema, error, python in (
        ({"type": "x"}, SchemaError, ValueError),
        ({"pattern": "(a)\\1"}, UnsupportedSchemaError, NotImplementedError),
        (False, UnsatisfiableSchemaError, ValueError),
    ):
        with pytest.raises(error) as raised:
            compile_json_schema(schema)
        assert isinstance(raised.value, StructuredError)
        assert isinstance(raised.value, python)


def test_a_format_that_the_specification_does_not_know_is_an_annotation() -> None:
    assert compile_json_schema({"type": "string", "format": "int64"}).accepts('"x"')


@pytest.mark.parametrize("place", [False, 3, None, 1.5, "text"])
def test_a_reference_through_what_is_no_container_leads_nowhere(place: object) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_json_schema({"$ref": "#/x-place/0/items", "x-place": place})
    assert_says_what_to_do(raised.value)


def test_additional_items_beside_prefix_items_is_refused() -> None:
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema({"prefixItems": [True], "additionalItems": False})
    assert (raised.value.keyword, raised.value.pointer) == ("additionalItems", "/additionalItems")
