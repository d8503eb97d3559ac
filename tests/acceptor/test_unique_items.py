"""``uniqueItems``: exact by value, its opposite and its conditions too, and never a dead end."""

from __future__ import annotations

import gc
import itertools
import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from byte_vocabulary import allowed, make_vocabulary, readable, write
from jsonschema import Draft202012Validator
from judging import Case, judge

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    Limits,
    UnsatisfiableSchemaError,
    compile_json_schema,
)
from mlx_structured.automaton.acceptor import LEARNING, accepts_end, advance
from mlx_structured.automaton.link import Configuration, Link
from mlx_structured.json_schema import memo, repetition
from mlx_structured.json_schema.distinct import canonical

UNIVERSE: list[Any] = [0, 1, True, None, [], [0], {}, {"a": 0}]
"""All values that an item of a random schema may have."""

ARRAYS = [list(each) for size in range(4) for each in itertools.product(UNIVERSE, repeat=size)]
BYTES = sorted(set(json.dumps([UNIVERSE, "b"]).encode()))


def random_items(rng: random.Random) -> dict[str, Any]:
    few_arrays = {"type": "array", "maxItems": 1, "items": {"const": 0}}
    few_objects = {
        "type": "object",
        "properties": {"a": {"const": 0}},
        "additionalProperties": False,
    }
    return rng.choice(
        [
            {"enum": UNIVERSE},
            {"enum": rng.sample(UNIVERSE, 2)},
            {"enum": rng.sample(UNIVERSE, 3)},
            {"enum": rng.sample(UNIVERSE, 5)},
            few_arrays,
            few_objects,
            {"anyOf": [few_arrays, few_objects]},
            {"anyOf": [few_arrays, {"const": True}]},
        ]
    )


def random_condition(rng: random.Random) -> dict[str, Any]:
    condition: dict[str, Any] = {}
    if rng.random() < 0.5:
        condition["minItems"] = rng.randint(0, 3)
    if rng.random() < 0.3:
        condition["maxItems"] = rng.randint(0, 3)
    if rng.random() < 0.6:
        condition["contains"] = random_items(rng)
        condition["minContains"] = rng.randint(0, 2)
        if rng.random() < 0.5:
            condition["maxContains"] = rng.randint(0, 2)
    if rng.random() < 0.3:
        condition["prefixItems"] = [random_items(rng) for _ in range(rng.randint(1, 3))]
    return condition


def random_schema(rng: random.Random) -> dict[str, Any]:
    """Arrays of at most three values of the universe, with something about equal items."""
    about_equal_items: dict[str, Any] = rng.choice(
        [
            {"uniqueItems": True},
            {"not": {"uniqueItems": True}},
            {"anyOf": [{"uniqueItems": True, **random_condition(rng)}, random_condition(rng)]},
            {"oneOf": [{"uniqueItems": True}, random_condition(rng)]},
            {"not": {"uniqueItems": True, **random_condition(rng)}},
            {
                "if": {"uniqueItems": True, **random_condition(rng)},
                "then": random_condition(rng),
                "else": random_condition(rng),
            },
        ]
    )
    return {
        **random_condition(rng),
        "type": "array",
        "items": {"allOf": [{"enum": UNIVERSE}, random_items(rng)]},
        "allOf": [about_equal_items, {"items": {"enum": UNIVERSE}, "maxItems": 3}],
    }


def texts(configurations: tuple[Configuration, ...], text: bytes = b"") -> Iterator[bytes]:
    """All texts, byte by byte; each state on the way must lead to one."""
    found = False
    if accepts_end(configurations):
        found = True
        yield text
    for byte in BYTES:
        following = advance(configurations, bytes([byte]))
        if following:
            found = True
            yield from texts(following, text + bytes([byte]))
    assert found, f"nothing can come after {text.decode()}"


def compiled(schema: Any, style: str) -> Acceptor | None:
    try:
        return compile_json_schema(schema, style=style)
    except UnsatisfiableSchemaError:
        return None


