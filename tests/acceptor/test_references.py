"""References: where they lead, in every draft, and that nothing is fetched on the way."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Any, NoReturn

import pytest
import referencing
from judging import Case, judge
from referencing.jsonschema import DRAFT7 as REFERENCING_DRAFT7
from referencing.jsonschema import DRAFT202012 as REFERENCING_DRAFT202012

from mlx_structured import SchemaError, compile_json_schema

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT6 = "http://json-schema.org/draft-06/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"

INTEGERS: list[Any] = [0, 1, -5]
OTHERS: list[Any] = ["1", None, 1.5, [1], {}]

TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}
MUTUAL = {
    "$defs": {
        "even": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/successor of odd"}]},
        "odd": {"$ref": "#/$defs/successor of even"},
        "successor of odd": {
            "type": "array",
            "prefixItems": [{"$ref": "#/$defs/odd"}],
            "items": False,
            "minItems": 1,
        },
        "successor of even": {
            "type": "array",
            "prefixItems": [{"$ref": "#/$defs/even"}],
            "items": False,
            "minItems": 1,
        },
    },
    "$ref": "#/$defs/even",
}


def points_at(reference: str, **definitions: Any) -> dict[str, Any]:
    """A schema that is a reference with definitions beside it."""
    return {"$ref": reference, "$defs": definitions}


LOCAL = [
    Case("$defs", points_at("#/$defs/n", n={"type": "integer"}), INTEGERS, OTHERS),
    Case(
        "definitions",
        {"definitions": {"n": {"type": "integer"}}, "$ref": "#/definitions/n"},
        INTEGERS,
        OTHERS,
    ),
    Case(
        "a reference to a reference",
        points_at("#/$defs/a", a={"$ref": "#/$defs/b"}, b={"type": "integer"}),
        INTEGERS,
        OTHERS,
    ),
    Case(
        "a boolean schema",
        {"$defs": {"no": False}, "properties": {"a": {"$ref": "#/$defs/no"}}},
        [{}, {"b": 1}],
        [{"a": 1}],
    ),
    Case(
        "~1 is a slash", points_at("#/$defs/a~1b", **{"a/b": {"type": "integer"}}), INTEGERS, OTHERS
    ),
    Case(
        "~0 is a tilde", points_at("#/$defs/a~0b", **{"a~b": {"type": "integer"}}), INTEGERS, OTHERS
    ),
    Case(
        "~01 is ~1 and not a slash",
        points_at("#/$defs/a~01b", **{"a~1b": {"type": "integer"}, "a/b": False}),
        INTEGERS,
        OTHERS,
    ),
    Case(
        "percent-encoding",
        points_at("#/$defs/a%20%25%22b", **{'a %"b': {"type": "integer"}}),
        INTEGERS,
        OTHERS,
    ),
    Case(
        "percent-encoding of other scripts",
        points_at("#/$defs/%C3%A9", é={"type": "integer"}),
        INTEGERS,
        OTHERS,
    ),
    Case("an empty name", points_at("#/$defs/", **{"": {"type": "integer"}}), INTEGERS, OTHERS),
    Case(
        "into a list", {"allOf": [True, {"type": "integer"}], "$ref": "#/allOf/1"}, INTEGERS, OTHERS
    ),
    Case(
        "into a place that no keyword knows",
        {"x-types": {"n": {"type": "integer"}}, "$ref": "#/x-types/n"},
        INTEGERS,
        OTHERS,
    ),
    Case(
        "through properties",
        {"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}},
        [{"a": 1, "b": 2}],
        [{"b": "x"}],
    ),
    Case("$anchor", points_at("#here", n={"$anchor": "here", "type": "integer"}), INTEGERS, OTHERS),
    Case(
        "an anchor of draft 7",
        {
            "$schema": DRAFT7,
            "allOf": [{"$ref": "#here"}],
            "definitions": {"n": {"$id": "#here", "type": "integer"}},
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "an anchor of draft 4",
        {
            "$schema": DRAFT4,
            "allOf": [{"$ref": "#here"}],
            "definitions": {"n": {"id": "#here", "type": "integer"}},
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "$id of a subschema",
        {
            "$id": "http://example.com/root.json",
            "$ref": "sub.json",
            "$defs": {"n": {"$id": "sub.json", "type": "integer"}},
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "$id of a subschema without one of the root",
        {
            "$ref": "http://example.com/sub.json",
            "$defs": {"n": {"$id": "http://example.com/sub.json", "type": "integer"}},
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "a reference is relative to the nearest $id",
        {
            "$id": "http://example.com/root.json",
            "items": {
                "$id": "http://other.example/folder/",
                "items": {"$ref": "n.json"},
                "$defs": {"n": {"$id": "n.json", "type": "integer"}},
            },
            "$defs": {"n": {"$id": "n.json", "type": "string"}},
        },
        [[[1]]],
        [[["x"]]],
    ),
    Case(
        "# is the nearest resource",
        {
            "$id": "http://example.com/root.json",
            "type": "object",
            "properties": {"a": {"$id": "inner.json", "type": "array", "items": {"$ref": "#"}}},
        },
        [{"a": []}, {"a": [[], [[]]]}],
        [{"a": [{}]}, {"a": [1]}],
    ),
    Case(
        "a urn",
        {
            "$id": "urn:example:root",
            "$defs": {"n": {"type": "integer"}},
            "$ref": "urn:example:root#/$defs/n",
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "an $id with a fragment of nothing",
        {
            "$id": "http://example.com/a.json#",
            "$schema": DRAFT7,
            "definitions": {"n": {"type": "integer"}},
            "allOf": [{"$ref": "http://example.com/a.json#/definitions/n"}],
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "draft 7: an $id beside $ref counts for nothing",
        {
            "$schema": DRAFT7,
            "$id": "http://example.com/a/",
            "definitions": {"n": {"type": "integer"}},
            "allOf": [{"$id": "http://example.com/b/", "$ref": "#/definitions/n"}],
        },
        INTEGERS,
        OTHERS,
    ),
    Case(
        "a property named $ref",
        {"properties": {"$ref": {"type": "integer"}}},
        [{"$ref": 1}],
        [{"$ref": "x"}],
    ),
    Case(
        "a constant that looks like a reference",
        {"const": {"$ref": "#/nowhere"}},
        [{"$ref": "#/nowhere"}],
        [{}],
    ),
]

RECURSIVE = [
    Case(
        "a tree",
        TREE,
        [
            {"value": 1},
            {"value": 1, "children": []},
            {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}, {"value": 4}]},
        ],
        [
            {},
            {"value": 1, "children": [{}]},
            {"value": 1, "children": [{"value": 2, "children": [3]}]},
        ],
    ),
    Case(
        "the root",
        {"type": "array", "items": {"$ref": "#"}},
        [[], [[]], [[[], []], []]],
        [1, [1], [[{}]]],
    ),
    Case(
        "mutual recursion", MUTUAL, [None, [[None]], [[[[None]]]]], [[None], [[[None]]], [], [[]]]
    ),
    Case(
        "a linked list",
        {
            "type": "object",
            "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
            "required": ["next"],
        },
        [{"next": None}, {"next": {"next": None}}],
        [{}, {"next": {}}, {"next": 1}],
    ),
    Case(
        "recursion through additionalProperties",
        {"type": ["object", "integer"], "additionalProperties": {"$ref": "#"}},
        [1, {}, {"a": {"b": 3, "c": {}}}],
        ["x", {"a": {"b": None}}],
    ),
    Case(
        "recursion below allOf",
        {"type": "array", "allOf": [{"items": {"$ref": "#"}}, {"maxItems": 1}]},
        [[], [[]], [[[]]]],
        [[[], []], [[[], []]]],
    ),
    Case(
        "recursion that only some alternatives leave",
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}, "minItems": 2}]},
        [1, [1, 2], [[1, 2], 3]],
        [[1], [[1], 2], []],
    ),
    Case(
        "two recursive schemas side by side",
        {
            "allOf": [{"$ref": "#/$defs/short"}, {"$ref": "#/$defs/arrays"}],
            "$defs": {
                "short": {"maxItems": 2, "items": {"$ref": "#/$defs/short"}},
                "arrays": {"type": "array", "items": {"$ref": "#/$defs/arrays"}},
            },
        },
        [[], [[], [[], []]]],
        [1, [1], [[[], [], []]], [[], [], []]],
    ),
]


@pytest.mark.parametrize("case", LOCAL + RECURSIVE, ids=lambda case: case.name)
def test_reference(case: Case) -> None:
    judge(case)


def test_recursion_goes_as_deep_as_the_text() -> None:
    text = '{"value": 1}'
    for _ in range(300):
        text = f'{{"value": 1, "children": [{text}]}}'
    for style in ("spaced", "any"):
        acceptor = compile_json_schema(TREE, style=style)
        assert acceptor.accepts(text)
        assert not acceptor.accepts(text.replace('{"value": 1}', "{}"))


# Documents of a registry

DOCUMENTS = {
    "http://example.com/integer.json": {"type": "integer"},
    "http://example.com/defs.json": {
        "$defs": {
            "n": {"type": "integer"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
        }
    },
    "http://example.com/folder/list.json": {"type": "array", "items": {"$ref": "../integer.json"}},
    "http://example.com/anchored.json": {"$defs": {"n": {"$anchor": "n", "type": "integer"}}},
    "http://example.com/old.json": {
        "$schema": DRAFT7,
        "items": [{"type": "integer"}],
        "additionalProperties": {"$ref": "integer.json", "maximum": 3},
    },
    "http://example.com/named.json": {
        "$id": "http://elsewhere.example/n.json",
        "items": {"$ref": "#/$defs/n"},
        "$defs": {"n": {"type": "integer"}},
    },
    "http://example.com/anything.json": True,
    "http://example.com/nothing.json": False,
}

REMOTE = [
    Case("a document", {"$ref": "http://example.com/integer.json"}, INTEGERS, OTHERS),
    Case(
        "relative to $id",
        {"$id": "http://example.com/x/y.json", "$ref": "../integer.json"},
        INTEGERS,
        OTHERS,
    ),
    Case(
        "a pointer in a document",
        {"$ref": "http://example.com/defs.json#/$defs/n"},
        INTEGERS,
        OTHERS,
    ),
    Case(
        "# means the document it stands in",
        {"$ref": "http://example.com/defs.json#/$defs/list", "$defs": {"n": False}},
        [[], [1]],
        [["x"], 1],
    ),
    Case(
        "a document that refers to another",
        {"$ref": "http://example.com/folder/list.json"},
        [[1, 2]],
        [["x"], 1],
    ),
    Case("an anchor", {"$ref": "http://example.com/anchored.json#n"}, INTEGERS, OTHERS),
    Case(
        "a document of another draft",
        {"$ref": "http://example.com/old.json"},
        [[1, "x"], {"a": 9}],
        [["x"], {"a": "x"}],
    ),
    Case(
        "a document known by another name",
        {"$ref": "http://example.com/named.json"},
        [[1]],
        [["x"]],
    ),
    Case(
        "a boolean document",
        {
            "prefixItems": [
                {"$ref": "http://example.com/anything.json"},
                {"$ref": "http://example.com/nothing.json"},
            ]
        },
        [[], [1]],
        [[1, 2]],
    ),
]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test at the first try to reach the network."""

    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("case", REMOTE, ids=lambda case: case.name)
