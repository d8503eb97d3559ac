"""Dynamic references, and metaschemas of one's own, by the text of the specification."""

from __future__ import annotations

from typing import Any

import pytest
import referencing
from judging import Case, judge
from referencing.jsonschema import DRAFT202012 as REFERENCING_DRAFT202012

from mlx_structured import SchemaError, UnsupportedSchemaError, compile_json_schema
from mlx_structured.json_schema.dialects import DRAFT202012 as DIALECT
from mlx_structured.json_schema.nodes import Node, NodeTable, SchemaNode

DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"
DRAFT202012 = "https://json-schema.org/draft/2020-12/schema"
VOCABULARY = "https://json-schema.org/draft/2020-12/vocab"

# The trees of 2020-12 core, section 8.2.3.2 and appendix C. Their "unevaluatedProperties" is
# spelled with the names of the properties, so that these tests are about references alone.
TREE = {
    "$id": "https://example.com/tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {
        "data": True,
        "children": {"type": "array", "items": {"$dynamicRef": "#node"}},
    },
}
STRICT_TREE = {
    "$id": "https://example.com/strict-tree",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "properties": {"data": True, "children": True},
    "additionalProperties": False,
}
RECURSIVE_TREE = {
    "$schema": DRAFT201909,
    "$id": "https://example.com/tree",
    "$recursiveAnchor": True,
    "type": "object",
    "properties": {
        "data": True,
        "children": {"type": "array", "items": {"$recursiveRef": "#"}},
    },
}
RECURSIVE_STRICT_TREE = {
    "$schema": DRAFT201909,
    "$id": "https://example.com/strict-tree",
    "$recursiveAnchor": True,
    "$ref": "tree",
    "properties": {"data": True, "children": True},
    "additionalProperties": False,
}
GOOD_TREES = [{}, {"data": 1}, {"children": [{"data": 1}, {"children": [{"data": 2}]}]}]
MISSPELLED_AT_THE_ROOT = [{"daat": 1}, {"children": [{"data": 1}], "daat": 1}]
MISSPELLED_BELOW = [{"children": [{"daat": 1}]}, {"children": [{"children": [{"daat": 1}]}]}]
NO_TREES = [1, {"children": [1]}, {"children": [{"children": [None]}]}]


def documents(*schemas: dict[str, Any]) -> dict[str, Any]:
    """A registry of schemas by their identifiers."""
    return {schema["$id"]: schema for schema in schemas}


@pytest.mark.parametrize(
    ("strict", "tree"), [(STRICT_TREE, TREE), (RECURSIVE_STRICT_TREE, RECURSIVE_TREE)]
)
def test_a_strict_tree_is_strict_at_every_depth(strict: Any, tree: Any) -> None:
    case = Case("", strict, GOOD_TREES, MISSPELLED_AT_THE_ROOT + MISSPELLED_BELOW + NO_TREES)
    judge(case, registry=documents(tree))


@pytest.mark.parametrize("tree", [TREE, RECURSIVE_TREE])
def test_the_tree_by_itself_is_not_strict(tree: Any) -> None:
    valid = GOOD_TREES + MISSPELLED_AT_THE_ROOT + MISSPELLED_BELOW
    judge(Case("", tree, valid, NO_TREES))


@pytest.mark.parametrize("anchor", [{}, {"$recursiveAnchor": False}])
@pytest.mark.parametrize("place", ["outer", "target"])
def test_without_a_true_recursive_anchor_a_recursive_reference_is_a_plain_one(
    anchor: Any, place: str
) -> None:
    strict, tree = dict(RECURSIVE_STRICT_TREE), dict(RECURSIVE_TREE)
    changed = strict if place == "outer" else tree
    del changed["$recursiveAnchor"]
    changed |= anchor
    case = Case("", strict, GOOD_TREES + MISSPELLED_BELOW, MISSPELLED_AT_THE_ROOT + NO_TREES)
    judge(case, registry=documents(tree))


@pytest.mark.parametrize(
    "change",
    [
        {"$dynamicAnchor": "other"},
        {"$dynamicAnchor": "other", "$anchor": "node"},
        {
            "$dynamicAnchor": "other",
            "$anchor": "node",
            "$defs": {"inner": {"$id": "inner", "$dynamicAnchor": "node"}},
        },
    ],
)
def test_an_outer_resource_without_the_dynamic_anchor_is_passed_over(change: Any) -> None:
    case = Case(
        "", {**STRICT_TREE, **change}, GOOD_TREES + MISSPELLED_BELOW, MISSPELLED_AT_THE_ROOT
    )
    judge(case, registry=documents(TREE))