def is_valid(schema: Any, array: list[Any]) -> bool:
    return bool(Draft202012Validator(schema).is_valid(array))


@pytest.mark.parametrize("seed", range(50))
def test_the_texts_of_random_schemas_are_the_valid_arrays_and_lead_into_no_dead_end(
    seed: int,
) -> None:
    schema = random_schema(random.Random(seed))
    valid = [json.dumps(array) for array in ARRAYS if is_valid(schema, array)]
    acceptor = compiled(schema, "spaced")
    with LEARNING:
        written = [] if acceptor is None else [each.decode() for each in texts(acceptor.begin())]
    assert written == [] if not valid else sorted(written) == sorted(valid), schema
    assert (acceptor is None) == (not valid)
    acceptor = compiled(schema, "any")
    assert (acceptor is None) == (not valid)
    if acceptor is not None:
        for array in random.Random(seed).sample(ARRAYS, 60):
            text = json.dumps(array).replace("0", "0.0").replace("1", "10e-1")
            assert acceptor.accepts(text) is is_valid(schema, array), (schema, text)


@pytest.mark.parametrize("seed", range(1_000, 1_030))
def test_masks_of_random_schemas_hold_the_tokens_that_can_be_read(seed: int) -> None:
    rng = random.Random(seed)
    schema = random_schema(rng)
    acceptor = compiled(schema, "spaced")
    if acceptor is None:
        return
    vocabulary = make_vocabulary()
    with LEARNING:
        prefixes = [each[: rng.randrange(len(each))] for each in texts(acceptor.begin())]
    for prefix in rng.sample(prefixes, min(6, len(prefixes))):
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        write(driver, prefix)
        with LEARNING:
            assert allowed(driver) == sorted(readable(acceptor, prefix)), (schema, prefix)


BOOLEANS = {"type": "array", "maxItems": 2, "items": {"type": "boolean"}}
SWITCHES = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
    "additionalProperties": False,
}
NESTED = {"type": "array", "maxItems": 1, "items": SWITCHES}
TREE = {"type": "array", "maxItems": 1, "items": {"$ref": "#/$defs/tree"}}
SHALLOW = {
    "type": "array",
    "items": {"$ref": "#/$defs/shallow"},
    "enum": [[], [[]], [[[]]], [[], []], 1],
}
WORDS = {"type": "object", "propertyNames": {"enum": ["a", "b", "c"]}, "minProperties": 2}

NUMBER_OF_VALUES = [
    # 1 + 2 + 4 arrays; 3 * 3 objects; no or one of 9 objects; {a, b}, {a, c}, {b, c}, {a, b, c}.
    (BOOLEANS, 7),
    (SWITCHES, 9),
    (NESTED, 10),
    ({**WORDS, "additionalProperties": {"const": 0}}, 4),
    ({**WORDS, "additionalProperties": {"type": "boolean"}}, 3 * 4 + 8),
    ({**BOOLEANS, "uniqueItems": True}, 1 + 2 + 2),
    ({**BOOLEANS, "not": {"uniqueItems": True}}, 2),
    ({**BOOLEANS, "contains": {"const": True}}, 1 + 3),
    ({"enum": [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}, {"a": True, "b": 2}, [1], [1.0]]}, 3),
    ({"type": "integer", "minimum": -1, "maximum": 1}, 3),
    ({"minimum": 1, "exclusiveMaximum": 1.0000000000000004, "type": "number"}, 2),
    ({"type": "string", "pattern": "^[ab]{0,2}$"}, 7),
    ({"$ref": "#/$defs/shallow"}, 4),
    ({"type": ["null", "boolean"]}, 3),
]


@pytest.mark.parametrize(("items", "number"), NUMBER_OF_VALUES)
def test_no_more_different_items_are_asked_for_than_there_are(
    items: dict[str, Any], number: int
) -> None:
    schema = {
        "$defs": {"tree": TREE, "shallow": SHALLOW},
        "type": "array",
        "uniqueItems": True,
        "items": items,
    }
    compile_json_schema({**schema, "minItems": number})
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema({**schema, "minItems": number + 1})


