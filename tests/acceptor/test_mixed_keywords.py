"""Values that hypothesis-jsonschema draws for small schemas, and values next to them."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from generated_schemas import random_value
from mixed_keywords import CAN_DRAW, draw_schema, draw_values, judged, mutations

from mlx_structured import UnsatisfiableSchemaError, UnsupportedSchemaError, compile_json_schema

pytestmark = pytest.mark.skipif(
    not CAN_DRAW, reason="hypothesis-jsonschema draws no objects with hypothesis 6.170"
)


def accepted_is_valid(number: int, values_each: int, counts: Counter[str]) -> None:
    """Compare the acceptor with two validators, on the schema of that number."""
    schema = draw_schema(number)
    acceptor = None
    try:
        acceptor = compile_json_schema(schema, style="any")
    except UnsatisfiableSchemaError:
        pass
    except UnsupportedSchemaError as error:
        assert error.keyword == "uniqueItems"  # below "not", and the like
        counts["unsupported"] += 1
        return
    is_valid = judged(schema)
    rng = random.Random(number)
    drawn_values = draw_values(schema, number, values_each) if acceptor is not None else []
    for drawn in drawn_values or [random_value(rng, 2) for _ in range(values_each)]:
        changed = list(mutations(drawn, rng))
        for value in [drawn, *rng.sample(changed, min(len(changed), 8))]:
            valid = is_valid(value)
            if valid is None:
                counts["judges disagree"] += 1
                continue
            text = json.dumps(value)
            accepted = acceptor is not None and acceptor.accepts(text)
            assert accepted == valid, (number, schema, text)
            counts["valid" if valid else "invalid"] += 1


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_drawn_values_are_accepted_exactly_where_they_are_valid(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + 10):
        accepted_is_valid(number, 10, counts)
    assert min(counts["valid"], counts["invalid"]) > 40
    assert counts["judges disagree"] <= 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_300, 100))
def test_many_drawn_values_are_accepted_exactly_where_they_are_valid(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + 100):
        accepted_is_valid(number, 20, counts)
    assert min(counts["valid"], counts["invalid"]) > 1_000


def test_schemas_that_are_drawn_mix_keywords_of_one_type() -> None:
    words: list[set[Any]] = [set(draw_schema(number)) - {"$schema"} for number in range(40)]
    assert sum(len(each) >= 3 for each in words) >= 20
