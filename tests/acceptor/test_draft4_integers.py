"""Draft 4's integers: numbers that are written without a fraction and an exponent.

"integer: A JSON number without a fraction or exponent part" (draft 4 core, section 3.5). Numbers
are equal by value all the same: "both are numbers, and have the same mathematical value" (3.6).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import pytest
from byte_vocabulary import TOKENS, allowed, make_vocabulary
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    UnsatisfiableSchemaError,
    compile_json_schema,
)
from mlx_structured.automaton.example_document import example_document
from mlx_structured.style import Style

DRAFT4 = "http://json-schema.org/draft-04/schema#"
LATER = [
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
INTEGER = {"type": "integer"}
WHOLE = ["0", "-0", "1", "-1", "12", "1000"]
OTHERS = ["0.0", "-0.0", "0e5", "1.0", "-1.0", "1e0", "10E-1", "12.00", "1e3", "1E+3", "0.5"]
STYLES = [
    "any",
    "spaced",
    Style(spelling="any", max_digits=3),
    Style(spelling="json.dumps", max_digits=3),
]


def compiled(schema: Any, **arguments: Any) -> Acceptor | None:
    """``None`` where no value satisfies the schema."""
    try:
        return compile_json_schema(schema, **{"style": "any", **arguments})
    except UnsatisfiableSchemaError:
        return None


def accepts(acceptor: Acceptor | None, text: str) -> bool:
    return acceptor is not None and acceptor.accepts(text)


class Case(NamedTuple):
    name: str
    schema: Any
    valid: Iterable[str]
    invalid: Iterable[str]


CASES = [
    Case("integer", INTEGER, WHOLE, [*OTHERS, '"1"', "true"]),
    Case("in a list", {"type": ["integer", "string"]}, [*WHOLE, '"1"'], [*OTHERS, "null"]),
    Case("with number", {"type": ["integer", "number"]}, WHOLE + OTHERS, ["null"]),
    Case("number", {"type": "number"}, WHOLE + OTHERS, ["null"]),
    Case("not", {"not": INTEGER}, [*OTHERS, "null", '"1"', "[1]"], WHOLE),
    Case("not not", {"not": {"not": INTEGER}}, WHOLE, [*OTHERS, "null"]),
    Case(
        "a number that isn't one",
        {"type": "number", "not": INTEGER, "minimum": 1, "maximum": 2},
        ["1.0", "1e0", "1.5", "20e-1"],
        ["1", "2", "0.0", "3.0"],
    ),
    Case("enum", {"enum": [1]}, ["1", "1.0", "1e0", "100e-2"], ["true", "2", "1.1"]),
    Case("enum with a point", {"enum": [1.0]}, ["1", "1.0"], ["true", "2"]),
    Case("enum and integer", {"enum": [1, 2.5], **INTEGER}, ["1"], ["1.0", "2.5", "2"]),
    Case("enum and no integer", {"enum": [1, 2.5], "not": INTEGER}, ["1.0", "2.5"], ["1"]),
    Case("neither", {"allOf": [INTEGER, {"enum": [1.5]}]}, [], ["1", "1.5", "1.0"]),
    Case("multipleOf", {"multipleOf": 3}, ["3", "3.0", "6e0", "0", "0.0"], ["1", "1.0"]),
    Case("integer multiples", {"multipleOf": 3, **INTEGER}, ["3", "-0"], ["3.0", "6e0", "1"]),
    Case(
        "bounds",
        {**INTEGER, "minimum": 1.0, "maximum": 3, "exclusiveMaximum": True},
        ["1", "2"],
        ["0", "3", "1.0", "2.5", "2e0"],
    ),
    Case(
        "not an integer from 5 on",
        {"type": "number", "not": {**INTEGER, "minimum": 5}},
        ["4", "5.0", "5e0", "50.0", "-1", "0.5"],
        ["5", "6", "1000"],
    ),
    Case(
        "an integer or one of these",
        {"anyOf": [{**INTEGER, "minimum": 10}, {"enum": [1, 0.5]}]},
        ["10", "11", "1", "1.0", "0.5"],
        ["10.0", "1e1", "2", "0"],
    ),
    Case(
        "an integer or a number from 5 on, not both",
        {"type": "number", "oneOf": [INTEGER, {"minimum": 5}]},
        ["4", "-0", "5.0", "6e0", "5.5"],
        ["5", "6", "4.0", "0e0"],
    ),
    Case(
        "items that differ do so by value",
        {"items": {"enum": [1, 2]}, "type": "array", "minItems": 2, "uniqueItems": True},
        ["[1,2]", "[1.0,2]", "[2e0,1.0]"],
        ["[1,1.0]", "[1.0,1]", "[1,2,1.0]", "[1,1]"],
    ),
    Case(
        "only one value is left for both items",
        {
            "items": [{"enum": [1, 2], **INTEGER}, {"enum": [1, 3], "not": INTEGER}],
            "type": "array",
            "minItems": 2,
            "uniqueItems": True,
        },
        ["[1,3.0]", "[2,1.0]", "[2,3e0]"],
        ["[1,1.0]", "[2,1]", "[1.0,3.0]"],
    ),
    Case(
        "items that repeat do so by value",
        {"items": {"enum": [1, 2]}, "type": "array", "not": {"uniqueItems": True}},
        ["[1,1.0]", "[1,1e0]", "[1,2,1.0]", "[2.0,1,2]"],
        ["[1]", "[1,2]", "[1.0,2e0]"],
    ),
    Case(
        "branches told apart by an integer",
        {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {**INTEGER, "enum": [k]}, "v": {"enum": [v]}},
                    "required": ["kind", "v"],
                }
                for k, v in ((1, "a"), (2, "b"))
            ]
        },
        ['{"kind":1,"v":"a"}', '{"kind":2,"v":"b"}'],
        ['{"kind":1,"v":"b"}', '{"kind":1.0,"v":"a"}', '{"kind":2e0,"v":"b"}'],
    ),
    Case(
        "branches told apart by how a number is written",
        {
            "type": "object",
            "required": ["kind", "v"],
            "anyOf": [
                {"properties": {"kind": {**INTEGER, "enum": [1]}, "v": {"enum": ["a"]}}},
                {"properties": {"kind": {"not": INTEGER, "enum": [1]}, "v": {"enum": ["b"]}}},
                {"properties": {"kind": {"enum": [1, 3]}, "v": {"enum": ["c"]}}},
            ],
        },
        [
            '{"kind":1,"v":"a"}',
            '{"kind":1.0,"v":"b"}',
            '{"kind":1,"v":"c"}',
            '{"kind":1e0,"v":"c"}',
            '{"kind":3.0,"v":"c"}',
        ],
        ['{"kind":1.0,"v":"a"}', '{"kind":1,"v":"b"}', '{"kind":3,"v":"a"}', '{"kind":2,"v":"c"}'],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_texts_are_judged_as_draft_4_says(case: Case) -> None:
    for arguments in ({"default_dialect": DRAFT4}, {}):
        schema = case.schema if arguments else {"$schema": DRAFT4, **case.schema}
        acceptor = compiled(schema, **arguments)
        assert [text for text in case.valid if not accepts(acceptor, text)] == []
        assert [text for text in case.invalid if accepts(acceptor, text)] == []


@pytest.mark.parametrize("draft", LATER)
def test_integers_of_later_drafts_may_have_a_point(draft: str) -> None:
    acceptor = compiled({"$schema": draft, **INTEGER})
    whole = [*WHOLE, "0.0", "-0.0", "0e5", "1.0", "-1.0", "1e0", "10E-1", "12.00", "1e3", "1E+3"]
    assert all(accepts(acceptor, text) for text in whole)
    assert not accepts(acceptor, "0.5")


JSON_DUMPS = [
    Case("integer", INTEGER, ["0", "-1", "12"], ["-0", "1.0", "0.0", "1e+16"]),
    Case("number", {"type": "number", "not": INTEGER}, ["1.0", "-0.0", "1e+16"], ["1", "0"]),
    Case("a value that no integer has", {"enum": [1], "not": INTEGER}, ["1.0"], ["1", "1e0"]),
    Case("integers where there are", {"enum": [1]}, ["1"], ["1.0"]),
    Case(
        "both",
        {"type": "number", "not": {**INTEGER, "minimum": 5}},
        ["4", "4.0", "5.0", "6.5", "1e+16"],
        ["5", "10000000000000000"],
    ),
]


@pytest.mark.parametrize("case", JSON_DUMPS, ids=lambda case: case.name)
def test_what_json_dumps_prints_for_a_float_is_no_integer(case: Case) -> None:
    acceptor = compiled({"$schema": DRAFT4, **case.schema}, style="spaced")
    assert [text for text in case.valid if not accepts(acceptor, text)] == []
    assert [text for text in case.invalid if accepts(acceptor, text)] == []


def test_metaschemas_of_ones_own_read_integers_as_the_draft_that_they_lead_to() -> None:
    registry = {"urn:own": {"$schema": DRAFT4, "id": "urn:own", "type": "object"}}
    acceptor = compiled({"$schema": "urn:own", **INTEGER}, registry=registry)
    assert accepts(acceptor, "1")
    assert not accepts(acceptor, "1.0")


LATER_DOCUMENT = {
    "$schema": LATER[1],
    "$id": "urn:later",
    "definitions": {"i": INTEGER, "small": {**INTEGER, "maximum": 5}},
}
OLD_DOCUMENT = {"$schema": DRAFT4, "id": "urn:old", "definitions": {"i": INTEGER}}
REGISTRY = {"urn:later": LATER_DOCUMENT, "urn:old": OLD_DOCUMENT}
OLD = {"$ref": "urn:old#/definitions/i"}
NEW = {"$ref": "urn:later#/definitions/i"}
SMALL = {"$ref": "urn:later#/definitions/small"}
ACROSS = [
    Case("to a later draft", NEW, ["1", "1.0", "1e2"], ["0.5"]),
    Case("to the older draft", OLD, ["1"], ["1.0", "1e2", "0.5"]),
    Case("both", {"allOf": [OLD, NEW]}, ["1", "-0"], ["1.0", "0.5"]),
    Case("either", {"anyOf": [OLD, NEW]}, ["1", "1.0"], ["0.5"]),
    Case("one of them", {"oneOf": [OLD, NEW]}, ["1.0", "1e2", "-0.0"], ["1", "0.5", "-0"]),
    Case(
        "the new one but not the old one",
        {"allOf": [NEW, {"not": OLD}]},
        ["1.0", "1e2"],
        ["1", "0.5", "null"],
    ),
    Case("the old one but not the new one", {"allOf": [OLD, {"not": NEW}]}, [], ["1", "1.0"]),
    Case(
        "an integer that is small or written in digits",
        {"anyOf": [OLD, SMALL]},
        ["5.0", "6", "5", "-7e1"],
        ["6.0", "5.5", "7e1"],
    ),
    Case(
        "not small if written in digits",
        {"allOf": [NEW, {"not": {"allOf": [OLD, SMALL]}}]},
        ["6", "6.0", "5.0"],
        ["5", "-1", "5.5"],
    ),
]


@pytest.mark.parametrize("case", ACROSS, ids=lambda case: case.name)
@pytest.mark.parametrize("draft", [DRAFT4, *LATER])
def test_references_between_drafts_mix_both_readings(case: Case, draft: str) -> None:
    acceptor = compiled({"$schema": draft, "allOf": [case.schema]}, registry=REGISTRY)
    assert [text for text in case.valid if not accepts(acceptor, text)] == []
    assert [text for text in case.invalid if accepts(acceptor, text)] == []


def test_schemas_of_one_content_are_told_apart_by_their_draft() -> None:
    schema = {
        "$schema": LATER[1],
        "type": "object",
        "properties": {
            "new": INTEGER,
            "old": {"$id": "urn:inner", "$schema": DRAFT4, "id": "urn:inner", "allOf": [INTEGER]},
        },
    }
    acceptor = compiled(schema)
    assert accepts(acceptor, '{"new":1.0,"old":1}')
    assert not accepts(acceptor, '{"new":1.0,"old":1.0}')


NO_INTEGER = {"not": INTEGER}
A_WHOLE = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}
A_OTHER = {"type": "object", "properties": {"a": {"not": INTEGER}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("items", "is_refused"),
    [
        ([INTEGER, {"not": INTEGER}], True),
        ([{"enum": [1], **INTEGER}, {"enum": [1, 2], "not": INTEGER}], True),
        # [1.0, 1] is one that a common text of both would leave out.
        ([INTEGER, {"multipleOf": 1}], True),
        ([{"enum": [1], **INTEGER}, {"enum": [2], "not": INTEGER}], False),
        ([A_WHOLE, A_OTHER], True),
        # Empty arrays are equal, but [1] and [1.0] are as well.
        ([{"type": "array", "items": INTEGER}, {"type": "array", "items": NO_INTEGER}], True),
        ([A_WHOLE, {"type": "array", "items": {"not": INTEGER}}], False),
        ([INTEGER, {"type": "string"}], False),
    ],
)
def test_equal_items_that_would_be_written_apart_are_refused_by_name(
    items: list[Any], is_refused: bool
) -> None:
    schema = {
        "$schema": DRAFT4,
        "type": "array",
        "items": items,
        "additionalItems": False,
        "not": {"uniqueItems": True},
    }
    refusal = LimitExceededError if is_refused else UnsatisfiableSchemaError
    with pytest.raises(refusal) as caught:
        compile_json_schema(schema).accepts("[[], []]")
    assert ("written in different ways" in str(caught.value)) == is_refused


VALUES = [0, 1, -1, 2, 3, 5, 6, 10, 100, 0.5, 1.5, -2.5, 1.0, 2.0, True, None, "a"]
NUMBERS = st.sampled_from([each for each in VALUES if isinstance(each, (int, float))][:-1])
SPELLINGS = [
    *("0", "-0", "0.0", "-0.0", "0e0", "0E+5", "1", "1.0", "1e0", "10e-1", "-1", "-1.0", "-1e0"),
    *("2", "2.0", "0.2e1", "3", "3.0", "5", "5.0", "50e-1", "6", "6.0", "10", "10.0", "1e1"),
    *("100", "100.0", "1e2", "1E+2", "0.5", "5e-1", "1.5", "15e-1", "-2.5", "-25e-1", "7", "7.0"),
    *("null", "true", "false", '"a"'),
]


def kind_and_value(value: Any) -> tuple[bool, Any]:
    """Equal for what is equal in draft 4: 1 and 1.0 are, 1 and true aren't."""
    return isinstance(value, bool), value