def test_reference_to_a_document_of_a_mapping(case: Case) -> None:
    judge(case, registry=DOCUMENTS)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("case", REMOTE, ids=lambda case: case.name)
def test_reference_to_a_document_of_a_referencing_registry(case: Case) -> None:
    registry: referencing.Registry[Any] = referencing.Registry().with_contents(
        DOCUMENTS.items(), default_specification=REFERENCING_DRAFT202012
    )
    judge(case, registry=registry)


@pytest.mark.usefixtures("offline")
def test_a_registry_keeps_its_own_documents_of_older_drafts() -> None:
    registry: referencing.Registry[Any] = referencing.Registry().with_resource(
        "http://example.com/old.json",
        REFERENCING_DRAFT7.create_resource(
            {"$schema": DRAFT7, "items": [{"type": "integer"}, {"$ref": "#/items/0"}]}
        ),
    )
    judge(
        Case("", {"$ref": "http://example.com/old.json"}, [[1, 2, "x"]], [[1, "x"]]),
        registry=registry,
    )


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("draft", [DRAFT4, DRAFT6, DRAFT7])
def test_the_metaschemas_of_the_drafts_are_at_hand(draft: str) -> None:
    acceptor = compile_json_schema({"$schema": draft, "$ref": draft}, style="any")
    assert acceptor.accepts('{"type": "object", "required": ["a", "b"]}')
    assert not acceptor.accepts('{"type": "objekt"}')
    assert not acceptor.accepts('{"required": ["a", "a"]}')


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    "reference",
    [
        "http://[",
        "#/prefixItems/first",
        "#/$defs/%zz",
        "http://example.com/unknown.json",
        "https://raw.githubusercontent.com/x/y.json",
        "unknown.json",
        "file:///etc/passwd",
        "http://example.com/integer.json#/nothing/here",
        "#/$defs/missing",
        "#missing",
        "urn:nobody:knows",
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error_and_never_fetched(reference: str) -> None:
    with pytest.raises(SchemaError, match="leads nowhere") as raised:
        compile_json_schema(
            {"items": {"$ref": reference}, "prefixItems": [True]}, registry=DOCUMENTS
        )
    assert raised.value.pointer == "/items/$ref"
    assert reference in str(raised.value)


@pytest.mark.parametrize("draft", [DRAFT4, DRAFT6, DRAFT7, DRAFT201909])
def test_the_default_dialect_is_that_of_documents_without_schema(draft: str) -> None:
    schema = {"items": [{"type": "integer"}]}
    acceptor = compile_json_schema(schema, default_dialect=draft)
    assert acceptor.accepts(json.dumps([1, "x"]))
    assert not acceptor.accepts(json.dumps(["x"]))
    with pytest.raises(SchemaError):
        compile_json_schema(schema)


def test_two_documents_of_the_same_content_keep_their_own_references() -> None:
    shared = {"items": {"$ref": "element.json"}}
    documents = {
        "http://a.example/list.json": shared,
        "http://a.example/element.json": {"type": "integer"},
        "http://b.example/list.json": shared,
        "http://b.example/element.json": {"type": "string"},
    }
    judge(
        Case(
            "",
            {
                "prefixItems": [
                    {"$ref": "http://a.example/list.json"},
                    {"$ref": "http://b.example/list.json"},
                ]
            },
            [[[1], ["x"]]],
            [[["x"]], [[1], [1]]],
        ),
        registry=documents,
    )


def test_the_schema_given_is_left_as_it_was() -> None:
    text = json.dumps(TREE)
    schema = json.loads(text)
    compile_json_schema(schema).accepts('{"value": 1}')
    assert json.dumps(schema) == text


@pytest.mark.parametrize("draft", [DRAFT4, DRAFT6, DRAFT7])
@pytest.mark.parametrize("names_come_first", [True, False])
def test_dependencies_may_mix_names_with_schemas_that_are_referred_to(
    draft: str, names_come_first: bool
) -> None:
    identifier = "id" if draft == DRAFT4 else "$id"
    wanted = [("b", ["c"]), ("a", {identifier: "http://example.com/two", "maxProperties": 2})]
    schema = {
        "$schema": draft,
        "properties": {"a": {"$ref": "http://example.com/two"}},
        "dependencies": dict(wanted if names_come_first else reversed(wanted)),
    }
    valid = [{}, {"a": 1}, {"a": {"x": 1, "y": 2}}, {"b": 1, "c": 1}]
    judge(Case("", schema, valid, [{"a": {"x": 1, "y": 2, "z": 3}}, {"b": 1}, {"a": 1, "b": 1}]))
