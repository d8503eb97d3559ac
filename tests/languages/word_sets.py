"""Languages together with what they mean: the set of their words over ``ab`` up to a length.

The sets are computed from the definitions of the operations, on words alone.
"""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from mlx_structured.languages.language import (
    EPSILON,
    EVERYTHING,
    Language,
    characters,
    complement,
    concatenation,
    intersection,
    length_between,
    literals,
    repetition,
    union,
)

LENGTH = 5
WORDS = ["".join(word) for length in range(LENGTH + 1) for word in product("ab", repeat=length)]
Meaning = tuple[Language, frozenset[str]]

_short_words = st.text(alphabet="ab", max_size=3)


def _joined(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    return frozenset(x + y for x in left for y in right if len(x + y) <= LENGTH)


def _repeated(words: frozenset[str], low: int, high: int | None) -> frozenset[str]:
    rounds = frozenset([""])
    for _ in range(low):
        rounds = _joined(rounds, words)
    found = rounds
    for _ in range(LENGTH + 1 if high is None else high - low):
        rounds = _joined(rounds, words)
        found |= rounds
    return found


def _of_length(low: int, high: int | None) -> Meaning:
    fitting = (word for word in WORDS if low <= len(word) and (high is None or len(word) <= high))
    return length_between(low, high), frozenset(fitting)


_counts = st.tuples(st.integers(0, 3), st.none() | st.integers(0, 3)).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)
_leaves: st.SearchStrategy[Meaning] = st.one_of(
    st.lists(_short_words, max_size=4).map(lambda words: (literals(words), frozenset(words))),
    st.sampled_from(["a", "b", "ab"]).map(
        lambda letters: (characters([(ord(x), ord(x)) for x in letters]), frozenset(letters))
    ),
    _counts.map(lambda counts: _of_length(*counts)),
    st.just((EVERYTHING, frozenset(WORDS))),
    st.just((EPSILON, frozenset([""]))),
)


def _larger(inner: st.SearchStrategy[Meaning]) -> st.SearchStrategy[Meaning]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: (concatenation(p[0][0], p[1][0]), _joined(p[0][1], p[1][1]))),
        pairs.map(lambda p: (union(p[0][0], p[1][0]), p[0][1] | p[1][1])),
        pairs.map(lambda p: (intersection(p[0][0], p[1][0]), p[0][1] & p[1][1])),
        inner.map(lambda one: (complement(one[0]), frozenset(WORDS) - one[1])),
        st.tuples(inner, _counts).map(
            lambda p: (repetition(p[0][0], *p[1]), _repeated(p[0][1], *p[1]))
        ),
    )


meanings: st.SearchStrategy[Meaning] = st.recursive(_leaves, _larger, max_leaves=8)
"""A language and its words over ``ab`` of at most ``LENGTH`` characters."""
