"""How far an object is written, and the ways to go on after a key."""

from __future__ import annotations

from typing import NamedTuple

from mlx_structured.json_schema.formula import Formula
from mlx_structured.json_schema.nodes import ValueSet
from mlx_structured.json_schema.string_outcomes import StringOutcomes


class Progress(NamedTuple):
    """How far an object is written.

    Arguments:
        passed: bits of the names that can't come any more.
        rest: what has to hold of the keys to come, beyond what always holds.
        written: keys written, as far as it matters.
        used: pairs of a class of finitely many keys and how many of them are written, as far as it
            matters.
    """

    passed: int
    rest: Formula
    written: int
    used: tuple[tuple[int, int], ...]


class KeyWay(NamedTuple):
    """One way to go on after a key: what may stand under it, and how far the object is then.

    ``strings`` are the only values of the way where they are told apart: what each leaves to hold
    takes the place of the progress's rest.
    """

    values: ValueSet
    progress: Progress
    strings: StringOutcomes | None = None
