"""Completions, and masks within a budget: what they promise is kept.

The vocabulary has a token for each byte and some longer ones, see ``byte_vocabulary``.
"""

from __future__ import annotations

import gc
import json
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any
from weakref import ref

import jsonschema
import numpy as np
import pytest
from byte_vocabulary import EOS, OBJECT, OTHER_EOS, TOKENS, make_vocabulary, write
from shared_files import maskbench
from walks import allowed_ids

from mlx_structured import (
    STYLES,
    Acceptor,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    StructuredError,
    TokenBudgetError,
    Vocabulary,
    compile_json_schema,
)
from mlx_structured.automaton.acceptor import advance

LINKED: dict[str, Any] = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "string", "minLength": 5},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["value", "next"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "object": OBJECT,
    "integer": {"type": "integer", "minimum": 12, "maximum": 1_000_000},
    "multiple": {"type": "integer", "multipleOf": 37, "minimum": 100},
    "long enum": {"enum": ["a", "b" * 40, 1, [1, 2, 3, 4, 5, 6], {"k": None}]},
    "list of objects": {"type": "array", "items": OBJECT, "minItems": 2, "maxItems": 4},
    "recursive": LINKED,
    "strings": {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 9}},
    "pattern": {"type": "string", "pattern": "^[a-z]{3,}(-[0-9]{2}){2}$"},
    "date": {"type": "string", "format": "date"},
    "other keys": {
        "type": "object",
        "additionalProperties": {"type": "boolean"},
        "minProperties": 3,
    },
    "patterned keys": {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "unique numbers": {
        "type": "array",
        "items": {"type": "integer"},
        "uniqueItems": True,
        "minItems": 3,
        "maxItems": 5,
    },
    "unique enum": {
        "type": "array",
        "items": {"enum": ["a", "b", "cccccccccccccccccccc"]},
        "uniqueItems": True,
        "minItems": 3,
    },
    "unique objects": {
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "uniqueItems": True,
        "minItems": 2,
        "maxItems": 3,
    },
    "condition": {
        "type": "object",
        "properties": {"kind": {"enum": ["small", "large"]}, "size": {}, "why": {}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "large"}}},
        "then": {"required": ["size", "why"], "properties": {"size": {"minimum": 1000}}},
        "additionalProperties": False,
    },
    "one of": {
        "oneOf": [
            {"type": "array", "items": {"type": "integer"}, "minItems": 4},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        ]
    },
    "contains": {"type": "array", "contains": {"const": "needle"}, "minContains": 2},
    "names": {
        "type": "object",
        "properties": {"aaaaaaaaaaaaaaaa": {"const": 1}, "b": {"const": "x" * 20}, "c": {}},
        "required": ["c"],
        "minProperties": 2,
    },
}


# In style "any" integers have exponents, and 1E999 is more than the judge can read.
CASES = [
    (name, style)
    for name in SCHEMAS
    for style in STYLES
    if style != "any" or '"integer"' not in json.dumps(SCHEMAS[name])
]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return make_vocabulary()


@pytest.fixture(scope="module")
def acceptors() -> dict[tuple[str, str], Acceptor]:
    return {
        (name, style): compile_json_schema(
            SCHEMAS[name], style=replace(STYLES[style], max_digits=STYLES[style].max_digits or 8)
        )
        for name, style in CASES
    }


def text_of(tokens: list[int]) -> bytes:
    return b"".join(TOKENS[token] or b"" for token in tokens)


def random_document(driver: JsonSchemaAcceptorDriver, rng: random.Random) -> bytes:
    """The text of a random walk through the masks, as far as the driver's budget goes."""
    assert driver.max_tokens is not None
    tokens: list[int] = []
    while driver.token_count < driver.max_tokens:
        token = int(rng.choice(allowed_ids(driver.select_valid_tokens()).tolist()))
        driver.advance_token(token)
        if token in (EOS, OTHER_EOS):
            break
        tokens.append(token)
    return text_of(tokens)


@pytest.mark.parametrize(("name", "style"), CASES)
def test_every_walk_within_a_budget_ends_with_a_valid_document(
    acceptors: dict[tuple[str, str], Acceptor], vocabulary: Vocabulary, name: str, style: str
) -> None:
    acceptor = acceptors[name, style]
    rng = random.Random(f"{name} {style}")
    needed = JsonSchemaAcceptorDriver(acceptor, vocabulary).tokens_to_complete()
    for budget in (needed, needed + 1, needed + 4, needed + 20):
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=budget)
        text = random_document(driver, rng)
        assert driver.in_accepted_state(), (text, budget)
        jsonschema.Draft202012Validator(SCHEMAS[name]).validate(json.loads(text))


