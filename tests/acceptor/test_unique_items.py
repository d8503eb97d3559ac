"""``uniqueItems``: exact by value, its opposite and its conditions too, and never a dead end."""

from __future__ import annotations

import itertools
import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from byte_vocabulary import allowed, make_vocabulary, readable, write
from judging import Case, judge
from jsonschema import Draft202012Validator

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    UnsatisfiableSchemaError,
    compile_json_schema,
)
from mlx_structured.automaton.acceptor import LEARNING, accepts_end, advance
from mlx_structured.automaton.link import Configuration

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


@pytest.mark.parametrize("seed", range(60))
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


@pytest.mark.parametrize("seed", range(1_000, 1_040))
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