BY_HAND = [
    Case(
        "numbers are equal by value, and unlike booleans",
        {"uniqueItems": True},
        valid=[[1, True], [0, False], [1, "1"], [0.1, 0.11], [[1], [True]], [None, False, 0, ""]],
        invalid=[[1, 1], [-3, 2, -3], [[1], [1]], [{"a": [0]}, 2, {"a": [0]}], ["", ""]],
    ),
    Case(
        "some two items are equal",
        {"type": "array", "not": {"uniqueItems": True}},
        valid=[[1, 1], ["a", 2, "a"], [[], {}, {}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}, 3]],
        invalid=[[], [1], [1, True], [[1], [2]], ["a", "b", "c"]],
    ),
    Case(
        "the first item is repeated where only it can be",
        {
            "prefixItems": [{"type": "string"}, {"pattern": "^b"}],
            "items": False,
            "not": {"uniqueItems": True},
            "type": "array",
        },
        valid=[["b", "b"], ["ba", "ba"]],
        invalid=[["a", "a"], ["b", "ba"], [1, 1], ["b"], ["b", "b", "b"]],
    ),
    Case(
        "an item may be repeated only where the positions have a value in common",
        {
            "type": "array",
            "prefixItems": [{"const": {"x": 1}}, {"type": "string"}, {"type": "integer"}],
            "items": {"minProperties": 1, "type": "object"},
            "maxItems": 4,
            "not": {"uniqueItems": True},
        },
        valid=[[{"x": 1}, "a", 1, {"x": 1}]],
        invalid=[[{"x": 1}, "a", 1, {"x": 2}], [{"x": 1}, "a", 1], [{"x": 1}]],
    ),
    Case(
        "an item leaves the items to come their values",
        {
            "prefixItems": [{"enum": [1, 2, 3]}, {"enum": [1, 2]}, {"enum": [[1], 1]}],
            "items": {"const": [1]},
            "minItems": 4,
            "uniqueItems": True,
        },
        valid=[[3, 2, 1, [1]]],
        invalid=[[1, 2, [1], [1]], [2, 1, [1], [1]], [3, 2, 1]],
    ),
    Case(
        "what is contained takes values too",
        {
            "items": {"enum": ["a", "b", "c"]},
            "contains": {"enum": ["a", "b"]},
            "minContains": 2,
            "maxItems": 2,
            "uniqueItems": True,
        },
        valid=[["a", "b"], ["b", "a"]],
        invalid=[["a", "c"], ["c", "a"], ["a", "a"], ["a"]],
    ),
    Case(
        "items differ only on a condition",
        {"if": {"contains": {"const": 0}}, "then": {"uniqueItems": True}, "type": "array"},
        valid=[[1, 1], [0, 1, 2], [1, 0], []],
        invalid=[[0, 0], [1, 1, 0], [0, 1, 1]],
    ),
    Case(
        "a condition on whether items differ",
        {"if": {"uniqueItems": True}, "then": {"minItems": 2}, "else": {"maxItems": 2}},
        valid=[[1, 2, 3], [1, 2], [1, 1], ["x", "y"]],
        invalid=[[], [1], [1, 1, 2], [2, 1, 1]],
    ),
    Case(
        "exactly one of two branches holds",
        {"type": "array", "oneOf": [{"uniqueItems": True}, {"contains": {"const": 0}}]},
        valid=[[], [1], [1, 2], [0, 0], [0, 1, 1], [1, 1, 0]],
        invalid=[[0], [0, 1], [1, 1]],
    ),
    Case(
        "differing or not is all the same",
        {"anyOf": [{"uniqueItems": True}, {"not": {"uniqueItems": True}}], "maxItems": 2},
        valid=[[], [1], [1, 1], [1, 2]],
        invalid=[[1, 1, 1]],
    ),
    Case(
        "a key that looks like no other",
        {"uniqueItems": True},
        valid=[[{"\0": "1/3"}, {"\0": "1/2"}], [{"\0": ["1"]}, 1]],
        invalid=[[{"\0": "1/3"}, {"\0": "1/3"}]],
    ),
]


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_by_hand(case: Case) -> None:
    judge(case)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "1e0"),
        ("100", "1E2"),
        ("0", "-0.0"),
        ("0.1", "10e-2"),
        ("1e400", "0.01e402"),
        ('"a"', '"\\u0061"'),
        ('"\U0001f600"', '"\\ud83d\\ude00"'),
        ('{"a": 1, "b": [1]}', '{ "b" : [1.0],"\\u0061":1}'),
        ("[ ]", "[]"),
    ],
)
def test_equal_values_are_equal_however_they_are_written(one: str, other: str) -> None:
    text = f"[{one}, null, {other}]"
    schema = {"type": "array", "uniqueItems": True}
    assert not compile_json_schema(schema, style="any").accepts(text)
    assert compile_json_schema({"not": schema}, style="any").accepts(text)