@pytest.mark.parametrize("style", ["spaced", "flexible"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_where_n_tokens_are_needed_one_leads_to_where_fewer_are(
    acceptors: dict[tuple[str, str], Acceptor], vocabulary: Vocabulary, name: str, style: str
) -> None:
    acceptor = acceptors[name, style]
    rng = random.Random(f"law {name} {style}")
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for _ in range(12):
        needed = driver.tokens_to_complete()
        assert (needed == 0) == driver.in_accepted_state()
        limited = JsonSchemaAcceptorDriver(
            acceptor, vocabulary, max_tokens=driver.token_count + max(needed, 400)
        )
        limited._states = list(driver._states)
        while (left := limited.tokens_to_complete()) > 0:
            limited.max_tokens = limited.token_count + left
            ids = allowed_ids(limited.select_valid_tokens()).tolist()
            assert ids
            limited.advance_token(int(rng.choice(ids)))
            assert limited.tokens_to_complete() <= left - 1
        ids = [i for i in allowed_ids(driver.select_valid_tokens()) if i not in (EOS, OTHER_EOS)]
        if not ids:
            break
        driver.advance_token(int(rng.choice(ids)))


@pytest.mark.parametrize(
    ("schema", "style", "text"),
    [
        # Worked out by hand; tokens of several bytes are those of byte_vocabulary.
        ({"const": "ab"}, "spaced", ['"', "ab", '"']),
        ({"type": "array"}, "spaced", ["[]"]),
        ({"enum": ["xyz", "a"]}, "spaced", ['"a"']),
        ({"enum": ["xyz", 7]}, "spaced", ["7"]),
        ({"type": "array", "items": {"const": None}, "minItems": 1}, "any", ["[", "null", "]"]),
        (OBJECT, "spaced", ['{"', "a", '": ', "0", "}"]),
        (OBJECT, "compact", ['{"', "a", '":', "0", "}"]),
        ({"type": "array", "items": {"const": 1}, "minItems": 2}, "spaced", ["[1", ", ", "1", "]"]),
        # The branch that is shorter in bytes isn't the one with fewer tokens.
        ({"enum": ["xyz", [None, None]]}, "spaced", ["[", "null", ", ", "null", "]"]),
    ],
)
def test_the_fewest_tokens_of_a_document_are_found(
    vocabulary: Vocabulary, schema: Any, style: str, text: list[str]
) -> None:
    driver = JsonSchemaAcceptorDriver(compile_json_schema(schema, style=style), vocabulary)
    assert driver.tokens_to_complete() == len(text)


def test_the_value_of_a_recursive_schema_is_its_shortest(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema(LINKED)
    needed = JsonSchemaAcceptorDriver(acceptor, vocabulary).tokens_to_complete()
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=needed)
    value = json.loads(random_document(driver, random.Random(1)))
    assert value["next"] is None
    assert set(value) == {"value", "next"}


def test_far_from_the_limit_the_masks_are_the_usual_ones(
    acceptors: dict[tuple[str, str], Acceptor], vocabulary: Vocabulary
) -> None:
    rng = random.Random(3)
    for acceptor in acceptors.values():
        free = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        far = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=2_000)
        for _ in range(15):
            mask = free.select_valid_tokens()
            assert np.array_equal(far.select_valid_tokens(), mask)
            token = int(rng.choice(allowed_ids(mask).tolist()))
            free.advance_token(token)
            far.advance_token(token)
            if free.is_finished:
                break


def test_masks_within_a_budget_only_take_away_and_more_budget_gives_more(
    acceptors: dict[tuple[str, str], Acceptor], vocabulary: Vocabulary
) -> None:
    for name in ("object", "long enum", "list of objects", "names", "condition"):
        acceptor = acceptors[name, "spaced"]
        free = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        needed = free.tokens_to_complete()
        sets = []
        for budget in range(needed, needed + 60):
            driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=budget)
            sets.append(set(allowed_ids(driver.select_valid_tokens()).tolist()))
        assert all(few <= many for few, many in pairwise(sets))
        assert sets[-1] == set(allowed_ids(free.select_valid_tokens()).tolist())


def test_a_long_choice_is_masked_only_when_it_no_longer_fits(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema({"enum": ["x", "y" * 40]})
    for budget, fits in ((42, True), (41, False)):
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=budget)
        write(driver, '"')
        assert (ord("y") in allowed_ids(driver.select_valid_tokens())) == fits
        assert ord("x") in allowed_ids(driver.select_valid_tokens())