LEAVES = st.one_of(
    st.sampled_from([INTEGER, {"type": "number"}, {"type": ["integer", "null"]}]),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=4, unique_by=kind_and_value).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from([1, 2, 3, 0.5, 2.5]).map(lambda step: {"multipleOf": step}),
    st.builds(
        lambda bound, exclusive: {"minimum": bound, "exclusiveMinimum": exclusive},
        NUMBERS,
        st.booleans(),
    ),
    st.builds(
        lambda bound, exclusive: {"maximum": bound, "exclusiveMaximum": exclusive},
        NUMBERS,
        st.booleans(),
    ),
)


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one, two: {**one, **two}, inner, inner),
        inner.map(lambda schema: {"not": schema}),
        st.builds(
            lambda word, schemas: {word: schemas},
            st.sampled_from(["allOf", "anyOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=250, deadline=None)
@given(SCHEMAS)
def test_spellings_are_judged_like_python_values_by_jsonschema(schema: dict[str, Any]) -> None:
    judge = Draft4Validator(schema)
    acceptor = compiled({"$schema": DRAFT4, **schema})
    for text in SPELLINGS:
        assert accepts(acceptor, text) == judge.is_valid(json.loads(text)), text


@settings(max_examples=150, deadline=None)
@given(SCHEMAS)
def test_in_the_style_of_json_dumps_what_is_accepted_is_valid_and_each_value_has_a_text(
    schema: dict[str, Any],
) -> None:
    judge = Draft4Validator(schema)
    acceptor = compiled({"$schema": DRAFT4, **schema}, style="spaced")
    for text in SPELLINGS:
        value = json.loads(text)
        if json.dumps(value) != text:
            assert not accepts(acceptor, text)
        elif accepts(acceptor, text):
            assert judge.is_valid(value), text
        elif judge.is_valid(value):
            # Where all members are integers, floats are left out if an int says the same.
            assert isinstance(value, float), text
            assert value.is_integer(), text
            assert accepts(acceptor, str(int(value))), text


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, SCHEMAS, st.sampled_from(["properties", "items", "repeated"]))
def test_documents_of_such_numbers_are_judged_like_by_jsonschema(
    one: dict[str, Any], two: dict[str, Any], within: str
) -> None:
    if within == "items":
        schema = {"type": "array", "items": [one, two], "minItems": 2, "uniqueItems": True}
        texts = [f"[{a},{b}]" for a in SPELLINGS[::2] for b in SPELLINGS[1::3]]
    elif within == "repeated":
        schema = {
            "type": "array",
            "items": [one, two],
            "additionalItems": False,
            "not": {"uniqueItems": True},
        }
        texts = [f"[{a},{b}]" for a in SPELLINGS[::2] for b in SPELLINGS[::2]]
    else:
        parts = {"properties": {"a": one, "b": two}, "required": ["a"]}
        schema = {"type": "object", "oneOf": [parts, {"properties": {"a": two, "b": one}}]}
        texts = [f'{{"a":{a},"b":{b}}}' for a in SPELLINGS[::2] for b in SPELLINGS[1::3]]
    judge = Draft4Validator(schema)
    try:
        acceptor = compiled({"$schema": DRAFT4, **schema})
    except LimitExceededError as error:
        assert within == "repeated", error
        assert "1.0" in str(error)
        return
    for text in texts:
        try:
            accepted = accepts(acceptor, text)
        except LimitExceededError as error:
            assert within == "repeated", error
            return
        assert accepted == judge.is_valid(json.loads(text)), text


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, st.sampled_from([DRAFT4, *LATER[:2]]), st.sampled_from([DRAFT4, *LATER[:2]]))
def test_schemas_that_refer_across_drafts_are_judged_like_by_jsonschema(
    schema: dict[str, Any], from_draft: str, to_draft: str
) -> None:
    def without_flags(part: Any) -> Any:
        if isinstance(part, list):
            return [without_flags(each) for each in part]
        if not isinstance(part, dict):
            return part
        return {
            key: without_flags(each)
            for key, each in part.items()
            if key not in ("exclusiveMinimum", "exclusiveMaximum")
        }

    schema = without_flags(schema)
    name = "id" if to_draft == DRAFT4 else "$id"
    other = {"$schema": to_draft, name: "urn:other", "definitions": {"x": schema}}
    # Bounds of both drafts say the same here.
    root = {
        "$schema": from_draft,
        "anyOf": [
            {"allOf": [{"$ref": "urn:other#/definitions/x"}, INTEGER]},
            {"not": {"anyOf": [{"$ref": "urn:other#/definitions/x"}, INTEGER]}},
        ],
    }
    acceptor = compiled(root, registry={"urn:other": other})
    alone = compiled({**schema, "$schema": to_draft})
    integers = compiled({**INTEGER, "$schema": from_draft})
    for text in SPELLINGS:
        agree = accepts(alone, text) == accepts(integers, text)
        assert accepts(acceptor, text) == agree, text


def is_valid(schema: dict[str, Any], text: str | bytes) -> bool:
    """By jsonschema, with exact decimals on both sides."""
    exact = json.loads(json.dumps(schema), parse_float=Decimal)
    with localcontext() as context:
        context.prec = 400
        return bool(Draft4Validator(exact).is_valid(json.loads(text, parse_float=Decimal)))


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, st.sampled_from(STYLES), st.builds(random.Random, st.integers(0, 2**32)))
def test_walks_through_masks_end_in_valid_documents(
    schema: dict[str, Any], style: str | Style, rng: random.Random
) -> None:
    document = {"type": "array", "items": schema, "minItems": 1, "maxItems": 3}
    acceptor = compiled({"$schema": DRAFT4, **document}, style=style)
    if acceptor is None:
        return
    example = example_document(acceptor)
    assert example is not None
    assert acceptor.accepts(example)
    assert is_valid(document, example), example
    vocabulary = make_vocabulary()
    try:
        needed = JsonSchemaAcceptorDriver(acceptor, vocabulary).tokens_to_complete()
        budgets: tuple[int | None, ...] = (needed, needed + 1, needed + 12)
    except LimitExceededError:
        budgets = (None,)  # no short completion is found of some numbers that are no integers
    for budget in budgets:
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=budget)
        text = b""
        while driver.token_count < (30 if budget is None else budget):
            token_id = rng.choice(allowed(driver))
            driver.advance_token(token_id)
            text += TOKENS[token_id] or b""
        assert budget is None or driver.in_accepted_state(), text
        if driver.in_accepted_state() and not re.search(rb"[eE][+-]?0*[1-9][0-9]{2}", text):
            assert is_valid(document, text), text
