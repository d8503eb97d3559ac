"""From wherever a text stands, there is a way to the end of a document, and it is found."""

from __future__ import annotations

import random

import pytest
from laws import compiled, draw_definitions
from lockstep import walk_together

from mlx_structured.automaton.acceptor import advance
from mlx_structured.automaton.example_document import example_ending

HALF_WRITTEN: dict[str, tuple[object, str]] = {
    "an escape": ({"type": "string"}, '"a\\u00'),
    "an item that may not come again": (
        {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "array"}},
        "[[1], [",
    ),
    "a key inside an item that may not come again": (
        {"type": "array", "uniqueItems": True, "items": {"minProperties": 2}},
        '[{"a": 1, "b": 2}, {"b": [1, 2',
    ),
    "a key that the schema doesn't name": (
        {"type": "object", "properties": {"a": False}, "minProperties": 1},
        '{"a',
    ),
}


@pytest.mark.parametrize("name", HALF_WRITTEN)
def test_what_is_half_written_can_be_ended(name: str) -> None:
    schema, text = HALF_WRITTEN[name]
    acceptor = compiled(schema, "spaced")
    assert acceptor is not None
    assert acceptor.accepts_prefix(text)
    ending = example_ending(advance(acceptor.begin(), text.encode()))
    assert ending is not None
    assert acceptor.accepts(text.encode() + ending)


def test_texts_of_generated_schemas_can_be_ended_anywhere() -> None:
    ended = 0
    for seed in range(60):
        rng = random.Random(seed)
        drawer, definitions = draw_definitions(seed, 2, unique=False)
        acceptor = compiled(drawer.document(drawer.reference("x"), definitions), "any")
        if acceptor is None:
            continue
        for _ in range(4):
            text = walk_together(acceptor, acceptor, rng, free=80, most=80)
            text = text[: rng.randrange(len(text) + 1)]
            ending = example_ending(advance(acceptor.begin(), text))
            assert ending is not None, (seed, text)
            assert acceptor.accepts(text + ending), (seed, text, ending)
            ended += 1
    assert ended > 150