@pytest.mark.parametrize("reference", ["#item", "#/$defs/item", "list#item"])
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("anchor", ["$anchor", "$dynamicAnchor"])
def test_a_reference_is_dynamic_only_by_the_name_of_a_dynamic_anchor(
    reference: str, keyword: str, anchor: str
) -> None:
    items = {
        "$id": "https://example.com/list",
        "items": {keyword: reference},
        "$defs": {"item": {anchor: "item", "type": ["integer", "string"]}},
    }
    outer = {
        "$id": "https://example.com/outer",
        "$ref": "list",
        "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}},
    }
    is_dynamic = keyword == "$dynamicRef" and anchor == "$dynamicAnchor" and "/" not in reference
    case = (
        Case("", outer, [[], ["a"]], [[1], [None]])
        if is_dynamic
        else Case("", outer, [[], ["a"], [1]], [[None]])
    )
    judge(case, registry=documents(items))


def test_a_plain_reference_into_another_document_takes_the_anchor_of_that_document() -> None:
    other = {"$id": "https://example.com/other", "$dynamicAnchor": "x", "type": "integer"}
    root = {
        "$id": "https://example.com/root",
        "$dynamicAnchor": "x",
        "properties": {"a": {"$ref": "other#x"}},
    }
    judge(Case("", root, [{"a": 1}], [{"a": {}}, {"a": "1"}]), registry=documents(other))


def test_one_generic_list_serves_two_kinds_of_items() -> None:
    generic = {
        "$id": "https://example.com/generic",
        "type": "array",
        "items": {"$dynamicRef": "#item"},
        "$defs": {"any": {"$dynamicAnchor": "item"}},
    }
    numbers = {
        "$id": "https://example.com/numbers",
        "$ref": "generic",
        "$defs": {"item": {"$dynamicAnchor": "item", "type": "number"}},
    }
    strings = {
        "$id": "https://example.com/strings",
        "$ref": "generic",
        "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}},
    }
    schema = {
        "properties": {
            name: {"$ref": f"https://example.com/{name}"}
            for name in ("numbers", "strings", "generic")
        }
    }
    judge(
        Case(
            "",
            schema,
            [{"numbers": [1], "strings": ["a"], "generic": [1, "a"]}],
            [{"numbers": ["a"]}, {"strings": [1]}, {"numbers": [1], "strings": [1]}],
        ),
        registry=documents(generic, numbers, strings),
    )


@pytest.mark.parametrize("entry", ["child", "pointer", "identifier"])
def test_a_resource_within_the_document_is_entered_by_every_way(entry: str) -> None:
    inner = {
        "$id": "https://example.com/inner",
        "properties": {"b": {"$ref": "list"}},
        "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}},
    }
    items = {
        "$id": "https://example.com/list",
        "items": {"$dynamicRef": "#item"},
        "$defs": {"item": {"$dynamicAnchor": "item", "type": "integer"}},
    }
    schema = {
        "child": {"properties": {"a": inner}},
        "pointer": {"properties": {"a": {"$ref": "#/$defs/i"}}, "$defs": {"i": inner}},
        "identifier": {"properties": {"a": {"$ref": inner["$id"]}}, "$defs": {"i": inner}},
    }[entry]
    case = Case("", schema, [{"a": {"b": ["x"]}}], [{"a": {"b": [1]}}])
    judge(case, registry=documents(items))


