"""Values that hypothesis-jsonschema draws for small schemas, and values next to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from mixed_keywords import CAN_DRAW, compare_with_judges, draw_schema

pytestmark = pytest.mark.skipif(
    not CAN_DRAW, reason="hypothesis-jsonschema draws no objects with hypothesis 6.170"
)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_drawn_values_are_accepted_exactly_where_they_are_valid(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + 10):
        compare_with_judges(number, 10, counts)
    assert min(counts["valid"], counts["invalid"]) > 40
    assert counts["judges disagree"] <= 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_300, 100))
def test_many_drawn_values_are_accepted_exactly_where_they_are_valid(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + 100):
        compare_with_judges(number, 20, counts)
    assert min(counts["valid"], counts["invalid"]) > 1_000


def test_schemas_that_are_drawn_mix_keywords_of_one_type() -> None:
    words: list[set[Any]] = [set(draw_schema(number)) - {"$schema"} for number in range(40)]
    assert sum(len(each) >= 3 for each in words) >= 20