def test_keys_that_the_schema_does_not_declare_stay_in_any_order_after_such_an_item() -> None:
    text = '[{"a": 1, "b": 2}, {"b": 1, "a": 2}, {"c": 0, "b": 2, "a": 1}]'
    assert compile_json_schema({"type": "array", "uniqueItems": True}).accepts(text)


def test_declared_keys_stay_in_their_order_in_an_item_that_is_repeated() -> None:
    item = {"type": "object", "properties": {"z": True, "a": True}}
    acceptor = compile_json_schema(
        {"type": "array", "items": item, "not": {"uniqueItems": True}, "maxItems": 2}
    )
    assert acceptor.accepts('[{"z": 1, "a": 2}, {"z": 1, "a": 2}]')
    assert acceptor.accepts('[{"y": 1, "x": 2}, {"x": 2, "y": 1}]')
    assert not acceptor.accepts_prefix('[{"z": 1, "a": 2}, {"a"')
    assert not acceptor.accepts_prefix('[{"z": 1, "a": 2}, {"z": 2')


def test_an_item_may_not_come_that_leaves_the_next_ones_without_a_value() -> None:
    acceptor = compile_json_schema(BY_HAND[4].schema)
    assert not acceptor.accepts_prefix("[1")
    assert not acceptor.accepts_prefix("[2")
    assert not acceptor.accepts_prefix("[3, 1")
    assert not acceptor.accepts_prefix("[3, 2, [")


def test_an_array_ends_where_its_values_do() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": BOOLEANS}
    everything = "[], [true], [false], [true, true], [true, false], [false, true], [false, false]"
    acceptor = compile_json_schema(schema)
    assert acceptor.accepts(f"[{everything}]")
    assert not acceptor.accepts_prefix(f"[{everything},")
    assert not acceptor.accepts_prefix(f"[{everything.removesuffix(', [false, false]')}, [true")


@pytest.mark.parametrize(
    "contradiction",
    [
        {"not": {"uniqueItems": True}, "maxItems": 1},
        {"not": {"uniqueItems": True}, "uniqueItems": True},
        {
            "not": {"uniqueItems": True},
            "prefixItems": [{"type": "object"}, {"type": "array"}],
            "maxItems": 2,
        },
        {
            "prefixItems": [{"enum": [[1], [2]]}, {"enum": [[2], [1]]}],
            "items": {"enum": [[1], [2.0]]},
            "minItems": 3,
            "uniqueItems": True,
        },
        {
            "anyOf": [
                {"uniqueItems": True, "items": BOOLEANS, "minItems": 8},
                {"not": {"uniqueItems": True}, "maxItems": 1},
            ]
        },
        {"uniqueItems": True, "contains": {"const": {}}, "minContains": 2},
    ],
)
def test_contradictions_are_noticed_before_anything_is_written(
    contradiction: dict[str, Any],
) -> None:
    with pytest.raises(UnsatisfiableSchemaError):
        compile_json_schema({"type": "array", **contradiction})


