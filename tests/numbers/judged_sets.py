"""Number sets for property tests, each with a predicate that judges membership on its own."""

from __future__ import annotations

import json
import random
import re
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.languages.number_set import (
    ALL_NUMBERS,
    INTEGERS,
    NumberSet,
    at_least,
    at_most,
    multiples_of,
    points,
)

RFC_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


class JudgedSet(NamedTuple):
    """A set with what decides membership without it, and numbers worth trying."""

    numbers: NumberSet
    judge: Callable[[Fraction], bool]
    critical: tuple[Fraction, ...] = ()


def lower(bound: Fraction, exclusive: bool) -> JudgedSet:
    return JudgedSet(
        at_least(bound, exclusive), lambda x: x > bound or (x == bound and not exclusive), (bound,)
    )


def upper(bound: Fraction, exclusive: bool) -> JudgedSet:
    return JudgedSet(
        at_most(bound, exclusive), lambda x: x < bound or (x == bound and not exclusive), (bound,)
    )


def steps(step: Fraction) -> JudgedSet:
    return JudgedSet(
        multiples_of(step),
        lambda x: (x / step).denominator == 1,
        (step, -3 * step, 17 * step, 1234 * step),
    )


def single(values: list[Fraction]) -> JudgedSet:
    return JudgedSet(points(values), lambda x: x in values, tuple(values))


def both(one: JudgedSet, two: JudgedSet) -> JudgedSet:
    return JudgedSet(
        one.numbers & two.numbers,
        lambda x: one.judge(x) and two.judge(x),
        one.critical + two.critical,
    )


def either(one: JudgedSet, two: JudgedSet) -> JudgedSet:
    return JudgedSet(
        one.numbers | two.numbers,
        lambda x: one.judge(x) or two.judge(x),
        one.critical + two.critical,
    )


def opposite(one: JudgedSet) -> JudgedSet:
    return JudgedSet(~one.numbers, lambda x: not one.judge(x), one.critical)


def judged_sets(
    bounds: st.SearchStrategy[Fraction], step_sizes: st.SearchStrategy[Fraction]
) -> st.SearchStrategy[JudgedSet]:
    """Combinations of bounds, multiples and single numbers."""
    leaves = st.one_of(
        st.builds(lower, bounds, st.booleans()),
        st.builds(upper, bounds, st.booleans()),
        st.builds(steps, step_sizes),
        st.builds(single, st.lists(bounds, max_size=4)),
        st.just(JudgedSet(ALL_NUMBERS, lambda x: True)),
        st.just(JudgedSet(INTEGERS, lambda x: x.denominator == 1)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            st.builds(opposite, inner),
        ),
        max_leaves=5,
    )


def decimals(text: str) -> Fraction:
    return Fraction(Decimal(text))


BOUNDS = st.one_of(
    st.integers(-1200, 1200).map(Fraction),
    st.integers(-1200, 1200).map(lambda n: Fraction(n, 100)),
    st.sampled_from(
        [
            "0",
            "1",
            "10",
            "100",
            "1000",
            "0.1",
            "1e-4",
            "1e-5",
            "1e15",
            "1e16",
            "1e17",
            "-1e16",
            "9007199254740993",
            "0.1000000000000000055511151231257827",
            "2.5e-310",
            "1e-323",
            "5e-324",
            "1.7976931348623157e308",
            "1e308",
            "1e309",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "1e23",
            "9.5e-5",
        ]
    ).map(decimals),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: decimals(repr(x))),
)
STEPS = st.one_of(
    st.sampled_from(
        [
            "1",
            "2",
            "5",
            "7",
            "10",
            "16",
            "1000003",
            "0.1",
            "0.01",
            "0.5",
            "0.7",
            "2.5",
            "1e-7",
            "3e-5",
            "1e16",
            "1e20",
            "7e18",
        ]
    ).map(decimals),
    st.integers(1, 1000).map(lambda n: Fraction(n, 100)),
)
JUDGED_SETS = judged_sets(BOUNDS, STEPS)
# Where texts are looked for by trial, so that they are found soon.
SMALL_STEPS = st.sampled_from(
    ["1", "2", "7", "10", "0.1", "0.01", "0.5", "0.7", "2.5", "1e-7"]
).map(decimals)
SETS_WITH_SMALL_STEPS = judged_sets(BOUNDS, SMALL_STEPS)
SETS_NEAR_ONE = judged_sets(
    st.integers(-(10**6), 10**6).map(lambda n: Fraction(n, 1000)), SMALL_STEPS
)


def state_after(start: LexemeState | None, text: str) -> LexemeState | None:
    """The state that a text leads to."""
    state = start
    for byte in text.encode():
        if state is None:
            return None
        state = state.transitions.get(byte)
    return state


def accepts(start: LexemeState | None, text: str) -> bool:
    """Whether the text is one of the lexeme's."""
    state = state_after(start, text)
    return state is not None and state.label is not None


def is_printed(text: str, judged: JudgedSet, max_digits: int | None) -> bool:
    """Whether json.dumps prints the text for an int or a float whose decimal is a member."""
    if not RFC_NUMBER.fullmatch(text):
        return False
    value = json.loads(text)
    if json.dumps(value) != text or not judged.judge(decimals(text)):
        return False
    if isinstance(value, float):
        return not judged.numbers.integers_only
    return max_digits is None or len(text.lstrip("-")) <= max_digits


def ending(state: LexemeState) -> str | None:
    """What ends a text after the state, ``None`` if nothing was found.

    It is looked for breadth first, which finds the few digits that make a multiple, and then depth
    first, which finds the many zeros that lead up to a bound.
    """
    found = _search(state, 3000, breadth_first=True)
    return _search(state, 8000, breadth_first=False) if found is None else found


def _search(state: LexemeState, most_states: int, *, breadth_first: bool) -> str | None:
    pending = deque([(state, "")])
    seen = {state}
    while pending and len(seen) < most_states:
        state, text = pending.popleft() if breadth_first else pending.pop()
        if state.label is not None:
            return text
        exponent = state.transitions.get(ord("e"))
        if exponent is not None:
            rest = _search(exponent, most_states, breadth_first=True)
            return None if rest is None else f"{text}e{rest}"
        order = sorted(state.transitions, key=b"9876543210.+-E".find, reverse=breadth_first)
        for byte in order:
            target = state.transitions[byte]
            # Digits can go on for ever, but no set here needs more zeros, or many others after.
            if target not in seen and len(text) < (350 if byte == ord("0") else 380):
                seen.add(target)
                pending.append((target, text + chr(byte)))
    return None


def text_of_walk(start: LexemeState, choice: random.Random) -> str:
    """A text of the lexeme: random transitions, then an end, which there must be."""
    state, text = start, ""
    for _ in range(choice.randrange(30)):
        if not state.transitions:
            break
        byte = choice.choice(list(state.transitions))
        state, text = state.transitions[byte], text + chr(byte)
    rest = ending(state)
    assert rest is not None, f"no end after {text!r}"
    return text + rest


def reachable(start: LexemeState, letters: bytes, depth: int) -> int:
    """How many states there are after so many of the letters."""
    level: dict[int, LexemeState] = {id(start): start}
    seen = dict(level)
    for _ in range(depth):
        level = {
            id(target): target
            for state in level.values()
            for byte, target in state.transitions.items()
            if byte in letters
        }
        seen.update(level)
    return len(seen)
