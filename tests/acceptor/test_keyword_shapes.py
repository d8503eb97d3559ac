"""The shapes of the keywords' values against the metaschemas, judged by ``jsonschema``."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.protocols import Validator
from shared_files import maskbench

from mlx_structured.compiler import compile_json_schema
from mlx_structured.errors import SchemaError
from mlx_structured.json_schema.dialects import DIALECTS, Dialect
from mlx_structured.json_schema.keyword_shapes import SHAPES, plainly_valid

DRAFTS = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda each: each.name)
KEYWORDS = sorted({keyword for shapes in SHAPES.values() for keyword in shapes})

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 7, -1, 0.5, -0.5, 2.0, 10**30, 1e300),
    *("", "a", "string", "integer", "a#", "a#b", "#", "a\n", "#\n", "_a", "1a", "a.b", "a:b", "é"),
    *([], ["a"], ["a", "a"], ["string"], ["string", "null"], ["string", "string"], ["string", "a"]),
    *([1, 1.0], [1, True], [0, False], [1, 2, None], [[]], [[1], [1]], [{"a": 1}, {"a": 1.0}]),
    *([{}], [True], [{}, {}], [{"type": 1}], [1], [None]),
    *({}, {"a": {}}, {"a": True}, {"a": 1}, {"a": []}, {"a": ["b"]}, {"a": ["b", "b"]}),
    *({"a": [1]}, {"a": {"type": "a"}}, {"minimum": "a"}, {"a": None, "b": {}}, {"a": False}),
)


@cache
def metaschema(dialect: Dialect) -> Validator:
    """What judges schemas of a draft."""
    return dialect.validator(dialect.validator.META_SCHEMA)


def has_whole_float(value: Any) -> bool:
    """Whether a number is written with a needless fraction somewhere."""
    if isinstance(value, (list, dict)):
        return any(map(has_whole_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer()


@DRAFTS
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_shape_is_what_the_metaschema_asks_for(dialect: Dialect, keyword: str) -> None:
    for value in VALUES:
        bounds = {"minimum": 0, "maximum": 0} if keyword.startswith("exclusive") else {}
        schema = {**bounds, keyword: value}
        accepted = plainly_valid(schema, dialect.uri) is not None
        valid = metaschema(dialect).is_valid(schema)
        assert accepted <= valid, schema
        may_be_left_open = has_whole_float(value) or (
            (keyword == "enum" and isinstance(value, list) and not all(map(is_scalar, value)))
            or (isinstance(value, str) and ("\n" in value or value in ("_a", "a:b")))
        )
        assert may_be_left_open or accepted == valid, schema


def is_scalar(value: Any) -> bool:
    """Whether a value has no parts."""
    return not isinstance(value, (list, dict))


@pytest.mark.parametrize("bound", ["Minimum", "Maximum"])
def test_an_exclusive_bound_of_draft_4_needs_the_bound(bound: str) -> None:
    uri = "http://json-schema.org/draft-04/schema"
    assert plainly_valid({f"exclusive{bound}": True}, uri) is None
    assert plainly_valid({f"exclusive{bound}": True, bound.lower(): 1}, uri) is not None


def test_boolean_schemas_came_with_draft_6() -> None:
    accepted = [uri for uri in SHAPES if plainly_valid({"not": True}, uri) is not None]
    assert accepted == [uri for uri in SHAPES if "draft-04" not in uri]


def test_all_subschemas_are_found() -> None:
    names = ("definitions", "not", "items", "additionalProperties", "anyOf", "properties")
    inner = [{"title": name} for name in names]
    schema: dict[str, Any] = dict(zip(names, inner, strict=True))
    schema["definitions"] = {"a": schema["definitions"]}
    schema["properties"] = {"b": schema["properties"]}
    schema["anyOf"] = [schema["anyOf"]]
    found = plainly_valid(schema, "http://json-schema.org/draft-07/schema")
    assert found is not None
    assert {id(each) for each in found} == {id(schema), *map(id, inner)}


def json_values() -> st.SearchStrategy[Any]:
    """Values that are near to what some keyword asks for."""
    return st.recursive(
        st.sampled_from(VALUES),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=4)
        ),
        max_leaves=8,
    )


@DRAFTS
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_plainly_valid_the_metaschema_accepts(dialect: Dialect, data: Any) -> None:
    schema = data.draw(st.dictionaries(st.sampled_from(KEYWORDS), json_values(), max_size=4))
    if plainly_valid(schema, dialect.uri) is not None:
        assert metaschema(dialect).is_valid(schema)


@cache
def real_schemas() -> list[Any]:
    """Every so many of the schemas of MaskBench."""
    return [case["schema"] for case in islice(maskbench(), 0, None, 40)]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container within a value, with a key or an index of it."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


@DRAFTS
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_real_schema_is_plainly_valid_only_if_it_is_valid(
    dialect: Dialect, data: Any
) -> None:
    schema = copy.deepcopy(data.draw(st.sampled_from(real_schemas())))
    holder, key = data.draw(st.sampled_from(list(places(schema)) or [({}, "type")]))
    holder[key] = data.draw(st.sampled_from(VALUES))
    if plainly_valid(schema, dialect.uri) is not None:
        assert metaschema(dialect).is_valid(schema)


def test_nearly_all_real_schemas_are_plainly_valid() -> None:
    draft_7 = "http://json-schema.org/draft-07/schema"
    uris = [each.get("$schema", draft_7).rstrip("#") for each in real_schemas()]
    found = list(map(plainly_valid, real_schemas(), uris))
    assert found.count(None) <= len(found) // 20


def test_the_metaschema_names_what_is_wrong() -> None:
    with pytest.raises(SchemaError, match="at /properties/a/minLength: -1 is less than"):
        compile_json_schema({"properties": {"a": {"minLength": -1}}})


def test_what_a_reference_leads_to_is_checked_where_no_keyword_knows_it() -> None:
    schema = {"$ref": "#/parts/a", "parts": {"a": {"minLength": -1}}}
    with pytest.raises(SchemaError, match="at /parts/a/minLength"):
        compile_json_schema(schema)