def test_trees_whose_branches_differ() -> None:
    tree = {
        "type": "array",
        "uniqueItems": True,
        "minItems": 0,
        "maxItems": 2,
        "items": {"$ref": "#"},
    }
    judge(
        Case(
            "trees",
            tree,
            valid=[[], [[]], [[], [[]]], [[[], [[]]], [[[]], []]]],
            invalid=[[[], []], [[[], []]], [[[]], [[]]], [0]],
        )
    )


@pytest.mark.parametrize("text", ["[1e5000, 1]", f"[{'9' * 5_000}, 1]"])
def test_numbers_too_long_to_compare_are_an_error_that_names_the_keyword(text: str) -> None:
    acceptor = compile_json_schema({"type": "array", "uniqueItems": True}, style="any")
    with pytest.raises(LimitExceededError, match="'uniqueItems'"):
        acceptor.accepts(text)


def test_an_exponent_too_long_to_compute_with_is_an_error_that_names_the_keyword() -> None:
    with pytest.raises(LimitExceededError, match="'uniqueItems'"):
        canonical(b"1e" + b"9" * 5_000)


def test_items_nested_too_deeply_to_compare_are_an_error_by_name() -> None:
    item = "[" * 1_500 + "]" * 1_500
    acceptor = compile_json_schema({"type": "array", "uniqueItems": True})
    with pytest.raises(LimitExceededError, match="nested too deeply"):
        acceptor.accepts(f"[{item}, 1]")


@pytest.mark.parametrize("style", ["any", "spaced"])
@pytest.mark.parametrize(
    "items",
    [
        [[{"a": i}] for i in range(14)],
        [{"k": {"a": i, "b": str(i)}, "l": [i]} for i in range(14)],
        [{"k": [i, [i]], "l": {}} for i in range(14)],
    ],
    ids=["objects in arrays", "objects in objects", "arrays in objects"],
)
def test_containers_in_items_that_differ_do_not_multiply(items: list[Any], style: str) -> None:
    acceptor = compile_json_schema({"type": "array", "uniqueItems": True}, style=style)
    acceptor.limits = Limits(states=32_000)
    assert acceptor.accepts(json.dumps(items))
    assert not acceptor.accepts(json.dumps([*items, items[5]]))


def test_readings_that_meet_again_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = 0
    after = Link.after

    def count(link: Link, label: Any, captured: Any) -> tuple[Configuration, ...]:
        nonlocal followed
        followed += 1
        return after(link, label, captured)

    monkeypatch.setattr(Link, "after", count)
    text = json.dumps([[{key: 0}, i] for i, key in enumerate("abcde")])
    assert compile_json_schema({"type": "array", "uniqueItems": True}, style="any").accepts(text)
    # Each of some twenty lexemes an item ends in at most as many readings as there are items.
    assert followed < 20 * 5 * 2 * 5


def test_too_much_work_is_an_error_that_names_keyword_and_pointer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repetition, "MAX_SEARCH", 100)
    contained = [{"contains": {"enum": list(pair)}, "minContains": 2} for pair in ("abc", "bcd")]
    schema = {
        "items": {"enum": list("abcdefgh")},
        "minItems": 9,
        "uniqueItems": True,
        "allOf": contained,
    }
    with pytest.raises(LimitExceededError, match="'uniqueItems' at /properties/v/uniqueItems"):
        compile_json_schema(
            {"type": "object", "properties": {"v": {"type": "array", **schema}}, "required": ["v"]}
        )


@pytest.mark.parametrize("keyword", [{"uniqueItems": True}, {"not": {"uniqueItems": True}}])
def test_an_acceptor_does_not_grow_with_the_arrays_that_it_reads(
    keyword: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo, "MAX_PASSING", 16)
    acceptor = compile_json_schema({"type": "array", **keyword})

    def read(numbers: range) -> int:
        for number in numbers:
            last = number if "not" in keyword else -1
            assert acceptor.accepts(f'[{number}, "{number}", {{"n": {number}}}, {last}]')
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        many = read(range(15))
        assert read(range(15, 45)) < 1.5 * many
    finally:
        tracemalloc.stop()