@pytest.mark.parametrize(("name", "text"), [("object", '{"a": 1'), ("strings", '["abc"')])
def test_at_the_limit_a_whole_document_leaves_eos_alone(
    acceptors: dict[tuple[str, str], Acceptor], vocabulary: Vocabulary, name: str, text: str
) -> None:
    acceptor = acceptors[name, "spaced"]
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=len(text) + 1)
    write(driver, text)
    write(driver, "}" if name == "object" else "]")
    assert allowed_ids(driver.select_valid_tokens()).tolist() == [EOS, OTHER_EOS]
    driver.advance_token(EOS)
    assert allowed_ids(driver.select_valid_tokens()).tolist() == [EOS, OTHER_EOS]


def test_a_number_may_end_at_the_limit_but_not_grow(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema({"type": "integer"})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=2)
    write(driver, "12")
    assert allowed_ids(driver.select_valid_tokens()).tolist() == [EOS, OTHER_EOS]


def test_too_small_a_budget_says_how_many_tokens_would_do(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema(OBJECT)
    with pytest.raises(TokenBudgetError, match="takes 5 tokens") as error:
        JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=4)
    assert (error.value.max_tokens, error.value.needed) == (4, 5)
    JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=5)


def test_a_taken_back_token_gives_its_budget_back(vocabulary: Vocabulary) -> None:
    acceptor = compile_json_schema({"type": "integer"})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=3)
    write(driver, "123")
    driver.rollback(1)
    fork = driver.fork()
    for each in (driver, fork):
        assert ord("4") in allowed_ids(each.select_valid_tokens())


def test_without_any_short_document_the_limit_is_refused(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_structured.automaton.completion.MAX_EXACT_STEPS", 20)
    monkeypatch.setattr("mlx_structured.automaton.completion.MAX_STEPS", 20)
    acceptor = compile_json_schema({"type": "array", "minItems": 100})
    with pytest.raises(LimitExceededError, match="max_tokens"):
        JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=500)
    JsonSchemaAcceptorDriver(acceptor, vocabulary).select_valid_tokens()


@pytest.mark.parametrize("unique", [False, True])
def test_hundreds_of_levels_are_completed_or_refused_by_name(
    vocabulary: Vocabulary, unique: bool
) -> None:
    schema = {"type": "array", "items": {"$ref": "#"}, "uniqueItems": unique}
    acceptor = compile_json_schema(schema)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=121)
    while ord("[") in allowed_ids(driver.select_valid_tokens()):
        driver.advance_token(ord("["))
    assert driver.token_count == 60
    deep = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=5_000)
    for _ in range(700):
        assert ord("[") in allowed_ids(deep.select_valid_tokens())
        deep.advance_token(ord("["))
    if unique:
        with pytest.raises(LimitExceededError):
            deep.tokens_to_complete()
    else:
        assert deep.tokens_to_complete() == 700


def test_what_is_known_of_a_grammar_goes_with_it(vocabulary: Vocabulary) -> None:
    def use(schema: dict[str, Any], text: str) -> list[ref[Any]]:
        acceptor = compile_json_schema(schema)
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=30)
        states = {each.lexeme for each in acceptor.begin()}
        for end, character in enumerate(text, 1):
            driver.select_valid_tokens()
            driver.tokens_to_complete()
            write(driver, character)
            states |= {each.lexeme for each in advance(acceptor.begin(), text[:end].encode())}
        driver.select_valid_tokens()
        assert len(states) >= 5
        return [ref(each) for each in (acceptor, driver, *states)]

    # States are shared by all schemas: these are of no other schema.
    used = use({"type": "string", "pattern": "^[a-z]+ 6021023$"}, '"xyz 602')
    used += use({"enum": ["only here 6021023", "nowhere else"]}, '"only here')
    for _ in range(4):
        # What is kept for a state goes after the state, and other states go with it.
        gc.collect()
    assert [each() for each in used] == [None] * len(used)


def test_real_schemas_are_completed_at_every_budget(vocabulary: Vocabulary) -> None:
    rng = random.Random(5)
    walked = 0
    for number, case in enumerate(maskbench()):
        if number % 150:
            continue
        try:
            acceptor = compile_json_schema(case["schema"])
        except StructuredError:
            continue
        needed = JsonSchemaAcceptorDriver(acceptor, vocabulary).tokens_to_complete()
        for budget in (needed, needed + 20):
            driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=budget)
            text = random_document(driver, rng)
            assert driver.in_accepted_state(), (case["name"], text, budget)
            walked += 1
    assert walked > 50