@pytest.mark.parametrize("entry", ["lib/list", "#/$defs/list"])
def test_a_resource_within_the_document_with_a_relative_identifier_keeps_its_base(
    entry: str,
) -> None:
    schema = {
        "$id": "https://example.com/root",
        "$ref": entry,
        "$defs": {
            "list": {
                "$id": "lib/list",
                "$dynamicAnchor": "list",
                "properties": {"next": {"$dynamicRef": "#list"}, "value": {"$ref": "value"}},
            },
            "value": {"$id": "lib/value", "type": "integer"},
            "decoy": {"$id": "value", "type": "string"},
        },
    }
    judge(
        Case(
            "",
            schema,
            [{"next": {"next": {"value": 1}}}],
            [{"next": {"next": {"value": "1"}}}, {"value": "1"}],
        )
    )


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"$dynamicRef": "#/$defs/a", "$defs": {}}, "$dynamicRef"),
        ({"$dynamicRef": "#a"}, "$dynamicRef"),
        ({"$schema": DRAFT201909, "items": {"$recursiveRef": "#/items"}}, "items/$recursiveRef"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(schema: Any, keyword: str) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_json_schema(schema)
    assert raised.value.pointer == f"/{keyword}"


@pytest.mark.parametrize(
    "schema",
    [
        {"$dynamicRef": "#"},
        {"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]},
        {"$dynamicAnchor": "a", "not": {"$dynamicRef": "#a"}},
        {"$schema": DRAFT201909, "anyOf": [{"type": "null"}, {"$recursiveRef": "#"}]},
    ],
)
def test_a_dynamic_reference_to_the_same_value_without_an_end_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="itself"):
        compile_json_schema(schema)


def test_a_cycle_that_only_the_way_closes_is_refused() -> None:
    inner = {
        "$id": "https://example.com/inner",
        "anyOf": [{"type": "null"}, {"$dynamicRef": "#leaf"}],
        "$defs": {"leaf": {"$dynamicAnchor": "leaf", "type": "string"}},
    }
    judge(Case("", inner, [None, "a"], [1]))
    outer = {"$id": "https://example.com/outer", "$dynamicAnchor": "leaf", "$ref": "inner"}
    with pytest.raises(SchemaError, match="itself"):
        compile_json_schema(outer, registry=documents(inner))


@pytest.mark.parametrize(
    "schema",
    [
        {"$dynamicAnchor": "a"},
        {"$anchor": "a"},
        {"$schema": DRAFT201909, "$recursiveAnchor": True},
        {"$vocabulary": {}},
    ],
)
def test_anchors_and_vocabularies_say_nothing_about_values(schema: Any) -> None:
    judge(Case("", {"type": "integer", **schema}, [1], ["a"]))
    judge(Case("", schema, [1, "a", None, [], {}]))


def node_of(node: Node, *path: str) -> Node:
    for name in path:
        assert isinstance(node, SchemaNode)
        node = node.child("properties", name)
    return node


@pytest.mark.parametrize(("anchor", "is_shared"), [("$anchor", True), ("$dynamicAnchor", False)])
def test_only_dynamic_anchors_on_the_way_make_nodes_of_their_own(
    anchor: str, is_shared: bool
) -> None:
    shared: dict[str, Any] = {"$id": "https://example.com/shared", "required": ["x"]}
    ways: list[dict[str, Any]] = [
        {"$id": f"https://example.com/{name}", anchor: "x", "properties": {"s": {"$ref": "shared"}}}
        for name in "ab"
    ]
    table = NodeTable(
        referencing.Registry().with_resources(
            (schema["$id"], REFERENCING_DRAFT202012.create_resource(schema))
            for schema in (shared, *ways)
        ),
        DIALECT,
    )
    root = table.root(
        {"properties": {name: {"$ref": f"https://example.com/{name}"} for name in "ab"}}
    )
    assert (node_of(root, "a", "s") is node_of(root, "b", "s")) is is_shared


# The drafts' own metaschemas


def test_a_metaschema_applies_itself_to_subschemas() -> None:
    judge(
        Case(
            "",
            {"$ref": "https://json-schema.org/draft/2020-12/meta/applicator"},
            [True, {"items": {"not": {"properties": {"a": False}}}}],
            [1, {"items": 1}, {"items": {"not": {"properties": {"a": 1}}}}, {"allOf": []}],
        )
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "http://json-schema.org/draft-04/schema#/properties/pattern",
        "http://json-schema.org/draft-07/schema#/properties/pattern",
        "https://json-schema.org/draft/2020-12/meta/validation#/properties/pattern",
    ],
)
def test_the_metaschemas_formats_are_enforced(pattern: str) -> None:
    judge(Case("", {"$ref": pattern}, ["a"], ["(", 1]))


# Metaschemas of one's own


def metaschema(*vocabularies: str, **keywords: Any) -> dict[str, Any]:
    """A metaschema of 2020-12 with some of its vocabularies."""
    used = {f"{VOCABULARY}/{name}": True for name in ("core", *vocabularies)}
    return {
        "$schema": DRAFT202012,
        "$id": "https://example.com/meta",
        "$vocabulary": used,
        **keywords,
    }


MINE = {"$schema": "https://example.com/meta"}


