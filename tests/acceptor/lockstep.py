"""Two acceptors of the same documents, byte by byte side by side."""

from __future__ import annotations

import random
from collections.abc import Iterable

from mlx_structured import Acceptor
from mlx_structured.automaton.acceptor import accepts_end, advance
from mlx_structured.automaton.link import Configuration

_CLOSING = b'"]}'


class DifferenceError(AssertionError):
    """After the same text, two acceptors that should be equal allow different bytes."""


def next_bytes(configurations: Iterable[Configuration]) -> frozenset[int]:
    """The bytes that may come next."""
    found: set[int] = set()
    for each in configurations:
        found.update(each.lexeme.transitions)
        if each.lexeme.label is not None and not each.link.is_final:
            found |= next_bytes(each.link.after(each.lexeme.label, each.captured()))
    return frozenset(found)


def walk_together(
    one: Acceptor, other: Acceptor, rng: random.Random, *, free: int = 40, most: int = 120
) -> bytes:
    """Read random bytes with both, and compare what may come next at each step.

    As no acceptor offers what leads nowhere, those of the same documents allow the same bytes.

    Arguments:
        one: an acceptor.
        other: an acceptor that is said to be equal.
        rng: what decides.
        free: after so many bytes the walk ends where it may, and prefers what closes.
        most: after so many bytes it ends anyway.

    Returns:
        The text read.

    Raises:
        DifferenceError: where they differ, or where nothing may come next.
    """
    reached, reached_by_other = one.begin(), other.begin()
    text = b""
    while True:
        allowed, allowed_by_other = next_bytes(reached), next_bytes(reached_by_other)
        may_end = accepts_end(reached)
        if allowed != allowed_by_other:
            odd = bytes(sorted(allowed ^ allowed_by_other))
            raise DifferenceError(f"after {text!r} only one allows {odd!r}")
        if may_end != accepts_end(reached_by_other):
            raise DifferenceError(f"only one may end after {text!r}")
        if not allowed and not may_end:
            raise DifferenceError(f"nothing may come after {text!r}")
        if not allowed or len(text) >= most or (may_end and len(text) >= free):
            return text
        byte = _choose(allowed, rng, closing=len(text) >= free)
        text += bytes([byte])
        reached = advance(reached, bytes([byte]))
        reached_by_other = advance(reached_by_other, bytes([byte]))


def _choose(allowed: frozenset[int], rng: random.Random, *, closing: bool) -> int:
    """Mostly what has a meaning for schemas, and rarely whitespace, escapes and long strings."""
    if closing or rng.random() < 0.3:
        near = [byte for byte in _CLOSING if byte in allowed]
        if near:
            return near[rng.randrange(len(near))]
    plain = [byte for byte in sorted(allowed) if chr(byte) in '{}[],:"abc012.-tfn']
    if plain and rng.random() < 0.9:
        return plain[rng.randrange(len(plain))]
    every = sorted(allowed)
    return every[rng.randrange(len(every))]
