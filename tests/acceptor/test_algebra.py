"""What logic says of any schema holds of the acceptors: ``not not S`` is ``S``, and the like.

Compared are values drawn at random, and the bytes that may come next all along random walks: an
acceptor that offers what leads nowhere differs from one of the same documents that doesn't.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from laws import LAWS, draw_definitions, try_laws

MAIN = (
    "not not S is S",
    "S and not S is nothing",
    "S or not S is everything",
    "one of S and S is nothing",
)
UNIQUE = False
"""``uniqueItems`` is left out: its opposite is refused by name."""


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_laws_of_logic_hold_of_generated_schemas(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 50):
        drawer, definitions = draw_definitions(seed, 2, unique=UNIQUE)
        others = random.Random(seed).sample(sorted(set(LAWS) - set(MAIN)), 3)
        try_laws(drawer, definitions, {name: LAWS[name] for name in (*MAIN, *others)}, counts)
    assert all(counts[name] >= 49 for name in MAIN)
    assert counts["limit exceeded"] <= 4
    assert min(counts["something"], counts["nothing"]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_400, 100))
def test_laws_of_logic_hold_of_deeper_schemas(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 100):
        drawer, definitions = draw_definitions(seed, 3, unique=UNIQUE)
        try_laws(drawer, definitions, LAWS, counts)
    assert all(counts[name] >= 97 for name in MAIN)