@pytest.mark.parametrize(
    ("vocabularies", "valid", "invalid"),
    [
        (["validation", "applicator"], [{"a": 5}], [{"a": 1}, {"b": 1}, 1]),
        (["applicator"], [{"a": 5}, {"a": 1}, 1], [{"b": 1}]),
        (["validation"], [{"a": 5}, {"a": 1}, {"b": 1}], [1]),
        ([], [{"a": 5}, {"a": 1}, {"b": 1}, 1], []),
    ],
)
def test_keywords_of_a_vocabulary_that_is_not_used_say_nothing(
    vocabularies: list[str], valid: Any, invalid: Any
) -> None:
    schema = {
        **MINE,
        "type": "object",
        "properties": {"a": {"minimum": 2}},
        "additionalProperties": False,
    }
    registry = documents(metaschema(*vocabularies))
    judge(Case("", schema, valid, invalid), registry=registry)


def test_keywords_that_say_nothing_are_not_refused() -> None:
    schema = {**MINE, "uniqueItems": True, "unevaluatedItems": False, "format": "regex"}
    judge(Case("", schema, [[1, 1], "("]), registry=documents(metaschema()))


def test_a_reference_is_in_use_in_every_metaschema() -> None:
    schema = {**MINE, "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}
    judge(Case("", schema, [1], ["a"]), registry=documents(metaschema("validation")))


def test_a_document_that_is_referred_to_has_a_dialect_of_its_own() -> None:
    other = {"$id": "https://example.com/other", "$schema": DRAFT202012, "minimum": 2}
    schema = {**MINE, "minimum": 9, "properties": {"a": {"$ref": "https://example.com/other"}}}
    case = Case("", schema, [1, {"a": 2}], [{"a": 1}])
    judge(case, registry=documents(metaschema("applicator"), other))
    back = {"$ref": "https://example.com/silent", "maximum": 5}
    silent = {"$id": "https://example.com/silent", **MINE, "minimum": 2}
    judge(Case("", back, [1, 5], [6]), registry=documents(metaschema("applicator"), silent))


def test_the_draft_is_the_one_that_the_metaschemas_lead_to() -> None:
    second = {"$id": "https://example.com/second", "$schema": DRAFT7}
    first = {"$id": "https://example.com/meta", "$schema": "https://example.com/second"}
    schema = {**MINE, "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {}}}
    judge(Case("", schema, [1, "a"]), registry=documents(first, second))


def test_a_metaschema_without_vocabularies_leaves_all_keywords_in_use() -> None:
    mine = {"$id": "https://example.com/meta", "$schema": DRAFT202012}
    judge(Case("", {**MINE, "minimum": 2}, [2], [1]), registry=documents(mine))


def test_up_to_draft_7_there_are_no_vocabularies() -> None:
    mine = metaschema() | {"$schema": DRAFT7}
    judge(Case("", {**MINE, "minimum": 2}, [2], [1]), registry=documents(mine))


@pytest.mark.parametrize("required", [True, False])
def test_only_a_required_vocabulary_has_to_be_known(required: bool) -> None:
    mine = metaschema("validation")
    mine["$vocabulary"]["https://example.com/units"] = required
    registry = documents(mine)
    if not required:
        judge(Case("", {**MINE, "minimum": 2}, [2], [1]), registry=registry)
        return
    with pytest.raises(UnsupportedSchemaError) as raised:
        compile_json_schema(MINE, registry=registry)
    assert raised.value.keyword == "$vocabulary"
    assert raised.value.pointer == (
        "https://example.com/meta#/$vocabulary/https:~1~1example.com~1units"
    )


def test_a_vocabulary_of_another_draft_is_not_known() -> None:
    mine = metaschema() | {"$schema": DRAFT201909}
    with pytest.raises(UnsupportedSchemaError, match="2019-09"):
        compile_json_schema(MINE, registry=documents(mine))


@pytest.mark.parametrize(
    "registry",
    [
        {},
        {"https://example.com/meta": {"$schema": "https://example.com/none"}},
        {"https://example.com/meta": {"$schema": "https://example.com/meta"}},
        {
            "https://example.com/meta": {"$schema": "https://example.com/second"},
            "https://example.com/second": {"$schema": "https://example.com/meta"},
        },
    ],
)
def test_a_metaschema_that_leads_to_no_draft_is_refused(registry: Any) -> None:
    with pytest.raises(SchemaError, match="unknown dialect") as raised:
        compile_json_schema(MINE, registry=registry)
    assert raised.value.pointer == "/$schema"
